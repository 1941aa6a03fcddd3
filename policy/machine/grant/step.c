/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Separate jobs that keep step: one delay now saves time in every later period.
 *
 * Keys say what a byte is worth now (measure.c). They do not consider that the same situation
 * returns in the next period. Two jobs of the same period that ask together have the same key, so
 * they are served together, compute together and ask together again: they *keep step*. A third job
 * that would find bandwidth beside one of them, but not beside both, loses time in every period.
 * One delay of one of the two ends this. The delay is paid once, and the gain returns in every
 * period.
 *
 * Example, set 6 of Aupy, Gainaru, Le Fèvre 2019: B = 300. Four jobs A that use 128 for 331 s every
 * 15691 s, and two jobs T that use 64 nearly always. By keys alone, two A are served and 44 is
 * left: the two T lose 84 of 128, and 331 s later the A still keep step. With this rule A, T, T are
 * served, and 44 is left for the second A. It ends 217 s after the first. In the next period the
 * two overlap for only 114 s, and so on until they are separate. Then A, T, T need 256 of 300, and
 * no job waits.
 *
 * The rule: among jobs of the same period (within a thousandth), the one that asked first keeps its
 * key. The others follow: each goes behind the last job that is not one of them, later ones behind
 * earlier ones, so that they move apart. The rule applies only if
 *
 * - bandwidth is short now; else the order does not matter;
 * - bandwidth is not short most of the time, because a delayed job must find free bandwidth later.
 * Bandwidth is short while the jobs that want I/O could use more than the capacity; ST_BUSY limits
 * the part of the time, averaged like prices. Without this condition, at 1.2 times the possible
 * load, the rule cost up to 5 %;
 * - the gain of the overtaking job repays the delay in a few periods. For each byte/s that it
 * lacks, that job loses beta * w / (w + t_io) / cap per second; this must be at least 1/ST_REPAID
 * of what the follower loses. So a job that hardly computes delays no other.
 *
 * No job starves: while a job waits, bandwidth is short, so the second condition soon fails.
 *
 * If no two jobs have the same period, nothing changes. If several groups keep step, the overtaking
 * job is chosen for the group that loses most by waiting, and is the same for all groups.
 *
 * Jobs of the same period are found by a table of ST_SLOTS slots, indexed by the first bits of the
 * period. A slot keeps the job that asked first. On a collision with another period the rule does
 * not see that jobs keep step, which loses the gain but does no harm. O(n) per decision.
 */
#include <string.h>

#include "policy/machine/grant/list.h"

#define ST_SLOTS  256
#define ST_BITS	  45   /* bits of a double's fraction to ignore: slots are 1/128 wide */
#define ST_SAME	  1e-3 /* periods with a smaller relative difference are the same */
#define ST_REPAID 10   /* periods within which the gain must repay a delay */
#define ST_BUSY	  0.25 /* largest part of the time in which bandwidth is short */
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

/* What the job loses in one second with one byte/s less than it can use. */
static double st_loss(const struct sl_io_job *j)
{
	return j->procs * j->compute_s / (sl_grant_period_s(j) * j->cap_bps);
}

/* The job that c keeps step with and that asked before it; NULL: none. */
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
