/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read a trace for `sluice replay --name`: each ADD becomes a request to send again, in a chain for
 * each job; files are numbered as they appear. The node records appends at one offset beyond all
 * files; here they get consecutive offsets at the end of their file.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/ds/hash.h"
#include "lab/replay/live.h"

#define APPEND_OFFSET (UINT64_C(1) << 62) /* where the node puts appends */
#define OPEN_FLAGS    (O_DIRECT | O_SYNC | O_DSYNC)

static int rl_no_memory(void)
{
	return cli_fail(REPLAY_CMD, "out of memory.");
}

static struct rl_job *rl_job(struct rl *l, uint64_t number)
{
	for (uint32_t i = 0; i < l->jobs; i++)
		if (l->job[i].number == number)
			return &l->job[i];
	if (l->jobs == PRIVATE_PROCS)
		return NULL;
	l->job[l->jobs] =
		(struct rl_job){ .number = number, .first = UINT32_MAX, .last = UINT32_MAX };
	snprintf(l->job[l->jobs].name, sizeof(l->job[0].name), "replay-%u", l->jobs + 1);
	return &l->job[l->jobs++];
}

/* Double the array when it is full. */
static bool rl_grow(void **array, uint32_t *room, uint32_t used, size_t size)
{
	uint32_t more = *room ? 2 * *room : 1024;
	void *bigger;

	if (used < *room)
		return true;
	bigger = used < UINT32_MAX / 4 ? reallocarray(*array, more, size) : NULL;
	if (!bigger)
		return false;
	*array = bigger;
	*room = more;
	return true;
}

static int rl_add(struct rl *l, struct replay_trace *t, struct sl_hash *files,
		  const struct sl_trace_record *r, sl_time first)
{
	struct rl_job *j = rl_job(l, r->u64[0]);
	uint32_t f = sl_hash_get(files, r->u64[2], 0);
	struct rl_op *op;

	if (!j)
		return cli_fail(REPLAY_CMD, "%s has more than %d jobs.", t->path, PRIVATE_PROCS);
	if (r->u64[4] == 0 || r->u64[4] > REPLAY_MAX_LENGTH || r->u32[0] > SL_WRITE ||
	    r->u64[3] > APPEND_OFFSET || r->now < first)
		return replay_damaged(t, 0, "is no request of a node", "");
	if (!rl_grow((void **)&l->op, &l->op_room, l->ops, sizeof(*l->op)))
		return rl_no_memory();
	if (f == SL_HASH_NONE) {
		if (!rl_grow((void **)&l->file, &l->file_room, l->files, sizeof(*l->file)))
			return rl_no_memory();
		f = l->files++;
		l->file[f] = (struct rl_file){ .flags = (int)r->u32[1] & OPEN_FLAGS, .fd = -1 };
		sl_hash_put(files, r->u64[2], 0, f);
	}
	op = &l->op[l->ops];
	*op = (struct rl_op){ .at_ns = r->now - first,
			      .offset = r->u64[3],
			      .length = (uint32_t)r->u64[4],
			      .op = r->u32[0],
			      .file = f,
			      .job = (uint32_t)(j - l->job),
			      .next = UINT32_MAX };
	if (op->offset == APPEND_OFFSET) {
		op->offset = l->file[f].append_at;
		l->file[f].append_at += op->length;
	}
	if (l->file[f].size < op->offset + op->length)
		l->file[f].size = op->offset + op->length;
	if (j->first == UINT32_MAX)
		j->first = l->ops;
	else
		l->op[j->last].next = l->ops;
	j->last = l->ops++;
	j->count++;
	j->end_ns = r->now - first;
	j->waiting++;
	j->threads = j->waiting > j->threads ? j->waiting : j->threads;
	return CLI_OK;
}

/* The first conf counts; later changes are ignored. */
static void rl_conf(struct rl *l, const struct sl_trace_record *r)
{
	struct rl_job *j = rl_job(l, r->u64[0]);

	if (!j || j->count || j->conf.weight)
		return;
	sl_trace_job_conf(r, &j->conf);
	j->conf.weight = j->conf.weight ? j->conf.weight : 1;
}

/* Requests are numbered as they are added, so a number is an index. */
static void rl_under_way(struct rl *l, const struct sl_trace_record *r)
{
	struct rl_op *op = r->request < l->ops ? &l->op[r->request] : NULL;
	struct rl_job *j = op ? &l->job[op->job] : NULL;

	if (!op)
		return;
	if (r->type == SL_TRACE_NEXT && r->u32[0])
		op->batch = r->u32[0];
	else if (r->type == SL_TRACE_DONE)
		j->waiting -= op->batch < j->waiting ? op->batch : j->waiting;
	else if (r->type == SL_TRACE_CANCEL)
		j->waiting -= j->waiting > 0;
}

static uint32_t rl_count_adds(struct replay_trace *t, int *rc)
{
	struct sl_trace_record r;
	uint32_t adds = 0;

	while ((*rc = replay_next(t, &r)) > 0)
		adds += r.type == SL_TRACE_ADD && adds < UINT32_MAX / 4;
	return adds;
}

int replay_load(struct rl *l, struct replay_trace *t)
{
	struct sl_trace_record r;
	struct sl_hash files;
	sl_time first = -1;
	void *memory;
	uint32_t adds;
	int rc, status = CLI_OK;

	adds = rl_count_adds(t, &rc);
	if (rc < 0)
		return replay_damaged(t, rc, NULL, "");
	if (!adds)
		return cli_fail(REPLAY_CMD, "%s holds no reads and writes.", t->path);
	memory = aligned_alloc(64, (sl_hash_size(adds) + 63) & ~(size_t)63);
	if (!memory)
		return rl_no_memory();
	sl_hash_init(&files, memory, adds);
	replay_rewind(t);
	while (!status && replay_next(t, &r) > 0) {
		if (r.type == SL_TRACE_JOB)
			rl_conf(l, &r);
		rl_under_way(l, &r);
		if (r.type != SL_TRACE_ADD)
			continue;
		first = first < 0 ? r.now : first;
		status = rl_add(l, t, &files, &r, first);
		l->end_ns = r.now - first;
	}
	free(memory);
	return status;
}
