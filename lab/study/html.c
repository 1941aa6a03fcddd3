/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice sim --html`: one self-contained page. The style html.css and the script html.js are
 * embedded in this executable at build time. The figures are JSON in a separate element.
 *
 * Names may come from scenarios of other users: page_json() keeps them from becoming markup. The
 * script inserts them as text nodes only, and the page's policy forbids loading anything.
 *
 * Times of blocks are whole ticks of 2^-22 of the longest run. A row is the tick at which it
 * begins, then duration * 8 + kind for each block; after one of mixed kind, the percentage of
 * computing * 128 + that of transferring. With BLOCKS in all, the page stays below 5 MB.
 */
#include "lab/study/sim.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "sluice.h"
#include "lab/page.h"
#include "sim-html-css.inc"
#include "sim-html-js.inc"

#define BLOCKS	   240000 /* of all policies together */
#define ROWS	   2000
#define ROW_BLOCKS 24 /* for a row, at least, or there are less rows */
#define TICKS	   4194304.0
#define VALUES	   200 /* of the repetitions, for each measure of each policy */

enum { KIND_MIXED = 3, KIND_GAP = 4 };

void sim_page_limits(const struct sim_study *s, uint32_t *rows, uint32_t *blocks)
{
	*blocks = BLOCKS / (s->n_policies ? s->n_policies : 1);
	*rows = *blocks / ROW_BLOCKS;
	if (*rows > ROWS)
		*rows = ROWS;
	if (*rows > s->scenario.n_apps)
		*rows = s->scenario.n_apps;
}

/* ---- the figures ---- */

/* Four digits are more than can be seen. */
static double pg_short(double v)
{
	double unit;

	if (!isfinite(v) || v == 0)
		return v;
	unit = pow(10, floor(log10(fabs(v))) - 3);
	return unit >= 1 ? round(v / unit) * unit : round(v * (1 / unit)) / (1 / unit);
}

static void pg_measures(struct json *j)
{
	json_array(j, "measures");
	for (enum sim_measure m = 0; m < SIM_MEASURES; m++) {
		json_object(j, NULL);
		json_string(j, "key", sim_measures[m].key);
		json_string(j, "meaning", sim_measures[m].meaning);
		json_int(j, "better", sim_measures[m].better);
		json_end(j);
	}
	json_end(j);
}

static int pg_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * For each measure, the sorted values; of many, a sample at equal distances that includes both
 * ends.
 */
static int pg_values(struct json *j, const struct sim_study *s, const struct sim_policy *p)
{
	double *v = malloc(s->repeat * sizeof(v[0]));

	if (!v)
		return -ENOMEM;
	json_array(j, "values");
	for (enum sim_measure m = 0; m < SIM_MEASURES; m++) {
		uint32_t n = 0, shown;

		for (uint32_t i = 0; i < s->repeat; i++) {
			double x = sim_value(&p->run[i], m);

			if (isfinite(x))
				v[n++] = x;
		}
		qsort(v, n, sizeof(v[0]), pg_by_value);
		shown = n < VALUES ? n : VALUES;
		json_array(j, NULL);
		for (uint32_t i = 0; i < shown; i++)
			json_double(j, NULL,
				    v[shown == n ? i : (uint64_t)i * (n - 1) / (shown - 1)]);
		json_end(j);
	}
	json_end(j);
	free(v);
	return 0;
}

static int64_t pg_percent(float share)
{
	return (int64_t)lrint((double)share * 100);
}

static void pg_row(struct json *j, const struct sim_trace *t, uint32_t row, double tick_s)
{
	int64_t at = 0;
	bool first = true;

	json_array(j, NULL);
	for (uint32_t i = t->first[row]; i != UINT32_MAX; i = t->block[i].next) {
		const struct sim_block *b = &t->block[i];
		int64_t from = llrint(b->from_s / tick_s), to = llrint(b->to_s / tick_s);
		int64_t kind = KIND_MIXED;

		if (from < at) /* by rounding */
			from = at;
		if (first)
			json_int(j, NULL, from);
		else if (from > at)
			json_int(j, NULL, (from - at) * 8 + KIND_GAP);
		first = false;
		if (to <= from) { /* too short to be seen */
			at = from;
			continue;
		}
		for (int k = 0; k < 3; k++)
			if (b->share[k] >= 1)
				kind = k;
		json_int(j, NULL, (to - from) * 8 + kind);
		if (kind == KIND_MIXED)
			json_int(j, NULL,
				 pg_percent(b->share[SL_COMPUTES]) * 128 +
					 pg_percent(b->share[SL_TRANSFERS]));
		at = to;
	}
	json_end(j);
}

static void pg_bandwidth(struct json *j, const struct sim_trace *t)
{
	json_object(j, "bandwidth");
	json_double(j, "bin_s", t->bin_s);
	json_array(j, "bps");
	for (unsigned i = 0; i < SIM_BINS && i * t->bin_s < t->end_s; i++)
		json_double(j, NULL,
			    pg_short(t->bytes[i] / fmin(t->bin_s, t->end_s - i * t->bin_s)));
	json_end(j);
	json_end(j);
}

static int pg_policy(struct json *j, const struct sim_study *s, const struct sim_policy *p,
		     double tick_s)
{
	const struct sim_trace *t = p->trace;
	int rc;

	json_object(j, NULL);
	json_string(j, "name", p->spec);
	json_array(j, "mean");
	for (enum sim_measure m = 0; m < SIM_MEASURES; m++)
		json_double(j, NULL, p->measure[m].mean);
	json_end(j);
	json_array(j, "ci95");
	for (enum sim_measure m = 0; m < SIM_MEASURES; m++)
		json_double(j, NULL, p->measure[m].ci95);
	json_end(j);
	if ((rc = pg_values(j, s, p)))
		return rc;
	json_double(j, "merged_s", t->merged_s);
	json_array(j, "app");
	for (uint32_t i = 0; i < t->rows; i++) {
		json_array(j, NULL);
		json_double(j, NULL, pg_short(p->apps[i].dilation));
		json_double(j, NULL, pg_short(p->apps[i].stretch));
		json_end(j);
	}
	json_end(j);
	json_array(j, "rows");
	for (uint32_t i = 0; i < t->rows; i++)
		pg_row(j, t, i, tick_s);
	json_end(j);
	pg_bandwidth(j, t);
	json_end(j);
	return 0;
}

static void pg_summary(struct json *j, const struct sim_study *s)
{
	char text[900], about[300], window[80];

	snprintf(text, sizeof(text), "%s, %s, %u run%s of each policy, seed %llu.",
		 sim_about(s, about, sizeof(about)), sim_window_text(s, window, sizeof(window)),
		 s->repeat, s->repeat == 1 ? "" : "s", (unsigned long long)s->seed);
	json_string(j, "summary", text);
	json_string(j, "note", sim_note(s, text, sizeof(text)) ? text : "");
}

static int pg_data(struct json *j, const void *what)
{
	const struct sim_study *s = what;
	double end_s = 0, tick_s;
	int rc = 0;

	for (uint32_t p = 0; p < s->n_policies; p++)
		end_s = fmax(end_s, s->policy[p].trace->end_s);
	tick_s = end_s > 0 ? end_s / TICKS : 1;
	json_string(j, "scenario", s->scenario.name);
	pg_summary(j, s);
	json_uint(j, "repeat", s->repeat);
	json_string(j, "version", SL_VERSION);
	json_double(j, "capacity_bps", s->scenario.platform.bandwidth_bps);
	json_double(j, "buffer_bps",
		    s->scenario.platform.buffer_bytes > 0 ? s->scenario.platform.buffer_bps : NAN);
	json_double(j, "end_s", end_s);
	json_double(j, "tick_s", tick_s);
	json_array(j, "window");
	json_double(j, NULL, s->scenario.from_s);
	json_double(j, NULL, s->scenario.to_s);
	json_end(j);
	json_uint(j, "apps_in_all", s->scenario.n_apps);
	json_array(j, "apps");
	for (uint32_t i = 0; i < s->policy[0].trace->rows; i++)
		json_string(j, NULL, s->scenario.apps[i].name);
	json_end(j);
	pg_measures(j);
	json_array(j, "policies");
	for (uint32_t p = 0; p < s->n_policies && !rc; p++)
		rc = pg_policy(j, s, &s->policy[p], tick_s);
	if (rc)
		return rc;
	json_end(j);
	return 0;
}

/* ---- the page ---- */

static const char pg_body[] =
	"</style>\n</head>\n<body>\n<h1 id=\"title\">sluice sim</h1>\n"
	"<p class=\"soft\" id=\"summary\"></p>\n<p id=\"note\"></p>\n"
	"<noscript><p>The charts are drawn by JavaScript, which is off.</p></noscript>\n"
	"<h2>Comparison</h2>\n<div class=\"wide\"><table id=\"comparison\"></table></div>\n"
	"<details class=\"soft\" open><summary>What the columns mean</summary><dl "
	"id=\"meaning\"></dl>"
	"</details>\n"
	"<h2>What the applications do</h2>\n"
	"<div class=\"controls\">\n"
	"<label>policy <select id=\"policy\"></select></label>\n"
	"<button id=\"previous\" aria-label=\"previous policy\">▲</button>\n"
	"<button id=\"next\" aria-label=\"next policy\">▼</button>\n"
	"<button id=\"left\" aria-label=\"earlier\">◀</button>\n"
	"<button id=\"right\" aria-label=\"later\">▶</button>\n"
	"<button id=\"in\" aria-label=\"zoom in\">+</button>\n"
	"<button id=\"out\" aria-label=\"zoom out\">−</button>\n"
	"<button id=\"whole\">whole run</button>\n"
	"<span class=\"soft\" id=\"range\"></span>\n</div>\n"
	"<p class=\"legend\"><span><i style=\"background:var(--compute)\"></i>computing</span>"
	"<span><i style=\"background:var(--transfer)\"></i>I/O</span>"
	"<span><i style=\"background:var(--stalled)\"></i>stalled</span>"
	"<span class=\"soft\">keys: arrows, + − 0</span></p>\n"
	"<div class=\"chart\"><div class=\"rows\" id=\"rows\" tabindex=\"0\" role=\"group\" "
	"aria-label=\"chart of the applications; arrows move, plus and minus zoom, 0 shows all\">"
	"<div id=\"space\"><canvas id=\"gantt\" role=\"img\"></canvas></div></div></div>\n"
	"<p class=\"status\" id=\"status\" aria-live=\"polite\">Point at a phase, or press an "
	"arrow key in the chart.</p>\n"
	"<p class=\"soft\" id=\"merged\"></p>\n<p class=\"soft\" id=\"omitted\"></p>\n"
	"<h2>Bandwidth</h2>\n"
	"<p class=\"soft\" id=\"lines\"></p>\n"
	"<div class=\"chart\"><canvas id=\"bandwidth\" role=\"img\"></canvas></div>\n"
	"<div id=\"repetitions\">\n<h2>Repetitions</h2>\n"
	"<label>measure <select id=\"measure\"></select></label>\n"
	"<p class=\"soft\">Box: the middle half, with the median; line: all; diamond and thick "
	"line: the mean and its 95 % confidence interval.</p>\n"
	"<div class=\"chart\"><svg id=\"distribution\" role=\"img\"></svg></div>\n</div>\n"
	"<script type=\"application/json\" id=\"data\">\n";

static int pg_page(FILE *f, const void *what)
{
	static const struct page_parts parts = { "sluice sim", sim_html_css, pg_body, sim_html_js };

	return page_put(f, &parts, pg_data, what);
}

int sim_page_check(const char *path)
{
	return page_check(SIM_CMD, path);
}

int sim_page_write(const struct sim_study *s, const char *path)
{
	return page_write(SIM_CMD, path, pg_page, s);
}
