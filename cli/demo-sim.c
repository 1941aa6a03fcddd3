/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small event simulation: processes, a link, the scheduler, a device.
 *
 * A process makes one call at a time. A call is sent as `pieces` requests (as a file system's
 * client cuts a large write into transmission units), one after the other over the process's own
 * link, so the pieces of processes that write at the same time arrive interleaved. They wait in
 * the scheduler; the device has one batch at a time, so that every decision is made as late as
 * possible. When all pieces are done the call returns, and the process makes the next.
 *
 * Example: 2 processes, calls of 2 pieces of 512 KiB. Piece 0 of both arrives at
 * 5.2 ms, piece 1 at 10.4 ms. In arrival order the device gets A0 B0 A1 B1, four seeks; merged, A0
 * A1 B0 B1 or better, if the scheduler still has them when their neighbours arrive.
 *
 * All in integers and without chance: a run repeats exactly. Each event is O(log requests).
 */
#include "cli/demo-sim.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ds/heap.h"

#define LINK_BPS     UINT64_C(100000000) /* of each process: its part of a compute node's link */
#define RANDOM_RANGE (UINT64_C(1) << 36) /* bytes of a file that is read at random */

struct proc {
	struct job *job;
	uint32_t index;	  /* in its job */
	uint32_t call;	  /* in this phase */
	uint32_t missing; /* pieces of this call that are not done */
	struct sl_request *request;
};

struct job {
	const struct demo_load *load;
	uint64_t id;
	uint32_t phase;
	uint32_t running; /* processes that are not through with the phase */
	sl_time phase_start;
	struct proc *proc;
	sl_time *latency; /* of every request, in order of completion */
	uint64_t latency_room;
	struct demo_outcome *out;
};

struct sim {
	struct sl_sched *sched;
	struct sl_device device;
	struct sl_heap events; /* requests by arrival, then jobs by start of their next phase */
	void *events_memory;
	struct sl_request *request;
	struct proc *proc;
	struct job job[DEMO_MAX_JOBS];
	unsigned jobs, unfinished;
	uint32_t requests;
	sl_time now;
};

static uint64_t dm_mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 32;
}

static uint64_t dm_offset(const struct proc *p, uint32_t piece)
{
	const struct demo_load *l = p->job->load;
	uint64_t call = (uint64_t)p->job->phase * l->calls + p->call; /* of this process */

	switch (l->layout) {
	case DEMO_INTERLEAVED:
		return ((call * l->procs + p->index) * l->pieces + piece) * l->piece_bytes;
	case DEMO_SEGMENTED:
		call += (uint64_t)p->index * l->phases * l->calls;
		return (call * l->pieces + piece) * l->piece_bytes;
	default:
		/* Of what, not of when: so each run does the same work. */
		call = dm_mix((call * l->procs + p->index) * l->pieces + piece);
		return call % (RANDOM_RANGE / l->piece_bytes) * l->piece_bytes;
	}
}

static void dm_call(struct sim *sim, struct proc *p)
{
	const struct demo_load *l = p->job->load;
	sl_time gap_ns = (sl_time)(l->piece_bytes * UINT64_C(1000000000) / LINK_BPS);

	p->missing = l->pieces;
	for (uint32_t i = 0; i < l->pieces; i++) {
		struct sl_request *r = &p->request[i];

		*r = (struct sl_request){ .job = p->job->id,
					  .client = p->index,
					  .file = p->job->id,
					  .offset = dm_offset(p, i),
					  .length = l->piece_bytes,
					  .op = l->op,
					  .user = p };
		sl_heap_set(&sim->events, (uint32_t)(r - sim->request),
			    (uint64_t)(sim->now + (i + 1) * gap_ns));
	}
}

static void dm_phase_begins(struct sim *sim, struct job *j)
{
	j->phase_start = sim->now;
	j->running = j->load->procs;
	for (uint32_t i = 0; i < j->load->procs; i++) {
		j->proc[i].call = 0;
		dm_call(sim, &j->proc[i]);
	}
}

static void dm_phase_ends(struct sim *sim, struct job *j)
{
	j->out->io_ns += sim->now - j->phase_start;
	j->out->end_ns = sim->now;
	if (++j->phase == j->load->phases)
		sim->unfinished--;
	else
		sl_heap_set(&sim->events, sim->requests + (uint32_t)(j - sim->job),
			    (uint64_t)(sim->now + j->load->compute_ns));
}

static int dm_record(struct job *j, const struct sl_request *r, sl_time now)
{
	if (j->out->requests == j->latency_room) {
		uint64_t room = j->latency_room ? 2 * j->latency_room : 1024;
		sl_time *latency = realloc(j->latency, room * sizeof(*latency));

		if (!latency)
			return -ENOMEM;
		j->latency = latency;
		j->latency_room = room;
	}
	j->latency[j->out->requests++] = now - r->arrival;
	j->out->bytes += r->length;
	return 0;
}

static int dm_request_done(struct sim *sim, struct sl_request *r)
{
	struct proc *p = r->user;
	struct job *j = p->job;
	int rc = dm_record(j, r, sim->now);

	if (rc || --p->missing)
		return rc;
	if (++p->call < j->load->calls || !j->load->phases)
		dm_call(sim, p);
	else if (--j->running == 0)
		dm_phase_ends(sim, j);
	return 0;
}

/* Everything that happens at or before now, but for the device. */
static int dm_events(struct sim *sim)
{
	const struct sl_heap_entry *top;

	while ((top = sl_heap_top(&sim->events)) && top->key <= (uint64_t)sim->now) {
		uint32_t id = top->id;
		int rc = 0;

		sl_heap_remove(&sim->events, id);
		if (id < sim->requests)
			rc = sl_add(sim->sched, &sim->request[id], sim->now);
		else
			dm_phase_begins(sim, &sim->job[id - sim->requests]);
		if (rc)
			return rc;
	}
	return 0;
}

static int dm_done(struct sim *sim, const struct sl_batch *b)
{
	struct sl_request *r = b->first, *next;
	int rc = sl_done(sim->sched, b, sim->now);

	if (rc)
		return rc;
	for (; r; r = next) {
		next = r->next; /* its process may use it for the next call */
		if ((rc = dm_request_done(sim, r)))
			return rc;
	}
	return 0;
}

static int dm_loop(struct sim *sim)
{
	const struct sl_batch *b = NULL; /* what the device works on */
	int rc;

	for (;;) {
		const struct sl_heap_entry *top;
		sl_time at = SL_NEVER;

		if (b && sim->device.free_at <= sim->now) {
			if ((rc = dm_done(sim, b)))
				return rc;
			b = NULL;
		}
		if (!sim->unfinished)
			return 0;
		if ((rc = dm_events(sim)))
			return rc;
		if (!b && (b = sl_next(sim->sched, sim->now, &at)))
			sl_device_submit(&sim->device, b->op, b->file, b->offset, b->length,
					 sim->now);
		if (b)
			at = sim->device.free_at;
		if ((top = sl_heap_top(&sim->events)) && top->key < (uint64_t)at)
			at = (sl_time)top->key;
		if (at == SL_NEVER)
			return -EDEADLK;
		sim->now = at;
	}
}

/* ---- beginning and end ---- */

static uint32_t dm_slots(const struct demo_load *l)
{
	return l->procs * l->pieces;
}

static int dm_create(struct sim *sim, const struct demo_load *load, struct demo_result *out)
{
	uint32_t procs = 0, slot = 0, proc = 0;

	for (unsigned i = 0; i < sim->jobs; i++) {
		sim->requests += dm_slots(&load[i]);
		procs += load[i].procs;
	}
	assert(procs > 0 && sim->requests > 0);
	sim->request = calloc(sim->requests, sizeof(*sim->request));
	sim->proc = calloc(procs, sizeof(*sim->proc));
	sim->events_memory = calloc(1, sl_heap_size(sim->requests + sim->jobs));
	if (!sim->request || !sim->proc || !sim->events_memory)
		return -ENOMEM;
	sl_heap_init(&sim->events, sim->events_memory, sim->requests + sim->jobs);
	for (unsigned i = 0; i < sim->jobs; i++) {
		struct job *j = &sim->job[i];

		*j = (struct job){
			.load = &load[i], .id = i + 1, .proc = &sim->proc[proc], .out = &out->job[i]
		};
		for (uint32_t k = 0; k < load[i].procs; k++) {
			sim->proc[proc++] = (struct proc){ .job = j,
							   .index = k,
							   .request = &sim->request[slot] };
			slot += load[i].pieces;
		}
		sim->unfinished += load[i].phases > 0;
		sl_heap_set(&sim->events, sim->requests + i, 0);
	}
	return 0;
}

static int dm_by_time(const void *a, const void *b)
{
	sl_time x = *(const sl_time *)a, y = *(const sl_time *)b;

	return (x > y) - (x < y);
}

static void dm_finish(struct sim *sim, struct demo_result *out)
{
	out->total_ns = sim->now;
	out->busy_ns = sim->device.busy_ns;
	out->device_ops = sim->device.ops;
	out->seeks = sim->device.seeks;
	for (unsigned i = 0; i < sim->jobs; i++) {
		struct job *j = &sim->job[i];
		struct sl_job_stats st;
		sl_time sum = 0;

		if (!j->load->phases)
			j->out->io_ns = j->out->end_ns = sim->now;
		for (uint64_t k = 0; k < j->out->requests; k++)
			sum += j->latency[k];
		if (j->out->requests) {
			qsort(j->latency, j->out->requests, sizeof(*j->latency), dm_by_time);
			j->out->mean_ns = sum / (sl_time)j->out->requests;
			j->out->p99_ns = j->latency[(j->out->requests * 99 + 99) / 100 - 1];
		}
		if (!sl_job_stats(sim->sched, j->id, sim->now, &st))
			j->out->batches = st.batches;
	}
}

int demo_simulate(const struct sl_device_model *device, const struct sl_config *config,
		  const struct demo_load *load, const struct sl_job_conf *conf, unsigned jobs,
		  struct demo_result *out, char *err, size_t err_size)
{
	struct sim sim = { .jobs = jobs };
	struct sl_config c = *config;
	int rc;

	memset(out, 0, sizeof(*out));
	sl_device_init(&sim.device, device);
	rc = dm_create(&sim, load, out);
	c.limits = (struct sl_limits){ .jobs = jobs, .files = jobs, .requests = sim.requests };
	if (rc)
		snprintf(err, err_size, "out of memory");
	else
		rc = sl_sched_create(&sim.sched, &c, 0, err, err_size);
	if (!rc) {
		for (unsigned i = 0; i < jobs && !rc; i++)
			rc = sl_job_add(sim.sched, i + 1, &conf[i], 0);
		if (!rc)
			rc = dm_loop(&sim);
		if (!rc)
			dm_finish(&sim, out);
		else
			snprintf(err, err_size, "%s",
				 rc == -EDEADLK	 ? "nothing more happens; this is a bug"
				 : rc == -ENOMEM ? "out of memory"
						 : sl_error(sim.sched));
		sl_sched_destroy(sim.sched);
	}
	free(sim.request);
	free(sim.proc);
	for (unsigned i = 0; i < jobs; i++)
		free(sim.job[i].latency);
	free(sim.events_memory);
	return rc;
}
