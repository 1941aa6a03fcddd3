/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control lines: what `sluice status`, `run`, `set` and `policy set` say to a node.
 *
 *	status                   everything, as JSON
 *	job NAME key=value…      make the job if there is none, then as `set`; and procs, nodes,
 *	                         account, qos, partition, title (of the job when it comes
 *	                         again), pid (keep the job while that process lives), keep=1
 *	                         (until it is ended)
 *	end JOB                  nothing keeps it any more
 *	set JOB key=value…       min max burst weight period best_effort order
 *	policy STAGE=SPEC…       e.g. policy share=io-sets order=aioli,wait_us=500
 *	capacity RATE            what the node may draw from now on; 0: not known, no limit;
 *	                         auto: it is found
 *	rules                    the rules and whom they have held, as JSON
 *	reload [check]           the configuration file is read again (check: only looked at)
 *	open, close              let everything pass from now on; no longer
 *	phase begin|end          this client's: see sl_phase_begin() in sluice.h
 *	ping
 *
 * An error is a positive errno and a sentence. A line is obeyed whole or not at all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/units.h"
#include "sched/spec.h"
#include "sluiced/ionode/adapt.h"
#include "sluiced/ionode/link.h"
#include "sluiced/ionode/pass.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/sense.h"
#include "sluiced/ionode/site.h"
#include "sluiced/ionode/scheduler.h"
#include "sluiced/ionode/turn.h"

static int answer(char **out, int status, const char *text)
{
	*out = strdup(text);
	return *out ? status : ENOMEM;
}

/* ---- status ---- */

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

/* Whether this one may see the job. */
static bool sees(const struct node *n, const struct node_who *who, const struct node_job *job)
{
	return !n->site || who->admin || job->uid == who->uid;
}

/* The name of a job as this one is to write it; as nobody else's, if it is another user's. */
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
	/* Its part of what was asked for; an order of the controller includes it. */
	s->min_bps = (double)(job->grant_bps == SL_GRANT_NONE ? st->min_bps : job->min_here_bps);
	s->max_bps = (double)st->max_bps;
	s->asked_min_bps = (double)job->asked.min_bps; /* conf: this node's share of them */
	s->asked_max_bps = (double)job->asked.max_bps;
	/* What rules leave of that; of a limit that jobs share, all of it. */
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
	/* A job that has ended does not get slower. */
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

/* What another user may know of the others: how many, and what they move. */
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

/* The lock is held while a status is made. So a user gets the last one again if it is younger than
 * this, and no changes of the user's own have come since. */
#define STATUS_NS INT64_C(100000000)

static int status_for(struct node *n, const struct node_who *who, char **out)
{
	struct node_user *u = who->admin ? NULL : who->user;
	sl_time now = node_now();
	int rc;

	if (u && u->status && now - u->status_ns < STATUS_NS)
		return answer(out, 0, u->status);
	rc = status(n, who, out);
	if (u) {
		free(u->status);
		u->status = rc ? NULL : strdup(*out);
		u->status_ns = now;
	}
	return rc;
}

/* ---- set, policy; the lock is held ---- */

/* One key of `set`: 0, -EINVAL for a bad value, -ENOENT for an unknown key. */
static int set_key(struct sl_job_conf *c, const char *key, const char *value)
{
	char *end;
	unsigned long number;

	if (!strcmp(key, "min"))
		return sl_parse_rate(value, &c->min_bps);
	if (!strcmp(key, "max"))
		return sl_parse_rate(value, &c->max_bps);
	if (!strcmp(key, "burst"))
		return sl_parse_bytes(value, &c->burst_bytes);
	if (!strcmp(key, "period"))
		return sl_parse_period(value, &c->period_ns);
	number = strtoul(value, &end, 10);
	if (*end || end == value || number > UINT32_MAX)
		return -EINVAL;
	if (!strcmp(key, "weight"))
		c->weight = (uint32_t)number;
	else if (!strcmp(key, "best_effort"))
		c->best_effort = (uint32_t)number;
	else
		return -ENOENT;
	return 0;
}

/* What only `job` knows. */
struct job_facts {
	uint32_t procs, nodes;
	pid_t pid;
	bool keep;
	const char *title;
	struct sl_job_owner owner;
};

/* Names that stand in control lines, reports and JSON. */
static int owner_key(struct sl_job_owner *o, const char *key, const char *value)
{
	char *to = !strcmp(key, "account")     ? o->account
		   : !strcmp(key, "qos")       ? o->qos
		   : !strcmp(key, "partition") ? o->partition
					       : NULL;

	if (!to)
		return -ENOENT;
	if (strlen(value) >= SL_OWNER_MAX)
		return -EINVAL;
	for (const char *c = value; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == ',' || *c == '=' || *c == '"')
			return -EINVAL;
	strcpy(to, value);
	return 0;
}

static int fact_key(struct job_facts *f, const char *key, const char *value)
{
	char *end;
	unsigned long number = strtoul(value, &end, 10);

	if (!strcmp(key, "title")) {
		f->title = value;
		return strlen(value) < SL_JOB_NAME_MAX ? 0 : -EINVAL;
	}
	if (!strcmp(key, "account") || !strcmp(key, "qos") || !strcmp(key, "partition"))
		return owner_key(&f->owner, key, value);
	if (strcmp(key, "procs") && strcmp(key, "nodes") && strcmp(key, "pid") &&
	    strcmp(key, "keep"))
		return -ENOENT;
	if (*end || end == value || number > INT32_MAX)
		return -EINVAL;
	if (!strcmp(key, "procs"))
		f->procs = (uint32_t)number;
	else if (!strcmp(key, "nodes"))
		f->nodes = (uint32_t)number;
	else if (!strcmp(key, "pid"))
		f->pid = (pid_t)number;
	else
		f->keep = number;
	return 0;
}

/* The words after the job. facts is NULL for `set`. */
static int job_words(char **save, struct sl_job_conf *conf, struct sl_ops_conf *ops, char **order,
		     struct job_facts *facts, char **out)
{
	char *word, text[200];

	while ((word = strtok_r(NULL, " ", save))) {
		char *value = strchr(word, '=');
		int rc = -EINVAL;

		if (value) {
			*value++ = 0;
			rc = facts ? fact_key(facts, word, value) : -ENOENT;
		}
		if (value && rc == -ENOENT && !strcmp(word, "order")) {
			*order = value;
			continue;
		}
		if (rc == -ENOENT)
			rc = sl_ops_key(ops, word, value);
		if (rc == -ENOENT)
			rc = set_key(conf, word, value);
		if (rc) {
			snprintf(text, sizeof(text),
				 rc == -ENOENT ? "no key '%.32s'; there are min, max, burst, "
						 "weight, period, best_effort, order, min_ops, "
						 "max_ops, max_CLASS, max_iops, max_read, "
						 "max_write"
					       : "'%.32s' has no proper value",
				 word);
			return answer(out, -rc, text);
		}
	}
	return 0;
}

/* Why the scheduler refused conf, in the words of those who typed it. */
static int refused(const struct node *n, uint64_t number, const struct sl_job_conf *conf, int rc,
		   char **out)
{
	const char *why = sl_error(n->sched);
	char text[200], min[16], max[16], promised[16], capacity[16];
	uint64_t others = 0, whole = n->layer_bps;

	for (const struct node_job *j = n->jobs; j; j = j->next)
		if (j->number != number && !j->rights.best_effort)
			others += j->rights.min_bps;
	sl_format_rate(min, sizeof(min), conf->min_bps);
	sl_format_rate(max, sizeof(max), conf->max_bps);
	sl_format_rate(promised, sizeof(promised), others);
	sl_format_rate(capacity, sizeof(capacity), whole);
	if (rc == -EDQUOT)
		snprintf(text, sizeof(text),
			 "min %s does not fit: %s of %s are promised to other jobs", min, promised,
			 capacity);
	else if (conf->max_bps && conf->min_bps > conf->max_bps)
		snprintf(text, sizeof(text), "min %s is above max %s", min, max);
	else if (conf->min_bps && !whole)
		snprintf(text, sizeof(text),
			 "a min needs a layer of known capacity: 'sluice up --capacity RATE'");
	else
		snprintf(text, sizeof(text), "%s", strncmp(why, "job: ", 5) ? why : why + 5);
	return answer(out, -rc, text);
}

static bool no_limits(const struct node *n)
{
	const char *admit = pass_configured(n, SL_ADMIT);

	return admit && !strncmp(admit, "open", 4) && (!admit[4] || admit[4] == ',');
}

/* What the protocol, a terminal and a report can show. */
static bool is_name(const char *text)
{
	size_t length = strlen(text);

	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	return length > 0 && length < SL_JOB_NAME_MAX;
}

static bool is_decimal(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/* Another job than the one of this name: its number is the hash of its name, or in decimal digits. */
static bool is_other(const struct node_job *j, const char *name)
{
	return strcmp(j->name, name) != 0 && !(is_decimal(j->name) && is_decimal(name));
}

/* Of a file that the node would read for somebody who need not be able to. */
static bool reads_file(const char *order)
{
	char file[SL_SPEC_FILE_MAX + 1];

	return order && sl_spec_file(order, "tree", file);
}

/* Why it may not be changed by this one, or NULL. */
static const char *forbidden(const struct node *n, const struct node_who *who,
			     const struct node_job *j, const struct sl_job_conf *conf,
			     const struct sl_ops_conf *ops, const char *order,
			     const struct job_facts *facts)
{
	if ((who->remote || !who->admin) && reads_file(order))
		return "a tree is read from a file of the node's machine; set it there";
	if (!n->site || who->admin)
		return NULL;
	if (facts->keep)
		return "only an administrator keeps a job";
	return site_refuses(n, who, j, conf, ops);
}

/* The job that is meant, by its whole name. NULL: there is none; *rc: why it cannot be. */
static struct node_job *find_job(struct node *n, const struct node_who *who, const char *asked,
				 char name[SL_JOB_NAME_MAX], bool *other, int *rc)
{
	struct node_job *j;

	*rc = asked && is_name(asked) ? 0 : -EINVAL;
	*other = false;
	if (!*rc && n->site)
		*rc = site_name(who, asked, name, other);
	else if (!*rc)
		snprintf(name, SL_JOB_NAME_MAX, "%s", asked);
	if (*rc)
		return NULL;
	j = node_job_find(n, sl_job_number(name));
	if (j && is_other(j, name))
		*rc = -EEXIST;
	return *rc ? NULL : j;
}

static int no_job(const char *name, int rc, bool make, char **out)
{
	char text[200];

	if (rc == -EPERM)
		return answer(out, EPERM, "the job is another user's");
	if (rc == -EEXIST)
		return answer(out, EEXIST,
			      "another job has the number of this name; choose another name");
	if (make && rc)
		return answer(out, EINVAL,
			      "the name of a job is made of 1 to 63 printable ASCII characters");
	for (const char *c = name ? name : ""; *c; c++)
		if (*c <= ' ' || *c > '~')
			name = "";
	snprintf(text, sizeof(text), "no job '%.64s'; see 'sluice status'", name ? name : "");
	return answer(out, ENOENT, text);
}

/* What an administrator sets is what the job's user cannot go beyond. */
static void keep_given(const struct node *n, const struct node_who *who, struct node_job *j,
		       const struct sl_job_conf *before, const struct sl_ops_conf *ops_before)
{
	if (!n->site || !who->admin)
		return;
	for (int m = 0; m < SL_METERS; m++)
		if (j->ops.asked.max[m] != ops_before->max[m])
			j->given_ops.max[m] = j->ops.asked.max[m];
	if (j->ops.asked.min_ops != ops_before->min_ops)
		j->given_ops.min_ops = j->ops.asked.min_ops;
	if (j->asked.max_bps != before->max_bps)
		j->given.max_bps = j->asked.max_bps;
	if (j->asked.burst_bytes != before->burst_bytes)
		j->given.burst_bytes = j->asked.burst_bytes;
	if (j->asked.min_bps != before->min_bps)
		j->given.min_bps = j->asked.min_bps;
	if (j->asked.weight != before->weight)
		j->given.weight = j->asked.weight;
}

/* What an administrator has set of a job. */
struct given {
	struct sl_job_conf conf;
	struct sl_ops_conf ops;
};

static void lower(uint64_t *asked, uint64_t most)
{
	if (most && (!*asked || *asked > most))
		*asked = most;
}

/* Of a job and of a tag in the file: what the file limits, it limits instead. */
static struct given given_to(const struct node_job *j, const struct config_job *tag)
{
	struct given g = { .conf = j->given, .ops = j->given_ops };

	g.conf.min_bps = g.ops.min_ops = 0; /* these are the job's own */
	if (g.conf.max_bps && tag && tag->conf.max_bps) {
		g.conf.max_bps = tag->conf.max_bps;
		g.conf.burst_bytes = tag->conf.burst_bytes;
	}
	if (g.conf.weight && tag && tag->conf.weight)
		g.conf.weight = tag->conf.weight;
	for (int m = 0; m < SL_METERS; m++)
		if (g.ops.max[m] && tag && tag->ops.max[m])
			g.ops.max[m] = tag->ops.max[m];
	return g;
}

/* A user who makes a part of a job does not get rid of what the job was limited to. */
static void take_given(const struct given *g, struct sl_job_conf *conf, struct sl_ops_conf *ops)
{
	lower(&conf->max_bps, g->conf.max_bps);
	if (g->conf.max_bps && conf->burst_bytes > g->conf.burst_bytes)
		conf->burst_bytes = g->conf.burst_bytes;
	if (g->conf.weight && conf->weight > g->conf.weight)
		conf->weight = g->conf.weight;
	for (int m = 0; m < SL_METERS; m++)
		lower(&ops->max[m], g->ops.max[m]);
}

/* Of a part of a job, JOB:TAG: what the file says of the tag where nobody has said otherwise, whose
 * the job is, and what it was given. */
static void take_tag(const struct node *n, const char *name, struct sl_job_conf *conf,
		     struct sl_ops_conf *ops, struct sl_job_owner *owner, struct given *given)
{
	const struct config_job *tag = rules_tag(n, name);
	const char *colon = sl_tag_of(name);
	char whole[SL_JOB_NAME_MAX];
	const struct node_job *job;

	if (!colon)
		return;
	snprintf(whole, sizeof(whole), "%.*s", (int)(colon - 1 - name), name);
	job = node_job_find(n, sl_job_number(whole));
	job = job && !is_other(job, whole) ? job : NULL;
	if (job && !owner->account[0])
		*owner = job->owner;
	if (job)
		*given = given_to(job, tag);
	if (!tag)
		return;
	conf->min_bps = conf->min_bps ? conf->min_bps : tag->conf.min_bps;
	conf->max_bps = conf->max_bps ? conf->max_bps : tag->conf.max_bps;
	conf->burst_bytes = conf->burst_bytes ? conf->burst_bytes : tag->conf.burst_bytes;
	conf->weight = conf->weight ? conf->weight : tag->conf.weight;
	conf->period_ns = conf->period_ns ? conf->period_ns : tag->conf.period_ns;
	conf->best_effort |= tag->conf.best_effort;
	ops->min_ops = ops->min_ops ? ops->min_ops : tag->ops.min_ops;
	for (int m = 0; m < SL_METERS; m++)
		ops->max[m] = ops->max[m] ? ops->max[m] : tag->ops.max[m];
}

/* *changed: what is known of a job has changed; a new one lifts nobody's limits. */
static int set_job(struct node *n, const struct node_who *who, char *words, bool make,
		   bool *changed, char **out)
{
	char *save = NULL, *asked = strtok_r(words, " ", &save), *order = NULL, text[200];
	char name[SL_JOB_NAME_MAX];
	struct job_facts facts = { 0 };
	struct sl_job_conf conf = { 0 }, before = { 0 };
	const char *what = make ? "job" : "set", *why = NULL;
	struct sl_ops_conf ops = { 0 }, ops_before = { 0 };
	struct given given = { 0 };
	struct sl_spec spec;
	struct node_job *j;
	bool other, fresh;
	int rc;

	j = find_job(n, who, asked, name, &other, &rc);
	fresh = !j;
	*changed = j;
	if (rc || (!j && !make)) {
		site_audit(n, who, what, asked, false, rc ? strerror(-rc) : "no such job");
		return no_job(asked, rc, make, out);
	}
	if (other)
		site_audit(n, who, what, asked, false, "its control group is of another job");
	if (j) {
		before = conf = j->asked;
		ops = ops_before = j->ops.asked;
		facts.owner = j->owner;
	} else {
		facts.owner.uid = n->site ? (uid_t)strtoul(name, NULL, 10) : geteuid();
	}
	if ((rc = job_words(&save, &conf, &ops, &order, make ? &facts : NULL, out)))
		return rc;
	/* A user chooses neither who pays nor how large the job is (share=fair,weigh=nodes). */
	if (n->site && !who->admin) {
		facts.owner = j ? j->owner : (struct sl_job_owner){ .uid = who->uid };
		facts.nodes = 0;
	}
	if (facts.title && !is_name(facts.title))
		return answer(out, EINVAL, "a title is made of printable ASCII characters");
	if (order && strcmp(order, "default") != 0 &&
	    (rc = sl_spec_parse(SL_ORDER, order, &spec, text, sizeof(text))))
		return answer(out, -rc, text);
	if (n->site && facts.pid > 0 && !site_owns(who, facts.pid)) {
		site_audit(n, who, what, name, false, "another user's process does not hold a job");
		facts.pid = 0;
	}
	if ((why = forbidden(n, who, j, &conf, &ops, order, &facts))) {
		site_audit(n, who, what, name, false, why);
		return answer(out, EPERM, why);
	}
	if (!j)
		take_tag(n, name, &conf, &ops, &facts.owner, &given);
	if (n->site && !who->admin)
		take_given(&given, &conf, &ops);
	else
		given = (struct given){ 0 };
	if (no_limits(n) && (conf.min_bps || conf.max_bps))
		return answer(out, EINVAL,
			      "under admit=open there are no limits; 'sluice policy set "
			      "admit=token-bucket' first");
	if (!j && n->site && !who->admin && !node_job_fits(n, who->uid, n->config->site->jobs)) {
		site_audit(n, who, what, name, false, "too many jobs of this user");
		return answer(out, EDQUOT, "you have as many jobs here as a user may have");
	}
	if (j)
		rc = node_job_ask(n, j, &conf, node_now());
	else
		j = node_job_add(n, name, (uid_t)strtoul(name, NULL, 10), &conf, &rc);
	if (rc) {
		site_audit(n, who, what, name, false, strerror(-rc));
		return refused(n, sl_job_number(name), &conf, rc, out);
	}
	if (fresh) {
		j->given = given.conf;
		j->given_ops = given.ops;
	}
	if (order && (rc = node_job_order(n, j->number, strcmp(order, "default") ? order : NULL,
					  node_now()))) {
		/* Its tree. A job that is new stays, without limits. */
		answer(out, -rc, sl_error(n->sched));
		node_job_ask(n, j, &before, node_now());
		return -rc;
	}
	if ((rc = ops_job_ask(n, j, &ops, node_now(), &why))) {
		answer(out, -rc, why);
		node_job_ask(n, j, &before, node_now());
		return -rc;
	}
	keep_given(n, who, j, &before, &ops_before);
	j->procs = facts.procs ? facts.procs : j->procs;
	j->nodes = facts.nodes ? facts.nodes : j->nodes;
	j->keep = j->keep || facts.keep;
	if (facts.title)
		snprintf(j->title, sizeof(j->title), "%s", facts.title);
	if (make)
		node_job_owner(n, j, &facts.owner);
	if (facts.pid > 0)
		node_job_hold(j, facts.pid);
	if (make)
		turn_job_make(n, j); /* if that fails, its programs go without */
	turn_job_keep(n, j);
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): at worst one line too many */
	if (fresh || memcmp(&before, &j->asked, sizeof(before)) != 0 || order ||
	    memcmp(&ops_before, &j->ops.asked, sizeof(ops_before)) != 0)
		site_audit(n, who, what, name, true, NULL);
	if (n->site && make) { /* which job it is, for who has asked for another */
		snprintf(text, sizeof(text), "job=%s", site_short(j));
		return answer(out, 0, text);
	}
	return 0;
}

/* Nobody holds the job any more: it is forgotten when its programs have ended. */
static int end_job(struct node *n, const struct node_who *who, const char *asked, char **out)
{
	char name[SL_JOB_NAME_MAX];
	struct node_job *j;
	bool other;
	int rc;

	j = find_job(n, who, asked, name, &other, &rc);
	if (!j)
		return no_job(asked, rc, false, out);
	node_job_end(n, j);
	return 0;
}

/* All are parsed before the first is set. */
static int set_policy(struct node *n, char *words, char **out)
{
	char *save = NULL, text[200], *spec[SL_NODE_STAGES] = { NULL };
	struct sl_spec parsed;

	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');
		int stage, rc;

		if (!value)
			return answer(out, EINVAL, "give STAGE=POLICY, as in share=wfq");
		*value++ = 0;
		stage = sl_stage_find(word);
		if (stage >= SL_NODE_STAGES)
			stage = -ENOENT;
		if (stage < 0 || spec[stage]) {
			snprintf(text, sizeof(text),
				 stage < 0 ? "no stage '%.32s'; there are admit, share, order"
					   : "the stage %.32s is given twice",
				 word);
			return answer(out, EINVAL, text);
		}
		rc = sl_spec_parse((enum sl_stage)stage, value, &parsed, text, sizeof(text));
		if (rc)
			return answer(out, -rc, text);
		spec[stage] = value;
	}
	/* Order first: its tree is the one thing that can still be refused. */
	for (int i = SL_NODE_STAGES - 1; i >= 0; i--) {
		char *copy;
		int rc;

		if (!spec[i])
			continue;
		rc = pass_stands_in(n, (enum sl_stage)i)
			     ? 0
			     : node_policy(n, sl_stage_name((enum sl_stage)i), spec[i], node_now());
		if (rc)
			return answer(out, -rc, sl_error(n->sched));
		ops_policy(n, sl_stage_name((enum sl_stage)i), spec[i], node_now());
		copy = strdup(spec[i]);
		if (copy) {
			free(n->policy[i]);
			n->policy[i] = copy;
		}
	}
	return 0;
}

static int set_capacity(struct node *n, const char *word, char **out)
{
	char text[200];
	uint64_t bps;
	int rc;

	if (!strcmp(word, "auto")) {
		rc = sense_auto(n, true, node_now());
		return rc ? answer(out, -rc, "the capacity cannot be found") : 0;
	}
	if (sl_parse_rate(word, &bps)) {
		snprintf(text, sizeof(text), "'%.64s' is not a rate; write 200M, 100MB/s or auto",
			 word);
		return answer(out, EINVAL, text);
	}
	rc = node_capacity(n, node_of_layer(n->config, bps), node_now());
	if (rc == -EBUSY)
		return answer(out, EBUSY, "the capacity cannot be unknown while jobs have a min");
	if (rc)
		return answer(out, -rc, "a capacity goes to 1 PiB/s");
	sense_auto(n, false, node_now());
	/* Leases were charged at the old rate; later they would be taken back at the new one. */
	for (struct node_job *j = n->jobs; j; j = j->next)
		if (j->turn)
			turn_revoke(n, j->turn, node_now());
	n->capacity_bps = n->pace.bps = bps;
	n->layer_bps = node_of_layer(n->config, bps);
	n->pace.at = 0; /* what was sent under the old one does not count any more */
	n->pace.carry = 0;
	link_event(n);
	return 0;
}

static int set_capacity_ops(struct node *n, const char *word, char **out)
{
	bool find = !strcmp(word, "auto");
	uint64_t count = 0;
	int rc;

	if (!find && sl_ops_parse(word, &count))
		return answer(out, EINVAL,
			      "a capacity of operations is a number per second like 5000 or 20k, "
			      "or auto");
	rc = ops_capacity(n, count, find, node_now());
	return rc ? answer(out, -rc,
			   "the capacity of operations cannot be unknown while jobs have a min_ops")
		  : 0;
}

/* ---- the configuration file; no lock is held ---- */

/* What of the node's policies another file says: "share=wfq order=to"; "": nothing. */
static void changed_policies(const struct config *old, const struct config *new, char *out,
			     size_t size)
{
	size_t at = 0;

	out[0] = 0;
	for (int i = 0; i < SL_NODE_STAGES; i++) {
		const char *a = old->policy[i], *b = new->policy[i];

		if (a == b || (a && b && !strcmp(a, b)))
			continue;
		at += (size_t)snprintf(out + at, size - at, "%s%s=%s", at ? " " : "",
				       sl_stage_name((enum sl_stage)i),
				       b ? b : sl_policy_at((enum sl_stage)i, 0)->name);
		at = at < size ? at : size - 1;
	}
}

/* The capacity of this node, as a word of a control line. */
static void capacity_word(const struct node *n, const struct config *c, char out[64])
{
	const char *text = c->value[CONFIG_CAPACITY];
	uint32_t nodes = n->config->layer_nodes ? n->config->layer_nodes : 1;
	uint64_t bps = 0;

	if (text && check_auto(text)) {
		strcpy(out, "auto");
		return;
	}
	if (text)
		sl_parse_rate(text, &bps);
	snprintf(out, 64, "%llu", (unsigned long long)(bps && bps < nodes ? 1 : bps / nodes));
}

/* The mode of the file; where it names none, and named none before, the present one. */
static bool observes(const struct node *n, const struct config *fresh)
{
	const char *mode = fresh->value[CONFIG_MODE];

	if (!mode && !rules_config(n)->value[CONFIG_MODE])
		return n->observe;
	return mode && !strcmp(mode, "observe");
}

/* Lock held: all of it, or nothing and an answer. Only what differs from the last file is set:
 * what was given on the command line, or set since, stays. */
static int take_config(struct node *n, struct config *fresh, char **out)
{
	const struct config *old = rules_config(n);
	char before[64], after[64], policies[1200], *unsaid = NULL;
	int rc = 0;

	changed_policies(old, fresh, policies, sizeof(policies));
	capacity_word(n, old, before);
	capacity_word(n, fresh, after);
	if (strcmp(before, after) != 0)
		rc = set_capacity(n, after, out);
	if (!rc && policies[0] && (rc = set_policy(n, policies, out)) && strcmp(before, after) != 0)
		set_capacity(n, before, &unsaid);
	free(unsaid);
	if (rc)
		return rc;
	if (observes(n, fresh) != n->observe)
		pass_observe(n, !n->observe, node_now());
	if (fresh->value[CONFIG_LOG_LEVEL])
		sl_log_level = (enum sl_log_level)sl_log_level_find(fresh->value[CONFIG_LOG_LEVEL]);
	rules_take(n, fresh, node_now());
	return 0;
}

/* What would be set, as control lines: a command keeps them for nodes that are revived. */
static int tell_changes(const struct node *n, const struct config *fresh, char **out)
{
	char before[64], after[64], policies[1200], text[1400] = "";

	changed_policies(rules_config(n), fresh, policies, sizeof(policies));
	capacity_word(n, rules_config(n), before);
	capacity_word(n, fresh, after);
	if (policies[0])
		snprintf(text, sizeof(text), "policy %s\n", policies);
	if (strcmp(before, after) != 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "capacity %s\n", after);
	return answer(out, 0, text);
}

static int refuse_config(struct node *n, int rc, const char *why, char **out)
{
	log_error("configuration refused, the one before stays: %s", why);
	pthread_mutex_lock(&n->lock);
	rules_refused(n, why);
	node_unlock(n);
	return *out ? rc : answer(out, rc, why);
}

/* check: say whether it could be taken. */
static int reload(struct node *n, bool check, char **out)
{
	char err[CONFIG_TEXT], policies[1200];
	struct adapt tree = { .text = NULL };
	struct config fresh;
	bool observe;
	int rc = -rules_read(n, &fresh, err);

	if (rc)
		return refuse_config(n, rc, err, out);
	if (check) {
		rc = tell_changes(n, &fresh, out);
		config_free(&fresh);
		return rc;
	}
	rules_again(n);
	changed_policies(rules_config(n), &fresh, policies, sizeof(policies));
	if (strstr(policies, "order=auto")) {
		adapt_read_words(&tree, policies);
		adapt_ratios(n);
	}
	observe = n->observe;
	if (observes(n, &fresh) != observe)
		usage_stop(n); /* its columns are others */
	pthread_mutex_lock(&n->lock);
	n->adapt = &tree;
	rc = take_config(n, &fresh, out);
	n->adapt = NULL;
	turn_modes(n, node_now());
	node_unlock(n);
	adapt_forget(&tree);
	if (!n->usage)
		usage_start(n);
	if (rc) {
		config_free(&fresh);
		return refuse_config(n, rc, *out ? *out : strerror(rc), out);
	}
	if (n->observe && !observe)
		sense_observe(n);
	log_info("configuration %s taken, %zu rules", n->config->file,
		 rules_config(n)->rules_count);
	node_wake_all(n);
	link_event(n);
	return 0;
}

/* JOB UNIT UNITS: on which node a client belongs that is unit so and so of so many. */
static int where(struct node *n, const struct node_who *who, char *words, char **out)
{
	char *save = NULL, *asked = strtok_r(words, " ", &save), text[8000], name[SL_JOB_NAME_MAX];
	const char *unit = strtok_r(NULL, " ", &save), *units = strtok_r(NULL, " ", &save);
	const struct client *c = who->client;
	bool other;
	int rc;
	const struct node_job *j = find_job(n, who, asked, name, &other, &rc);

	if (!j || !unit || !units)
		return answer(out, ENOENT, "where: no such job here");
	link_where(n, j, (uint32_t)strtoul(unit, NULL, 10), (uint32_t)strtoul(units, NULL, 10),
		   c && c->peer, text, sizeof(text));
	return answer(out, 0, text);
}

/* What it has done until now belongs to the phase: all of that is heard before its end. */
static int phase(struct node *n, struct client *c, const char *word, char **out)
{
	bool in = !strcmp(word, "begin");

	if (!c || (!in && strcmp(word, "end") != 0))
		return answer(out, EINVAL, c ? "phase: begin or end" : "phase: of which client?");
	node_collect(n, node_now());
	node_job_phase(n, c, in);
	return 0;
}

/* The name of the job that is refused is not repeated: `rest` is what anybody may have sent. */
static int not_allowed(struct node *n, const struct node_who *who, const char *command, char **out)
{
	site_audit(n, who, command, NULL, false, "for administrators");
	return answer(out, EPERM, "only an administrator of this layer may do that");
}

int node_control(struct node *n, const struct node_who *who, char *line, char **out)
{
	struct client *c = who->client;
	char *rest = strchr(line, ' ');
	struct adapt tree = { .text = NULL };
	bool changed = true;
	int rc;

	if (rest)
		*rest++ = 0;
	else
		rest = line + strlen(line);
	if (n->site && !site_allows(who, line))
		return not_allowed(n, who, line, out);
	if (!strcmp(line, "status"))
		return status_for(n, who, out);
	if (!strcmp(line, "ping"))
		return answer(out, 0, "pong");
	if (!strcmp(line, "reload") && !(c && c->peer))
		return reload(n, !strcmp(rest, "check"), out);
	if (!strcmp(line, "job"))
		rules_know(n, n->site ? who->uid : geteuid());
	if (!strcmp(line, "usage") && !(c && c->peer)) { /* that one is on another thread */
		usage_flush(n);
		return 0;
	}
	if (who->user)
		who->user->status_ns = 0; /* what it says may change */
	if (strstr(rest, "order=auto") && !who->remote && who->admin) {
		adapt_read_words(&tree, rest);
		adapt_ratios(n); /* it may have been profiled since */
	}
	pthread_mutex_lock(&n->lock);
	n->adapt = &tree;
	if (!strcmp(line, "set") || !strcmp(line, "job"))
		rc = set_job(n, who, rest, line[0] == 'j', &changed, out);
	else if (!strcmp(line, "end"))
		rc = end_job(n, who, rest, out);
	else if (!strcmp(line, "rules"))
		rc = rules_json(n, out);
	else if (!strcmp(line, "where"))
		rc = where(n, who, rest, out);
	else if (!strcmp(line, "phase"))
		rc = phase(n, c, rest, out);
	else if (!strcmp(line, "policy"))
		rc = set_policy(n, rest, out);
	else if (!strcmp(line, "capacity"))
		rc = set_capacity(n, rest, out);
	else if (!strcmp(line, "capacity-ops"))
		rc = set_capacity_ops(n, rest, out);
	else if (!strcmp(line, "open") || !strcmp(line, "close"))
		rc = (pass_open(n, line[0] == 'o', node_now()), 0);
	else
		rc = answer(out, EINVAL, "the node does not know this command");
	n->adapt = NULL;
	if (n->site && !site_allows(&(struct node_who){ .admin = false }, line))
		site_audit(n, who, line, strcmp(line, "end") ? NULL : rest, !rc,
			   rc && *out		 ? *out
			   : strcmp(line, "end") ? rest
						 : NULL);
	turn_modes(n, node_now());
	node_unlock(n);
	adapt_forget(&tree);
	if (changed)
		node_wake_all(n); /* limits may have been lifted */
	return rc;
}
