/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel from what darshan-parser or darshan-dxt-parser printed of a job's log. sim/darshan.c
 * reads processes and bytes, and refuses what is no such text; what makes a kernel is counted here,
 * of the module POSIX, which sees the accesses of the others, too:
 *
 *	operation   that of more bytes
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
 * Phases of computing are left out: a kernel does its I/O at once.
 *
 * O(1) a line: logs of large jobs have a hundred thousand files.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "lab/explore/explore.h"
#include "sim/darshan.h"

#define PAGE	   4096
#define NAME	   30
#define FIELDS	   8
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

/* Where the id is, or would be. */
static size_t *ed_slot(const struct ed_log *l, const char *id)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	size_t at;

	for (const char *c = id; *c && c < id + ID; c++)
		hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	for (at = hash & (l->slots - 1); l->slot[at]; at = (at + 1) & (l->slots - 1))
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

static int ed_split(char *line, const char *separators, char *field[FIELDS])
{
	char *save = NULL;
	int n = 0;

	for (char *f = strtok_r(line, separators, &save); f && n < FIELDS;
	     f = strtok_r(NULL, separators, &save))
		field[n++] = f;
	return n;
}

/* POSIX  rank  id  POSIX_WRITES  23  name ... */
static int ed_counter(struct ed_log *l, char *const f[FIELDS])
{
	static const char *const names[2][4] = {
		{ "POSIX_BYTES_READ", "POSIX_READS", "POSIX_CONSEC_READS", "POSIX_SEQ_READS" },
		{ "POSIX_BYTES_WRITTEN", "POSIX_WRITES", "POSIX_CONSEC_WRITES",
		  "POSIX_SEQ_WRITES" },
	};
	struct ed_file *file = l->at && !strcmp(l->at->id, f[2]) ? l->at : ed_find(l, f[2]);

	if (!file)
		return -1;
	l->at = file;
	ed_rank(file, f[1]);
	for (int op = 0; op < 2; op++) {
		uint64_t *to[] = { &file->bytes[op], &file->accesses[op], &file->consecutive[op],
				   &file->sequential[op] };

		for (int k = 0; k < 4; k++)
			if (!strcmp(f[3], names[op][k]) && f[4][0] != '-')
				*to[k] += strtoull(f[4], NULL, 10);
	}
	return 0;
}

/* X_POSIX  rank  write  segment  offset  length  start  end, of the file named before */
static void ed_access(struct ed_log *l, char *const f[FIELDS])
{
	uint64_t offset = strtoull(f[4], NULL, 10), length = strtoull(f[5], NULL, 10);
	int op = !strcmp(f[2], "write");
	struct ed_file *file = l->at;

	if (strcmp(l->rank, f[1]) != 0) {
		snprintf(l->rank, sizeof(l->rank), "%s", f[1]);
		l->begun[0] = l->begun[1] = false;
	}
	ed_rank(file, f[1]);
	file->bytes[op] += length;
	file->accesses[op]++;
	file->consecutive[op] += l->begun[op] && offset == l->end[op];
	file->sequential[op] += l->begun[op] && offset >= l->end[op];
	l->begun[op] = true;
	l->end[op] = offset + length;
}

static int ed_line(struct ed_log *l, char *line)
{
	static const char dxt[] = "# DXT, file_id: ";
	char *f[FIELDS];

	line[strcspn(line, "\r\n")] = 0;
	if (!strncmp(line, dxt, sizeof(dxt) - 1)) {
		char *id = line + sizeof(dxt) - 1;

		id[strcspn(id, ", ")] = 0;
		l->at = ed_find(l, id);
		l->begun[0] = l->begun[1] = false;
		return l->at ? 0 : -1;
	}
	line += strspn(line, " ");
	if (!strncmp(line, "POSIX\t", 6) && ed_split(line, "\t", f) >= 6)
		return ed_counter(l, f);
	if (!strncmp(line, "X_POSIX", 7) && l->at && ed_split(line, " \t", f) >= 8)
		ed_access(l, f);
	return 0;
}

static int ed_read(const char *path, struct ed_log *l)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int rc = f ? 0 : -1;

	while (!rc && getline(&line, &room, f) > 0)
		rc = ed_line(l, line);
	free(line);
	if (f)
		fclose(f);
	return rc ? cli_fail(EXPLORE_CMD, "cannot read %s: out of memory.", path) : CLI_OK;
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
						"it, which cannot be.",
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
				"%s: there are no accesses of POSIX in it, so that nobody knows "
				"their size.",
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
	const struct sl_darshan_options options = { .gap_s = 1 };
	struct explore_kernel k;
	struct ed_log l = { 0 };
	struct sl_darshan d;
	char err[EXPLORE_TEXT];
	int rc = sl_darshan_load(path, &options, &d, err, sizeof(err)), status;

	if (rc)
		return cli_fail(EXPLORE_CMD, "%s.", err);
	status = ed_read(path, &l);
	if (!status)
		status = ed_kernel(path, &d, &l, &k);
	for (uint32_t i = 0; !status && i < s->n_kernels; i++)
		if (!strcmp(s->kernel[i].name, k.name))
			status = cli_fail(EXPLORE_CMD,
					  "%s is of '%s', and there is a kernel of that name.",
					  path, k.name);
	if (!status && explore_add_kernel(s, &k))
		status = cli_fail(EXPLORE_CMD, "out of memory.");
	free(l.file);
	free(l.slot);
	sl_darshan_free(&d);
	return status;
}
