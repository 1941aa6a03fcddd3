/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes report, and the phases of jobs in it.
 *
 * Phases (Gainaru et al. 2014, section 2: applications alternate computing and I/O). A phase begins
 *with the first I/O of a job after a gap and ends with the last before one; the gap is a parameter.
 *From the phases that have ended come the mean length of computing and volume of an instance, which
 * the policies ask for: Gainaru et al. 2014 took them from the applications, here they are
 *observed.
 *
 *	report at 10.0 s: 4 requests inside, 1 GB moved     phase began at 10.0
 *	report at 12.4 s: none inside, idle for 0.3 s       was active until 12.1
 *	decision at 13.1 s, gap 1 s                         phase ended at 12.1
 *
 * A program may say so itself (sl_phase_begin(), sluice.h). Then the phase lasts from the first of
 * the job's processes that says so to the last that says it is over, whatever they do in between,
 * and no gap is waited for. What is found before that is another phase.
 *
 *	report at 10.0 s: phase=1, none inside              phase began at 10.0
 *	report at 10.4 s: phase=0, none inside              phase ended at 10.4
 *
 * A phase ends when all nodes that know the job have said so: one that is waiting inside a node, or
 * of which nothing has been heard since, is not over, however short the gap. A node that is silent
 * for SILENT_NS is not waited for.
 *
 * Counters. A node counts a job's bytes since it knows the job, and the controller adds up the
 * differences. A node that has another *life* was started again, and counts from 0. The first
 * report of a node that was there before this controller is only where counting begins: what was
 * moved before belongs to phases that nobody saw, and the one that is under way is not counted
 * among those of the job.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluiced/controller/private.h"

#define PHASE_NS  INT64_C(500000000)  /* shorter ones tell nothing of bandwidth */
#define SILENT_NS INT64_C(2000000000) /* as long as a lease */
#define LONG_NS	  (INT64_MAX / 4)     /* a time of which some may be added up */
#define SMOOTH_NS INT64_C(117000000)  /* of rates: the newest weighs 0.3 after 50 ms */
#define INSTANCES 0.5		      /* weight of the newest instance in the means */

/* ---- phases ---- */

/* A bandwidth is that of a number of nodes while those are the same. */
void phase_steady(struct brain_job *j, uint64_t moved_bytes, sl_time now)
{
	j->steady = now;
	j->steady_bytes = moved_bytes;
}

static void learn_curve(struct brain *b, const struct brain_job *j)
{
	sl_time took = j->io.io_end - j->steady;

	if (j->served_by != UINT32_MAX && took > PHASE_NS)
		curves_add(&b->curves, j->title, map_nodes(j), map_procs(j), j->served_by,
			   (double)(j->moved_bytes - j->steady_bytes) * 1e9 / (double)took);
}

/* `bytes` of what was moved belong to it. */
static void phase_begin(struct brain *b, struct brain_job *j, uint64_t bytes, sl_time now)
{
	j->in_io = true;
	j->io.asked = now;
	j->io.started = j->told = false;
	j->io.compute_s = (double)(now - j->io.io_end) / 1e9;
	j->phase_from_bytes = j->moved_bytes - bytes;
	phase_steady(j, j->phase_from_bytes, now);
	j->partial = false;
	b->changed = true;
}

static double mean(double of, double value, uint64_t ended)
{
	return ended ? of + INSTANCES * (value - of) : value;
}

void phase_end(struct brain *b, struct brain_job *j)
{
	double bytes = (double)(j->moved_bytes - j->phase_from_bytes);

	j->in_io = false;
	j->io.io_end = j->active > j->io.asked ? j->active : j->io.asked;
	b->changed = true;
	learn_curve(b, j);
	if (j->partial)
		return;
	j->mean_compute_s = mean(j->mean_compute_s, j->io.compute_s, j->io.ended);
	j->mean_bytes = mean(j->mean_bytes, bytes, j->io.ended);
	j->io.ended++;
	j->io.work_s += j->io.compute_s;
	j->io.alone_s += j->io.compute_s + (j->io.cap_bps > 0 ? bytes / j->io.cap_bps : 0);
}

bool phase_over(const struct brain *b, const struct brain_job *j, sl_time now)
{
	sl_time gap = j->told ? 0 : b->config.gap_ns;

	if (now - j->active < gap)
		return false;
	for (uint32_t i = 0; i < b->nodes; i++) {
		const struct brain_node *n = &b->node[i];

		if (n->up && j->part[i].known && now - n->heard < SILENT_NS &&
		    (j->part[i].inside || j->part[i].phase ||
		     (!j->told && n->heard - j->active < gap)))
			return false;
	}
	return true;
}

/* What the user has declared; else what was found, and the last that was, until another is. */
void phase_period(struct brain *b, struct brain_job *j, sl_time now)
{
	int64_t found = 0;
	sl_time before = j->io.period_ns;

	if (j->period && sl_period_get(j->period, now, &found, &j->confidence))
		j->found_ns = found;
	j->io.period_ns = j->declared_ns ? j->declared_ns : j->found_ns;
	/* Policies look at its power of ten: a little more or less is no news. */
	if (j->io.period_ns > before + before / 4 || j->io.period_ns < before - before / 4)
		b->changed = true;
}

/* ---- jobs ---- */

/* *known: it was before. NULL: there is no room. */
static struct brain_job *job_of(struct brain *b, const struct sl_job_report *r, sl_time now,
				bool *known)
{
	uint32_t i = sl_hash_get(&b->by_id, r->id, 0);
	struct brain_job *j;

	*known = i != SL_HASH_NONE;
	if (*known)
		return b->job[i];
	for (i = 0; i < b->jobs && b->job[i];)
		i++;
	if (i == BRAIN_JOBS || !(j = calloc(1, sizeof(*j))))
		return NULL;
	b->jobs += i == b->jobs;
	b->job[i] = j;
	sl_hash_put(&b->by_id, r->id, 0, i);
	b->changed = true;
	j->id = r->id;
	j->active = now;
	/* Policies keep what they remember by small numbers. */
	j->io = (struct sl_io_job){ .job = i, .released = now, .io_end = now };
	j->period = sl_period_new();
	j->served_by = UINT32_MAX;
	return j;
}

/*
 * What was declared and asked for. All nodes are told the same; but one that has not been, since
 * none of the job's processes is there, has nothing to say.
 */
static void take_facts(struct brain *b, struct brain_job *j, const struct sl_job_report *r)
{
	bool elsewhere = false;

	for (uint32_t i = 0; i < b->nodes; i++)
		elsewhere |= j->part[i].clients > 0;
	memcpy(j->name, r->name, sizeof(j->name));
	if (r->title[0] || !j->title[0])
		memcpy(j->title, r->title[0] ? r->title : r->name, sizeof(j->title));
	if (!r->clients && elsewhere)
		return;
	if (j->min_bps != r->min_bps || j->max_bps != r->max_bps || j->procs != r->procs ||
	    j->nodes != r->nodes || j->declared_ns != r->period_ns)
		b->changed = true;
	j->procs = r->procs;
	j->nodes = r->nodes;
	j->weight = r->weight;
	j->min_bps = nodes_rate(r->min_bps);
	j->max_bps = nodes_rate(r->max_bps);
	j->declared_ns = r->period_ns < 0 ? 0 : r->period_ns < LONG_NS ? r->period_ns : LONG_NS;
}

/* What it moved since the last report. */
static uint64_t take_bytes(struct brain_job *j, struct brain_part *p, const struct sl_job_report *r,
			   bool begin)
{
	uint64_t bytes = 0;

	for (int op = 0; op < 2; op++) {
		/* A node that forgot the job and knows it again counts from 0. */
		bytes += r->moved[op] - (r->moved[op] >= p->moved[op] ? p->moved[op] : 0);
		p->moved[op] = r->moved[op];
	}
	bytes = begin ? 0 : bytes;
	j->moved_bytes += bytes;
	return bytes;
}

/* A node that was there before us: where the job is, and when it last did something. */
static void take_past(struct brain *b, struct brain_job *j, const struct sl_job_report *r,
		      bool known, sl_time last)
{
	if (!b->mapping && r->map[0] && !j->mapped)
		j->mapped = strdup(r->map);
	if (j->in_io || r->inside || !(r->moved[0] || r->moved[1]))
		return;
	if (!known || last > j->active)
		j->active = j->io.io_end = last;
	if (last < j->io.released)
		j->io.released = last;
}

static void count_clients(const struct brain *b, struct brain_job *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->nodes; i++)
		n += j->part[i].clients;
	j->most_clients = n > j->most_clients ? n : j->most_clients;
}

/* Clients on all nodes that say they are in a phase, and requests that are inside. */
static void count_inside(const struct brain *b, const struct brain_job *j, uint32_t *phase,
			 uint32_t *inside)
{
	*phase = *inside = 0;
	for (uint32_t i = 0; i < b->nodes; i++) {
		*phase += j->part[i].phase;
		*inside += j->part[i].inside;
	}
}

/* What the processes say themselves of their phases; the part is as of the report before. */
static void take_word(struct brain *b, struct brain_job *j, struct brain_part *p,
		      const struct sl_job_report *r, uint64_t bytes, sl_time now)
{
	uint32_t before, after, inside;

	count_inside(b, j, &before, &inside);
	after = before - p->phase + r->phase;
	inside = inside - p->inside + r->inside;
	p->phase = r->phase;
	if (after && !before && j->in_io && !inside)
		phase_end(b, j); /* what was found before is another one */
	if (before && !after)
		j->told = true;
	else if (bytes || r->inside) /* of processes that do not say anything */
		j->told = false;
	if (after || before)
		j->active = now;
}

static void job_report(struct brain *b, uint32_t node, const struct sl_job_report *r, sl_time took,
		       bool begin, sl_time now)
{
	bool known;
	struct brain_job *j = job_of(b, r, now, &known);
	sl_time idle = r->idle_ns < 0 ? 0 : r->idle_ns > now ? now : r->idle_ns;
	struct brain_part *p;
	uint64_t bytes;

	if (!j)
		return;
	take_facts(b, j, r);
	p = &j->part[node];
	b->changed |= p->clients != r->clients;
	bytes = take_bytes(j, p, r, begin);
	if (begin)
		take_past(b, j, r, known, now - idle);
	if (j->period)
		sl_period_add(j->period, now, bytes);
	if (took > 0)
		p->rate_bps += ((double)bytes * 1e9 / (double)took - p->rate_bps) * (double)took /
			       (double)(took + SMOOTH_NS);
	divide_report(b, p, r, bytes, took, now);
	take_word(b, j, p, r, bytes, now);
	p->known = true;
	p->clients = r->clients;
	count_clients(b, j);
	p->inside = r->inside;
	p->queued_bytes = r->queued_bytes;
	if (r->inside)
		j->active = now;
	else if (bytes && now - idle > j->active)
		j->active = now - idle;
	if (!j->in_io && (r->inside || bytes || r->phase)) {
		phase_begin(b, j, bytes, r->inside || r->phase ? now : j->active);
		j->partial = begin;
	}
	j->io.started = j->moved_bytes > j->phase_from_bytes;
}

int brain_report(struct brain *b, char *text, sl_time now)
{
	struct sl_report_line l;
	int what, node = -EPROTO;
	sl_time before = 0;
	bool met = false;

	while ((what = sl_report_next(&text, &l)) > 0) {
		if (what == SL_LINE_NODE && node >= 0)
			what = -EPROTO; /* a report is of one node */
		if (what == SL_LINE_JOB && (node < 0 || !l.job.name[0]))
			what = -EPROTO;
		if (what < 0)
			break;
		if (what == SL_LINE_NODE) {
			for (uint32_t i = 0; i < b->nodes; i++)
				if (!strcmp(b->node[i].name, l.node.name))
					before = b->node[i].heard;
			node = nodes_index(b, &l.node, now, &met);
			if (node < 0)
				return node;
			for (uint32_t i = 0; i < b->jobs; i++)
				if (b->job[i])
					b->job[i]->part[node].known = false;
		}
		if (what == SL_LINE_JOB)
			job_report(b, (uint32_t)node, &l.job, met ? now - before : 0, !met, now);
	}
	if (what < 0 && node >= 0) /* half of it is no use: as if it had not come */
		brain_node_gone(b, (uint32_t)node, now);
	for (uint32_t i = 0; what >= 0 && node >= 0 && i < b->jobs; i++)
		if (b->job[i] && !b->job[i]->part[node].known)
			b->job[i]->part[node] = (struct brain_part){ 0 };
	return what < 0 ? what : node;
}
