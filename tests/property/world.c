/* SPDX-License-Identifier: Apache-2.0 */
/* Property tests: running the model against a device, draining it, and comparing the counters. */
#include <inttypes.h>

#include "tests/property/harness.h"

void hx_check_stats(struct hx_world *w, unsigned job)
{
	const struct hx_job *j = &w->jobs[job];
	struct sl_job_stats st;
	uint64_t latencies = 0, sent;
	unsigned last = 0;
	int ret = sl_job_stats(w->s, j->id, w->now, &st);

	if (!j->present) {
		hx_check(ret < 0, "step=%" PRIu64 ": stats of a job that is gone", w->steps);
		return;
	}
	if (ret) {
		hx_fail("step=%" PRIu64 ": sl_job_stats gives %d", w->steps, ret);
		return;
	}
	for (unsigned i = 0; i < SL_LATENCY_BUCKETS; i++) {
		latencies += st.latency[i];
		if (st.latency[i])
			last = i;
	}
#define SAME(field, mine)                                                                      \
	hx_check(st.field == (mine),                                                           \
		 "step=%" PRIu64 " job=%u: " #field " is %" PRIu64 ", not %" PRIu64, w->steps, \
		 job, st.field, mine)
	SAME(queued_requests, j->waiting);
	SAME(queued_bytes, j->waiting_bytes);
	SAME(inflight_requests, j->flying);
	SAME(inflight_bytes, j->flying_bytes);
	SAME(served_requests[0], j->served[0]);
	SAME(served_requests[1], j->served[1]);
	SAME(served_bytes[0], j->served_bytes[0]);
	SAME(served_bytes[1], j->served_bytes[1]);
	if (!w->ever_pool)
		SAME(batches, j->batches);
#undef SAME
	hx_check(latencies == j->served[0] + j->served[1],
		 "step=%" PRIu64 " job=%u: %" PRIu64 " latencies of %" PRIu64 " requests", w->steps,
		 job, latencies, j->served[0] + j->served[1]);
	hx_check(!latencies || (j->slowest <= sl_latency_bound_ns(last) &&
				(!last || j->slowest >= sl_latency_bound_ns(last - 1))),
		 "step=%" PRIu64 " job=%u: latency of %" PRId64 " ns is in bucket %u", w->steps,
		 job, j->slowest, last);
	hx_check(sl_latency_percentile_ns(&st, 1000000) ==
			 (latencies ? sl_latency_bound_ns(last) : 0),
		 "step=%" PRIu64 " job=%u: percentile", w->steps, job);
	sent = st.inflight_bytes + st.served_bytes[0] + st.served_bytes[1];
	hx_check(st.borrowed_bytes + st.floor_bytes <= sent,
		 "step=%" PRIu64 " job=%u: borrowed %" PRIu64 " and by floor %" PRIu64
		 " of %" PRIu64,
		 w->steps, job, st.borrowed_bytes, st.floor_bytes, sent);
	hx_check(st.throttled_ns >= 0, "step=%" PRIu64 " job=%u: throttled for %" PRId64 " ns",
		 w->steps, job, st.throttled_ns);
}

void hx_check_totals(struct hx_world *w)
{
	struct sl_sched_stats st;

	sl_sched_stats(w->s, &st);
#define SAME(field, mine)                                                                         \
	hx_check(st.field == (mine), "step=%" PRIu64 ": " #field " is %" PRIu64 ", not %" PRIu64, \
		 w->steps, st.field, (uint64_t)(mine))
	SAME(jobs, w->jobs_present);
	SAME(requests, w->outstanding);
	SAME(inflight_batches, w->nflights);
	SAME(inflight_bytes, w->flying_bytes);
	SAME(decisions, w->decisions);
	SAME(capacity_bps, w->capacity_bps);
	if (!w->ever_pool)
		SAME(files, w->files);
#undef SAME
	hx_check(w->ever_pool ? st.files <= w->files : true, "step=%" PRIu64 ": %" PRIu64 " files",
		 w->steps, st.files);
}

void hx_fill(struct hx_world *w, unsigned job)
{
	struct hx_job *j = &w->jobs[job];

	while (j->present && j->waiting + j->flying < j->depth)
		if (hx_add_next(w, job))
			return;
}

/* Completes one batch and lets the clients that waited for it go on. */
static void complete(struct hx_world *w)
{
	unsigned flight = w->shuffled ? (unsigned)hx_below(&w->rng, w->nflights) : 0;
	struct hx_flight *fl = &w->flights[flight];
	unsigned job, jobs[64], n = 0;

	for (struct sl_request *r = fl->copy.first; r; r = r->next) {
		job = ((struct hx_request *)r)->job;
		if (n < 64 && (n == 0 || jobs[n - 1] != job))
			jobs[n++] = job;
	}
	hx_done(w, flight);
	while (n--)
		hx_fill(w, jobs[n]);
}

void hx_run(struct hx_world *w, sl_time until)
{
	uint64_t idle = 0;
	sl_time t;

	while (idle < 10000000 && !hx_failed()) {
		w->wake = SL_NEVER;
		while (w->nflights < w->window && hx_next(w)) {
			idle++;
			if (!w->device_bps)
				complete(w);
			if (idle > 10000000)
				break;
		}
		t = until;
		if (w->nflights && w->finish[0] < t)
			t = w->finish[0];
		if (w->nflights < w->window && w->wake < t - w->late_ns)
			t = w->wake + (sl_time)hx_below(&w->rng, (uint64_t)w->late_ns + 1);
		if (w->alarm < t)
			t = w->alarm;
		if (t > w->now) {
			w->now = t;
			idle = 0;
		}
		if (w->now >= until)
			return;
		while (w->nflights && w->finish[0] <= w->now)
			complete(w);
		if (w->tick && w->alarm <= w->now)
			w->tick(w);
	}
	hx_check(hx_failed(), "t=%" PRId64 ": the time stands still", w->now);
}

void hx_drain(struct hx_world *w)
{
	struct sl_job_conf none = { 0 };
	uint64_t idle = 0;

	for (unsigned i = 0; i < w->njobs; i++) {
		w->jobs[i].depth = 0;
		if (!w->jobs[i].present)
			continue;
		hx_check(!hx_job_set(w, i, &none), "job %u: limits not lifted: %s", i,
			 sl_error(w->s));
		hx_check(!hx_grant(w, i, SL_GRANT_NONE, w->now), "job %u: grant not lifted: %s", i,
			 sl_error(w->s));
	}
	while (w->outstanding && idle < 100000 && !hx_failed()) {
		if (w->nflights < 64 && hx_next(w)) {
			idle = 0;
			continue;
		}
		if (w->nflights) {
			while (w->nflights)
				hx_done(w, (unsigned)hx_below(&w->rng, w->nflights));
			idle = 0;
			continue;
		}
		if (w->wake == SL_NEVER)
			break;
		w->now = w->wake;
		idle++;
	}
	hx_check(!w->outstanding,
		 "step=%" PRIu64 ": %" PRIu64 " requests never came out (%s/%s/%s)", w->steps,
		 w->outstanding, w->admit, w->share, w->order);
	for (unsigned i = 0; i < w->njobs; i++)
		hx_check_stats(w, i);
	hx_check_totals(w);
}
