/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice explore --html`: the exploration as charts, on one self-contained page. The style of
 * `sluice sim` and the script html.js are embedded in this executable. The figures are JSON in a
 * separate element. Names are inserted as text only.
 */
#include "lab/explore/explore.h"

#include "lab/page.h"
#include "explore-html-js.inc"
#include "sim-html-css.inc"

static const char eh_body[] =
	"</style>\n</head>\n<body>\n<h1 id=\"title\">sluice explore</h1>\n"
	"<p class=\"soft\" id=\"summary\"></p>\n"
	"<noscript><p>The charts are drawn by JavaScript, which is off.</p></noscript>\n"
	"<section id=\"by-nodes\">\n<h2>Bandwidth by I/O nodes</h2>\n"
	"<div class=\"controls\"><label>order <select id=\"order\"></select></label> "
	"<label>device <select id=\"device\"></select></label></div>\n"
	"<p class=\"soft\">Mean bandwidth of each kernel, in MB/s, by number of I/O nodes; 0 is "
	"direct access. Bars: confidence of the mean.</p>\n"
	"<p class=\"legend\" id=\"legend\"></p>\n"
	"<div class=\"chart\"><svg id=\"bandwidth\" role=\"img\"></svg></div>\n</section>\n"
	"<section id=\"by-order\">\n<h2>Time by order</h2>\n"
	"<div class=\"controls\" id=\"filters\"></div>\n"
	"<p class=\"soft\" id=\"relative\"></p>\n"
	"<p class=\"legend\" id=\"orders\"></p>\n"
	"<div class=\"wide\"><svg id=\"times\" role=\"img\"></svg></div>\n</section>\n"
	"<h2>Figures</h2>\n<div class=\"wide\"><table id=\"cells\"></table></div>\n"
	"<script type=\"application/json\" id=\"data\">\n";

static int eh_data(struct json *j, const void *what)
{
	explore_json(j, what);
	return 0;
}

static int eh_page(FILE *f, const void *what)
{
	static const struct page_parts parts = { "sluice explore", sim_html_css, eh_body,
						 explore_html_js };

	return page_put(f, &parts, eh_data, what);
}

int explore_page(const struct explore *e, const char *path)
{
	return page_write(EXPLORE_CMD, path, eh_page, e);
}
