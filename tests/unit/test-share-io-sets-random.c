/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share/io-sets with random lanes that come and go, against plain searches, and with very many.
 * SL_SEED=number repeats a failure.
 */
#include "io-sets-rig.h"

/* Sets of the random lanes, as indices of period_of. */
#define LOWEST	7
#define HIGHEST 12

struct model {
	int set[LANES]; /* -1: unknown */
	uint64_t ticket[LANES];
	sl_time left[LANES];
	bool kept[LANES];
	uint64_t tickets;
	/* While the same sets are present: bytes of each, and how their shares differ. */
	uint32_t present;
	uint64_t bytes[19];
	__int128 least[19][19], most[19][19];
};

static void model_present(const struct share *s, struct model *o)
{
	uint32_t present = 0;

	for (uint32_t i = 0; i < s->lanes; i++)
		if (s->ready[i])
			present |= 1U << (o->set[i] < 0 ? 31 : o->set[i]);
	if (present == o->present)
		return;
	o->present = present;
	memset(o->bytes, 0, sizeof(o->bytes));
	memset(o->least, 0, sizeof(o->least));
	memset(o->most, 0, sizeof(o->most));
}

/*
 * Bytes over priority of two sets stay within a turn and a batch of each other. The turn may be
 * one of before, when a smaller priority was present: what it gave to one set must be evened out.
 */
static void model_shares(const struct share *s, struct model *o, uint64_t largest)
{
	__int128 turn = (__int128)MI * period_of[HIGHEST];

	for (unsigned i = 0; i < 19; i++)
		for (unsigned j = i + 1; j < 19; j++) {
			__int128 d = (__int128)o->bytes[i] * period_of[i] -
				     (__int128)o->bytes[j] * period_of[j];

			if (!(o->present >> i & 1) || !(o->present >> j & 1))
				continue;
			if (d < o->least[i][j])
				o->least[i][j] = d;
			if (d > o->most[i][j])
				o->most[i][j] = d;
			check(s,
			      o->most[i][j] - o->least[i][j] <=
				      2 * turn + (__int128)largest * (period_of[i] + period_of[j]));
		}
}

static void model_enter(struct share *s, struct model *o, uint32_t lane, bool by_id)
{
	if (by_id)
		o->ticket[lane] = s->m[lane].job;
	else if (!o->ticket[lane] || (!o->kept[lane] && s->now - o->left[lane] >= 100 * MSEC))
		o->ticket[lane] = ++o->tickets;
	share_enter(s, lane);
}

static void lanes_come_and_go(bool by_id, unsigned run)
{
	static struct model o;
	struct share s;

	memset(&o, 0, sizeof(o));
	open_lanes(&s, LANES, { "exclusive", (int64_t)by_id }, FAR, END);
	s.random += run;
	for (uint32_t i = 0; i < LANES; i++)
		o.set[i] = -1;
	for (unsigned op = 0; op < 60000; op++) {
		uint32_t lane = (uint32_t)rnd_below(&s, LANES);
		unsigned what = (unsigned)rnd_below(&s, 64);
		uint64_t bytes;
		int64_t chosen;

		s.now += (sl_time)rnd_below(&s, 5 * MSEC);
		if (what < 3 && s.ready[lane]) {
			o.kept[lane] = rnd_below(&s, 4) == 0;
			o.left[lane] = s.now;
			share_leave(&s, lane, !o.kept[lane]);
			if (rnd_below(&s, 8) == 0) {
				s.ops->forget(s.state, lane);
				o.ticket[lane] = 0;
				o.kept[lane] = false;
				s.m[lane].job += LANES;
			}
		} else if (what < 3) {
			model_enter(&s, &o, lane, by_id);
		} else if (what == 3) {
			o.set[lane] = LOWEST + (int)rnd_below(&s, HIGHEST - LOWEST + 1);
			if (rnd_below(&s, 5) == 0)
				o.set[lane] = -1;
			s.m[lane].period_ns = o.set[lane] < 0 ? 0 : period_of[o.set[lane]];
			share_update(&s, lane);
		}
		model_present(&s, &o);
		chosen = share_pick(&s);
		check(&s, (chosen < 0) == !o.present);
		if (chosen < 0)
			continue;
		for (uint32_t i = 0; o.set[chosen] >= 0 && i < LANES; i++)
			if (s.ready[i] && o.set[i] == o.set[chosen])
				check(&s, o.ticket[chosen] <= o.ticket[i]);
		lane = (uint32_t)chosen;
		bytes = 1 + rnd_below(&s, 4 * MI);
		share_charge(&s, lane, bytes);
		if (o.set[lane] < 0)
			continue;
		o.bytes[o.set[lane]] += bytes;
		model_shares(&s, &o, 4 * MI);
	}
	share_close(&s);
}

static void random_lanes_by_phase_agree_with_a_plain_search(void **state)
{
	for (unsigned run = 0; run < 4; run++)
		lanes_come_and_go(false, run);
}

static void random_lanes_by_id_agree_with_a_plain_search(void **state)
{
	for (unsigned run = 0; run < 4; run++)
		lanes_come_and_go(true, 100 + run);
}

/* All that can happen, in any order: it must always choose someone who is ready, or say when. */
static void anything_goes_with_hold_idle_guarantees_and_short_limits(void **state)
{
	struct share *s = *state;

	open_lanes(s, LANES, HOLD_IDLE, LIMIT_MS(50), { "grace_ms", INT64_C(20) }, END);
	for (unsigned op = 0; op < 200000; op++) {
		uint32_t lane = (uint32_t)rnd_below(s, LANES);
		unsigned ready = 0;

		s->now += (sl_time)rnd_below(s, 2 * MSEC);
		if (rnd_below(s, 8) == 0) {
			change_period(s, lane, rnd_below(s, 4) ? period_of[rnd_below(s, 19)] : 0);
		}
		if (s->ready[lane])
			share_leave(s, lane, rnd_below(s, 2));
		else if (rnd_below(s, 2))
			share_enter(s, lane);
		else if (rnd_below(s, 4) == 0)
			s->ops->forget(s->state, lane);
		for (uint32_t i = 0; i < LANES; i++) {
			ready += s->ready[i];
			if (s->ready[i] && rnd_below(s, 32) == 0)
				share_charge(s, i, 1 + rnd_below(s, 64 * MI));
		}
		for (unsigned n = 0; n < 4; n++) {
			int64_t chosen = share_pick(s);

			if (chosen >= 0)
				share_charge(s, (uint32_t)chosen, 1 + rnd_below(s, 64 * MI));
			else if (ready)
				check(s, s->wake > s->now && s->wake <= s->now + 20 * MSEC);
			else
				check(s, s->wake == SL_NEVER);
		}
	}
}

static void ten_thousand_jobs_of_unknown_period_share_evenly(void **state)
{
	struct share *s = *state;

	open_lanes(s, 10000, END);
	for (uint32_t i = 0; i < s->lanes; i++)
		share_enter(s, i);
	for (unsigned i = 0; i < 320000; i++)
		share_serve(s, 64 * KI);
	for (uint32_t i = 0; i < s->lanes; i++)
		assert_in_range(s->sent[i], MI, 3 * MI);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_lanes_by_phase_agree_with_a_plain_search),
		cmocka_unit_test(random_lanes_by_id_agree_with_a_plain_search),
		CASE(anything_goes_with_hold_idle_guarantees_and_short_limits),
		CASE(ten_thousand_jobs_of_unknown_period_share_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
