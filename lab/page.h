/* SPDX-License-Identifier: Apache-2.0 */
/* Pages with charts, as files: one each that needs nothing else. See page.c. */
#ifndef SL_LAB_PAGE_H
#define SL_LAB_PAGE_H

#include <stdio.h>

struct json;

/* What is not the figures. body: from the end of the style to the element "data", which holds them.
 */
struct page_parts {
	const char *title, *style, *body, *script;
};

/*
 * All of a page to f: json() writes the members of the object that stands in "data", so that no
 * string in it can become markup, and returns 0 or -errno. 0 or -errno.
 */
int page_put(FILE *f, const struct page_parts *p, int (*json)(struct json *j, const void *what),
	     const void *what);

/* Can the page be written there? An exit status, reported. To know before long work. */
int page_check(const char *cmd, const char *path);
/* Whole, or not at all. write() returns 0 or -errno. An exit status, reported. */
int page_write(const char *cmd, const char *path, int (*write)(FILE *f, const void *what),
	       const void *what);

#endif
