/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON to a FILE, written as it is produced: no tree, no allocation.
 *
 *	struct json j;
 *	json_begin(&j, stdout);
 *	json_object(&j, NULL);
 *	json_string(&j, "bench", "sched");
 *	json_array(&j, "rows");
 *	json_object(&j, NULL); json_int(&j, "jobs", 1000); json_end(&j);
 *	json_end(&j);
 *	json_end(&j);           {"bench":"sched","rows":[{"jobs":1000}]}, over several lines
 *
 * The key is NULL in an array and at the top. The two outermost levels put each member on a line
 * of its own, so that a list of rows is one row a line. Write errors stay in the FILE (ferror).
 */
#ifndef SL_BASE_JSON_H
#define SL_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_DEPTH 16

struct json {
	FILE *f;
	unsigned depth;
	unsigned lines; /* levels that put each member on a line of its own */
	struct {
		char close; /* what ends this level */
		bool some;  /* it has a member */
	} level[JSON_MAX_DEPTH + 1];
};

void json_begin(struct json *j, FILE *f);
void json_begin_line(struct json *j, FILE *f); /* all of it on one line */
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j); /* of the innermost object or array; a newline after the outermost */

/* NULL is null; what is not UTF-8 becomes U+FFFD. */
void json_string(struct json *j, const char *key, const char *value);
void json_int(struct json *j, const char *key, int64_t value);
void json_uint(struct json *j, const char *key, uint64_t value);
/* Shortest form that reads back as the same number; not a number and infinities are null. */
void json_double(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);

#endif
