/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a node, as JSON: see wire/status-fields.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluiced/ionode/control.h"
#include "sluiced/ionode/pass.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/scheduler.h"
#include "sluiced/ionode/sense.h"
#include "sluiced/ionode/site.h"
#include "sluiced/ionode/turn.h"

/* Index of the io-sets set: log10 of the period in seconds, to the nearest integer. */
static int set_of(sl_time period_ns)
{
	sl_time longest_ns = 316227766016837933; /* of set 8, 10^8.5 s; of set 7 a tenth, … */
	int i = 9;

	for (; i > -9 && period_ns <= longest_ns; i--)
		longest_ns /= 10;
	return i;
}

static void put_pattern(struct status_job *s, struct sl_job_pattern *p)
{
	s->pattern_spatiality = p->requests ? p->spatiality : NULL;
	s->pattern_size = p->requests ? p->size : NULL;
	s->pattern_op = !p->requests ? NULL : p->op == SL_WRITE ? "write" : "read";
	s->pattern_files = (double)p->files;
	s->pattern_call_bytes = (double)p->call_bytes;
	s->order = p->order;
	s->order_reason = *p->reason ? p->reason : NULL;
}

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

/* Whether the requesting user may see the job. */
static bool sees(const struct node *n, const struct node_who *who, const struct node_job *job)
{
	return !n->site || who->admin || job->uid == who->uid;
}

/* The name of a job as the requesting user writes it; hidden if it belongs to another user. */
static const char *name_for(const struct node *n, const struct node_who *who,
			    const struct node_job *job)
{
	return n->site && !who->admin ? site_short(job) : job->name;
}

static void put_stats(struct status_job *s, const struct sl_job_stats *st)
{
	s->batches = (double)st->batches;
	s->merge_ratio = st->batches
				 ? (double)(st->served_requests[SL_READ] +
					    st->served_requests[SL_WRITE] + st->inflight_requests) /
					   (double)st->batches
				 : 1.0;
	s->queued_requests = (double)st->queued_requests;
	s->queued_bytes = (double)st->queued_bytes;
	s->inflight_bytes = (double)st->inflight_bytes;
	s->throttled_s = (double)st->throttled_ns / 1e9;
	s->waiting_s = (double)st->waiting_ns / 1e9;
	s->floor_bytes = (double)st->floor_bytes;
	s->borrowed_bytes = (double)st->borrowed_bytes;
	s->latency_us_p50 = (double)sl_latency_percentile_ns(st, 500000) / 1e3;
	s->latency_us_p95 = (double)sl_latency_percentile_ns(st, 950000) / 1e3;
	s->latency_us_p99 = (double)sl_latency_percentile_ns(st, 990000) / 1e3;
}

static void put_rights(struct status_job *s, const struct node *n, const struct node_job *job,
		       const struct sl_job_stats *st)
{
	struct sl_job_conf conf;

	sl_job_get(n->sched, job->number, &conf);
	/* Its part of the requested rate, which an order of the controller includes. */
	s->min_bps = (double)(job->grant_bps == SL_GRANT_NONE ? st->min_bps : job->min_here_bps);
	s->max_bps = (double)st->max_bps;
	s->asked_min_bps = (double)job->asked.min_bps; /* conf: this node's share of them */
	s->asked_max_bps = (double)job->asked.max_bps;
	/* The settings after the rules; a shared limit is shown in full. */
	s->allowed_max_bps = (double)(job->bucket && (!job->rights.max_bps ||
						      job->rights.max_bps > job->bucket_bps)
					      ? job->bucket_bps
					      : job->rights.max_bps);
	s->asked_period_s = (double)job->asked.period_ns / 1e9;
	s->burst_bytes = (double)job->asked.burst_bytes;
	s->best_effort = conf.best_effort;
	s->weight = job->rights.weight ? job->rights.weight : 1;
	s->period_s = (double)conf.period_ns / 1e9;
	s->set = conf.period_ns > 0 ? set_of(conf.period_ns) : (double)NAN;
}

static void put_job(struct json *j, const struct node *n, const struct node_who *who,
		    const struct node_job *job, uint64_t total_bps, sl_time now)
{
	struct status_job s = { .job = name_for(n, who, job) };
	struct sl_job_stats st;
	struct sl_job_pattern pattern;
	uint64_t dirty, cached, wire;
	char reason[NODE_REASON];
	/* Stop the clock of a job that has ended. */
	sl_time until = job->clients			? now
			: job->last_io > job->last_seen ? job->last_io
							: job->last_seen;

	sl_job_stats(n->sched, job->number, now, &st);
	sl_job_pattern(n->sched, job->number, &pattern);
	turn_wire_bytes(job, &dirty, &cached, &wire);
	s.clients = job->clients;
	s.attached = job->turn ? job->turn->procs : 0;
	s.procs = job->procs;
	s.nodes = job->nodes;
	s.uid = n->site ? job->uid : job->owner.uid;
	s.account = text_or_null(job->owner.account);
	s.qos = text_or_null(job->owner.qos);
	s.partition = text_or_null(job->owner.partition);
	s.rule = rules_name(n, job);
	s.bandwidth_bps = (double)job->rate_bps;
	s.read_bytes = (double)job->moved[SL_READ];
	s.write_bytes = (double)job->moved[SL_WRITE];
	s.average_bps = (double)(uint64_t)((s.read_bytes + s.write_bytes) * 1e9 /
					   (double)(until - job->since + 1));
	s.iops = (double)job->iops;
	s.share = total_bps ? (double)job->rate_bps / (double)total_bps : 0.0;
	s.requests = (double)job->calls;
	s.unscheduled_bytes = job->turn ? (double)atomic_load(&job->turn->shm->unscheduled) : 0.0;
	s.dirty_bytes = (double)dirty;
	s.cached_bytes = (double)cached;
	s.wire_bytes = (double)wire;
	s.reason = node_reason(n, who, job, total_bps, now, reason);
	ops_job_status(n, job, &s);
	put_stats(&s, &st);
	put_rights(&s, n, job, &st);
	put_pattern(&s, &pattern);
	status_put_job(j, &s, STATUS_OF_NODE);
}

static const char *policy_spec(const struct node *n, enum sl_stage stage, const char *name)
{
	const char *spec = pass_configured(n, stage);

	if (spec)
		return spec;
	return pass_stands_in(n, stage) ? sl_policy_at(stage, 0)->name : name;
}

static uint64_t floors_bps(const struct node *n)
{
	uint64_t sum = 0;

	for (const struct node_job *j = n->jobs; j; j = j->next)
		sum += j->min_here_bps;
	return sum;
}

/* The information about other users' jobs: their number and total bandwidth. */
static void put_others(struct status *s, const struct node *n, const struct node_who *who)
{
	s->others_jobs = 0;
	for (const struct node_job *job = n->jobs; job; job = job->next) {
		if (sees(n, who, job))
			continue;
		s->others_jobs++;
		s->others_bandwidth_bps += (double)job->rate_bps;
		s->others_iops += (double)job->iops;
		s->others_read_bytes += (double)job->moved[SL_READ];
		s->others_write_bytes += (double)job->moved[SL_WRITE];
	}
}

static void put_node(struct status *s, const struct node *n, sl_time now)
{
	struct sl_sched_stats st;

	sl_sched_stats(n->sched, &st);
	s->root = n->config->root;
	s->pid = getpid();
	s->uptime_s = (double)(now - n->started) / 1e9;
	s->mode = pass_mode(n);
	s->admit = st.admit;
	s->share = st.share;
	s->order = st.order;
	s->policy_admit = policy_spec(n, SL_ADMIT, st.admit);
	s->policy_share = policy_spec(n, SL_SHARE, st.share);
	s->policy_order = policy_spec(n, SL_ORDER, st.order);
	s->capacity_bps = (double)(n->find ? sense_found_bps(n) : n->capacity_bps);
	s->charge = turn_wire_charge(n);
	s->draw_bps = (double)n->pace.bps;
	s->floors_bps = (double)floors_bps(n);
	s->workers = n->workers;
	s->requests = (double)st.requests;
	s->inflight_batches = (double)st.inflight_batches;
	s->inflight_bytes = (double)st.inflight_bytes;
	s->window_batches = n->window.limit;
	s->decisions = (double)st.decisions;
	s->decisions_per_s = (double)n->decisions_per_s;
	rules_status(n, s);
	sense_status(n, s);
	ops_status(n, s);
	trace_status(n, s);
}

static int status(struct node *n, const struct node_who *who, char **out)
{
	struct status s = { .version = SL_VERSION, .others_jobs = NAN };
	uint64_t bps = 0, iops = 0;
	struct json j;
	size_t size;
	sl_time now;
	FILE *f = open_memstream(out, &size);

	if (!f)
		return ENOMEM;
	pthread_mutex_lock(&n->lock);
	now = node_now();
	node_collect(n, now);
	turn_account(n, now);
	put_node(&s, n, now);
	for (const struct node_job *job = n->jobs; job; job = job->next) {
		bps += job->rate_bps;
		iops += job->iops;
	}
	s.bandwidth_bps = (double)bps;
	s.iops = (double)iops;
	s.machines =
		(n->site || n->config->stay) && n->config->layer_nodes ? n->config->layer_nodes : 1;
	if (n->site && !who->admin)
		put_others(&s, n, who);
	json_begin(&j, f);
	json_object(&j, NULL);
	status_put_begin(&j, &s, STATUS_OF_NODE);
	for (const struct node_job *job = n->jobs; job; job = job->next)
		if (sees(n, who, job))
			put_job(&j, n, who, job, bps, now);
	status_put_end(&j);
	json_end(&j);
	node_unlock(n);
	return fclose(f) ? ENOMEM : 0;
}

/*
 * The lock is held while a status is made. So a user gets the previous status again if it is
 * younger than this and the user has changed nothing since.
 */
#define STATUS_NS INT64_C(100000000)

int control_status(struct node *n, const struct node_who *who, char **out)
{
	struct node_user *u = who->admin ? NULL : who->user;
	sl_time now = node_now();
	int rc;

	if (u && u->status && now - u->status_ns < STATUS_NS)
		return control_answer(out, 0, u->status);
	rc = status(n, who, out);
	if (u) {
		free(u->status);
		u->status = rc ? NULL : strdup(*out);
		u->status_ns = now;
	}
	return rc;
}
