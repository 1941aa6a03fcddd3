/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables made from the runs for other commands: for `sluice train` a row for each situation with
 * the mean time of each order, and curves for `sluice allocate`; and the first columns that these
 * tables and csv.c share.
 */
#include <inttypes.h>
#include <string.h>

#include "lab/explore/explore.h"
#include "lab/page.h"

/* ---- rows ---- */

void explore_quoted(FILE *f, const char *before, const char *text)
{
	bool quotes = text[strcspn(text, ",\"")];

	if (!quotes) {
		fprintf(f, "%s%s", before, text);
		return;
	}
	fprintf(f, "\"%s", before);
	for (; *text; text++)
		fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
	putc('"', f);
}

void explore_situation(FILE *f, const struct explore *e, const struct explore_cell *c)
{
	const struct explore_kernel *k = c->kernel;
	double ratio = explore_ratio(e, c);

	fprintf(f, "%s,", k->name);
	explore_quoted(f, "", c->device->name);
	if (ratio > 0)
		fprintf(f, ",%.2f", ratio);
	else
		fputs(",?", f);
	fprintf(f, ",%s,%u,%u,%u,%s,%s,%s,%" PRIu64 ",%u,%" PRIu64, explore_op(k), k->apps,
		k->nodes, k->procs, explore_layout(k), explore_spatiality(k),
		k->request_bytes < e->spec->stripe_bytes ? "small" : "large", k->request_bytes,
		explore_files(k), explore_file_bytes(k));
}

/* ---- files ---- */

static int cv_train(FILE *f, const void *what)
{
	const struct explore *e = what;
	const struct explore_spec *s = e->spec;

	fputs("kernel,device,ratio,op,apps,nodes,procs,layout,spatiality,size,request,files,"
	      "file_bytes,ionodes",
	      f);
	for (uint32_t o = 0; o < s->n_orders; o++) {
		if (explore_in_turn(s, o)) /* not an order that a tree could choose */
			continue;
		putc(',', f);
		explore_quoted(f, "time_", s->order[o]);
	}
	fputc('\n', f);
	for (uint32_t i = 0; i < e->n_cells; i++) {
		const struct explore_cell *c = &e->cell[i];

		if (c->order) /* one line for all orders; none for direct access */
			continue;
		explore_situation(f, e, c);
		fprintf(f, ",%u", c->ionodes);
		for (uint32_t o = 0; o < s->n_orders; o++)
			if (!explore_in_turn(s, o))
				fprintf(f, ",%.9g",
					explore_seconds(s, explore_sibling(e, c, o)).mean);
		fputc('\n', f);
	}
	return 0;
}

int explore_train_table(const struct explore *e, const char *path)
{
	return page_write(EXPLORE_CMD, path, cv_train, e);
}

/* Every run is a row: for the reader, repetitions, of which it takes the median. */
static int cv_curves(FILE *f, const void *what)
{
	const struct explore *e = what;

	fputs("job,ionodes,bandwidth,nodes,procs\n", f);
	for (uint32_t i = 0; i < e->n_cells; i++) {
		const struct explore_cell *c = &e->cell[i];
		char job[2 * EXPLORE_NAME];

		if (c->order != EXPLORE_DIRECT && c->order)
			continue;
		if (e->spec->n_devices > 1)
			snprintf(job, sizeof(job), "%s@%s", c->kernel->name, c->device->name);
		else
			snprintf(job, sizeof(job), "%s", c->kernel->name);
		for (uint32_t r = 0; r < c->runs; r++) {
			explore_quoted(f, "", job);
			fprintf(f, ",%u,%.6g,%u,%u\n", c->ionodes,
				(double)c->run[r].bytes / c->run[r].seconds / 1e6,
				c->kernel->nodes * c->kernel->apps,
				c->kernel->procs * c->kernel->apps);
		}
	}
	return 0;
}

int explore_curves(const struct explore *e, const char *path)
{
	return page_write(EXPLORE_CMD, path, cv_curves, e);
}
