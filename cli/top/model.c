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
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top/top.h"
#include "layer/status.h"

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

/* Numbers of an object, which are doubles of a struct here. */
struct tm_field {
	const char *key; /* NULL: the end */
	size_t at;
};

#define JOB(key, member)                              \
	{                                             \
		key, offsetof(struct top_job, member) \
	}
#define NODE(key, member)                                \
	{                                                \
		key, offsetof(struct top_ionode, member) \
	}
#define LAYER(key, member)                              \
	{                                               \
		key, offsetof(struct top_model, member) \
	}

static const struct tm_field tm_job_fields[] = {
	JOB("clients", clients),
	JOB("bandwidth_bps", now_bps),
	JOB("average_bps", average_bps),
	JOB("iops", iops),
	JOB("share", share),
	JOB("queued_requests", queue),
	JOB("throttled_s", held_s),
	JOB("unscheduled_bytes", unscheduled),
	JOB("period_s", period_s),
	JOB("asked_min_bps", min_bps),
	JOB("asked_max_bps", max_bps),
	JOB("weight", weight),
	JOB("period_confidence", confidence),
	{ 0 },
};
static const struct tm_field tm_latency_fields[] = { JOB("p50", p50_us),
						     JOB("p99", p99_us),
						     { 0 } };
static const struct tm_field tm_node_fields[] = {
	NODE("jobs", jobs),
	NODE("clients", clients),
	NODE("bandwidth_bps", now_bps),
	NODE("iops", iops),
	NODE("requests", requests),
	NODE("draw_bps", capacity_bps), /* what it may draw now */
	{ 0 },
};
static const struct tm_field tm_layer_fields[] = {
	LAYER("uptime_s", uptime_s),
	LAYER("capacity_bps", capacity_bps),
	LAYER("bandwidth_bps", now_bps),
	LAYER("inflight_bytes", inflight_bytes),
	LAYER("iops", iops),
	{ 0 },
};

static void tm_numbers(void *to, const cJSON *from, const struct tm_field *field)
{
	for (; field->key; field++) {
		const double value = status_number(from, field->key);

		memcpy((char *)to + field->at, &value, sizeof(value));
	}
}

static void tm_job(struct top_job *j, const cJSON *from)
{
	const cJSON *set = tm_item(from, "set"), *grant = tm_item(from, "grant_bps");

	tm_text(j->name, sizeof(j->name), from, "job");
	tm_text(j->reason, sizeof(j->reason), from, "reason");
	tm_text(j->period_from, sizeof(j->period_from), from, "period_from");
	status_ionodes(j->ionodes, from);
	tm_numbers(j, from, tm_job_fields);
	tm_numbers(j, tm_item(from, "latency_us"), tm_latency_fields);
	j->has_set = cJSON_IsNumber(set);
	j->set = j->has_set ? set->valuedouble : TOP_NO_SET;
	j->grant_bps = cJSON_IsNumber(grant) ? grant->valuedouble : -1;
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
	tm_numbers(m, tree, tm_layer_fields);
	cJSON_ArrayForEach(item, jobs)
	{
		struct top_job *j = &m->job[m->jobs++];

		tm_job(j, item);
		m->queue += j->queue;
	}
	cJSON_ArrayForEach(item, ionodes)
	{
		struct top_ionode *n = &m->ionode[m->ionodes];

		if (m->ionodes == TOP_IONODES)
			break;
		tm_text(n->name, sizeof(n->name), item, "name");
		tm_text(n->state, sizeof(n->state), item, "state");
		tm_numbers(n, item, tm_node_fields);
		m->ionodes++;
	}
	return 0;
}

void top_model_free(struct top_model *m)
{
	free(m->job);
	free(m->shown);
	*m = (struct top_model){ 0 };
}

/* ---- arranging ---- */

/* The largest first, but sets: S1 is the most frequent. */
static const struct {
	const char *name;
	size_t at; /* a double of struct top_job */
	int sign;  /* 0: none, by name */
} tm_sorts[TOP_SORTS] = {
	[TOP_BY_NOW] = { "now", offsetof(struct top_job, now_bps), 1 },
	[TOP_BY_NAME] = { "name", 0, 0 },
	[TOP_BY_AVERAGE] = { "average", offsetof(struct top_job, average_bps), 1 },
	[TOP_BY_IOPS] = { "iops", offsetof(struct top_job, iops), 1 },
	[TOP_BY_QUEUE] = { "queue", offsetof(struct top_job, queue), 1 },
	[TOP_BY_HELD] = { "held", offsetof(struct top_job, held_s), 1 },
	[TOP_BY_P50] = { "p50", offsetof(struct top_job, p50_us), 1 },
	[TOP_BY_P99] = { "p99", offsetof(struct top_job, p99_us), 1 },
	[TOP_BY_SET] = { "set", offsetof(struct top_job, set), -1 },
	[TOP_BY_MIN] = { "min", offsetof(struct top_job, min_bps), 1 },
	[TOP_BY_MAX] = { "max", offsetof(struct top_job, max_bps), 1 },
	[TOP_BY_WEIGHT] = { "weight", offsetof(struct top_job, weight), 1 },
};

const char *top_sort_name(enum top_sort sort)
{
	return tm_sorts[sort].name;
}

int top_sort_find(const char *name)
{
	for (int i = 0; i < TOP_SORTS; i++)
		if (!strcmp(name, tm_sorts[i].name))
			return i;
	return -ENOENT;
}

static double tm_figure(const struct top_job *j, enum top_sort sort)
{
	double value;

	if (!tm_sorts[sort].sign)
		return 0;
	memcpy(&value, (const char *)j + tm_sorts[sort].at, sizeof(value));
	return tm_sorts[sort].sign * value;
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
