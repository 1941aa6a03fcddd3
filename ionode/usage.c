/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of what jobs use: a text file that grows by a line for each job that did something,
 * every SPAN_NS. `sluice report` reads it (cli/report-read.c), also when the node is gone.
 *
 *	time,seconds,read,write,calls,held,waited,job
 *	1763260002,2.000,0,41943040,10240,0.000,1.210,ckpt
 *
 * In the 2 s until that time, in Unix seconds, ckpt wrote 40 MiB in 10240 calls, was never held by
 * its max, and for 1.21 s it had requests that were not sent yet. The name is last since it may
 * hold commas. There is no file before the first line. A line is written with one call, so that a
 *reader never sees half of one. A file of MOST_BYTES is renamed to FILE.1, which takes the place of
 *the one before.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "ionode/permit.h"

#define SPAN_NS	   INT64_C(2000000000)
#define MOST_BYTES (32 << 20)

static const char head[] = "time,seconds,read,write,calls,held,waited,job\n";

struct usage {
	const char *path;
	int fd;
	sl_time last;
};

/* A file that is not empty is gone on with. 0 or -errno. */
static int open_file(struct usage *u)
{
	struct stat st;

	u->fd = open(u->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (u->fd < 0)
		return -errno;
	if (fstat(u->fd, &st) == 0 && st.st_size == 0 &&
	    write(u->fd, head, sizeof(head) - 1) != (ssize_t)sizeof(head) - 1)
		return -errno;
	return 0;
}

int usage_start(struct node *n)
{
	struct usage *u;

	if (!n->config->usage)
		return 0;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->path = n->config->usage;
	u->fd = -1;
	u->last = node_now();
	n->usage = u;
	return 0;
}

static void put_line(const struct node *n, struct node_job *j, double seconds, sl_time now, FILE *f)
{
	struct sl_job_stats st;
	uint64_t calls;

	if (sl_job_stats(n->sched, j->number, now, &st))
		return;
	calls = st.served_requests[SL_READ] + st.served_requests[SL_WRITE] + j->unasked;
	if (calls == j->told.calls && st.waiting_ns == j->told.waited)
		return;
	fprintf(f, "%lld,%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.3f,%.3f,%s\n",
		(long long)time(NULL), seconds, j->moved[SL_READ] - j->told.moved[SL_READ],
		j->moved[SL_WRITE] - j->told.moved[SL_WRITE], calls - j->told.calls,
		(double)(st.throttled_ns - j->told.held) / 1e9,
		(double)(st.waiting_ns - j->told.waited) / 1e9, j->name);
	memcpy(j->told.moved, j->moved, sizeof(j->told.moved));
	j->told.calls = calls;
	j->told.held = st.throttled_ns;
	j->told.waited = st.waiting_ns;
}

static void turn_over(struct usage *u)
{
	char old[PATH_MAX];
	struct stat st;

	if (fstat(u->fd, &st) || st.st_size < MOST_BYTES)
		return;
	close(u->fd);
	if (snprintf(old, sizeof(old), "%s.1", u->path) >= (int)sizeof(old) || rename(u->path, old))
		log_warn("cannot rename %s: %s", u->path, strerror(errno));
	u->fd = -1;
}

static void write_lines(struct usage *u, const char *text, size_t size)
{
	int rc = u->fd < 0 ? open_file(u) : 0;

	if (!rc && write(u->fd, text, size) != (ssize_t)size)
		rc = -errno;
	if (rc)
		log_warn("the account of usage in %s lacks something: %s", u->path, strerror(-rc));
	if (u->fd >= 0)
		turn_over(u);
}

static void put_lines(struct node *n, sl_time now)
{
	struct usage *u = n->usage;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return; /* the next lines are of a longer time */
	pthread_mutex_lock(&n->lock);
	node_collect(n, now);
	permit_account(n);
	for (struct node_job *j = n->jobs; j; j = j->next)
		put_line(n, j, (double)(now - u->last) / 1e9, now, f);
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

void usage_stop(struct node *n)
{
	if (!n->usage)
		return;
	put_lines(n, node_now());
	if (n->usage->fd >= 0)
		close(n->usage->fd);
	free(n->usage);
	n->usage = NULL;
}
