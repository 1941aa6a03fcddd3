/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios of the request level, in YAML:
 *
 *	requests:
 *	  servers: 4            # each with the scheduler of the daemon and a device
 *	  stripe: 32Ki
 *	  transfer: 8Ki         # a call is sent in pieces of so much; 0: of any size
 *	  device: graphene      # a preset, or: { like: hdd, read: 200MB/s, read_seek: 4ms, ... }
 *	  link: 100MB/s         # of each process; 0: no limit
 *	  latency: 50us         # of a message
 *	  window: 1             # batches in flight at a device
 *	  window_bytes: 0       # bytes in flight; 0: no limit
 *	  capacity: 100MB/s     # of a server, as its scheduler is told
 *	  seed: 1
 *	  jobs:
 *	    - name: sim
 *	      count: 4          # so many applications: sim-1 .. sim-4
 *	      processes: 8
 *	      operation: write  # or read
 *	      files: shared     # or per-process
 *	      pattern: strided  # or contiguous, random
 *	      request: 256Ki    # bytes of a call
 *	      data: 64Mi        # of each process in a phase: data / request calls
 *	      depth: 1          # calls of a process at a time
 *	      start: 0s
 *	      think: 0s         # between calls
 *	      jitter: 0s        # up to so much more before each call
 *	      phases: 1
 *	      compute: 0s       # between phases
 *	      background: no    # yes: until the others are through
 *	      weight, min, max, burst, period, best_effort: as in sluice.yaml
 *	      user, account, nodes: whose it is and how large, for share=fair
 *	      on: [0, 2]        # with a controller: see requests-control-read.c
 *	  policies:
 *	    - order=to
 *	    - order=aioli,wait_us=500,share=pool
 *
 * Needed are a job and its name, request and data; what is left out has the value shown, or none;
 * there is one server then, of the device hdd.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "sim/requests-control-read.h"
#include "sim/requests-device.h"
#include "sim/requests.h"
#include "sched/spec.h"

#define MAX_TIME       (INT64_C(1000000) * 1000000000)
#define MAX_CALLS      (UINT64_C(1) << 40)
#define LEAST_LINK_BPS 1000 /* times of the largest calls on it stay far from the end of time */

static const char *const yes_no[] = { "no", "yes", "false", "true", NULL };

static int rr_flag(const struct sl_yaml *y, const yaml_node_t *node, bool *out)
{
	unsigned word;
	int rc = sl_yaml_word(y, node, yes_no, &word);

	if (!rc)
		*out = word % 2;
	return rc;
}

/* ---- applications ---- */

struct rr_app {
	struct sl_requests_app is;
	struct sl_requests *of;
	uint32_t count;
	uint64_t data_bytes;
};

static int rr_app_name(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct rr_app *a = into;
	int rc = sl_yaml_scalar(y, key, node, "the name of an application");

	if (!rc && strlen(sl_yaml_text(node)) > 50)
		rc = sl_yaml_bad(y, node, "a name has at most 50 letters");
	if (!rc)
		strcpy(a->is.name, sl_yaml_text(node));
	return rc;
}

static int rr_app_word(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	static const char *const operations[] = { "read", "write", NULL };
	static const char *const files[] = { "shared", "per-process", NULL };
	static const char *const patterns[] = { "contiguous", "strided", "random", NULL };
	struct rr_app *a = into;
	unsigned word;
	int rc;

	if (!strcmp(key, "background"))
		return rr_flag(y, node, &a->is.background);
	if (!strcmp(key, "operation")) {
		if (!(rc = sl_yaml_word(y, node, operations, &word)))
			a->is.op = word;
	} else if (!strcmp(key, "files")) {
		if (!(rc = sl_yaml_word(y, node, files, &word)))
			a->is.per_process = word;
	} else if (!(rc = sl_yaml_word(y, node, patterns, &word))) {
		a->is.spatial = (enum sl_spatial)word;
	}
	return rc;
}

static int rr_app_number(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct rr_app *a = into;

	if (!strcmp(key, "count"))
		return sl_yaml_count32(y, node, 1, SL_REQUESTS_APPS, &a->count);
	if (!strcmp(key, "processes"))
		return sl_yaml_count32(y, node, 1, SL_REQUESTS_PROCS, &a->is.procs);
	if (!strcmp(key, "depth"))
		return sl_yaml_count32(y, node, 1, SL_REQUESTS_DEPTH, &a->is.depth);
	if (!strcmp(key, "phases"))
		return sl_yaml_count(y, node, 1, 1000000, &a->is.phases);
	if (!strcmp(key, "request"))
		return sl_yaml_bytes(y, node, 1, UINT64_C(1) << 30, &a->is.call_bytes);
	return sl_yaml_bytes(y, node, 1, UINT64_C(1) << 50, &a->data_bytes);
}

static int rr_app_time(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct sl_requests_app *a = &((struct rr_app *)into)->is;
	sl_time *to = !strcmp(key, "start")    ? &a->start_ns
		      : !strcmp(key, "think")  ? &a->think_ns
		      : !strcmp(key, "jitter") ? &a->jitter_ns
					       : &a->compute_ns;

	return sl_yaml_time(y, node, 0, MAX_TIME, to);
}

static int rr_app_on(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct rr_app *a = into;

	return sl_requests_on_read(y, key, node, a->of, &a->is);
}

static int rr_app_conf(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct sl_job_conf *c = &((struct rr_app *)into)->is.conf;
	bool flag = false;
	int rc;

	if (!strcmp(key, "user") || !strcmp(key, "account")) {
		rc = sl_yaml_scalar(y, key, node, "a name");
		if (!rc)
			*(key[0] == 'u' ? &c->user : &c->account) = (uint64_t)sl_spec_hash(
				sl_yaml_text(node), strlen(sl_yaml_text(node)));
		return rc;
	}
	if (!strcmp(key, "nodes"))
		return sl_yaml_count32(y, node, 1, 100000000, &c->nodes);
	if (!strcmp(key, "weight"))
		return sl_yaml_count32(y, node, 1, SL_MAX_WEIGHT, &c->weight);
	if (!strcmp(key, "min"))
		return sl_yaml_rate(y, node, 1, SL_MAX_RATE, &c->min_bps);
	if (!strcmp(key, "max"))
		return sl_yaml_rate(y, node, 1, SL_MAX_RATE, &c->max_bps);
	if (!strcmp(key, "burst"))
		return sl_yaml_bytes(y, node, 1, SL_MAX_LENGTH, &c->burst_bytes);
	if (!strcmp(key, "period"))
		return sl_yaml_time(y, node, 1, MAX_TIME, &c->period_ns);
	if (!(rc = rr_flag(y, node, &flag)))
		c->best_effort = flag;
	return rc;
}

static int rr_app_check(const struct sl_yaml *y, const yaml_node_t *node, struct rr_app *a)
{
	const char *missing = !a->is.name[0]	  ? "its name, as in 'name: climate'"
			      : !a->is.call_bytes ? "the size of its calls, as in 'request: 256Ki'"
			      : !a->data_bytes	  ? "the bytes of each process, as in 'data: 64Mi'"
						  : NULL;

	if (missing)
		return sl_yaml_bad(y, node, "needs %s", missing);
	if (a->data_bytes % a->is.call_bytes) {
		uint64_t calls = a->data_bytes / a->is.call_bytes;

		return sl_yaml_bad(y, node,
				   "data %" PRIu64 " is not a multiple of request %" PRIu64
				   "; write data: %" PRIu64,
				   a->data_bytes, a->is.call_bytes,
				   (calls ? calls : 1) * a->is.call_bytes);
	}
	a->is.calls = a->data_bytes / a->is.call_bytes;
	if (a->is.calls > MAX_CALLS / a->is.phases / a->is.procs)
		return sl_yaml_bad(y, node, "these are more than 2^40 calls");
	if (a->is.background && a->is.phases > 1)
		return sl_yaml_bad(y, node, "what is in the background has one phase");
	if (a->is.conf.max_bps && a->is.conf.min_bps > a->is.conf.max_bps)
		return sl_yaml_bad(y, node, "min is more than max");
	return 0;
}

static int rr_app(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "name", rr_app_name },
		{ "count", rr_app_number },
		{ "processes", rr_app_number },
		{ "operation", rr_app_word },
		{ "files", rr_app_word },
		{ "pattern", rr_app_word },
		{ "request", rr_app_number },
		{ "data", rr_app_number },
		{ "depth", rr_app_number },
		{ "start", rr_app_time },
		{ "think", rr_app_time },
		{ "jitter", rr_app_time },
		{ "phases", rr_app_number },
		{ "compute", rr_app_time },
		{ "background", rr_app_word },
		{ "weight", rr_app_conf },
		{ "min", rr_app_conf },
		{ "max", rr_app_conf },
		{ "burst", rr_app_conf },
		{ "period", rr_app_conf },
		{ "best_effort", rr_app_conf },
		{ "user", rr_app_conf },
		{ "account", rr_app_conf },
		{ "nodes", rr_app_conf },
		{ "on", rr_app_on },
		{ 0 },
	};
	struct sl_requests *s = into;
	struct rr_app a = { .is = { .procs = 1, .depth = 1, .phases = 1, .op = SL_WRITE },
			    .of = s,
			    .count = 1 };
	struct sl_requests_app *apps;
	int rc = sl_yaml_mapping(y, node, keys, "a job", &a);

	if (rc || (rc = rr_app_check(y, node, &a)))
		return rc;
	if (s->n_apps + a.count > SL_REQUESTS_APPS)
		return sl_yaml_bad(y, node, "more than %d applications", SL_REQUESTS_APPS);
	apps = reallocarray(s->apps, s->n_apps + a.count, sizeof(*apps));
	if (!apps)
		return sl_yaml_no_memory(y, node);
	s->apps = apps;
	for (uint32_t i = 0; i < a.count; i++) {
		struct sl_requests_app *to = &s->apps[s->n_apps++];

		*to = a.is;
		if (a.count > 1)
			snprintf(to->name, sizeof(to->name), "%.50s-%u", a.is.name, i + 1);
	}
	return 0;
}

static int rr_apps(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	return sl_yaml_list(y, key, node, "a list: '- name: NAME' and its keys", rr_app, into);
}

/* ---- the rest ---- */

static int rr_policy(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	struct sl_requests *s = into;
	struct sl_requests_policy *p;
	char err[400];
	int rc = sl_yaml_scalar(y, "a policy", node, "text like order=aioli,share=pool");

	if (rc)
		return rc;
	p = reallocarray(s->policies, s->n_policies + 1, sizeof(*p));
	if (!p)
		return sl_yaml_no_memory(y, node);
	s->policies = p;
	rc = sl_requests_policy_parse(sl_yaml_text(node), &p[s->n_policies], err, sizeof(err));
	if (rc == -ENOMEM)
		return sl_yaml_no_memory(y, node);
	if (rc)
		return sl_yaml_bad(y, node, "%s", err);
	s->n_policies++;
	return 0;
}

static int rr_policies(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	return sl_yaml_list(y, key, node, "a list: '- order=aioli,share=pool'", rr_policy, into);
}

int sl_requests_platform(struct sl_yaml *y, const char *key, const yaml_node_t *node,
			 struct sl_requests *s)
{
	int rc;

	if (!strcmp(key, "stripe"))
		return sl_yaml_bytes(y, node, 512, UINT64_C(1) << 40, &s->striping.stripe_bytes);
	if (!strcmp(key, "transfer"))
		return sl_yaml_bytes(y, node, 0, UINT64_C(1) << 30, &s->transfer_bytes);
	if (!strcmp(key, "latency"))
		return sl_yaml_time(y, node, 0, MAX_TIME, &s->latency_ns);
	if (!strcmp(key, "request_time"))
		return sl_yaml_time(y, node, 0, MAX_TIME, &s->request_ns);
	if (!strcmp(key, "batch_time"))
		return sl_yaml_time(y, node, 0, MAX_TIME, &s->batch_ns);
	if (!strcmp(key, "window"))
		return sl_yaml_count32(y, node, 1, SL_REQUESTS_WINDOW, &s->window_batches);
	if (!strcmp(key, "capacity"))
		return sl_yaml_rate(y, node, 1, SL_MAX_RATE, &s->capacity_bps);
	rc = sl_yaml_rate(y, node, 0, SL_MAX_RATE, &s->link_bps);
	if (!rc && s->link_bps && s->link_bps < LEAST_LINK_BPS)
		rc = sl_yaml_bad(y, node, "'%.64s' is less than %d bytes per second",
				 sl_yaml_text(node), LEAST_LINK_BPS);
	return rc;
}

static int rr_platform(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	return sl_requests_platform(y, key, node, into);
}

static int rr_number(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct sl_requests *s = into;

	if (!strcmp(key, "servers"))
		return sl_yaml_count32(y, node, 1, SL_REQUESTS_SERVERS, &s->striping.servers);
	if (!strcmp(key, "seed"))
		return sl_yaml_count(y, node, 0, UINT64_MAX, &s->seed);
	return sl_yaml_bytes(y, node, 0, SL_MAX_LENGTH, &s->window_bytes);
}

static int rr_device(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct sl_requests *s = into;

	(void)key;
	return sl_requests_device(y, node, &s->device);
}

static int rr_control(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct sl_requests *s = into;

	if (!strcmp(key, "events"))
		return sl_requests_events_read(y, key, node, s);
	if (!strcmp(key, "until"))
		return sl_yaml_time(y, node, 1, MAX_TIME, &s->until_ns);
	return sl_requests_control_read(y, key, node, &s->control);
}

static int rr_requests(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "servers", rr_number },	 { "stripe", rr_platform },
		{ "transfer", rr_platform },	 { "device", rr_device },
		{ "link", rr_platform },	 { "latency", rr_platform },
		{ "request_time", rr_platform }, { "batch_time", rr_platform },
		{ "window", rr_platform },	 { "window_bytes", rr_number },
		{ "capacity", rr_platform },	 { "seed", rr_number },
		{ "controller", rr_control },	 { "events", rr_control },
		{ "until", rr_control },	 { "jobs", rr_apps },
		{ "policies", rr_policies },	 { 0 },
	};
	struct sl_requests *s = into;
	bool ends = false;
	int rc = sl_yaml_mapping(y, node, keys, key, into);

	if (rc)
		return rc;
	if (!s->n_apps)
		return sl_yaml_bad(y, node, "needs jobs, as in '- name: climate'");
	for (uint32_t i = 0; i < s->n_apps; i++) {
		ends |= !s->apps[i].background;
		if (s->apps[i].conf.min_bps && !s->capacity_bps)
			return sl_yaml_bad(y, node, "a min needs the capacity of the servers");
	}
	if (!ends && !s->until_ns)
		return sl_yaml_bad(y, node, "no job ever ends: all are in the background");
	for (uint32_t i = 0; !s->control.there && i < s->n_policies; i++)
		if (s->policies[i].grant)
			return sl_yaml_bad(y, node, "grant=%.64s needs a controller",
					   s->policies[i].grant);
	return sl_requests_control_check(y, node, s);
}

static int rr_root(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = { { "requests", rr_requests }, { 0 } };

	if (sl_yaml_has(y, node, "platform"))
		return sl_yaml_wrong(
			y, sl_yaml_line(node),
			"this is a scenario of whole I/O phases, for 'sluice sim' without "
			"--requests");
	return sl_yaml_mapping(y, node, keys, "a scenario of requests", into);
}

/* ---- all of it ---- */

void sl_requests_init(struct sl_requests *s)
{
	*s = (struct sl_requests){
		.striping = { 1, 32768 },
		.link_bps = 100000000,
		.latency_ns = 50000,
		.window_batches = 1,
		.device = *sl_device_preset(0),
		.control = { .delay_ns = 1000000, .gap_ns = 1000000000, .standby_ns = SL_NEVER },
		.seed = 1
	};
}

static int rr_end(struct sl_requests *s, int rc, const char *path, char *err, size_t err_size)
{
	if (!rc && !s->n_apps) {
		snprintf(err, err_size,
			 "%.200s:1: there is nothing in it; it begins with "
			 "'requests:'",
			 path);
		rc = -EINVAL;
	}
	if (!rc && !(s->name = strdup(path))) {
		snprintf(err, err_size, "no memory");
		rc = -ENOMEM;
	}
	if (rc)
		sl_requests_free(s);
	return rc;
}

int sl_requests_parse(const char *file, const char *text, size_t length, struct sl_requests *out,
		      char *err, size_t err_size)
{
	sl_requests_init(out);
	return rr_end(out, sl_yaml_parse(file, text, length, rr_root, out, err, err_size), file,
		      err, err_size);
}

int sl_requests_load(const char *path, struct sl_requests *out, char *err, size_t err_size)
{
	sl_requests_init(out);
	return rr_end(out, sl_yaml_read(path, rr_root, out, err, err_size), path, err, err_size);
}

void sl_requests_free(struct sl_requests *s)
{
	for (uint32_t i = 0; i < s->n_policies; i++)
		sl_requests_policy_free(&s->policies[i]);
	free(s->policies);
	free(s->apps);
	free(s->on);
	free(s->events);
	free(s->name);
	*s = (struct sl_requests){ 0 };
}
