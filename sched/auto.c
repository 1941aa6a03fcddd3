/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order=auto in a scheduler: for each lane, watch the pattern of its requests, ask the tree, and
 * run the policy that the tree chooses (order/auto-choose.c decides when to change). The policy is
 * put into the flow itself, as by sl_policy_set(): waiting requests are taken out in arrival order
 * and added again; requests in flight stay, and the fence covers them. So a request costs the same
 * as under that policy, plus the detector, and no request is in two queues.
 *
 * After 8 requests the pattern is not known yet. We then ask the tree whether the choice is the
 * same for every pattern: a run may be short, and processes that have lost step recover slowly.
 * After 64 more requests the pattern is examined when a batch is done, then half as often each time
 * that it has not changed, down to every 1024th request, because examining takes a microsecond. All
 * inputs come from calls of the scheduler, so the same calls give the same choices.
 *
 * The tree gets the device's ratio at the mean size of the requests, or no ratio if it is unknown.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sched/sched.h"

#define GUESS	   8 /* requests; until then it is to-agg */
#define FIRST_LOOK 64
#define LAST_LOOK  1024

/* ---- memory and trees ---- */

int sl_auto_prepare(struct sl_sched *s, const char *text, const struct sl_spec *spec, char *err,
		    size_t err_size)
{
	char name[SL_SPEC_FILE_MAX + 1];
	bool given;

	if (!sl_order_ops(spec)->chooses)
		return 0;
	if (!s->choices)
		s->choices = calloc((size_t)s->limits.jobs + 1, sizeof(s->choices[0]));
	if (!s->choices || sl_watch_start(s)) {
		snprintf(err, err_size, "order/auto: no memory to watch %u jobs", s->limits.jobs);
		return -ENOMEM;
	}
	given = sl_spec_file(text, "tree", name);
	if (!given && sl_advisor_find(s, 0))
		return 0;
	return sl_advisor_get(s, given ? name : NULL, err, err_size) ? 0 : -EINVAL;
}

void sl_auto_free(struct sl_sched *s)
{
	sl_advisors_free(s);
	free(s->choices);
	free(s->watch_all);
}

void sl_choice_begin(struct sl_sched *s, struct sl_lane *l, const struct sl_spec *order)
{
	struct sl_choice *c;

	l->choice = NULL;
	if (!sl_order_ops(order)->chooses)
		return;
	c = &s->choices[l->index];
	*c = (struct sl_choice){ .advisor = sl_advisor_find(s, order->values[SL_P_TREE]),
				 .values = order->values,
				 .look = GUESS,
				 .between = FIRST_LOOK,
				 .ratio = NAN };
	l->choice = c;
}

/* ---- the device ---- */

static unsigned log2_of(uint64_t bytes)
{
	unsigned i = 63U - (unsigned)__builtin_clzll(bytes | 1);

	/* Round to the nearest power: 12 KiB counts as 16. */
	i += bytes >> i > 0 && i > 0 && bytes & UINT64_C(1) << (i - 1) ? 1 : 0;
	return i < SL_RATIOS ? i : SL_RATIOS - 1;
}

int sl_ratio_set(struct sl_sched *s, uint32_t op, uint64_t bytes, uint32_t ratio_milli)
{
	if (op > SL_WRITE || bytes == 0 || bytes > SL_MAX_LENGTH)
		return sl_fail(
			s, -EINVAL,
			"ratio: the operation must be read or write, and the size 1 to 2^40 bytes");
	s->ratio_milli[op][log2_of(bytes)] = ratio_milli;
	return 0;
}

/*
 * Round to hundredths, as in the tables that trees learn from: 23.294 is not above a threshold of
 * 23.29.
 */
static double in_hundredths(uint32_t milli)
{
	uint32_t hundredths = (milli + 5) / 10;

	return hundredths / 100.0;
}

static double ratio_of(const struct sl_sched *s, const struct sl_choice *c, uint32_t op,
		       uint64_t bytes)
{
	unsigned at = log2_of(bytes);

	if (c->values[SL_P_RATIO_PERCENT])
		return (double)c->values[SL_P_RATIO_PERCENT] / 100;
	for (unsigned off = 0; off < SL_RATIOS; off++) {
		if (off <= at && s->ratio_milli[op][at - off])
			return in_hundredths(s->ratio_milli[op][at - off]);
		if (at + off < SL_RATIOS && s->ratio_milli[op][at + off])
			return in_hundredths(s->ratio_milli[op][at + off]);
	}
	return NAN;
}

/* ---- the choice ---- */

/* Not 0. */
static uint32_t look_context(const struct sl_access_pattern *p, unsigned arm)
{
	return 1 + (p->op | (uint32_t)p->spatial << 1 | (uint32_t)p->size << 3 | arm << 5);
}

/* Use the tree's choice for this device if it is the same for all patterns; else change nothing. */
static bool guess(struct sl_choice *c, struct sl_access_pattern *p, double ratio)
{
	double share[SL_AUTO_ARMS];
	unsigned arm;

	p->spatial = SL_ACCESS_CONTIGUOUS;
	arm = sl_advisor_ask(c->advisor, p, ratio, share);
	p->spatial = SL_ACCESS_STRIDED;
	return sl_advisor_ask(c->advisor, p, ratio, share) == arm && sl_auto_guess(&c->by, arm);
}

static bool look(struct sl_sched *s, struct sl_lane *l)
{
	struct sl_choice *c = l->choice;
	struct sl_access *watch = s->slots[l->index].watch;
	struct sl_access_pattern p;
	uint32_t before = c->by.context;
	double ratio, share[SL_AUTO_ARMS];
	unsigned arm;
	bool changes;

	c->look = c->between;
	if (!watch)
		return false;
	sl_access_get(watch, &p);
	if (p.files == 0)
		return false;
	if (p.requests < FIRST_LOOK)
		p.spatial = SL_ACCESS_UNKNOWN;
	ratio = ratio_of(s, c, p.op, p.request_bytes);
	if (p.spatial == SL_ACCESS_UNKNOWN) {
		c->look = p.requests < FIRST_LOOK ? FIRST_LOOK - (uint32_t)p.requests : FIRST_LOOK;
		return guess(c, &p, ratio);
	}
	arm = sl_advisor_ask(c->advisor, &p, ratio, share);
	changes = sl_auto_advise(&c->by, arm, share, look_context(&p, arm));
	if (c->by.doubt != c->by.context)
		c->between = FIRST_LOOK; /* the pattern may have changed */
	else if (c->by.context == before && c->between < LAST_LOOK)
		c->between *= 2;
	c->look = c->between;
	if (c->by.doubt == c->by.context) {
		c->pattern = p;
		c->ratio = ratio;
	}
	return changes;
}

void sl_choice_sent(struct sl_sched *s, struct sl_lane *l, sl_time now)
{
	if (l->flow.inflight == 1)
		sl_auto_sent(&l->choice->by, s->decisions == l->choice->turn + 1, now);
}

void sl_choice_done(struct sl_sched *s, struct sl_lane *l, uint64_t bytes, uint32_t requests,
		    sl_time now)
{
	struct sl_choice *c = l->choice;
	bool changes = sl_auto_done(&c->by, bytes, requests, l->flow.waiting,
				    c->values[SL_P_CORRECT] != 0, now);

	c->turn = s->decisions;
	if (c->look > requests)
		c->look -= requests;
	else
		changes = look(s, l) || changes;
	if (changes)
		sl_lane_attach(s, l, sl_slot_order(s, &s->slots[l->index]), sl_lane_detach(l), now);
}

void sl_choice_reason(const struct sl_choice *c, char *out, size_t size)
{
	const struct sl_auto *a = &c->by;
	const struct sl_access_pattern *p = &c->pattern;
	char ratio[32] = "";

	if (!a->known) {
		snprintf(out, size, "too few requests yet");
		return;
	}
	if (a->trials) {
		snprintf(out, size, "trial: compared with %s", sl_auto_ops(a->best)->base.name);
		return;
	}
	if (a->measured) {
		snprintf(out, size, "measured: %u %% faster than %s", a->percent,
			 sl_auto_ops(a->beaten)->base.name);
		return;
	}
	if (!isnan(c->ratio))
		snprintf(ratio, sizeof(ratio), ", ratio %.3g", c->ratio);
	snprintf(out, size, "tree: %s %s %ss on %u file%s%s", sl_access_spatial_name(p->spatial),
		 sl_access_size_name(p->size), p->op == SL_WRITE ? "write" : "read", p->files,
		 p->files == 1 ? "" : "s", ratio);
}
