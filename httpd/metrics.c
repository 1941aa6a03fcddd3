/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics for Prometheus, out of the status of the layer: one table says it all. Names follow its
 * conventions: base units (bytes, seconds), _total for what only grows.
 *
 *	# HELP sluice_job_bytes_total Bytes that a job has moved.
 *	# TYPE sluice_job_bytes_total counter
 *	sluice_job_bytes_total{job="a",ionode="0",op="read"} 0
 *	sluice_job_bytes_total{job="a",ionode="0",op="write"} 262144
 *
 * Counters are told for each I/O node, never added up: when one dies its own end, and when it is
 * started again they begin at 0, which Prometheus takes for what it is. A sum would fall from 50 +
 *30 to 50, and be taken for one that has begun anew and moved 50 since.
 */
#include "httpd/metrics.h"

#include <math.h>
#include <string.h>

enum of { LAYER, JOB, PART, IONODE }; /* PART: a job's, at a node */

static const struct metric {
	const char *name, *type, *help;
	enum of of;
	const char *key, *inside; /* of the object; inside: key of an object in that, or NULL */
	double scale;
	const char *label; /* beside the job's or node's; the same name again: the same metric */
} metrics[] = {
	{ "sluice_capacity_bytes_per_second", "gauge",
	  "What the layer may draw from the file system; 0: not known.", LAYER, "capacity_bps",
	  NULL, 1, NULL },
	{ "sluice_promised_bytes_per_second", "gauge", "Sum of the guarantees of all jobs.", LAYER,
	  "floors_bps", NULL, 1, NULL },
	{ "sluice_bandwidth_bytes_per_second", "gauge", "What all jobs moved in the last second.",
	  LAYER, "bandwidth_bps", NULL, 1, NULL },
	{ "sluice_decisions_total", "counter", "Scheduling decisions of an I/O node.", IONODE,
	  "decisions", NULL, 1, NULL },
	{ "sluice_requests", "gauge", "Requests inside the layer.", LAYER, "requests", NULL, 1,
	  NULL },
	{ "sluice_inflight_bytes", "gauge", "Bytes on their way to the file system.", LAYER,
	  "inflight_bytes", NULL, 1, NULL },
	{ "sluice_job_bytes_total", "counter", "Bytes that a job has moved.", PART, "read_bytes",
	  NULL, 1, "op=\"read\"" },
	{ "sluice_job_bytes_total", "counter", NULL, PART, "write_bytes", NULL, 1, "op=\"write\"" },
	{ "sluice_job_wire_bytes_total", "counter",
	  "Bytes of a job that were charged: read or written back.", JOB, "wire_bytes", NULL, 1,
	  NULL },
	{ "sluice_job_cached_bytes_total", "counter",
	  "Bytes that a job's reads had from the page cache.", JOB, "cached_bytes", NULL, 1, NULL },
	{ "sluice_job_dirty_bytes", "gauge", "Bytes of a job that are not written back yet.", JOB,
	  "dirty_bytes", NULL, 1, NULL },
	{ "sluice_job_requests_total", "counter", "Requests of a job that were served.", PART,
	  "requests", NULL, 1, NULL },
	{ "sluice_job_batches_total", "counter", "Batches that these were merged into.", PART,
	  "batches", NULL, 1, NULL },
	{ "sluice_job_throttled_seconds_total", "counter", "Time that a job was held by its max.",
	  PART, "throttled_s", NULL, 1, NULL },
	{ "sluice_job_unscheduled_bytes_total", "counter",
	  "Bytes of a job that went past the scheduler: mapped files, or no node answered.", PART,
	  "unscheduled_bytes", NULL, 1, NULL },
	{ "sluice_job_phases_total", "counter", "I/O phases of a job that have ended.", JOB,
	  "phases", NULL, 1, NULL },
	{ "sluice_job_bandwidth_bytes_per_second", "gauge", "What a job moved in the last second.",
	  JOB, "bandwidth_bps", NULL, 1, NULL },
	{ "sluice_job_clients", "gauge", "Processes of a job that are connected.", JOB, "clients",
	  NULL, 1, NULL },
	{ "sluice_job_queued_requests", "gauge", "Requests of a job that wait.", JOB,
	  "queued_requests", NULL, 1, NULL },
	{ "sluice_job_queued_bytes", "gauge", "Bytes of these.", JOB, "queued_bytes", NULL, 1,
	  NULL },
	{ "sluice_job_inflight_bytes", "gauge", "Bytes of a job on their way to the file system.",
	  JOB, "inflight_bytes", NULL, 1, NULL },
	{ "sluice_job_min_bytes_per_second", "gauge", "What a job was guaranteed; 0: nothing.", JOB,
	  "asked_min_bps", NULL, 1, NULL },
	{ "sluice_job_max_bytes_per_second", "gauge", "What a job may have at most; 0: no limit.",
	  JOB, "asked_max_bps", NULL, 1, NULL },
	{ "sluice_job_weight", "gauge", "Weight of a job beside others.", JOB, "weight", NULL, 1,
	  NULL },
	{ "sluice_job_in_io", "gauge", "1 while a job is in an I/O phase.", JOB, "in_io", NULL, 1,
	  NULL },
	{ "sluice_job_grant_bytes_per_second", "gauge", "What the controller grants a job now.",
	  JOB, "grant_bps", NULL, 1, NULL },
	{ "sluice_job_latency_p50_seconds", "gauge", "Time that half of a job's requests take.",
	  JOB, "latency_us", "p50", 1e-6, NULL },
	{ "sluice_job_latency_p95_seconds", "gauge", "Time that 95 % of a job's requests take.",
	  JOB, "latency_us", "p95", 1e-6, NULL },
	{ "sluice_job_latency_p99_seconds", "gauge", "Time that 99 % of a job's requests take.",
	  JOB, "latency_us", "p99", 1e-6, NULL },
	{ "sluice_ionode_uptime_seconds", "gauge", "Since an I/O node has started.", IONODE,
	  "uptime_s", NULL, 1, NULL },
	{ "sluice_ionode_capacity_bytes_per_second", "gauge", "Its part of the capacity.", IONODE,
	  "capacity_bps", NULL, 1, NULL },
	{ "sluice_ionode_bandwidth_bytes_per_second", "gauge",
	  "What went through it in the last second.", IONODE, "bandwidth_bps", NULL, 1, NULL },
	{ "sluice_ionode_requests", "gauge", "Requests inside it.", IONODE, "requests", NULL, 1,
	  NULL },
	{ "sluice_ionode_inflight_bytes", "gauge", "Bytes on their way from or to it.", IONODE,
	  "inflight_bytes", NULL, 1, NULL },
	{ "sluice_ionode_jobs", "gauge", "Jobs with processes at it.", IONODE, "jobs", NULL, 1,
	  NULL },
	{ "sluice_ionode_clients", "gauge", "Processes at it.", IONODE, "clients", NULL, 1, NULL },
};

static const cJSON *mt_item(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* A label's value: \ " and newlines are escaped. */
static void mt_quoted(FILE *f, const char *text)
{
	putc('"', f);
	for (; text && *text; text++) {
		if (*text == '\\' || *text == '"')
			putc('\\', f);
		if (*text == '\n')
			fputs("\\n", f);
		else
			putc(*text, f);
	}
	putc('"', f);
}

static void mt_head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void mt_value(FILE *f, double value)
{
	if (value == floor(value) && fabs(value) < 0x1p53)
		fprintf(f, " %.0f\n", value);
	else
		fprintf(f, " %.15g\n", value);
}

/* What is null or not there has no sample. job, node: whose, or NULL. */
static void mt_sample(FILE *f, const struct metric *m, const cJSON *object, const cJSON *job,
		      const cJSON *node)
{
	const cJSON *item = mt_item(object, m->key);

	if (m->inside)
		item = mt_item(item, m->inside);
	if (!cJSON_IsNumber(item) && !cJSON_IsBool(item))
		return;
	fputs(m->name, f);
	if (job) {
		fputs("{job=", f);
		mt_quoted(f, cJSON_GetStringValue(job));
	}
	if (node) {
		fputs(job ? ",ionode=" : "{ionode=", f);
		mt_quoted(f, cJSON_GetStringValue(node));
	}
	if (m->label)
		fprintf(f, ",%s", m->label);
	if (job || node)
		putc('}', f);
	mt_value(f, cJSON_IsBool(item) ? cJSON_IsTrue(item) : item->valuedouble * m->scale);
}

static bool mt_is_up(const cJSON *member)
{
	const char *state = cJSON_GetStringValue(mt_item(member, "state"));

	return state && !strcmp(state, "up");
}

/* A node knows jobs that it never served, too: of those it has nothing to tell. */
static bool mt_serves(const cJSON *part)
{
	const cJSON *clients = mt_item(part, "clients"), *requests = mt_item(part, "requests");

	return (cJSON_IsNumber(clients) && clients->valuedouble > 0) ||
	       (cJSON_IsNumber(requests) && requests->valuedouble > 0);
}

static void mt_job(FILE *f, const struct metric *m, const struct metric *end, const cJSON *job)
{
	const cJSON *name = mt_item(job, "job"), *part;

	if (m->of == JOB) {
		for (; m < end; m++)
			mt_sample(f, m, job, name, NULL);
		return;
	}
	cJSON_ArrayForEach(part, mt_item(job, "parts"))
	{
		if (!mt_serves(part))
			continue;
		for (const struct metric *one = m; one < end; one++)
			mt_sample(f, one, part, name, mt_item(part, "ionode"));
	}
}

static void mt_objects(FILE *f, const struct metric *m, const struct metric *end, const cJSON *tree)
{
	const cJSON *object;

	if (m->of == LAYER) {
		mt_sample(f, m, tree, NULL, NULL);
		return;
	}
	cJSON_ArrayForEach(object, mt_item(tree, m->of == IONODE ? "ionodes" : "jobs"))
	{
		if (m->of != IONODE)
			mt_job(f, m, end, object);
		else if (mt_is_up(object))
			mt_sample(f, m, object, NULL, mt_item(object, "name"));
	}
}

static void mt_info(FILE *f, const cJSON *tree)
{
	static const char *const keys[] = { "name", "version", "admit", "share", "order" };
	const cJSON *controller = mt_item(tree, "controller");

	mt_head(f, "sluice_info", "gauge", "The layer and its policies; always 1.");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		fprintf(f, i ? ",%s=" : "sluice_info{%s=", i ? keys[i] : "layer");
		mt_quoted(f, cJSON_GetStringValue(mt_item(tree, keys[i])));
	}
	fputs(",allocate=", f);
	mt_quoted(f, cJSON_GetStringValue(mt_item(controller, "allocate")));
	fputs(",grant=", f);
	mt_quoted(f, cJSON_GetStringValue(mt_item(controller, "grant")));
	fputs("} 1\n", f);
}

void metrics_write(FILE *f, const cJSON *tree, bool up, double age_s)
{
	const size_t count = sizeof(metrics) / sizeof(metrics[0]);
	const cJSON *node, *controller = mt_item(tree, "controller");

	mt_head(f, "sluice_up", "gauge", "1 if a node of the layer answers.");
	fprintf(f, "sluice_up %d\n", up);
	mt_head(f, "sluice_status_age_seconds", "gauge", "How old the figures below are.");
	fprintf(f, "sluice_status_age_seconds %.3f\n", age_s);
	if (!up)
		return;
	mt_info(f, tree);
	if (cJSON_IsObject(controller)) {
		mt_head(f, "sluice_controller_up", "gauge", "1 if the controller answers.");
		fprintf(f, "sluice_controller_up %d\n", mt_is_up(controller));
	}
	mt_head(f, "sluice_ionode_up", "gauge", "1 if an I/O node answers.");
	cJSON_ArrayForEach(node, mt_item(tree, "ionodes"))
	{
		fputs("sluice_ionode_up{ionode=", f);
		mt_quoted(f, cJSON_GetStringValue(mt_item(node, "name")));
		fprintf(f, "} %d\n", mt_is_up(node));
	}
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && !strcmp(metrics[end].name, metrics[i].name);)
			end++;
		mt_head(f, metrics[i].name, metrics[i].type, metrics[i].help);
		mt_objects(f, &metrics[i], &metrics[end], tree);
	}
}
