/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control lines: what `sluice status`, `set` and `policy set` say to a node.
 *
 *	status                        everything, as JSON
 *	set JOB key=value…            min max burst weight period best_effort order
 *	policy STAGE=SPEC…            e.g. policy share=io-sets order=aioli,wait_us=500
 *	ping
 *
 * An error is a positive errno and a sentence. A line is obeyed whole or not at all, as far as
 * one stage or one job is concerned; stages given together are set one after the other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/units.h"
#include "ionode/node.h"

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

static void put_job(struct json *j, const struct node *n, const struct node_job *job, sl_time now)
{
	struct sl_job_conf conf;
	struct sl_job_stats st;
	uint64_t bytes, requests;

	sl_job_get(n->sched, job->number, &conf);
	sl_job_stats(n->sched, job->number, now, &st);
	bytes = st.served_bytes[SL_READ] + st.served_bytes[SL_WRITE];
	requests = st.served_requests[SL_READ] + st.served_requests[SL_WRITE];
	json_object(j, NULL);
	json_string(j, "job", job->name);
	json_uint(j, "clients", job->clients);
	json_uint(j, "bandwidth_bps", job->rate_bps);
	json_uint(j, "average_bps",
		  (uint64_t)((double)bytes * 1e9 / (double)(now - job->since + 1)));
	json_uint(j, "read_bytes", st.served_bytes[SL_READ]);
	json_uint(j, "write_bytes", st.served_bytes[SL_WRITE]);
	json_uint(j, "requests", requests);
	json_uint(j, "batches", st.batches);
	json_double(j, "merge_ratio",
		    st.batches ? (double)(requests + st.inflight_requests) / (double)st.batches
			       : 1.0);
	json_uint(j, "queued_requests", st.queued_requests);
	json_uint(j, "queued_bytes", st.queued_bytes);
	json_uint(j, "inflight_bytes", st.inflight_bytes);
	json_double(j, "throttled_s", (double)st.throttled_ns / 1e9);
	json_uint(j, "floor_bytes", st.floor_bytes);
	json_uint(j, "borrowed_bytes", st.borrowed_bytes);
	put_latency(j, &st);
	json_uint(j, "min_bps", st.min_bps);
	json_uint(j, "max_bps", st.max_bps);
	json_uint(j, "weight", conf.weight);
	json_double(j, "period_s", (double)conf.period_ns / 1e9);
	json_end(j);
}

static int status(struct node *n, char **out)
{
	struct sl_sched_stats st;
	struct json j;
	size_t size;
	sl_time now;
	FILE *f = open_memstream(out, &size);

	if (!f)
		return ENOMEM;
	pthread_mutex_lock(&n->lock);
	now = node_now();
	sl_sched_stats(n->sched, &st);
	json_begin(&j, f);
	json_object(&j, NULL);
	json_string(&j, "version", SL_VERSION);
	json_string(&j, "root", n->config->root);
	json_uint(&j, "pid", (uint64_t)getpid());
	json_double(&j, "uptime_s", (double)(now - n->started) / 1e9);
	json_string(&j, "admit", st.admit);
	json_string(&j, "share", st.share);
	json_string(&j, "order", st.order);
	json_uint(&j, "capacity_bps", st.capacity_bps);
	json_uint(&j, "floors_bps", st.floors_bps);
	json_uint(&j, "workers", n->workers);
	json_uint(&j, "requests", st.requests);
	json_uint(&j, "inflight_batches", st.inflight_batches);
	json_uint(&j, "inflight_bytes", st.inflight_bytes);
	json_uint(&j, "decisions", st.decisions);
	json_array(&j, "jobs");
	for (struct node_job *job = n->jobs; job; job = job->next)
		put_job(&j, n, job, now);
	json_end(&j);
	json_end(&j);
	pthread_mutex_unlock(&n->lock);
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
		return sl_parse_time(value, &c->period_ns);
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

static int set_job(struct node *n, char *words, char **out)
{
	char *save = NULL, *name = strtok_r(words, " ", &save), *word, *order = NULL, text[200];
	uint64_t number = name ? sl_job_number(name) : 0;
	struct sl_job_conf conf;
	int rc;

	if (!name || sl_job_get(n->sched, number, &conf)) {
		snprintf(text, sizeof(text), "no job '%.64s'; see 'sluice status'",
			 name ? name : "");
		return answer(out, ENOENT, text);
	}
	while ((word = strtok_r(NULL, " ", &save))) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = 0;
		if (value && !strcmp(word, "order")) {
			order = value;
			continue;
		}
		rc = value ? set_key(&conf, word, value) : -EINVAL;
		if (rc) {
			snprintf(text, sizeof(text),
				 rc == -ENOENT ? "no key '%.32s'; there are min, max, burst, "
						 "weight, period, "
						 "best_effort, order"
					       : "'%.32s' has no proper value",
				 word);
			return answer(out, -rc, text);
		}
	}
	rc = order ? sl_job_order(n->sched, number, strcmp(order, "default") ? order : NULL,
				  node_now())
		   : 0;
	if (!rc)
		rc = sl_job_set(n->sched, number, &conf, node_now());
	return rc ? answer(out, -rc, sl_error(n->sched)) : 0;
}

static int set_policy(struct node *n, char *words, char **out)
{
	char *save = NULL;

	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *spec = strchr(word, '=');
		int rc;

		if (!spec)
			return answer(out, EINVAL, "give STAGE=POLICY, as in share=wfq");
		*spec++ = 0;
		rc = sl_policy_set(n->sched, word, spec, node_now());
		if (rc)
			return answer(out, -rc, sl_error(n->sched));
	}
	return 0;
}

int node_control(struct node *n, char *line, char **out)
{
	char *rest = strchr(line, ' ');
	int rc;

	if (rest)
		*rest++ = 0;
	else
		rest = line + strlen(line);
	if (!strcmp(line, "status"))
		return status(n, out);
	if (!strcmp(line, "ping"))
		return answer(out, 0, "pong");
	pthread_mutex_lock(&n->lock);
	if (!strcmp(line, "set"))
		rc = set_job(n, rest, out);
	else if (!strcmp(line, "policy"))
		rc = set_policy(n, rest, out);
	else
		rc = answer(out, EINVAL, "the node does not know this command");
	pthread_mutex_unlock(&n->lock);
	node_wake_all(n); /* limits may have been lifted */
	return rc;
}
