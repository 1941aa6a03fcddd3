/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording: see scheduler.h. Records go into one of two buffers; a thread of its own writes the
 * other one to the file, so that the lock is never held over I/O. If the thread is too slow,
 * records are only counted, and a LOST record is written.
 */
#include "sluiced/ionode/scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "sched/trace.h"

#define BUFFER (4U << 20)

struct node_trace {
	int fd;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t some;
	unsigned char *fill, *spare; /* spare is NULL while it is being written */
	size_t filled;
	uint64_t lost;
	uint32_t numbers; /* of requests */
	int error; /* errno of the write that failed: the recording ended there; 0: none did */
	bool stop;
};

static void record(struct node *n, const struct sl_trace_record *r)
{
	struct node_trace *t = n->trace;

	pthread_mutex_lock(&t->lock);
	if (t->error) {
		t->lost++;
	} else if (t->filled + 2 * SL_TRACE_MAX > BUFFER) {
		t->lost++; /* the thread is behind */
	} else {
		if (t->lost) {
			struct sl_trace_record gap = { .type = SL_TRACE_LOST,
						       .now = r->now,
						       .u64 = { t->lost } };

			t->filled += sl_trace_encode(&gap, t->fill + t->filled);
			t->lost = 0;
		}
		t->filled += sl_trace_encode(r, t->fill + t->filled);
	}
	if (t->filled > BUFFER / 4)
		pthread_cond_signal(&t->some);
	pthread_mutex_unlock(&t->lock);
}

static void write_out(struct node_trace *t, const unsigned char *bytes, size_t length)
{
	while (length && !t->error) { /* no other thread writes it */
		ssize_t k = write(t->fd, bytes, length);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0) {
			int error = errno;

			log_error("trace: %s; the recording ends here", strerror(error));
			pthread_mutex_lock(&t->lock);
			t->error = error;
			pthread_mutex_unlock(&t->lock);
			return;
		}
		bytes += k;
		length -= (size_t)k;
	}
}

static void *writer(void *arg)
{
	struct node_trace *t = arg;
	bool stop = false;

	pthread_mutex_lock(&t->lock);
	while (!stop || t->filled) {
		unsigned char *full = t->fill;
		size_t length = t->filled;

		if (!length) {
			struct timespec ts;

			clock_gettime(CLOCK_REALTIME, &ts);
			ts.tv_sec++;
			pthread_cond_timedwait(&t->some, &t->lock, &ts);
		} else {
			t->fill = t->spare;
			t->filled = 0;
			pthread_mutex_unlock(&t->lock);
			write_out(t, full, length);
			pthread_mutex_lock(&t->lock);
			t->spare = full;
		}
		stop = t->stop;
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* The policies as they were given, one after the other. */
static int put_specs(struct sl_trace_record *r, const struct sl_config *config)
{
	const char *const specs[] = { config->admit, config->share, config->order };

	for (int i = 0; i < 3; i++) {
		size_t length = specs[i] ? strlen(specs[i]) : 0;

		if (r->text_length + length + 1 > SL_TRACE_TEXT - 1)
			return -ENAMETOOLONG;
		memcpy(r->text + r->text_length, specs[i] ? specs[i] : "", length);
		r->text_length += length + 1;
	}
	return 0;
}

static void trace_free(struct node_trace *t)
{
	if (t->fd >= 0)
		close(t->fd);
	free(t->fill);
	free(t->spare);
	free(t);
}

int trace_start(struct node *n, const char *path, const struct sl_config *config)
{
	struct node_trace *t = calloc(1, sizeof(*t));
	struct sl_trace_record r = { .type = SL_TRACE_CONFIG,
				     .now = node_now(),
				     .u64 = { config->capacity_bps },
				     .u32 = { config->limits.jobs, config->limits.files,
					      config->limits.requests, config->strict_grants != 0,
					      config->lend_us } };
	int rc = put_specs(&r, config);

	if (!t || rc) {
		free(t);
		return rc ? rc : -ENOMEM;
	}
	t->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	rc = t->fd < 0 ? -errno : 0;
	t->fill = malloc(BUFFER);
	t->spare = malloc(BUFFER);
	if (rc || !t->fill || !t->spare) {
		trace_free(t);
		return rc ? rc : -ENOMEM;
	}
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->some, NULL);
	memcpy(t->fill, SL_TRACE_MAGIC, 8);
	t->filled = 8;
	n->trace = t;
	record(n, &r);
	return -pthread_create(&t->thread, NULL, writer, t);
}

void trace_stop(struct node *n)
{
	struct node_trace *t = n->trace;

	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->some);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	n->trace = NULL;
	trace_free(t);
}

void trace_status(const struct node *n, struct status *s)
{
	struct node_trace *t = n->trace;
	int error;

	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	error = t->error;
	pthread_mutex_unlock(&t->lock);
	s->trace_file = n->config->trace;
	s->trace_state = error ? "stopped" : "recording";
	s->trace_error = error ? strerror(error) : NULL;
}

/* ---- the calls ---- */

static uint32_t number_of(const struct sl_request *r)
{
	return ((const struct node_io *)r)->number;
}

int node_add(struct node *n, struct node_io *io, sl_time now)
{
	const struct sl_request *r = &io->req;
	int rc = sl_add(n->sched, &io->req, now);

	n->waiting += !rc;
	if (n->trace && !rc) {
		io->number = n->trace->numbers++;
		record(n, &(struct sl_trace_record){
				  .type = SL_TRACE_ADD,
				  .request = io->number,
				  .now = now,
				  .u64 = { r->job, r->client, r->file, r->offset, r->length },
				  .u32 = { r->op, r->flags } });
	}
	return rc;
}

const struct sl_batch *node_next(struct node *n, sl_time now, sl_time *wake)
{
	const struct sl_batch *b = sl_next(n->sched, now, wake);

	n->waiting -= b ? b->count : 0;
	if (n->trace)
		record(n, &(struct sl_trace_record){ .type = SL_TRACE_NEXT,
						     .now = now,
						     .request = b ? number_of(b->first) : 0,
						     .u32 = { b ? b->count : 0 } });
	return b;
}

void node_done(struct node *n, const struct sl_batch *b, sl_time now)
{
	uint32_t first = number_of(b->first);

	sl_done(n->sched, b, now);
	if (n->trace)
		record(n, &(struct sl_trace_record){
				  .type = SL_TRACE_DONE, .request = first, .now = now });
}

int node_cancel(struct node *n, struct node_io *io, sl_time now)
{
	int rc = sl_cancel(n->sched, &io->req, now);

	if (!rc) {
		n->waiting--;
		n->active -= --io->job->inside == 0;
	}
	if (n->trace && !rc)
		record(n, &(struct sl_trace_record){
				  .type = SL_TRACE_CANCEL, .request = io->number, .now = now });
	return rc;
}

static void record_job(struct node *n, uint64_t job, const struct sl_job_conf *c, sl_time now)
{
	struct sl_trace_record r;

	sl_trace_job(&r, job, c, now);
	record(n, &r);
}

int node_job_register(struct node *n, uint64_t job, const struct sl_job_conf *conf, sl_time now)
{
	int rc = sl_job_add(n->sched, job, conf, now);

	if (n->trace && !rc)
		record_job(n, job, conf, now);
	return rc;
}

int node_job_change(struct node *n, uint64_t job, const struct sl_job_conf *conf, sl_time now)
{
	int rc = sl_job_set(n->sched, job, conf, now);

	if (n->trace && !rc)
		record_job(n, job, conf, now);
	return rc;
}

int node_job_forget(struct node *n, uint64_t job, sl_time now)
{
	int rc = sl_job_remove(n->sched, job, now);

	if (n->trace && !rc)
		record(n, &(struct sl_trace_record){
				  .type = SL_TRACE_REMOVE, .now = now, .u64 = { job } });
	return rc;
}

int node_job_grant(struct node *n, uint64_t job, uint64_t rate_bps, sl_time until, sl_time now)
{
	int rc = sl_job_grant(n->sched, job, rate_bps, until, now);

	if (n->trace && !rc)
		record(n, &(struct sl_trace_record){ .type = SL_TRACE_GRANT,
						     .now = now,
						     .u64 = { job, rate_bps, (uint64_t)until } });
	return rc;
}

int node_job_order(struct node *n, uint64_t job, const char *policy, sl_time now)
{
	struct sl_trace_record r = { .type = SL_TRACE_ORDER, .now = now, .u64 = { job } };
	int rc = sl_job_order(n->sched, job, policy, now);

	r.text_length = (size_t)snprintf(r.text, sizeof(r.text), "%s", policy ? policy : "");
	if (n->trace && !rc)
		record(n, &r);
	return rc;
}

int node_policy(struct node *n, const char *stage, const char *policy, sl_time now)
{
	struct sl_trace_record r = { .type = SL_TRACE_POLICY, .now = now };
	int rc = sl_policy_set(n->sched, stage, policy, now);

	r.text_length = (size_t)snprintf(r.text, sizeof(r.text), "%s=%s", stage, policy);
	if (n->trace && !rc)
		record(n, &r);
	return rc;
}

void node_file(struct node *n, const char *name, const char *text, size_t length, sl_time now)
{
	size_t head = strlen(name) + 1, at = 0, piece;

	if (!n->trace)
		return;
	do {
		struct sl_trace_record r = { .type = SL_TRACE_FILE,
					     .now = now,
					     .u64 = { at, length } };

		piece = length - at < SL_TRACE_TEXT - 1 - head ? length - at
							       : SL_TRACE_TEXT - 1 - head;
		memcpy(r.text, name, head);
		memcpy(r.text + head, text + at, piece);
		r.text_length = head + piece;
		record(n, &r);
		at += piece;
	} while (at < length);
}

void node_ratio(struct node *n, uint32_t op, uint64_t bytes, uint32_t ratio_milli, sl_time now)
{
	if (!sl_ratio_set(n->sched, op, bytes, ratio_milli) && n->trace)
		record(n, &(struct sl_trace_record){ .type = SL_TRACE_RATIO,
						     .now = now,
						     .u64 = { op, bytes, ratio_milli } });
}

int node_capacity(struct node *n, uint64_t bps, sl_time now)
{
	int rc = sl_capacity_set(n->sched, bps, now);

	if (!rc && n->trace)
		record(n, &(struct sl_trace_record){
				  .type = SL_TRACE_CAPACITY, .now = now, .u64 = { bps } });
	return rc;
}
