/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what going through a node costs, against the same calls without it.
 *
 * For a row, `procs` processes each read or write a file of their own, from its beginning to its
 * end and again, one call after the other (depth 1). They do so in slices of some ten
 * milliseconds, in turn with libc's pread and pwrite and with those of the preload library, which
 * is what programs have under `sluice run`: direct, sluice, direct, sluice, … All slices of a row
 * are done by the same processes on the same files, which were written before, so that page cache
 * and allocation are the same for both, and what disturbs the machine for longer than a slice
 * disturbs both. A pair of neighbours gives a ratio; the row's is the median.
 *
 *	process 0   |direct|sluice|direct|sluice|…
 *	process 1   |direct|sluice|direct|sluice|…
 *	             \_ pair 1 _/  \_ pair 2 _/
 *
 * A slice begins at a time given in advance and ends with the call that is under way when its time
 * is over; bandwidth is all that was moved over the time until the last process is through. The
 * time of each call through the node goes into a histogram of 32 buckets for each power of two (an
 * error of 3 % at most). CPU time is that of the processes and of the node in the slices through
 * the node.
 */
#include "cli/path-measure.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench-common.h"
#include "cli/cli.h"
#include "cli/layer.h"
#include "sluice.h"

#define STEPS	      32 /* buckets of an octave, a power of two */
#define STEPS_LOG     5
#define BUCKETS	      (40 * STEPS)
#define START_NS      1000000 /* all processes have heard of a slice by then */
#define WARM_SLICE_NS 5000000

enum mode { DIRECT, SLUICE };

struct calls {
	ssize_t (*read)(int fd, void *buffer, size_t bytes, off_t at);
	ssize_t (*write)(int fd, const void *buffer, size_t bytes, off_t at);
};

struct order {
	int64_t start_ns, length_ns;
	enum mode mode;
	bool count; /* into the histogram */
};

struct report {
	uint64_t bytes;
	int64_t end_ns;
	int64_t cpu_ns;
};

struct worker {
	const struct private *p;
	const struct path_row *row;
	unsigned index;
	uint64_t span;
	uint32_t *histogram; /* shared with the parent */
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- histogram ---- */

static unsigned bucket_of(uint64_t ns)
{
	unsigned octave, at;

	if (ns < STEPS)
		return (unsigned)ns;
	octave = 63 - (unsigned)__builtin_clzll(ns) - STEPS_LOG; /* ns >> octave: 32 … 63 */
	at = (octave + 1) * STEPS + (unsigned)((ns >> octave) - STEPS);
	return at < BUCKETS ? at : BUCKETS - 1;
}

/* The middle of a bucket. */
static double bucket_us(unsigned b)
{
	unsigned octave = b / STEPS ? b / STEPS - 1 : 0;
	double low = b < STEPS ? b : ldexp(STEPS + b % STEPS, (int)octave);

	return (low + ldexp(0.5, (int)octave)) / 1e3;
}

static double percentile_us(const uint32_t *histogram, double part)
{
	uint64_t all = 0, seen = 0;

	for (unsigned i = 0; i < BUCKETS; i++)
		all += histogram[i];
	for (unsigned i = 0; i < BUCKETS; i++) {
		seen += histogram[i];
		if (seen && (double)seen >= part * (double)all)
			return bucket_us(i);
	}
	return 0;
}

/* ---- in a process ---- */

static int file_open(const struct private *p, unsigned index, int flags)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%u", p->dir, index);
	return open(path, flags | O_CLOEXEC, 0600);
}

/* Not in LD_PRELOAD, since the direct calls shall not go through it. */
static bool calls_find(const char *cmd, struct calls *c)
{
	char path[PATH_MAX];
	void *library;

	if (layer_preload(cmd, path))
		return false;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library) {
		*(void **)&c->read = dlsym(library, "pread64");
		*(void **)&c->write = dlsym(library, "pwrite64");
	}
	if (library && c->read && c->write)
		return true; /* cppcheck-suppress resourceLeak ; it stays until the process ends */
	cli_fail(cmd, "%s cannot be used: %s.", path, dlerror());
	if (library)
		dlclose(library);
	return false;
}

static void say_failed(const struct worker *w, enum mode mode, ssize_t n)
{
	cli_fail(w->p->cmd, "a %s of %u bytes %s gave %s.",
		 w->row->op == SL_WRITE ? "write" : "read", w->row->size,
		 mode == SLUICE ? "through the node" : "without the node",
		 n < 0 ? strerror(errno) : "less than that");
}

static bool slice(const struct worker *w, const struct order *o, const struct calls *c, int fd,
		  const struct iovec *iov, struct report *out)
{
	static uint64_t at[2];
	const struct timespec start = { o->start_ns / 1000000000, o->start_ns % 1000000000 };
	int64_t last, now, end, cpu;

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, NULL);
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	last = clock_ns(CLOCK_MONOTONIC);
	end = o->start_ns + o->length_ns;
	out->bytes = 0;
	do {
		off_t offset = (off_t)at[o->mode];
		ssize_t n = w->row->op == SL_WRITE
				    ? c->write(fd, iov->iov_base, iov->iov_len, offset)
				    : c->read(fd, iov->iov_base, iov->iov_len, offset);

		if (n != (ssize_t)iov->iov_len) {
			say_failed(w, o->mode, n);
			return false;
		}
		now = clock_ns(CLOCK_MONOTONIC);
		if (o->count)
			w->histogram[bucket_of((uint64_t)(now - last))]++;
		last = now;
		out->bytes += (uint64_t)n;
		at[o->mode] += (uint64_t)n;
		if (at[o->mode] + iov->iov_len > w->span)
			at[o->mode] = 0;
	} while (now < end);
	out->end_ns = now;
	out->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	return true;
}

static int worker_main(void *arg, int sock)
{
	const struct worker *w = arg;
	struct calls calls[2] = { [DIRECT] = { pread, pwrite }, [SLUICE] = { pread, pwrite } };
	int fd = file_open(w->p, w->index, O_RDWR | w->row->open_flags);
	struct iovec iov = { .iov_len = w->row->size };
	struct report report;
	struct order o;

	if (!calls_find(w->p->cmd, &calls[SLUICE]))
		return CLI_FAILED;
	if (fd < 0)
		return cli_fail(w->p->cmd, "cannot open a file in %s: %s.", w->p->dir,
				strerror(errno));
	if (posix_memalign(&iov.iov_base, 4096, w->row->size))
		return cli_fail(w->p->cmd, "out of memory.");
	memset(iov.iov_base, (int)w->index + 1, w->row->size);
	while (private_receive(sock, &o, sizeof(o)))
		if (!slice(w, &o, &calls[o.mode], fd, &iov, &report) ||
		    !private_send(sock, &report, sizeof(report)))
			return CLI_FAILED;
	return CLI_OK;
}

/* ---- in the parent ---- */

int path_prepare(const struct private *p, unsigned procs, uint64_t span)
{
	static char block[1 << 20];

	memset(block, 7, sizeof(block));
	for (unsigned i = 0; i < procs; i++) {
		int fd = file_open(p, i, O_RDWR | O_CREAT);
		ssize_t n = fd < 0 ? -1 : 0;

		for (uint64_t at = 0; n >= 0 && at < span; at += (uint64_t)n) {
			if (private_interrupted)
				n = -1;
			else
				n = pwrite(fd, block, sizeof(block), (off_t)at);
		}
		if (fd >= 0)
			close(fd);
		if (n < 0)
			return private_interrupted
				       ? CLI_FAILED
				       : cli_fail(p->cmd, "cannot write files in %s: %s.", p->dir,
						  strerror(errno));
	}
	return CLI_OK;
}

struct sum {
	double mib_s;
	uint64_t bytes;
	int64_t cpu_ns;
};

/* One slice of the processes numbered `from` and above; false if one has ended. */
static bool run_slice(struct private *p, unsigned from, enum mode mode, int64_t length_ns,
		      bool count, struct sum *sum)
{
	struct order o = { .start_ns = clock_ns(CLOCK_MONOTONIC) + START_NS,
			   .length_ns = length_ns,
			   .mode = mode,
			   .count = count };
	int64_t end_ns = 0;
	struct report r;

	*sum = (struct sum){ 0 };
	for (unsigned i = from; i < p->procs; i++)
		if (!private_send(p->proc[i].sock, &o, sizeof(o)))
			return false;
	for (unsigned i = from; i < p->procs; i++) {
		if (!private_receive(p->proc[i].sock, &r, sizeof(r)))
			return false;
		sum->bytes += r.bytes;
		sum->cpu_ns += r.cpu_ns;
		end_ns = r.end_ns > end_ns ? r.end_ns : end_ns;
	}
	/* A process that had to wait for a CPU has waited, too. */
	sum->mib_s = (double)sum->bytes / 1048576 / ((double)(end_ns - o.start_ns) / 1e9);
	return true;
}

static bool run_pairs(struct private *p, unsigned from, const struct path_row *row,
		      const struct path_times *t, struct path_result *out)
{
	double direct[PATH_MAX_PAIRS], sluice[PATH_MAX_PAIRS], ratio[PATH_MAX_PAIRS];
	int64_t length_ns = row->capacity_bps ? t->capacity_ns : t->slice_ns;
	unsigned pairs = row->capacity_bps ? (t->pairs + 2) / 3 : t->pairs;
	int64_t client_ns = 0, node_ns = 0;
	uint64_t bytes = 0;
	struct sum r;

	if (!run_slice(p, from, DIRECT, WARM_SLICE_NS, false, &r) ||
	    !run_slice(p, from, SLUICE, WARM_SLICE_NS, false, &r))
		return false;
	for (unsigned i = 0; i < pairs; i++) {
		int64_t before;

		r.mib_s = (double)row->capacity_bps / 1048576;
		if (!row->capacity_bps && !run_slice(p, from, DIRECT, length_ns, false, &r))
			return false;
		direct[i] = r.mib_s;
		before = private_node_cpu_ns(p);
		if (!run_slice(p, from, SLUICE, length_ns, true, &r))
			return false;
		node_ns += private_node_cpu_ns(p) - before;
		client_ns += r.cpu_ns;
		bytes += r.bytes;
		sluice[i] = r.mib_s;
		ratio[i] = sluice[i] / direct[i];
	}
	out->direct_mib_s = bench_median(direct, pairs);
	out->sluice_mib_s = bench_median(sluice, pairs);
	out->ratio = bench_median(ratio, pairs);
	out->client_cpu_us = (double)client_ns / 1e3 / ((double)bytes / 1048576);
	out->node_cpu_us = (double)node_ns / 1e3 / ((double)bytes / 1048576);
	return true;
}

int path_measure(struct private *p, const struct path_row *row, uint64_t span,
		 const struct path_times *t, struct path_result *out)
{
	size_t size = row->procs * BUCKETS * sizeof(uint32_t);
	uint32_t *histogram =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned before = p->procs; /* others may run, which are not measured */
	int status = CLI_OK;

	if (histogram == MAP_FAILED)
		return cli_fail(p->cmd, "out of memory.");
	for (unsigned i = 0; i < row->procs && !status; i++) {
		struct worker w = { .p = p,
				    .row = row,
				    .index = i,
				    .span = span,
				    .histogram = histogram + i * BUCKETS };

		if (private_spawn(p, "bench", NULL, worker_main, &w) < 0)
			status = CLI_FAILED;
	}
	if (!status && !run_pairs(p, before, row, t, out))
		status = CLI_FAILED; /* the process has said why */
	private_stop_procs(p, before);
	for (unsigned i = 1; i < row->procs; i++)
		for (unsigned b = 0; b < BUCKETS; b++)
			histogram[b] += histogram[i * BUCKETS + b];
	out->p50_us = percentile_us(histogram, 0.50);
	out->p99_us = percentile_us(histogram, 0.99);
	munmap(histogram, size);
	return status;
}
