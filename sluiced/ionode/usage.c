/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of what jobs use: a text file that grows by a line for each job that did something,
 * every SPAN_NS. `sluice report` reads it (cli/report/read.c), also when the node is gone.
 *
 *	time,seconds,read,write,calls,held,waited,contended,first,last,unscheduled,operations,ops_held,cached,wire,dirty,job
 *	1763260002,2.000,0,41943040,10240,0.000,1.210,0.800,0.000,1.650,0,12,0.000,0,33554432,8388608,ckpt
 *
 * In the 2 s until that time, in Unix seconds, ckpt wrote 40 MiB in 10240 calls, was never held
 * by its max, and for 1.21 s it had requests that were not sent yet: for 0.8 s of them another
 * job had requests in the node, too. Its requests were in the node between 0 and 1.65 s after the
 * begin, and nothing went past the scheduler. It made 12 metadata operations, which no limit
 * held. The page cache had 8 MiB of what was written in the end, 32 MiB went over the wire. So
 * jobs that ran one after the other in the same 2 s can be told from jobs that met. The name is
 * last since it may hold commas. In observe mode nothing is held: the columns have would_ before
 * their names, and say what shadow.h computes. There is no file before the first line. Lines are
 * written with one call, so that a reader never sees half of one. A file of MOST_BYTES is renamed
 * to FILE.1, which takes the place of the one before.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "sched/why.h"
#include "sluiced/ionode/turn.h"

#define SPAN_NS	   INT64_C(2000000000)
#define MOST_BYTES (32 << 20)
#define LEAST_S	   0.001 /* of a line: it has three digits, and 0 would make no sense */

static const char head[] =
	"time,seconds,read,write,calls,held,waited,contended,first,last,unscheduled,operations,"
	"ops_held,cached,wire,dirty,job\n";
/* In observe mode: the same, of what would have been held. Lines of both do not go into one file.
 */
static const char observed_head[] =
	"time,seconds,read,write,calls,would_held,would_waited,would_contended,first,last,"
	"unscheduled,operations,ops_held,cached,wire,dirty,job\n";

struct usage {
	const char *path;
	const char *head;
	sl_time last;
	bool failing; /* and that has been said */
};

int usage_start(struct node *n)
{
	struct usage *u;

	if (!n->config->usage)
		return 0;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->path = n->config->usage;
	u->head = n->observe ? observed_head : head;
	u->last = node_now();
	n->usage = u;
	return 0;
}

/* One span of time: the same for all jobs, or a reader would take it for two. */
struct span {
	time_t end;
	double seconds;
	sl_time begin;
};

/* Seconds from the span's begin, but not outside of it. */
static double within(const struct span *span, sl_time at)
{
	return fmin(fmax((double)(at - span->begin) / 1e9, 0), span->seconds);
}

/* How long a job was held, waited, and waited for others; and when it was busy in the span. */
struct waits {
	sl_time held, waited, contended, from, until;
	bool busy; /* from and until are known */
};

/* What the scheduler has seen; in observe mode, what it would have. -errno: there is no such job.
 */
static int waits_of(struct node *n, struct node_job *j, sl_time now, struct waits *w)
{
	const struct shadow_job *s = &j->shadow.job;
	struct sl_job_stats st;
	int rc = sl_job_stats(n->sched, j->number, now, &st);

	if (rc)
		return rc;
	if (n->observe) {
		*w = (struct waits){ (sl_time)(s->held_s * 1e9),
				     (sl_time)(s->waited_s * 1e9),
				     (sl_time)(s->contended_s * 1e9),
				     j->shadow.from,
				     j->shadow.until,
				     j->shadow.from != 0 };
		j->shadow.from = 0;
		return 0;
	}
	*w = (struct waits){ st.throttled_ns, st.waiting_ns, st.contended_ns, 0, 0, false };
	w->busy = sl_job_inside(n->sched, j->number, now, &w->from, &w->until);
	return 0;
}

static void put_line(struct node *n, struct node_job *j, const struct span *span, sl_time now,
		     FILE *f)
{
	double first = 0, last = span->seconds; /* if all was under leases: not known */
	uint64_t unscheduled, operations, held_ns, cached, wire, dirty;
	struct waits w;

	if (waits_of(n, j, now, &w))
		return;
	unscheduled = j->turn ? atomic_load(&j->turn->shm->unscheduled) : 0;
	if (unscheduled < j->told.unscheduled) /* a new segment */
		j->told.unscheduled = j->told.ops_held_ns = 0;
	operations = ops_sum(j->ops.made);
	held_ns = j->turn ? atomic_load(&j->turn->shm->operations.held_ns) : 0;
	if (held_ns < j->told.ops_held_ns)
		j->told.ops_held_ns = 0;
	turn_wire_bytes(j, &dirty, &cached, &wire);
	if (wire < j->told.wire) /* programs count one thing after the other */
		wire = j->told.wire;
	if (j->calls == j->told.calls && w.waited == j->told.waited &&
	    operations == j->told.operations && wire == j->told.wire &&
	    unscheduled == j->told.unscheduled)
		return;
	if (w.busy) {
		first = within(span, w.from);
		last = within(span, w.until);
	}
	fprintf(f,
		"%lld,%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.3f,%.3f,%.3f,%.3f,%.3f,%" PRIu64
		",%" PRIu64 ",%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s\n",
		(long long)span->end, span->seconds, j->moved[SL_READ] - j->told.moved[SL_READ],
		j->moved[SL_WRITE] - j->told.moved[SL_WRITE], j->calls - j->told.calls,
		(double)(w.held - j->told.held) / 1e9, (double)(w.waited - j->told.waited) / 1e9,
		(double)(w.contended - j->told.contended) / 1e9, first, last,
		unscheduled - j->told.unscheduled, operations - j->told.operations,
		(double)(held_ns - j->told.ops_held_ns) / 1e9, cached - j->told.cached,
		wire - j->told.wire, dirty, j->name);
	j->told.cached = cached;
	j->told.wire = wire;
	memcpy(j->told.moved, j->moved, sizeof(j->told.moved));
	j->told.calls = j->calls;
	j->told.unscheduled = unscheduled;
	j->told.operations = operations;
	j->told.ops_held_ns = held_ns;
	j->told.held = w.held;
	j->told.waited = w.waited;
	j->told.contended = w.contended;
}

/* It has other columns than the ones that are written now. */
static bool is_other(const char *path, const char *ours)
{
	char text[sizeof(observed_head)] = "";
	FILE *f = fopen(path, "re");
	bool old = f && fgets(text, sizeof(text), f) &&
		   !strncmp(text, head, sizeof("time,seconds,") - 1) && strcmp(text, ours) != 0;

	if (f)
		fclose(f);
	return old;
}

/*
 * The file, opened, and its size; one that is full or has other columns makes room for a new one
 * first. Or -errno.
 */
static int open_file(const struct usage *u, off_t *size)
{
	const char *path = u->path;
	char old[PATH_MAX + 2]; /* if that is too long, rename() says so */
	struct stat st;
	int fd;

	if (stat(path, &st) == 0 && (st.st_size >= MOST_BYTES || is_other(path, u->head)) &&
	    (snprintf(old, sizeof(old), "%s.1", path) < 0 || rename(path, old)))
		return -errno;
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	*size = fstat(fd, &st) == 0 ? st.st_size : 0;
	return fd;
}

/*
 * One call, of all or nothing. What stands before may end with half a line, if the machine went
 * down: that one is lost, but not the next, too.
 */
static int append(const struct usage *u, int fd, off_t size, char *text, size_t length)
{
	/* The end of `head` is the end of a line, too. */
	size_t head_bytes = strlen(u->head);
	char *end = (char *)(uintptr_t)u->head + head_bytes, last = '\n';
	struct iovec iov[2] = { { end - 1, 0 }, { text, length } };
	ssize_t n;
	int error;

	if (size == 0)
		iov[0] = (struct iovec){ end - head_bytes, head_bytes };
	else if (pread(fd, &last, 1, size - 1) == 1 && last != '\n')
		iov[0].iov_len = 1;
	n = writev(fd, iov, 2);
	if (n == (ssize_t)(iov[0].iov_len + length))
		return 0;
	error = n < 0 ? -errno : -ENOSPC;
	if (n > 0 && ftruncate(fd, size))
		error = -errno;
	return error;
}

/* Between two times no descriptor is kept: whoever moves or removes the file has done so. */
static void write_lines(struct usage *u, char *text, size_t length)
{
	off_t size = 0;
	int fd = open_file(u, &size), rc = fd < 0 ? fd : append(u, fd, size, text, length);

	if (fd >= 0)
		close(fd);
	if (rc && !u->failing)
		log_warn("the account of usage in %s lacks what is used from now on: %s", u->path,
			 strerror(-rc));
	if (!rc && u->failing)
		log_info("the account of usage in %s goes on", u->path);
	u->failing = rc != 0;
}

static void put_lines(struct node *n, sl_time now)
{
	struct usage *u = n->usage;
	const struct span span = { time(NULL), fmax((double)(now - u->last) / 1e9, LEAST_S),
				   u->last };
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return; /* the next lines are of a longer time */
	pthread_mutex_lock(&n->lock);
	node_collect(n, now);
	turn_account(n, now);
	for (struct node_job *j = n->jobs; j; j = j->next)
		put_line(n, j, &span, now, f);
	node_unlock(n);
	u->last = now;
	if (fclose(f) == 0 && size)
		write_lines(u, text, size);
	free(text);
}

void usage_tick(struct node *n)
{
	sl_time now = node_now();

	if (n->usage && now - n->usage->last >= SPAN_NS)
		put_lines(n, now);
}

void usage_flush(struct node *n)
{
	if (n->usage)
		put_lines(n, node_now());
}

void usage_stop(struct node *n)
{
	if (!n->usage)
		return;
	put_lines(n, node_now());
	free(n->usage);
	n->usage = NULL;
}
