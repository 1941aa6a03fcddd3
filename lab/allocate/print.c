/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice allocate`: decide, and print how many I/O nodes each job gets, which ones, and the
 * bandwidth that follows. No job has nodes before, so each gets the next free ones; jobs that share
 * a node share the first one that is left.
 */
#include "lab/allocate/allocate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "policy/machine/allocate/options.h"

int allocate_run_open(struct allocate_run *r, const struct sl_allocate_ops *ops, uint32_t n,
		      uint32_t ionodes)
{
	struct sl_policy_limits limits = { .lanes = n, .ionodes = ionodes };

	r->ops = ops;
	r->n = n;
	r->state = calloc(1, sl_policy_size(&ops->base, &limits));
	r->job = calloc(n, sizeof(r->job[0]));
	if (!r->state || !r->job) {
		allocate_run_close(r);
		return -ENOMEM;
	}
	sl_policy_init(&ops->base, r->state, &limits, NULL, 0);
	return 0;
}

void allocate_run_close(struct allocate_run *r)
{
	free(r->state);
	free(r->job);
	r->state = NULL;
	r->job = NULL;
}

static double pr_bandwidth(const struct allocate_run *r, uint32_t i)
{
	double bandwidth = sl_alloc_bps(&r->job[i], r->n);

	return bandwidth < 0 ? NAN : bandwidth;
}

double allocate_decide(struct allocate_run *r, const struct allocate *a, const uint32_t *pick,
		       const struct sl_alloc_machine *m)
{
	double sum = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct curves_job *c = &a->curves.job[pick[i]];

		r->job[i] = (struct sl_alloc_job){ .job = i,
						   .nodes = c->nodes,
						   .procs = c->procs,
						   .curve = c->curve,
						   .points = c->points };
	}
	r->ops->decide(r->state, r->job, r->n, m);
	for (uint32_t i = 0; i < r->n; i++) {
		double bandwidth = pr_bandwidth(r, i);

		sum += isnan(bandwidth) ? 0 : bandwidth;
	}
	return sum;
}

/* ---- which nodes ---- */

struct pr_places {
	uint32_t next, shared;
	bool exist; /* false: more nodes were given out than exist */
};

static struct pr_places pr_places(const struct allocate_run *r, uint32_t ionodes)
{
	struct pr_places p = { 0, 0, true };
	uint64_t own = 0;
	bool shared = false;

	for (uint32_t i = 0; i < r->n; i++) {
		shared |= r->job[i].shared;
		own += r->job[i].shared ? 0 : r->job[i].ionodes;
	}
	p.exist = own + shared <= ionodes;
	p.shared = (uint32_t)own;
	return p;
}

/* The nodes [from, to) of the next job. */
static void pr_place(struct pr_places *p, const struct sl_alloc_job *j, uint32_t *from,
		     uint32_t *to)
{
	*from = j->shared ? p->shared : p->next;
	*to = p->exist ? *from + j->ionodes : *from;
	if (!j->shared)
		p->next += j->ionodes;
}

/* ---- output ---- */

static void pr_json(struct json *j, const struct allocate *a, const struct allocate_run *r,
		    double sum, double ratio)
{
	struct pr_places places = pr_places(r, a->machine.ionodes);

	json_object(j, NULL);
	json_string(j, "policy", r->ops->base.name);
	json_uint(j, "ionodes", a->machine.ionodes);
	json_double(j, "bandwidth", sum);
	json_double(j, "ratio_to_static", ratio);
	json_array(j, "jobs");
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t from, to;

		pr_place(&places, &r->job[i], &from, &to);
		json_object(j, NULL);
		json_string(j, "job", a->curves.job[a->chosen[i]].name);
		json_uint(j, "ionodes", r->job[i].ionodes);
		json_array(j, "nodes");
		for (; from < to; from++)
			json_uint(j, NULL, from);
		json_end(j);
		json_double(j, "bandwidth", pr_bandwidth(r, i));
		if (r->job[i].shared)
			json_bool(j, "shared", true);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static int pr_width(const struct allocate *a)
{
	size_t width = strlen("job");

	for (uint32_t i = 0; i < a->n_chosen; i++) {
		size_t n = strlen(a->curves.job[a->chosen[i]].name);

		width = n > width ? n : width;
	}
	return (int)width;
}

static void pr_line(const char *name, int width, uint64_t ionodes, const char *nodes,
		    double bandwidth)
{
	char text[32] = "-";

	if (!isnan(bandwidth))
		snprintf(text, sizeof(text), "%.1f", bandwidth);
	printf("%-*s %8llu  %-16s %12s\n", width, name, (unsigned long long)ionodes, nodes, text);
}

static void pr_table(const struct allocate *a, const struct allocate_run *r, double sum,
		     double ratio)
{
	struct pr_places places = pr_places(r, a->machine.ionodes);
	uint64_t given = 0;
	bool shared = false;
	int width = pr_width(a);

	printf("\n%s", r->ops->base.name);
	if (!isnan(ratio))
		printf(": %.2f times the bandwidth of static", ratio);
	if (!places.exist)
		fputs(", with more I/O nodes than the machine has", stdout);
	printf("\n%-*s %8s  %-16s %12s\n", width, "job", "ionodes", "which", "bandwidth");
	for (uint32_t i = 0; i < r->n; i++) {
		const struct sl_alloc_job *j = &r->job[i];
		uint32_t from, to;
		char which[48] = "-";

		pr_place(&places, j, &from, &to);
		if (to > from + 1)
			snprintf(which, sizeof(which), "%u-%u", from, to - 1);
		else if (to > from)
			snprintf(which, sizeof(which), "%u%s", from, j->shared ? " shared" : "");
		given += j->shared ? 0 : j->ionodes;
		shared |= j->shared;
		pr_line(a->curves.job[a->chosen[i]].name, width, j->ionodes, which,
			pr_bandwidth(r, i));
	}
	pr_line("sum", width, given + shared, "", sum);
}

static void pr_head(const struct allocate *a)
{
	uint64_t compute = 0;

	for (uint32_t i = 0; i < a->n_chosen; i++)
		compute += a->curves.job[a->chosen[i]].nodes;
	printf("%s: %u job%s on %llu", a->path, a->n_chosen, a->n_chosen == 1 ? "" : "s",
	       (unsigned long long)compute);
	if (a->machine.compute_nodes)
		printf(" of %u", a->machine.compute_nodes);
	printf(" compute nodes, %u I/O node%s, %s\n", a->machine.ionodes,
	       a->machine.ionodes == 1 ? "" : "s",
	       a->machine.direct ? "direct access" : "no direct access");
}

static int pr_static(const struct allocate *a, double *sum)
{
	struct allocate_run r;

	if (allocate_run_open(&r, &sl_allocate_static, a->n_chosen, a->machine.ionodes))
		return cli_fail(ALLOCATE_CMD, "out of memory.");
	*sum = allocate_decide(&r, a, a->chosen, &a->machine);
	allocate_run_close(&r);
	return CLI_OK;
}

int allocate_print(const struct allocate *a, bool json)
{
	double base = 0;
	struct json j;
	int status = pr_static(a, &base);

	if (status)
		return status;
	json_begin(&j, stdout);
	if (!json)
		pr_head(a);
	else if (a->n_policies > 1)
		json_array(&j, NULL);
	for (uint32_t p = 0; p < a->n_policies; p++) {
		struct allocate_run r;
		double sum;

		if (allocate_run_open(&r, a->policy[p], a->n_chosen, a->machine.ionodes))
			return cli_fail(ALLOCATE_CMD, "out of memory.");
		sum = allocate_decide(&r, a, a->chosen, &a->machine);
		if (json)
			pr_json(&j, a, &r, sum, base > 0 ? sum / base : NAN);
		else
			pr_table(a, &r, sum, base > 0 ? sum / base : NAN);
		allocate_run_close(&r);
	}
	if (json && a->n_policies > 1)
		json_end(&j);
	return CLI_OK;
}
