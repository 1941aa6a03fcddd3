/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's status: nodes, and jobs with phase, grant and mapping. */
#include "sluiced/controller/status.h"

#include <stdlib.h>
#include <unistd.h>

#include "wire/status.h"

static void put_node(struct status_ionode *s, const struct brain_node *n, sl_time now)
{
	s->name = n->name;
	s->socket = n->socket;
	s->up = n->up;
	s->capacity_bps = (double)n->capacity_bps;
	s->draw_bps = n->sent_bps;
	s->heard_s = (double)(now - n->heard) / 1e9;
	brain_for_pairs(p, n)
	{
		s->jobs += p->clients > 0;
	}
}

/*
 * What a job with a grant of 0 waits for: the jobs that have a grant now, because grants are
 * decided again when a phase ends. NULL: it has a grant, needs none, or uses lent bandwidth.
 */
static const char *reason(const struct brain *b, const struct brain_job *job, char *out,
			  size_t size)
{
	const struct brain_job *first = NULL;
	uint32_t n = 0;

	if (!b->ops || !job->in_io || !brain_capacity(b) || job->io.rate_bps > 0 ||
	    job->divided_bps >= 1)
		return NULL;
	for (uint32_t i = 0; i < b->jobs; i++) {
		const struct brain_job *k = b->job[i];

		if (!k || !k->in_io || !(k->io.rate_bps > 0))
			continue;
		first = first ? first : k;
		n++;
	}
	if (n == 1)
		snprintf(out, size, "granted 0 until job %s is done", first->name);
	else if (n)
		snprintf(out, size, "granted 0 until one of %u jobs is done", n);
	else
		snprintf(out, size, "granted 0");
	return out;
}

/* False: out of memory. */
static bool put_parts(struct status_job *s, struct status *memory, const struct brain *b,
		      const struct brain_job *job)
{
	struct status_job **end = &s->parts;
	const char **names = status_alloc(memory, (job->to_count + 1) * sizeof(*names));

	if (!names)
		return false;
	for (uint32_t i = 0; i < job->to_count; i++)
		names[i] = b->node[job->to[i]]->name;
	s->served_by = names;
	s->served_by_count = job->to_count;
	brain_for_parts(p, job)
	{
		struct status_job *part;

		if (!b->node[p->node]->up)
			continue;
		part = status_alloc(memory, sizeof(*part));
		if (!part)
			return false;
		part->ionode = b->node[p->node]->name;
		part->clients = p->clients;
		part->rate_bps = p->rate_bps;
		part->share_ppm = p->share;
		part->divided_bps = p->divided_bps < 0 ? 0 : p->divided_bps;
		*end = part;
		end = &part->next_part;
	}
	return true;
}

static bool put_job(struct json *j, const struct brain *b, const struct brain_job *job)
{
	bool granted = b->ops && job->in_io && brain_capacity(b), declared = false, done;
	char text[SL_JOB_NAME_MAX + 48];
	struct status memory = { 0 };
	struct status_job s = { .job = job->name };

	brain_for_parts(p, job)
	{
		declared |= p->phase > 0;
	}
	s.in_io = job->in_io;
	s.phase_declared = declared;
	s.phases = (double)job->io.ended;
	s.period_s = (double)job->io.period_ns / 1e9;
	s.period_from = job->declared_ns     ? "declared"
			: job->from_last_run ? "last run"
			: job->found_ns	     ? "detected"
					     : NULL;
	s.period_found_s = (double)job->found_ns / 1e9;
	s.period_confidence = job->confidence;
	s.mean_compute_s = job->mean_compute_s;
	s.mean_bytes = job->mean_bytes;
	s.moved_bytes = (double)job->moved_bytes;
	s.grant_bps = granted ? job->io.rate_bps : (double)NAN;
	s.rate_bps = job->divided_bps >= 0 ? job->divided_bps : (double)NAN;
	s.reason = reason(b, job, text, sizeof(text));
	s.map_epoch = (double)job->map_epoch;
	done = put_parts(&s, &memory, b, job);
	if (done)
		status_put_job(j, &s, STATUS_OF_CONTROLLER);
	status_clear(&memory);
	return done;
}

static bool put_all(struct json *j, const struct brain *b, struct status *s, sl_time now)
{
	s->ionodes = status_alloc(s, (b->nodes + 1) * sizeof(*s->ionodes));
	if (!s->ionodes)
		return false;
	s->ionodes_count = b->nodes;
	for (uint32_t i = 0; i < b->nodes; i++)
		put_node(&s->ionodes[i], b->node[i], now);
	json_object(j, NULL);
	status_put_begin(j, s, STATUS_OF_CONTROLLER);
	for (uint32_t i = 0; i < b->jobs; i++)
		if (b->job[i] && !put_job(j, b, b->job[i]))
			return false;
	status_put_end(j);
	json_end(j);
	return true;
}

char *status_json(const struct brain *b, bool leads, sl_time now, sl_time started)
{
	struct status s = {
		.pid = getpid(),
		.uptime_s = (double)(now - started) / 1e9,
		.epoch = (double)b->epoch,
		.term = (double)b->term,
		.role = leads ? "leads" : "standby",
		.allocate = b->allocate->base.name,
		.grant = b->grant->base.name,
		.policy_grant = b->policy[0] ? b->policy[0] : b->grant->base.name,
		.policy_allocate = b->policy[1] ? b->policy[1] : b->allocate->base.name,
		.capacity_bps = (double)brain_capacity(b),
	};
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);
	struct json j;
	bool done;

	if (!f)
		return NULL;
	json_begin(&j, f);
	done = put_all(&j, b, &s, now);
	status_clear(&s);
	if (fclose(f) == 0 && done)
		return text;
	free(text);
	return NULL;
}
