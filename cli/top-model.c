/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sluice top` shows, out of a status: numbers of jobs and nodes, sorted and filtered.
 *
 * Sorting is by one figure, the largest first (names: the first first), and by name where that is
 * equal, so that rows do not jump about. Example: now 5M a, 5M b, 9M c are c, a, b by now; reversed
 * a, b, c.
 *
 * Reading is O(jobs), arranging O(jobs log jobs).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/status.h"
#include "cli/top.h"

/* ---- reading ---- */

static const cJSON *tm_item(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* Longer ones are cut; none is "". */
static void tm_text(char *out, size_t size, const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(tm_item(object, key));

	snprintf(out, size, "%s", text ? text : "");
}

static void tm_ionodes(char out[24], const cJSON *job)
{
	const cJSON *nodes = tm_item(job, "ionodes"), *node;
	size_t at = 0;

	snprintf(out, 24, "-");
	cJSON_ArrayForEach(node, nodes) if (at < 24) at += (size_t)snprintf(
		out + at, 24 - at, "%s%s", at ? "," : "", cJSON_GetStringValue(node));
	if (at > 7)
		snprintf(out, 24, "%d:%.3s..", cJSON_GetArraySize(nodes),
			 cJSON_GetStringValue(cJSON_GetArrayItem(nodes, 0)));
}

static void tm_job(struct top_job *j, const cJSON *from)
{
	const cJSON *latency = tm_item(from, "latency_us"), *set = tm_item(from, "set"),
		    *grant = tm_item(from, "grant_bps");

	tm_text(j->name, sizeof(j->name), from, "job");
	tm_text(j->reason, sizeof(j->reason), from, "reason");
	tm_text(j->period_from, sizeof(j->period_from), from, "period_from");
	tm_ionodes(j->ionodes, from);
	j->clients = status_number(from, "clients");
	j->now_bps = status_number(from, "bandwidth_bps");
	j->average_bps = status_number(from, "average_bps");
	j->iops = status_number(from, "iops");
	j->share = status_number(from, "share");
	j->queue = status_number(from, "queued_requests");
	j->held_s = status_number(from, "throttled_s");
	j->p50_s = status_number(latency, "p50") / 1e6;
	j->p99_s = status_number(latency, "p99") / 1e6;
	j->period_s = status_number(from, "period_s");
	j->confidence = status_number(from, "period_confidence");
	j->has_set = cJSON_IsNumber(set);
	j->set = j->has_set ? set->valueint : 0;
	j->min_bps = status_number(from, "asked_min_bps");
	j->max_bps = status_number(from, "asked_max_bps");
	j->weight = status_number(from, "weight");
	j->grant_bps = cJSON_IsNumber(grant) ? grant->valuedouble : -1;
}

static void tm_ionode(struct top_ionode *n, const cJSON *from)
{
	tm_text(n->name, sizeof(n->name), from, "name");
	tm_text(n->state, sizeof(n->state), from, "state");
	n->jobs = status_number(from, "jobs");
	n->clients = status_number(from, "clients");
	n->now_bps = status_number(from, "bandwidth_bps");
	n->iops = status_number(from, "iops");
	n->requests = status_number(from, "requests");
	n->capacity_bps = status_number(from, "capacity_bps");
}

/* The policies of all stages that there are, and what is to be said of the controller. */
static void tm_stages(struct top_model *m, const cJSON *tree)
{
	const cJSON *policy = tm_item(tree, "policy"), *controller = tm_item(tree, "controller");
	const char *state = cJSON_GetStringValue(tm_item(controller, "state"));
	int n = snprintf(m->policies, sizeof(m->policies), "admit=%s share=%s order=%s",
			 status_string(policy, "admit"), status_string(policy, "share"),
			 status_string(policy, "order"));

	if (!state)
		return;
	if (strcmp(state, "up") != 0)
		snprintf(m->control, sizeof(m->control), "the controller: %.16s", state);
	else if (n > 0 && (size_t)n < sizeof(m->policies))
		snprintf(m->policies + n, sizeof(m->policies) - (size_t)n, " grant=%s allocate=%s",
			 status_string(controller, "grant"), status_string(controller, "allocate"));
}

int top_model_read(struct top_model *m, const cJSON *tree)
{
	const cJSON *jobs = tm_item(tree, "jobs"), *ionodes = tm_item(tree, "ionodes"), *item;
	size_t count = (size_t)cJSON_GetArraySize(jobs);

	*m = (struct top_model){ .many = ionodes };
	m->job = calloc(count + 1, sizeof(*m->job));
	m->shown = calloc(count + 1, sizeof(*m->shown));
	if (!m->job || !m->shown) {
		top_model_free(m);
		return -ENOMEM;
	}
	tm_text(m->root, sizeof(m->root), tree, "root");
	tm_stages(m, tree);
	m->uptime_s = status_number(tree, "uptime_s");
	m->capacity_bps = status_number(tree, "capacity_bps");
	m->floors_bps = status_number(tree, "floors_bps");
	m->now_bps = status_number(tree, "bandwidth_bps");
	m->iops = status_number(tree, "iops");
	m->decisions = status_number(tree, "decisions_per_s");
	m->requests = status_number(tree, "requests");
	m->inflight_bytes = status_number(tree, "inflight_bytes");
	cJSON_ArrayForEach(item, jobs)
	{
		struct top_job *j = &m->job[m->jobs++];

		tm_job(j, item);
		m->sending += j->now_bps > 0;
		m->queue += j->queue;
	}
	cJSON_ArrayForEach(item, ionodes) if (m->ionodes < TOP_IONODES)
		tm_ionode(&m->ionode[m->ionodes++], item);
	return 0;
}

void top_model_free(struct top_model *m)
{
	free(m->job);
	free(m->shown);
	*m = (struct top_model){ 0 };
}

/* ---- arranging ---- */

const char *const top_sort_names[TOP_SORTS + 1] = { "now",   "name", "average", "iops",
						    "queue", "held", "p50",	"p99",
						    "set",   "min",  "max",	"weight" };

int top_sort_find(const char *name)
{
	for (int i = 0; i < TOP_SORTS; i++)
		if (!strcmp(name, top_sort_names[i]))
			return i;
	return -ENOENT;
}

static double tm_figure(const struct top_job *j, enum top_sort sort)
{
	switch (sort) {
	case TOP_BY_NOW:
		return j->now_bps;
	case TOP_BY_AVERAGE:
		return j->average_bps;
	case TOP_BY_IOPS:
		return j->iops;
	case TOP_BY_QUEUE:
		return j->queue;
	case TOP_BY_HELD:
		return j->held_s;
	case TOP_BY_P50:
		return j->p50_s;
	case TOP_BY_P99:
		return j->p99_s;
	case TOP_BY_SET:
		return j->has_set ? -j->set : -1000; /* the most frequent first, unknown last */
	case TOP_BY_MIN:
		return j->min_bps;
	case TOP_BY_MAX:
		return j->max_bps;
	case TOP_BY_WEIGHT:
		return j->weight;
	case TOP_BY_NAME:
	case TOP_SORTS:
		break;
	}
	return 0;
}

struct tm_order {
	const struct top_job *job;
	enum top_sort sort;
	bool reverse;
};

static int tm_compare(const void *a, const void *b, void *arg)
{
	const struct tm_order *o = arg;
	const struct top_job *x = &o->job[*(const size_t *)a], *y = &o->job[*(const size_t *)b];
	double p = tm_figure(x, o->sort), q = tm_figure(y, o->sort);
	int by_name = strverscmp(x->name, y->name);
	int order = p > q ? -1 : p < q ? 1 : o->sort == TOP_BY_NAME ? by_name : 0;

	if (order)
		return o->reverse ? -order : order;
	return by_name;
}

void top_model_arrange(struct top_model *m, enum top_sort sort, bool reverse, const char *filter)
{
	struct tm_order o = { m->job, sort, reverse };

	m->shown_count = 0;
	for (size_t i = 0; i < m->jobs; i++)
		if (!*filter || strcasestr(m->job[i].name, filter) ||
		    strcasestr(m->job[i].reason, filter))
			m->shown[m->shown_count++] = i;
	qsort_r(m->shown, m->shown_count, sizeof(*m->shown), tm_compare, &o);
}

size_t top_selected(const struct top_model *m, const struct top_view *v)
{
	for (size_t i = 0; i < m->shown_count; i++)
		if (!strcmp(m->job[m->shown[i]].name, v->selected))
			return i;
	return 0;
}
