/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers of the simulator.
 *
 * splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): a
 * counter that goes on by the golden ratio, and a mix of its bits. One addition and two
 * multiplications a number, 8 bytes of state: every application has a stream of its own, so that
 * what it does depends on seed and place in the scenario alone, not on when a policy lets it go on.
 *
 * A normal quantity is cut off at 0: a negative draw counts as 0, which makes the mean
 *
 *	a * Phi(a/b) + b * phi(a/b),
 *
 * Phi and phi being distribution and density of the standard normal. Example: mean 10, deviation
 * 5: 10 * 0.97725 + 5 * 0.05399 = 10.0425.
 */
#include "sim/random.h"

#include <math.h>

#include "base/ds/random.h"

struct sl_random sl_random_stream(uint64_t seed, uint64_t number)
{
	/* Mixed twice: streams that begin a few steps apart would be the same numbers, shifted. */
	return (struct sl_random){ sl_mix64(sl_mix64(seed + SL_GOLDEN) ^
					    sl_mix64(number * SL_GOLDEN + 1)) };
}

uint64_t sl_random_next(struct sl_random *r)
{
	return sl_splitmix64(&r->state);
}

double sl_random_unit(struct sl_random *r)
{
	return sl_splitmix64_unit(&r->state);
}

double sl_vary_mean(const struct sl_vary *v)
{
	double sum = 0, z;

	switch (v->kind) {
	case SL_VARY_CONSTANT:
	case SL_VARY_EXPONENTIAL:
		break;
	case SL_VARY_UNIFORM:
		return (v->a + v->b) / 2;
	case SL_VARY_NORMAL:
		if (!(v->b > 0))
			break;
		z = v->a / v->b;
		return v->a * erfc(-z * M_SQRT1_2) / 2 +
		       v->b * exp(-z * z / 2) * M_2_SQRTPI * M_SQRT1_2 / 2;
	case SL_VARY_LIST:
		for (uint32_t i = 0; i < v->count; i++)
			sum += v->list[i];
		return sum / v->count;
	}
	return v->a;
}

/* Box and Muller, of whose two numbers one is used: no state beyond the stream's. */
static double rd_normal(struct sl_random *r)
{
	double radius = sqrt(-2 * log(1 - sl_random_unit(r)));

	return radius * cos(2 * M_PI * sl_random_unit(r));
}

double sl_vary_draw(const struct sl_vary *v, uint64_t iteration, struct sl_random *r)
{
	switch (v->kind) {
	case SL_VARY_CONSTANT:
		break;
	case SL_VARY_UNIFORM:
		return v->a + (v->b - v->a) * sl_random_unit(r);
	case SL_VARY_NORMAL:
		return fmax(0, v->a + v->b * rd_normal(r));
	case SL_VARY_EXPONENTIAL:
		return -v->a * log(1 - sl_random_unit(r));
	case SL_VARY_LIST:
		return v->list[iteration % v->count];
	}
	return v->a;
}
