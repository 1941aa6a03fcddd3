/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Curves of bandwidth over I/O nodes, learned (Bez et al. 2021, section 3.2, took them from
 * separate runs of FORGE). Each I/O phase that a job finished with an unchanged set of nodes gives
 * a value for that number of them; the point is the mean of all phases, the latest weighing at
 * least an eighth, so that it follows a machine that changes. A program of another size is another
 * one.
 *
 * Example: "climate", 4 nodes, 64 procs, phases with 2 I/O nodes at 400 and 500 MB/s: point (2,
 * 450).
 *
 * The table is bounded; the entry that was not used for longest is replaced. O(curves) a call.
 */
#include "sluiced/controller/curves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/replace.h"
#include "base/slurp.h"

#define LEAST_WEIGHT 8

static struct curve *find(struct curves *c, const char *name, uint32_t nodes, uint32_t procs)
{
	for (uint32_t i = 0; i < c->count; i++) {
		struct curve *v = &c->curve[i];

		if (v->nodes == nodes && v->procs == procs && !strcmp(v->name, name))
			return v;
	}
	return NULL;
}

const struct curve *curves_find(const struct curves *c, const char *name, uint32_t nodes,
				uint32_t procs)
{
	return find((struct curves *)(uintptr_t)c, name, nodes, procs);
}

static struct curve *make(struct curves *c, const char *name, uint32_t nodes, uint32_t procs)
{
	struct curve *v = &c->curve[0];

	if (c->count < CURVES_MAX)
		v = &c->curve[c->count++];
	else
		for (uint32_t i = 1; i < c->count; i++)
			if (c->curve[i].used < v->used)
				v = &c->curve[i];
	*v = (struct curve){ .nodes = nodes, .procs = procs };
	snprintf(v->name, sizeof(v->name), "%s", name);
	return v;
}

void curves_add(struct curves *c, const char *name, uint32_t nodes, uint32_t procs,
		uint32_t ionodes, double bps)
{
	struct curve *v = find(c, name, nodes, procs);
	uint32_t i = 0;

	if (!(bps > 0))
		return;
	if (!v)
		v = make(c, name, nodes, procs);
	v->used = ++c->clock;
	while (i < v->points && v->point[i].ionodes < ionodes)
		i++;
	if (i == v->points || v->point[i].ionodes != ionodes) {
		if (v->points == CURVES_POINTS)
			return;
		memmove(&v->point[i + 1], &v->point[i], (v->points - i) * sizeof(v->point[0]));
		memmove(&v->phases[i + 1], &v->phases[i], (v->points - i) * sizeof(v->phases[0]));
		v->points++;
		v->point[i] = (struct sl_curve_point){ ionodes, 0 };
		v->phases[i] = 0;
	}
	v->phases[i] += v->phases[i] < LEAST_WEIGHT;
	v->point[i].bps += (bps - v->point[i].bps) / v->phases[i];
	c->changed = true;
}

/* ---- the file ---- */

void curves_write(const struct curves *c, FILE *f)
{
	fputs("job,ionodes,bandwidth,nodes,procs\n", f);
	for (uint32_t i = 0; i < c->count; i++) {
		const struct curve *v = &c->curve[i];

		for (uint32_t k = 0; k < v->points; k++)
			fprintf(f, "%s,%u,%.3f,%u,%u\n", v->name, v->point[k].ionodes,
				v->point[k].bps / 1e6, v->nodes, v->procs);
	}
}

/* Skips rows that it does not understand, the heading among them. */
int curves_load(struct curves *c, const char *path)
{
	struct sl_csv v = { .file = path,
			    .quotes = "\"",
			    .separator = ',',
			    .err = (char[200]){ "" },
			    .err_size = 200 };
	char *text;
	size_t size;
	int rc = sl_slurp_file(path, SIZE_MAX, &text, &size);

	if (rc)
		return rc;
	v.at = text;
	v.end = text + size;
	while ((rc = sl_csv_row(&v)) != 0) {
		double mbps;
		char *end;

		if (rc == -ENOMEM)
			break;
		if (rc < 0 || v.fields < 5 || !v.field[0].text[0] ||
		    strlen(v.field[0].text) >= SL_JOB_NAME_MAX)
			continue;
		mbps = strtod(v.field[2].text, &end);
		if (*end || !(mbps > 0) || mbps > 1e9)
			continue;
		curves_add(c, v.field[0].text, (uint32_t)strtoul(v.field[3].text, NULL, 10),
			   (uint32_t)strtoul(v.field[4].text, NULL, 10),
			   (uint32_t)strtoul(v.field[1].text, NULL, 10), mbps * 1e6);
	}
	c->changed = false;
	sl_csv_end(&v);
	free(text);
	return rc;
}

static int write_to(FILE *f, const void *curves)
{
	curves_write(curves, f);
	return 0;
}

int curves_save(struct curves *c, const char *path)
{
	int rc = sl_replace(path, 0666, write_to, c);

	c->changed = rc && c->changed;
	return rc;
}
