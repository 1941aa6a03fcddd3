/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bandwidth for a machine of many I/O nodes: the controller's own code and the schedulers of all nodes
 * in virtual time (sim/requests-control.c), with reports and orders that take a millisecond each
 * way. On 1, 2, 4, 16 and 1,000 nodes.
 *
 * Checked are the rates of jobs over some seconds, how long it takes until they are right, and that in every
 * second all nodes together have not sent more than 1.02 times the capacity and a call of each
 * job at each of its nodes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "sim/requests.h"

#define CAPACITY  1e8
#define CALL	  (64 * HX_KIB)
#define APPS	  64
#define WINDOWS	  400 /* of WINDOW_NS */
#define WINDOW_NS (100 * HX_MS)
#define BOUND	  1.02
#define ENDLESS	  (UINT64_C(1) << 30)

static const uint32_t sizes[] = { 1, 2, 4, 16, 1000 };

struct world {
	struct sl_requests s;
	struct sl_requests_app app[APPS];
	struct sl_requests_event event[4];
	uint32_t on[4 * APPS];
	char name[8];
	uint64_t bytes[APPS][WINDOWS];
	struct sl_requests_result r;
	uint32_t pairs;
};

static void batch(void *arg, uint32_t server, const struct sl_batch *b, sl_time now, sl_time done)
{
	struct world *w = arg;

	(void)server;
	(void)done;
	if (now / WINDOW_NS < WINDOWS)
		w->bytes[b->job - 1][now / WINDOW_NS] += b->length;
}

static struct world *begin(uint32_t nodes)
{
	static const struct sl_device_model fast = { .name = "fast",
						     .bps = { 1ULL << 40, 1ULL << 40 },
						     .streams = 1 };
	struct world *w = calloc(1, sizeof(*w));

	sl_requests_init(&w->s);
	strcpy(w->name, "machine");
	w->s.name = w->name;
	w->s.striping.servers = nodes;
	w->s.link_bps = 0;
	w->s.latency_ns = 0;
	w->s.device = fast;
	w->s.capacity_bps = (uint64_t)CAPACITY;
	w->s.control.there = true;
	w->s.apps = w->app;
	w->s.events = w->event;
	w->s.on = w->on;
	return w;
}

/* A job that begins at that time, one process at each of so many nodes from `node` on. */
static struct sl_requests_app *add(struct world *w, double start_s, uint32_t node, uint32_t nodes,
				   uint32_t weight)
{
	struct sl_requests_app *a = &w->app[w->s.n_apps++];

	*a = (struct sl_requests_app){ .name = "job",
				       .procs = nodes,
				       .op = SL_WRITE,
				       .call_bytes = CALL,
				       .calls = ENDLESS,
				       .phases = 1,
				       .depth = 1,
				       .background = true,
				       .per_process = true,
				       .start_ns = (sl_time)(start_s * 1e9),
				       .conf = { .weight = weight },
				       .on_first = w->s.n_on,
				       .on_count = nodes };
	for (uint32_t i = 0; i < nodes; i++)
		w->on[w->s.n_on++] = (node + i) % w->s.striping.servers;
	w->pairs += nodes;
	return a;
}

static void dies(struct world *w, double at_s, uint32_t server)
{
	w->event[w->s.n_events++] =
		(struct sl_requests_event){ .at = (sl_time)(at_s * 1e9), .server = server };
}

static void run(struct world *w, double until_s, const char *share, const char *grant)
{
	const struct sl_requests_policy policy = { .share = share, .grant = grant };
	const struct sl_requests_sink sink = { batch, w };
	char err[SL_REQUESTS_TEXT] = "";

	w->s.until_ns = (sl_time)(until_s * 1e9);
	if (sl_requests_run(&w->s, &policy, &sink, &w->r, NULL, err, sizeof(err)))
		hx_fail("%s", err);
}

static double rate(const struct world *w, uint32_t job, double from_s, double to_s)
{
	double sum = 0;

	for (long i = lround(from_s * 10); i < lround(to_s * 10); i++)
		sum += (double)w->bytes[job][i];
	return sum / (to_s - from_s);
}

static void near(const char *what, double got, double wanted, double within)
{
	hx_check(fabs(got - wanted) <= within * CAPACITY, "%s: %.0f instead of %.0f", what, got,
		 wanted);
}

static void end(struct world *w)
{
	hx_check((double)w->r.peak_bytes <= BOUND * CAPACITY + (double)(w->pairs * CALL),
		 "%.0f were sent in a second", (double)w->r.peak_bytes);
	free(w);
	hx_end();
}

/* ---- the cases; a node per job, as far as there are as many ---- */

static void alone(uint32_t nodes)
{
	struct world *w = begin(nodes);
	double got;

	hx_case("%u nodes: a job alone on one has all, .2 s after its start", nodes);
	add(w, 1, 3, 1, 1);
	run(w, 3.2, "wfq", NULL);
	got = rate(w, 0, 1.2, 3.2);
	hx_check(got >= .98 * CAPACITY, "it has %.0f", got);
	end(w);
}

static void weights(uint32_t nodes)
{
	struct world *w = begin(nodes);
	bool apart = nodes > 1;

	hx_case("%u nodes: weights of 4 to 1; another controller; a node is killed", nodes);
	w->s.control.standby_ns = 300 * HX_MS;
	add(w, 1, 0, 1, 4);
	add(w, 1, 3, 1, 1);
	dies(w, 4, SL_REQUESTS_CONTROLLER);
	if (apart)
		dies(w, 8, 0);
	run(w, 11, "wfq", NULL);
	near("weight 4", rate(w, 0, 1.5, 4), .8 * CAPACITY, .02);
	near("weight 1", rate(w, 1, 1.5, 4), .2 * CAPACITY, .02);
	/* The new one knows nothing, and leads .3 s later; a second later it is right. */
	near("weight 4, new controller", rate(w, 0, 5.3, 8), .8 * CAPACITY, .02);
	near("weight 1, new controller", rate(w, 1, 5.3, 8), .2 * CAPACITY, .02);
	near("both", rate(w, 0, 4, 5.3) + rate(w, 1, 4, 5.3), CAPACITY, .02);
	if (apart)
		near("who is left", rate(w, 1, 9, 11), CAPACITY, .02);
	end(w);
}

static void by_period(uint32_t nodes, const char *share, const char *grant)
{
	struct world *w = begin(nodes);
	struct sl_requests_app *rare;

	hx_case("%u nodes, %s: 99 to 1 to 0, then the third has what the second had", nodes,
		grant ? grant : share);
	add(w, 1, 0, 1, 1)->conf.period_ns = 10 * HX_SEC;
	rare = add(w, 1.1, 1, 1, 1);
	rare->conf.period_ns = 1000 * HX_SEC;
	rare->background = false;
	rare->calls = (uint64_t)(.01 * CAPACITY * 4) / CALL;
	add(w, 1.2, 2, 1, 1)->conf.period_ns = 1000 * HX_SEC;
	run(w, 9, share, grant);
	/* A node leaves a hundredth to its own share policy: at one node the rare one may have two. */
	near("often", rate(w, 0, 1.5, 3), .99 * CAPACITY, .02);
	near("rare", rate(w, 1, 1.5, 3), .01 * CAPACITY, .012);
	near("rare, too", rate(w, 2, 1.5, 3), 0, .003);
	near("rare, too, later", rate(w, 2, 6.5, 9), .01 * CAPACITY, .012);
	hx_check(rate(w, 2, 6.5, 9) > .005 * CAPACITY, "the third has nothing");
	end(w);
}

static void in_order(uint32_t nodes)
{
	struct world *w = begin(nodes);

	hx_case("%u nodes, fcfs: what the first cannot use the second has", nodes);
	add(w, 1, 0, 1, 1)->conf.max_bps = (uint64_t)(.75 * CAPACITY);
	add(w, 1.1, 1, 1, 1);
	run(w, 5, "wfq", "fcfs");
	near("first", rate(w, 0, 2, 5), .75 * CAPACITY, .02);
	near("second", rate(w, 1, 2, 5), .25 * CAPACITY, .02);
	end(w);
}

static void guarantee(uint32_t nodes)
{
	struct world *w = begin(nodes);
	double got, all = 0;

	hx_case("%u nodes: a min over three of them beside greedy jobs", nodes);
	add(w, 1, 0, 3, 1)->conf.min_bps = (uint64_t)(.3 * CAPACITY);
	for (uint32_t i = 0; i < 3; i++)
		add(w, 1, i, 1, 100);
	run(w, 5, "wfq", NULL);
	got = rate(w, 0, 2, 5);
	hx_check(got >= .99 * .3 * CAPACITY, "it has %.0f", got);
	for (uint32_t i = 0; i < w->s.n_apps; i++)
		all += rate(w, i, 2, 5);
	near("all", all, CAPACITY, .02);
	end(w);
}

/* The last orders hold for 4 s; then nodes fail open, and nobody stands still. */
static void left_alone(uint32_t nodes)
{
	struct world *w = begin(nodes);

	hx_case("%u nodes: without a controller shares hold for 3 s, and nothing stops", nodes);
	add(w, 1, 0, 1, 4);
	add(w, 1, 3, 1, 1);
	dies(w, 3, SL_REQUESTS_CONTROLLER);
	run(w, 12, "wfq", NULL);
	near("weight 4", rate(w, 0, 3, 6), .8 * CAPACITY, .02);
	near("weight 1", rate(w, 1, 3, 6), .2 * CAPACITY, .02);
	hx_check(rate(w, 1, 10, 12) > .2 * CAPACITY * .98, "it has %.0f", rate(w, 1, 10, 12));
	w->r.peak_bytes = 0; /* nobody keeps the bound then */
	end(w);
}

/* Jobs come and go at random; nothing is sent twice, and nothing is left idle for long. */
static void churn(uint32_t nodes, struct hx_rng *g)
{
	struct world *w = begin(nodes);

	hx_case("%u nodes: jobs that come and go do not move too much together", nodes);
	for (uint32_t i = 0; i < APPS; i++) {
		struct sl_requests_app *a =
			add(w, (double)hx_below(g, 3000) / 1e3, (uint32_t)hx_below(g, nodes), 1,
			    (uint32_t)hx_range(g, 1, 9));

		a->background = false;
		a->phases = hx_range(g, 1, 20);
		a->calls = hx_range(g, 1, 40);
		a->compute_ns = (sl_time)hx_below(g, 500) * HX_MS;
		a->depth = (uint32_t)hx_range(g, 1, 4);
	}
	run(w, (double)hx_scaled(20), "wfq", NULL);
	end(w);
}

int main(void)
{
	struct hx_rng g = { hx_seed() };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		alone(sizes[i]);
		weights(sizes[i]);
		by_period(sizes[i], "io-sets,max_exclusive_ms=60000", NULL);
		by_period(sizes[i], "wfq", "set-10");
		in_order(sizes[i]);
		guarantee(sizes[i]);
		left_alone(sizes[i]);
		churn(sizes[i], &g);
	}
	return hx_finish();
}
