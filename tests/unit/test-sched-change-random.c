/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched/change: requests, jobs and changes of everything at random, against a model.
 * SL_SEED=number repeats a failure.
 */
#include "tests/unit/sched-rig.h"

enum { OUT, WAITS, FLIES };

struct model {
	struct box *b;
	int state[BOX_REQUESTS];
	uint64_t number[BOX_REQUESTS], count;
	const struct sl_batch *flying[BOX_REQUESTS];
	unsigned flights, inside;
	bool present[5];
	uint64_t x;
};

static uint64_t dice(struct model *m, uint64_t n)
{
	m->x ^= m->x << 13;
	m->x ^= m->x >> 7;
	m->x ^= m->x << 17;
	return m->x % n;
}

static bool conflict(const struct sl_request *a, const struct sl_request *c)
{
	return a->job == c->job && a->file == c->file && (a->op | c->op) == SL_WRITE &&
	       a->offset < c->offset + c->length && c->offset < a->offset + a->length;
}

static void model_taken(struct model *m, const struct sl_batch *t)
{
	uint64_t at = t->offset;
	uint32_t count = 0;

	for (struct sl_request *r = t->first; r; r = r->next, count++) {
		unsigned k = (unsigned)(r - m->b->r);

		assert_int_equal(m->state[k], WAITS);
		assert_true(r->offset == at && r->file == t->file && r->op == t->op);
		at += r->length;
		for (unsigned i = 0; i < BOX_REQUESTS; i++)
			if (m->state[i] == FLIES ||
			    (m->state[i] == WAITS && m->number[i] < m->number[k]))
				assert_false(conflict(&m->b->r[i], r));
	}
	assert_true(at == t->offset + t->length && count == t->count);
	for (struct sl_request *r = t->first; r; r = r->next)
		m->state[r - m->b->r] = FLIES;
	m->flying[m->flights++] = t;
}

static void model_done(struct model *m)
{
	unsigned i = (unsigned)dice(m, m->flights);
	const struct sl_batch *t = m->flying[i];

	m->flying[i] = m->flying[--m->flights];
	for (struct sl_request *r = t->first; r; r = r->next, m->inside--)
		m->state[r - m->b->r] = OUT;
	done(m->b, t);
}

static void model_add(struct model *m)
{
	unsigned i = 0;
	struct sl_request *r;
	int rc;

	while (i < BOX_REQUESTS && m->state[i] != OUT)
		i++;
	if (i == BOX_REQUESTS)
		return;
	m->b->used = i;
	r = make(m->b, 1 + dice(m, 4), dice(m, 3) == 0, A + dice(m, 3), dice(m, 40),
		 1 + dice(m, 8));
	rc = sl_add(m->b->s, r, m->b->now);
	if (!m->present[r->job]) {
		assert_int_equal(rc, -ENOENT);
	} else if (rc) {
		assert_int_equal(rc, -ENOSPC);
	} else {
		m->state[i] = WAITS;
		m->number[i] = ++m->count;
		m->inside++;
	}
}

static void model_job(struct model *m)
{
	uint64_t id = 1 + dice(m, 4);
	struct sl_job_conf c = { .min_bps = dice(m, 3) ? 0 : 1000,
				 .max_bps = dice(m, 3) ? 0 : 1000 + dice(m, 3) * 100000,
				 .weight = (uint32_t)(1 + dice(m, 5)),
				 .best_effort = (uint32_t)dice(m, 2),
				 .period_ns = (sl_time)dice(m, 3) * SEC };
	int rc;

	if (!m->present[id]) {
		rc = sl_job_add(m->b->s, id, &c, m->b->now);
		m->present[id] = !rc;
		if (rc != -EDQUOT) /* a firm min may not fit what the capacity is just now */
			ok(m->b, rc);
	} else if (dice(m, 4) == 0) {
		bool has = false;

		for (unsigned i = 0; i < BOX_REQUESTS; i++)
			has |= m->state[i] != OUT && m->b->r[i].job == id;
		assert_int_equal(sl_job_remove(m->b->s, id, m->b->now), has ? -EBUSY : 0);
		m->present[id] = has;
	} else if (dice(m, 3) == 0) {
		ok(m->b, sl_job_grant(m->b->s, id, dice(m, 2) * 1000000,
				      m->b->now + (sl_time)dice(m, 5) * MS, m->b->now));
	} else if (dice(m, 3) == 0) {
		uint64_t which = dice(m, 6);

		ok(m->b,
		   sl_job_order(m->b->s, id, which < 5 ? box_orders[which] : NULL, m->b->now));
	} else {
		rc = sl_job_set(m->b->s, id, &c, m->b->now);
		if (rc != -EDQUOT)
			ok(m->b, rc);
	}
}

static void model_next(struct model *m)
{
	sl_time wake = 0;
	const struct sl_batch *t = sl_next(m->b->s, m->b->now, &wake);

	if (t)
		model_taken(m, t);
	else
		assert_true(wake > m->b->now);
}

static void model_step(struct model *m)
{
	uint64_t what = dice(m, 100);

	m->b->now += (sl_time)dice(m, dice(m, 8) ? 20000 : 2000000);
	if (what < 45) {
		model_add(m);
	} else if (what < 65) {
		model_next(m);
	} else if (what < 85) {
		if (m->flights)
			model_done(m);
	} else if (what < 91) {
		unsigned i = (unsigned)dice(m, BOX_REQUESTS);

		if (m->state[i] == OUT)
			return;
		assert_int_equal(sl_cancel(m->b->s, &m->b->r[i], m->b->now),
				 m->state[i] == FLIES ? -EBUSY : 0);
		if (m->state[i] == WAITS) {
			m->state[i] = OUT;
			m->inside--;
		}
	} else if (what < 96) {
		model_job(m);
	} else if (what < 97) {
		set_policy(m->b, "order", box_orders[dice(m, 5)]);
	} else if (what < 98) {
		set_policy(m->b, "share", box_shares[dice(m, 5)]);
	} else if (what < 99) {
		set_policy(m->b, "admit", box_admits[dice(m, 2)]);
	} else {
		ok(m->b, sl_capacity_set(m->b->s, 1000 + dice(m, 2) * 9000, m->b->now));
	}
}

/* All that is inside comes out, in the time that wake names. */
static void model_finish(struct model *m)
{
	for (unsigned idle = 0; m->inside;) {
		sl_time wake = 0;
		const struct sl_batch *t;

		if (m->flights) {
			model_done(m);
			continue;
		}
		t = sl_next(m->b->s, m->b->now, &wake);
		if (t) {
			model_taken(m, t);
			idle = 0;
			continue;
		}
		assert_true(++idle < 1000 && wake > m->b->now && wake != SL_NEVER);
		m->b->now = wake;
	}
}

static void at_random_nothing_is_lost_doubled_or_out_of_order(void **state)
{
	const char *text = getenv("SL_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 20240601;
	struct model m = { .x = seed | 1 };

	print_message("# seed %" PRIu64 "\n", seed);
	for (unsigned round = 0; round < 30; round++) {
		m.b = box_open(&(struct sl_config){
			.limits = { .jobs = 4,
				    .files = (uint32_t)(1 + dice(&m, 12)),
				    .requests = (uint32_t)(32 + dice(&m, 64)) },
			.share = box_shares[round % 5],
			.order = box_orders[dice(&m, 5)],
			.capacity_bps = 10000,
			.strict_grants = (int)dice(&m, 2) });
		memset(m.present, 0, sizeof(m.present));
		for (unsigned step = 0; step < 1500; step++) {
			model_step(&m);
			assert_int_equal(stats(m.b).requests, m.inside);
			assert_int_equal(stats(m.b).inflight_batches, m.flights);
		}
		model_finish(&m);
		assert_int_equal(stats(m.b).requests, 0);
		assert_int_equal(stats(m.b).files, 0);
		for (uint64_t id = 1; id <= 4; id++)
			if (m.present[id])
				ok(m.b, sl_job_remove(m.b->s, id, m.b->now));
		box_close(m.b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_random_nothing_is_lost_doubled_or_out_of_order),
	};

	return cmocka_run_group_tests_name("sched/change-random", tests, NULL, NULL);
}
