/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads CSV, line by line:
 *
 *	# a comment
 *	job, ionodes, "a ""name"", quoted"
 *
 * Spaces around a field do not count. Within quotes a quote is doubled. Empty lines and comments
 * are skipped, as is a byte order mark before the first line. A control character is an error,
 * except that a tab counts as a space.
 */
#ifndef SL_BASE_CSV_H
#define SL_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_csv_field {
	const char *text;
	bool quoted;
};

struct sl_csv {
	/* Set before the first line. */
	const char *file;     /* for messages */
	const char *at, *end; /* the text that is left */
	const char *quotes;   /* the characters that quote */
	char separator;	      /* 0: the first comma, semicolon or tab of the first line */
	char comment;	      /* lines that begin with it are skipped; 0: none */
	bool backslash;	      /* within quotes it takes the next character as it is */
	char *err;
	size_t err_size;
	/* The line read last; the fields are good until the next one. */
	unsigned long line; /* from 1 */
	const char *from, *to;
	struct sl_csv_field *field;
	uint32_t fields;
	/* private */
	char *text;
	size_t text_room;
	uint32_t field_room;
};

/* The next line that has something, [from, to) without spaces around it; false: there is none. */
bool sl_csv_line(struct sl_csv *r);
/* The fields of a piece of a line, at least one. 0, -EINVAL or -ENOMEM with a message. */
int sl_csv_split(struct sl_csv *r, const char *from, const char *to);
/* The fields of the next line. 1, 0 if there is none, or as above. */
int sl_csv_row(struct sl_csv *r);
/* Puts "FILE:LINE: message." into err, the point included, and returns rc. */
int sl_csv_fail(struct sl_csv *r, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Frees what reading has allocated. */
void sl_csv_end(struct sl_csv *r);

#endif
