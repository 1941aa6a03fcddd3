/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a layer, merged from the statuses of its nodes and controllers.
 *
 * The rule of each field stands in wire/status-fields.h. Counts are added up over the nodes; of
 * times the longest counts, since they pass on all nodes at once; what was declared or asked for is
 * the same everywhere. Percentiles cannot be added: they are means over the nodes, weighted by
 * requests.
 *
 *	node 0: a 60 MB/s, p99 2 ms of 300 requests     node 1: a 20 MB/s, p99 6 ms of 100
 *	layer:  a 80 MB/s, p99 3 ms of 400
 */
#include <stdlib.h>
#include <string.h>

#include "wire/status.h"

/* ---- fields ---- */

static double mean(double a, double b, double weight_a, double weight_b)
{
	return weight_a + weight_b > 0 ? (a * weight_a + b * weight_b) / (weight_a + weight_b) : a;
}

static double add(double a, double b)
{
	return a + b;
}

static double most(double a, double b)
{
	return b > a ? b : a;
}

/* Fields of any struct; those that depend on weights are of jobs only. */
static void merge_plain(void *to, const void *from, const struct status_field *f)
{
	for (; f->key; f++) {
		double *a = status_double(to, f);

		if (f->kind == STATUS_TEXT)
			continue;
		if (f->rule == STATUS_SUM)
			*a = add(*a, *status_double(from, f));
		else if (f->rule == STATUS_MOST)
			*a = most(*a, *status_double(from, f));
	}
}

/* Before merge_plain(), which changes the weights. */
static void merge_weighted(struct status_job *to, const struct status_job *from)
{
	bool busier = from->requests > to->requests;

	for (const struct status_field *f = status_job_fields; f->key; f++) {
		if (f->rule == STATUS_BUSIEST && busier && f->kind == STATUS_TEXT)
			*status_text(to, f) = *status_text(from, f);
		if (f->kind == STATUS_TEXT)
			continue;
		double *a = status_double(to, f), b = *status_double(from, f);

		if (f->rule == STATUS_BUSIEST && busier)
			*a = b;
		else if (f->rule == STATUS_MEAN)
			*a = mean(*a, b, to->requests, from->requests);
		else if (f->rule == STATUS_RATIO)
			*a = mean(*a, b, to->batches, from->batches);
		else if (f->rule == STATUS_LIMIT && from->clients > 0)
			*a = to->clients > 0 ? *a + b : b;
	}
}

/* Fields of the same object and key; others stay as they are. */
static void copy_same(void *to, const struct status_field *to_fields, const void *from,
		      const struct status_field *from_fields)
{
	for (const struct status_field *t = to_fields; t->key; t++)
		for (const struct status_field *f = from_fields; f->key; f++) {
			if (strcmp(t->key, f->key) != 0 || !t->object != !f->object ||
			    (t->object && strcmp(t->object, f->object) != 0))
				continue;
			if (t->kind == STATUS_TEXT)
				*status_text(to, t) = *status_text(from, f);
			else
				*status_double(to, t) = *status_double(from, f);
		}
}

/* ---- jobs ---- */

/*
 * Lists mostly have the same order, so the search begins at *next, behind the last job found.
 */
static struct status_job *find_job(struct status *s, const char *name, size_t *next)
{
	for (size_t i = 0; i < s->jobs_count; i++) {
		size_t at = (*next + i) % s->jobs_count;

		if (!strcmp(s->jobs[at].job, name)) {
			*next = at + 1;
			return &s->jobs[at];
		}
	}
	return NULL;
}

/* The node's jobs become parts of the layer's. */
static bool merge_jobs(struct status *all, struct status *node, const char *name)
{
	const char **names = status_alloc(all, sizeof(*names));
	size_t next = 0, known = all->jobs_count;

	if (!names)
		return false;
	*names = name;
	for (size_t i = 0; i < node->jobs_count; i++) {
		struct status_job *part = &node->jobs[i];
		struct status_job *to = known ? find_job(all, part->job, &next) : NULL;
		struct status_job **end;

		if (to) {
			merge_weighted(to, part);
			merge_plain(to, part, status_job_fields);
		} else {
			to = &all->jobs[all->jobs_count++];
			*to = *part;
		}
		part->ionode = name;
		for (end = &to->parts; *end;)
			end = &(*end)->next_part;
		*end = part;
	}
	return true;
}

static bool matters_more(const struct status_job *p, const struct status_job *than)
{
	if (p->queued_requests != than->queued_requests)
		return p->queued_requests > than->queued_requests;
	if (p->bandwidth_bps != than->bandwidth_bps)
		return p->bandwidth_bps > than->bandwidth_bps;
	return p->clients > than->clients;
}

/* The part whose reason is shown: with most waiting requests, else bandwidth, else processes. */
static const struct status_job *leading_part(const struct status_job *job)
{
	const struct status_job *best = NULL;

	for (const struct status_job *p = job->parts; p; p = p->next_part)
		if (!best || matters_more(p, best))
			best = p;
	return best;
}

/*
 * The controller knows how long a grant of 0 lasts: "granted 0 until job a is done", or, if the job
 * moves data anyway, "on spare bandwidth until job a is done".
 */
static bool set_reason(struct status *all, struct status_job *job, const struct status_job *known)
{
	static const char granted_0[] = "granted 0";
	const struct status_job *part = leading_part(job);
	const char *decided = known ? known->reason : NULL, *text = part ? part->reason : NULL;
	char *longer;
	size_t size;

	if (!text)
		return true;
	job->reason = text;
	if (!decided || strncmp(decided, granted_0, sizeof(granted_0) - 1) != 0 ||
	    (strcmp(text, granted_0) != 0 && strcmp(text, "on spare bandwidth") != 0))
		return true;
	size = strlen(text) + strlen(decided) + 1;
	longer = status_alloc(all, size);
	if (!longer)
		return false;
	snprintf(longer, size, "%s%s", text, decided + sizeof(granted_0) - 1);
	job->reason = longer;
	return true;
}

/* Without an order of the controller: the nodes where the job has processes. */
static bool set_served_by(struct status *all, struct status_job *job,
			  const struct status_job *known)
{
	const char **names;
	size_t n = 0;

	if (known && known->map_epoch > 0) {
		job->served_by = known->served_by;
		job->served_by_count = known->served_by_count;
		return true;
	}
	for (const struct status_job *p = job->parts; p; p = p->next_part)
		n++;
	names = status_alloc(all, (n + 1) * sizeof(*names));
	if (!names)
		return false;
	job->served_by = names;
	for (const struct status_job *p = job->parts; p; p = p->next_part)
		if (p->clients > 0)
			names[job->served_by_count++] = p->ionode;
	return true;
}

static void set_decided(struct status_job *job, const struct status_job *known)
{
	static const struct status_job none = {
		.in_io = NAN,
		.phase_declared = NAN,
		.phases = NAN,
		.mean_compute_s = NAN,
		.mean_bytes = NAN,
		.grant_bps = NAN,
		.rate_bps = NAN,
		.map_epoch = NAN,
		.moved_bytes = NAN,
		.period_confidence = NAN,
		.period_found_s = NAN,
	};

	if (!known)
		known = &none;
	job->in_io = known->in_io;
	job->phase_declared = known->phase_declared;
	job->phases = known->phases;
	job->mean_compute_s = known->mean_compute_s;
	job->mean_bytes = known->mean_bytes;
	job->grant_bps = known->grant_bps;
	job->rate_bps = known->rate_bps;
	job->map_epoch = known->map_epoch;
	job->period_from = known->period_from;
	job->period_confidence = known->period_confidence;
	job->period_found_s = known->period_found_s;
}

static bool finish_jobs(struct status *all, struct status *controller)
{
	size_t next = 0;

	all->floors_bps = 0; /* the guarantees of the layer, not the present rates of its nodes */
	for (size_t i = 0; i < all->jobs_count; i++) {
		struct status_job *job = &all->jobs[i];
		const struct status_job *known =
			controller ? find_job(controller, job->job, &next) : NULL;

		all->floors_bps += job->asked_min_bps;
		job->share = all->bandwidth_bps > 0 ? job->bandwidth_bps / all->bandwidth_bps : 0;
		set_decided(job, known);
		if (!set_served_by(all, job, known) || !set_reason(all, job, known))
			return false;
	}
	return true;
}

/* ---- members ---- */

static const char *state_of(const struct status_member *m)
{
	return m->said ? "up" : m->pid ? "silent" : "died";
}

/* The strings of a member become the status's own. */
static bool copy_names(struct status *all, const struct status_member *m, const char **name,
		       const char **socket, const char **log)
{
	const char *const from[] = { m->name, m->socket, m->log };
	const char **to[] = { name, socket, log };

	for (size_t i = 0; i < 3; i++) {
		size_t size = strlen(from[i]) + 1;
		char *copy = status_alloc(all, size);

		if (!copy)
			return false;
		memcpy(copy, from[i], size);
		*to[i] = copy;
	}
	return true;
}

static bool set_ionode(struct status *all, struct status_ionode *to, const struct status_member *m)
{
	if (m->said)
		copy_same(to, status_ionode_fields, m->said, status_layer_fields);
	to->state = state_of(m);
	to->pid = (double)m->pid;
	for (size_t i = 0; m->said && i < m->said->jobs_count; i++) {
		to->jobs += m->said->jobs[i].clients > 0;
		to->clients += m->said->jobs[i].clients;
	}
	return copy_names(all, m, &to->name, &to->socket, &to->log);
}

static bool set_controller(struct status *all, struct status_controller *to,
			   const struct status_member *m)
{
	const char *name;

	*to = (struct status_controller){ 0 };
	if (!m)
		return true;
	if (m->said)
		copy_same(to, status_controller_fields, m->said, status_layer_fields);
	to->state = state_of(m);
	to->pid = (double)m->pid;
	return copy_names(all, m, &name, &to->socket, &to->log);
}

/* ---- together ---- */

/* The parts of the nodes that answer are less than the layer's capacity while a node is dead or silent. */
static void set_capacity(struct status *all, const struct status_member *controller)
{
	const struct status *said = controller ? controller->said : NULL;

	if (said && said->capacity_bps > 0 && all->capacity_bps > 0 && !all->capacity_auto_state)
		all->capacity_bps = said->capacity_bps;
}

static bool merge(struct status *all, struct status_member *node, size_t nodes,
		  const struct status_member *controller, const struct status_member *standby)
{
	size_t jobs = 0;

	for (size_t i = 0; i < nodes; i++)
		jobs += node[i].said ? node[i].said->jobs_count : 0;
	all->jobs_count = 0;
	all->jobs = status_alloc(all, (jobs + 1) * sizeof(*all->jobs));
	all->ionodes_count = nodes;
	all->ionodes = status_alloc(all, (nodes + 1) * sizeof(*all->ionodes));
	if (!all->jobs || !all->ionodes)
		return false;
	for (size_t i = 0, said = 0; i < nodes; i++) {
		if (!set_ionode(all, &all->ionodes[i], &node[i]))
			return false;
		if (!node[i].said)
			continue;
		if (said++)
			merge_plain(all, node[i].said, status_layer_fields);
		if (!merge_jobs(all, node[i].said, all->ionodes[i].name))
			return false;
	}
	set_capacity(all, controller);
	return set_controller(all, &all->controller, controller) &&
	       set_controller(all, &all->standby, standby) &&
	       finish_jobs(all, controller ? controller->said : NULL);
}

/* The merged status has pointers into those of its members. */
static void take(struct status *all, struct status_member *m)
{
	if (!m || !m->said)
		return;
	if (all)
		status_take_memory(all, m->said);
	else
		status_free(m->said);
	m->said = NULL;
}

struct status *status_merge(struct status_member *node, size_t nodes,
			    struct status_member *controller, struct status_member *standby)
{
	struct status *all = NULL;
	bool done = false;
	size_t first = 0;

	while (first < nodes && !node[first].said)
		first++;
	if (first < nodes)
		all = calloc(1, sizeof(*all));
	if (all) {
		*all = *node[first].said;
		all->memory = NULL;
		done = merge(all, node, nodes, controller, standby);
	}
	for (size_t i = 0; i < nodes; i++)
		take(all, &node[i]);
	take(all, controller);
	take(all, standby);
	if (done)
		return all;
	status_free(all);
	return NULL;
}
