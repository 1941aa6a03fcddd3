/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control lines: what `sluice status`, `run`, `set` and `policy set` say to a node.
 *
 *	status                   everything, as JSON
 *	job NAME key=value…      make the job if there is none, then as `set`; and procs, nodes,
 *	                         title (of the job when it comes again), pid (keep the job while
 * that process lives), keep=1 (for good) set JOB key=value…       min max burst weight period
 * best_effort order policy STAGE=SPEC…       e.g. policy share=io-sets order=aioli,wait_us=500
 *	capacity RATE            what the node may draw from now on; 0: not known, no limit; auto:
 *it is found open, close              let everything pass from now on; no longer phase begin|end
 *this client's: see sl_phase_begin() in sluice.h ping
 *
 * An error is a positive errno and a sentence. A line is obeyed whole or not at all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/units.h"
#include "sched/spec.h"
#include "sluiced/ionode/adapt.h"
#include "sluiced/ionode/link.h"
#include "sluiced/ionode/pass.h"
#include "sluiced/ionode/sense.h"
#include "sluiced/ionode/trace.h"
#include "sluiced/ionode/turn.h"

static int answer(char **out, int status, const char *text)
{
	*out = strdup(text);
	return *out ? status : ENOMEM;
}

/* ---- status ---- */

static void put_latency(struct json *j, const struct sl_job_stats *st)
{
	json_object(j, "latency_us");
	json_double(j, "p50", (double)sl_latency_percentile_ns(st, 500000) / 1e3);
	json_double(j, "p95", (double)sl_latency_percentile_ns(st, 950000) / 1e3);
	json_double(j, "p99", (double)sl_latency_percentile_ns(st, 990000) / 1e3);
	json_end(j);
}

/* Index of the io-sets set: log10 of the period in seconds, to the nearest integer. */
static int set_of(sl_time period_ns)
{
	sl_time longest_ns = 316227766016837933; /* of set 8, 10^8.5 s; of set 7 a tenth, … */
	int i = 9;

	for (; i > -9 && period_ns <= longest_ns; i--)
		longest_ns /= 10;
	return i;
}

static void put_pattern(struct json *j, const struct node *n, uint64_t job)
{
	struct sl_job_pattern p;

	sl_job_pattern(n->sched, job, &p);
	json_object(j, "pattern");
	json_string(j, "spatiality", p.requests ? p.spatiality : NULL);
	json_string(j, "size", p.requests ? p.size : NULL);
	json_string(j, "op", !p.requests ? NULL : p.op == SL_WRITE ? "write" : "read");
	json_uint(j, "files", p.files);
	json_uint(j, "call_bytes", p.call_bytes);
	json_end(j);
	json_string(j, "order", p.order);
	json_string(j, "order_reason", *p.reason ? p.reason : NULL);
}

static void put_job(struct json *j, const struct node *n, const struct node_job *job,
		    uint64_t total_bps, sl_time now)
{
	struct sl_job_conf conf;
	struct sl_job_stats st;
	uint64_t bytes, requests, dirty, cached, wire;
	char reason[NODE_REASON];
	/* A job that has ended does not get slower. */
	sl_time until = job->clients			? now
			: job->last_io > job->last_seen ? job->last_io
							: job->last_seen;

	sl_job_get(n->sched, job->number, &conf);
	sl_job_stats(n->sched, job->number, now, &st);
	bytes = job->moved[SL_READ] + job->moved[SL_WRITE];
	requests = job->calls;
	json_object(j, NULL);
	json_string(j, "job", job->name);
	json_uint(j, "clients", job->clients);
	json_uint(j, "attached", job->turn ? job->turn->procs : 0);
	json_uint(j, "procs", job->procs);
	json_uint(j, "nodes", job->nodes);
	json_uint(j, "bandwidth_bps", job->rate_bps);
	json_uint(j, "average_bps",
		  (uint64_t)((double)bytes * 1e9 / (double)(until - job->since + 1)));
	json_uint(j, "iops", job->iops);
	ops_job_status(job, j);
	json_double(j, "share", total_bps ? (double)job->rate_bps / (double)total_bps : 0.0);
	json_uint(j, "read_bytes", job->moved[SL_READ]);
	json_uint(j, "write_bytes", job->moved[SL_WRITE]);
	json_uint(j, "requests", requests);
	json_uint(j, "batches", st.batches);
	json_double(j, "merge_ratio",
		    st.batches ? (double)(st.served_requests[SL_READ] +
					  st.served_requests[SL_WRITE] + st.inflight_requests) /
					 (double)st.batches
			       : 1.0);
	json_uint(j, "queued_requests", st.queued_requests);
	json_uint(j, "queued_bytes", st.queued_bytes);
	json_uint(j, "inflight_bytes", st.inflight_bytes);
	json_double(j, "throttled_s", (double)st.throttled_ns / 1e9);
	json_double(j, "waiting_s", (double)st.waiting_ns / 1e9);
	json_uint(j, "unscheduled_bytes",
		  job->turn ? atomic_load(&job->turn->shm->unscheduled) : 0);
	turn_wire_bytes(job, &dirty, &cached, &wire);
	json_uint(j, "dirty_bytes", dirty);
	json_uint(j, "cached_bytes", cached);
	json_uint(j, "wire_bytes", wire);
	json_uint(j, "floor_bytes", st.floor_bytes);
	json_uint(j, "borrowed_bytes", st.borrowed_bytes);
	put_latency(j, &st);
	/* Its part of what was asked for; an order of the controller includes it. */
	json_uint(j, "min_bps", job->grant_bps == SL_GRANT_NONE ? st.min_bps : job->min_here_bps);
	json_uint(j, "max_bps", st.max_bps);
	json_uint(j, "asked_min_bps", job->asked.min_bps); /* conf: this node's share of them */
	json_uint(j, "asked_max_bps", job->asked.max_bps);
	json_double(j, "asked_period_s", (double)job->asked.period_ns / 1e9);
	json_uint(j, "burst_bytes", job->asked.burst_bytes);
	json_bool(j, "best_effort", conf.best_effort);
	json_uint(j, "weight", conf.weight);
	json_double(j, "period_s", (double)conf.period_ns / 1e9);
	if (conf.period_ns > 0)
		json_int(j, "set", set_of(conf.period_ns));
	else
		json_string(j, "set", NULL);
	put_pattern(j, n, job->number);
	json_string(j, "reason", node_reason(n, job, total_bps, now, reason));
	json_end(j);
}

static void put_policies(struct json *j, const struct node *n, const struct sl_sched_stats *st)
{
	const char *const names[] = { st->admit, st->share, st->order };
	for (int i = 0; i < SL_NODE_STAGES; i++)
		json_string(j, sl_stage_name((enum sl_stage)i), names[i]);
	json_object(j, "policy"); /* with what was set of their parameters */
	for (int i = 0; i < SL_NODE_STAGES; i++) {
		const char *spec = pass_configured(n, (enum sl_stage)i);

		if (!spec)
			spec = pass_stands_in(n, (enum sl_stage)i)
				       ? sl_policy_at((enum sl_stage)i, 0)->name
				       : names[i];
		json_string(j, sl_stage_name((enum sl_stage)i), spec);
	}
	json_end(j);
}

static uint64_t floors_bps(const struct node *n)
{
	uint64_t sum = 0;

	for (const struct node_job *j = n->jobs; j; j = j->next)
		sum += j->min_here_bps;
	return sum;
}

static int status(struct node *n, char **out)
{
	struct sl_sched_stats st;
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
	sl_sched_stats(n->sched, &st);
	json_begin(&j, f);
	json_object(&j, NULL);
	json_string(&j, "version", SL_VERSION);
	json_string(&j, "root", n->config->root);
	json_uint(&j, "pid", (uint64_t)getpid());
	json_double(&j, "uptime_s", (double)(now - n->started) / 1e9);
	json_string(&j, "mode", pass_mode(n));
	put_policies(&j, n, &st);
	json_uint(&j, "capacity_bps", n->find ? sense_found_bps(n) : n->capacity_bps);
	sense_status(n, &j);
	ops_status(n, &j);
	json_string(&j, "charge", turn_wire_charge(n));
	json_uint(&j, "draw_bps", n->draw_bps);
	json_uint(&j, "floors_bps", floors_bps(n));
	json_uint(&j, "workers", n->workers);
	json_uint(&j, "requests", st.requests);
	json_uint(&j, "inflight_batches", st.inflight_batches);
	json_uint(&j, "inflight_bytes", st.inflight_bytes);
	json_uint(&j, "window_batches", n->window.limit);
	trace_status(n, &j);
	json_uint(&j, "decisions", st.decisions);
	json_uint(&j, "decisions_per_s", n->decisions_per_s);
	for (const struct node_job *job = n->jobs; job; job = job->next) {
		bps += job->rate_bps;
		iops += job->iops;
	}
	json_uint(&j, "bandwidth_bps", bps);
	json_uint(&j, "iops", iops);
	json_array(&j, "jobs");
	for (const struct node_job *job = n->jobs; job; job = job->next)
		put_job(&j, n, job, bps, now);
	json_end(&j);
	json_end(&j);
	node_unlock(n);
	return fclose(f) ? ENOMEM : 0;
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
};

static int fact_key(struct job_facts *f, const char *key, const char *value)
{
	char *end;
	unsigned long number = strtoul(value, &end, 10);

	if (!strcmp(key, "title")) {
		f->title = value;
		return strlen(value) < SL_JOB_NAME_MAX ? 0 : -EINVAL;
	}
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
		if (j->number != number && !j->asked.best_effort)
			others += j->asked.min_bps;
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

/* *changed: what is known of a job has changed; a new one lifts nobody's limits. */
static int set_job(struct node *n, char *words, bool make, bool *changed, char **out)
{
	char *save = NULL, *name = strtok_r(words, " ", &save), *order = NULL, text[200];
	struct job_facts facts = { 0 };
	struct sl_job_conf conf = { 0 }, before = { 0 };
	struct sl_ops_conf ops = { 0 };
	const char *why = NULL;
	struct sl_spec spec;
	struct node_job *j;
	int rc;

	j = name ? node_job_find(n, sl_job_number(name)) : NULL;
	if (!name || strlen(name) >= SL_JOB_NAME_MAX || (!j && !make)) {
		snprintf(text, sizeof(text), "no job '%.64s'; see 'sluice status'",
			 name ? name : "");
		return answer(out, ENOENT, text);
	}
	*changed = j;
	if (j) {
		before = conf = j->asked;
		ops = j->ops.asked;
	}
	if ((rc = job_words(&save, &conf, &ops, &order, make ? &facts : NULL, out)))
		return rc;
	if (order && strcmp(order, "default") != 0 &&
	    (rc = sl_spec_parse(SL_ORDER, order, &spec, text, sizeof(text))))
		return answer(out, -rc, text);
	if (no_limits(n) && (conf.min_bps || conf.max_bps))
		return answer(out, EINVAL,
			      "under admit=open there are no limits; 'sluice policy set "
			      "admit=token-bucket' first");
	if (j)
		rc = node_job_ask(n, j, &conf, node_now());
	else
		j = node_job_add(n, name, &conf, &rc);
	if (rc)
		return refused(n, sl_job_number(name), &conf, rc, out);
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
	j->procs = facts.procs ? facts.procs : j->procs;
	j->nodes = facts.nodes ? facts.nodes : j->nodes;
	j->keep = j->keep || facts.keep;
	if (facts.title)
		snprintf(j->title, sizeof(j->title), "%s", facts.title);
	if (facts.pid > 0)
		node_job_hold(j, facts.pid);
	if (make)
		turn_job_make(n, j); /* if that fails, its programs go without */
	turn_job_keep(j);
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
	n->capacity_bps = n->draw_bps = bps;
	n->layer_bps = node_of_layer(n->config, bps);
	n->pace = 0; /* what was sent under the old one does not count any more */
	n->carry = 0;
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

/* JOB UNIT UNITS: on which node a client belongs that is unit so and so of so many. */
static int where(const struct node *n, const struct client *c, char *words, char **out)
{
	char *save = NULL, *name = strtok_r(words, " ", &save), text[8000];
	const char *unit = strtok_r(NULL, " ", &save), *units = strtok_r(NULL, " ", &save);
	const struct node_job *j = name ? node_job_find(n, sl_job_number(name)) : NULL;

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

int node_control(struct node *n, struct client *c, char *line, char **out)
{
	char *rest = strchr(line, ' ');
	struct adapt tree = { .text = NULL };
	bool changed = true;
	int rc;

	if (rest)
		*rest++ = 0;
	else
		rest = line + strlen(line);
	if (!strcmp(line, "status"))
		return status(n, out);
	if (!strcmp(line, "ping"))
		return answer(out, 0, "pong");
	if (!strcmp(line, "usage") && !(c && c->peer)) { /* that one is on another thread */
		usage_flush(n);
		return 0;
	}
	if (strstr(rest, "order=auto")) {
		adapt_read_words(&tree, rest);
		adapt_ratios(n); /* it may have been profiled since */
	}
	pthread_mutex_lock(&n->lock);
	n->adapt = &tree;
	if (!strcmp(line, "set") || !strcmp(line, "job"))
		rc = set_job(n, rest, line[0] == 'j', &changed, out);
	else if (!strcmp(line, "where"))
		rc = where(n, c, rest, out);
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
	turn_modes(n, node_now());
	node_unlock(n);
	adapt_forget(&tree);
	if (changed)
		node_wake_all(n); /* limits may have been lifted */
	return rc;
}
