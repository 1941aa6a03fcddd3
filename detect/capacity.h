/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding what a file system can do, while jobs use it, for reads and writes apart.
 *
 * The idea is that of BBR (Cardwell et al., ACM Queue 2016): pace at the rate that was delivered,
 * probe above it now and then, and trust throughput rather than times. On a busy machine the time of
 * a call is mostly waiting for a CPU (sluiced/ionode/window.h). To tell a busy file system from a
 * slow one, hold throughput a little below what it was and count the threads that stay *blocked*:
 *
 *	bandwidth is the limit   hold back 15 %: the queue drains, far fewer threads are blocked
 *	latency is the limit     hold back 15 %: calls take as long as before, 15 % fewer are blocked
 *
 * States, one step every CAPACITY_STEP_NS:
 *
 *	CLEAR   Nothing is held. Two jobs or more are blocked for four steps: TRIAL.
 *	TRIAL   The estimate is the mean of the last three. First drain what is under way: pace at .6 of it, until
 *	        fewer than 3/4 of those threads are blocked, but for four steps at most. Then pace at .85 for
 *	        two steps. If jobs waited for us and fewer than 3/4 of those threads are still blocked: PACED.
 *	        Otherwise it was latency:
 *	        CLEAR, and the next trial comes later, twice as late each time, up to a minute.
 *	PACED   Pace at .95 of the estimate, so that what waits, waits where it can be scheduled.
 *	        The estimate follows the queue. While it is as short as in the trial and jobs wait
 *	        for us, the estimate creeps up, .5 % each step. While it is longer the pace is .9, so that it
 *	        drains. A queue that lasts for two steps keeps the file system busy: what it delivers is the estimate
 *	        then. If it delivers just what is sent, the estimate is lowered by 4 %, for three steps at most.
 *	        From then on the estimate creeps no higher than 4 % below where the queue began, or 2 % above
 *	        what was measured, but for 1 % more every ten seconds.
 *	        Probe: every seven steps, while jobs wait for us, one step at 1.6. It ends as soon as
 *	        the queue has been long for some looks (capacity_look()), since from then on the
 *	        file system decides whose turn it is, not the scheduler. If it meets no queue and
 *	        1.5 or more is delivered, the next step probes at 2. If that meets none either, what it
 *	        has delivered is the estimate, and the next step probes further, at 1.6. If it does, and
 *	        there was more, the next step, at the same rate, shows how much there is.
 *	        Steps at .9, or less if much piled up, drain that.
 *	        The first probe comes soon after the trial, whose estimate is rough. If it meets a queue, the next step,
 *	        at 1.05, measures.
 *	        Lower: too little delivered for two steps (three, if it is little), while
 *	        there is a queue: the estimate is the most of what was delivered in these, and until then
 *	        the pace is .9. Without a queue the machine may have no CPU for us.
 *	        Fewer than two jobs, or nobody waits and few are blocked: CLEAR.
 *
 * Threads show a queue of write-back late: a program blocks when its own limit of write-back is
 * under way, and from then on the file system decides whose turn it is. So where a sensor counts what
 * was done, what was started and not done is a queue, too.
 *
 * Why the probe is large and short: file systems have slack, a cache or a token bucket that fills
 * while they are used below their rate, and take a tenth of a second more than they can do. A probe
 * must move more than that to show anything.
 *
 * So a job alone is never held, nothing is held while nothing is congested, and a sample in which
 * the applications did not use what they had never lowers the estimate. The load of others is part
 * of what is measured: what they take is not delivered to us.
 *
 *	device 100 MB/s, two writers     CLEAR: 100 delivered, 2 threads blocked
 *	TRIAL at 85: 1.0 blocked, both wait for us     PACED at 95
 *	device 50 MB/s: 50, 50 delivered, 2 blocked    estimate 50, PACED at 47.5
 *	device 100 MB/s: 80, then 100 delivered: 100; then 133 and a queue; then 100: 100
 *
 * Reads and writes share one budget of time: a byte costs 1/estimate of its direction. A change is
 * applied to the directions that had a fifth or more of what was delivered. On a file system whose
 * directions are independent, both estimates grow while both are used.
 *
 * Estimates stay between CAPACITY_LEAST and CAPACITY_MOST. Pure: time is an argument.
 */
#ifndef SL_DETECT_CAPACITY_H
#define SL_DETECT_CAPACITY_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice.h"

#define CAPACITY_STEP_NS INT64_C(300000000)
#define CAPACITY_LEAST	 1e6 /* bytes a second */
#define CAPACITY_MOST	 1e13
#define CAPACITY_RECENT	 3 /* steps that are kept */

enum capacity_state { CAPACITY_CLEAR, CAPACITY_TRIAL, CAPACITY_PACED };

/* What was seen since the last step. */
struct capacity_sample {
	double seconds;
	double delivered_bytes[2]; /* by enum sl_op */
	double moved_s; /* in which that was moved, if not in `seconds`: 0; negative: nothing is known */
	uint32_t jobs;	       /* that did I/O, waited for us, or were blocked */
	uint32_t jobs_blocked; /* of these, with a thread in the file system half of the time or
				      more */
	double blocked;	       /* threads in the file system, mean */
	double waited;	       /* threads that waited for us, mean */
	double backlog_bytes;  /* writes that were started and not done, minus those before that
				      were done; 0: not known */
};

struct capacity {
	enum capacity_state state;
	double estimate_bps[2]; /* 0: not found yet */
	double gain;		/* of the estimate that is paced at */
	double recent_bytes[CAPACITY_RECENT][2];
	double recent_s[CAPACITY_RECENT];
	uint32_t recent;
	double blocked_before; /* when the trial began */
	double trial_blocked;
	uint32_t drains;      /* steps of the trial that drain what was under way, still to come */
	uint32_t steps;	      /* in this state */
	uint32_t congested;   /* steps in succession, in CLEAR */
	uint32_t low;	      /* steps in succession with too little delivered */
	double low_most;      /* of what they had, the most */
	uint32_t stalled;     /* steps in succession with much less, and no queue to be seen */
	uint32_t queued;      /* steps in succession with a long queue */
	uint32_t calm;	      /* steps without, since the ceiling was last lifted */
	double backlog_bytes; /* write-back that the file system has not done yet */
	double room;	      /* by this may the estimate creep up; 0: no ceiling is known */
	uint32_t since_probe; /* steps */
	bool probing;	      /* now */
	bool probed;	      /* in this step */
	bool saturated;	      /* by the probe: there is a queue */
	bool unsure;	      /* the estimate is that of the trial: the first probe measures */
	bool measuring;	      /* the step after a probe that found more and met a queue */
	uint32_t probes;      /* in succession that found more */
	uint32_t queued_looks, backlog_looks; /* of the probe, in succession */
	uint32_t unused;    /* steps in succession in which nobody waited for us */
	uint32_t lonely;    /* with fewer than two jobs */
	sl_time not_before; /* the next trial */
	sl_time backoff_ns;
	const char *why; /* the last decision, in words */
};

void capacity_init(struct capacity *c);
void capacity_step(struct capacity *c, const struct capacity_sample *s, sl_time now);
/*
 * The queue at this moment, to be called more often than capacity_step(): threads that are blocked, and
 * by how many bytes write-back was started faster than done since the step began (0: not known). True:
 * the pace has changed.
 */
bool capacity_look(struct capacity *c, double blocked, double backlog_bytes);
/* The same where nobody may be held: the estimate is the most that was delivered while jobs were
 * blocked. */
void capacity_observe(struct capacity *c, const struct capacity_sample *s);
/* What may be sent in a second, for the mix of reads and writes that was last seen; 0: everything
 * may. */
double capacity_pace_bps(const struct capacity *c);

#endif
