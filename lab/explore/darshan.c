/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel from what darshan-parser or darshan-dxt-parser printed of a job's log. sim/darshan.c
 * reads it, and refuses other text. This file derives a kernel from the counters and accesses of
 * the module POSIX, which includes those of the other modules:
 *
 *	operation   the one with more bytes
 *	request     bytes / accesses, rounded up to 4 KiB (below that, to 8 bytes)
 *	data        bytes / processes, rounded up to a request
 *	files       shared, if most of these bytes are in files that more than one rank used (the
 *	            parser gives a file that all used the rank -1)
 *	pattern     contiguous, if at least half of the accesses began where the one before had
 *	            ended (POSIX_CONSEC_*); strided, if at least half began behind it (POSIX_SEQ_*,
 *	            which counts the former, too); else random. One access each is contiguous
 *
 * Example: 4 processes read 4,202,504 bytes of one file in 36 accesses, 14 of them consecutive, 26
 * of increasing offsets. 116,737 bytes an access are a request of 118,784; 1,050,626 bytes of each
 * process are 9 of them; shared, strided.
 *
 * Computing phases are left out: a kernel does its I/O without pauses.
 *
 * O(1) a line: logs of large jobs have a hundred thousand files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/ds/fnv.h"
#include "lab/explore/explore.h"
#include "sim/darshan.h"

#define PAGE	   4096
#define NAME	   30
#define ID	   23 /* letters: of 64 bits there are 20 */
#define MOST_BYTES (UINT64_C(1) << 60)

struct ed_file {
	char id[ID + 1], rank[24]; /* rank: of the first line */
	bool shared;
	uint64_t bytes[2], accesses[2], consecutive[2], sequential[2]; /* by enum sl_op */
};

struct ed_log {
	struct ed_file *file;
	size_t n;
	size_t *slot; /* by a hash of the id: 1 + its number, 0: free; twice as many as files */
	size_t slots; /* a power of two */
	struct ed_file *at; /* whose lines are being read */
	/* DXT: where the access before ended */
	char rank[24];
	uint64_t end[2];
	bool begun[2];
};

/* The slot of the id, or the free slot for it. */
static size_t *ed_slot(const struct ed_log *l, const char *id)
{
	size_t at;

	for (at = sl_fnv(SL_FNV, id, strnlen(id, ID)) & (l->slots - 1); l->slot[at];
	     at = (at + 1) & (l->slots - 1))
		if (!strncmp(l->file[l->slot[at] - 1].id, id, ID))
			break;
	return &l->slot[at];
}

/* Room for another file, in both arrays. */
static bool ed_room(struct ed_log *l)
{
	size_t slots = l->slots ? 2 * l->slots : 64;
	struct ed_file *more;

	if (l->slots && l->n < l->slots / 2)
		return true;
	more = reallocarray(l->file, slots / 2, sizeof(*more));
	if (more)
		l->file = more;
	free(l->slot);
	l->slot = more ? calloc(slots, sizeof(*l->slot)) : NULL;
	l->slots = l->slot ? slots : 0;
	for (size_t i = 0; l->slot && i < l->n; i++)
		*ed_slot(l, l->file[i].id) = i + 1;
	return l->slot;
}

static struct ed_file *ed_find(struct ed_log *l, const char *id)
{
	struct ed_file *file;
	size_t *slot;

	if (!ed_room(l))
		return NULL;
	slot = ed_slot(l, id);
	if (*slot)
		return &l->file[*slot - 1];
	file = &l->file[l->n];
	memset(file, 0, sizeof(*file));
	snprintf(file->id, sizeof(file->id), "%s", id);
	*slot = ++l->n;
	return file;
}

static void ed_rank(struct ed_file *f, const char *rank)
{
	f->shared |= !strcmp(rank, "-1") || (f->rank[0] && strcmp(f->rank, rank) != 0);
	if (!f->rank[0])
		snprintf(f->rank, sizeof(f->rank), "%s", rank);
}

static int ed_counter(void *arg, const char *rank, const char *id, const char *name,
		      const char *value)
{
	static const char *const names[2][4] = {
		{ "POSIX_BYTES_READ", "POSIX_READS", "POSIX_CONSEC_READS", "POSIX_SEQ_READS" },
		{ "POSIX_BYTES_WRITTEN", "POSIX_WRITES", "POSIX_CONSEC_WRITES",
		  "POSIX_SEQ_WRITES" },
	};
	struct ed_log *l = arg;
	struct ed_file *file = l->at && !strcmp(l->at->id, id) ? l->at : ed_find(l, id);

	if (!file)
		return -ENOMEM;
	l->at = file;
	ed_rank(file, rank);
	for (int op = 0; op < 2; op++) {
		uint64_t *to[] = { &file->bytes[op], &file->accesses[op], &file->consecutive[op],
				   &file->sequential[op] };

		for (int k = 0; k < 4; k++)
			if (!strcmp(name, names[op][k]) && value[0] != '-')
				*to[k] += strtoull(value, NULL, 10);
	}
	return 0;
}

static int ed_access(void *arg, const char *rank, const char *id, bool write, uint64_t offset,
		     uint64_t bytes)
{
	struct ed_log *l = arg;
	struct ed_file *file = l->at;

	if (!file || strcmp(file->id, id) != 0 || strcmp(l->rank, rank) != 0) {
		file = ed_find(l, id);
		if (!file)
			return -ENOMEM;
		l->at = file;
		snprintf(l->rank, sizeof(l->rank), "%s", rank);
		l->begun[0] = l->begun[1] = false;
	}
	ed_rank(file, rank);
	file->bytes[write] += bytes;
	file->accesses[write]++;
	file->consecutive[write] += l->begun[write] && offset == l->end[write];
	file->sequential[write] += l->begun[write] && offset >= l->end[write];
	l->begun[write] = true;
	l->end[write] = offset + bytes;
	return 0;
}

static uint64_t ed_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) / step * step;
}

static int ed_kernel(const char *path, const struct sl_darshan *d, const struct ed_log *l,
		     struct explore_kernel *k)
{
	uint64_t bytes[2] = { 0 }, accesses = 0, consecutive = 0, sequential = 0, shared = 0;
	uint32_t op;

	for (size_t i = 0; i < l->n; i++)
		for (op = 0; op < 2; op++)
			if (l->file[i].bytes[op] > MOST_BYTES ||
			    (bytes[op] += l->file[i].bytes[op]) > MOST_BYTES)
				return cli_fail(EXPLORE_CMD,
						"%s: more than 2^60 bytes are read or written in "
						"it, which is impossible.",
						path);
	op = bytes[SL_WRITE] >= bytes[SL_READ] ? SL_WRITE : SL_READ;
	for (size_t i = 0; i < l->n; i++) {
		const struct ed_file *f = &l->file[i];

		accesses += f->accesses[op];
		consecutive += f->consecutive[op];
		sequential += f->sequential[op];
		shared += f->shared ? f->bytes[op] : 0;
	}
	if (!bytes[op] || !accesses)
		return cli_fail(EXPLORE_CMD,
				"%s: it has no accesses of module POSIX, so that their size is not "
				"known.",
				path);
	*k = (struct explore_kernel){ .apps = 1,
				      .procs = d->procs,
				      .nodes = d->procs,
				      .per_process = 2 * shared <= bytes[op] && d->procs > 1,
				      .spatial = accesses <= d->procs || 2 * consecutive >= accesses
							 ? SL_CONTIGUOUS
						 : 2 * sequential >= accesses ? SL_STRIDED
									      : SL_RANDOM,
				      .op = op };
	snprintf(k->name, sizeof(k->name), "%.*s", NAME, d->name[0] ? d->name : "darshan");
	k->request_bytes = (bytes[op] + accesses - 1) / accesses;
	k->request_bytes = ed_up(k->request_bytes, k->request_bytes > PAGE ? PAGE : 8);
	if (k->request_bytes > UINT64_C(1) << 30)
		k->request_bytes = UINT64_C(1) << 30;
	k->data_bytes = ed_up((bytes[op] + d->procs - 1) / d->procs, k->request_bytes);
	return CLI_OK;
}

int explore_darshan(struct explore_spec *s, const char *path)
{
	struct ed_log l = { 0 };
	const struct sl_darshan_options options = {
		.gap_s = 1, .counter = ed_counter, .access = ed_access, .arg = &l
	};
	struct explore_kernel k;
	struct sl_darshan d;
	char err[EXPLORE_TEXT];
	int status;

	if (sl_darshan_load(path, &options, &d, err, sizeof(err))) {
		free(l.file);
		free(l.slot);
		return cli_fail(EXPLORE_CMD, "%s.", err);
	}
	status = ed_kernel(path, &d, &l, &k);
	for (uint32_t i = 0; !status && i < s->n_kernels; i++)
		if (!strcmp(s->kernel[i].name, k.name))
			status = cli_fail(EXPLORE_CMD,
					  "%s is a log of '%s', but a kernel of that name exists.",
					  path, k.name);
	if (!status && explore_add_kernel(s, &k))
		status = cli_fail(EXPLORE_CMD, "out of memory.");
	free(l.file);
	free(l.slot);
	sl_darshan_free(&d);
	return status;
}
