/* SPDX-License-Identifier: Apache-2.0 */
/* The report as JSON and as a page (html.js draws it). */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "lab/page.h"
#include "cli/report/report.h"
#include "report-html-js.inc"
#include "lab/sim-html-css.inc"

#define POINTS	600 /* of a curve */
#define CURVES	12  /* the largest jobs; the others are added up */
#define LEAST_S 0.0005

static const char body[] =
	"#jobs th, #jobs td, #matrix th { max-width: 13em; overflow: hidden; text-overflow: "
	"ellipsis; "
	"}\n"
	"</style>\n</head>\n<body>\n<h1 id=\"title\">sluice report</h1>\n"
	"<p class=\"soft\" id=\"summary\"></p>\n"
	"<noscript><p>The charts are drawn by JavaScript, which is off.</p></noscript>\n"
	"<h2>Bandwidth of each job over time</h2>\n"
	"<p class=\"legend\" id=\"legend\"></p>\n"
	"<div class=\"chart\"><svg id=\"bandwidth\" role=\"img\" tabindex=\"0\"></svg></div>\n"
	"<p class=\"status\" id=\"status\" aria-live=\"polite\">Point at the chart, or press an "
	"arrow key in it.</p>\n"
	"<h2>Jobs</h2>\n"
	"<div class=\"wide\"><table id=\"jobs\"></table></div>\n"
	"<p class=\"soft\">Held: by its own max. Waited: had requests that were not sent yet. "
	"Saved: "
	"against equal shares, how much longer it would have needed for the same; below 0 it was "
	"put "
	"behind others.</p>\n"
	"<h2>Which jobs waited for which</h2>\n"
	"<p class=\"soft\">Seconds that the job of the row waited while the node served the job of "
	"the "
	"column.</p>\n"
	"<div class=\"wide\"><table id=\"matrix\"></table></div>\n"
	"<script type=\"application/json\" id=\"data\">\n";

const char *report_name(const struct report *r, uint32_t i)
{
	return i + 1 == r->named && r->jobs > r->named ? "others" : r->job[i].name;
}

static void put_delays(struct json *j, const struct report *r, uint32_t i)
{
	json_array(j, "delayed_by");
	for (uint32_t k = 0; i < r->named && k < r->named; k++) {
		double s = r->by[(size_t)i * r->named + k];

		if (k == i || s < LEAST_S)
			continue;
		json_object(j, NULL);
		json_string(j, "job", report_name(r, k));
		json_double(j, "seconds", s);
		json_end(j);
	}
	json_end(j);
}

/* Distribute the bytes of a span over the points that it covers, in proportion to the overlap. */
static void spread(const struct report *r, const struct report_row *w, double step, double *bytes,
		   size_t points)
{
	double end = w->end_s - (double)r->from_s, begin = fmax(end - w->seconds, 0);
	double moved = (double)w->bytes[0] + (double)w->bytes[1];

	for (size_t i = (size_t)(begin / step); i < points && (double)i * step < end; i++) {
		double from = fmax(begin, (double)i * step);
		/* the last point includes everything after it */
		double to = i + 1 < points ? fmin(end, (double)(i + 1) * step) : end;

		bytes[i] += moved * (to - from) / (end - begin);
	}
}

/* Bytes a second over time, of each of the largest jobs and of the others together. */
static void put_series(struct json *j, const struct report *r)
{
	double span = (double)(r->to_s - r->from_s), step = span / POINTS < 2 ? 2 : span / POINTS;
	size_t points = (size_t)(span / step) + 1, curves = r->jobs < CURVES ? r->jobs : CURVES;
	double *bytes = calloc(points * (curves ? curves : 1), sizeof(*bytes));

	for (size_t i = 0; bytes && i < r->rows; i++) {
		size_t c = r->row[i].job < curves ? r->row[i].job : curves - 1;

		spread(r, &r->row[i], step, &bytes[c * points], points);
	}
	json_double(j, "step_s", step);
	json_array(j, "curves");
	for (size_t c = 0; bytes && c < curves; c++) {
		json_object(j, NULL);
		json_string(j, "job",
			    c + 1 == curves && r->jobs > curves ? "others" : r->job[c].name);
		json_array(j, "bps");
		for (size_t i = 0; i < points; i++)
			json_uint(j, NULL, (uint64_t)(bytes[c * points + i] / step));
		json_end(j);
		json_end(j);
	}
	json_end(j);
	free(bytes);
}

void report_json(struct json *j, const struct report *r, bool series)
{
	json_uint(j, "from", (uint64_t)r->from_s);
	json_uint(j, "to", (uint64_t)r->to_s);
	json_uint(j, "skipped_lines", r->skipped_lines);
	json_bool(j, "observed", r->observed_rows != 0);
	json_array(j, "jobs");
	for (uint32_t i = 0; i < r->jobs; i++) {
		if (r->only && r->only != &r->job[i])
			continue;
		const struct report_job *b = &r->job[i];

		json_object(j, NULL);
		json_string(j, "job", b->name);
		json_uint(j, "read_bytes", b->bytes[0]);
		json_uint(j, "write_bytes", b->bytes[1]);
		json_uint(j, "requests", b->calls);
		json_uint(j, "unscheduled_bytes", b->unscheduled);
		json_uint(j, "operations", b->operations);
		json_double(j, "ops_held_s", b->ops_held_s);
		json_uint(j, "cached_bytes", b->cached);
		json_uint(j, "wire_bytes", b->wire);
		json_uint(j, "dirty_bytes", b->dirty);
		json_double(j, "active_s", b->active_s);
		json_double(j, "held_s", b->held_s);
		json_double(j, "waited_s", b->waited_s);
		json_double(j, "saved_s", b->saved_s);
		put_delays(j, r, i);
		json_end(j);
	}
	json_end(j);
	if (series)
		put_series(j, r);
}

struct page {
	const struct report *report;
	const char *layer;
};

static int put_data(struct json *j, const void *what)
{
	const struct page *p = what;

	json_string(j, "layer", p->layer);
	report_json(j, p->report, true);
	return 0;
}

static int write_page(FILE *f, const void *what)
{
	static const struct page_parts parts = { "sluice report", sim_html_css, body,
						 report_html_js };

	return page_put(f, &parts, put_data, what);
}

int report_page(const char *path, const struct report *r, const char *layer)
{
	const struct page p = { r, layer };

	return page_write(REPORT_CMD, path, write_page, &p);
}
