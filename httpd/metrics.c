/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics for Prometheus, from the status of the layer, defined in one table. Names follow the
 * conventions of Prometheus: base units (bytes, seconds), _total for counters.
 *
 *	# HELP sluice_job_bytes_total Bytes that a job has moved.
 *	# TYPE sluice_job_bytes_total counter
 *	sluice_job_bytes_total{job="a",ionode="0",op="read"} 0
 *	sluice_job_bytes_total{job="a",ionode="0",op="write"} 262144
 *
 * Counters are reported for each I/O node and never added up. When a node dies its counters end,
 * and after a restart they begin at 0, which Prometheus handles. A sum would fall from 50 + 30 to
 * 50, and Prometheus would assume a restart and 50 bytes since.
 */
#include "httpd/metrics.h"

#include <math.h>
#include <string.h>

enum of { LAYER, JOB, PART, IONODE }; /* PART: a job's, at a node */

static const struct metric {
	const char *name, *type, *help;
	enum of of;
	size_t at; /* a double of its struct; null (NAN): no sample */
	double scale;
	const char *label; /* beside the job's or node's; the same name again: the same metric */
} metrics[] = {
	{ "sluice_capacity_bytes_per_second", "gauge",
	  "Bandwidth that the layer may use of the file system; 0: unknown.", LAYER,
	  offsetof(struct status, capacity_bps), 1, NULL },
	{ "sluice_promised_bytes_per_second", "gauge", "Sum of the guarantees of all jobs.", LAYER,
	  offsetof(struct status, floors_bps), 1, NULL },
	{ "sluice_bandwidth_bytes_per_second", "gauge",
	  "Bytes that all jobs moved in the last second.", LAYER,
	  offsetof(struct status, bandwidth_bps), 1, NULL },
	{ "sluice_capacity_operations_per_second", "gauge",
	  "Metadata operations that jobs share; 0: no limit.", LAYER,
	  offsetof(struct status, capacity_ops), 1, NULL },
	{ "sluice_operations_per_second", "gauge", "Metadata operations of all jobs.", LAYER,
	  offsetof(struct status, ops_per_s), 1, NULL },
	{ "sluice_decisions_total", "counter", "Scheduling decisions of an I/O node.", IONODE,
	  offsetof(struct status_ionode, decisions), 1, NULL },
	{ "sluice_requests", "gauge", "Requests inside the layer.", LAYER,
	  offsetof(struct status, requests), 1, NULL },
	{ "sluice_inflight_bytes", "gauge", "Bytes on their way to the file system.", LAYER,
	  offsetof(struct status, inflight_bytes), 1, NULL },
	{ "sluice_job_bytes_total", "counter", "Bytes that a job has moved.", PART,
	  offsetof(struct status_job, read_bytes), 1, "op=\"read\"" },
	{ "sluice_job_bytes_total", "counter", NULL, PART, offsetof(struct status_job, write_bytes),
	  1, "op=\"write\"" },
	{ "sluice_job_wire_bytes_total", "counter",
	  "Bytes of a job that were charged: read or written back.", JOB,
	  offsetof(struct status_job, wire_bytes), 1, NULL },
	{ "sluice_job_cached_bytes_total", "counter", "Bytes that a job read from the page cache.",
	  JOB, offsetof(struct status_job, cached_bytes), 1, NULL },
	{ "sluice_job_dirty_bytes", "gauge", "Bytes of a job that are not written back yet.", JOB,
	  offsetof(struct status_job, dirty_bytes), 1, NULL },
	{ "sluice_job_requests_total", "counter", "Requests of a job that were served.", PART,
	  offsetof(struct status_job, requests), 1, NULL },
	{ "sluice_job_batches_total", "counter", "Batches that these were merged into.", PART,
	  offsetof(struct status_job, batches), 1, NULL },
	{ "sluice_job_throttled_seconds_total", "counter", "Time that a job was held by its max.",
	  PART, offsetof(struct status_job, throttled_s), 1, NULL },
	{ "sluice_job_unscheduled_bytes_total", "counter",
	  "Bytes of a job that bypassed the scheduler: mapped files, or no node answered.", PART,
	  offsetof(struct status_job, unscheduled_bytes), 1, NULL },
	{ "sluice_job_operations_total", "counter", "Metadata operations of a job.", JOB,
	  offsetof(struct status_job, ops_create), 1, "class=\"create\"" },
	{ "sluice_job_operations_total", "counter", NULL, JOB,
	  offsetof(struct status_job, ops_lookup), 1, "class=\"lookup\"" },
	{ "sluice_job_operations_total", "counter", NULL, JOB,
	  offsetof(struct status_job, ops_remove), 1, "class=\"remove\"" },
	{ "sluice_job_operations_total", "counter", NULL, JOB,
	  offsetof(struct status_job, ops_list), 1, "class=\"list\"" },
	{ "sluice_job_operations_total", "counter", NULL, JOB,
	  offsetof(struct status_job, ops_attribute), 1, "class=\"attribute\"" },
	{ "sluice_job_operations_held_seconds_total", "counter",
	  "Time that a job's operations and limited data calls waited.", JOB,
	  offsetof(struct status_job, ops_held_s), 1, NULL },
	{ "sluice_job_operations_per_second", "gauge", "Metadata operations in the last second.",
	  JOB, offsetof(struct status_job, ops_per_s), 1, NULL },
	{ "sluice_job_max_operations_per_second", "gauge",
	  "Metadata operations that a job may make at most; 0: no limit.", JOB,
	  offsetof(struct status_job, max_ops), 1, NULL },
	{ "sluice_job_min_operations_per_second", "gauge",
	  "Metadata operations that a job was guaranteed; 0: none.", JOB,
	  offsetof(struct status_job, min_ops), 1, NULL },
	{ "sluice_job_phases_total", "counter", "I/O phases of a job that have ended.", JOB,
	  offsetof(struct status_job, phases), 1, NULL },
	{ "sluice_job_bandwidth_bytes_per_second", "gauge",
	  "Bytes that a job moved in the last second.", JOB,
	  offsetof(struct status_job, bandwidth_bps), 1, NULL },
	{ "sluice_job_clients", "gauge", "Processes of a job that are connected.", JOB,
	  offsetof(struct status_job, clients), 1, NULL },
	{ "sluice_job_queued_requests", "gauge", "Requests of a job that wait.", JOB,
	  offsetof(struct status_job, queued_requests), 1, NULL },
	{ "sluice_job_queued_bytes", "gauge", "Bytes of a job's waiting requests.", JOB,
	  offsetof(struct status_job, queued_bytes), 1, NULL },
	{ "sluice_job_inflight_bytes", "gauge", "Bytes of a job on their way to the file system.",
	  JOB, offsetof(struct status_job, inflight_bytes), 1, NULL },
	{ "sluice_job_min_bytes_per_second", "gauge", "Guaranteed bandwidth of a job; 0: none.",
	  JOB, offsetof(struct status_job, asked_min_bps), 1, NULL },
	{ "sluice_job_max_bytes_per_second", "gauge", "Limit of a job's bandwidth; 0: none.", JOB,
	  offsetof(struct status_job, asked_max_bps), 1, NULL },
	{ "sluice_job_weight", "gauge", "Weight of a job.", JOB,
	  offsetof(struct status_job, weight), 1, NULL },
	{ "sluice_job_in_io", "gauge", "1 while a job is in an I/O phase.", JOB,
	  offsetof(struct status_job, in_io), 1, NULL },
	{ "sluice_job_grant_bytes_per_second", "gauge",
	  "Bandwidth that the controller grants a job now.", JOB,
	  offsetof(struct status_job, grant_bps), 1, NULL },
	{ "sluice_job_latency_p50_seconds", "gauge", "Time that half of a job's requests take.",
	  JOB, offsetof(struct status_job, latency_us_p50), 1e-6, NULL },
	{ "sluice_job_latency_p95_seconds", "gauge", "Time that 95 % of a job's requests take.",
	  JOB, offsetof(struct status_job, latency_us_p95), 1e-6, NULL },
	{ "sluice_job_latency_p99_seconds", "gauge", "Time that 99 % of a job's requests take.",
	  JOB, offsetof(struct status_job, latency_us_p99), 1e-6, NULL },
	{ "sluice_ionode_uptime_seconds", "gauge", "Time since an I/O node has started.", IONODE,
	  offsetof(struct status_ionode, uptime_s), 1, NULL },
	{ "sluice_ionode_capacity_bytes_per_second", "gauge", "An I/O node's part of the capacity.",
	  IONODE, offsetof(struct status_ionode, capacity_bps), 1, NULL },
	{ "sluice_ionode_bandwidth_bytes_per_second", "gauge",
	  "Bytes that went through an I/O node in the last second.", IONODE,
	  offsetof(struct status_ionode, bandwidth_bps), 1, NULL },
	{ "sluice_ionode_requests", "gauge", "Requests inside an I/O node.", IONODE,
	  offsetof(struct status_ionode, requests), 1, NULL },
	{ "sluice_ionode_inflight_bytes", "gauge", "Bytes in flight at an I/O node.", IONODE,
	  offsetof(struct status_ionode, inflight_bytes), 1, NULL },
	{ "sluice_ionode_jobs", "gauge", "Jobs with processes at an I/O node.", IONODE,
	  offsetof(struct status_ionode, jobs), 1, NULL },
	{ "sluice_ionode_clients", "gauge", "Processes at an I/O node.", IONODE,
	  offsetof(struct status_ionode, clients), 1, NULL },
};

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

/* A metric of `object`; job, node: whose, or NULL. */
static void mt_sample(FILE *f, const struct metric *m, const void *object, const char *job,
		      const char *node)
{
	double value;

	memcpy(&value, (const char *)object + m->at, sizeof(value));
	if (isnan(value))
		return;
	fputs(m->name, f);
	if (job) {
		fputs("{job=", f);
		mt_quoted(f, job);
	}
	if (node) {
		fputs(job ? ",ionode=" : "{ionode=", f);
		mt_quoted(f, node);
	}
	if (m->label)
		fprintf(f, ",%s", m->label);
	if (job || node)
		putc('}', f);
	mt_value(f, value * m->scale);
}

static bool mt_is_up(const char *state)
{
	return state && !strcmp(state, "up");
}

static void mt_job(FILE *f, const struct metric *m, const struct metric *end,
		   const struct status_job *job)
{
	if (m->of == JOB) {
		for (; m < end; m++)
			mt_sample(f, m, job, job->job, NULL);
		return;
	}
	for (const struct status_job *p = job->parts; p; p = p->next_part) {
		/* A node knows jobs that it never served, too. */
		if (p->clients <= 0 && p->requests <= 0)
			continue;
		for (const struct metric *one = m; one < end; one++)
			mt_sample(f, one, p, job->job, p->ionode);
	}
}

static void mt_objects(FILE *f, const struct metric *m, const struct metric *end,
		       const struct status *s)
{
	if (m->of == LAYER)
		mt_sample(f, m, s, NULL, NULL);
	for (size_t i = 0; m->of == IONODE && i < s->ionodes_count; i++)
		if (mt_is_up(s->ionodes[i].state))
			mt_sample(f, m, &s->ionodes[i], NULL, s->ionodes[i].name);
	for (size_t i = 0; (m->of == JOB || m->of == PART) && i < s->jobs_count; i++)
		mt_job(f, m, end, &s->jobs[i]);
}

static void mt_info(FILE *f, const char *layer, const struct status *s)
{
	const struct {
		const char *label, *value;
	} labels[] = {
		{ "{layer", layer },
		{ ",version", s->version },
		{ ",admit", s->admit },
		{ ",share", s->share },
		{ ",order", s->order },
		{ ",allocate", s->controller.allocate },
		{ ",grant", s->controller.grant },
	};

	mt_head(f, "sluice_info", "gauge", "The layer and its policies; always 1.");
	fputs("sluice_info", f);
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		fprintf(f, "%s=", labels[i].label);
		mt_quoted(f, labels[i].value);
	}
	fputs("} 1\n", f);
}

void metrics_write(FILE *f, const char *layer, const struct status *s, double age_s)
{
	const size_t count = sizeof(metrics) / sizeof(metrics[0]);

	mt_head(f, "sluice_up", "gauge", "1 if a node of the layer answers.");
	fprintf(f, "sluice_up %d\n", s != NULL);
	mt_head(f, "sluice_status_age_seconds", "gauge", "Age of the figures below.");
	fprintf(f, "sluice_status_age_seconds %.3f\n", age_s);
	if (!s)
		return;
	mt_info(f, layer, s);
	if (s->controller.state) {
		mt_head(f, "sluice_controller_up", "gauge", "1 if the controller answers.");
		fprintf(f, "sluice_controller_up %d\n", mt_is_up(s->controller.state));
	}
	mt_head(f, "sluice_ionode_up", "gauge", "1 if an I/O node answers.");
	for (size_t i = 0; i < s->ionodes_count; i++) {
		fputs("sluice_ionode_up{ionode=", f);
		mt_quoted(f, s->ionodes[i].name);
		fprintf(f, "} %d\n", mt_is_up(s->ionodes[i].state));
	}
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && !strcmp(metrics[end].name, metrics[i].name);)
			end++;
		mt_head(f, metrics[i].name, metrics[i].type, metrics[i].help);
		mt_objects(f, &metrics[i], &metrics[end], s);
	}
}
