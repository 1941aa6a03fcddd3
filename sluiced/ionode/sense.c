/* SPDX-License-Identifier: Apache-2.0 */
/* See sense.h. */
#include "sluiced/ionode/sense.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/slurp.h"
#include "detect/capacity.h"
#include "sluiced/ionode/blocked.h"
#include "sluiced/ionode/sensor.h"
#include "sluiced/ionode/scheduler.h"
#include "sluiced/ionode/turn.h"

#define LOOK_MS	      25
#define PROBE_MS      12 /* the same in a probe: what it sends too much is a queue */
#define SHADOW_MS     100
#define IDLE_MS	      1000
#define LOOK_LEAST_MS 150		   /* longest time between two samples */
#define LOOK_PART     20		   /* sampling takes at most 1/20 of the time */
#define SENSOR_OLD_NS INT64_C(10000000000) /* a reading is too old after this */
#define MOUNTS_NS     INT64_C(10000000000)
#define MOUNTS_MOST   (1 << 20)
#define BLOCKED	      0.5 /* of the looks: the job is */

struct look {
	uint64_t job;
	uint32_t pid, threads; /* threads: at most so many are looked at */
	double counts_for;     /* so many processes */
	double blocked;	       /* threads of all these */
};

struct sense {
	struct node *node;
	pthread_t thread;
	int stop_fd;
	sl_time last_shadow, last_step; /* of this thread alone */
	struct shadow_job **shadow;	/* room for `room` */
	size_t room;
	/* Of auto; under the node's lock. */
	struct capacity capacity;
	struct capacity_sample sample; /* the last */
	struct sensor *sensor;
	struct sensor_reading reading; /* the last; of which: */
	sl_time reading_ns;
	char below[PATH_MAX]; /* another file system is mounted there; empty: none is */
	sl_time mounts_ns;    /* when that was looked for */
	/* When the counts of the device have changed last: now, and at the end of the last step. */
	struct {
		uint64_t bytes[2];
		sl_time ns;
	} changed, stepped;
	uint64_t flushed; /* write-back that jobs had started when the step began */
	struct look look[LOOK_THREADS];
	uint32_t looks; /* so many were made */
};

static bool is_due(sl_time last, int64_t period_ns, sl_time now)
{
	return now - last >= period_ns;
}

/* ---- observe mode ---- */

static bool make_room(struct sense *s, size_t jobs)
{
	struct shadow_job **more;

	if (jobs <= s->room)
		return true;
	more = realloc(s->shadow, 2 * jobs * sizeof(struct shadow_job *));
	if (!more)
		return false;
	s->shadow = more;
	s->room = 2 * jobs;
	return true;
}

/* Add the bytes that the job has moved since the last step to its shadow. */
static void arrive(struct node_job *j, sl_time since, sl_time now)
{
	uint64_t moved = j->moved[SL_READ] + j->moved[SL_WRITE];
	struct shadow_job *s = &j->shadow.job;

	s->weight = j->rights.weight;
	s->min_bps = (double)j->rights.min_bps;
	s->max_bps = (double)j->rights.max_bps;
	s->arrived_bytes = (double)(moved - j->shadow.moved_bytes);
	j->shadow.moved_bytes = moved;
	if (s->arrived_bytes <= 0)
		return;
	if (!j->shadow.from)
		j->shadow.from = since;
	j->shadow.until = now;
}

/* The lock is held. */
static void shadow(struct sense *s, sl_time now)
{
	struct node *n = s->node;
	uint64_t bps = n->find ? sense_found_bps(n) : n->capacity_bps;
	size_t jobs = 0;

	for (struct node_job *j = n->jobs; j; j = j->next)
		jobs++;
	if (!make_room(s, jobs))
		return;
	jobs = 0;
	for (struct node_job *j = n->jobs; j; j = j->next) {
		arrive(j, s->last_shadow, now);
		s->shadow[jobs++] = &j->shadow.job;
	}
	shadow_step(s->shadow, jobs, (double)bps, (double)(now - s->last_shadow) / 1e9);
	s->last_shadow = now;
}

/* ---- pacing; the lock is held ---- */

/* The capacity of a sensor, if it reports one, else the one found. 0: do not pace. */
static uint64_t pace_bps(const struct sense *s)
{
	if (s->reading.has_capacity)
		return s->sample.jobs >= 2 ? (uint64_t)s->reading.capacity_bps : 0;
	return (uint64_t)capacity_pace_bps(&s->capacity);
}

static void set_pace(struct sense *s, sl_time now)
{
	struct node *n = s->node;

	n->capacity_bps = pace_bps(s);
	node_draw(n, n->capacity_bps, now);
	turn_modes(n, now);
}

/* ---- looking at threads: see blocked.h ---- */

/* The lock is held. Collect the processes of a job for this sample. */
static size_t list_job(struct sense *s, const struct node_job *j, uint32_t jobs, size_t count)
{
	uint32_t pids[SL_TURN_PROCS], procs = 0;
	struct blocked_part part;

	for (uint32_t i = 0; i < SL_TURN_PROCS; i++) {
		pids[procs] =
			atomic_load_explicit(&j->turn->shm->proc[i].pid, memory_order_relaxed);
		procs += pids[procs] != 0;
	}
	if (!procs)
		return count;
	part = blocked_part(jobs, procs, s->looks);
	for (uint32_t i = 0; i < part.procs && count < LOOK_THREADS; i++)
		s->look[count++] = (struct look){
			.job = j->number,
			.pid = pids[(part.first + i) % procs],
			.threads = part.threads,
			.counts_for = (double)procs / part.procs,
		};
	return count;
}

static bool has_programs(const struct node_job *j)
{
	return j->turn && j->turn->procs;
}

/* The lock is held. Compute how many processes to sample, and one job in how many. */
static size_t list_processes(struct sense *s, uint32_t *stride)
{
	uint32_t jobs = 0, at = 0;
	size_t count = 0;

	for (const struct node_job *j = s->node->jobs; j; j = j->next)
		jobs += has_programs(j);
	*stride = blocked_stride(jobs);
	s->looks++;
	for (struct node_job *j = s->node->jobs; j; j = j->next) {
		if (!has_programs(j) || (at++ + s->looks) % *stride)
			continue;
		j->seen.looks++;
		count = list_job(s, j, (jobs + *stride - 1) / *stride, count);
	}
	return count;
}

static uint64_t flushed(const struct node *n)
{
	uint64_t sum = 0;

	for (const struct node_job *j = n->jobs; j; j = j->next)
		if (j->turn)
			sum += atomic_load_explicit(&j->turn->shm->flushed, memory_order_relaxed);
	return sum;
}

/* Whether a probe is running during which the device reports its write-back. */
static bool sees_backlog(const struct sense *s)
{
	return s->capacity.probing && s->sensor && s->reading.has_bytes &&
	       s->node->charge & SL_TURN_WRITES;
}

/* Write-back that was started since the step began, without what the device has done. */
static double backlog(const struct sense *s, const struct sensor_reading *r)
{
	double started = (double)(int64_t)(flushed(s->node) - s->flushed);

	return r->has_bytes ? started - (double)(int64_t)(r->bytes[SL_WRITE] -
							  s->reading.bytes[SL_WRITE])
			    : 0;
}

/*
 * Whether nobody is held and write-back is not started by leases: then large requests are done at once, after a
 * while in which the device's counts do not move. What was moved between two changes of them is exact.
 */
static bool sees_changes(const struct sense *s)
{
	return s->sensor && s->capacity.state == CAPACITY_CLEAR && s->node->charge & SL_TURN_WRITES;
}

static void see_change(struct sense *s, const struct sensor_reading *r, sl_time now)
{
	if (!r->has_bytes || (r->bytes[SL_READ] == s->changed.bytes[SL_READ] &&
			      r->bytes[SL_WRITE] == s->changed.bytes[SL_WRITE]))
		return;
	for (int op = SL_READ; op <= SL_WRITE; op++)
		s->changed.bytes[op] = r->bytes[op];
	s->changed.ns = now;
}

/* The lock is not held while files are read. */
static void look(struct sense *s)
{
	struct sensor_reading reading = { 0 };
	struct node *n = s->node;
	double blocked = 0;
	uint32_t stride;
	size_t count;
	bool probes, changes;

	pthread_mutex_lock(&n->lock);
	count = list_processes(s, &stride);
	probes = sees_backlog(s);
	changes = sees_changes(s);
	node_unlock(n);
	if ((probes || changes) && sensor_read(s->sensor, &reading) == 0 && changes)
		see_change(s, &reading, node_now());
	for (size_t i = 0; i < count; i++)
		s->look[i].blocked =
			s->look[i].counts_for * blocked_threads(s->look[i].pid, s->look[i].threads);
	pthread_mutex_lock(&n->lock);
	for (size_t i = 0; i < count; i++) {
		struct node_job *j = node_job_find(n, s->look[i].job);

		if (!j)
			continue;
		blocked += s->look[i].blocked * stride;
		j->seen.blocked += s->look[i].blocked;
		if (s->look[i].blocked > 0 && j->seen.blocked_look != j->seen.looks) {
			j->seen.blocked_look = j->seen.looks;
			j->seen.blocked_looks++;
		}
	}
	if (!n->passing && n->find &&
	    capacity_look(&s->capacity, blocked, probes ? backlog(s, &reading) : 0))
		set_pace(s, node_now());
	node_unlock(n);
}

/* ---- finding the capacity; the lock is held ---- */

/*
 * The bytes that the file system has moved for a job: without reads from the page cache, and with
 * writes when they are written back. Programs update these counters one after the other, so
 * differences can be negative for a moment.
 */
static uint64_t delivered(const struct node_job *j, int op)
{
	if (op == SL_READ)
		return j->moved[op] - j->wire.cached;
	return j->moved[op] - j->wire.buffered + j->wire.flushed;
}

/* The bytes that this job has moved since the last step, and its waits. */
static void add_job(struct capacity_sample *to, struct node_job *j)
{
	double moved = 0, looks = j->seen.looks, waited;

	for (int op = SL_READ; op <= SL_WRITE; op++) {
		uint64_t so_far = delivered(j, op);
		int64_t bytes = (int64_t)(so_far - j->seen.moved[op]);

		if (bytes < 0)
			continue;
		to->delivered_bytes[op] += (double)bytes;
		moved += (double)bytes;
		j->seen.moved[op] = so_far;
	}
	waited = (double)(j->wire.held_ns - j->seen.held_ns) / 1e9 / to->seconds;
	/* A job with its own limit may be waiting for that. */
	if (!j->rights.max_bps && !j->bucket && j->grant_bps == SL_GRANT_NONE)
		to->waited += waited;
	if (looks > 0) {
		to->blocked += j->seen.blocked / looks;
		to->jobs_blocked += j->seen.blocked_looks >= BLOCKED * looks;
	}
	to->jobs += moved > 0 || waited > 0 || j->seen.blocked > 0;
	j->seen.held_ns = j->wire.held_ns;
	j->seen.blocked = 0;
	j->seen.looks = j->seen.blocked_looks = j->seen.blocked_look = 0;
}

/*
 * Requests that the servers have, instead of threads that are blocked. Where the device counts, no
 * more was delivered than it has moved: in OPEN mode programs do not count what the page cache
 * answered or took. Nor do they count then what was written back, long after it was written: see
 * use_changes().
 */
static void use_sensor(struct sense *s, struct capacity_sample *to, const struct sensor_reading *r,
		       sl_time now)
{
	double seconds = (double)(now - s->reading_ns) / 1e9;

	if (r->has_queue || (r->has_busy && s->reading.has_busy && seconds > 0)) {
		to->blocked = r->has_queue ? r->queue : (r->busy_s - s->reading.busy_s) / seconds;
		to->jobs_blocked = to->blocked >= 1 ? to->jobs : 0;
	}
	for (int op = SL_READ; r->has_bytes && s->reading.has_bytes && op <= SL_WRITE; op++) {
		double most = r->bytes[op] > s->reading.bytes[op]
				      ? (double)(r->bytes[op] - s->reading.bytes[op])
				      : 0;

		if (op == SL_WRITE && s->node->charge & SL_TURN_WRITES)
			to->backlog_bytes = to->delivered_bytes[op] - most;
		if (to->delivered_bytes[op] > most)
			to->delivered_bytes[op] = most;
	}
	s->reading = *r;
	s->reading_ns = now;
}

/* In the time between two changes of the device's counts. */
static void use_changes(struct sense *s, struct capacity_sample *to)
{
	double bytes[2];

	for (int op = SL_READ; op <= SL_WRITE; op++)
		bytes[op] = (double)(int64_t)(s->changed.bytes[op] - s->stepped.bytes[op]);
	to->moved_s = (double)(s->changed.ns - s->stepped.ns) / 1e9;
	/* Since jobs were blocked the device has been busy. */
	if (!s->capacity.congested || !s->stepped.ns || to->moved_s <= 0 || bytes[SL_READ] < 0 ||
	    bytes[SL_WRITE] < 0) {
		to->moved_s = -1;
		bytes[SL_READ] = bytes[SL_WRITE] = 0;
	}
	to->delivered_bytes[SL_READ] =
		fmin(bytes[SL_READ], to->delivered_bytes[SL_READ] * to->moved_s / to->seconds);
	to->delivered_bytes[SL_READ] = fmax(to->delivered_bytes[SL_READ], 0);
	to->delivered_bytes[SL_WRITE] = bytes[SL_WRITE];
	s->stepped = s->changed;
}

static void find(struct sense *s, const struct sensor_reading *r, sl_time now)
{
	struct node *n = s->node;
	enum capacity_state before = s->capacity.state;
	struct capacity_sample sample = { .seconds = (double)(now - s->last_step) / 1e9 };

	for (struct node_job *j = n->jobs; j; j = j->next)
		add_job(&sample, j);
	if (r)
		use_sensor(s, &sample, r, now);
	if (r && r->has_bytes && sees_changes(s))
		use_changes(s, &sample);
	else if (r)
		s->stepped.ns = 0;
	else if (now - s->reading_ns > SENSOR_OLD_NS)
		s->reading = (struct sensor_reading){ 0 }; /* it has vanished */
	s->sample = sample;
	s->last_step = now;
	if (n->passing) {
		capacity_observe(&s->capacity, &sample);
		return;
	}
	s->flushed = flushed(n);
	capacity_step(&s->capacity, &sample, now);
	set_pace(s, now);
	if (s->capacity.state != before)
		log_info("capacity auto: state=%d read=%.0f write=%.0f pace=%llu: %s",
			 s->capacity.state, s->capacity.estimate_bps[SL_READ],
			 s->capacity.estimate_bps[SL_WRITE], (unsigned long long)n->capacity_bps,
			 s->capacity.why);
}

/* ---- other file systems ---- */

/* One that is mounted below the directory is part of what is found: status says so. */
static void look_mounts(struct sense *s)
{
	char below[PATH_MAX], *text = NULL;
	struct node *n = s->node;
	sl_time now = node_now();
	size_t size;
	bool some;

	if (s->mounts_ns && !is_due(s->mounts_ns, MOUNTS_NS, now))
		return;
	s->mounts_ns = now;
	if (sl_slurp_file("/proc/self/mountinfo", MOUNTS_MOST, &text, &size))
		return;
	some = sensor_parse_mounts(text, n->config->root, below);
	free(text);
	pthread_mutex_lock(&n->lock);
	snprintf(s->below, sizeof(s->below), "%s", some ? below : "");
	node_unlock(n);
}

/* ---- the thread ---- */

/* Whether the capacity is to be found, and whether a step of that is due. */
static bool finds(struct sense *s, bool *due)
{
	struct node *n = s->node;
	bool find;

	pthread_mutex_lock(&n->lock);
	find = n->find;
	*due = find && is_due(s->last_step, CAPACITY_STEP_NS, node_now());
	node_unlock(n);
	return find;
}

/* How long to sleep, in ms, after a look that took so long. */
static int look_again_ms(int64_t took_ns, bool probing)
{
	int64_t ms = took_ns * LOOK_PART / 1000000;
	int least = probing ? PROBE_MS : LOOK_MS;

	return ms < least ? least : ms < LOOK_LEAST_MS ? (int)ms : LOOK_LEAST_MS;
}

/* How long to sleep, in ms. */
static int step(struct sense *s)
{
	struct node *n = s->node;
	struct sensor_reading reading;
	bool due, has_read = false, quick, probing;
	sl_time now, began = node_now();
	int64_t took_ns = 0;
	uint32_t busy = 0;

	if (finds(s, &due)) {
		look_mounts(s);
		look(s);
		took_ns = node_now() - began;
		due = due || is_due(s->last_step, CAPACITY_STEP_NS, node_now());
	}
	if (due && s->sensor)
		has_read = sensor_read(s->sensor, &reading) == 0;
	pthread_mutex_lock(&n->lock);
	now = node_now();
	for (const struct node_job *j = n->jobs; j; j = j->next)
		busy += j->clients != 0;
	if (n->observe && is_due(s->last_shadow, SHADOW_MS * INT64_C(900000), now)) {
		turn_account(n, now);
		shadow(s, now);
	}
	if (n->find && due) {
		turn_account(n, now);
		find(s, has_read ? &reading : NULL, now);
	}
	quick = n->find && (busy > 1 || n->capacity_bps);
	probing = s->capacity.probing;
	node_unlock(n);
	if (!busy)
		return IDLE_MS;
	return quick ? look_again_ms(took_ns, probing) : SHADOW_MS;
}

static void *sense_main(void *arg)
{
	struct sense *s = arg;
	struct pollfd stop = { .fd = s->stop_fd, .events = POLLIN };
	int ms = SHADOW_MS;

	while (!stop.revents)
		if (poll(&stop, 1, ms) == 0)
			ms = step(s);
	return NULL;
}

static int make(struct node *n)
{
	struct sense *s = calloc(1, sizeof(*s));
	char err[SENSOR_TEXT];
	int rc;

	if (!s)
		return -ENOMEM;
	s->node = n;
	s->last_shadow = s->last_step = node_now();
	capacity_init(&s->capacity);
	rc = sensor_open(&s->sensor, n->config->sensor ? n->config->sensor : "", n->config->root,
			 err);
	if (rc)
		log_warn("sensor: %s", err);
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	rc = s->stop_fd < 0 ? -errno : -pthread_create(&s->thread, NULL, sense_main, s);
	if (rc) {
		sensor_close(s->sensor);
		free(s);
		return rc;
	}
	n->sense = s;
	return 0;
}

int sense_auto(struct node *n, bool find_it, sl_time now)
{
	int rc = 0;

	if (find_it && !n->find) {
		rc = node_capacity(n, SL_MAX_RATE, now);
		n->capacity_bps = 0; /* the pacer's */
		node_draw(n, 0, now);
		n->layer_bps = SL_MAX_RATE; /* every min is taken */
		for (struct node_job *j = n->jobs; j; j = j->next)
			node_job_rate(n, j, SL_GRANT_NONE, now, now);
	}
	if (!rc && find_it && !n->sense)
		rc = make(n);
	n->find = find_it && !rc;
	return rc;
}

int sense_start(struct node *n)
{
	int rc = 0;

	if (n->config->find) {
		pthread_mutex_lock(&n->lock);
		rc = sense_auto(n, true, node_now());
		node_unlock(n);
	}
	return rc || !n->observe ? rc : sense_observe(n);
}

int sense_observe(struct node *n)
{
	int rc = 0;

	pthread_mutex_lock(&n->lock);
	if (!n->sense)
		rc = make(n);
	node_unlock(n);
	return rc;
}

void sense_stop(struct node *n)
{
	struct sense *s;

	pthread_mutex_lock(&n->lock);
	s = n->sense;
	n->sense = NULL;
	n->find = false;
	node_unlock(n);
	if (!s)
		return;
	eventfd_write(s->stop_fd, 1);
	pthread_join(s->thread, NULL);
	close(s->stop_fd);
	sensor_close(s->sensor);
	free(s->shadow);
	free(s);
}

/* ---- status ---- */

uint64_t sense_found_bps(const struct node *n)
{
	const struct sense *s = n->sense;
	double bytes = 0, time = 0;

	if (!s)
		return 0;
	if (s->reading.has_capacity)
		return (uint64_t)s->reading.capacity_bps;
	for (int op = SL_READ; op <= SL_WRITE; op++) {
		double part = s->sample.delivered_bytes[op] > 0 ? s->sample.delivered_bytes[op] : 1;

		if (s->capacity.estimate_bps[op] <= 0)
			return 0;
		bytes += part;
		time += part / s->capacity.estimate_bps[op];
	}
	return (uint64_t)(bytes / time);
}

void sense_status(const struct node *n, struct status *to)
{
	static const char *const states[] = { "clear", "trial", "paced" };
	const struct sense *s = n->sense;

	if (!n->find || !s)
		return;
	to->capacity_auto_state = s->reading.has_capacity ? "told" : states[s->capacity.state];
	to->capacity_auto_read_bps = (double)(uint64_t)s->capacity.estimate_bps[SL_READ];
	to->capacity_auto_write_bps = (double)(uint64_t)s->capacity.estimate_bps[SL_WRITE];
	to->capacity_auto_paced_bps = n->passing ? 0 : (double)n->capacity_bps;
	to->capacity_auto_why = s->reading.has_capacity ? "a sensor says so" : s->capacity.why;
	to->capacity_auto_sensor = sensor_name(s->sensor);
	to->capacity_auto_mounted_below = *s->below ? s->below : NULL;
	to->capacity_auto_blocked_threads = s->sample.blocked;
	to->capacity_auto_waiting_threads = s->sample.waited;
}
