/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order=auto: which of the other order policies suits a stream. See auto.c for the table,
 * auto-choose.c for the choice; sched/auto.c watches the stream, asks the tree and changes the
 * policy of the flow.
 *
 * Pure: time is an argument, all memory is the caller's; zeroed memory is a chooser that runs
 * to-agg.
 */
#ifndef SL_POLICY_REQUEST_ORDER_AUTO_H
#define SL_POLICY_REQUEST_ORDER_AUTO_H

#include "policy/request/order/quantum.h"

/* The policies to choose from; the first is what runs while nothing is known. */
enum sl_auto_arm {
	SL_AUTO_TO_AGG,
	SL_AUTO_TO,
	SL_AUTO_SJF,
	SL_AUTO_AIOLI,
	SL_AUTO_MLF,
	SL_AUTO_ARMS
};

/* Parameters behind those of aioli, whose places all others share. */
enum { SL_P_TREE = SL_P_QUANTUM_BYTES + 1, SL_P_RATIO_PERCENT, SL_P_CORRECT };

struct sl_auto {
	struct {
		double bps;    /* of its last spans */
		uint32_t due;  /* span from which on it may be tried again */
		uint32_t wait; /* spans, doubled with each trial that it lost */
	} arm[SL_AUTO_ARMS];
	sl_time mark;	     /* up to here time is accounted for */
	sl_time busy_ns;     /* in this span */
	uint64_t bytes;	     /* in this span */
	double span_bytes;   /* of a usual span */
	uint32_t requests;   /* in this span */
	uint32_t batches;    /* in this span */
	uint32_t settle;     /* requests to leave out before it */
	uint32_t spans;	     /* ended under `best` */
	uint32_t last_trial; /* spans when it ended */
	uint32_t probation;  /* spans in which `best` must stay faster than `beaten` was */
	uint32_t context, doubt;
	uint8_t running, best, advised; /* enum sl_auto_arm */
	uint8_t known;			/* the tree has been asked */
	uint8_t trials;			/* spans of the trial that is on; 0: none */
	uint8_t measured; /* best was found by measurement: it was so much faster than `beaten` */
	uint8_t beaten;
	uint8_t trial_ended; /* just now, and was lost */
	uint8_t harm;	     /* trials after which `best` was slower than before */
	uint32_t percent;
	double sum_bps;	      /* of the trial's spans */
	sl_time trial_ns;     /* busy since it began */
	uint64_t trial_bytes; /* the same */
};

const struct sl_order_ops *sl_auto_ops(unsigned arm);
int sl_auto_find(const char *name); /* an arm, or -1 */

/*
 * The tree's word for the pattern as it is now; share: what speaks for each arm, 1 together;
 * context: a number for that pattern. True: another arm runs from now on.
 */
bool sl_auto_advise(struct sl_auto *a, unsigned arm, const double share[SL_AUTO_ARMS],
		    uint32_t context);
/* Before that: an arm by what is known already. True: another arm runs from now on. */
bool sl_auto_guess(struct sl_auto *a, unsigned arm);
/* The stream's first batch goes while none is in flight. alone: nobody else was served since. */
void sl_auto_sent(struct sl_auto *a, bool alone, sl_time now);
/* A batch is done; `waiting` requests are still there. True: another arm runs from now on. */
bool sl_auto_done(struct sl_auto *a, uint64_t bytes, uint32_t requests, uint32_t waiting,
		  bool correct, sl_time now);

#endif
