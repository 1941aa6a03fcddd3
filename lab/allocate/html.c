/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice allocate --study --html`: the study as charts, on one self-contained page. The style of
 * `sluice sim` and the script html.js are embedded in this executable. The figures are JSON in a
 * separate element. Names of files and policies are inserted as text only.
 */
#include "lab/allocate/allocate.h"

#include "base/json.h"
#include "lab/page.h"
#include "allocate-html-js.inc"
#include "sim-html-css.inc"

static const char ah_body[] =
	"</style>\n</head>\n<body>\n<h1 id=\"title\">sluice allocate</h1>\n"
	"<p class=\"soft\" id=\"summary\"></p>\n"
	"<noscript><p>The charts are drawn by JavaScript, which is off.</p></noscript>\n"
	"<h2>Bandwidth</h2>\n"
	"<p class=\"soft\">Median over the sets of the bandwidth of all jobs of a set, by the I/O "
	"nodes of the machine.</p>\n"
	"<p class=\"legend\" id=\"legend\"></p>\n"
	"<div class=\"chart\"><svg id=\"bandwidth\" role=\"img\" tabindex=\"0\"></svg></div>\n"
	"<h2>Against static</h2>\n"
	"<div class=\"controls\"><label>policy <select id=\"policy\"></select></label></div>\n"
	"<p class=\"soft\">Ratio to static, set by set: the median, and the range from minimum to "
	"maximum. The "
	"axis is logarithmic.</p>\n"
	"<div class=\"chart\"><svg id=\"ratio\" role=\"img\" tabindex=\"0\"></svg></div>\n"
	"<p class=\"status\" id=\"status\" aria-live=\"polite\">Point at a chart, or press an "
	"arrow "
	"key in one.</p>\n"
	"<h2>Where a policy reaches the oracle</h2>\n"
	"<div class=\"wide\"><table id=\"reach\"></table></div>\n"
	"<script type=\"application/json\" id=\"data\">\n";

static int ah_data(struct json *j, const void *what)
{
	const struct study *s = what;
	char summary[300];

	json_string(j, "title", s->a->path);
	json_string(j, "summary", study_summary(s, summary, sizeof(summary)));
	study_json(j, s);
	return 0;
}

static int ah_page(FILE *f, const void *what)
{
	static const struct page_parts parts = { "sluice allocate", sim_html_css, ah_body,
						 allocate_html_js };

	return page_put(f, &parts, ah_data, what);
}

int study_page(const struct study *s, const char *path)
{
	return page_write(ALLOCATE_CMD, path, ah_page, s);
}
