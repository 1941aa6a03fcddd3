/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every request is dispatched within the bound that its policies state.
 *
 * order: no request waits longer than max_age_ms + wait_us plus the time to serve what waited in
 * its flow when it came; each of those may have grown to a full batch meanwhile. A request behind
 * others that it overlaps begins to wait when they are done: k in a line take k times as long. The
 * stream is made to starve: one file gets small requests without end, which sjf prefers for ever
 * and which keep growing batches, the others are large and seldom. Example: max_age 20 ms, 32
 * requests ahead, batches of 256 KiB, 1 GB/s: 20 + 33 * 0.26 = 28.7 ms.
 *
 * share: between two batches of a backlogged job the others get at most sum(L_j) under
 * round-robin and sum(w_j L_i / w_i + L_j) under wfq, besides what was in the device's window;
 * in a set of n jobs under io-sets nobody waits longer than n * max_exclusive_ms.
 */
#include <inttypes.h>
#include <string.h>

#include "tests/property/harness.h"

#define JOBS 12
#define C    UINT64_C(1000000000)
/* Writes that wait for each other, and their file. */
#define LINE	  8
#define LINE_FILE 7

struct bound {
	uint64_t batch; /* largest batch there can be */
	sl_time age_ns; /* max_age and wait */
	sl_time last[JOBS];
	uint64_t sent[JOBS], all; /* bytes of all when the job was served last, and by now */
	sl_time gap_ns;
	bool by_time, overlaps;
};

static uint64_t total;

/* ---- order ---- */

static void check_delay(struct hx_world *w, const struct hx_request *q)
{
	const struct bound *v = w->user;
	uint64_t bytes = (q->ahead + w->window + 2) * v->batch;
	sl_time limit = v->age_ns + (sl_time)(bytes * 1000000000 / C);
	sl_time delay = w->now - q->added;

	if (q->file == LINE_FILE)
		limit *= LINE; /* its turn comes when the one before it is done */
	hx_check(delay <= limit,
		 "t=%" PRId64 " step=%" PRIu64 ": request %" PRIu64 " (file %u, %" PRIu64
		 " B) waited %" PRId64 " us with %" PRIu64 " ahead, allowed %" PRId64,
		 w->now, w->steps, q->number, q->file, q->given.length, delay / 1000, q->ahead,
		 limit / 1000);
}

static void order_sent(struct hx_world *w, struct hx_job *j, const struct sl_batch *b)
{
	(void)j;
	for (struct sl_request *r = b->first; r; r = r->next)
		check_delay(w, (const struct hx_request *)r);
}

static void add_one(struct hx_world *w, unsigned job, unsigned file, uint64_t length)
{
	struct hx_file *f = &w->jobs[job].files[file];
	uint64_t at = f->cursor;

	if (hx_chance(&w->rng, 20)) /* far away, and back later */
		at = hx_below(&w->rng, 64) * 64 * HX_MIB + (f->cursor & 0xffff);
	else
		f->cursor += length;
	hx_add(w, job, file, at, length, SL_READ, 0);
}

/*
 * The greedy: always a few small requests on file 0, so that its queue is the smallest and never
 * empty; the device needs 2 us for each. The poor: everybody else.
 */
static void order_tick(struct hx_world *w)
{
	const struct bound *v = w->user;
	struct hx_rng *g = &w->rng;

	for (unsigned i = 0; i < w->njobs; i++) {
		struct hx_job *j = &w->jobs[i];
		unsigned n = 0;

		if (!j->present)
			continue;
		for (const struct hx_request *q = j->files[0].first; q; q = q->fnext)
			n++;
		for (n += w->window; n < 4 + 2 * w->window; n++)
			add_one(w, i, 0, hx_range(g, 2048, 4096));
		if (v->overlaps &&
		    !j->files[7].first) /* a line of writes that wait for each other */
			for (n = 0; n < LINE; n++)
				hx_add(w, i, LINE_FILE, 0, 64 * HX_KIB, SL_WRITE, 0);
		while (j->waiting + j->flying < 24)
			add_one(w, i, (unsigned)hx_range(g, 1, 6),
				hx_log_range(g, 32 * HX_KIB, 128 * HX_KIB));
	}
	w->alarm = w->now + 1000;
}

static void order(uint64_t seed, const char *name, const char *share, unsigned jobs, bool overlaps)
{
	struct hx_rng g = { seed };
	struct sl_config c = { .share = share };
	struct bound v = { .batch = 256 * HX_KIB, .overlaps = overlaps };
	char policy[128] = "to";
	struct hx_world w;

	if (strcmp(name, "to") != 0)
		snprintf(policy, sizeof(policy), "%s,batch_bytes=%u,batch_requests=%u", name,
			 256U << 10, (unsigned)hx_log_range(&g, 1, 64));
	if (!strcmp(name, "sjf") || !strcmp(name, "mlf") || !strcmp(name, "aioli"))
		snprintf(policy + strlen(policy), sizeof(policy) - strlen(policy), ",max_age_ms=%u",
			 (unsigned)hx_log_range(&g, 0, 50));
	if (!strcmp(name, "mlf") || !strcmp(name, "aioli"))
		snprintf(policy + strlen(policy), sizeof(policy) - strlen(policy),
			 ",wait_us=%u,quantum_bytes=%u", (unsigned)hx_log_range(&g, 0, 2000),
			 (unsigned)hx_log_range(&g, 1, 1 << 20));
	c.order = policy;
	hx_open(&w, seed, JOBS, &c);
	v.age_ns = hx_param("order", policy, "max_age_ms", 0) * HX_MS +
		   hx_param("order", policy, "wait_us", 0) * 1000;
	/* to and to-agg keep to the order of arrival; merging alone has no age. */
	w.user = &v;
	w.device_bps = C;
	w.window = (unsigned)hx_range(&g, 1, 4);
	w.on_send = order_sent;
	w.tick = order_tick;
	w.alarm = w.now;
	for (unsigned i = 0; i < jobs; i++)
		hx_check(!hx_job_add(&w, i, &(struct sl_job_conf){ 0 }), "job refused");
	hx_run(&w, w.now + (sl_time)hx_scaled(200) * HX_MS);
	for (unsigned i = 0; i < jobs; i++)
		for (const struct hx_request *q = w.jobs[i].first; q; q = q->next)
			check_delay(&w, q);
	hx_check(!hx_failed(), "scenario seed=%" PRIu64 " %s %s", seed, policy, share);
	w.on_send = NULL;
	w.tick = NULL;
	w.alarm = SL_NEVER;
	if (!hx_failed())
		hx_drain(&w);
	total += w.requests;
	hx_close(&w);
}

/* ---- share ---- */

static void share_sent(struct hx_world *w, struct hx_job *j, const struct sl_batch *b)
{
	struct bound *v = w->user;
	unsigned i = (unsigned)(j - w->jobs);

	v->all += b->length;
	if (v->by_time) {
		hx_check(w->now - v->last[i] <= v->gap_ns,
			 "t=%" PRId64 ": job %u waited %" PRId64 " ms, allowed %" PRId64, w->now, i,
			 (w->now - v->last[i]) / HX_MS, v->gap_ns / HX_MS);
	} else {
		uint64_t others = v->all - v->sent[i] - b->length, most = 0;

		for (unsigned k = 0; k < w->njobs; k++) {
			const struct hx_job *o = &w->jobs[k];

			if (k == i || !o->present)
				continue;
			most += o->size_hi;
			if (!hx_is(w->share, "round-robin"))
				most += (j->size_hi * o->conf.weight + j->conf.weight - 1) /
					j->conf.weight;
		}
		hx_check(others <= most,
			 "t=%" PRId64 ": %" PRIu64 " B went before job %u, allowed %" PRIu64,
			 w->now, others, i, most);
	}
	v->last[i] = w->now;
	v->sent[i] = v->all;
}

static void share(uint64_t seed, const char *policy, uint64_t max_exclusive_ms)
{
	struct hx_rng g = { seed };
	struct sl_config c = { .share = policy, .order = "to" };
	struct bound v = { .by_time = max_exclusive_ms != 0 };
	unsigned n = (unsigned)hx_range(&g, 2, JOBS);
	struct hx_world w;

	hx_open(&w, seed, JOBS, &c);
	w.user = &v;
	w.device_bps = C;
	w.window = 4;
	w.on_send = share_sent;
	/* and the batch at hand when its time is over */
	v.gap_ns = (sl_time)(n * max_exclusive_ms) * HX_MS + 10 * HX_MS;
	for (unsigned i = 0; i < n; i++) {
		struct sl_job_conf conf = { .weight = (uint32_t)hx_log_range(&g, 1, 1000),
					    .period_ns = HX_SEC };
		struct hx_job *j = &w.jobs[i];

		hx_check(!hx_job_add(&w, i, &conf), "job refused: %s", sl_error(w.s));
		j->size_lo = 4096;
		j->size_hi = hx_log_range(&g, 4096, HX_MIB);
		j->depth = 32;
		hx_fill(&w, i);
		v.last[i] = w.now;
	}
	hx_run(&w, w.now + 3 * v.gap_ns + HX_SEC);
	for (unsigned i = 0; i < n; i++)
		hx_check(w.jobs[i].sent_batches, "job %u was never served", i);
	hx_check(!hx_failed(), "scenario seed=%" PRIu64 " %s", seed, policy);
	w.on_send = NULL;
	if (!hx_failed())
		hx_drain(&w);
	total += w.requests;
	hx_close(&w);
}

int main(void)
{
	static const char *const orders[] = { "to", "to-agg", "sjf", "mlf", "aioli" };
	struct hx_rng g = { hx_seed() };
	char policy[128];

	for (unsigned i = 0; i < 5; i++) {
		hx_case("no request waits longer than its age and what was ahead under order=%s",
			orders[i]);
		for (uint64_t n = hx_scaled(12); n && !hx_failed(); n--)
			order(hx_rand(&g), orders[i], "wfq", 1, false);
		hx_end();
		hx_case("no request waits longer than that behind overlapping ones under order=%s",
			orders[i]);
		for (uint64_t n = hx_scaled(12); n && !hx_failed(); n--)
			order(hx_rand(&g), orders[i], "wfq", 1, true);
		hx_end();
		hx_case("no request waits longer than that in a pool under order=%s", orders[i]);
		for (uint64_t n = hx_scaled(6); n && !hx_failed(); n--)
			order(hx_rand(&g), orders[i], "pool", 4, false);
		hx_end();
	}
	hx_case("no backlogged job is passed over under round-robin");
	for (uint64_t n = hx_scaled(6); n && !hx_failed(); n--)
		share(hx_rand(&g), "round-robin", 0);
	hx_end();
	hx_case("no backlogged job is passed over for more than its weight says under wfq");
	for (uint64_t n = hx_scaled(6); n && !hx_failed(); n--)
		share(hx_rand(&g), "wfq", 0);
	hx_end();
	hx_case("nobody waits longer in a set of n than n times the longest exclusive time");
	for (uint64_t n = hx_scaled(6); n && !hx_failed(); n--) {
		uint64_t ms = hx_log_range(&g, 1, 200);

		snprintf(policy, sizeof(policy), "io-sets,exclusive=%s,max_exclusive_ms=%u",
			 hx_chance(&g, 50) ? "by-id" : "by-phase", (unsigned)ms);
		share(hx_rand(&g), policy, ms);
	}
	hx_end();
	printf("# %" PRIu64 " requests\n", total);
	return hx_finish();
}
