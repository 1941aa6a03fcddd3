/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler on a bench: requests of its own, a clock that the test moves, and expectations that
 * name the line of the test when they fail. */
#ifndef SL_TEST_SCHED_RIG_H
#define SL_TEST_SCHED_RIG_H

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sluice.h"

#define K	     UINT64_C(1024)
#define M	     (K * K)
#define MB	     UINT64_C(1000000)
#define US	     INT64_C(1000)
#define MS	     INT64_C(1000000)
#define SEC	     INT64_C(1000000000)
#define BOX_REQUESTS 128

/* The policies that a scheduler may be changed between. */
static const char *const box_orders[] = { "to", "to-agg", "sjf", "mlf", "aioli" };
static const char *const box_shares[] = { "wfq", "fifo", "round-robin", "io-sets", "pool" };
static const char *const box_admits[] = { "token-bucket", "open" };

enum { A = 10, B = 20, C = 30, D = 40 }; /* files */

struct box {
	struct sl_sched *s;
	struct sl_request r[BOX_REQUESTS];
	unsigned used;
	sl_time now;
};

static inline struct box *box_open(const struct sl_config *config)
{
	struct box *b = calloc(1, sizeof(*b));
	struct sl_config c = *config;
	char err[200] = "";

	assert_non_null(b);
	b->now = 10 * SEC;
	if (!c.limits.jobs)
		c.limits = (struct sl_limits){ .jobs = 8, .files = 16, .requests = BOX_REQUESTS };
	if (sl_sched_create(&b->s, &c, b->now, err, sizeof(err)))
		fail_msg("%s", err);
	return b;
}

static inline void box_close(struct box *b)
{
	sl_sched_destroy(b->s);
	free(b);
}

/* A case whose *state is a box with this configuration. */
#define BOX_CASE(config, name) \
	cmocka_unit_test_prestate_setup_teardown(name, box_setup, box_teardown, (void *)&(config))

static inline int box_setup(void **state)
{
	*state = box_open(*state);
	return 0;
}

static inline int box_teardown(void **state)
{
	box_close(*state);
	return 0;
}

static inline void ok_(struct box *b, int rc, const char *file, int line)
{
	if (!rc)
		return;
	print_error("%s:%d: %d: %s\n", file, line, rc, sl_error(b->s));
	_fail(file, line);
}

/* The call fails with this error, and says in words why. */
static inline void refused_(struct box *b, int rc, int error, const char *file, int line)
{
	if (rc == error && sl_error(b->s)[0])
		return;
	print_error("%s:%d: %d, not %d: '%s'\n", file, line, rc, error, sl_error(b->s));
	_fail(file, line);
}

static inline struct sl_request *make(struct box *b, uint64_t job, uint32_t op, uint64_t file,
				      uint64_t offset, uint64_t length)
{
	struct sl_request *r = &b->r[b->used++];

	assert_true(b->used <= BOX_REQUESTS);
	*r = (struct sl_request){
		.job = job, .file = file, .offset = offset, .length = length, .op = op
	};
	return r;
}

static inline struct sl_request *put_(struct box *b, uint64_t job, uint32_t op, uint64_t id,
				      uint64_t offset, uint64_t length, const char *file, int line)
{
	struct sl_request *r = make(b, job, op, id, offset, length);

	ok_(b, sl_add(b->s, r, b->now), file, line);
	return r;
}

static inline const struct sl_batch *expect_(struct box *b, uint64_t job, uint64_t offset,
					     uint64_t length, uint32_t count, const char *file,
					     int line)
{
	sl_time wake = 0;
	const struct sl_batch *t = sl_next(b->s, b->now, &wake);

	if (!t) {
		print_error("%s:%d: no batch; ask again at now %+" PRId64 "\n", file, line,
			    wake == SL_NEVER ? -1 : wake - b->now);
		_fail(file, line);
	} else if (t->job != job || t->offset != offset || t->length != length ||
		   t->count != count) {
		print_error("%s:%d: job %" PRIu64 " [%" PRIu64 ", +%" PRIu64 ") of %u,\n"
			    "not job %" PRIu64 " [%" PRIu64 ", +%" PRIu64 ") of %u\n",
			    file, line, t->job, t->offset, t->length, t->count, job, offset, length,
			    count);
		_fail(file, line);
	}
	return t;
}

static inline void nothing_(struct box *b, sl_time at, const char *file, int line)
{
	sl_time wake = 0;
	const struct sl_batch *t = sl_next(b->s, b->now, &wake);

	if (t) {
		print_error("%s:%d: job %" PRIu64 " [%" PRIu64 ", +%" PRIu64
			    "), there should be nothing\n",
			    file, line, t->job, t->offset, t->length);
		_fail(file, line);
	}
	if (wake != at) {
		print_error("%s:%d: ask again at %" PRId64 ", not at %" PRId64 "\n", file, line,
			    wake, at);
		_fail(file, line);
	}
}

#define ok(b, rc)	      ok_(b, rc, __FILE__, __LINE__)
#define refused(b, error, rc) refused_(b, rc, error, __FILE__, __LINE__)
#define put(b, ...)	      put_(b, __VA_ARGS__, __FILE__, __LINE__)
#define expect(b, ...)	      expect_(b, __VA_ARGS__, __FILE__, __LINE__)
#define nothing(b, at)	      nothing_(b, at, __FILE__, __LINE__)
#define done(b, batch)	      ok_(b, sl_done((b)->s, batch, (b)->now), __FILE__, __LINE__)
#define serve(b, ...)	      done(b, expect(b, __VA_ARGS__))
#define job(b, id, ...) \
	ok(b, sl_job_add((b)->s, id, &(struct sl_job_conf){ __VA_ARGS__ }, (b)->now))

/* Serves n batches, whosever they are, and counts those of each job. */
static inline void serve_any(struct box *b, unsigned n, unsigned *served)
{
	for (unsigned i = 0; i < n; i++) {
		const struct sl_batch *t = sl_next(b->s, b->now, NULL);

		assert_non_null(t);
		served[t->job]++;
		done(b, t);
	}
}

static inline void set_policy(struct box *b, const char *stage, const char *policy)
{
	ok(b, sl_policy_set(b->s, stage, policy, b->now));
}

static inline struct sl_job_stats stats_of(struct box *b, uint64_t id)
{
	struct sl_job_stats st;

	assert_int_equal(sl_job_stats(b->s, id, b->now, &st), 0);
	return st;
}

static inline struct sl_sched_stats stats(struct box *b)
{
	struct sl_sched_stats st;

	sl_sched_stats(b->s, &st);
	return st;
}

#endif
