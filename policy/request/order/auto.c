/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto: one of the other order policies, whichever suits the stream.
 *
 * Seed: AGIOS (Boito et al. 2015), §4: a decision tree over the access pattern and the device's
 * ratio of sequential to random throughput selects the algorithm. This is the table alone: the
 * scheduler chooses for each lane (sched/auto.c, by order/auto-choose.c) and puts the chosen
 * policy in the flow itself, so that a request costs what it costs under that policy. A flow that
 * nobody chooses for is ordered as by to-agg.
 *
 * The first five parameters stand where mlf and aioli have theirs, so that the values of auto are
 * those of every policy that it chooses.
 */
#include "policy/request/order/auto.h"

#include <string.h>

static const struct sl_param params[] = {
	SL_BATCH_PARAMS,
	SL_AGE_PARAM,
	SL_QUANTUM_PARAMS,
	SL_PARAM_NUMBER(
		"tree", SL_FILE, 0, INT64_MAX, 0,
		"A decision tree, as sluice-train(1) writes them; without it the built-in one."),
	SL_PARAM_NUMBER("ratio_percent", SL_COUNT, 0, 100000000, 0,
			"How many times faster the device serves sequential than random requests, "
			"in hundredths; 0: as profiled or modelled."),
	SL_PARAM_CHOICE(
		"correct", 1,
		"Try other policies now and then, and leave the tree's choice if one is faster.",
		"no", "yes"),
	{ 0 },
};

_Static_assert(SL_P_CORRECT < SL_MAX_PARAMS, "values of a spec");

static const struct sl_order_ops *const arms[SL_AUTO_ARMS] = {
	[SL_AUTO_TO_AGG] = &sl_order_to_agg, [SL_AUTO_TO] = &sl_order_to,
	[SL_AUTO_SJF] = &sl_order_sjf,	     [SL_AUTO_AIOLI] = &sl_order_aioli,
	[SL_AUTO_MLF] = &sl_order_mlf,
};

const struct sl_order_ops *sl_auto_ops(unsigned arm)
{
	return arms[arm];
}

int sl_auto_find(const char *name)
{
	for (int i = 0; i < SL_AUTO_ARMS; i++)
		if (!strcmp(arms[i]->base.name, name))
			return i;
	return -1;
}

static struct sl_run *auto_next(struct sl_flow *f, sl_time now)
{
	return sl_order_to_agg.next(f, now);
}

const struct sl_order_ops sl_order_auto = {
	.base = { .name = "auto",
		  .summary = "the policy that suits the stream: a decision tree, corrected by "
			     "measurement",
		  .source = "AGIOS (Boito et al. 2015), section 4; the correction is our own",
		  .params = params },
	.chooses = true,
	.add = sl_flow_add,
	.ready = sl_flow_ready,
	.next = auto_next,
	.done = sl_flow_done,
	.cancel = sl_flow_cancel,
	.drain = sl_flow_drain,
	.oldest = sl_flow_oldest,
};
