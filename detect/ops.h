/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many metadata operations a file system takes before they get in each other's way.
 *
 * The sign of a storm is that an operation takes longer than it need. So the (geometric) mean time
 * of the operations of each class is compared with the least that it has been:
 *
 *	slow = mean over the timed operations of their time / the least of their class
 *
 * Every 100 ms, while two jobs or more make operations:
 *
 *	no limit, slow above HIGH       limit the operations to 0.7 of what there are
 *	no limit, nothing tried lately  try: half of what there are, for some steps. If operations
 *	                                get faster by that, they had been in each other's way: the
 *	                                least is lower now, and the limit stays
 *	limit, slow above HIGH          0.85 of the limit
 *	limit, slow below LOW           1.05 of it; given up when it has not been reached for long
 *
 * A job that is alone is never held: no other job would gain by it. The least grows slowly, so that
 * a file system that has become slower is not held for ever.
 *
 *	a alone, 16 processes: 60,000/s, 180 us each. b comes: 30,000/s are tried, 9 us each. So the
 *	least is 9 us, 180 us are 20 times that, and the limit falls until it is below HIGH.
 */
#ifndef SL_DETECT_OPS_H
#define SL_DETECT_OPS_H

#include <stdint.h>

#define SL_OPS_CLASSES 8
#define SL_OPS_STEP_NS INT64_C(100000000)

struct sl_ops_step {
	uint64_t calls[SL_OPS_CLASSES]; /* timed ones */
	double log2[SL_OPS_CLASSES];	/* sum of the logarithms of their times in ns */
	uint64_t made;			/* all operations */
	int64_t took_ns;		/* length of the step */
	uint32_t jobs;			/* that made some */
};

/* All 0 at the start. */
struct sl_ops_find {
	double least[SL_OPS_CLASSES]; /* logarithm of ns; 0: not known */
	double limit;		      /* per second; 0: none */
	double before;		      /* how slow operations were when a try began */
	uint32_t trying;	      /* steps left */
	uint32_t rested;	      /* steps since the last try */
	uint32_t unreached;	      /* steps in which the limit was not reached */
};

/* The limit from now on, per second; 0: none. */
double sl_ops_find_step(struct sl_ops_find *f, const struct sl_ops_step *s);

#endif
