/* SPDX-License-Identifier: Apache-2.0 */
/* The page, as it was when the program was built: see httpd/meson.build. */
#include "httpd/server.h"

#include "app-css.inc"
#include "app-js.inc"
#include "chart-js.inc"
#include "dom-js.inc"
#include "edit-js.inc"
#include "feed-js.inc"
#include "format-js.inc"
#include "gantt-js.inc"
#include "history-js.inc"
#include "icon-svg.inc"
#include "index-html.inc"
#include "jobs-js.inc"
#include "narrow-css.inc"
#include "overview-js.inc"
#include "panels-css.inc"
#include "policies-js.inc"
#include "tables-css.inc"
#include "uplot-css.inc"
#include "uplot-js.inc"
#include "whatif-js.inc"

#define FILE_OF(path, type, text)                  \
	{                                          \
		path, type, text, sizeof(text) - 1 \
	}

#define HTML "text/html; charset=utf-8"
#define CSS  "text/css; charset=utf-8"
#define JS   "text/javascript; charset=utf-8"
#define SVG  "image/svg+xml"

const struct page_file page_files[] = {
	FILE_OF("/app.css", CSS, app_css),
	FILE_OF("/app.js", JS, app_js),
	FILE_OF("/chart.js", JS, chart_js),
	FILE_OF("/dom.js", JS, dom_js),
	FILE_OF("/edit.js", JS, edit_js),
	FILE_OF("/feed.js", JS, feed_js),
	FILE_OF("/format.js", JS, format_js),
	FILE_OF("/gantt.js", JS, gantt_js),
	FILE_OF("/history.js", JS, history_js),
	FILE_OF("/icon.svg", SVG, icon_svg),
	FILE_OF("/", HTML, index_html),
	FILE_OF("/jobs.js", JS, jobs_js),
	FILE_OF("/narrow.css", CSS, narrow_css),
	FILE_OF("/overview.js", JS, overview_js),
	FILE_OF("/panels.css", CSS, panels_css),
	FILE_OF("/policies.js", JS, policies_js),
	FILE_OF("/tables.css", CSS, tables_css),
	FILE_OF("/uplot.css", CSS, uplot_css),
	FILE_OF("/uplot.js", JS, uplot_js),
	FILE_OF("/whatif.js", JS, whatif_js),
	{ 0 },
};
