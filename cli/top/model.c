/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of `sluice top`: the jobs of a status, sorted and filtered.
 *
 * Rows are sorted by one column, the largest first (names: alphabetically), and by name where it is
 * equal, so that rows do not move without a reason. Example: now 5M a, 5M b, 9M c are c, a, b by
 * now; reversed a, b, c.
 *
 * Reading costs O(jobs), arranging O(jobs log jobs).
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top/top.h"
#include "layer/status.h"

/* ---- reading ---- */

/* The policies of all stages, and the controller's state if it is not up. */
static void tm_stages(struct top_model *m)
{
	const struct status *s = m->s;
	const struct status_controller *c = &s->controller;
	int n = snprintf(m->policies, sizeof(m->policies), "admit=%s share=%s order=%s",
			 status_known(s->policy_admit), status_known(s->policy_share),
			 status_known(s->policy_order));

	if (!c->state)
		return;
	if (strcmp(c->state, "up") != 0)
		snprintf(m->control, sizeof(m->control), "the controller: %.16s", c->state);
	else if (n > 0 && (size_t)n < sizeof(m->policies))
		snprintf(m->policies + n, sizeof(m->policies) - (size_t)n, " grant=%s allocate=%s",
			 status_known(c->grant), status_known(c->allocate));
}

static const char *tm_text(const char *text)
{
	return text ? text : "";
}

int top_model_read(struct top_model *m, struct status *s)
{
	*m = (struct top_model){ .s = s, .many = s->ionodes };
	m->shown = calloc(s->jobs_count + 1, sizeof(*m->shown));
	if (!m->shown) {
		top_model_free(m);
		return -ENOMEM;
	}
	s->root = tm_text(s->root);
	tm_stages(m);
	for (size_t i = 0; i < s->jobs_count; i++) {
		s->jobs[i].reason = tm_text(s->jobs[i].reason);
		s->jobs[i].period_from = tm_text(s->jobs[i].period_from);
		m->queue += s->jobs[i].queued_requests;
	}
	for (size_t i = 0; i < s->ionodes_count; i++) {
		s->ionodes[i].name = tm_text(s->ionodes[i].name);
		s->ionodes[i].state = tm_text(s->ionodes[i].state);
	}
	return 0;
}

void top_model_free(struct top_model *m)
{
	status_free(m->s);
	free(m->shown);
	*m = (struct top_model){ 0 };
}

/* ---- arranging ---- */

/* The largest first, except sets, where S1 (the most frequent) is first. */
static const struct {
	const char *name;
	size_t at; /* a double of struct status_job */
	int sign;  /* 0: none, by name */
} tm_sorts[TOP_SORTS] = {
	[TOP_BY_NOW] = { "now", offsetof(struct status_job, bandwidth_bps), 1 },
	[TOP_BY_NAME] = { "name", 0, 0 },
	[TOP_BY_AVERAGE] = { "average", offsetof(struct status_job, average_bps), 1 },
	[TOP_BY_IOPS] = { "iops", offsetof(struct status_job, iops), 1 },
	[TOP_BY_OPS] = { "ops", offsetof(struct status_job, ops_per_s), 1 },
	[TOP_BY_QUEUE] = { "queue", offsetof(struct status_job, queued_requests), 1 },
	[TOP_BY_HELD] = { "held", offsetof(struct status_job, throttled_s), 1 },
	[TOP_BY_P50] = { "p50", offsetof(struct status_job, latency_us_p50), 1 },
	[TOP_BY_P99] = { "p99", offsetof(struct status_job, latency_us_p99), 1 },
	[TOP_BY_SET] = { "set", offsetof(struct status_job, set), -1 },
	[TOP_BY_MIN] = { "min", offsetof(struct status_job, asked_min_bps), 1 },
	[TOP_BY_MAX] = { "max", offsetof(struct status_job, asked_max_bps), 1 },
	[TOP_BY_WEIGHT] = { "weight", offsetof(struct status_job, weight), 1 },
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

static double tm_figure(const struct status_job *j, enum top_sort sort)
{
	double value;

	if (!tm_sorts[sort].sign)
		return 0;
	memcpy(&value, (const char *)j + tm_sorts[sort].at, sizeof(value));
	if (isnan(value))
		value = TOP_NO_SET;
	return tm_sorts[sort].sign * value;
}

struct tm_order {
	const struct status_job *job;
	enum top_sort sort;
	bool reverse;
};

static int tm_compare(const void *a, const void *b, void *arg)
{
	const struct tm_order *o = arg;
	const struct status_job *x = &o->job[*(const size_t *)a], *y = &o->job[*(const size_t *)b];
	double p = tm_figure(x, o->sort), q = tm_figure(y, o->sort);
	int by_name = strverscmp(x->job, y->job);
	int order = p > q ? -1 : p < q ? 1 : o->sort == TOP_BY_NAME ? by_name : 0;

	if (order)
		return o->reverse ? -order : order;
	return by_name;
}

void top_model_arrange(struct top_model *m, enum top_sort sort, bool reverse, const char *filter)
{
	struct tm_order o = { m->s->jobs, sort, reverse };

	m->shown_count = 0;
	for (size_t i = 0; i < m->s->jobs_count; i++)
		if (!*filter || strcasestr(m->s->jobs[i].job, filter) ||
		    strcasestr(m->s->jobs[i].reason, filter))
			m->shown[m->shown_count++] = i;
	qsort_r(m->shown, m->shown_count, sizeof(*m->shown), tm_compare, &o);
}

size_t top_selected(const struct top_model *m, const struct top_view *v)
{
	for (size_t i = 0; i < m->shown_count; i++)
		if (!strcmp(m->s->jobs[m->shown[i]].job, v->selected))
			return i;
	return 0;
}
