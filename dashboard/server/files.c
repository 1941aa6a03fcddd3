/* SPDX-License-Identifier: Apache-2.0 */
/* The page, as it was when the program was built: see dashboard/meson.build. */
#include "dashboard/server/server.h"

#include "index-html.inc"
#include "app-css.inc"
#include "app-js.inc"
#include "uplot-css.inc"
#include "uplot-js.inc"

#define FILE_OF(path, type, text)                  \
	{                                          \
		path, type, text, sizeof(text) - 1 \
	}

const struct page_file page_files[] = {
	FILE_OF("/", "text/html; charset=utf-8", index_html),
	FILE_OF("/app.css", "text/css; charset=utf-8", app_css),
	FILE_OF("/app.js", "text/javascript; charset=utf-8", app_js),
	FILE_OF("/uplot.css", "text/css; charset=utf-8", uplot_css),
	FILE_OF("/uplot.js", "text/javascript; charset=utf-8", uplot_js),
	{ 0 },
};
