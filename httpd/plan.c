/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if, the pure part: see plan.h.
 *
 * A job is an application of the phase-level simulator (Gainaru et al. 2014, section 2): it
 * computes for the mean time between its I/O phases, then moves their mean volume. Both are the
 * controller's, if it has seen a phase of the job end, else those of the last hour here. Bandwidth
 * is the capacity, or if none is set the most that was moved in a second. Jobs without a completed
 * phase are left out, and so are jobs that have ended: no process was connected for several
 * periods. (Between two phases a job may have no process that does I/O.)
 *
 * The present measures are taken over the last NOW_MS, or since the begin of the job, as in a
 * window of sim/metrics.c: of T seconds a job spent e outside of I/O, and its bytes would take i
 * seconds at full bandwidth:
 *
 *	T = 100 s, in I/O for 40 s, 2 GB moved, 100 MB/s:  e = 60, i = 20
 *	stretch 100 / (60 + 20) = 1.25, I/O slowdown 40 / 20 = 2, utilization 0.6
 *
 * Departures from the simulator's measures: phases are seen in steps of the sampling, a second; and
 * a max or a slow program lengthens I/O as other jobs do.
 */
#include "httpd/plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/what-if.h"

#define NOW_MS INT64_C(600000)
#define GONE_S 30.0 /* idle for that long and 3 periods: it has ended */

struct pl_measure {
	double worst, log_slowdown, computed, time;
	unsigned jobs;
	double window_s;
};

/* NULL, or the reason why it is left out. */
static const char *pl_job(const struct status_job *from, const struct history *h,
			  double bandwidth_bps, struct what_if_job *job)
{
	double clients = from->clients, idle_s;
	struct history_use use;

	job->procs = fmax(from->procs, 0);
	if (job->procs < 1)
		job->procs = fmax(clients, 1);
	job->compute_s = status_or_0(from->mean_compute_s);
	job->bytes = status_or_0(from->mean_bytes);
	if (status_or_0(from->phases) < 1 || job->bytes <= 0) {
		if (!history_use(h, job->name, h->now_ms - HISTORY_S * INT64_C(1000), &use) ||
		    use.mean_bytes <= 0)
			return "no I/O phase of it has ended yet";
		job->compute_s = use.mean_compute_s;
		job->bytes = use.mean_bytes;
	}
	idle_s = (double)history_idle_ms(h, job->name) / 1e3;
	if (clients < 1 &&
	    (idle_s < 0 || (idle_s > GONE_S && idle_s > 3 * what_if_period_s(job, bandwidth_bps))))
		return "it has ended";
	return NULL;
}

static void pl_measure(struct pl_measure *m, const struct history *h, const struct what_if_job *job,
		       double bandwidth_bps)
{
	struct history_use use;
	double compute_s, alone_s;

	history_use(h, job->name, h->now_ms - NOW_MS, &use);
	compute_s = use.present_s - use.io_s;
	alone_s = use.bytes / bandwidth_bps;
	if (use.present_s <= 0 || alone_s <= 0)
		return;
	if (use.present_s / (compute_s + alone_s) > m->worst)
		m->worst = use.present_s / (compute_s + alone_s);
	m->log_slowdown += log(fmax(use.io_s / alone_s, 1e-9));
	m->computed += job->procs * compute_s;
	m->time += job->procs * use.present_s;
	m->window_s = fmax(m->window_s, use.present_s);
	m->jobs++;
}

static void pl_put_measure(cJSON *now, const struct pl_measure *m)
{
	if (!m->jobs) { /* nothing is known of the last minutes */
		cJSON_AddNullToObject(now, "max_stretch");
		cJSON_AddNullToObject(now, "io_slowdown");
		cJSON_AddNullToObject(now, "utilization");
		return;
	}
	cJSON_AddNumberToObject(now, "max_stretch", m->worst);
	cJSON_AddNumberToObject(now, "io_slowdown", exp(m->log_slowdown / m->jobs));
	cJSON_AddNumberToObject(now, "utilization", m->computed / m->time);
	cJSON_AddNumberToObject(now, "window_s", m->window_s);
}

static void pl_put_job(cJSON *list, const struct what_if_job *job)
{
	cJSON *to = cJSON_CreateObject();

	cJSON_AddStringToObject(to, "job", job->name);
	cJSON_AddNumberToObject(to, "procs", job->procs);
	cJSON_AddNumberToObject(to, "compute_s", job->compute_s);
	cJSON_AddNumberToObject(to, "volume_bytes", floor(job->bytes));
	cJSON_AddItemToArray(list, to);
}

int plan_make(const struct status *s, const struct history *h, struct plan *out,
	      char err[PLAN_TEXT])
{
	const char *grant = s->controller.grant;
	double bandwidth_bps = s->capacity_bps;
	struct what_if_job *known;
	struct pl_measure measure = { 0 };
	cJSON *list, *left;
	size_t count = 0;

	*out = (struct plan){ .now = cJSON_CreateObject() };
	if (bandwidth_bps <= 0)
		bandwidth_bps = history_peak_bps(h);
	if (bandwidth_bps <= 0) {
		snprintf(err, PLAN_TEXT, "nothing was moved yet, and the layer has no capacity");
		plan_free(out);
		return -ENODATA;
	}
	known = calloc(s->jobs_count + 1, sizeof(*known));
	if (!known) {
		plan_free(out);
		return -ENOMEM;
	}
	cJSON_AddNumberToObject(out->now, "bandwidth_bps", floor(bandwidth_bps));
	cJSON_AddStringToObject(out->now, "grant", grant ? grant : "none");
	list = cJSON_AddArrayToObject(out->now, "jobs");
	left = cJSON_AddArrayToObject(out->now, "left_out");
	for (size_t i = 0; i < s->jobs_count; i++) {
		struct what_if_job job = { .name = s->jobs[i].job };
		const char *why = pl_job(&s->jobs[i], h, bandwidth_bps, &job);

		if (why) {
			cJSON *to = cJSON_CreateObject();

			cJSON_AddStringToObject(to, "job", job.name);
			cJSON_AddStringToObject(to, "why", why);
			cJSON_AddItemToArray(left, to);
			continue;
		}
		known[count++] = job;
		pl_put_job(list, &job);
		pl_measure(&measure, h, &job, bandwidth_bps);
	}
	pl_put_measure(out->now, &measure);
	if (count)
		out->scenario = what_if_scenario(known, count, bandwidth_bps);
	free(known);
	if (out->scenario)
		return 0;
	plan_free(out);
	if (count)
		return -ENOMEM;
	snprintf(err, PLAN_TEXT, "no job that runs has ended an I/O phase yet; try again later");
	return -ENODATA;
}

void plan_free(struct plan *p)
{
	cJSON_free(p->scenario);
	cJSON_Delete(p->now);
	*p = (struct plan){ 0 };
}

char *plan_answer(const struct plan *p, const char *printed, size_t *length)
{
	static const char *const keys[] = { "name",	     "max_stretch", "geomean_stretch",
					    "io_slowdown",   "utilization", "dilation",
					    "sys_efficiency" };
	cJSON *sim = cJSON_Parse(printed), *answer = cJSON_CreateObject(), *list;
	const cJSON *policies = cJSON_GetObjectItemCaseSensitive(sim, "policies"), *policy;
	char *text = NULL;

	cJSON_AddItemToObject(answer, "now", cJSON_Duplicate(p->now, true));
	list = cJSON_AddArrayToObject(answer, "policies");
	cJSON_ArrayForEach(policy, policies)
	{
		cJSON *to = cJSON_CreateObject();

		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			cJSON_AddItemToObject(
				to, keys[i],
				cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(policy, keys[i]),
						true));
		cJSON_AddItemToArray(list, to);
	}
	policies = cJSON_GetObjectItemCaseSensitive(sim, "left_out");
	if (policies)
		cJSON_AddItemToObject(answer, "left_out", cJSON_Duplicate(policies, true));
	if (cJSON_GetArraySize(list))
		text = cJSON_PrintUnformatted(answer);
	*length = text ? strlen(text) : 0;
	cJSON_Delete(answer);
	cJSON_Delete(sim);
	return text;
}
