/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quanta and waits, as mlf and aioli use them (seed: AGIOS, §2.1 and §2.2).
 *
 * Quanta. A request starts with a quantum of 0 bytes; each time its queue is considered, the
 * quantum of every run in it grows by the queue's step; a run may go when its quantum covers its
 * length. The sum over all visits is kept once, in the queue: a run remembers where that sum
 * stood when it began, so a visit costs O(1) however many runs there are; a run merged from two
 * has the sum of their quanta. The step doubles after a visit that let nothing go, and halves
 * after a batch that used less than half of it: it settles near the length of the queue's
 * batches, and then one visit is enough.
 *
 * Example, quantum_bytes=8K and one run of 64K: visits grant 8, 16, 32, 64, in sum 8, 24, 56,
 * 120K, so the fourth lets it go with 56K left. The step stays 64K, and the next run of 64K goes
 * at its first visit.
 *
 * Waits. When a queue's last batch held more requests than the run at hand, or (aioli) when the
 * run does not begin where the queue's last batches kept ending (a "shift"), more is likely to
 * arrive: the queue waits, once for each run and for wait_us at the most. A wait that brought
 * nothing lowers the expectation, so it is not repeated.
 */
#ifndef SL_POLICY_REQUEST_ORDER_QUANTUM_H
#define SL_POLICY_REQUEST_ORDER_QUANTUM_H

#include "policy/request/order/flow.h"

enum { SL_P_WAIT_US = SL_P_MAX_AGE_MS + 1, SL_P_QUANTUM_BYTES };

/*
 * In one decision at most this many queues are considered; then the last one is served though
 * its quantum is too small. Keeps the cost of a decision constant.
 */
#define SL_QUANTUM_VISITS 32

#define SL_QUANTUM_PARAMS                                                                         \
	{ .name = "wait_us",                                                                      \
	  .help = "How long to wait for a better batch where one is likely; 0: never.",           \
	  .unit = SL_US,                                                                          \
	  .min = 0,                                                                               \
	  .max = 1000000,                                                                         \
	  .def = 500 },                                                                           \
	{                                                                                         \
		.name = "quantum_bytes", .help = "First grant to a queue; it adapts from there.", \
		.unit = SL_BYTES, .min = 1, .max = 1 << 30, .def = 64 << 10                       \
	}

/* One visit: whether the run may go. */
static inline bool sl_quantum_visit(const struct sl_flow *f, struct sl_queue *q, struct sl_run *run)
{
	if (!q->step)
		q->step = f->values[SL_P_QUANTUM_BYTES];
	q->granted += q->step;
	run->quantum += q->granted - run->granted;
	run->granted = q->granted;
	if (run->quantum >= (int64_t)run->batch.length)
		return true;
	if (q->step < INT64_C(1) << 40)
		q->step *= 2;
	return false;
}

/* The run has gone. */
static inline void sl_quantum_used(struct sl_queue *q, const struct sl_run *run)
{
	if ((int64_t)run->batch.length < q->step / 2)
		q->step /= 2;
	q->expected = run->batch.count;
}

/* Whether waiting for this run to grow is worth it; it is remembered that it was asked. */
static inline bool sl_quantum_wait(const struct sl_flow *f, const struct sl_queue *q,
				   struct sl_run *run)
{
	if (run->waited || !f->values[SL_P_WAIT_US] || sl_run_full(f, run))
		return false;
	if (run->batch.count >= q->expected)
		return false;
	run->waited = 1;
	return true;
}

#endif
