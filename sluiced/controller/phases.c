/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handle the reports of nodes, and find the phases of jobs in them.
 *
 * Phases (Gainaru et al. 2014, section 2: applications alternate computing and I/O). A phase
 * begins with the first I/O of a job after a gap and ends with the last before one; the gap is a
 * parameter. The policies ask for the mean length of computing and the mean volume of an
 * instance. Gainaru et al. 2014 took these from the applications; here they are measured over the
 * phases that have ended.
 *
 *	report at 10.0 s: 4 requests inside, 1 GB moved     phase began at 10.0
 *	report at 12.4 s: none inside, idle for 0.3 s       was active until 12.1
 *	decision at 13.1 s, gap 1 s                         phase ended at 12.1
 *
 * A program may declare its phases (sl_phase_begin(), sluice.h). Then the phase lasts from the
 * first begin of the job's processes to the last end, whatever they do in between, without waiting
 * for a gap. I/O detected before that is a separate phase.
 *
 *	report at 10.0 s: phase=1, none inside              phase began at 10.0
 *	report at 10.4 s: phase=0, none inside              phase ended at 10.4
 *
 * A phase ends when all nodes that know the job have reported it: a phase with requests inside a
 * node, or of which a node has not reported since, is not over, however short the gap. A node that
 * is silent for SILENT_NS is ignored.
 *
 * Counters. A node counts a job's bytes since it knows the job, and the controller adds up the
 * differences. A node that has another *life* was started again, and counts from 0. For a node that
 * is older than this controller, counting begins with its first report: earlier bytes belong to
 * unknown phases, and the phase under way is not counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluiced/controller/private.h"

#define PHASE_NS  INT64_C(500000000) /* shorter ones tell nothing of bandwidth */
#define SILENT_NS LEASE_NS	     /* idle nodes report every 2.25 s */
#define LONG_NS	  (INT64_MAX / 4)    /* a time of which some may be added up */
#define SMOOTH_NS INT64_C(117000000) /* of rates: the newest weighs 0.3 after 50 ms */
#define INSTANCES 0.5		     /* weight of the newest instance in the means */

const char *job_title(const struct brain_job *j)
{
	return j->title ? j->title : j->name;
}

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
		curves_add(&b->curves, job_title(j), map_nodes(j), map_procs(j), j->served_by,
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
	b->remap |= b->ops != NULL; /* two that have grants are not to be at one node */
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
	sl_time silent = 4 * b->report_ns > SILENT_NS ? 4 * b->report_ns : SILENT_NS;

	if (now - j->active < gap)
		return false;
	brain_for_parts(p, j)
	{
		const struct brain_node *n = b->node[p->node];

		if (n->up && now - n->heard < silent &&
		    (p->inside || p->phase || (!j->told && n->heard - j->active < gap)))
			return false;
	}
	return true;
}

/* ---- jobs ---- */

/* *known: it was before. NULL: there is no room. */
static struct brain_job *job_of(struct brain *b, const struct sl_job_report *r, sl_time now,
				bool *known)
{
	struct brain_job *j = pairs_job(b, r->id);

	*known = j;
	if (j || !(j = pairs_new_job(b, r->id)))
		return j;
	b->changed = b->remap = true;
	j->active = now;
	j->io.released = j->io.io_end = now;
	j->served_by = UINT32_MAX;
	return j;
}

static void take_account(struct brain_job *j, const char *name)
{
	if (!strcmp(name, j->account_name ? j->account_name : ""))
		return;
	free(j->account_name);
	j->account_name = name[0] ? strdup(name) : NULL;
	j->account = name[0] ? sl_job_number(name) : 0;
}

/*
 * What was declared and asked for. All nodes are told the same; but one that has not been, since
 * none of the job's processes is there, has nothing to say.
 */
static void take_facts(struct brain *b, struct brain_job *j, const struct sl_job_report *r)
{
	bool elsewhere = false;

	if (r->name[0])
		memcpy(j->name, r->name, sizeof(j->name));
	if (r->title[0] && strcmp(r->title, job_title(j)) != 0) {
		free(j->title);
		j->title = strcmp(r->title, j->name) ? strdup(r->title) : NULL;
	}
	if (!r->clients) {
		brain_for_parts(p, j)
		{
			elsewhere |= p->clients > 0;
		}
		if (elsewhere)
			return;
	}
	if (j->min_bps != r->min_bps || j->max_bps != r->max_bps || j->procs != r->procs ||
	    j->nodes != r->nodes || j->declared_ns != r->period_ns)
		b->changed = b->remap = true;
	j->procs = r->procs;
	j->nodes = r->nodes;
	j->weight = r->weight;
	j->user = (uint64_t)r->uid + 1;
	if (b->runs.run && (r->name[0] || r->title[0]))
		period_expect(b, j);
	take_account(j, r->account);
	j->user_weight = r->user_weight;
	j->account_weight = r->account_weight;
	b->bucketed -= j->bucket != 0;
	j->bucket = r->bucket_bps ? r->bucket : 0;
	b->bucketed += j->bucket != 0;
	j->bucket_bps = nodes_rate(r->bucket_bps);
	j->min_bps = nodes_rate(r->min_bps);
	j->max_bps = nodes_rate(r->max_bps);
	j->min_ops = nodes_rate(r->min_ops);
	j->limits = r->limits;
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

static void count_clients(struct brain_job *j)
{
	uint32_t n = 0;

	brain_for_parts(p, j)
	{
		n += p->clients;
	}
	j->most_clients = n > j->most_clients ? n : j->most_clients;
}

/* Clients on all nodes that say they are in a phase, and requests that are inside. */
static void count_inside(const struct brain_job *j, uint32_t *phase, uint32_t *inside)
{
	*phase = *inside = 0;
	brain_for_parts(p, j)
	{
		*phase += p->phase;
		*inside += p->inside;
	}
}

/* What the processes say themselves of their phases; the part is as of the report before. */
static void take_word(struct brain *b, struct brain_job *j, struct brain_part *p,
		      const struct sl_job_report *r, uint64_t bytes, sl_time now)
{
	uint32_t before, after, inside;

	if (!p->phase && !r->phase && !j->told)
		return;
	count_inside(j, &before, &inside);
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

static void node_works(struct brain *b, uint32_t node, sl_time now)
{
	b->node[node]->worked = now;
	if (b->node[node]->lease_ns > LEASE_NS)
		pairs_tell(b, node);
}

/* What a report says of a pair, since the last that did; `known`: the job was before. */
static void pair_report(struct brain *b, struct brain_part *p, const struct sl_job_report *r,
			bool known, bool begin, sl_time now)
{
	struct brain_job *j = p->job;
	sl_time idle = r->idle_ns < 0 ? 0 : r->idle_ns > now ? now : r->idle_ns;
	/* Had there been anything between, the node's report before would have said so. */
	sl_time last = b->since > p->heard ? b->since : p->heard, took = last ? now - last : 0;
	uint64_t bytes;
	bool operations;

	take_facts(b, j, r);
	if (r->inside || r->ops != p->ops || r->moved[0] != p->moved[0] ||
	    r->moved[1] != p->moved[1])
		node_works(b, p->node, now);
	if (p->clients != r->clients) {
		b->changed = true;
		b->remap = true;
	}
	bytes = take_bytes(j, p, r, begin);
	if (begin)
		take_past(b, j, r, known, now - idle);
	period_report(p, r, bytes, took, now);
	if (took > 0)
		p->rate_bps += ((double)bytes * 1e9 / (double)took - p->rate_bps) * (double)took /
			       (double)(took + SMOOTH_NS);
	operations = operations_report(b, p, r, begin, took, now);
	p->heard = now;
	divide_report(b, p, r, bytes, took, now);
	take_word(b, j, p, r, bytes, now);
	if (p->clients != r->clients) {
		p->clients = r->clients;
		count_clients(j);
	}
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
	if (bytes || operations || r->inside || r->phase || begin || j->in_io || !known)
		pairs_live(b, j);
}

/* A line about a job; `begin`: the node was there before us, and is heard for the first time. */
static int job_line(struct brain *b, uint32_t node, const struct sl_job_report *r, bool begin,
		    sl_time now)
{
	bool known;
	struct brain_job *j = job_of(b, r, now, &known);
	struct brain_part *p = j ? brain_pair(b, j, node) : NULL;

	if (j && !p && (p = pairs_new(b, j, node)))
		pairs_news(b, p);
	if (!p)
		return -ENOMEM; /* the rest is not managed, and nothing breaks */
	p->report = b->node[node]->report;
	joints_drop(p); /* those that there are follow */
	pair_report(b, p, r, known, begin, now);
	return 0;
}

static void joint_line(struct brain *b, uint32_t node, const struct sl_joint *r, sl_time now)
{
	const struct brain_job *j = pairs_job(b, r->id);
	struct brain_part *p = j ? brain_pair(b, j, node) : NULL;

	if (p)
		joints_report(b, p, r, now);
}

/* What the line does not say has not changed. */
static void fill(const struct brain_part *p, struct sl_job_report *r, uint32_t has)
{
	const struct brain_job *j = p->job;

	r->clients = has & SL_HAS_CLIENTS ? r->clients : p->clients;
	r->inside = has & SL_HAS_INSIDE ? r->inside : p->inside;
	r->phase = has & SL_HAS_PHASE ? r->phase : p->phase;
	r->queued_bytes = has & SL_HAS_QUEUED ? r->queued_bytes : p->queued_bytes;
	r->waited_ns = has & SL_HAS_WAITED ? r->waited_ns : p->waited_ns;
	r->moved[0] = has & SL_HAS_READ ? r->moved[0] : p->moved[0];
	r->moved[1] = has & SL_HAS_WRITTEN ? r->moved[1] : p->moved[1];
	r->procs = has & SL_HAS_PROCS ? r->procs : j->procs;
	r->nodes = has & SL_HAS_NODES ? r->nodes : j->nodes;
	r->min_bps = has & SL_HAS_MIN ? r->min_bps : j->min_bps;
	r->max_bps = has & SL_HAS_MAX ? r->max_bps : j->max_bps;
	r->weight = has & SL_HAS_WEIGHT ? r->weight : j->weight;
	r->period_ns = has & SL_HAS_PERIOD ? r->period_ns : j->declared_ns;
	r->uid = has & SL_HAS_UID ? r->uid : (uint32_t)(j->user - 1);
	r->user_weight = has & SL_HAS_USER_WEIGHT ? r->user_weight : j->user_weight;
	r->account_weight = has & SL_HAS_ACCOUNT_WEIGHT ? r->account_weight : j->account_weight;
	r->bucket = has & SL_HAS_BUCKET ? r->bucket : j->bucket;
	r->bucket_bps = has & SL_HAS_BUCKET_BPS ? r->bucket_bps : j->bucket_bps;
	r->ops = has & SL_HAS_OPS ? r->ops : p->ops;
	r->ops_held_ns = has & SL_HAS_OPS_HELD ? r->ops_held_ns : p->ops_held_ns;
	r->limits = has & SL_HAS_LIMITS ? r->limits : j->limits;
	r->min_ops = has & SL_HAS_MIN_OPS ? r->min_ops : j->min_ops;
	r->ops_weight = has & SL_HAS_OPS_WEIGHT ? r->ops_weight : p->ops_weight;
	if (!(has & SL_HAS_ACCOUNT) && j->account_name)
		snprintf(r->account, sizeof(r->account), "%s", j->account_name);
}

int brain_delta(struct brain *b, uint32_t node, char *text, sl_time now)
{
	struct brain_node *n = b->node[node];
	struct sl_report_line *l = &b->line;
	int what;

	b->since = n->heard;
	while ((what = sl_report_next(&text, l)) > 0) {
		struct brain_job *j;
		struct brain_part *p;

		if (what == SL_LINE_NODE)
			what = -EPROTO;
		if (what == SL_LINE_ACK && l->node.term == b->term)
			divide_node(b, node, &l->node, true);
		if (what == SL_LINE_JOINT)
			joint_line(b, node, &l->joint, now);
		if (what == SL_LINE_JOB || what == SL_LINE_GONE) {
			j = pairs_job(b, l->job.id);
			p = j ? brain_pair(b, j, node) : NULL;
			if (what == SL_LINE_GONE && p) {
				pairs_drop(b, p);
				b->changed = b->remap = true;
			} else if (what == SL_LINE_JOB && p) {
				fill(p, &l->job, l->has);
				pair_report(b, p, &l->job, true, false, now);
			} else if (what == SL_LINE_JOB && l->job.name[0]) {
				job_line(b, node, &l->job, false, now);
			} else if (what == SL_LINE_JOB) {
				what = -EPROTO; /* it should have been whole */
			}
		}
		if (what < 0)
			break;
	}
	if (what < 0)
		brain_node_gone(b, node, false, now);
	else
		n->heard = now;
	return what;
}

/* Jobs that a whole report has not named are not there any more. */
static void drop_unnamed(struct brain *b, uint32_t node)
{
	struct brain_node *n = b->node[node];

	for (struct sl_list *at = n->pairs.next, *next; at != &n->pairs; at = next) {
		struct brain_part *p = sl_container(at, struct brain_part, of_node);

		next = at->next;
		if (p->report == n->report)
			continue;
		pairs_drop(b, p);
		b->changed = b->remap = true;
	}
}

int brain_report(struct brain *b, char *text, sl_time now)
{
	struct sl_report_line *l = &b->line;
	int what, node = -EPROTO;
	bool met = false;

	while ((what = sl_report_next(&text, l)) > 0) {
		if (what == SL_LINE_NODE && node >= 0)
			what = -EPROTO; /* a report is of one node */
		if ((what == SL_LINE_JOB && (node < 0 || !l->job.name[0])) ||
		    (what == SL_LINE_JOINT && node < 0))
			what = -EPROTO;
		if (what < 0)
			break;
		if (what == SL_LINE_NODE) {
			uint32_t i = pairs_node(b, l->node.name);

			b->since = i == SL_HASH_NONE ? 0 : b->node[i]->heard;
			node = nodes_index(b, &l->node, now, &met);
			if (node < 0)
				return node;
			b->node[node]->report++;
		}
		if (what == SL_LINE_JOB)
			job_line(b, (uint32_t)node, &l->job, !met, now);
		if (what == SL_LINE_JOINT)
			joint_line(b, (uint32_t)node, &l->joint, now);
	}
	if (node >= 0) {
		/* Half of it is no use: as if it had not come. */
		if (what < 0)
			brain_node_gone(b, (uint32_t)node, false, now);
		else
			drop_unnamed(b, (uint32_t)node);
	}
	return what < 0 ? what : node;
}
