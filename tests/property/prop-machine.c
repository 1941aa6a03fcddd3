/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One bandwidth for a machine of 1,000 I/O nodes: the controller's own code in virtual time, with
 * reports and orders as text that take DELAY each way, and nodes that serve as fluids: each job its
 * ordered rate first, the rest of what the node may draw by weight.
 *
 * Checked are the rates over some seconds, how long it takes until they are right, and in every
 * window of a second that all nodes together have not drawn more than 1.02 times the capacity.
 *
 *	0 ms    job a begins at node 3, which reports it
 *	1 ms    the controller has the report and orders 100 MB/s
 *	2 ms    node 3 draws 100 MB/s
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "sluiced/controller/brain.h"

#define NODES	 1000
#define PLACES	 8 /* of jobs at one node */
#define CAPACITY 1e8
#define STEP	 (HX_MS)
#define DELAY	 (HX_MS)
#define BOUND	 1.02

struct place {
	uint64_t job;
	double weight, min, moved, ordered; /* ordered below 0: no rate */
	int64_t period_s;
	double waited_ns;
	bool wants;
};

struct node {
	struct place place[PLACES];
	unsigned places;
	double draw;
	uint64_t ack, term;
	int64_t due, every; /* of reports */
	bool dead, known;   /* known: the controller has its whole report */
};

struct letter {
	struct letter *next;
	int64_t at;
	uint32_t node;
	bool order, ack; /* else a report */
	char *text;
};

struct world {
	struct brain *brain;
	struct node node[NODES];
	struct letter *first, *last;
	const char *share, *grant;
	int64_t now;
	uint64_t term;
	double drawn[1000]; /* by all, in each step of the last second */
	double sum, most;   /* of these; the largest that was */
};

static void new_brain(struct world *w)
{
	struct brain_config c = {
		.grant = w->grant, .gap_ns = HX_SEC, .settle_ns = HX_SEC / 2, .term = ++w->term
	};
	char err[200] = "";

	if (w->brain)
		brain_free(w->brain);
	w->brain = w->brain ? w->brain : malloc(sizeof(*w->brain));
	if (brain_init(w->brain, &c, w->now, err, sizeof(err)))
		hx_fail("%s", err);
	for (uint32_t i = 0; i < NODES; i++) {
		w->node[i].known = false;
		w->node[i].due = w->now;
	}
}

static struct world *begin(const char *share, const char *grant)
{
	struct world *w = calloc(1, sizeof(*w));

	w->now = HX_SEC;
	w->share = share;
	w->grant = grant;
	for (uint32_t i = 0; i < NODES; i++) {
		w->node[i].draw = CAPACITY / NODES;
		w->node[i].every = 50 * HX_MS;
	}
	new_brain(w);
	return w;
}

static void end(struct world *w)
{
	while (w->first) {
		struct letter *l = w->first;

		w->first = l->next;
		free(l->text);
		free(l);
	}
	brain_free(w->brain);
	free(w->brain);
	free(w);
	hx_end();
}

static struct place *add(struct world *w, uint32_t node, uint64_t job, double weight)
{
	struct place *p = &w->node[node].place[w->node[node].places++];

	*p = (struct place){ .job = job, .weight = weight, .ordered = -1, .wants = true };
	w->node[node].due = w->now; /* a start is reported at once */
	return p;
}

/* ---- letters: in the order in which they were sent ---- */

static void send_letter(struct world *w, uint32_t node, bool order, bool ack, char *text)
{
	struct letter *l = malloc(sizeof(*l));

	*l = (struct letter){
		.at = w->now + DELAY, .node = node, .order = order, .ack = ack, .text = text
	};
	if (w->last && w->first)
		w->last->next = l;
	else
		w->first = l;
	w->last = l;
}

static void report(struct world *w, uint32_t i)
{
	struct node *n = &w->node[i];
	struct sl_node_report r = { .life = i + 1,
				    .capacity_bps = (uint64_t)(CAPACITY / NODES),
				    .layer_bps = (uint64_t)CAPACITY,
				    .of = NODES,
				    .draw_bps = (uint64_t)n->draw,
				    .ack = n->ack,
				    .term = n->term };
	bool busy = false;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	snprintf(r.name, sizeof(r.name), "n%u", i);
	snprintf(r.share, sizeof(r.share), "%s", w->share);
	if (!n->known)
		sl_report_put_node(f, &r);
	else
		sl_report_put_ack(f, &r);
	for (unsigned k = 0; k < n->places; k++) {
		const struct place *p = &n->place[k];
		struct sl_job_report j = { .id = p->job,
					   .clients = 1,
					   .weight = (uint32_t)p->weight,
					   .min_bps = (uint64_t)p->min,
					   .period_ns = p->period_s * HX_SEC,
					   .moved = { 0, (uint64_t)p->moved },
					   .queued_bytes = p->wants ? 1 << 20 : 0,
					   .waited_ns = (int64_t)p->waited_ns,
					   .inside = p->wants };

		snprintf(j.name, sizeof(j.name), "j%" PRIu64, p->job);
		sl_report_put_job(f, &j);
		busy |= p->wants;
	}
	fclose(f);
	send_letter(w, i, false, false, text);
	n->known = true;
	n->due = w->now + (busy ? n->every : HX_SEC);
}

static void obey(struct world *w, uint32_t i, char *text)
{
	struct node *n = &w->node[i];
	struct sl_orders_line l;
	int what;

	while ((what = sl_orders_next(&text, &l)) > 0) {
		if (what == SL_LINE_EPOCH && l.epoch.term < n->term)
			return;
		if (what == SL_LINE_EPOCH && l.epoch.layer_bps) {
			bool lowered = (double)l.epoch.draw_bps < n->draw;

			n->term = l.epoch.term;
			n->draw = (double)l.epoch.draw_bps;
			n->ack = l.epoch.order;
			n->every = l.epoch.every_ns;
			if (lowered)
				send_letter(w, i, false, true, NULL);
		}
		for (unsigned k = 0; what == SL_LINE_JOB && k < n->places; k++)
			if (n->place[k].job == l.job.id)
				n->place[k].ordered =
					l.job.rate_bps == UINT64_MAX ? -1 : (double)l.job.rate_bps;
	}
	hx_check(what == SL_LINE_END, "orders that make no sense");
}

static void deliver(struct world *w)
{
	while (w->first && w->first->at <= w->now) {
		struct letter *l = w->first;
		struct node *n = &w->node[l->node];
		int rc = 0;

		w->first = l->next;
		if (n->dead) {
			/* nobody is there */
		} else if (l->order) {
			obey(w, l->node, l->text);
		} else if (l->ack) {
			brain_ack(w->brain, l->node, n->ack);
		} else {
			rc = strncmp(l->text, "node", 4)
				     ? brain_delta(w->brain, l->node, l->text, w->now)
				     : brain_report(w->brain, l->text, w->now);
		}
		hx_check(rc >= 0, "a report was refused: %d", rc);
		free(l->text);
		free(l);
	}
}

/* ---- service ---- */

/* What a node draws: ordered rates first, what is left by weight. */
static double serve(struct node *n)
{
	double left = n->draw, weights = 0, sum = 0, first = 0;

	for (unsigned k = 0; k < n->places; k++)
		if (n->place[k].wants) {
			first += n->place[k].ordered > 0 ? n->place[k].ordered : 0;
			weights += n->place[k].weight;
		}
	if (!(weights > 0))
		return 0;
	left = first < n->draw ? n->draw - first : 0;
	for (unsigned k = 0; k < n->places; k++) {
		struct place *p = &n->place[k];
		double rate = p->ordered > 0 ? p->ordered : 0;

		if (!p->wants)
			continue;
		rate = (first > n->draw ? rate * n->draw / first : rate) +
		       left * p->weight / weights;
		p->moved += rate * (double)STEP / 1e9;
		p->waited_ns += (double)STEP;
		sum += rate;
	}
	return sum;
}

static void step(struct world *w)
{
	double sum = 0, *slot = &w->drawn[w->now / STEP % 1000];
	int64_t node;

	deliver(w);
	brain_decide(w->brain, w->now);
	while ((node = brain_next(w->brain, w->now, HX_SEC)) >= 0) {
		char *text = NULL;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		brain_orders(w->brain, (uint32_t)node, w->now, f);
		fclose(f);
		send_letter(w, (uint32_t)node, true, false, text);
	}
	for (uint32_t i = 0; i < NODES; i++) {
		struct node *n = &w->node[i];

		if (n->dead)
			continue;
		if (w->now >= n->due)
			report(w, i);
		if (n->places)
			sum += serve(n);
	}
	w->sum += (sum - *slot) * (double)STEP / 1e9;
	*slot = sum;
	w->most = w->sum > w->most ? w->sum : w->most;
	w->now += STEP;
}

static void pass(struct world *w, int64_t ms)
{
	for (int64_t end = w->now + ms * HX_MS; w->now < end && !hx_failed();)
		step(w);
}

/* Rates of jobs over so many ms, into rate[job]. */
static void rates(struct world *w, int64_t ms, double *rate, unsigned jobs)
{
	for (int sign = -1; sign <= 1; sign += 2) {
		for (uint32_t i = 0; i < NODES; i++)
			for (unsigned k = 0; k < w->node[i].places; k++)
				if (w->node[i].place[k].job < jobs)
					rate[w->node[i].place[k].job] +=
						sign * w->node[i].place[k].moved;
		if (sign < 0)
			pass(w, ms);
	}
	for (unsigned j = 0; j < jobs; j++)
		rate[j] *= 1000.0 / (double)ms;
}

static void check_sum(const struct world *w)
{
	hx_check(w->most <= BOUND * CAPACITY * 1.0001, "%.0f were drawn in a second", w->most);
}

static void near(const char *what, double got, double wanted, double within)
{
	hx_check(fabs(got - wanted) <= within * CAPACITY, "%s: %.0f instead of %.0f", what, got,
		 wanted);
}

/* ---- the cases ---- */

static void alone(void)
{
	struct world *w = begin("wfq", NULL);
	double rate[2] = { 0 };

	hx_case("a job alone on one of %d nodes has all, .2 s after its start", NODES);
	pass(w, 1000);
	add(w, 3, 1, 1);
	pass(w, 200);
	rates(w, 2000, rate, 2);
	hx_check(rate[1] >= .98 * CAPACITY, "it has %.0f", rate[1]);
	check_sum(w);
	end(w);
}

static void weights(void)
{
	struct world *w = begin("wfq", NULL);
	double rate[3] = { 0 };

	hx_case("weights of 4 to 1 on different nodes; a node is killed; a new controller");
	pass(w, 1000);
	add(w, 3, 1, 4);
	add(w, 700, 2, 1);
	pass(w, 500);
	rates(w, 2000, rate, 3);
	near("weight 4", rate[1], .8 * CAPACITY, .02);
	near("weight 1", rate[2], .2 * CAPACITY, .02);
	check_sum(w);
	/* The other controller knows nothing; half a second later it is right. */
	new_brain(w);
	pass(w, 1000);
	memset(rate, 0, sizeof(rate));
	rates(w, 1000, rate, 3);
	near("weight 4, new controller", rate[1], .8 * CAPACITY, .02);
	near("weight 1, new controller", rate[2], .2 * CAPACITY, .02);
	check_sum(w);
	w->node[3].dead = true;
	brain_node_gone(w->brain, 3, true, w->now);
	pass(w, 1000);
	memset(rate, 0, sizeof(rate));
	rates(w, 1000, rate, 3);
	near("who is left", rate[2], CAPACITY, .02);
	check_sum(w);
	end(w);
}

static void by_period(const char *title, const char *share, const char *grant)
{
	struct world *w = begin(share, grant);
	double rate[4] = { 0 };

	hx_case("%s: 99 to 1, wherever they are", title);
	pass(w, 1000);
	add(w, 1, 1, 1)->period_s = 10;
	pass(w, 100);
	add(w, 2, 2, 1)->period_s = 1000;
	pass(w, 1000);
	rates(w, 2000, rate, 3);
	near("often", rate[1], .99 * CAPACITY, .02);
	near("rare", rate[2], .01 * CAPACITY, .02);
	check_sum(w);
	end(w);
}

static void guarantee(void)
{
	struct world *w = begin("wfq", NULL);
	double rate[5] = { 0 };

	hx_case("a min over three nodes beside greedy jobs");
	pass(w, 1000);
	for (uint32_t i = 0; i < 3; i++) {
		add(w, 10 + i, 1, 1)->min = .3 * CAPACITY;
		add(w, 10 + i, 2 + i, 100);
	}
	pass(w, 1000);
	rates(w, 2000, rate, 5);
	hx_check(rate[1] >= .99 * .3 * CAPACITY, "it has %.0f", rate[1]);
	near("all", rate[1] + rate[2] + rate[3] + rate[4], CAPACITY, .02);
	check_sum(w);
	end(w);
}

/* Jobs come and go at random; nothing is drawn twice, and nothing is left idle for long. */
static void churn(void)
{
	struct world *w = begin("wfq", NULL);
	struct hx_rng g = { hx_seed() };
	uint64_t jobs = 0;

	hx_case("jobs that come and go at 1,000 nodes do not draw too much together");
	pass(w, 1000);
	for (uint64_t i = 0, steps = hx_scaled(100); i < steps && !hx_failed(); i++) {
		uint32_t node = (uint32_t)hx_below(&g, NODES);

		if (w->node[node].places < PLACES)
			add(w, node, ++jobs, (double)(1 + hx_below(&g, 9)));
		node = (uint32_t)hx_below(&g, NODES);
		for (unsigned k = 0; k < w->node[node].places; k++)
			w->node[node].place[k].wants = hx_chance(&g, 50);
		pass(w, 30);
	}
	check_sum(w);
	end(w);
}

int main(void)
{
	alone();
	weights();
	by_period("io-sets", "io-sets,max_exclusive_ms=60000", NULL);
	by_period("grant=set-10", "wfq", "set-10");
	guarantee();
	churn();
	return hx_finish();
}
