/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench path`: the cost of a layer, as ratio to direct access to the same files, compared
 * with the project's goals. path-measure.c measures a row, path-print.c prints it; this file lists
 * the rows and gives each group of them its files and its layer.
 *
 *	alone     one job, files in memory (tmpfs)
 *	contend   two and eight jobs at once, against the same jobs at once without the layer
 *	small     small files: create, write, close; open, read, close
 *	meta      create, stat and remove files: as mdtest
 *	contact   starting programs (path-contact.c)
 *	busy      as alone, with one CPU taken by a process that only computes
 *	tcp       over a TCP connection on this machine, against a bare server (bare.c)
 *	disk      files of a file system, through the page cache
 *	odirect   the same with O_DIRECT: the device decides
 *	gate      behind a gate, against processes without one
 *	capacity  a layer that may draw 200 MB/s, compared with 200 MB/s
 *
 * The first five are measured in every mode of `sluice run` (bench_modes[]).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cli.h"
#include "lab/bench/bare.h"
#include "lab/bench/bench.h"
#include "lab/bench/common.h"
#include "lab/bench/path.h"
#include "lab/private-layer.h"

#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))
#define KIB	     1024U
#define MIB	     (1024U * KIB)
#define SPAN	     (UINT64_C(32) * MIB) /* of a file */
#define PROCS	     8			  /* at most */
#define ROWS	     64			  /* of a group, at most */
#define CAPACITY_BPS UINT64_C(200000000)
#define TMPFS	     0x01021994 /* statfs: f_type */

enum { ALONE, CONTEND, SMALL, META, CONTACT, BUSY, TCP, DISK, ODIRECT, CAPACITY, GATE, GROUPS };

static const char *const group_names[] = { "alone",   "contend",  "small", "meta",
					   "contact", "busy",	  "tcp",   "disk",
					   "odirect", "capacity", "gate",  NULL };

static const struct group {
	bool all_modes, on_disk, intercepts;
	const char *mode; /* NULL: the default */
	int open_flags;
	uint64_t capacity_bps;
	const char *up[4]; /* options of `sluice up` */
} groups[GROUPS] = {
	[ALONE] = { .all_modes = true },
	[CONTEND] = { .all_modes = true },
	[SMALL] = { .all_modes = true },
	[META] = { .all_modes = true },
	[CONTACT] = { .all_modes = true },
	[TCP] = { .mode = "forward", .up = { "--listen", "127.0.0.1:0" } },
	[DISK] = { .on_disk = true },
	[ODIRECT] = { .on_disk = true, .open_flags = O_DIRECT },
	[GATE] = { .intercepts = true },
	[CAPACITY] = { .capacity_bps = CAPACITY_BPS, .up = { "--capacity", "200MB/s" } },
};

#define B(group) (1U << (group))
static const struct load {
	uint32_t size, jobs, procs;
	unsigned groups; /* bit set */
} loads[] = {
	{ 4 * KIB, 1, 1, B(ALONE) | B(BUSY) | B(TCP) | B(DISK) | B(GATE) },
	{ 4 * KIB, 1, 8, B(ALONE) | B(BUSY) | B(TCP) | B(DISK) },
	{ 64 * KIB, 1, 1, B(ALONE) | B(BUSY) | B(DISK) | B(GATE) },
	{ 64 * KIB, 1, 4, B(ALONE) | B(TCP) | B(DISK) | B(ODIRECT) | B(CAPACITY) },
	{ MIB, 1, 1, B(ALONE) | B(BUSY) | B(TCP) | B(DISK) | B(ODIRECT) | B(CAPACITY) | B(GATE) },
	{ MIB, 1, 4, B(ALONE) | B(BUSY) | B(TCP) | B(DISK) | B(ODIRECT) | B(CAPACITY) },
	{ 4 * KIB, 2, 1, B(CONTEND) },
	{ 4 * KIB, 8, 1, B(CONTEND) },
	{ 64 * KIB, 2, 1, B(CONTEND) },
	{ 64 * KIB, 8, 1, B(CONTEND) },
	{ MIB, 2, 1, B(CONTEND) },
	{ MIB, 8, 1, B(CONTEND) },
	{ BENCH_SMALL, 1, 1, B(SMALL) },
	{ BENCH_SMALL, 1, 4, B(SMALL) },
	{ 1, 1, 1, B(META) },
	{ 1, 1, 4, B(META) },
};

/* ---- rows ---- */

static bool holds(const struct path_bench *b, const struct path_row *r)
{
	char label[200];

	snprintf(label, sizeof(label), " group=%s mode=%s op=%s size=%u jobs=%u procs=%u ",
		 r->group, r->mode, bench_op_name[r->op], r->size, r->jobs, r->procs);
	return !b->filter || bench_holds(label, b->filter);
}

/* One of the two operations of each load, in one mode. */
static unsigned list_mode(const struct path_bench *b, unsigned group, const char *mode,
			  const char *const *options, bool slow, struct path_row rows[ROWS],
			  unsigned n)
{
	const struct group *g = &groups[group];
	enum bench_op first = group == SMALL  ? BENCH_CREATE
			      : group == META ? BENCH_META
					      : BENCH_WRITE;

	for (unsigned i = 0; i < 2 * COUNT(loads); i++) {
		const struct load *l = &loads[i % COUNT(loads)];
		bool second = i >= COUNT(loads);
		struct path_row row = { .group = group_names[group],
					.mode = mode,
					.gate = options,
					.slow_wake = slow,
					.op = second ? first + 1 : first,
					.size = l->size,
					.jobs = l->jobs,
					.procs = l->procs,
					.open_flags = g->open_flags,
					.capacity_bps = g->capacity_bps };

		/* Reads are paced as writes are; the three metadata calls are one row. */
		if ((l->groups & B(group)) && !(second && (g->capacity_bps || group == META)) &&
		    holds(b, &row) && n < ROWS)
			rows[n++] = row;
	}
	return n;
}

/* The variants behind a gate: with and without SYNC_WAKE_UP, and a program with the library. */
static const struct {
	const char *mode, *options[3];
	bool slow;
} gates[] = {
	{ "strict", { "--strict" }, false },
	{ "strict-async", { "--strict" }, true },
	{ "gate", { "--intercept", "gate" }, false },
};

static unsigned list_rows(const struct path_bench *b, unsigned group, struct path_row rows[ROWS])
{
	const struct group *g = &groups[group];
	unsigned n = 0;

	for (unsigned i = 0; g->intercepts && i < COUNT(gates); i++)
		n = list_mode(b, group, gates[i].mode, gates[i].options, gates[i].slow, rows, n);
	for (const char *const *mode = bench_modes;
	     !g->intercepts && *mode && (g->all_modes || mode == bench_modes); mode++)
		n = list_mode(b, group, g->mode ? g->mode : *mode, NULL, false, rows, n);
	return n;
}

/* ---- groups of rows ---- */

/* The size of a file: those of all processes take a quarter of the free space at most. */
static int span_in(const struct private *p, uint64_t *span)
{
	struct statvfs st;
	uint64_t room;

	if (statvfs(p->dir, &st))
		return cli_fail(PATH_CMD, "cannot ask %s for its size: %s.", p->dir,
				strerror(errno));
	room = (uint64_t)st.f_bavail * st.f_frsize / 4 / PROCS / MIB * MIB;
	*span = room < SPAN ? room : SPAN;
	if (*span < MIB)
		return cli_fail(PATH_CMD, "not enough free space in %s.", p->dir);
	return CLI_OK;
}

static int spin(void *arg, int sock)
{
	cpu_set_t cpus;

	(void)arg;
	(void)sock;
	CPU_ZERO(&cpus);
	CPU_SET((unsigned)sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	for (;;)
		__asm__ volatile("");
	return 0;
}

/* Whether the file system supports O_DIRECT. */
static bool takes_direct(const struct private *p)
{
	char path[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/0", p->dir);
	fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* How programs reach the layer over TCP; false: it does not listen. */
static bool find_connect(const struct private *p, const char *options[7])
{
	static char address[300], secret[PATH_MAX];

	if (private_layer_listens(p, address, secret))
		return false;
	options[0] = "--connect";
	options[1] = address;
	options[2] = "--secret-file";
	options[3] = secret;
	options[4] = "--directory";
	options[5] = p->dir;
	options[6] = NULL;
	return true;
}

static int measure_rows(struct path_bench *b, unsigned group, struct path_row *rows, unsigned count,
			uint64_t span)
{
	static const struct path_times full = { 50, 50000000, 100000000, 400000000 };
	static const struct path_times quick = { 7, 6000000, 20000000, 100000000 };
	static const char *connect[7]; /* rows point to it */
	unsigned port = 0;
	int status = CLI_OK;

	connect[0] = NULL;
	if (group == BUSY && private_spawn(&b->p, "busy", NULL, spin, NULL) < 0)
		return CLI_FAILED;
	if (group == TCP && (!find_connect(&b->p, connect) || !(port = bare_start(&b->p))))
		return CLI_FAILED;
	for (unsigned i = 0; i < count && !status; i++) {
		struct path_result r;

		rows[i].connect = connect;
		rows[i].bare_port = port;
		status = path_measure(&b->p, &rows[i], span, b->quick ? &quick : &full, &r);
		if (!status)
			path_print(b, &rows[i], &r);
	}
	return status;
}

/* In b->p, which has a directory. */
static int measure_in(struct path_bench *b, unsigned group, struct path_row *rows, unsigned count)
{
	const struct group *g = &groups[group];
	uint64_t span = 0;
	int status = span_in(&b->p, &span);

	if (!status && group == SMALL)
		status = bench_small_files(&b->p, PROCS);
	else if (!status && group != CONTACT && group != META)
		status = bench_files(&b->p, PROCS, span);
	if (!status && g->open_flags && !takes_direct(&b->p)) {
		if (!b->json_wanted)
			printf("\n%s: not measured, %s has no O_DIRECT\n", group_names[group],
			       b->disk);
		return CLI_OK;
	}
	if (!status)
		status = private_layer_up(&b->p, g->up);
	if (!status && group == CONTACT)
		status = path_contact(b);
	else if (!status)
		status = measure_rows(b, group, rows, count, span);
	private_stop_procs(&b->p, 0);
	return status;
}

static int measure_group(struct path_bench *b, unsigned group)
{
	struct path_row rows[ROWS];
	unsigned count = list_rows(b, group, rows);
	int status;

	if (group == CONTACT ? !path_contact_wanted(b) : !count)
		return CLI_OK;
	status = private_begin(&b->p, PATH_CMD, groups[group].on_disk ? b->disk : "/dev/shm");
	if (!status)
		status = private_layer_begin(&b->p);
	if (!status)
		status = measure_in(b, group, rows, count);
	private_layer_end(&b->p);
	return private_end(&b->p, status);
}

static bool is_tmpfs(const char *dir)
{
	struct statfs st;

	return statfs(dir, &st) == 0 && st.f_type == TMPFS;
}

static int measure_all(struct path_bench *b, unsigned wanted)
{
	struct path_row rows[ROWS];
	unsigned count = 0;
	int status = CLI_OK;

	for (unsigned i = 0; i < GROUPS; i++)
		if (wanted & 1U << i)
			count += i == CONTACT ? path_contact_wanted(b) : list_rows(b, i, rows);
	if (!count)
		return cli_usage(PATH_CMD, "no row contains every word of '%s'.", b->filter);
	if (!is_tmpfs("/dev/shm"))
		return cli_fail(PATH_CMD, "/dev/shm is not a tmpfs, which the comparison needs.");
	if (b->json_wanted)
		bench_json_begin(&b->json, "path");
	for (unsigned i = 0; i < GROUPS && !status; i++)
		if (wanted & 1U << i)
			status = measure_group(b, i);
	if (b->json_wanted) {
		json_end(&b->json);
		json_end(&b->json);
	} else if (!status) {
		printf("\nMedians of pairs, direct and through the layer in turn, and their 95 %% "
		       "intervals.\n%u goals are not met (!).\n",
		       b->missed);
	}
	return status;
}

/* ---- the command ---- */

int bench_path(int argc, char **argv)
{
	static struct path_bench b;
	const char *list = NULL;
	const struct cli_option options[] = {
		{ "rows", 'r', "LIST", .text = &list,
		  .help = "groups of rows, with commas: alone, contend, small, meta, contact, "
			  "busy, tcp, disk, odirect, capacity, gate; default is all" },
		{ "filter", 'f', "TEXT", .text = &b.filter,
		  .help = "only rows that contain every word, like 'size=4096 mode=forward'" },
		{ "dir", 'd', "DIR", .values = "<dir>", .text = &b.disk,
		  .help = "directory on the disk; default is the current one" },
		{ "quick", 'q', NULL, .flag = &b.quick, .help = "shorter and less exact" },
		CLI_JSON(&b.json_wanted),
		{ 0 },
	};
	const struct cli_command command = {
		.name = PATH_CMD,
		.usage = "bench path [--quick] [--rows LIST] [--filter TEXT] [--dir DIR]\n"
			 "                         [--json]",
		.about = "Measures programs in a layer against the same programs without it, in "
			 "alternation: bandwidth, time of a call, CPU time of both ends, and what "
			 "starting programs costs. The layer is its own; nothing is left behind.",
		.options = options,
	};
	unsigned wanted;
	int status;

	b = (struct path_bench){ .disk = "." };
	if ((status = cli_next(&command, argc, argv)))
		return cli_end(status);
	if ((status = bench_rows(PATH_CMD, list, group_names, &wanted)))
		return status;
	if (access(b.disk, W_OK | X_OK))
		return cli_fail(PATH_CMD, "cannot use %s: %s.", b.disk, strerror(errno));
	return measure_all(&b, wanted);
}
