/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process that moves data: see worker.h.
 *
 * It is started by `sluice run`, so functions found by name are those of the preloaded library, as
 * in every program. libc's functions are found through libc's handle. So the same process, buffer
 * and files serve both sides of a comparison:
 *
 *	RTLD_DEFAULT, "pwrite64"         BENCH_LAYER
 *	dlopen("libc.so.6"), "pwrite64"  BENCH_DIRECT
 *
 * An order names a time to start, a length and a way. The slice ends with the operation that is
 * under way when its time is over. The time of each operation goes into a histogram of 32 buckets
 * for each power of two (an error of 3 % at most).
 */
#include "lab/bench/worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "lab/bench/bare.h"

#define CMD "bench worker"

const char *const bench_op_name[BENCH_OPS] = { "write", "read", "create", "open", "meta" };

struct calls {
	int (*open)(const char *path, int flags, ...);
	int (*close)(int fd);
	ssize_t (*read)(int fd, void *buffer, size_t bytes);
	ssize_t (*write)(int fd, const void *buffer, size_t bytes);
	ssize_t (*pread)(int fd, void *buffer, size_t bytes, off_t at);
	ssize_t (*pwrite)(int fd, const void *buffer, size_t bytes, off_t at);
	int (*stat)(const char *path, struct stat *st);
	int (*unlink)(const char *path);
};

static const struct calls named = { open, close, read, write, pread, pwrite, stat, unlink };

struct worker {
	const struct bench_load *load;
	struct bench_worker *shared;
	unsigned index;
	struct calls calls[2]; /* BENCH_DIRECT, BENCH_LAYER */
	int fd, bare;
	char *buffer;
	uint64_t at[3];	  /* by way: where the next call goes */
	uint64_t created; /* small files, since the last slice */
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t bench_clock_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* ---- histogram ---- */

static unsigned bucket_of(uint64_t ns)
{
	unsigned octave, at;

	if (ns < BENCH_STEPS)
		return (unsigned)ns;
	octave = 63 - (unsigned)__builtin_clzll(ns) - BENCH_STEPS_LOG; /* ns >> octave: 32 … 63 */
	at = (octave + 1) * BENCH_STEPS + (unsigned)((ns >> octave) - BENCH_STEPS);
	return at < BENCH_BUCKETS ? at : BENCH_BUCKETS - 1;
}

/* The middle of a bucket. */
static double bucket_us(unsigned b)
{
	unsigned octave = b / BENCH_STEPS ? b / BENCH_STEPS - 1 : 0;
	double low = b < BENCH_STEPS ? b : ldexp(BENCH_STEPS + b % BENCH_STEPS, (int)octave);

	return (low + ldexp(0.5, (int)octave)) / 1e3;
}

double bench_percentile_us(const struct bench_segment *s, enum bench_way way, double part)
{
	uint64_t sum[BENCH_BUCKETS] = { 0 }, all = 0, seen = 0;

	for (unsigned w = 0; w < BENCH_WORKERS; w++)
		for (unsigned i = 0; i < BENCH_BUCKETS; i++) {
			sum[i] += s->worker[w].histogram[way][i];
			all += s->worker[w].histogram[way][i];
		}
	for (unsigned i = 0; i < BENCH_BUCKETS; i++) {
		seen += sum[i];
		if (seen && (double)seen >= part * (double)all)
			return bucket_us(i);
	}
	return 0;
}

/* ---- one operation ---- */

static void small_path(const struct worker *w, char path[PATH_MAX + 48], char kind, uint64_t number)
{
	snprintf(path, PATH_MAX + 48, "%s/%c-%u-%lu", w->load->dir, kind, w->index,
		 (unsigned long)number);
}

static ssize_t small(struct worker *w, const struct calls *c, enum bench_way way)
{
	bool create = w->load->op == BENCH_CREATE;
	char path[PATH_MAX + 48];
	ssize_t n;
	int fd;

	if (create) {
		small_path(w, path, 'c', w->created);
		fd = c->open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		w->created += fd >= 0;
	} else {
		small_path(w, path, 'o', w->at[way]);
		fd = c->open(path, O_RDONLY | O_CLOEXEC);
		w->at[way] = (w->at[way] + 1) % BENCH_SMALL_SET;
	}
	if (fd < 0)
		return -1;
	n = create ? c->write(fd, w->buffer, w->load->size) : c->read(fd, w->buffer, w->load->size);
	return c->close(fd) ? -1 : n;
}

/*
 * Create BENCH_META_SET files, then stat each, then remove each: mdtest's phases. Makes one call;
 * w->at counts the calls made.
 */
static ssize_t meta(struct worker *w, const struct calls *c, enum bench_way way)
{
	uint64_t at = w->at[way]++, number = at % BENCH_META_SET;
	char path[PATH_MAX + 48];
	struct stat st;
	int fd, rc = 0;

	/* Another row, or the other team, may have left files. */
	snprintf(path, sizeof(path), "%s/m%d-%d-%lu", w->load->dir, way, (int)getpid(),
		 (unsigned long)number);
	switch (at / BENCH_META_SET % BENCH_META_PHASES) {
	case 0:
		fd = c->open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		rc = fd < 0 ? -1 : c->close(fd);
		break;
	case 1:
		rc = c->stat(path, &st);
		break;
	default:
		rc = c->unlink(path);
	}
	return rc ? -1 : (ssize_t)w->load->size;
}

static ssize_t operation(struct worker *w, enum bench_way way)
{
	const struct bench_load *l = w->load;
	const struct calls *c = &w->calls[way == BENCH_LAYER];
	uint64_t at = w->at[way];
	ssize_t n;

	if (l->op == BENCH_CREATE || l->op == BENCH_OPEN)
		return small(w, c, way);
	if (l->op == BENCH_META)
		return meta(w, c, way);
	if (way == BENCH_BARE)
		n = bare_call(w->bare, l->op == BENCH_WRITE, w->index, w->buffer, l->size, at);
	else if (l->op == BENCH_WRITE)
		n = c->pwrite(w->fd, w->buffer, l->size, (off_t)at);
	else
		n = c->pread(w->fd, w->buffer, l->size, (off_t)at);
	w->at[way] = at + 2ULL * l->size <= l->span ? at + l->size : 0;
	return n;
}

static int failed(const struct worker *w, enum bench_way way, ssize_t n)
{
	static const char *const how[] = { "without the layer", "through the layer",
					   "at the bare server" };

	return cli_fail(CMD, "'%s' of %u bytes %s gave %s.", bench_op_name[w->load->op],
			w->load->size, how[way], n < 0 ? strerror(errno) : "less than that");
}

static int slice(struct worker *w, const struct bench_order *o, struct bench_report *out)
{
	const struct timespec start = { o->start_ns / 1000000000, o->start_ns % 1000000000 };
	uint64_t bytes = atomic_load_explicit(&w->shared->bytes, memory_order_relaxed);
	int64_t last, now, end = o->start_ns + o->length_ns, cpu;

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &start, NULL);
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	last = clock_ns(CLOCK_MONOTONIC);
	out->bytes = 0;
	do {
		ssize_t n = operation(w, o->way);

		if (n != (ssize_t)w->load->size)
			return failed(w, o->way, n);
		now = clock_ns(CLOCK_MONOTONIC);
		if (o->count)
			w->shared->histogram[o->way][bucket_of((uint64_t)(now - last))]++;
		last = now;
		out->bytes += (uint64_t)n;
		atomic_store_explicit(&w->shared->bytes, bytes + out->bytes, memory_order_relaxed);
	} while (now < end);
	out->end_ns = now;
	out->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	while (w->created) {
		char path[PATH_MAX + 48];

		small_path(w, path, 'c', --w->created);
		unlink(path);
	}
	return CLI_OK;
}

/* ---- the process ---- */

static bool calls_find(void *from, struct calls *c)
{
	*(void **)&c->open = dlsym(from, "open64");
	*(void **)&c->close = dlsym(from, "close");
	*(void **)&c->read = dlsym(from, "read");
	*(void **)&c->write = dlsym(from, "write");
	*(void **)&c->pread = dlsym(from, "pread64");
	*(void **)&c->pwrite = dlsym(from, "pwrite64");
	*(void **)&c->stat = dlsym(from, "stat64");
	*(void **)&c->unlink = dlsym(from, "unlink");
	return c->open && c->close && c->read && c->write && c->pread && c->pwrite && c->unlink;
}

static int worker_begin(struct worker *w)
{
	const struct bench_load *l = w->load;
	void *libc = dlopen("libc.so.6", RTLD_NOW); /* stays open until the process ends */
	char path[PATH_MAX + 16];

	if (!libc || !calls_find(libc, &w->calls[0]) || !calls_find(RTLD_DEFAULT, &w->calls[1]))
		return cli_fail(CMD, "the functions of libc cannot be found.");
	if (w->calls[0].pwrite == w->calls[1].pwrite)
		return cli_fail(CMD, "the library of 'sluice run' is not loaded.");
	if (l->op == BENCH_META && (!w->calls[0].stat || !w->calls[1].stat))
		return cli_fail(CMD, "libc has no function stat(): it is older than 2.33.");
	w->buffer = aligned_alloc(4096, (l->size + 4095U) / 4096 * 4096);
	if (!w->buffer)
		return cli_fail(CMD, "out of memory.");
	memset(w->buffer, (int)w->index + 1, l->size);
	snprintf(path, sizeof(path), "%s/%u", l->dir, w->index);
	if (l->op == BENCH_WRITE || l->op == BENCH_READ)
		w->fd = open(path, O_RDWR | O_CLOEXEC | l->open_flags);
	if (w->fd < 0)
		return cli_fail(CMD, "cannot open %s: %s.", path, strerror(errno));
	if (l->bare_port && (w->bare = bare_connect(l->bare_port)) < 0)
		return cli_fail(CMD, "cannot connect to the bare server: %s.", strerror(errno));
	return CLI_OK;
}

int bench_worker(int argc, char **argv)
{
	int sock = argc == 4 ? atoi(argv[1]) : -1, fd = argc == 4 ? atoi(argv[2]) : -1;
	unsigned index = argc == 4 ? (unsigned)atoi(argv[3]) : BENCH_WORKERS;
	struct bench_report report = { 0 };
	struct bench_segment *s = MAP_FAILED;
	struct bench_order o;
	struct worker w;
	int status;

	if (index < BENCH_WORKERS)
		s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		return cli_fail(CMD, "this is a part of 'sluice bench path' and 'share'.");
	w = (struct worker){ .load = &s->load,
			     .shared = &s->worker[index],
			     .index = index,
			     .calls = { named, named } };
	if ((status = worker_begin(&w)))
		return status;
	if (!private_send(sock, &report, sizeof(report))) /* ready */
		return CLI_FAILED;
	while (private_receive(sock, &o, sizeof(o))) {
		if ((status = slice(&w, &o, &report)))
			return status;
		if (!private_send(sock, &report, sizeof(report)))
			return CLI_FAILED;
	}
	return CLI_OK;
}
