/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's brain: one capacity for all nodes, and changes without overshoot. */
#include "brain-rig.h"

static struct sl_node_orders of_node(struct brain *b, uint32_t node)
{
	struct sl_orders_line l;
	char *text = NULL, *at;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	brain_whole(b, node);
	brain_orders(b, node, b->node[node]->ordered, f);
	fclose(f);
	at = text;
	assert_int_equal(sl_orders_next(&at, &l), SL_LINE_EPOCH);
	free(text);
	return l.epoch;
}

static uint64_t draw(struct brain *b, uint32_t node)
{
	return of_node(b, node).draw_bps;
}

static void ack(struct brain *b, uint32_t node)
{
	brain_ack(b, node, of_node(b, node).order);
}

/* Each of `nodes` nodes brings 100 in, draws `draw`, and has one job that waits all the time. */
static void all_busy(struct brain *b, int nodes, int ms)
{
	for (int i = 0; i < nodes; i++) {
		char name[64];

		snprintf(name, sizeof(name), "name=%d capacity=1000 draw=1000", i);
		hear(b, ms, name,
		     "job id=%d name=j%d clients=1 weight=%d inside=1 waited=%d000000\n", i + 1,
		     i + 1, i ? 1 : 4, ms);
	}
}

static void a_job_alone_has_all_of_the_layer_on_one_of_its_nodes(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	for (int i = 1; i < 4; i++) {
		char name[64];

		snprintf(name, sizeof(name), "name=%d capacity=1000 draw=1000", i - 1);
		hear(b, 900, name, "%s", "");
	}
	hear(b, 900, "name=3 capacity=1000 draw=1000", "%s", "");
	decide(b, 900);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(draw(b, i), 10); /* a reserve of .01, for all of them */
		ack(b, i);
	}
	hear(b, 1000, "name=2 capacity=1000 draw=10", "job id=1 name=a clients=1 inside=1\n");
	decide(b, 1000);
	assert_int_equal(draw(b, 2), 4000);
	assert_int_equal(grant(b, 2, 1), 4000);
	assert_int_equal(of_node(b, 2).layer_bps, 4000);
	end(b);
}

static void weights_hold_over_nodes_and_nobody_is_raised_before_others_are_lowered(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	all_busy(b, 2, 1000); /* each draws its half */
	decide(b, 1000);
	assert_int_equal(draw(b, 1), 400);  /* down from 1000, at once */
	assert_int_equal(draw(b, 0), 1040); /* no more than .02 while node 1 may draw 1000 */
	decide(b, 1001);
	assert_int_equal(draw(b, 0), 1040);
	ack(b, 1);
	decide(b, 1002);
	assert_int_equal(draw(b, 0), 1600);
	assert_int_equal(grant(b, 0, 1), 1600);
	assert_int_equal(grant(b, 1, 2), 400);
	/* An acknowledgement of an order before says nothing. */
	brain_ack(b, 0, 0);
	assert_true(b->node[0]->held_bps >= 1600);
	end(b);
}

/* Random starts and ends, acknowledgements late and lost: the sum of what may be drawn holds. */
static void what_all_may_draw_is_never_more_than_the_capacity_and_its_slack(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	double force[6];
	uint64_t seed = 12345;
	int waited[6] = { 0 };

	for (int i = 0; i < 6; i++)
		force[i] = 100;
	for (int ms = 1000; ms < 20000; ms += 10) {
		double sum = 0;

		for (int i = 0; i < 6; i++) {
			char name[64];
			bool wants;

			seed = seed * 6364136223846793005U + 1442695040888963407U;
			wants = seed >> 62; /* three times of four */
			waited[i] += wants ? 50 : 0;
			if (seed >> 40 & 1) /* half of the orders have arrived by now */
				force[i] = b->nodes > (uint32_t)i && ms > 1000
						   ? (double)draw(b, (uint32_t)i)
						   : force[i];
			snprintf(name, sizeof(name), "name=%d capacity=100 draw=%.0f", i, force[i]);
			if (seed >> 41 & 1 || ms == 1000) {
				hear(b, ms, name,
				     "job id=%d name=j%d clients=1 inside=%d waited=%d000000\n",
				     i + 1, i + 1, wants, waited[i]);
				if (ms > 1000 && seed >> 40 & 1)
					ack(b, (uint32_t)i);
			}
		}
		brain_decide(b, ms * MS);
		for (int i = 0; i < 6; i++)
			sum += force[i];
		assert_true(sum <= 600 * 1.031); /* slack, reserve */
	}
	end(b);
}

static void a_node_that_is_gone_draws_nothing_and_one_that_is_silent_keeps_its_part(void **state)
{
	struct brain *b = brain((struct brain_config){ .capacity_bps = 2000 });

	all_busy(b, 2, 1000);
	decide(b, 1000);
	ack(b, 1);
	decide(b, 1002);
	ack(b, 0);
	/* Node 0 is silent, its job is not known to want less: node 1 gets nothing of it. */
	for (int ms = 1050; ms < 5000; ms += 50) {
		hear(b, ms, "name=1 capacity=1000 draw=400",
		     "job id=2 name=j2 clients=1 weight=1 inside=1 waited=%d000000\n", ms);
		brain_decide(b, ms * MS);
		assert_true(draw(b, 1) <= 441);
	}
	for (int ms = 5050; ms < 5200; ms += 50) { /* its lease has run out */
		hear(b, ms, "name=1 capacity=1000 draw=400",
		     "job id=2 name=j2 clients=1 weight=1 inside=1 waited=%d000000\n", ms);
		brain_decide(b, ms * MS);
	}
	assert_true(draw(b, 1) >= 1960);
	/* Back, with what it draws; then its connection ends. */
	all_busy(b, 2, 5200);
	brain_decide(b, 5200 * MS);
	assert_true(draw(b, 1) < 500);
	brain_node_gone(b, 0, true, 5201 * MS);
	brain_decide(b, 5201 * MS);
	assert_int_equal(draw(b, 1), 2000);
	end(b);
}

static void io_sets_hold_over_nodes_and_the_set_changes_hands(void **state)
{
	struct brain *b = brain((struct brain_config){ .capacity_bps = 101000 });
	static const char *const periods[] = { "10", "1000", "1001" };
	uint64_t first = 0, second = 0;

	for (int ms = 1000; ms < 14000; ms += 50) {
		for (int i = 0; i < 3; i++) {
			char name[64];

			snprintf(name, sizeof(name), "name=%d capacity=1 share=io-sets", i);
			hear(b, ms + (ms == 1000 ? i : 0), name,
			     "job id=%d name=j%d clients=1 period=%s000000000 inside=1 "
			     "waited=%d000000\n",
			     i + 1, i + 1, periods[i], ms);
			if (ms == 1000)
				brain_decide(b, (ms + i) * MS);
		}
		brain_decide(b, (ms + 3) * MS);
		if (ms < 1050)
			continue;
		CLOSE(grant(b, 0, 1), 100000);
		CLOSE(grant(b, 1, 2) + grant(b, 2, 3), 1000);
		first += ms < 10000 ? grant(b, 1, 2) : 0;
		second += ms > 12000 ? grant(b, 2, 3) : 0;
	}
	assert_true(first >= UINT64_C(999) * 8800 / 50);  /* who came first */
	assert_true(second >= UINT64_C(999) * 1900 / 50); /* and after 10 s the other one */
	end(b);
}

static void a_min_comes_first_wherever_it_is_and_what_is_not_used_is_lent(void **state)
{
	struct brain *b = brain((struct brain_config){ .capacity_bps = 900 });

	for (int ms = 1000; ms <= 2000; ms += 50) {
		hear(b, ms, "name=0 capacity=1",
		     "job id=1 name=a clients=1 min=600 inside=1 waited=%d000000\n"
		     "job id=2 name=b clients=1 weight=100 inside=1 waited=%d000000\n",
		     ms, ms);
		hear(b, ms, "name=1 capacity=1",
		     "job id=1 name=a clients=1 min=600 inside=1 waited=%d000000\n"
		     "job id=2 name=b clients=1 weight=100 inside=1 waited=%d000000\n",
		     ms, ms);
		brain_decide(b, ms * MS);
	}
	CLOSE(grant(b, 0, 1), 300);
	CLOSE(grant(b, 1, 1), 300);
	CLOSE(grant(b, 0, 2), 150);
	CLOSE(grant(b, 1, 2), 150);
	/* a moves 80 a second, and has nothing waiting. */
	for (int ms = 2050, moved = 0; ms <= 4000; ms += 50) {
		moved += 4;
		hear(b, ms, "name=0 capacity=1",
		     "job id=1 name=a clients=1 min=600 written=%d waited=2000000000\n"
		     "job id=2 name=b clients=1 weight=100 inside=1 waited=%d000000\n",
		     moved, ms);
		hear(b, ms, "name=1 capacity=1", "%s", "");
		brain_decide(b, ms * MS);
	}
	assert_in_range(grant(b, 0, 1), 99, 101); /* a quarter more than it moves */
	assert_in_range(grant(b, 0, 2), 799, 801);
	end(b);
}

/* The rate of a job on all nodes, as ordered. */
static double rate_of(const struct brain *b, uint64_t id)
{
	return job(b, id)->divided_bps;
}

/* Three nodes; alice's job is on one, bob's eight jobs are on the two others. */
static void two_users(struct brain *b, int ms, const char *share)
{
	char head[100];

	for (int node = 0; node < 3; node++) {
		char text[2000] = "";

		snprintf(head, sizeof(head), "name=%d capacity=1000 draw=1000 share=%s", node,
			 share);
		for (int id = 1; id <= 9; id++)
			if (node == (id == 1 ? 0 : 1 + id % 2))
				snprintf(text + strlen(text), sizeof(text) - strlen(text),
					 "job id=%d name=j%d clients=1 weight=1 nodes=%d uid=%d "
					 "account=%s inside=1 waited=%d000000\n",
					 id, id, id == 1 ? 16 : 1, id == 1 ? 1000 : 1001,
					 id < 6 ? "physics" : "biology", ms);
		hear(b, ms, head, "%s", text);
	}
	decide(b, ms);
}

static void users_have_equal_rates_over_all_nodes(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	two_users(b, 1000, "fair,by=user");
	CLOSE(rate_of(b, 1), 1500);
	for (uint64_t id = 2; id < 10; id++)
		CLOSE(rate_of(b, id), 1500.0 / 8);
	end(b);
}

/* physics: alice's 1 and bob's 2 to 5; biology: bob's 6 to 9. */
static void accounts_come_before_users(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	two_users(b, 1000, "fair,by=account:user:job");
	CLOSE(rate_of(b, 1), 750);
	CLOSE(rate_of(b, 2), 750.0 / 4);
	CLOSE(rate_of(b, 6), 1500.0 / 4);
	end(b);
}

static void size_fair_goes_by_compute_nodes(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });

	two_users(b, 1000, "fair,by=job,weigh=nodes");
	CLOSE(rate_of(b, 1), 2000);
	CLOSE(rate_of(b, 2), 125);
	end(b);
}

/* The limit of a job at a node, out of its bucket, as ordered. */
static uint64_t bucket_at(struct brain *b, uint32_t node, uint64_t id)
{
	struct sl_job_orders o = { 0 };

	assert_true(order(b, node, id, &o));
	return o.bucket_bps;
}

/* No capacity is known. Job 1 is at nodes 0 and 1, job 2 at node 2, job 3 is idle; 4 has another. */
static void a_limit_that_jobs_share_is_divided_among_them_and_their_nodes(void **state)
{
	static const char busy[] =
		"job id=%d name=j%d clients=1 weight=1 inside=1 waited=1000000000 "
		"bucket=%d bucket_bps=600000\n";
	static const char idle[] = "job id=3 name=j3 clients=1 weight=1 idle=9000000000 bucket=77 "
				   "bucket_bps=600000\n";
	struct brain *b = brain((struct brain_config){ 0 });
	char text[1000];

	for (int node = 0; node < 3; node++) {
		char head[32];
		int id = node < 2 ? 1 : 2;

		snprintf(head, sizeof(head), "name=%d", node);
		snprintf(text, sizeof(text), busy, id, id, 77);
		if (node == 2) {
			snprintf(text + strlen(text), sizeof(text) - strlen(text), busy, 4, 4, 78);
			strcat(text, idle);
		}
		hear(b, 1000, head, "%s", text);
	}
	decide(b, 1000);
	assert_int_equal(bucket_at(b, 0, 1), 150000);
	assert_int_equal(bucket_at(b, 1, 1), 150000);
	assert_int_equal(bucket_at(b, 2, 2), 300000);
	assert_int_equal(bucket_at(b, 2, 3), 12000); /* to begin with */
	assert_int_equal(bucket_at(b, 2, 4), 600000);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_alone_has_all_of_the_layer_on_one_of_its_nodes),
		cmocka_unit_test(
			weights_hold_over_nodes_and_nobody_is_raised_before_others_are_lowered),
		cmocka_unit_test(what_all_may_draw_is_never_more_than_the_capacity_and_its_slack),
		cmocka_unit_test(
			a_node_that_is_gone_draws_nothing_and_one_that_is_silent_keeps_its_part),
		cmocka_unit_test(io_sets_hold_over_nodes_and_the_set_changes_hands),
		cmocka_unit_test(a_min_comes_first_wherever_it_is_and_what_is_not_used_is_lent),
		cmocka_unit_test(users_have_equal_rates_over_all_nodes),
		cmocka_unit_test(accounts_come_before_users),
		cmocka_unit_test(size_fair_goes_by_compute_nodes),
		cmocka_unit_test(a_limit_that_jobs_share_is_divided_among_them_and_their_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
