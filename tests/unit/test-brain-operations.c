/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's brain: metadata operations over several nodes. A small world of nodes that make
 * what their orders let them, and report it each 50 ms.
 */
#include "brain-rig.h"

#define NODES 3
#define JOBS  2
#define TICK  50 /* ms */

struct world {
	struct brain *b;
	uint64_t layer; /* operations a second of all nodes; 0: not limited */
	const char *share;
	double max[JOBS]; /* of each job; 0: none */
	uint64_t min[JOBS];
	unsigned weight[JOBS], classes[JOBS]; /* classes: of those in use; 0: that of the job */
	unsigned computers[JOBS];
	double can[JOBS][NODES]; /* what its processes there would make */
	bool there[JOBS][NODES]; /* it has processes */
	double made[JOBS][NODES], got[JOBS][NODES], held[JOBS][NODES];
	double draw[NODES], total[JOBS];
	int64_t ms;
};

/* What a node gives to each job: orders first, then what is left by weight. */
static void serve(struct world *w, int node)
{
	double left = w->draw[node] > 0 ? w->draw[node] : 1e12, weights = 0, give[JOBS], most[JOBS];

	for (int j = 0; j < JOBS; j++) {
		struct sl_job_orders o = { .ops_rate = UINT64_MAX, .ops_share = SL_SHARE_WHOLE };

		if (w->ms > TICK)
			order(w->b, (uint32_t)node, (uint64_t)j + 1, &o);
		most[j] = w->can[j][node];
		if (w->max[j] > 0 && most[j] > w->max[j] * o.ops_share / SL_SHARE_WHOLE)
			most[j] = w->max[j] * o.ops_share / SL_SHARE_WHOLE;
		give[j] = o.ops_rate == UINT64_MAX ? 0 : (double)o.ops_rate;
		give[j] = give[j] < most[j] ? give[j] : most[j];
		give[j] = give[j] < left ? give[j] : left;
		left -= give[j];
	}
	for (int round = 0; round < JOBS; round++) {
		weights = 0;
		for (int j = 0; j < JOBS; j++)
			weights += give[j] < most[j] ? w->weight[j] : 0;
		for (int j = 0, all = left > 0 && weights > 0; all && j < JOBS; j++) {
			double more = left * w->weight[j] / weights;

			if (give[j] >= most[j])
				continue;
			more = more < most[j] - give[j] ? more : most[j] - give[j];
			give[j] += more;
		}
		left = w->draw[node] > 0 ? w->draw[node] : 1e12;
		for (int j = 0; j < JOBS; j++)
			left -= give[j];
	}
	for (int j = 0; j < JOBS; j++) {
		w->got[j][node] = give[j];
		w->made[j][node] += give[j] * TICK / 1000;
		w->total[j] += give[j] * TICK / 1000;
		if (give[j] < w->can[j][node])
			w->held[j][node] += TICK * 1e6;
	}
}

static void run(struct world *w, int64_t ms)
{
	w->total[0] = w->total[1] = 0;
	for (int64_t end = w->ms + ms; w->ms < end; w->ms += TICK) {
		for (int i = 0; i < NODES; i++)
			serve(w, i);
		for (int i = 0; i < NODES; i++) {
			char node[160], jobs[800] = "";

			snprintf(node, sizeof(node),
				 "name=%d life=1 socket=/s%d of=%d share=%s layer_ops=%lu", i, i,
				 NODES, w->share, (unsigned long)w->layer);
			for (int j = 0; j < JOBS; j++)
				snprintf(jobs + strlen(jobs), sizeof(jobs) - strlen(jobs),
					 "job id=%d name=j%d clients=%d weight=%u nodes=%u "
					 "idle=1000000 "
					 "ops=%.0f ops_held=%.0f limits=%d min_ops=%lu "
					 "ops_weight=%u\n",
					 j + 1, j, w->there[j][i], w->weight[j], w->computers[j],
					 w->made[j][i], w->held[j][i],
					 w->max[j] > 0 || w->min[j] ? 2 : 0,
					 (unsigned long)w->min[j], w->classes[j]);
			assert_true(hear(w->b, w->ms, node, "%s", jobs) >= 0);
		}
		brain_decide(w->b, w->ms * MS);
		for (int i = 0; i < NODES; i++) {
			struct sl_orders_line l;
			char *text = NULL, *at;
			size_t size;
			FILE *f = open_memstream(&text, &size);

			brain_orders(w->b, (uint32_t)i, w->ms * MS, f);
			fclose(f);
			at = text;
			while (sl_orders_next(&at, &l) > 0)
				if (l.epoch.ops_draw)
					w->draw[i] = (double)l.epoch.ops_draw;
			free(text);
		}
	}
}

static struct world world(void)
{
	return (struct world){ .b = brain((struct brain_config){ 0 }),
			       .share = "wfq",
			       .weight = { 1, 1 },
			       .there = { { true, true, true }, { true, true, true } },
			       .ms = TICK };
}

static void within(double value, double of, double percent)
{
	if (fabs(value - of) > of * percent / 100)
		fail_msg("%.1f is not within %.0f %% of %.1f", value, percent, of);
}

static void a_max_of_operations_is_that_of_all_nodes_together(void **state)
{
	struct world w = world();

	w.max[0] = 900;
	for (int i = 0; i < NODES; i++)
		w.can[0][i] = 5000;
	run(&w, 1000);
	run(&w, 2000);
	within(w.total[0], 1800, 2);
	/* Two of its nodes have less to do: the third gets what they leave. */
	w.can[0][0] = 20;
	w.can[0][1] = 100;
	run(&w, 1500);
	run(&w, 2000);
	within(w.total[0], 1800, 7); /* STANDBY is for nodes that make nothing */
	assert_true(w.total[0] <= 1800 * 1.02);
	within(w.got[0][0], 20, 1);
	within(w.got[0][1], 100, 1);
	/* And back. */
	w.can[0][0] = w.can[0][1] = 5000;
	run(&w, 2000);
	run(&w, 2000);
	within(w.total[0], 1800, 2);
	assert_true(w.got[0][0] > 150);
	/* Processes on one node only. */
	w.can[0][0] = w.can[0][1] = 0;
	w.there[0][0] = w.there[0][1] = false;
	run(&w, 1000);
	run(&w, 2000);
	within(w.total[0], 1800, 2);
	end(w.b);
}

static void the_capacity_follows_jobs_to_their_nodes(void **state)
{
	struct world w = world();

	w.layer = 3000;
	w.can[0][0] = 1e5; /* on one node */
	run(&w, 1000);
	run(&w, 1000);
	within(w.total[0], 3000, 4); /* it is alone, and a little is kept for the other nodes */
	for (int i = 0; i < NODES; i++)
		w.can[1][i] = 1e5;
	w.weight[0] = 3;
	run(&w, 1000);
	run(&w, 2000);
	within(w.total[0], 4500, 4);
	within(w.total[1], 1500, 4);
	/* The same by classes that have weights of their own. */
	w.weight[0] = 1;
	w.classes[0] = 3;
	run(&w, 1000);
	run(&w, 2000);
	within(w.total[0], 4500, 4);
	/* For each compute node, where these count. */
	w.share = "fair,by=job,weigh=nodes";
	w.computers[0] = 2;
	w.computers[1] = 1;
	run(&w, 1000);
	run(&w, 2000);
	within(w.total[0], 6000 * 6 / 7.0, 4);
	w.share = "wfq";
	w.classes[0] = 0;
	/* Equal weights, and one of them uses less than its half. */
	w.can[0][0] = 400;
	run(&w, 1500);
	run(&w, 2000);
	within(w.total[0], 800, 4);
	within(w.total[1], 5200, 6);
	end(w.b);
}

static void a_min_of_operations_comes_first_on_whichever_node(void **state)
{
	struct world w = world();

	w.layer = 3000;
	w.min[0] = 2000;
	w.weight[1] = 100;
	w.can[0][0] = 1e5;
	for (int i = 0; i < NODES; i++)
		w.can[1][i] = 1e5;
	run(&w, 1000);
	run(&w, 2000);
	assert_true(w.total[0] > 4000 * 0.97);
	within(w.total[0] + w.total[1], 6000, 4);
	end(w.b);
}

static void without_a_capacity_there_are_no_orders_about_it(void **state)
{
	struct world w = world();
	struct sl_job_orders o = { 0 };

	w.layer = 3000;
	w.can[0][0] = 1e5;
	run(&w, 500);
	assert_true(order(w.b, 0, 1, &o) && o.ops_rate != UINT64_MAX);
	w.layer = 0;
	run(&w, 200);
	assert_true(order(w.b, 0, 1, &o) && o.ops_rate == UINT64_MAX);
	/* What has ended has no rate any more. */
	w.layer = 3000;
	run(&w, 500);
	w.can[0][0] = 0;
	run(&w, 3000);
	assert_true(order(w.b, 0, 1, &o) && o.ops_rate == UINT64_MAX);
	end(w.b);
}

/* What node `node` is ordered of a meter; 0: nothing. */
static uint64_t joint(struct brain *b, uint32_t node, uint64_t id, uint32_t meter)
{
	struct sl_orders_line l;
	char *text = NULL, *at;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	uint64_t rate = 0;

	brain_whole(b, node);
	brain_orders(b, node, b->node[node]->ordered, f);
	fclose(f);
	for (at = text; sl_orders_next(&at, &l) > 0;)
		if (l.joint.id == id && l.joint.meter == meter)
			rate = l.joint.rate;
	free(text);
	return rate;
}

#define SHARED(id, bucket, rate, held)                                                     \
	"job id=" #id " name=j" #id " clients=1\njoint id=" #id " meter=5 bucket=" #bucket \
	" limit=1000 rate=" #rate " held=" #held "\n"

static void a_limit_that_jobs_share_is_divided_over_jobs_and_nodes(void **state)
{
	struct brain *b = brain((struct brain_config){ 0 });
	char gone[] = "joint id=2 meter=5 bucket=0\n";

	(void)state;
	hear(b, 900, "name=0", "%s", SHARED(1, 8, 300, 1));
	hear(b, 900, "name=1", "%s", SHARED(1, 8, 300, 1) SHARED(4, 9, 0, 1));
	hear(b, 900, "name=2", "%s", SHARED(2, 8, 100, 0) SHARED(3, 8, 0, 0));
	decide(b, 900);
	/*
	 * Job 2 has what it makes and a quarter more, job 1 the rest at two nodes, job 3 can begin.
	 */
	CLOSE(joint(b, 0, 1, 5), 438);
	CLOSE(joint(b, 1, 1, 5), 438);
	CLOSE(joint(b, 2, 2, 5), 125);
	CLOSE(joint(b, 2, 3, 5), 20);
	CLOSE(joint(b, 1, 4, 5), 1000); /* another bucket */
	assert_int_equal(joint(b, 1, 4, 6), 0);
	/* Held, too: equal parts for the jobs, wherever they are. */
	hear(b, 950, "name=2", "%s", SHARED(2, 8, 125, 1) SHARED(3, 8, 0, 0));
	hear(b, 950, "name=0", "%s", SHARED(1, 8, 437, 1));
	hear(b, 950, "name=1", "%s", SHARED(1, 8, 437, 1) SHARED(4, 9, 0, 1));
	decide(b, 950);
	CLOSE(joint(b, 0, 1, 5), 250);
	CLOSE(joint(b, 2, 2, 5), 500);
	/* The rule does not hold for job 2 any more, and node 1 has died. */
	assert_int_equal(brain_delta(b, 2, gone, 960 * MS), 0);
	brain_node_gone(b, 1, true, 970 * MS);
	hear(b, 1000, "name=0", "%s", SHARED(1, 8, 250, 1));
	decide(b, 1000);
	CLOSE(joint(b, 0, 1, 5), 1000);
	assert_int_equal(joint(b, 2, 2, 5), 0);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_that_jobs_share_is_divided_over_jobs_and_nodes),
		cmocka_unit_test(a_max_of_operations_is_that_of_all_nodes_together),
		cmocka_unit_test(the_capacity_follows_jobs_to_their_nodes),
		cmocka_unit_test(a_min_of_operations_comes_first_on_whichever_node),
		cmocka_unit_test(without_a_capacity_there_are_no_orders_about_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
