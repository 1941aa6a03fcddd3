/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Periods of jobs: the input of the detector (detect/period.h) for each job, and the use of its
 * results.
 *
 * While a job is not held up, its bandwidth shows its own phases. While it waits, it shows those of
 * other jobs: a job that is served between the phases of a more important one seems to have that
 * job's period. So the bytes of a stretch in which the job always had waiting requests are passed
 * to the detector at its end, as moved evenly (sl_period_stretch()); other bytes are passed as they
 * are reported.
 *
 *	10.00 s  4 requests inside                      the stretch begins
 *	10.05 s  7 MB, waited all the time
 *	10.10 s  1 MB, waited all the time
 *	10.15 s  2 MB, none inside, idle for 20 ms      10 MB from 10.00 to 10.13 s
 */
#include "sluiced/controller/private.h"

#define RECENT_NS INT64_C(50000000) /* bytes that come after a silence were moved since then */

/* The job waits nowhere any more. */
static void stretch_ends(struct brain_job *j, sl_time at)
{
	if (j->period)
		sl_period_stretch(j->period, j->stretch_from,
				  at > j->stretch_from ? at : j->stretch_from, j->stretch_bytes);
	j->stretch_bytes = 0;
}

void period_gone(struct brain_part *p, sl_time now)
{
	if (!p->waits)
		return;
	p->waits = false;
	if (--p->job->waiting == 0)
		stretch_ends(p->job, now);
}

void period_report(struct brain_part *p, const struct sl_job_report *r, uint64_t bytes,
		   sl_time took, sl_time now)
{
	struct brain_job *j = p->job;
	int64_t waited = r->waited_ns - (r->waited_ns >= p->waited_ns ? p->waited_ns : 0);
	bool waits = r->inside && (!p->inside || waited >= took / 4);
	sl_time idle = r->idle_ns > 0 && r->idle_ns < took ? r->idle_ns : 0;

	if (bytes && !j->period && (j->period = sl_period_new()))
		sl_period_add(j->period, j->io.released, 0);
	if (waits && !j->waiting)
		j->stretch_from = bytes ? now - (took < RECENT_NS ? took : RECENT_NS) : now;
	if (waits && !p->waits)
		j->waiting++;
	if (j->waiting)
		j->stretch_bytes += bytes;
	else if (j->period)
		sl_period_add(j->period, now, bytes);
	p->waits |= waits;
	if (!waits)
		period_gone(p, now - idle);
}

void period_expect(const struct brain *b, struct brain_job *j)
{
	if (j->found_ns && !j->from_last_run)
		return;
	j->found_ns = runs_find(&b->runs, (uint32_t)(j->user - 1), job_title(j));
	j->from_last_run = j->found_ns > 0;
}

/* The period declared by the user, else the last detected one. */
void period_find(struct brain *b, struct brain_job *j, sl_time now)
{
	int64_t found = 0;
	sl_time before = j->io.period_ns;

	if (j->period && sl_period_get(j->period, now, &found, &j->confidence)) {
		if (found != j->found_ns || j->from_last_run)
			runs_add(&b->runs, (uint32_t)(j->user - 1), job_title(j), found);
		j->found_ns = found;
		j->from_last_run = false;
	}
	j->io.period_ns = j->declared_ns ? j->declared_ns : j->found_ns;
	/* Policies use only its power of ten, so small changes are not sent. */
	if (j->io.period_ns > before + before / 4 || j->io.period_ns < before - before / 4)
		b->changed = true;
	if (j->found_ns == j->told_ns)
		return;
	j->told_ns = j->found_ns;
	brain_for_parts(p, j)
	{
		pairs_news(b, p);
	}
}
