/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios as YAML.
 *
 *	platform:
 *	  bandwidth: 110Mi            # of the I/O system, bytes per second
 *	  per_proc_bandwidth: 1.5M    # of one processor; not given: no limit
 *	  procs: 2048                 # not given: what the jobs use together
 *	  servers: 4                  # each job uses one of them, with its part of everything
 *	  burst_buffer: {capacity: 2Ti, bandwidth: 1Gi}
 *	  restart: 20ms
 *	window: [400, 3200]           # in which jobs are judged; 'end': when the last one ends
 *	jobs:
 *	  - {name: small, count: 15, compute: 360, volume: 2560Mi, period_hint: 6m}
 *	  - {name: large, procs: 512, release: 1h, iterations: 12,
 *	     compute: {normal: [360, 20]}, volume: [2Gi, 2Gi, 40Gi]}
 *	policies: [fair-share, fcfs, 'min-max,gamma=50']
 *
 * See quantity.c for numbers, units and distributions. Numbers are written with as many digits as
 * it takes to read the same double again.
 *
 * Names become NAME-1, NAME-2, ... where `count` is more than 1; these neighbours share the lists
 * of their quantities. Ten thousand jobs take about 10 ms to read.
 */
#include "sim/scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/quantity.h"

/* The file so far. */
struct taken {
	struct sl_scenario *s;
	const yaml_node_t *endless; /* the first job without iterations */
	uint32_t endless_at;
	uint32_t jobs;		  /* in the list */
	const yaml_node_t *procs; /* of the platform */
};

/* ---- platform and window ---- */

static int sc_bandwidth(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct sl_platform *p = &((struct taken *)into)->s->platform;

	return sl_quantity_take(y, value, &sl_a_rate,
				strcmp(key, "bandwidth") ? &p->per_proc_bps : &p->bandwidth_bps);
}

static int sc_procs(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct taken *t = into;

	(void)key;
	t->procs = value;
	return sl_yaml_count(y, value, 1, (uint64_t)SL_SIM_PROCS * SL_SIM_APPS,
			     &t->s->platform.procs);
}

static int sc_servers(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct sl_platform *p = &((struct taken *)into)->s->platform;

	(void)key;
	return sl_yaml_count32(y, value, 1, SL_SIM_SERVERS, &p->servers);
}

static int sc_buffer_key(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct sl_platform *p = &((struct taken *)into)->s->platform;

	if (!strcmp(key, "capacity"))
		return sl_quantity_take(y, value, &sl_a_size, &p->buffer_bytes);
	return sl_quantity_take(y, value, &sl_a_rate, &p->buffer_bps);
}

static int sc_buffer(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "capacity", sc_buffer_key },
		{ "bandwidth", sc_buffer_key },
		{ 0 },
	};
	struct sl_platform *p = &((struct taken *)into)->s->platform;
	int rc = sl_yaml_mapping(y, value, keys, key, into);

	if (!rc && !(p->buffer_bytes > 0))
		rc = sl_yaml_bad(y, value, "the capacity is missing");
	return rc;
}

static int sc_restart(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct sl_platform *p = &((struct taken *)into)->s->platform;

	(void)key;
	return sl_quantity_take(y, value, &sl_a_time, &p->restart_s);
}

static int sc_platform(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "bandwidth", sc_bandwidth },
		{ "per_proc_bandwidth", sc_bandwidth },
		{ "procs", sc_procs },
		{ "servers", sc_servers },
		{ "burst_buffer", sc_buffer },
		{ "restart", sc_restart },
		{ 0 },
	};
	struct taken *t = into;
	struct sl_platform *p = &t->s->platform;
	int rc = sl_yaml_mapping(y, value, keys, key, into);

	if (!rc && !(p->bandwidth_bps > 0))
		rc = sl_yaml_bad(y, value, "the bandwidth is missing");
	if (!rc && p->buffer_bytes > 0 && !(p->buffer_bps > 0) && !(p->per_proc_bps > 0))
		rc = sl_yaml_bad(y, value,
				 "nothing limits how fast the burst buffer fills; give it a "
				 "bandwidth, or processors a per_proc_bandwidth");
	return rc;
}

static int sc_window(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	const yaml_node_item_t *item = value->data.sequence.items.start;
	struct taken *t = into;
	struct sl_scenario *s = t->s;
	const yaml_node_t *to;
	int rc;

	(void)key;
	if (value->type != YAML_SEQUENCE_NODE || value->data.sequence.items.top - item != 2)
		return sl_yaml_bad(y, value, "this is a list of two times, [from, to]");
	rc = sl_quantity_take(y, yaml_document_get_node(y->doc, item[0]), &sl_a_time, &s->from_s);
	to = yaml_document_get_node(y->doc, item[1]);
	if (rc || (to->type == YAML_SCALAR_NODE && !strcmp(sl_yaml_text(to), "end")))
		return rc;
	rc = sl_quantity_take(y, to, &sl_a_time, &s->to_s);
	if (!rc && s->to_s <= s->from_s)
		rc = sl_yaml_bad(y, value, "the window ends before it has begun");
	return rc;
}

/* ---- jobs ---- */

struct taken_job {
	struct sl_app app;
	uint64_t count;
	bool compute, volume; /* given */
};

static int sc_name(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct taken_job *t = into;
	int rc = sl_yaml_scalar(y, key, value, "the name of a job");

	if (rc)
		return rc;
	if (!sl_app_name_ok(sl_yaml_text(value)))
		return sl_yaml_bad(y, value, "a name has up to %d printable ASCII characters",
				   SL_SIM_NAME - 1);
	strcpy(t->app.name, sl_yaml_text(value));
	return 0;
}

static int sc_count(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct taken_job *t = into;

	(void)key;
	return sl_yaml_count(y, value, 1, SL_SIM_APPS, &t->count);
}

static int sc_job_procs(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct taken_job *t = into;

	(void)key;
	return sl_yaml_count32(y, value, 1, SL_SIM_PROCS, &t->app.procs);
}

static int sc_iterations(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct taken_job *t = into;

	(void)key;
	return sl_yaml_count(y, value, 1, SL_SIM_ITERATIONS, &t->app.iterations);
}

static int sc_job_time(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct taken_job *t = into;

	return sl_quantity_take(y, value, &sl_a_time,
				strcmp(key, "release") ? &t->app.period_hint_s : &t->app.release_s);
}

static int sc_compute(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct taken_job *t = into;

	(void)key;
	t->compute = true;
	return sl_vary_take(y, value, &sl_a_time, &t->app.compute_s);
}

static int sc_volume(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct taken_job *t = into;

	(void)key;
	t->volume = true;
	return sl_vary_take(y, value, &sl_a_volume, &t->app.volume_bytes);
}

/* The application, count times; these share its lists. */
static int sc_expand(struct sl_yaml *y, const yaml_node_t *node, struct taken_job *t,
		     struct sl_scenario *s)
{
	struct sl_app *apps;
	int length;

	if (t->count > SL_SIM_APPS - s->n_apps)
		return sl_yaml_bad(y, node, "these are more than %u jobs", SL_SIM_APPS);
	apps = reallocarray(s->apps, s->n_apps + t->count, sizeof(*apps));
	if (!apps)
		return sl_yaml_no_memory(y, node);
	s->apps = apps;
	for (uint64_t i = 0; i < t->count; i++) {
		apps[s->n_apps + i] = t->app;
		if (t->count == 1)
			break;
		length = snprintf(apps[s->n_apps + i].name, SL_SIM_NAME, "%s-%" PRIu64, t->app.name,
				  i + 1);
		if (length >= SL_SIM_NAME)
			return sl_yaml_bad(y, node, "the name is too long to have numbers");
	}
	s->n_apps += (uint32_t)t->count;
	t->app.compute_s.list = t->app.volume_bytes.list = NULL;
	return 0;
}

static int sc_job(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "name", sc_name },
		{ "count", sc_count },
		{ "procs", sc_job_procs },
		{ "release", sc_job_time },
		{ "compute", sc_compute },
		{ "volume", sc_volume },
		{ "iterations", sc_iterations },
		{ "period_hint", sc_job_time },
		{ 0 },
	};
	struct taken_job t = { .count = 1, .app.procs = 1 };
	struct taken *all = into;
	int rc;

	t.app.line = (uint32_t)sl_yaml_line(node);
	snprintf(t.app.name, sizeof(t.app.name), "job%u", ++all->jobs);
	rc = sl_yaml_mapping(y, node, keys, "a job", &t);
	if (!rc && !t.compute)
		rc = sl_yaml_bad(y, node, "compute is missing");
	if (!rc && !t.volume)
		rc = sl_yaml_bad(y, node, "volume is missing");
	if (!rc && !sl_app_does_something(&t.app))
		rc = sl_yaml_bad(y, node, "it neither computes nor does I/O");
	if (!rc && !t.app.iterations && !all->endless) {
		all->endless = node; /* the window may stand further down */
		all->endless_at = all->jobs - 1;
	}
	if (!rc)
		rc = sc_expand(y, node, &t, all->s);
	free(t.app.compute_s.list);
	free(t.app.volume_bytes.list);
	return rc;
}

static int sc_jobs(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	return sl_yaml_list(y, key, value, "a list: '- name: NAME' and its keys", sc_job, into);
}

static int sc_policies(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	return sl_policies_take(y, key, value, ((struct taken *)into)->s);
}

/* ---- the file ---- */

/* Line and key of what does not fit together. */
static int sc_sense(struct sl_yaml *y, const struct taken *t)
{
	const struct sl_scenario *s = t->s;
	struct sl_scenario_fault f;
	int rc = sl_scenario_sense(s, &f);

	if (!rc)
		return 0;
	if (rc == -ENOMEM)
		snprintf(y->err, y->err_size, "%s", f.text);
	else if (f.app == SL_SCENARIO_PLATFORM)
		sl_yaml_wrong(y, sl_yaml_line(t->procs), "platform.procs: %s", f.text);
	else if (f.app != f.other)
		sl_yaml_wrong(y, s->apps[f.app].line, "jobs: %s; line %u has the other", f.text,
			      s->apps[f.other].line);
	else
		sl_yaml_wrong(y, s->apps[f.app].line, "jobs: %s: %s", s->apps[f.app].name, f.text);
	return rc;
}

static int sc_root(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "platform", sc_platform },
		{ "window", sc_window },
		{ "jobs", sc_jobs },
		{ "policies", sc_policies },
		{ 0 },
	};
	struct taken *t = into;
	int rc;

	if (sl_yaml_has(y, node, "requests"))
		return sl_yaml_wrong(y, sl_yaml_line(node),
				     "this is a scenario of requests, for 'sluice sim --requests'");
	if (sl_yaml_has(y, node, "explore"))
		return sl_yaml_wrong(y, sl_yaml_line(node),
				     "this is no scenario: it is for 'sluice explore'");
	rc = sl_yaml_mapping(y, node, keys, "a scenario", into);

	if (!rc && !(t->s->platform.bandwidth_bps > 0))
		rc = sl_yaml_bad(y, node, "platform is missing, with its bandwidth");
	if (!rc && !t->s->n_apps)
		rc = sl_yaml_bad(y, node, "jobs are missing");
	if (!rc && t->endless && !(t->s->to_s > 0)) {
		snprintf(y->path, sizeof(y->path), "jobs[%u]", t->endless_at);
		rc = sl_yaml_bad(y, t->endless,
				 "iterations are missing; without them, a window must end");
	}
	return rc ? rc : sc_sense(y, t);
}

static int sc_done(int rc, const char *file, struct taken *t, char *err, size_t err_size)
{
	struct sl_scenario *s = t->s;

	if (!rc && !s->n_apps) { /* no document at all */
		snprintf(err, err_size, "%.200s:1: platform and jobs are missing", file);
		rc = -EINVAL;
	}
	if (!rc && !(s->name = strdup(file))) {
		snprintf(err, err_size, "no memory");
		rc = -ENOMEM;
	}
	if (rc)
		sl_scenario_free(s);
	return rc;
}

int sl_scenario_parse(const char *file, const char *text, size_t length, struct sl_scenario *out,
		      char *err, size_t err_size)
{
	struct taken t = { .s = out };

	*out = (struct sl_scenario){ .platform.servers = 1 };
	return sc_done(sl_yaml_parse(file, text, length, sc_root, &t, err, err_size), file, &t, err,
		       err_size);
}

int sl_scenario_load(const char *path, struct sl_scenario *out, char *err, size_t err_size)
{
	struct taken t = { .s = out };

	*out = (struct sl_scenario){ .platform.servers = 1 };
	return sc_done(sl_yaml_read(path, sc_root, &t, err, err_size), path, &t, err, err_size);
}
