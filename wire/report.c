/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports and orders as text: see report.h. The tables below say for each kind of line which
 * words there are and where they go; both directions use them.
 */
#include "wire/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, U32, U64, I64 };

struct word {
	const char *key;
	enum kind kind;
	size_t at, size; /* in the struct; size: of a TEXT */
};

#define WORD_TEXT(s, key, member)                                                      \
	{                                                                              \
		key, TEXT, offsetof(struct s, member), sizeof(((struct s *)0)->member) \
	}
#define WORD(s, key, kind, member)                       \
	{                                                \
		key, kind, offsetof(struct s, member), 0 \
	}

static const struct word node_words[] = {
	WORD_TEXT(sl_node_report, "name", name),
	WORD(sl_node_report, "life", U64, life),
	WORD_TEXT(sl_node_report, "socket", socket),
	WORD_TEXT(sl_node_report, "tcp", tcp),
	WORD(sl_node_report, "capacity", U64, capacity_bps),
	WORD(sl_node_report, "layer", U64, layer_bps),
	WORD(sl_node_report, "of", U32, of),
	WORD(sl_node_report, "draw", U64, draw_bps),
	WORD(sl_node_report, "ack", U64, ack),
	WORD(sl_node_report, "term", U64, term),
	WORD_TEXT(sl_node_report, "share", share),
	{ 0 },
};

static const struct word job_words[] = {
	WORD(sl_job_report, "id", U64, id),
	WORD_TEXT(sl_job_report, "name", name),
	WORD_TEXT(sl_job_report, "title", title),
	WORD(sl_job_report, "clients", U32, clients),
	WORD(sl_job_report, "procs", U32, procs),
	WORD(sl_job_report, "nodes", U32, nodes),
	WORD(sl_job_report, "min", U64, min_bps),
	WORD(sl_job_report, "max", U64, max_bps),
	WORD(sl_job_report, "weight", U32, weight),
	WORD(sl_job_report, "period", I64, period_ns),
	WORD(sl_job_report, "read", U64, moved[0]),
	WORD(sl_job_report, "written", U64, moved[1]),
	WORD(sl_job_report, "queued", U64, queued_bytes),
	WORD(sl_job_report, "waited", I64, waited_ns),
	WORD(sl_job_report, "inside", U32, inside),
	WORD(sl_job_report, "idle", I64, idle_ns),
	WORD(sl_job_report, "phase", U32, phase),
	WORD_TEXT(sl_job_report, "map", map),
	{ 0 },
};

static const struct word orders_words[] = {
	WORD(sl_job_orders, "id", U64, id),
	WORD(sl_job_orders, "rate", U64, rate_bps),
	WORD(sl_job_orders, "period", I64, period_ns),
	WORD(sl_job_orders, "share", U32, share),
	WORD(sl_job_orders, "turns", U32, turns),
	{ 0 },
};

static const struct word epoch_words[] = {
	WORD(sl_node_orders, "number", U64, epoch),  WORD(sl_node_orders, "term", U64, term),
	WORD(sl_node_orders, "order", U64, order),   WORD(sl_node_orders, "layer", U64, layer_bps),
	WORD(sl_node_orders, "draw", U64, draw_bps), { 0 },
};

/* ---- writing ---- */

static void put(FILE *f, const char *what, const struct word *words, const void *from)
{
	fputs(what, f);
	for (; words->key; words++) {
		const char *at = (const char *)from + words->at;
		uint64_t u64;
		uint32_t u32;
		int64_t i64;

		fprintf(f, " %s=", words->key);
		switch (words->kind) {
		case TEXT:
			fputs(at, f);
			break;
		case U32:
			memcpy(&u32, at, sizeof(u32));
			fprintf(f, "%" PRIu32, u32);
			break;
		case U64:
			memcpy(&u64, at, sizeof(u64));
			fprintf(f, "%" PRIu64, u64);
			break;
		case I64:
			memcpy(&i64, at, sizeof(i64));
			fprintf(f, "%" PRId64, i64);
			break;
		}
	}
}

void sl_report_put_node(FILE *f, const struct sl_node_report *n)
{
	put(f, "node", node_words, n);
	fputc('\n', f);
}

void sl_report_put_job(FILE *f, const struct sl_job_report *j)
{
	put(f, "job", job_words, j);
	fputc('\n', f);
}

void sl_orders_put_epoch(FILE *f, const struct sl_node_orders *o)
{
	put(f, "epoch", epoch_words, o);
	fputc('\n', f);
}

void sl_orders_put_job(FILE *f, const struct sl_job_orders *j)
{
	put(f, "job", orders_words, j);
	if (j->to_count == 0)
		fputs(" to=", f);
	for (uint32_t i = 0; j->to_count != UINT32_MAX && i < j->to_count; i++)
		fprintf(f, "%s%s", i ? "," : " to=", j->to[i]);
	fputc('\n', f);
}

/* ---- reading ---- */

static int number(const char *text, bool negative, uint64_t *u, int64_t *i)
{
	char *end;

	if (!(*text >= '0' && *text <= '9') && !(negative && *text == '-'))
		return -EPROTO;
	errno = 0;
	if (negative)
		*i = strtoll(text, &end, 10);
	else
		*u = strtoull(text, &end, 10);
	return errno || *end ? -EPROTO : 0;
}

static int store(const struct word *w, char *to, const char *value)
{
	uint64_t u64 = 0;
	int64_t i64 = 0;
	uint32_t u32;

	if (w->kind == TEXT) {
		size_t length = strlen(value);

		if (length >= w->size)
			return -EPROTO;
		memcpy(to + w->at, value, length + 1);
		return 0;
	}
	if (number(value, w->kind == I64, &u64, &i64))
		return -EPROTO;
	u32 = (uint32_t)u64;
	if (w->kind == U32 && u64 > UINT32_MAX)
		return -EPROTO;
	if (w->kind == U32)
		memcpy(to + w->at, &u32, sizeof(u32));
	else if (w->kind == U64)
		memcpy(to + w->at, &u64, sizeof(u64));
	else
		memcpy(to + w->at, &i64, sizeof(i64));
	return 0;
}

/* The next line without its end; NULL: there is none. */
static char *line(char **text)
{
	char *at = *text, *end;

	if (!*at)
		return NULL;
	end = strchr(at, '\n');
	*text = end ? end + 1 : at + strlen(at);
	if (end)
		*end = 0;
	return at;
}

/* Words of a line into a struct; those that are not in the table go to `other`, if there is one. */
static int words(char *rest, const struct word *table, void *out,
		 int (*other)(void *out, const char *key, char *value))
{
	char *save = NULL;

	for (char *key = strtok_r(rest, " ", &save); key; key = strtok_r(NULL, " ", &save)) {
		char *value = strchr(key, '=');
		const struct word *w = table;
		int rc;

		if (!value)
			return -EPROTO;
		*value++ = 0;
		while (w->key && strcmp(w->key, key) != 0)
			w++;
		rc = w->key ? store(w, out, value) : other ? other(out, key, value) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* Cut the first word off. */
static char *what(char *at)
{
	char *blank = strchr(at, ' ');

	if (!blank)
		return at + strlen(at);
	*blank = 0;
	return blank + 1;
}

int sl_report_next(char **text, struct sl_report_line *out)
{
	char *at = line(text), *rest;
	int rc;

	memset(out, 0, sizeof(*out));
	if (!at)
		return SL_LINE_END;
	rest = what(at);
	if (!strcmp(at, "node")) {
		rc = words(rest, node_words, &out->node, NULL);
		return rc ? rc : SL_LINE_NODE;
	}
	if (!strcmp(at, "job")) {
		rc = words(rest, job_words, &out->job, NULL);
		return rc ? rc : SL_LINE_JOB;
	}
	return SL_LINE_OTHER;
}

static int to_word(void *into, const char *key, char *value)
{
	struct sl_job_orders *out = into;
	char *save = NULL;

	if (strcmp(key, "to") != 0)
		return 0;
	out->to_count = 0;
	for (char *n = strtok_r(value, ",", &save); n; n = strtok_r(NULL, ",", &save)) {
		if (out->to_count == SL_MAP_MAX || strlen(n) >= SL_NODE_NAME_MAX)
			return -EPROTO;
		strcpy(out->to[out->to_count++], n);
	}
	return 0;
}

int sl_orders_next(char **text, struct sl_orders_line *out)
{
	char *at = line(text), *rest;
	int rc;

	memset(out, 0, sizeof(*out));
	if (!at)
		return SL_LINE_END;
	rest = what(at);
	if (!strcmp(at, "epoch")) {
		rc = words(rest, epoch_words, &out->epoch, NULL);
		return rc ? rc : SL_LINE_EPOCH;
	}
	if (!strcmp(at, "node")) {
		rc = words(rest, node_words, &out->node, NULL);
		return rc ? rc : SL_LINE_NODE;
	}
	if (!strcmp(at, "job")) {
		out->job.rate_bps = UINT64_MAX;
		out->job.share = SL_SHARE_WHOLE;
		out->job.to_count = UINT32_MAX;
		rc = words(rest, orders_words, &out->job, to_word);
		return rc ? rc : SL_LINE_JOB;
	}
	return SL_LINE_OTHER;
}
