/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports and orders as text: see report.h. The tables below list the words of each kind of line
 * and their members; encoder and decoder use them.
 */
#include "wire/report.h"

#include <assert.h>
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
	WORD(sl_node_report, "layer_ops", U64, layer_ops),
	{ 0 },
};

/* SL_HAS_… are places in this table. */
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
	WORD(sl_job_report, "uid", U32, uid),
	WORD_TEXT(sl_job_report, "account", account),
	WORD(sl_job_report, "uweight", U32, user_weight),
	WORD(sl_job_report, "aweight", U32, account_weight),
	WORD(sl_job_report, "bucket", U64, bucket),
	WORD(sl_job_report, "bucket_bps", U64, bucket_bps),
	WORD(sl_job_report, "ops", U64, ops),
	WORD(sl_job_report, "ops_held", U64, ops_held_ns),
	WORD(sl_job_report, "limits", U32, limits),
	WORD(sl_job_report, "min_ops", U64, min_ops),
	WORD(sl_job_report, "ops_weight", U32, ops_weight),
	{ 0 },
};

static const struct word orders_words[] = {
	WORD(sl_job_orders, "id", U64, id),
	WORD(sl_job_orders, "rate", U64, rate_bps),
	WORD(sl_job_orders, "period", I64, period_ns),
	WORD(sl_job_orders, "share", U32, share),
	WORD(sl_job_orders, "bucket_bps", U64, bucket_bps),
	WORD(sl_job_orders, "turns", U32, turns),
	WORD(sl_job_orders, "ops_rate", U64, ops_rate),
	WORD(sl_job_orders, "ops_share", U32, ops_share),
	{ 0 },
};

static const struct word epoch_words[] = {
	WORD(sl_node_orders, "number", U64, epoch),
	WORD(sl_node_orders, "term", U64, term),
	WORD(sl_node_orders, "order", U64, order),
	WORD(sl_node_orders, "layer", U64, layer_bps),
	WORD(sl_node_orders, "draw", U64, draw_bps),
	WORD(sl_node_orders, "every", I64, every_ns),
	WORD(sl_node_orders, "lease", I64, lease_ns),
	WORD(sl_node_orders, "whole", U32, whole),
	WORD(sl_node_orders, "open", U32, open),
	WORD(sl_node_orders, "ops_draw", U64, ops_draw),
	{ 0 },
};

static const struct word ack_words[] = {
	WORD(sl_node_report, "draw", U64, draw_bps),
	WORD(sl_node_report, "ack", U64, ack),
	WORD(sl_node_report, "term", U64, term),
	{ 0 },
};

static const struct word joint_words[] = {
	WORD(sl_joint, "id", U64, id),
	WORD(sl_joint, "meter", U32, meter),
	WORD(sl_joint, "bucket", U64, bucket),
	WORD(sl_joint, "limit", U64, limit),
	WORD(sl_joint, "rate", U64, rate),
	WORD(sl_joint, "held", U32, held),
	{ 0 },
};

/* ---- writing ---- */

#define LINE_BYTES 4096 /* more than all words of any line, each as long as it can be */

static char *put_number(char *to, uint64_t n)
{
	char digits[20];
	int k = 0;

	do
		digits[k++] = (char)('0' + n % 10);
	while (n /= 10);
	while (k)
		*to++ = digits[--k];
	return to;
}

static bool same(const struct word *w, const void *a, const void *b)
{
	const char *x = (const char *)a + w->at, *y = (const char *)b + w->at;

	return w->kind == TEXT
		       ? !strcmp(x, y)
		       : !memcmp(x, y, w->kind == U32 ? sizeof(uint32_t) : sizeof(uint64_t));
}

/*
 * All words, or the first and those that are others than before, behind what is at `to`: the end of
 * the line. By hand: printf() would be most of what an order costs.
 */
static char *put_words(char *to, const struct word *words, const void *from, const void *before)
{
	for (const struct word *first = words; words->key; words++) {
		const char *at = (const char *)from + words->at;
		uint64_t u64;
		uint32_t u32;
		int64_t i64;

		if (before && words != first && same(words, from, before))
			continue;
		*to++ = ' ';
		to = stpcpy(to, words->key);
		*to++ = '=';
		switch (words->kind) {
		case TEXT:
			to = stpcpy(to, at);
			break;
		case U32:
			memcpy(&u32, at, sizeof(u32));
			to = put_number(to, u32);
			break;
		case U64:
			memcpy(&u64, at, sizeof(u64));
			to = put_number(to, u64);
			break;
		case I64:
			memcpy(&i64, at, sizeof(i64));
			if (i64 < 0)
				*to++ = '-';
			to = put_number(to, i64 < 0 ? 0 - (uint64_t)i64 : (uint64_t)i64);
			break;
		}
	}
	return to;
}

static void put(FILE *f, const char *what, const struct word *words, const void *from,
		const void *before)
{
	char line[LINE_BYTES], *end = put_words(stpcpy(line, what), words, from, before);

	*end++ = '\n';
	assert(end <= line + sizeof(line));
	fwrite(line, 1, (size_t)(end - line), f);
}

void sl_report_put_node(FILE *f, const struct sl_node_report *n)
{
	put(f, "node", node_words, n, NULL);
}

void sl_report_put_job(FILE *f, const struct sl_job_report *j)
{
	put(f, "job", job_words, j, NULL);
}

bool sl_report_put_change(FILE *f, const struct sl_job_report *j,
			  const struct sl_job_report *before)
{
	bool changed = false;

	for (const struct word *w = job_words; w->key; w++)
		changed |= w->at != offsetof(struct sl_job_report, idle_ns) && !same(w, j, before);
	if (!changed)
		return false;
	put(f, "job", job_words, j, before);
	return true;
}

void sl_report_put_gone(FILE *f, uint64_t id)
{
	fprintf(f, "gone id=%" PRIu64 "\n", id);
}

void sl_joint_put(FILE *f, const struct sl_joint *j)
{
	put(f, "joint", joint_words, j, NULL);
}

void sl_report_put_ack(FILE *f, const struct sl_node_report *n)
{
	put(f, "ack", ack_words, n, NULL);
}

void sl_orders_put_epoch(FILE *f, const struct sl_node_orders *o)
{
	put(f, "epoch", epoch_words, o, NULL);
}

void sl_orders_put_job(FILE *f, const struct sl_job_orders *j)
{
	char line[LINE_BYTES], *end = put_words(stpcpy(line, "job"), orders_words, j, NULL);

	if (j->to_count == 0)
		end = stpcpy(end, " to=");
	for (uint32_t i = 0; j->to_count != UINT32_MAX && i < j->to_count; i++)
		end = stpcpy(stpcpy(end, i ? "," : " to="), j->to[i]);
	*end++ = '\n';
	assert(end <= line + sizeof(line));
	fwrite(line, 1, (size_t)(end - line), f);
}

/* ---- reading ---- */

/* Parse digits up to the end of the word, and move *at there. */
static int number(char **at, bool negative, uint64_t *u)
{
	bool below = negative && **at == '-';
	const char *text = *at + below;
	uint64_t n = 0, most = negative ? (uint64_t)INT64_MAX + below : UINT64_MAX;

	if (!(*text >= '0' && *text <= '9'))
		return -EPROTO;
	for (; *text >= '0' && *text <= '9'; text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		if (n > (most - digit) / 10)
			return -EPROTO;
		n = n * 10 + digit;
	}
	if (*text && *text != ' ')
		return -EPROTO;
	*u = below ? 0 - n : n;
	*at += text - *at;
	return 0;
}

/* Store the value at *at in the struct, and move *at to the end of the word. */
static int store(const struct word *w, char *to, char **at)
{
	uint64_t u64 = 0;
	uint32_t u32;

	if (w->kind == TEXT) {
		size_t length = strcspn(*at, " ");

		if (length >= w->size)
			return -EPROTO;
		memcpy(to + w->at, *at, length);
		to[w->at + length] = 0;
		*at += length;
		return 0;
	}
	if (number(at, w->kind == I64, &u64))
		return -EPROTO;
	u32 = (uint32_t)u64;
	if (w->kind == U32 && u64 > UINT32_MAX)
		return -EPROTO;
	if (w->kind == U32)
		memcpy(to + w->at, &u32, sizeof(u32));
	else
		memcpy(to + w->at, &u64, sizeof(u64)); /* of either sign */
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

/* Search the table from there on; the end of the table: not found. */
static const struct word *find(const struct word *w, const char *key, size_t length)
{
	while (w->key &&
	       (w->key[0] != key[0] || strncmp(w->key, key, length) != 0 || w->key[length]))
		w++;
	return w;
}

/*
 * Words of a line into a struct; those that are not in the table go to `other`, if there is one.
 * The places in the table of those that are there go to *has, if it is wanted. This is most of what
 * a report costs: keys come in the order of the table, so the next one is looked for first.
 */
static int words(char *at, const struct word *table, void *out, uint32_t *has,
		 int (*other)(void *out, const char *key, char *value))
{
	const struct word *next = table;

	while (*(at += strspn(at, " "))) {
		char *key = at, *equals = at;
		const struct word *w;
		size_t length;
		int rc = 0;

		while (*equals && *equals != '=' && *equals != ' ')
			equals++;
		if (*equals != '=')
			return -EPROTO;
		length = (size_t)(equals - key);
		w = find(next, key, length);
		w = w->key ? w : find(table, key, length);
		at = equals + 1;
		if (w->key) {
			rc = store(w, out, &at);
			next = w + 1;
			if (has)
				*has |= 1U << (w - table);
		} else {
			char *end = at + strcspn(at, " "), behind = *end;

			*equals = *end = 0;
			rc = other ? other(out, key, at) : 0;
			*end = behind;
			at = end;
		}
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

static int joint_line(char *rest, struct sl_joint *out)
{
	int rc;

	memset(out, 0, sizeof(*out));
	rc = words(rest, joint_words, out, NULL, NULL);
	return rc ? rc : SL_LINE_JOINT;
}

/* Only the members for this kind of line are cleared; the rest of *out keeps its values. */
int sl_report_next(char **text, struct sl_report_line *out)
{
	char *at = line(text), *rest;
	int rc;

	if (!at)
		return SL_LINE_END;
	rest = what(at);
	if (!strcmp(at, "node") || !strcmp(at, "ack")) {
		bool ack = *at == 'a';

		memset(&out->node, 0, sizeof(out->node));
		rc = words(rest, ack ? ack_words : node_words, &out->node, NULL, NULL);
		return rc ? rc : ack ? SL_LINE_ACK : SL_LINE_NODE;
	}
	if (!strcmp(at, "job") || !strcmp(at, "gone")) {
		bool gone = *at == 'g';

		out->has = 0;
		memset(&out->job, 0, sizeof(out->job));
		rc = words(rest, job_words, &out->job, &out->has, NULL);
		return rc ? rc : gone ? SL_LINE_GONE : SL_LINE_JOB;
	}
	return strcmp(at, "joint") ? SL_LINE_OTHER : joint_line(rest, &out->joint);
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
		rc = words(rest, epoch_words, &out->epoch, NULL, NULL);
		return rc ? rc : SL_LINE_EPOCH;
	}
	if (!strcmp(at, "node")) {
		rc = words(rest, node_words, &out->node, NULL, NULL);
		return rc ? rc : SL_LINE_NODE;
	}
	if (!strcmp(at, "job")) {
		out->job.rate_bps = UINT64_MAX;
		out->job.share = out->job.ops_share = SL_SHARE_WHOLE;
		out->job.ops_rate = UINT64_MAX;
		out->job.to_count = UINT32_MAX;
		rc = words(rest, orders_words, &out->job, NULL, to_word);
		return rc ? rc : SL_LINE_JOB;
	}
	return strcmp(at, "joint") ? SL_LINE_OTHER : joint_line(rest, &out->joint);
}
