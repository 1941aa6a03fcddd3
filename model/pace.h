/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pacer of an I/O node: limits its rate by the time from which the next batch may be sent.
 * Pure; used by the node and by the simulator.
 *
 *	100 MB/s, batches of 1 MB: sent at 0, 10, 20 ms
 */
#ifndef SL_MODEL_PACE_H
#define SL_MODEL_PACE_H

#include "sluice.h"

/* Delay by late timers and busy CPUs that is made up for. */
#define SL_PACE_SLACK_NS INT64_C(10000000)

struct sl_pace {
	uint64_t bps;	/* 0: no limit */
	sl_time at;	/* not before */
	uint64_t carry; /* of the division by bps */
};

/* Account for bytes sent; a negative number returns bytes that were not sent. */
static inline void sl_pace_sent(struct sl_pace *p, int64_t bytes, sl_time now)
{
	unsigned __int128 cost;

	if (!p->bps)
		return;
	if (bytes < 0) {
		p->at -= (sl_time)((unsigned __int128)-bytes * 1000000000 / p->bps);
		return;
	}
	if (p->at < now - SL_PACE_SLACK_NS)
		p->at = now - SL_PACE_SLACK_NS;
	cost = (unsigned __int128)bytes * 1000000000 + p->carry;
	p->at += (sl_time)(cost / p->bps);
	p->carry = (uint64_t)(cost % p->bps);
}

/* Change the rate. Debt is kept in bytes, so it takes more time at a lower rate. */
static inline void sl_pace_set(struct sl_pace *p, uint64_t bps, sl_time now)
{
	if (bps == p->bps)
		return;
	if (p->at > now && bps && p->bps) {
		unsigned __int128 later = (unsigned __int128)(p->at - now) * p->bps / bps;

		p->at = now + (later < SL_NEVER / 4 ? (sl_time)later : SL_NEVER / 4);
	}
	if (!bps)
		p->at = 0;
	p->bps = bps;
	p->carry = 0;
}

#endif
