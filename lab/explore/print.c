/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of an exploration, as text and as JSON. The text has two tables: bandwidth by the
 * number of I/O nodes, if there are several (Figure 1 of Bez et al. 2021), and the time of each
 * order relative to the first one, if there are several (Figures 3 and 4 of Boito et al. 2015).
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/cli.h"
#include "lab/explore/explore.h"

#define NOT_DIFFERENT 0.10 /* a smaller difference is not significant (AGIOS, section 5) */

#define COLUMN	     8
#define MOST_COLUMNS 6 /* with more, lines are longer than the others */

static int ep_width(uint32_t columns)
{
	return CLI_WIDTH - COLUMN * (int)(columns < MOST_COLUMNS ? columns : MOST_COLUMNS);
}

/* A name that is too long has a line of its own. */
static void ep_name(const char *name, int width)
{
	if ((int)strlen(name) <= width)
		printf("%-*s", width, name);
	else
		printf("%s\n%*s", name, width, "");
}

static void ep_device(const struct explore *e, const struct explore_cell *c,
		      const struct explore_device **last)
{
	if (e->spec->n_devices > 1 && c->device != *last)
		printf("%s:\n", c->device->name);
	*last = c->device;
}

/* Append a sentence to the text that is printed at the end. */
static void ep_say(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void ep_say(char *text, size_t size, const char *format, ...)
{
	size_t n = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + n, size - n, format, args);
	va_end(args);
}

/* ---- bandwidth ---- */

/* Cells of a kernel on a device are adjacent, and among them those of one number of nodes. */
static const struct explore_cell *ep_at(const struct explore *e, const struct explore_cell *from,
					uint32_t ionodes, uint32_t order)
{
	for (const struct explore_cell *c = from; c < e->cell + e->n_cells; c++)
		if (c->ionodes == ionodes && (c->order == order || c->order == EXPLORE_DIRECT))
			return c;
	return from;
}

static void ep_curve(const struct explore *e, const struct explore_cell *from, uint32_t order)
{
	const struct explore_spec *s = e->spec;
	char name[2 * EXPLORE_NAME + 24];

	snprintf(name, sizeof(name), "%s%s %s", from->kernel->name,
		 explore_is_meta(from->kernel) ? ", 1000 calls/s" : "",
		 s->n_orders > 1 ? s->order[order] : "");
	ep_name(name, ep_width(s->n_ionodes));
	for (uint32_t i = 0; i < s->n_ionodes; i++)
		printf(" %*.4g", COLUMN - 1,
		       explore_mb_s(s, ep_at(e, from, s->ionodes[i], order)).mean *
			       (explore_is_meta(from->kernel) ? 1000 : 1));
	putchar('\n');
}

static void ep_bandwidth(const struct explore *e)
{
	const struct explore_spec *s = e->spec;
	const struct explore_device *device = NULL;
	const struct explore_kernel *kernel = NULL;
	bool direct = false;

	ep_name("MB/s with I/O nodes:", ep_width(s->n_ionodes));
	for (uint32_t i = 0; i < s->n_ionodes; i++) {
		printf(" %*u", COLUMN - 1, s->ionodes[i]);
		direct |= !s->ionodes[i];
	}
	putchar('\n');
	for (uint32_t i = 0; i < e->n_cells; i++) {
		const struct explore_cell *c = &e->cell[i];

		if (c->kernel == kernel && c->device == device)
			continue;
		kernel = c->kernel;
		ep_device(e, c, &device);
		for (uint32_t o = 0; o < s->n_orders; o++)
			ep_curve(e, c, o);
	}
	puts(direct ? "0: direct access.\n" : "");
}

/* ---- orders ---- */

struct ep_count {
	uint32_t situations, best[EXPLORE_LIST], faster[EXPLORE_LIST], slower[EXPLORE_LIST];
};

static void ep_situation(const struct explore *e, const struct explore_cell *c, struct ep_count *n)
{
	const struct explore_spec *s = e->spec;
	double to = explore_seconds(s, c).mean, least = INFINITY;
	char name[EXPLORE_NAME + 16];
	uint32_t best = 0;

	snprintf(name, sizeof(name), s->n_ionodes > 1 ? "%s %u" : "%s", c->kernel->name,
		 c->ionodes);
	ep_name(name, ep_width(s->n_orders));
	for (uint32_t o = 0; o < s->n_orders; o++) {
		double t = explore_seconds(s, explore_sibling(e, c, o)).mean;

		if (o)
			printf(" %*.2f", COLUMN - 1, t / to);
		else
			printf(" %*.3g", COLUMN - 1, t);
		n->faster[o] += t < to * (1 - NOT_DIFFERENT);
		n->slower[o] += t > to * (1 + NOT_DIFFERENT);
		if (t < least) {
			least = t;
			best = o;
		}
	}
	putchar('\n');
	n->situations++;
	n->best[best]++;
}

static void ep_orders(const struct explore *e)
{
	const struct explore_spec *s = e->spec;
	const struct explore_device *device = NULL;
	struct ep_count n = { 0 };
	char text[4000] = "";

	ep_say(text, sizeof(text), "seconds with %s, then times that%s", s->order[0],
	       s->n_ionodes > 1 ? "; I/O nodes" : "");
	ep_name(text, ep_width(s->n_orders));
	for (uint32_t o = 0; o < s->n_orders; o++)
		printf(" %*.*s", COLUMN - 1, COLUMN - 1, s->order[o]);
	putchar('\n');
	for (uint32_t i = 0; i < e->n_cells; i++) {
		if (e->cell[i].order) /* direct, or shown beside the first */
			continue;
		ep_device(e, &e->cell[i], &device);
		ep_situation(e, &e->cell[i], &n);
	}
	text[0] = 0;
	ep_say(text, sizeof(text), "Of %u situations, fastest:", n.situations);
	for (uint32_t o = 0; o < s->n_orders; o++)
		ep_say(text, sizeof(text), "%s %s %u", o ? "," : "", s->order[o], n.best[o]);
	ep_say(text, sizeof(text),
	       ". Over 10%% faster than %s, and over 10%% slower:", s->order[0]);
	for (uint32_t o = 1; o < s->n_orders; o++)
		ep_say(text, sizeof(text), "%s %s %u and %u", o > 1 ? "," : "", s->order[o],
		       n.faster[o], n.slower[o]);
	ep_say(text, sizeof(text), ".");
	putchar('\n');
	cli_wrap(stdout, text, 0, 0);
}

static void ep_certainty(const struct explore *e)
{
	const struct explore_spec *s = e->spec;
	uint32_t unsure = 0, fewest = UINT32_MAX, most = 0;
	char text[400] = "";
	uint64_t runs = 0;

	for (uint32_t i = 0; i < e->n_cells; i++) {
		const struct explore_cell *c = &e->cell[i];
		struct explore_estimate t = explore_seconds(s, c);

		runs += c->runs;
		fewest = c->runs < fewest ? c->runs : fewest;
		most = c->runs > most ? c->runs : most;
		unsure += c->runs > 1 && t.half > s->error * t.mean;
	}
	ep_say(text, sizeof(text), "%u cells, %" PRIu64 " runs", e->n_cells, runs);
	if (e->kept)
		ep_say(text, sizeof(text), ", %" PRIu64 " of them from before", e->kept);
	if (most > 1)
		ep_say(text, sizeof(text),
		       "; %u to %u of each, times known to %.0f %% with %.0f %% confidence", fewest,
		       most, 100 * s->error, 100 * s->confidence);
	if (unsure)
		ep_say(text, sizeof(text), ", but for %u", unsure);
	ep_say(text, sizeof(text), ".");
	cli_wrap(stdout, text, 0, 0);
}

void explore_print(const struct explore *e)
{
	if (e->spec->n_ionodes > 1 || e->spec->n_orders == 1)
		ep_bandwidth(e);
	if (e->spec->n_orders > 1)
		ep_orders(e);
	ep_certainty(e);
}

/* ---- JSON ---- */

static void ep_json_cell(struct json *j, const struct explore *e, const struct explore_cell *c)
{
	const struct explore_spec *s = e->spec;
	const struct explore_kernel *k = c->kernel;
	struct explore_estimate t = explore_seconds(s, c), b = explore_mb_s(s, c);
	double ratio = explore_ratio(e, c);

	json_object(j, NULL);
	json_string(j, "kernel", k->name);
	json_string(j, "device", c->device->name[0] ? c->device->name : NULL);
	json_double(j, "ratio", ratio > 0 ? ratio : NAN);
	json_string(j, "op", explore_op(k));
	json_uint(j, "apps", k->apps);
	json_uint(j, "nodes", k->nodes);
	json_uint(j, "procs", k->procs);
	json_string(j, "layout", explore_layout(k));
	json_string(j, "spatiality", explore_spatiality(k));
	json_string(j, "size", k->request_bytes < s->stripe_bytes ? "small" : "large");
	json_uint(j, "request", k->request_bytes);
	json_uint(j, "files", explore_files(k));
	json_uint(j, "file_bytes", explore_file_bytes(k));
	json_string(j, "policy", explore_policy(s, c));
	json_uint(j, "ionodes", c->ionodes);
	json_uint(j, "runs", c->runs);
	json_double(j, "seconds", t.mean);
	json_double(j, "seconds_ci", t.half);
	json_double(j, "mb_per_s", b.mean);
	json_double(j, "mb_per_s_ci", b.half);
	json_end(j);
}

void explore_json(struct json *j, const struct explore *e)
{
	const struct explore_spec *s = e->spec;

	json_string(j, "spec", s->path);
	json_string(j, "how", e->simulate ? "simulated" : "live");
	json_uint(j, "seed", s->seed);
	json_double(j, "confidence", s->confidence);
	json_double(j, "error", s->error);
	json_array(j, "ionodes");
	for (uint32_t i = 0; i < s->n_ionodes; i++)
		json_uint(j, NULL, s->ionodes[i]);
	json_end(j);
	json_array(j, "orders");
	for (uint32_t i = 0; i < s->n_orders; i++)
		json_string(j, NULL, s->order[i]);
	json_end(j);
	json_array(j, "cells");
	for (uint32_t i = 0; i < e->n_cells; i++)
		ep_json_cell(j, e, &e->cell[i]);
	json_end(j);
}
