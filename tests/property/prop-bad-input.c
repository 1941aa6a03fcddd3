/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is wrong is refused with a clear errno and a message, and changes nothing.
 *
 * A scheduler in the middle of its work, with requests waiting and in flight, is asked for one
 * impossible thing after the other. After each the counters, the settings of all jobs and the
 * rest of the world must be exactly what they were; between them work goes on, and at the end
 * everything comes out. Each refusal is made in many random states.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/harness.h"

#define JOBS 4

struct picture {
	struct sl_sched_stats all;
	struct sl_job_stats job[JOBS];
	struct sl_job_conf conf[JOBS];
};

static uint64_t refusals;

static void take_picture(const struct hx_world *w, struct picture *p)
{
	memset(p, 0, sizeof(*p));
	sl_sched_stats(w->s, &p->all);
	for (unsigned i = 0; i < JOBS; i++) {
		hx_check(!sl_job_stats(w->s, w->jobs[i].id, w->now, &p->job[i]), "no stats");
		hx_check(!sl_job_get(w->s, w->jobs[i].id, &p->conf[i]), "no conf");
	}
}

/* ret is what the call between the two pictures gave; one of the errors must have been it. */
static void refused(struct hx_world *w, const struct picture *before, int ret, int error, int other,
		    const char *what)
{
	struct picture after;

	refusals++;
	hx_check(ret == error || ret == other, "%s: gives %d, not %d", what, ret, error);
	hx_check(ret >= 0 || sl_error(w->s)[0], "%s: no message", what);
	take_picture(w, &after);
	hx_check(!memcmp(before, &after, sizeof(after)), "%s: it changed something", what);
}

#define REFUSE(call, error, other)                               \
	do {                                                     \
		struct picture before_;                          \
		int ret_;                                        \
		take_picture(w, &before_);                       \
		ret_ = (call);                                   \
		refused(w, &before_, ret_, error, other, #call); \
	} while (0)

static void bad_policies(struct hx_world *w)
{
	static const struct {
		const char *stage, *policy;
		int error;
	} bad[] = {
		{ "admit", "nonsense", -ENOENT },
		{ "share", "token-bucket", -ENOENT }, /* of another stage */
		{ "order", "to-ag", -ENOENT },
		{ "order", "to-aggr", -ENOENT },
		{ "order", "", -ENOENT },
		{ "order", "TO", -ENOENT },
		{ "allocation", "to", -ENOENT },
		{ "grant", "none", -ENOENT }, /* decided for the machine, not in a scheduler */
		{ "", "to", -ENOENT },
		{ "order", "aioli,nonsense=1", -ENOENT },
		{ "order", "to,batch_bytes=4096", -ENOENT }, /* not one of its parameters */
		{ "admit", "open,burst_us=1", -ENOENT },
		{ "order", "aioli,wait_us", -EINVAL },
		{ "order", "aioli,wait_us=", -EINVAL },
		{ "order", "aioli,wait_us=x", -EINVAL },
		{ "order", "aioli,wait_us=1x", -EINVAL },
		{ "order", "aioli,wait_us=1,wait_us=2", -EINVAL },
		{ "order", "aioli,,wait_us=1", -EINVAL },
		{ "order", "aioli,", -EINVAL },
		{ "order", "aioli,wait_us=-1", -ERANGE },
		{ "order", "aioli,wait_us=1000001", -ERANGE },
		{ "order", "aioli,wait_us=99999999999999999999999", -ERANGE },
		{ "order", "aioli,batch_bytes=0", -ERANGE },
		{ "order", "aioli,batch_bytes=1Ti", -ERANGE },
		{ "order", "aioli,batch_requests=0", -ERANGE },
		{ "share", "io-sets,exclusive=by-nobody", -EINVAL },
		{ "share", "io-sets,exclusive=by-i", -EINVAL },
		{ "share", "wfq,anticipate_us=1Ei", -EINVAL },
	};
	struct sl_policy_info info;
	char policy[128];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct picture before;
		int ret;

		take_picture(w, &before);
		ret = sl_policy_set(w->s, bad[i].stage, bad[i].policy, w->now);
		/* malformed and out of range, unknown and malformed may be told apart otherwise */
		refused(w, &before, ret, bad[i].error, bad[i].error == -ENOENT ? -EINVAL : -ERANGE,
			bad[i].policy);
		if (strcmp(bad[i].stage, "order") != 0)
			continue;
		ret = sl_job_order(w->s, w->jobs[0].id, bad[i].policy, w->now);
		refused(w, &before, ret, bad[i].error, bad[i].error == -ENOENT ? -EINVAL : -ERANGE,
			bad[i].policy);
	}
	/* One beyond each limit of each parameter of each policy. */
	for (unsigned i = 0; !sl_policy_info(i, &info); i++)
		for (const struct sl_param *p = info.params; p && p->name; p++) {
			if (p->unit == SL_CHOICE || p->unit == SL_FILE ||
			    !strcmp(info.stage, "grant"))
				continue;
			snprintf(policy, sizeof(policy), "%s,%s=%" PRId64, info.name, p->name,
				 p->max + 1);
			REFUSE(sl_policy_set(w->s, info.stage, policy, w->now), -ERANGE, -ERANGE);
			snprintf(policy, sizeof(policy), "%s,%s=%" PRId64, info.name, p->name,
				 p->min - 1);
			REFUSE(sl_policy_set(w->s, info.stage, policy, w->now), -ERANGE, -EINVAL);
		}
	hx_check(sl_policy_info(1000000, &info) == -ENOENT, "there are a million policies");
	{
		const char *name;

		hx_check(sl_policy_default("nonsense", &name) == -ENOENT, "default of no stage");
	}
}

static int add_request(struct hx_world *w, uint64_t job, uint64_t offset, uint64_t length,
		       uint32_t op)
{
	static struct sl_request r;

	memset(&r, 0, sizeof(r));
	r.job = job;
	r.offset = offset;
	r.length = length;
	r.op = op;
	return sl_add(w->s, &r, w->now);
}

static void bad_requests(struct hx_world *w)
{
	uint64_t id = w->jobs[0].id;
	struct hx_request *q;
	struct sl_request never = { .job = id, .length = 1 };
	/* Not zeroed, not ours: memory that looks like nothing in particular. */
	_Alignas(64) unsigned char garbage[256];

	REFUSE(add_request(w, id, 0, 0, SL_READ), -EINVAL, -ERANGE);
	REFUSE(add_request(w, id, 0, SL_MAX_LENGTH + 1, SL_READ), -EINVAL, -ERANGE);
	REFUSE(add_request(w, id, 0, UINT64_MAX, SL_READ), -EINVAL, -ERANGE);
	REFUSE(add_request(w, id, UINT64_MAX, 1, SL_READ), -EOVERFLOW, -EINVAL);
	REFUSE(add_request(w, id, UINT64_MAX - 4095, 4097, SL_WRITE), -EOVERFLOW, -EINVAL);
	REFUSE(add_request(w, id, 0, 1, 2), -EINVAL, -ERANGE);
	REFUSE(add_request(w, id, 0, 1, UINT32_MAX), -EINVAL, -ERANGE);
	REFUSE(add_request(w, 4711, 0, 1, SL_READ), -ENOENT, -ENOENT);
	REFUSE(sl_cancel(w->s, &never, w->now), -ENOENT, -EINVAL);
	for (unsigned i = 0; i < w->limits.requests; i++) {
		q = &w->pool[i];
		if (q->state == HX_WAITING)
			REFUSE(sl_add(w->s, &q->r, w->now), -EALREADY, -EBUSY);
		if (q->state == HX_FLYING) {
			REFUSE(sl_add(w->s, &q->r, w->now), -EALREADY, -EBUSY);
			REFUSE(sl_cancel(w->s, &q->r, w->now), -EBUSY, -EBUSY);
		}
	}
	/* Batches that are none. */
	memset(garbage, 0xff, sizeof(garbage));
	REFUSE(sl_done(w->s, (const struct sl_batch *)(void *)garbage, w->now), -EINVAL, -ENOENT);
	memset(garbage, 0, sizeof(garbage));
	REFUSE(sl_done(w->s, (const struct sl_batch *)(void *)garbage, w->now), -EINVAL, -ENOENT);
	REFUSE(sl_done(w->s, NULL, w->now), -EINVAL, -ENOENT);
	if (w->nflights) {
		const struct sl_batch copy = *w->flights[0].b;

		REFUSE(sl_done(w->s, &copy, w->now), -EINVAL, -ENOENT);
		REFUSE(sl_done(w->s, (const struct sl_batch *)((uintptr_t)w->flights[0].b + 8),
			       w->now),
		       -EINVAL, -ENOENT);
	}
}

static void bad_jobs(struct hx_world *w)
{
	uint64_t id = w->jobs[0].id;
	struct sl_job_conf good = { .weight = 1 }, c;
	struct sl_job_stats st;

	REFUSE(sl_job_add(w->s, id, &good, w->now), -EEXIST, -EEXIST);
	REFUSE(sl_job_add(w->s, 4711, &good, w->now), -ENOSPC, -ENOSPC); /* all places are taken */
	REFUSE(sl_job_set(w->s, 4711, &good, w->now), -ENOENT, -ENOENT);
	REFUSE(sl_job_get(w->s, 4711, &c), -ENOENT, -ENOENT);
	REFUSE(sl_job_stats(w->s, 4711, w->now, &st), -ENOENT, -ENOENT);
	REFUSE(sl_job_remove(w->s, 4711, w->now), -ENOENT, -ENOENT);
	REFUSE(sl_job_order(w->s, 4711, "to", w->now), -ENOENT, -ENOENT);
	REFUSE(sl_job_grant(w->s, 4711, 1, w->now + 1, w->now), -ENOENT, -ENOENT);
	REFUSE(sl_job_grant(w->s, id, SL_MAX_RATE + 1, w->now + 1, w->now), -ERANGE, -EINVAL);
	REFUSE(sl_capacity_set(w->s, SL_MAX_RATE + 1, w->now), -ERANGE, -EINVAL);
	REFUSE(sl_capacity_set(w->s, UINT64_MAX, w->now), -ERANGE, -EINVAL);
#define BAD(field, value, error)                                        \
	do {                                                            \
		c = good;                                               \
		c.field = (value);                                      \
		REFUSE(sl_job_set(w->s, id, &c, w->now), error, error); \
	} while (0)
	BAD(weight, SL_MAX_WEIGHT + 1, -ERANGE);
	BAD(weight, UINT32_MAX, -ERANGE);
	BAD(max_bps, SL_MAX_RATE + 1, -ERANGE);
	BAD(max_bps, UINT64_MAX, -ERANGE);
	BAD(min_bps, UINT64_MAX, -ERANGE);
	BAD(burst_bytes, UINT64_MAX, -ERANGE);
	BAD(best_effort, 2, -ERANGE);
	BAD(period_ns, -1, -ERANGE);
	BAD(period_ns, INT64_MIN, -ERANGE);
	BAD(min_bps, w->capacity_bps + 1, -EDQUOT);
#undef BAD
	c = good;
	c.min_bps = 2000;
	c.max_bps = 1000;
	REFUSE(sl_job_set(w->s, id, &c, w->now), -EINVAL, -EINVAL);
	if (w->jobs[0].waiting || w->jobs[0].flying)
		REFUSE(sl_job_remove(w->s, id, w->now), -EBUSY, -EBUSY);
}

static void bad_creation(void)
{
	static const struct {
		struct sl_config config;
		sl_time now;
	} bad[] = {
		{ { .limits = { 0, 1, 1 } }, 0 },
		{ { .limits = { 1, 0, 1 } }, 0 },
		{ { .limits = { 1, 1, 0 } }, 0 },
		{ { .limits = { (1U << 20) + 1, 1, 1 } }, 0 },
		{ { .limits = { 1, (1U << 24) + 1, 1 } }, 0 },
		{ { .limits = { 1, 1, (1U << 26) + 1 } }, 0 },
		{ { .limits = { UINT32_MAX, UINT32_MAX, UINT32_MAX } }, 0 },
		{ { .admit = "nonsense" }, 0 },
		{ { .share = "wfq,weight=1" }, 0 },
		{ { .order = "aioli,wait_us=forever" }, 0 },
		{ { .capacity_bps = UINT64_MAX }, 0 },
		{ { .capacity_bps = 0 }, -1 },
	};
	char err[128], small[4];
	struct sl_sched *s;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int ret;

		s = (struct sl_sched *)(uintptr_t)1;
		err[0] = 0;
		ret = sl_sched_create(&s, &bad[i].config, bad[i].now, err, sizeof(err));
		hx_check(ret < 0 && !s, "configuration %u is accepted: %d", i, ret);
		hx_check(err[0], "configuration %u: no message", i);
		s = (struct sl_sched *)(uintptr_t)1;
		ret = sl_sched_create(&s, &bad[i].config, bad[i].now, NULL, 0);
		hx_check(ret < 0 && !s, "configuration %u is accepted without err: %d", i, ret);
		memset(small, 'x', sizeof(small));
		ret = sl_sched_create(&s, &bad[i].config, bad[i].now, small, 2);
		hx_check(ret < 0 && small[1] == 0 && small[2] == 'x',
			 "configuration %u: err overrun", i);
		refusals += 3;
	}
	sl_sched_destroy(NULL);
}

/* Now smaller than before: nothing crashes, nothing is lost, time stands still. */
static void backwards(struct hx_world *w)
{
	struct sl_request r = { .job = w->jobs[0].id, .file = 99, .length = 1 };
	struct picture before, after;

	take_picture(w, &before);
	hx_check(!sl_add(w->s, &r, w->now - HX_SEC), "request from the past: %s", sl_error(w->s));
	hx_check(r.arrival >= 0 && r.arrival <= w->now, "arrival is %" PRId64, r.arrival);
	hx_check(!sl_cancel(w->s, &r, 0), "cancel in the past: %s", sl_error(w->s));
	hx_check(!sl_job_set(w->s, w->jobs[1].id, &w->jobs[1].conf, 1), "set in the past: %s",
		 sl_error(w->s));
	hx_check(!sl_capacity_set(w->s, w->capacity_bps, 0), "capacity in the past: %s",
		 sl_error(w->s));
	take_picture(w, &after);
	hx_check(!memcmp(&before, &after, sizeof(after)), "the past changed something");
	w->now -= HX_MS;
	hx_next(w);
	w->now += HX_MS;
	if (w->nflights)
		hx_done(w, 0);
}

static void work(struct hx_world *w, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		unsigned job = (unsigned)hx_below(&w->rng, JOBS);

		switch (hx_below(&w->rng, 4)) {
		case 0:
			if (w->outstanding < w->limits.requests - 4)
				hx_add_next(w, job);
			break;
		case 1:
			hx_next(w);
			break;
		case 2:
			if (w->nflights)
				hx_done(w, (unsigned)hx_below(&w->rng, w->nflights));
			break;
		default:
			w->now += (sl_time)hx_log_range(&w->rng, 1, 10000000);
		}
	}
}

/* A batch reported done twice, when its memory is free and when it serves again. */
static void twice(struct hx_world *w)
{
	const struct sl_batch *b;

	if (!w->nflights)
		return;
	b = w->flights[0].b;
	hx_done(w, 0);
	for (unsigned i = 0; i < w->nflights; i++)
		if (w->flights[i].b == b)
			return;
	REFUSE(sl_done(w->s, b, w->now), -EINVAL, -ENOENT);
}

static void scenario(uint64_t seed)
{
	struct hx_rng g = { seed };
	char admit[128], share[128], order[128];
	struct sl_config config = { .limits = { JOBS, 64, 48 },
				    .admit = admit,
				    .share = share,
				    .order = order,
				    .capacity_bps = 1000000000 };
	struct hx_world world, *w = &world;

	hx_random_policy(&g, "admit", admit, sizeof(admit));
	hx_random_policy(&g, "share", share, sizeof(share));
	hx_random_policy(&g, "order", order, sizeof(order));
	hx_open(w, hx_rand(&g), JOBS, &config);
	for (unsigned i = 0; i < JOBS; i++) {
		struct sl_job_conf c = { .weight = i + 1,
					 .max_bps = i == 1 ? 1000000 : 0,
					 .min_bps = i == 2 ? 1000000 : 0,
					 .period_ns = (sl_time)i * HX_SEC };

		hx_check(!hx_job_add(w, i, &c), "job: %s", sl_error(w->s));
		w->jobs[i].nfiles = 4;
		w->jobs[i].size_lo = 1;
		w->jobs[i].random_percent = w->jobs[i].write_percent = 50;
	}
	for (unsigned i = 0; i < 4 && !hx_failed(); i++) {
		work(w, 100);
		bad_policies(w);
		work(w, 20);
		bad_requests(w);
		work(w, 20);
		bad_jobs(w);
		work(w, 20);
		twice(w);
	}
	if (!hx_failed())
		hx_drain(w);
	hx_check(!hx_failed(), "scenario seed=%" PRIu64 " %s/%s/%s", seed, admit, share, order);
	hx_close(w);
}

static void scenario_backwards(uint64_t seed)
{
	struct sl_config config = { .limits = { JOBS, 64, 48 },
				    .order = "to-agg",
				    .capacity_bps = 1000000000 };
	struct hx_world world, *w = &world;

	hx_open(w, seed, JOBS, &config);
	for (unsigned i = 0; i < JOBS; i++) {
		struct sl_job_conf c = { .max_bps = i == 1 ? 100000000 : 0,
					 .min_bps = i == 2 ? 1000000 : 0 };

		hx_check(!hx_job_add(w, i, &c), "job: %s", sl_error(w->s));
	}
	for (unsigned i = 0; i < 20 && !hx_failed(); i++) {
		work(w, 50);
		backwards(w);
	}
	if (!hx_failed())
		hx_drain(w);
	/* And with a clock that jumps both ways under full load. */
	for (unsigned i = 0; i < 2000 && !hx_failed(); i++) {
		struct sl_request r = { .job = w->jobs[0].id, .file = 7, .offset = i, .length = 1 };
		sl_time t = (sl_time)hx_below(&w->rng, (uint64_t)w->now * 2), wake;
		const struct sl_batch *b;

		hx_check(!sl_add(w->s, &r, t), "add: %s", sl_error(w->s));
		b = sl_next(w->s, (sl_time)hx_below(&w->rng, (uint64_t)w->now * 2), &wake);
		hx_check(b && b->count == 1 && b->first == &r,
			 "a request under a jumping clock is gone");
		hx_check(b && !sl_done(w->s, b, (sl_time)hx_below(&w->rng, (uint64_t)w->now)),
			 "done: %s", sl_error(w->s));
	}
	hx_close(w);
}

int main(void)
{
	struct hx_rng g = { hx_seed() };

	hx_case("what is wrong is refused, says why and changes nothing");
	for (uint64_t n = hx_scaled(40); n && !hx_failed(); n--)
		scenario(hx_rand(&g));
	hx_end();
	hx_case("a scheduler that cannot be is not created");
	bad_creation();
	hx_end();
	hx_case("time that runs backwards stands still");
	for (uint64_t n = hx_scaled(10); n && !hx_failed(); n--)
		scenario_backwards(hx_rand(&g));
	hx_end();
	printf("# %" PRIu64 " refusals\n", refusals);
	return hx_finish();
}
