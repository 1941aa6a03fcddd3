/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translate the bodies of requests to control lines. Pure: text in, text out. The input is
 * untrusted; the output is a control line that the node splits into words, so no value may contain
 * a space or a newline.
 *
 * On failure they return -EINVAL, and err (CHANGE_TEXT bytes) gets a sentence without its final
 * period: what is wrong and what is possible.
 */
#ifndef SL_HTTPD_CHANGE_H
#define SL_HTTPD_CHANGE_H

#include <stddef.h>

#define CHANGE_TEXT	500
#define CHANGE_LINE	4096 /* the longest control line */
#define CHANGE_POLICIES 16

/* {"max":"100M","weight":2}: "set JOB max=100M weight=2" */
int change_job(const char *job, const char *body, size_t length, char line[CHANGE_LINE],
	       char err[CHANGE_TEXT]);
/* {"share":"io-sets","grant":"set-10"}: "policy share=io-sets grant=set-10" */
int change_policy(const char *body, size_t length, char line[CHANGE_LINE], char err[CHANGE_TEXT]);
/* {"policies":["fair-share","set-10"]}: the names, each to be freed; none: all policies. */
int change_what_if(const char *body, size_t length, char *policy[CHANGE_POLICIES + 1],
		   char err[CHANGE_TEXT]);
void change_what_if_free(char *policy[CHANGE_POLICIES + 1]);

#endif
