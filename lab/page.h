/* SPDX-License-Identifier: Apache-2.0 */
/* Self-contained pages with charts. See page.c. */
#ifndef SL_LAB_PAGE_H
#define SL_LAB_PAGE_H

#include <stdio.h>

struct json;

/*
 * The parts of a page besides the figures. body: from the end of the style to the element "data",
 * which contains the figures.
 */
struct page_parts {
	const char *title, *style, *body, *script;
};

/*
 * Write a page to f. json() writes the members of the object in "data"; its strings are escaped.
 * Both return 0 or -errno.
 */
int page_put(FILE *f, const struct page_parts *p, int (*json)(struct json *j, const void *what),
	     const void *what);

/*
 * Check that the page can be written there, before long work. Errors are printed; returns an exit
 * status.
 */
int page_check(const char *cmd, const char *path);
/*
 * Write the page completely or not at all. write() returns 0 or -errno. Errors are printed; returns
 * an exit status.
 */
int page_write(const char *cmd, const char *path, int (*write)(FILE *f, const void *what),
	       const void *what);

#endif
