/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share/fair: shares at each level, what those who stop leave to whom, groups that come and go,
 * and the bound of each level over random streams. SL_SEED=number repeats a failure.
 */
#include "share-rig.h"

enum { USER_JOB, ACCOUNT_USER_JOB, ACCOUNT_JOB, JOB };

static void owner(struct share *s, uint32_t lane, uint64_t account, uint64_t user)
{
	s->m[lane].account = account;
	s->m[lane].user = user;
}

/* The example of fair.c: lane 0 is alice's, 1 and 2 bob's, 3 to 10 carol's. */
static void open_example(struct share *s)
{
	share_open(s, &sl_share_fair, 16, { "by", ACCOUNT_USER_JOB }, END);
	owner(s, 0, 1, 1000);
	owner(s, 1, 1, 1001);
	owner(s, 2, 1, 1001);
	for (uint32_t i = 3; i < 11; i++)
		owner(s, i, 2, 1002);
	for (uint32_t i = 0; i < 11; i++)
		share_enter(s, i);
}

static void serve(struct share *s, unsigned n)
{
	memset(s->sent, 0, s->lanes * sizeof(*s->sent));
	for (unsigned i = 0; i < n; i++)
		share_serve(s, MI);
}

static void the_share_is_the_product_over_the_levels(void **state)
{
	struct share s;

	open_example(&s);
	serve(&s, 1600);
	assert_in_range(s.sent[0] / MI, 399, 401);
	for (uint32_t i = 1; i < 3; i++)
		assert_in_range(s.sent[i] / MI, 199, 201);
	for (uint32_t i = 3; i < 11; i++)
		assert_in_range(s.sent[i] / MI, 99, 101);
	share_close(&s);
}

static void what_a_user_leaves_goes_to_the_same_account(void **state)
{
	struct share s;

	open_example(&s);
	serve(&s, 160);
	share_leave(&s, 0, true);
	serve(&s, 1600);
	assert_in_range(s.sent[1] / MI, 399, 401);
	assert_in_range(s.sent[2] / MI, 399, 401);
	assert_in_range(s.sent[3] / MI, 99, 101);
	/* Back again, alice gains nothing by having been away. */
	share_enter(&s, 0);
	serve(&s, 1600);
	assert_in_range(s.sent[0] / MI, 399, 401);
	share_close(&s);
}

static void an_account_alone_has_everything(void **state)
{
	struct share s;

	open_example(&s);
	for (uint32_t i = 3; i < 11; i++)
		share_leave(&s, i, true);
	serve(&s, 400);
	assert_in_range(s.sent[0] / MI, 199, 201);
	assert_in_range(s.sent[1] / MI, 99, 101);
	share_close(&s);
}

static void one_job_and_eight_have_the_same_by_user_and_not_by_job(void **state)
{
	struct share s;

	for (int by = USER_JOB; by <= JOB; by += JOB - USER_JOB) {
		share_open(&s, &sl_share_fair, 16, { "by", by }, END);
		for (uint32_t i = 0; i < 9; i++) {
			owner(&s, i, 0, i ? 1001 : 1000);
			share_enter(&s, i);
		}
		serve(&s, 1800);
		if (by == USER_JOB)
			assert_in_range(s.sent[0] / MI, 899, 901);
		else
			assert_in_range(s.sent[0] / MI, 199, 201);
		share_close(&s);
	}
}

static void bytes_count_not_requests(void **state)
{
	struct share s;

	share_open(&s, &sl_share_fair, 4, END);
	owner(&s, 0, 0, 1000);
	owner(&s, 1, 0, 1001);
	share_enter(&s, 0);
	share_enter(&s, 1);
	for (unsigned i = 0; i < 10000; i++) {
		int64_t lane = share_pick(&s);

		share_charge(&s, (uint32_t)lane, lane ? MI : 64 * KI);
	}
	assert_in_range(s.sent[0], s.sent[1] - MI, s.sent[1] + MI);
	share_close(&s);
}

static void compute_nodes_are_a_weight_if_asked_for(void **state)
{
	struct share s;

	share_open(&s, &sl_share_fair, 4, { "by", JOB }, { "weigh", 1 }, END);
	s.m[0].nodes = 16;
	s.m[1].nodes = 4;
	s.m[2].nodes = 0; /* not known: as 1 */
	for (uint32_t i = 0; i < 3; i++)
		share_enter(&s, i);
	serve(&s, 2100);
	assert_in_range(s.sent[0] / MI, 1599, 1601);
	assert_in_range(s.sent[1] / MI, 399, 401);
	assert_in_range(s.sent[2] / MI, 99, 101);
	share_close(&s);
}

static void users_and_accounts_have_weights(void **state)
{
	struct share s;

	share_open(&s, &sl_share_fair, 4, { "by", ACCOUNT_USER_JOB }, END);
	owner(&s, 0, 1, 1000);
	owner(&s, 1, 1, 1001);
	owner(&s, 2, 2, 1002);
	s.m[0].account_weight = s.m[1].account_weight = 3;
	s.m[1].user_weight = 2;
	for (uint32_t i = 0; i < 3; i++)
		share_enter(&s, i);
	serve(&s, 1200);
	assert_in_range(s.sent[0] / MI, 299, 301);
	assert_in_range(s.sent[1] / MI, 599, 601);
	assert_in_range(s.sent[2] / MI, 299, 301);
	share_close(&s);
}

/* While it is ready, and while it is not. */
static void a_job_may_move_to_another_account(void **state)
{
	struct share s;

	open_example(&s);
	serve(&s, 100);
	owner(&s, 10, 3, 1003);
	share_update(&s, 10);
	share_leave(&s, 9, true);
	owner(&s, 9, 3, 1003);
	share_update(&s, 9);
	share_enter(&s, 9);
	serve(&s, 2400);
	assert_in_range(s.sent[10] / MI, 399, 401);
	assert_in_range(s.sent[9] / MI, 399, 401);
	assert_in_range(s.sent[3] / MI, 132, 135);
	share_close(&s);
}

static void a_thousand_users_come_and_go(void **state)
{
	struct share s;

	share_open(&s, &sl_share_fair, 4, { "by", ACCOUNT_USER_JOB }, END);
	for (uint64_t round = 0; round < 4000; round++) {
		uint32_t lane = (uint32_t)(round % 4);

		if (s.ready[lane]) {
			share_leave(&s, lane, round % 3 == 0);
			s.ops->forget(s.state, lane);
		}
		owner(&s, lane, round % 1000, 5000 + round % 777);
		share_enter(&s, lane);
		share_serve(&s, MI);
	}
	share_close(&s);
}

/* The virtual time of a group with large requests is moved back many times. */
static void shares_stay_right_when_tags_are_moved_back(void **state)
{
	struct share s;

	share_open(&s, &sl_share_fair, 8, { "by", ACCOUNT_USER_JOB }, END);
	for (uint32_t i = 0; i < 6; i++) {
		owner(&s, i, i / 3, i);
		share_enter(&s, i);
	}
	for (unsigned i = 0; i < 600; i++)
		share_serve(&s, SL_MAX_LENGTH);
	for (uint32_t i = 1; i < 6; i++)
		assert_in_range(s.sent[i] / SL_MAX_LENGTH, 98, 102);
	share_close(&s);
}

/* ---- the bound, for accounts, users of an account, and jobs of a user ---- */

#define GROUPS 27

struct spread {
	__int128 base, least, most;
	bool on;
};

struct level {
	uint32_t of[GROUPS];	 /* lane -> member of this level */
	uint32_t parent[GROUPS]; /* member -> group it is in */
	uint32_t weight[GROUPS];
	uint64_t sent[GROUPS];
	struct spread pair[GROUPS][GROUPS];
};

static bool active(const struct share *s, const struct level *l, uint32_t member)
{
	for (uint32_t i = 0; i < GROUPS; i++)
		if (l->of[i] == member && s->ready[i])
			return true;
	return false;
}

/* The difference of what two active siblings have had, over their weights, stays in a band. */
static void check_level(const struct share *s, struct level *l, uint64_t largest)
{
	for (uint32_t a = 0; a < GROUPS; a++)
		for (uint32_t b = a + 1; b < GROUPS; b++) {
			__int128 wa = l->weight[a], wb = l->weight[b];
			__int128 d = l->sent[a] * wb - l->sent[b] * wa;
			struct spread *p = &l->pair[a][b];

			if (!wa || !wb || l->parent[a] != l->parent[b] || !active(s, l, a) ||
			    !active(s, l, b)) {
				p->on = false;
				continue;
			}
			if (!p->on)
				*p = (struct spread){ d, 0, 0, true };
			d -= p->base;
			p->least = d < p->least ? d : p->least;
			p->most = d > p->most ? d : p->most;
			check(s, p->most - p->least <=
					 (__int128)largest * (wa + wb) + (wa * wb >> 19) + 1);
		}
}

static void the_bound_holds_at_each_level(void **state)
{
	static struct level level[3];

	for (unsigned round = 0; round < 6; round++) {
		uint64_t largest = round % 2 ? 16 * MI : 4096;
		struct share s;

		memset(level, 0, sizeof(level));
		share_open(&s, &sl_share_fair, GROUPS, { "by", ACCOUNT_USER_JOB }, END);
		s.random += round;
		for (uint32_t i = 0; i < GROUPS; i++) {
			owner(&s, i, i / 9, i / 3);
			level[0].of[i] = i / 9;
			level[1].of[i] = i / 3;
			level[2].of[i] = i;
			level[1].parent[i] = i / 3; /* of user i */
			level[2].parent[i] = i / 3;
		}
		for (uint32_t i = 0; i < GROUPS; i++) {
			level[2].weight[i] = 1 + (uint32_t)rnd_below(&s, 1000);
			level[1].weight[i] = i < 9 ? 1 + (uint32_t)rnd_below(&s, 100) : 0;
			level[0].weight[i] = i < 3 ? 1 + (uint32_t)rnd_below(&s, 10) : 0;
		}
		for (uint32_t i = 0; i < GROUPS; i++) {
			s.m[i].weight = level[2].weight[i];
			s.m[i].user_weight = level[1].weight[i / 3];
			s.m[i].account_weight = level[0].weight[i / 9];
			share_enter(&s, i);
		}
		for (unsigned op = 0; op < 8000; op++) {
			uint32_t lane = (uint32_t)rnd_below(&s, GROUPS);
			uint64_t bytes = 1 + rnd_below(&s, largest);
			int64_t chosen;

			if (round >= 2 && rnd_below(&s, 20) == 0) {
				if (s.ready[lane])
					share_leave(&s, lane, true);
				else
					share_enter(&s, lane);
				for (int k = 0; k < 3; k++)
					check_level(&s, &level[k], largest);
			}
			chosen = share_pick(&s);
			if (chosen < 0)
				continue;
			share_charge(&s, (uint32_t)chosen, bytes);
			for (int k = 0; k < 3; k++) {
				level[k].sent[level[k].of[chosen]] += bytes;
				if (op % 4 == 0)
					check_level(&s, &level[k], largest);
			}
		}
		share_close(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_share_is_the_product_over_the_levels),
		cmocka_unit_test(what_a_user_leaves_goes_to_the_same_account),
		cmocka_unit_test(an_account_alone_has_everything),
		cmocka_unit_test(one_job_and_eight_have_the_same_by_user_and_not_by_job),
		cmocka_unit_test(bytes_count_not_requests),
		cmocka_unit_test(compute_nodes_are_a_weight_if_asked_for),
		cmocka_unit_test(users_and_accounts_have_weights),
		cmocka_unit_test(a_job_may_move_to_another_account),
		cmocka_unit_test(a_thousand_users_come_and_go),
		cmocka_unit_test(shares_stay_right_when_tags_are_moved_back),
		cmocka_unit_test(the_bound_holds_at_each_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
