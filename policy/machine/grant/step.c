/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pulls jobs apart that keep step: what one delay now saves in every period to come.
 *
 * Keys say what a byte is worth now (measure.c). They do not see that what happens now will happen
 * again. Two jobs of the same period that ask together are served together, because their keys are
 * the same, so they compute together and ask together for ever; and the jobs that find no bandwidth
 * beside both, though they would beside one, pay in every period. One delay of one of them ends
 * that. It is paid once, and the machine is better off for ever.
 *
 * Example, set 6 of Aupy, Gainaru, Le Fèvre 2019: B = 300. Four jobs A that use 128 for 331 s every
 * 15691 s, two jobs T that use 64 nearly always. By keys, A A, and 44 for the others: the two T
 * lose 84 of 128, and 331 s later A A are still in step. Here A, T, T, and 44 for the second A: it
 * ends 217 s after the first, next time it overlaps with it for 114 s only, and so on until they
 * are apart. Then A, T, T is all there is, 256, and nobody waits.
 *
 * The rule: among jobs of the same period (to a thousandth: then the step lasts for as many periods
 * as a transfer is thousandths of one), the one that asked first keeps its key. The others follow
 * it: each goes behind the last job that is not one of them, later ones behind earlier ones, so
 * that they move away from each other and not back. Only if
 *
 * - bandwidth is short now, else the order does not matter;
 * - it is not short most of the time: a job that is moved must come to a place that is free. It is
 *   short whenever all that want I/O could use more than there is; ST_BUSY is for the part of the
 *   time, averaged as prices are. At 1.2 times the load that could be done, without this, the rule
 *   cost up to 5 %;
 * - the job that is let pass makes the delay good in a few periods. A second without its bandwidth
 *   loses it beta * w / (w + t_io) / cap for each byte/s; that must be at least 1/ST_REPAID of what
 *   the follower loses. So a job that hardly computes delays nobody.
 *
 * No job starves: while a job waits bandwidth is short, and soon too much of the time.
 *
 * Jobs of which no two have the same period are not touched. Where several groups keep step, the
 * job that they let pass is found for the group that loses most by waiting, and is the same for
 * all.
 *
 * Jobs of a period meet in one of ST_SLOTS places, by the first bits of the period; the one that
 * asked first stays there. If it has another period, those behind it are not seen to keep step:
 * that may lose the gain, and nothing else. O(n) a decision.
 */
#include <string.h>

#include "policy/machine/grant/list.h"

#define ST_SLOTS  256
#define ST_BITS	  45   /* of a double's fraction that are left out: places are 1/128 wide */
#define ST_SAME	  1e-3 /* periods that differ by a smaller part are the same */
#define ST_REPAID 10   /* periods in which a delay must be made good */
#define ST_BUSY	  0.25 /* part of the time in which bandwidth may be short */
#define ST_BEHIND 1e-6 /* small against any difference that matters */

static uint32_t st_slot(const struct sl_io_job *j)
{
	double period_s = sl_grant_period_s(j);
	uint64_t bits;

	memcpy(&bits, &period_s, sizeof(bits));
	return (uint32_t)(bits >> ST_BITS) % ST_SLOTS;
}

static bool st_same(const struct sl_io_job *a, const struct sl_io_job *b)
{
	double off = sl_grant_period_s(a) / sl_grant_period_s(b) - 1;

	return off <= ST_SAME && off >= -ST_SAME;
}

/* The loss of one second with one byte/s less than the job can use. */
static double st_loss(const struct sl_io_job *j)
{
	return j->procs * j->compute_s / (sl_grant_period_s(j) * j->cap_bps);
}

/* The job that it keeps step with and that asked before it; NULL: none. */
static const struct sl_io_job *st_leader(struct sl_io_job *const *first, const struct sl_io_job *j)
{
	const struct sl_io_job *leader = first[st_slot(j)];

	return leader != j && st_same(j, leader) ? leader : NULL;
}

void sl_grant_out_of_step(const struct sl_grant_price *p, struct sl_io_job *const *jobs, uint32_t n)
{
	struct sl_io_job *first[ST_SLOTS];
	const struct sl_io_job *dearest = NULL;
	double loss = 0, last = 0, longest = 1;

	if (n < 3 || p->wanted_bps <= p->capacity_bps || p->busy > ST_BUSY)
		return;
	memset(first, 0, sizeof(first));
	for (uint32_t i = 0; i < n; i++) {
		struct sl_io_job *j = jobs[i], **f = &first[st_slot(j)];

		if (!*f || j->asked < (*f)->asked ||
		    (j->asked == (*f)->asked && j->job < (*f)->job))
			*f = j;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct sl_io_job *leader = st_leader(first, jobs[i]);

		if (!leader)
			continue;
		if (st_loss(jobs[i]) > loss) {
			loss = st_loss(jobs[i]);
			dearest = leader;
		}
		if ((double)(jobs[i]->asked - leader->asked) > longest)
			longest = (double)(jobs[i]->asked - leader->asked);
	}
	if (!dearest)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (jobs[i]->rate_bps > last && st_loss(jobs[i]) * ST_REPAID >= loss &&
		    !st_same(jobs[i], dearest))
			last = jobs[i]->rate_bps;
	for (uint32_t i = 0; i < n; i++) {
		struct sl_io_job *j = jobs[i];
		const struct sl_io_job *leader = st_leader(first, j);

		if (leader && j->rate_bps < last)
			j->rate_bps =
				last * (1 + ST_BEHIND +
					ST_BEHIND * (double)(j->asked - leader->asked) / longest);
	}
}
