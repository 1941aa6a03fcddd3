/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates over several nodes (Hua et al. 2019, section 4: tokens live at the servers). A job's min
 * and max hold for the sum. Each node has a share of them, in proportion to the bytes that the job
 * recently moved and has waiting there, and a small share where it was idle, so that it can start
 * there at once.
 *
 * Bandwidth that a job misses while the shares adapt to its I/O is added for a while.
 *
 * Example: max 100M; moved of late 60M on node 0, 20M on node 1, nothing on node 2, where it has
 * clients: shares .7275, .2425, .03. A job that has done nothing yet has equal shares where its
 * clients are.
 *
 * O(nodes of the job).
 */
#include "sluiced/controller/private.h"

#define STANDBY	  0.03 /* of the rates, where a job has clients that do nothing */
#define STANDBYES 0.25 /* of the rates at most, for all such nodes together */

/*
 * While the shares adapt, a part of the max is at a node that does not use it. The job may make up
 * for what it misses, up to a quarter of a second's worth.
 */
static double make_up(struct brain_job *j, sl_time now)
{
	double most = (double)j->max_bps / 4, took = (double)(now - j->owed_at) / 1e9;
	bool wants = false;

	brain_for_parts(p, j)
	{
		wants |= p->queued_bytes > 0;
	}
	if (wants && j->owed_at && took < 1)
		j->owed_bytes +=
			(double)j->max_bps * took - (double)(j->moved_bytes - j->owed_from);
	else
		j->owed_bytes = 0;
	j->owed_at = now;
	j->owed_from = j->moved_bytes;
	j->owed_bytes = j->owed_bytes > most ? most : j->owed_bytes < -most ? -most : j->owed_bytes;
	return j->max_bps ? 1 + j->owed_bytes / (double)j->max_bps : 1;
}

static double want(const struct brain_part *p)
{
	return p->clients ? p->rate_bps + (double)p->queued_bytes : 0;
}

void rates_share_out(struct brain *b, struct brain_job *j, sl_time now)
{
	double sum = 0, whole, least;
	uint32_t places = 0, idle = 0;

	if (!j->min_bps && !j->max_bps && !(j->limits & SL_LIMITS_CALLS))
		return;
	whole = make_up(j, now);
	brain_for_parts(p, j)
	{
		sum += want(p);
		places += p->clients > 0;
	}
	least = places && STANDBY * places > STANDBYES ? STANDBYES / places : STANDBY;
	brain_for_parts(p, j)
	{
		idle += p->clients && want(p) < least * sum;
	}
	brain_for_parts(p, j)
	{
		double share = 0;

		if (!p->clients)
			share = 1; /* do not limit a first process */
		else if (sum <= 0)
			share = 1.0 / places;
		else if (want(p) < least * sum)
			share = least;
		else
			share = (1 - idle * least) * want(p) / sum;
		share *= p->clients ? whole : 1;
		p->share = (uint32_t)(share * SL_SHARE_WHOLE);
		if (p->ordered_share > share * SL_SHARE_WHOLE * 1.01 ||
		    p->ordered_share < share * SL_SHARE_WHOLE * 0.99) {
			p->ordered_share = p->share;
			pairs_news(b, p);
		}
	}
}
