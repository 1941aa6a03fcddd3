/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice replay --check`: a scheduler is a pure state machine, so the same calls with the same
 * times must give the same decisions, in another process and on another machine. So a simulation is
 * valid for the daemon, and the check finds changes that the daemon makes to the scheduler without
 * recording them.
 *
 * Example: ADD 0, ADD 1, NEXT (request 0, count 2), DONE 0. The replay adds two requests, asks
 * sl_next(), and compares: does the batch begin with its request 0, and hold two?
 *
 * Memory is bounded by the limits of the recorded scheduler; each record takes O(1) besides the
 * scheduler's own work.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/ds/hash.h"
#include "base/json.h"
#include "base/units.h"
#include "lab/replay/replay.h"

#define MOST_FILE	 (UINT64_C(16) << 20)
#define DEFAULT_REQUESTS 65536 /* of struct sl_limits, if they are all 0 */

struct rc_request {
	struct sl_request req;	      /* first: a request of the scheduler is its rc_request */
	uint32_t number;	      /* in the trace */
	uint32_t free;		      /* index of the next free one */
	const struct sl_batch *batch; /* in flight and the first of its batch */
};

/* A file that a policy names, with its contents when recorded; the newest version is first. */
struct rc_file {
	struct rc_file *next;
	char *name, *text;
	uint64_t length, have;
};

struct rc_check {
	struct replay_trace *t;
	struct sl_sched *s;
	struct rc_request *request;
	uint32_t free; /* SL_HASH_NONE: none */
	struct sl_hash by_number;
	void *hash_memory;
	uint64_t decisions, batches, requests, lost;
	struct rc_file *files;
	FILE *log;
	sl_time first, last;
};

enum { RC_GO_ON = -1 };

/* ---- reporting ---- */

static const char *rc_when(const struct rc_check *c, sl_time now, char buf[32])
{
	snprintf(buf, 32, "%.6f s", (double)(now - c->first) / 1e9);
	return buf;
}

static void rc_batch(const struct rc_check *c, uint32_t number, uint32_t count, char out[160])
{
	uint32_t i = count ? sl_hash_get(&c->by_number, number, 0) : SL_HASH_NONE;
	const struct sl_request *r;

	if (!count) {
		strcpy(out, "nothing");
		return;
	}
	if (i == SL_HASH_NONE) {
		snprintf(out, 160, "request %u, which does not exist", number);
		return;
	}
	r = &c->request[i].req;
	snprintf(out, 160, "request %u (job %016" PRIx64 ", %s at %" PRIu64 "+%" PRIu64 ")%s",
		 number, r->job, r->op == SL_WRITE ? "write" : "read", r->offset, r->length,
		 count > 1 ? " and others" : "");
}

static int rc_differs(const struct rc_check *c, const struct sl_trace_record *r,
		      const struct sl_batch *b)
{
	char when[32], then[160], now[160];

	rc_batch(c, r->request, r->u32[0], then);
	rc_batch(c, b ? ((struct rc_request *)b->first)->number : 0, b ? b->count : 0, now);
	return cli_fail(c->t->cmd,
			"decision %" PRIu64 " differs, after %s (record %" PRIu64
			"): recorded was %s, %u in the batch; now it is %s, %u in the batch.",
			c->decisions, rc_when(c, r->now, when), c->t->records, then, r->u32[0], now,
			b ? b->count : 0);
}

/* The scheduler must accept what the live one accepted. */
static int rc_refused(const struct rc_check *c, const char *what)
{
	return cli_fail(c->t->cmd,
			"record %" PRIu64 " (%s) was accepted when recorded, but now: %s.",
			c->t->records, what, sl_error(c->s));
}

static void rc_so_far(const struct rc_check *c, char out[100])
{
	snprintf(out, 100, " The %" PRIu64 " decisions before that are equal.", c->decisions);
}

static int rc_nonsense(const struct rc_check *c, const char *text)
{
	char so_far[100];

	rc_so_far(c, so_far);
	return replay_damaged(c->t, 0, text, so_far);
}

/* ---- records ---- */

static int rc_file(struct rc_check *c, const struct sl_trace_record *r)
{
	size_t head = strnlen(r->text, r->text_length) + 1;
	struct rc_file *f = c->files;

	if (head > r->text_length || r->u64[1] > MOST_FILE)
		return rc_nonsense(c, "is no piece of a file");
	if (r->u64[0] == 0) {
		f = calloc(1, sizeof(*f));
		if (!f || !(f->name = strdup(r->text)) || !(f->text = malloc(r->u64[1] + 1))) {
			if (f)
				free(f->name);
			free(f);
			return cli_fail(c->t->cmd, "out of memory.");
		}
		f->length = r->u64[1];
		f->next = c->files;
		c->files = f;
	}
	if (!f || strcmp(f->name, r->text) != 0 || r->u64[0] != f->have ||
	    r->text_length - head > f->length - f->have)
		return rc_nonsense(c, "is a piece of a file without the one before");
	memcpy(f->text + f->have, r->text + head, r->text_length - head);
	f->have += r->text_length - head;
	return RC_GO_ON;
}

static int rc_read(void *arg, const char *name, char **text, size_t *length)
{
	const struct rc_check *c = arg;
	const struct rc_file *f = c->files;

	while (f && strcmp(f->name, name) != 0)
		f = f->next;
	if (!f || f->have < f->length)
		return -ENODATA; /* do not use the file of this machine, which may have changed */
	*text = malloc(f->length + 1);
	if (!*text)
		return -ENOMEM;
	memcpy(*text, f->text, f->length);
	*length = f->length;
	return 0;
}

static void rc_free_files(struct rc_check *c)
{
	while (c->files) {
		struct rc_file *f = c->files;

		c->files = f->next;
		free(f->name);
		free(f->text);
		free(f);
	}
}

static int rc_config(struct rc_check *c, const struct sl_trace_record *r)
{
	const char *spec[3] = { NULL, NULL, NULL };
	struct sl_config config = { .limits = { r->u32[0], r->u32[1], r->u32[2] },
				    .strict_grants = r->u32[3] != 0,
				    .lend_us = r->u32[4],
				    .patterns = 1,
				    .read = rc_read,
				    .read_arg = c,
				    .capacity_bps = r->u64[0] };
	uint32_t n = r->u32[2] ? r->u32[2] : DEFAULT_REQUESTS;
	const char *at = r->text, *end = r->text + r->text_length;
	char err[200];

	for (int i = 0; i < 3 && at < end; i++) {
		spec[i] = *at ? at : NULL;
		at += strlen(at) + 1;
	}
	config.admit = spec[0];
	config.share = spec[1];
	config.order = spec[2];
	c->first = r->now;
	if (sl_sched_create(&c->s, &config, r->now, err, sizeof(err)))
		return cli_fail(c->t->cmd, "the recorded configuration was refused: %s.", err);
	c->request = calloc(n, sizeof(*c->request));
	c->hash_memory = aligned_alloc(64, (sl_hash_size(n) + 63) & ~(size_t)63);
	if (!c->request || !c->hash_memory)
		return cli_fail(c->t->cmd, "out of memory.");
	sl_hash_init(&c->by_number, c->hash_memory, n);
	for (uint32_t i = 0; i < n; i++)
		c->request[i].free = i + 1 < n ? i + 1 : SL_HASH_NONE;
	c->free = 0;
	return RC_GO_ON;
}

static void rc_free(struct rc_check *c, struct rc_request *q)
{
	sl_hash_remove(&c->by_number, q->number, 0);
	q->free = c->free;
	c->free = (uint32_t)(q - c->request);
}

static int rc_add(struct rc_check *c, const struct sl_trace_record *r)
{
	struct rc_request *q;

	if (sl_hash_get(&c->by_number, r->request, 0) != SL_HASH_NONE)
		return rc_nonsense(c, "adds a request that exists already");
	if (c->free == SL_HASH_NONE)
		return rc_nonsense(c, "adds more requests than the recorded scheduler takes");
	q = &c->request[c->free];
	q->req = (struct sl_request){ .job = r->u64[0],
				      .client = r->u64[1],
				      .file = r->u64[2],
				      .offset = r->u64[3],
				      .length = r->u64[4],
				      .op = r->u32[0],
				      .flags = r->u32[1] };
	q->number = r->request;
	q->batch = NULL;
	if (sl_add(c->s, &q->req, r->now))
		return rc_refused(c, "add");
	c->free = q->free;
	sl_hash_put(&c->by_number, q->number, 0, (uint32_t)(q - c->request));
	c->requests++;
	return RC_GO_ON;
}

static void rc_log(const struct rc_check *c, const struct sl_batch *b, sl_time now)
{
	const struct sl_request *r;

	if (!b) {
		fprintf(c->log, "%" PRId64 " 0\n", now);
		return;
	}
	r = b->first;
	fprintf(c->log,
		"%" PRId64 " %u %u %016" PRIx64 " %" PRIu64 " %s %016" PRIx64 " %" PRIu64
		" %" PRIu64 "\n",
		now, b->count, ((const struct rc_request *)r)->number, r->job, r->client,
		r->op == SL_WRITE ? "write" : "read", r->file, r->offset, r->length);
}

static int rc_next(struct rc_check *c, const struct sl_trace_record *r)
{
	const struct sl_batch *b = sl_next(c->s, r->now, NULL);
	struct rc_request *first = b ? (struct rc_request *)b->first : NULL;

	c->decisions++;
	if (c->log)
		rc_log(c, b, r->now);
	if ((b ? b->count : 0) != r->u32[0] || (b && first->number != r->request))
		return rc_differs(c, r, b);
	if (b) {
		first->batch = b;
		c->batches++;
	}
	return RC_GO_ON;
}

static int rc_done(struct rc_check *c, const struct sl_trace_record *r)
{
	uint32_t i = sl_hash_get(&c->by_number, r->request, 0);
	const struct sl_batch *b = i == SL_HASH_NONE ? NULL : c->request[i].batch;
	struct sl_request *at, *next;

	if (!b)
		return rc_nonsense(c, "ends a batch that was not begun");
	at = b->first;
	if (sl_done(c->s, b, r->now))
		return rc_refused(c, "done");
	for (; at; at = next) {
		next = at->next;
		rc_free(c, (struct rc_request *)at);
	}
	return RC_GO_ON;
}

static int rc_cancel(struct rc_check *c, const struct sl_trace_record *r)
{
	uint32_t i = sl_hash_get(&c->by_number, r->request, 0);

	if (i == SL_HASH_NONE)
		return rc_nonsense(c, "cancels a request that does not exist");
	if (sl_cancel(c->s, &c->request[i].req, r->now))
		return rc_refused(c, "cancel");
	rc_free(c, &c->request[i]);
	return RC_GO_ON;
}

static int rc_job(struct rc_check *c, const struct sl_trace_record *r)
{
	struct sl_job_conf old, conf;
	int rc;

	sl_trace_job_conf(r, &conf);
	rc = sl_job_get(c->s, r->u64[0], &old) ? sl_job_add(c->s, r->u64[0], &conf, r->now)
					       : sl_job_set(c->s, r->u64[0], &conf, r->now);

	return rc ? rc_refused(c, "job") : RC_GO_ON;
}

static int rc_policy(struct rc_check *c, const struct sl_trace_record *r)
{
	char stage[16];
	size_t length = strcspn(r->text, "=");

	if (!r->text[length] || length >= sizeof(stage))
		return rc_nonsense(c, "does not say STAGE=POLICY");
	memcpy(stage, r->text, length);
	stage[length] = 0;
	return sl_policy_set(c->s, stage, r->text + length + 1, r->now) ? rc_refused(c, "policy")
									: RC_GO_ON;
}

static int rc_lost(struct rc_check *c, const struct sl_trace_record *r)
{
	cli_fail(c->t->cmd,
		 "%s has a gap: %" PRIu64 " records were not written fast enough. The %" PRIu64
		 " decisions before it are equal, the later ones cannot be checked.",
		 c->t->path, r->u64[0], c->decisions);
	return CLI_USAGE;
}

static int rc_record(struct rc_check *c, const struct sl_trace_record *r)
{
	if (r->type == SL_TRACE_CONFIG)
		return rc_config(c, r);
	assert(c->request); /* replay_next() lets nothing come before the configuration */
	switch (r->type) {
	case SL_TRACE_ADD:
		return rc_add(c, r);
	case SL_TRACE_NEXT:
		return rc_next(c, r);
	case SL_TRACE_DONE:
		return rc_done(c, r);
	case SL_TRACE_CANCEL:
		return rc_cancel(c, r);
	case SL_TRACE_JOB:
		return rc_job(c, r);
	case SL_TRACE_REMOVE:
		return sl_job_remove(c->s, r->u64[0], r->now) ? rc_refused(c, "remove") : RC_GO_ON;
	case SL_TRACE_ORDER:
		return sl_job_order(c->s, r->u64[0], r->text_length ? r->text : NULL, r->now)
			       ? rc_refused(c, "order")
			       : RC_GO_ON;
	case SL_TRACE_GRANT:
		return sl_job_grant(c->s, r->u64[0], r->u64[1], (sl_time)r->u64[2], r->now)
			       ? rc_refused(c, "grant")
			       : RC_GO_ON;
	case SL_TRACE_POLICY:
		return rc_policy(c, r);
	case SL_TRACE_CAPACITY:
		return sl_capacity_set(c->s, r->u64[0], r->now) ? rc_refused(c, "capacity")
								: RC_GO_ON;
	case SL_TRACE_LOST:
		return rc_lost(c, r);
	case SL_TRACE_FILE:
		return rc_file(c, r);
	case SL_TRACE_RATIO:
		return sl_ratio_set(c->s, (uint32_t)r->u64[0], r->u64[1], (uint32_t)r->u64[2])
			       ? rc_refused(c, "ratio")
			       : RC_GO_ON;
	default:
		return rc_nonsense(c, "has an unknown type");
	}
}

/* ---- all of it ---- */

static void rc_print(const struct rc_check *c, bool json)
{
	struct json j;
	char took[16];

	if (!json) {
		printf("%" PRIu64 " decisions, all equal\n", c->decisions);
		printf("%" PRIu64 " requests in %" PRIu64 " batches, recorded over %s\n",
		       c->requests, c->batches,
		       sl_format_time(took, sizeof(took), c->last - c->first));
		return;
	}
	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_bool(&j, "equal", true);
	json_uint(&j, "decisions", c->decisions);
	json_uint(&j, "batches", c->batches);
	json_uint(&j, "requests", c->requests);
	json_double(&j, "recorded_s", (double)(c->last - c->first) / 1e9);
	json_end(&j);
}

int replay_check(struct replay_trace *t, bool json, FILE *log)
{
	struct rc_check c = { .t = t, .log = log };
	struct sl_trace_record r;
	char so_far[100];
	int rc, status = RC_GO_ON;

	while (status == RC_GO_ON && (rc = replay_next(t, &r)) > 0) {
		status = rc_record(&c, &r);
		c.last = r.now;
	}
	if (status == RC_GO_ON && rc == 0 && !c.s)
		status = replay_damaged(t, -ENODATA, NULL, "");
	if (status == RC_GO_ON && rc < 0) {
		rc_so_far(&c, so_far);
		status = replay_damaged(t, rc, NULL, so_far);
	}
	if (status == RC_GO_ON) {
		rc_print(&c, json);
		status = CLI_OK;
	}
	sl_sched_destroy(c.s);
	rc_free_files(&c);
	free(c.request);
	free(c.hash_memory);
	return status;
}
