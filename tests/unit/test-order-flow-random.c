/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/request/order/flow with every policy at random, against a model that knows nothing of trees.
 * SL_SEED=number repeats a failure.
 */
#include "tests/unit/order-rig.h"

enum { OUT, WAITS, FLIES };

struct model {
	struct rig *g;
	int state[RIG_REQUESTS];
	struct sl_run *flying[RIG_REQUESTS];
	unsigned flights, waits;
};

static bool conflict(const struct sl_request *a, const struct sl_request *b)
{
	return a->file == b->file && (a->op == SL_WRITE || b->op == SL_WRITE) &&
	       a->offset < b->offset + b->length && b->offset < a->offset + a->length;
}

static void model_taken(struct model *m, struct sl_run *run)
{
	for (struct sl_request *r = run->batch.first; r; r = r->next) {
		assert_int_equal(m->state[r - m->g->request], WAITS);
		for (unsigned i = 0; i < RIG_REQUESTS; i++)
			if (m->state[i] == FLIES ||
			    (m->state[i] == WAITS && m->g->request[i].seq_ < r->seq_))
				assert_false(conflict(&m->g->request[i], r));
	}
	for (struct sl_request *r = run->batch.first; r; r = r->next) {
		m->state[r - m->g->request] = FLIES;
		m->waits--;
	}
	m->flying[m->flights++] = run;
}

static void model_done(struct model *m, unsigned i)
{
	struct sl_run *run = m->flying[i];

	m->flying[i] = m->flying[--m->flights];
	for (struct sl_request *r = run->batch.first; r; r = r->next) {
		assert_int_equal(m->state[r - m->g->request], FLIES);
		m->state[r - m->g->request] = OUT;
	}
	rig_done(m->g, run);
}

/* With nothing in flight and something waiting, a batch must come by the time ready() names. */
static void model_progress(struct model *m)
{
	struct sl_flow *f = rig_flow(m->g);
	struct sl_run *run;
	sl_time at;

	for (unsigned tries = 0; tries < 4; tries++) {
		at = f->ops->ready(f, m->g->now);
		assert_int_not_equal(at, SL_NEVER);
		if (at > m->g->now)
			m->g->now = at;
		run = rig_take(m->g);
		if (run) {
			model_taken(m, run);
			return;
		}
	}
	fail_msg("a flow in which something waits gives no batch");
}

static uint64_t random_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void model_add(struct model *m, uint64_t *x)
{
	struct rig *g = m->g;
	unsigned i = 0;

	while (i < RIG_REQUESTS && m->state[i] != OUT)
		i++;
	if (i == RIG_REQUESTS)
		return;
	g->used = i;
	rig_put_flags(g, random_next(x) % 3 == 0, A + random_next(x) % 3, random_next(x) % 64,
		      1 + random_next(x) % 8, random_next(x) % 8 == 0);
	m->state[i] = WAITS;
	m->waits++;
	rig_check(g);
}

static void model_step(struct model *m, uint64_t *x)
{
	struct rig *g = m->g;
	uint64_t what = random_next(x) % 16;
	struct sl_run *run;

	g->now += (sl_time)(random_next(x) % 4 ? random_next(x) % (100 * US)
					       : random_next(x) % (2 * MS));
	if (what < 8) {
		model_add(m, x);
	} else if (what < 11) {
		if ((run = rig_take(g)))
			model_taken(m, run);
		else if (m->waits && !m->flights)
			model_progress(m);
	} else if (what < 14) {
		if (m->flights)
			model_done(m, (unsigned)(random_next(x) % m->flights));
	} else if (what == 14) {
		unsigned i = (unsigned)(random_next(x) % RIG_REQUESTS);

		if (m->state[i] == WAITS) {
			rig_cancel(g, &g->request[i]);
			m->state[i] = OUT;
			m->waits--;
		}
	} else if (random_next(x) % 8 == 0) {
		struct rig_values v = { .batch_bytes = (int64_t)(1 + random_next(x) % 64),
					.batch_requests = (int64_t)(1 + random_next(x) % 9),
					.max_age_ms = (int64_t)(random_next(x) % 3),
					.wait_us = (int64_t)(random_next(x) % 3 * 200),
					.quantum_bytes = (int64_t)(1 + random_next(x) % 16) };

		rig_switch(g, rig_policies[random_next(x) % RIG_POLICIES], &v);
	}
	assert_int_equal(m->waits, rig_flow(g)->waiting);
	assert_int_equal(m->flights, rig_flow(g)->inflight);
}

static void at_random_nothing_is_lost_doubled_or_out_of_order(void **state)
{
	const char *text = getenv("SL_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 20150601, x = seed | 1;

	print_message("# seed %" PRIu64 "\n", seed);
	for (unsigned round = 0; round < 40; round++) {
		struct model m = { .g = rig_open(rig_policies[round % RIG_POLICIES],
						 &RIG_DEFAULTS) };

		for (unsigned step = 0; step < 1500; step++)
			model_step(&m, &x);
		while (m.waits || m.flights) {
			if (m.flights)
				model_done(&m, (unsigned)(random_next(&x) % m.flights));
			else
				model_progress(&m);
		}
		assert_int_equal(rig_flow(m.g)->waiting, 0);
		rig_nothing(m.g, SL_NEVER);
		rig_close(m.g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_random_nothing_is_lost_doubled_or_out_of_order),
	};

	return cmocka_run_group_tests_name("order/flow-random", tests, NULL, NULL);
}
