/* SPDX-License-Identifier: Apache-2.0 */
/* Pages with charts, as files: one each that needs nothing else. See page.c. */
#ifndef SL_CLI_PAGE_H
#define SL_CLI_PAGE_H

#include <stdio.h>

/* From the beginning to the title, which follows: the page forbids itself to load anything. */
extern const char page_head[];

/* JSON into an element of a page, so that no string in it can become markup. */
void page_json(FILE *f, const char *json, size_t size);

/* Can the page be written there? An exit status, reported. To know before long work. */
int page_check(const char *cmd, const char *path);
/* Whole, or not at all. write() returns 0 or -errno. An exit status, reported. */
int page_write(const char *cmd, const char *path, int (*write)(FILE *f, const void *what),
	       const void *what);

#endif
