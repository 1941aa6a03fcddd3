/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench path`: what going through a node costs, as ratio to direct access to the same
 * files, against the project's goals. path-measure.c measures a row; this file says which rows
 * there are, gives each backend its files and its node, and prints the rows as they come.
 *
 *	tmpfs     files in memory: nothing but the path itself
 *	gate      the same, with programs in gate mode
 *	asked     the same, with a node that sees each transfer, as it does when jobs contend
 *	busy      as tmpfs, with one CPU taken by a process that only computes
 *	disk      files of a file system, through the page cache
 *	odirect   the same with O_DIRECT: the device decides
 *	tcp       as tmpfs, through a TCP connection on this machine instead of shared memory
 *	capacity  a node that may draw 200 MB/s, compared with 200 MB/s
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/bench.h"
#include "cli/bench-common.h"
#include "cli/cli.h"
#include "cli/path-measure.h"
#include "sluice.h"

#define CMD	     "bench path"
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))
#define KIB	     1024U
#define MIB	     (1024U * KIB)
#define SPAN	     (UINT64_C(32) * MIB) /* of a file */
#define PROCS	     8			  /* at most */
#define CAPACITY_BPS UINT64_C(200000000)
#define TMPFS	     0x01021994 /* statfs: f_type */

enum { TMP, GATE, ASKED, BUSY, TCP, DISK, ODIRECT, CAPACITY, BACKENDS };

static const struct backend {
	const char *name;
	bool on_disk;
	int open_flags;
	uint64_t capacity_bps;
} backends[BACKENDS] = {
	[TMP] = { "tmpfs", false, 0, 0 },
	[GATE] = { "gate", false, 0, 0 },
	[ASKED] = { "asked", false, 0, 0 },
	[BUSY] = { "busy", false, 0, 0 },
	[TCP] = { "tcp", false, 0, 0 },
	[DISK] = { "disk", true, 0, 0 },
	[ODIRECT] = { "odirect", true, O_DIRECT, 0 },
	[CAPACITY] = { "capacity", false, 0, CAPACITY_BPS },
};

static const struct load {
	uint32_t size, procs;
	unsigned backends; /* bit set */
} loads[] = {
	{ 4 * KIB, 1, 1 << TMP | 1 << GATE | 1 << ASKED | 1 << BUSY | 1 << TCP | 1 << DISK },
	{ 4 * KIB, 8, 1 << TMP | 1 << ASKED | 1 << BUSY | 1 << TCP | 1 << DISK },
	{ 64 * KIB, 1, 1 << TMP | 1 << GATE | 1 << ASKED | 1 << BUSY | 1 << DISK },
	{ 64 * KIB, 4,
	  1 << TMP | 1 << ASKED | 1 << TCP | 1 << DISK | 1 << ODIRECT | 1 << CAPACITY },
	{ MIB, 1,
	  1 << TMP | 1 << GATE | 1 << ASKED | 1 << BUSY | 1 << TCP | 1 << DISK | 1 << ODIRECT |
		  1 << CAPACITY },
	{ MIB, 4,
	  1 << TMP | 1 << ASKED | 1 << BUSY | 1 << TCP | 1 << DISK | 1 << ODIRECT | 1 << CAPACITY },
};

struct bench {
	const char *disk;
	const struct path_times *times;
	bool json_wanted;
	struct json json;
	struct private p;
	unsigned rows, missed;
};

/* ---- goals ---- */

static double ratio_goal(const struct path_row *row)
{
	if (row->capacity_bps || row->open_flags)
		return 0.97;
	if (!strcmp(row->backend, "gate"))
		return 0.88;
	if (!strcmp(row->backend, "tcp") || !strcmp(row->backend, "asked"))
		return 0;
	if (row->size == MIB)
		return 0.70;
	if (row->size == 64 * KIB)
		return 0.60;
	return row->procs == 8 ? 0.20 : 0;
}

/* Of a write of 4 KiB at depth 1: half are to take 6 us or less, all but one in 100 20 us. */
static bool latency_goal(const struct path_row *row)
{
	return row->size == 4 * KIB && row->procs == 1 && row->op == SL_WRITE &&
	       !strcmp(row->backend, "tmpfs");
}

/* ---- output ---- */

static void json_row(struct json *j, const struct path_row *row, const struct path_result *r)
{
	json_object(j, NULL);
	json_string(j, "backend", row->backend);
	json_string(j, "op", row->op == SL_WRITE ? "write" : "read");
	json_uint(j, "size", row->size);
	json_uint(j, "procs", row->procs);
	json_double(j, "direct_mib_s", bench_rounded(r->direct_mib_s, 10));
	json_double(j, "sluice_mib_s", bench_rounded(r->sluice_mib_s, 100));
	json_double(j, "ratio", bench_rounded(r->ratio, 1e6));
	json_double(j, "p50_us", bench_rounded(r->p50_us, 100));
	json_double(j, "p99_us", bench_rounded(r->p99_us, 100));
	json_double(j, "client_cpu_us_per_mib", bench_rounded(r->client_cpu_us, 10));
	json_double(j, "node_cpu_us_per_mib", bench_rounded(r->node_cpu_us, 10));
	json_end(j);
	fflush(j->f);
}

/*
 * For people figures are cut to the side of the worse, so that what is printed and the goal beside
 * it never contradict whether it was met: a ratio of 0.968 is 0.96, a time of 6.01 us 6.1.
 */
static double down(double value, double parts)
{
	return floor(value * parts) / parts;
}

static double up(double value, double parts)
{
	return ceil(value * parts) / parts;
}

static void print_row(struct bench *b, const struct path_row *row, const struct path_result *r)
{
	double goal = ratio_goal(row);
	char size[16], wanted[16] = "";

	if (!b->rows)
		puts("                            MiB/s              goal     us a call   CPU "
		     "us/MiB\n"
		     "backend   op    size  x  direct  sluice  ratio        p50     p99 client  "
		     "node");
	if (goal > 0)
		snprintf(wanted, sizeof(wanted), "%c%.2f", r->ratio >= goal ? ' ' : '!', goal);
	printf("%-8s %-5s %6s %2u %7.0f %7.0f %6.2f %5s %6.1f %7.1f %6.0f %5.0f\n", row->backend,
	       row->op == SL_WRITE ? "write" : "read",
	       sl_format_bytes(size, sizeof(size), row->size), row->procs, r->direct_mib_s,
	       r->sluice_mib_s, down(r->ratio, 100), wanted, up(r->p50_us, 10), up(r->p99_us, 10),
	       r->client_cpu_us, r->node_cpu_us);
	b->missed += goal > 0 && r->ratio < goal;
	if (latency_goal(row)) {
		bool met = r->p50_us <= 6 && r->p99_us <= 20;

		printf("%57sgoal: p50 6, p99 20%s\n", "", met ? "" : " !");
		b->missed += !met;
	}
	fflush(stdout);
}

/* ---- backends ---- */

/* What there is room for; the files of all processes take a quarter of it at most. */
static int span_in(const struct private *p, uint64_t *span)
{
	struct statvfs st;
	uint64_t room;

	if (statvfs(p->dir, &st))
		return cli_fail(CMD, "cannot ask %s for its size: %s.", p->dir, strerror(errno));
	room = (uint64_t)st.f_bavail * st.f_frsize / 4 / PROCS / MIB * MIB;
	*span = room < SPAN ? room : SPAN;
	if (*span < MIB)
		return cli_fail(CMD, "there is not enough room in %s.", p->dir);
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

/* Does the file system know O_DIRECT? */
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

static int measure_rows(struct bench *b, unsigned backend, uint64_t span)
{
	const struct backend *k = &backends[backend];

	for (unsigned i = 0; i < 2 * COUNT(loads); i++) {
		const struct load *l = &loads[i % COUNT(loads)];
		struct path_row row = { .backend = k->name,
					.op = i < COUNT(loads) ? SL_WRITE : SL_READ,
					.size = l->size,
					.procs = l->procs,
					.open_flags = k->open_flags,
					.capacity_bps = k->capacity_bps };
		struct path_result r;
		int status;

		/* Reads are paced as writes are. */
		if (!(l->backends & 1U << backend) || (k->capacity_bps && row.op == SL_READ))
			continue;
		status = path_measure(&b->p, &row, span, b->times, &r);
		if (status)
			return status;
		if (b->json_wanted)
			json_row(&b->json, &row, &r);
		else
			print_row(b, &row, &r);
		b->rows++;
	}
	return CLI_OK;
}

static int measure_backend(struct bench *b, unsigned backend)
{
	const struct backend *k = &backends[backend];
	static const char *const paced[] = { "--capacity", "200MB/s", NULL };
	static const char *const asked[] = { "--ask-always", NULL };
	const char *const *options = backend == CAPACITY ? paced : backend == ASKED ? asked : NULL;
	uint64_t span = 0;
	int status = private_begin(&b->p, CMD, k->on_disk ? b->disk : "/dev/shm");

	if (!status)
		status = span_in(&b->p, &span);
	if (!status)
		status = path_prepare(&b->p, PROCS, span);
	if (!status && k->open_flags && !takes_direct(&b->p)) {
		if (!b->json_wanted)
			printf("%-8s not measured: %s has no O_DIRECT\n", k->name, b->disk);
		return private_end(&b->p, CLI_OK);
	}
	b->p.tcp = backend == TCP;
	b->p.gate = backend == GATE;
	if (!status)
		status = private_node_start(&b->p, options);
	if (!status && backend == BUSY && private_spawn(&b->p, "busy", NULL, spin, NULL) < 0)
		status = CLI_FAILED;
	if (!status)
		status = measure_rows(b, backend, span);
	return private_end(&b->p, status);
}

static bool is_tmpfs(const char *dir)
{
	struct statfs st;

	return statfs(dir, &st) == 0 && st.f_type == TMPFS;
}

static int measure_all(struct bench *b)
{
	int status = CLI_OK;

	if (!is_tmpfs("/dev/shm"))
		return cli_fail(CMD, "/dev/shm is not a tmpfs, which the comparison needs.");
	if (b->json_wanted)
		bench_json_begin(&b->json, "path");
	for (unsigned i = 0; i < BACKENDS && !status; i++)
		status = measure_backend(b, i);
	if (b->json_wanted) {
		json_end(&b->json);
		json_end(&b->json);
	} else if (!status) {
		printf("\nMedians of %u pairs, direct and through a node in turn. %u goals are not "
		       "met (!).\n",
		       b->times->pairs, b->missed);
	}
	return status;
}

/* ---- the command ---- */

static int help(void)
{
	puts("usage: sluice bench path [--quick] [--dir DIR] [--json]\n"
	     "\n"
	     "Measures reads and writes through a node against the same without it, in turn,\n"
	     "on a tmpfs, over TCP and on a disk: bandwidth, time of a call, and CPU time of\n"
	     "both ends.\n"
	     "The node is its own; nothing is left behind.\n"
	     "\n"
	     "Options:\n"
	     "  -d, --dir DIR  directory on the disk; default is the current one\n"
	     "  -q, --quick    shorter and less exact\n"
	     "  -j, --json     print JSON\n"
	     "  -h, --help     this text");
	return CLI_OK;
}

int bench_path(int argc, char **argv)
{
	static const struct path_times normal = { 9, 50000000, 400000000 };
	static const struct path_times fast = { 5, 6000000, 100000000 };
	static struct bench b;
	bool quick = false;
	const struct cli_option options[] = {
		{ "dir", 'd', .text = &b.disk },
		{ "quick", 'q', .flag = &quick },
		{ "json", 'j', .flag = &b.json_wanted },
		{ 0 },
	};
	int status;

	b = (struct bench){ .disk = "." };
	if ((status = cli_options(CMD, argc, argv, options, 0, help)))
		return cli_end(status);
	b.times = quick ? &fast : &normal;
	if (access(b.disk, W_OK | X_OK))
		return cli_fail(CMD, "cannot use %s: %s.", b.disk, strerror(errno));
	return measure_all(&b);
}
