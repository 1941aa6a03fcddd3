/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the next request of a job has not been sent yet, for `sluice status`. The reason is derived
 * from the state of the stages on demand. Nothing is counted, and no decision uses it.
 */
#ifndef SL_SCHED_WHY_H
#define SL_SCHED_WHY_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice.h"

enum sl_why_kind {
	SL_WHY_NOTHING, /* none waits */
	SL_WHY_HELD,	/* a strict grant of 0 */
	SL_WHY_CAP,	/* admit: it has used up its max */
	SL_WHY_GRANT,	/* admit: it has used up its grant, which is strict and below max */
	SL_WHY_ORDER,	/* its order policy waits for a better batch until a time that it knows */
	SL_WHY_OWN,	/* its order policy waits for a batch of the job that is in flight */
	SL_WHY_RANK,	/* its grant is 0: jobs with a grant go first */
	SL_WHY_JOB,	/* share: `job` goes first */
	SL_WHY_SET,	/* share: the set of io-sets goes first */
	SL_WHY_TURN,	/* it may go; others go first, and the policy can name no reason */
};

struct sl_why {
	enum sl_why_kind kind;
	uint64_t job;
	int set;
	bool behind; /* it is behind its min */
	/* Its grant is 0, even if no request waits; it sends only its min or lent bandwidth. */
	bool ungranted;
};

/* 0 or -ENOENT. */
int sl_job_why(const struct sl_sched *s, uint64_t job, sl_time now, struct sl_why *out);

/*
 * The first and last time since the last call at which it had requests inside; false: it had none.
 */
bool sl_job_inside(struct sl_sched *s, uint64_t job, sl_time now, sl_time *first, sl_time *last);

#endif
