/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's status: nodes, and jobs with phase, grant and mapping. */
#include "sluiced/controller/status.h"

#include <unistd.h>

#include "base/json.h"

static void put_node(struct json *j, const struct brain *b, uint32_t i, sl_time now)
{
	const struct brain_node *n = &b->node[i];
	uint32_t jobs = 0;

	for (uint32_t k = 0; k < b->jobs; k++)
		jobs += b->job[k] && b->job[k]->part[i].clients;
	json_object(j, NULL);
	json_string(j, "name", n->name);
	json_string(j, "socket", n->socket);
	json_bool(j, "up", n->up);
	json_uint(j, "capacity_bps", n->capacity_bps);
	json_double(j, "draw_bps", n->sent_bps);
	json_uint(j, "jobs", jobs);
	json_double(j, "heard_s", (double)(now - n->heard) / 1e9);
	json_end(j);
}

/*
 * What a grant of 0 waits for: grants are decided anew when a phase ends, so for those that have
 * one now. NULL: it has one, needs none, or was lent what others do not use.
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

static void put_job(struct json *j, const struct brain *b, const struct brain_job *job)
{
	bool granted = b->ops && job->in_io && brain_capacity(b), declared = false;
	char text[SL_JOB_NAME_MAX + 48];

	for (uint32_t i = 0; i < b->nodes; i++)
		declared |= job->part[i].phase > 0;

	json_object(j, NULL);
	json_string(j, "job", job->name);
	json_bool(j, "in_io", job->in_io);
	json_bool(j, "phase_declared", declared);
	json_uint(j, "phases", job->io.ended);
	json_double(j, "period_s", (double)job->io.period_ns / 1e9);
	json_string(j, "period_from",
		    job->declared_ns ? "declared"
		    : job->found_ns  ? "detected"
				     : NULL);
	json_double(j, "period_found_s", (double)job->found_ns / 1e9);
	json_double(j, "period_confidence", job->confidence);
	json_double(j, "mean_compute_s", job->mean_compute_s);
	json_double(j, "mean_bytes", job->mean_bytes);
	json_uint(j, "moved_bytes", job->moved_bytes);
	if (granted)
		json_double(j, "grant_bps", job->io.rate_bps);
	else
		json_string(j, "grant_bps", NULL);
	if (job->divided_bps >= 0)
		json_double(j, "rate_bps", job->divided_bps);
	else
		json_string(j, "rate_bps", NULL);
	json_string(j, "reason", reason(b, job, text, sizeof(text)));
	json_uint(j, "map_epoch", job->map_epoch);
	json_array(j, "ionodes");
	for (uint32_t i = 0; i < job->to_count; i++)
		json_string(j, NULL, b->node[job->to[i]].name);
	json_end(j);
	json_array(j, "parts");
	for (uint32_t i = 0; i < b->nodes; i++) {
		const struct brain_part *p = &job->part[i];

		if (!p->known)
			continue;
		json_object(j, NULL);
		json_string(j, "ionode", b->node[i].name);
		json_uint(j, "clients", p->clients);
		json_double(j, "rate_bps", p->rate_bps);
		json_uint(j, "share_ppm", p->share);
		json_double(j, "divided_bps", p->divided_bps < 0 ? 0 : p->divided_bps);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

char *status_json(const struct brain *b, sl_time now, sl_time started)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);
	struct json j;

	if (!f)
		return NULL;
	json_begin(&j, f);
	json_object(&j, NULL);
	json_uint(&j, "pid", (uint64_t)getpid());
	json_double(&j, "uptime_s", (double)(now - started) / 1e9);
	json_uint(&j, "epoch", b->epoch);
	json_uint(&j, "term", b->term);
	json_string(&j, "allocate", b->allocate->base.name);
	json_string(&j, "grant", b->grant->base.name);
	json_object(&j, "policy"); /* with what was set of their parameters */
	json_string(&j, "grant", b->policy[0] ? b->policy[0] : b->grant->base.name);
	json_string(&j, "allocate", b->policy[1] ? b->policy[1] : b->allocate->base.name);
	json_end(&j);
	json_uint(&j, "capacity_bps", brain_capacity(b));
	json_array(&j, "ionodes");
	for (uint32_t i = 0; i < b->nodes; i++)
		put_node(&j, b, i, now);
	json_end(&j);
	json_array(&j, "jobs");
	for (uint32_t i = 0; i < b->jobs; i++)
		if (b->job[i])
			put_job(&j, b, b->job[i]);
	json_end(&j);
	json_end(&j);
	if (fclose(f) == 0)
		return text;
	return NULL;
}
