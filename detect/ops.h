/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many metadata operations a file system takes before those of one job slow down the others.
 *
 * The sign of a storm is that the operations of jobs that make few of them take longer than they
 * need. Why they do is not asked: a lock, a journal, a server with a queue, or a busy processor. So
 * the mean time of a job's operations, by class, is compared with the least that it has been:
 *
 *	slow = mean over classes of (mean time now / the least mean time), by their numbers
 *
 * A time counts for SL_OPS_MOST times the least at most. So one call in a hundred that takes 64
 * times as long is seen (1.6), and one in a thousand is not.
 *
 * The jobs that are judged make less than half of what the largest job makes, by weight. What the
 * largest does to itself is its own affair. Every 100 ms:
 *
 *	no limit, slow above HIGH   limit all operations together to half of what there are
 *	limit, slow above HIGH      0.7 of the limit; not less than what leaves to each small job, by its
 *	                            weight, what it asks for
 *	limit, slow below LOW       1.1 of it; given up when it has not been reached for long
 *	the limit cannot fall, or has fallen to an eighth, and that has not helped
 *	                            give up; what is slow now counts as normal
 *	no limit, a new job         its least is not known, if the storm was there first. Try: an eighth of what
 *	                            there is, for some steps. If it gets faster by that, go on as above.
 *	                            Later tries are 10, 20, 40, … 320 s apart if they have shown nothing
 *
 * The limit is of all operations together: the caller divides it by weights. Since jobs that are
 * judged make less than their part, only larger ones are held. A job that is alone is never held.
 *
 *	A server takes 10,000/s, one at a time. a has 16 processes: 9,600/s, 1.6 ms each. b makes 400/s,
 *	1.6 ms each. A try at 1,250/s: b needs .11 ms, so 1.6 ms are 15 times that. 5,000/s are the first
 *	limit, .16 ms, 1.5 times; and from there it creeps.
 */
#ifndef SL_DETECT_OPS_H
#define SL_DETECT_OPS_H

#include <stdbool.h>
#include <stdint.h>

#define SL_OPS_CLASSES 8
#define SL_OPS_STEP_NS INT64_C(100000000)
#define SL_OPS_MOST    64.0

/* A job. All 0 at the start, but for what the caller sets before each step. */
struct sl_ops_job {
	/* Set before each step: what it has made since the last one. */
	uint64_t made;
	uint64_t calls[SL_OPS_CLASSES]; /* timed ones */
	uint64_t ns[SL_OPS_CLASSES];	/* the sum of their times */
	double weight;			/* above 0 */
	/* Kept. */
	double rate;		       /* operations per second, smoothed */
	double slow;		       /* times the least; 0: not known */
	double mean[SL_OPS_CLASSES];   /* smoothed, ns; 0: not known */
	double least[SL_OPS_CLASSES];  /* of that */
	double before[SL_OPS_CLASSES]; /* the mean when a try began */
	double part[SL_OPS_CLASSES];   /* of each class in the job's timed calls, smoothed */
	double batch_ns[SL_OPS_CLASSES];
	uint64_t batch[SL_OPS_CLASSES]; /* timed calls that are in no mean yet */
	uint32_t batches;		/* that are; since the limit has changed */
	uint32_t age;			/* steps since the last one */
	bool small;			/* it is judged */
	bool known;			/* a try has shown its least */
};

/* All 0 at the start. */
struct sl_ops_find {
	double limit;	   /* operations per second; 0: none */
	double begin_slow; /* when the limit was set first */
	double begin_rate;
	bool trying;
	uint32_t settling;  /* steps since the limit changed, from 1; 0: it has shown its effect */
	uint32_t rested;    /* steps since the last try */
	uint32_t rest;	    /* steps until the next one */
	uint32_t unreached; /* steps in which the limit was not reached */
};

/* The limit from now on, per second; 0: none. */
double sl_ops_find_step(struct sl_ops_find *f, struct sl_ops_job *const *jobs, uint32_t n,
			int64_t took_ns);

#endif
