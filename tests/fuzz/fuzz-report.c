/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as what a node and a controller tell each other. The first byte chooses:
 *
 *	lines of a report, or of orders: what was taken, written and read again is the same;
 *	reports to a controller's brain, each behind a byte that says which policy decides (the
 *	first) and how many ms have passed, ended by a 0 byte: it does not break, grants no more
 *	than there is, and its orders are such as a node can read.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluiced/controller/brain.h"
#include "tests/fuzz/fuzz.h"

static char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	CHECK(text);
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	return text;
}

static void joint(const struct sl_joint *a, const struct sl_joint *b)
{
	CHECK(a->id == b->id && a->meter == b->meter && a->bucket == b->bucket &&
	      a->limit == b->limit && a->rate == b->rate && a->held == b->held);
}

static void report(char *text)
{
	struct sl_report_line l, again;
	int what;

	while ((what = sl_report_next(&text, &l)) > 0) {
		char *out = NULL, *at;
		size_t size;
		FILE *f = open_memstream(&out, &size);

		if (what == SL_LINE_NODE)
			sl_report_put_node(f, &l.node);
		else if (what == SL_LINE_JOB)
			sl_report_put_job(f, &l.job);
		else if (what == SL_LINE_JOINT)
			sl_joint_put(f, &l.joint);
		fclose(f);
		at = out;
		if (what == SL_LINE_NODE || what == SL_LINE_JOB || what == SL_LINE_JOINT)
			CHECK(sl_report_next(&at, &again) == what && !*at);
		if (what == SL_LINE_JOINT)
			joint(&l.joint, &again.joint);
		if (what == SL_LINE_NODE)
			CHECK(!strcmp(l.node.name, again.node.name) &&
			      !strcmp(l.node.socket, again.node.socket) &&
			      !strcmp(l.node.tcp, again.node.tcp) &&
			      l.node.life == again.node.life &&
			      l.node.capacity_bps == again.node.capacity_bps);
		if (what == SL_LINE_JOB)
			CHECK(!strcmp(l.job.name, again.job.name) &&
			      !strcmp(l.job.title, again.job.title) &&
			      !strcmp(l.job.map, again.job.map) && l.job.id == again.job.id &&
			      l.job.idle_ns == again.job.idle_ns &&
			      l.job.inside == again.job.inside && l.job.phase == again.job.phase &&
			      !memcmp(l.job.moved, again.job.moved, sizeof(l.job.moved)));
		free(out);
	}
	CHECK(what == SL_LINE_END || what == -EPROTO);
}

static void orders(char *text)
{
	struct sl_orders_line l, again;
	int what;

	while ((what = sl_orders_next(&text, &l)) > 0) {
		char *out = NULL, *at;
		size_t size;
		FILE *f = open_memstream(&out, &size);

		if (what == SL_LINE_JOB)
			sl_orders_put_job(f, &l.job);
		else if (what == SL_LINE_JOINT)
			sl_joint_put(f, &l.joint);
		fclose(f);
		at = out;
		if (what == SL_LINE_JOINT) {
			CHECK(sl_orders_next(&at, &again) == SL_LINE_JOINT && !*at);
			joint(&l.joint, &again.joint);
		}
		if (what == SL_LINE_JOB) {
			CHECK(l.job.to_count <= SL_MAP_MAX || l.job.to_count == UINT32_MAX);
			CHECK(sl_orders_next(&at, &again) == SL_LINE_JOB);
			CHECK(l.job.id == again.job.id && l.job.rate_bps == again.job.rate_bps &&
			      l.job.share == again.job.share &&
			      l.job.to_count == again.job.to_count);
			for (uint32_t i = 0; i < SL_MAP_MAX && i < l.job.to_count; i++)
				CHECK(!strcmp(l.job.to[i], again.job.to[i]));
		}
		free(out);
	}
	CHECK(what == SL_LINE_END || what == -EPROTO);
}

/* ---- the brain ---- */

static void granted(const struct brain *b)
{
	double sum = 0, capacity = (double)brain_capacity(b);

	for (uint32_t i = 0; b->ops && capacity > 0 && i < b->jobs; i++)
		if (b->job[i] && b->job[i]->in_io) {
			CHECK(b->job[i]->io.rate_bps >= 0);
			sum += b->job[i]->io.rate_bps;
		}
	CHECK(sum <= capacity * 1.000001 + 1);
}

static void obeyed(struct brain *b)
{
	for (uint32_t node = 0; node < b->nodes; node++) {
		struct sl_orders_line l;
		char *text = NULL, *at;
		size_t size;
		FILE *f = open_memstream(&text, &size);
		int what;

		brain_whole(b, node);
		brain_orders(b, node, b->node[node]->ordered, f);
		fclose(f);
		at = text;
		while ((what = sl_orders_next(&at, &l)) > 0)
			CHECK(what != SL_LINE_JOB || l.job.share <= SL_SHARE_WHOLE * 5 / 4);
		CHECK(what == SL_LINE_END);
		free(text);
	}
}

static void brain(const uint8_t *data, size_t size)
{
	static const char *const policies[] = { "none",	  "fcfs",    "fair-share",
						"set-10", "min-max", "round-robin" };
	struct brain_config c = { .gap_ns = 100000000, .settle_ns = 50000000 };
	static struct brain b;
	sl_time now = 1;
	char err[200];

	c.grant = policies[size ? data[0] % 6 : 0];
	c.direct = size && data[0] & 64;
	CHECK(brain_init(&b, &c, now, err, sizeof(err)) == 0);
	while (size > 1) {
		const uint8_t *end = memchr(data + 1, 0, size - 1);
		size_t length = end ? (size_t)(end - data - 1) : size - 1;
		char *text = text_of(data + 1, length);
		int node;

		now += (sl_time)data[0] * 1000000;
		node = brain_report(&b, text, now);
		CHECK(node < (int)BRAIN_NODES &&
		      (node >= 0 || node == -EPROTO || node == -ENOSPC || node == -EEXIST));
		if (data[0] % 16 == 15 && node >= 0)
			brain_node_gone(&b, (uint32_t)node, true, now);
		CHECK(brain_decide(&b, now) > now);
		granted(&b);
		obeyed(&b);
		free(text);
		data += 1 + length;
		size -= 1 + length;
		data += end ? 1 : 0;
		size -= end ? 1 : 0;
	}
	brain_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size == 0)
		return 0;
	if (data[0] % 3 == 2) {
		brain(data + 1, size - 1);
		return 0;
	}
	text = text_of(data + 1, size - 1);
	if (data[0] % 3 == 0)
		report(text);
	else
		orders(text);
	free(text);
	return 0;
}
