/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's brain on a bench: reports as text in, orders as text out, time as an argument.
 */
#ifndef SL_TEST_BRAIN_RIG_H
#define SL_TEST_BRAIN_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluiced/controller/brain.h"

#define MS	     INT64_C(1000000)
#define NO_GRANT     UINT64_MAX
#define NOT_TOLD     UINT32_MAX
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))
#define NEAR(a, b)   (fabs((double)(a) - (double)(b)) <= 1e-3 * fabs((double)(b)) + 1e-6)
#define CLOSE(a, b)  assert_true(NEAR(a, b))
#define IDLE(id, ms) "job id=" #id " name=j" #id " clients=1 idle=" #ms "000000\n"

static inline struct brain *brain(struct brain_config c)
{
	struct brain *b = malloc(sizeof(*b));
	char err[200] = "";

	assert_non_null(b);
	c.gap_ns = c.gap_ns ? c.gap_ns : 1000 * MS;
	if (brain_init(b, &c, 0, err, sizeof(err)))
		fail_msg("%s", err);
	return b;
}

static inline void end(struct brain *b)
{
	brain_free(b);
	free(b);
}

/* A report of a node at a time in ms; its jobs as text with a %. */
static inline int hear(struct brain *b, int64_t ms, const char *node, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static inline int hear(struct brain *b, int64_t ms, const char *node, const char *format, ...)
{
	char text[2000];
	va_list args;
	int n = snprintf(text, sizeof(text), "node %s socket=/s\n", node);

	va_start(args, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
	va_end(args);
	return brain_report(b, text, ms * MS);
}

static inline void decide(struct brain *b, int64_t ms)
{
	assert_true(brain_decide(b, ms * MS) > ms * MS);
}

static inline struct brain_job *job(const struct brain *b, uint64_t id)
{
	for (uint32_t i = 0; i < b->jobs; i++)
		if (b->job[i] && b->job[i]->id == id)
			return b->job[i];
	return NULL;
}

/* The order of a node about a job; false: there is none. */
static inline bool order(const struct brain *b, uint32_t node, uint64_t id,
			 struct sl_job_orders *out)
{
	struct sl_orders_line l;
	char *text = NULL, *at;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool found = false;
	int what;

	brain_orders(b, node, f);
	fclose(f);
	at = text;
	while ((what = sl_orders_next(&at, &l)) > 0)
		if (what == SL_LINE_JOB && l.job.id == id) {
			*out = l.job;
			found = true;
		}
	assert_int_equal(what, SL_LINE_END);
	free(text);
	return found;
}

static inline uint64_t grant(const struct brain *b, uint32_t node, uint64_t id)
{
	struct sl_job_orders o = { 0 };

	assert_true(order(b, node, id, &o));
	return o.rate_bps;
}

static inline double share(const struct brain *b, uint32_t node, uint64_t id)
{
	struct sl_job_orders o = { 0 };

	assert_true(order(b, node, id, &o));
	return (double)o.share / SL_SHARE_WHOLE;
}

/* "0,2": the nodes of a job as ordered; "none", "untold". */
static inline const char *nodes_of(const struct brain *b, uint32_t node, uint64_t id)
{
	static char out[SL_MAP_TEXT];
	struct sl_job_orders o = { 0 };

	assert_true(order(b, node, id, &o));
	if (o.to_count == NOT_TOLD || !o.to_count)
		return o.to_count ? "untold" : "none";
	out[0] = 0;
	for (uint32_t i = 0; i < o.to_count; i++) {
		strcat(out, i ? "," : "");
		strcat(out, o.to[i]);
	}
	return out;
}

#endif
