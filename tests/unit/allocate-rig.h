/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of allocate policies share: a machine, its jobs, and the decision.
 *
 *	struct alloc a;
 *	alloc_open(&a, &sl_allocate_one, 4);
 *	alloc_add(&a, 64, 512, 0, 10.0, 1, 20.0, -1);   compute nodes, processes, curve
 *	alloc_expect(&a, 1);
 *	alloc_close(&a);
 */
#ifndef ALLOCATE_RIG_H
#define ALLOCATE_RIG_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
/* cmocka needs those above, in this order */
#include <cmocka.h>

#include "policy/machine/allocate/options.h"
#include "policy/policy.h"

enum { JOBS = 64, POINTS = 16, IONODES = 256 };
#define SHARED (-1)

struct alloc {
	const struct sl_allocate_ops *ops;
	void *state;
	struct sl_alloc_machine m;
	struct sl_alloc_job job[JOBS];
	struct sl_curve_point curve[JOBS][POINTS];
	uint32_t n;
};

static inline void alloc_open(struct alloc *a, const struct sl_allocate_ops *ops, uint32_t ionodes)
{
	struct sl_policy_limits limits = { .lanes = JOBS, .ionodes = IONODES };

	a->ops = ops;
	a->m = (struct sl_alloc_machine){ .ionodes = ionodes, .direct = true };
	a->n = 0;
	a->state = aligned_alloc(16, (sl_policy_size(&ops->base, &limits) + 15) / 16 * 16);
	assert_non_null(a->state);
	sl_policy_init(&ops->base, a->state, &limits, NULL, 0);
}

static inline void alloc_close(struct alloc *a)
{
	free(a->state);
}

/* Curve: pairs of int I/O nodes and double bandwidth, ended by -1. */
static inline struct sl_alloc_job *alloc_add(struct alloc *a, uint32_t nodes, uint32_t procs, ...)
{
	struct sl_alloc_job *j = &a->job[a->n];
	va_list list;
	int ionodes;

	assert_true(a->n < JOBS);
	*j = (struct sl_alloc_job){
		.job = a->n + 1, .nodes = nodes, .procs = procs, .curve = a->curve[a->n]
	};
	va_start(list, procs);
	while ((ionodes = va_arg(list, int)) >= 0) {
		assert_true(j->points < POINTS);
		a->curve[a->n][j->points].ionodes = (uint32_t)ionodes;
		a->curve[a->n][j->points++].bps = va_arg(list, double);
	}
	va_end(list);
	a->n++;
	return j;
}

/* A running job with so many I/O nodes. */
static inline void alloc_has(struct sl_alloc_job *j, uint32_t has)
{
	j->running = true;
	j->has = has;
}

static inline double alloc_sum(const struct alloc *a)
{
	double sum = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		double bps = sl_alloc_bps(&a->job[i], a->n);

		sum += bps > 0 ? bps : 0;
	}
	return sum;
}

static inline void alloc_check(struct alloc *a, const int *expected, uint32_t count)
{
	assert_int_equal(a->n, count);
	a->ops->decide(a->state, a->job, a->n, &a->m);
	for (uint32_t i = 0; i < count; i++) {
		int got = a->job[i].shared ? SHARED : (int)a->job[i].ionodes;

		if (got != expected[i])
			print_error("job %u of %u\n", i + 1, count);
		assert_int_equal(got, expected[i]);
		assert_true(!a->job[i].shared || a->job[i].ionodes == 1);
	}
}
#define alloc_expect(a, ...)                         \
	alloc_check(a, (const int[]){ __VA_ARGS__ }, \
		    sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/*
 * The jobs of Table 4 of the paper: BT-C BT-D IOR-MPI POSIX-L MAD S3D, in MB/s. From the curves of
 * examples/allocate.
 */
static inline void alloc_table4(struct alloc *a)
{
	alloc_add(a, 32, 128, 0, 195.762, 1, 77.6, 2, 75.432, 4, 388.066, 8, 366.048, -1);
	alloc_add(a, 64, 512, 0, 231.808, 1, 597.232, 2, 594.226, 4, 700.498, 8, 712.962, -1);
	alloc_add(a, 16, 128, 0, 1026.280, 1, 268.416, 2, 363.539, 4, 2146.826, 8, 5089.953, -1);
	alloc_add(a, 64, 512, 0, 281.707, 1, 285.248, 2, 411.984, 4, 750.556, 8, 2641.646, -1);
	alloc_add(a, 32, 64, 0, 255.939, 1, 77.898, 2, 92.038, 4, 303.742, 8, 300.777, -1);
	alloc_add(a, 64, 512, 0, 241.314, 1, 51.772, 2, 48.174, 4, 151.824, 8, 151.23, -1);
}

#endif
