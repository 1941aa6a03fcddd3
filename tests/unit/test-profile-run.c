/* SPDX-License-Identifier: Apache-2.0 */
/* Which tests `sluice profile` makes, on devices whose answer is known. Time is simulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lab/profile/profile.h"

#define SECOND	   INT64_C(1000000000)
#define FILE_BYTES (UINT64_C(1) << 30)

/* Sizes from 8 KiB on, each twice the one before. */
static struct profile_plan plan(struct profile_target target, uint32_t sizes)
{
	struct profile_plan p = { .target = target,
				  .op = { true, true },
				  .sizes = sizes,
				  .time_ns = 60 * SECOND,
				  .seed = 1 };

	for (uint32_t i = 0; i < sizes; i++)
		p.size_bytes[i] = UINT64_C(8192) << i;
	return p;
}

static double ratio(const struct sl_profile_point *p)
{
	return p->sequential_bps / p->random_bps;
}

static uint32_t tested(const struct sl_profile *p, uint32_t op)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->points[op]; i++)
		n += p->point[op][i].runs > 0;
	return n;
}

static void the_ratios_of_every_model_are_found_by_three_tests(void **state)
{
	const struct sl_device_model *m;

	for (unsigned k = 0; (m = sl_device_preset(k)); k++) {
		struct profile_model device;
		struct profile_plan p = plan(profile_model(&device, m, FILE_BYTES), 11);
		struct sl_profile out = { 0 };

		assert_int_equal(profile_run(&p, &out), 0);
		for (uint32_t op = 0; op < 2; op++) {
			assert_int_equal(out.points[op], 11);
			assert_int_equal(tested(&out, op), 3);
			for (uint32_t i = 0; i < 11; i++) {
				uint64_t size = UINT64_C(8192) << i;
				double slow = (double)sl_device_cost_ns(m, op, size, 1);
				double fast = (double)sl_device_cost_ns(m, op, size, 0);
				const struct sl_profile_point *pt = &out.point[op][i];

				/* A model rounds each request to a nanosecond. */
				if (!(pt->low <= slow / fast * 1.00001 &&
				      pt->high >= slow / fast * 0.99999 &&
				      fabs(ratio(pt) / (slow / fast) - 1) < 1e-4))
					fail_msg("%s: op %u, %u: %g is %g in %g..%g", m->name, op,
						 (unsigned)size, slow / fast, ratio(pt), pt->low,
						 pt->high);
				assert_true(fabs(pt->sequential_bps / (double)size * fast / 1e9 -
						 1) < 1e-4);
			}
		}
		assert_true(device.now_ns < 60 * SECOND);
	}
}

/* A device with noise; a request costs ns[random] and a nanosecond for each byte, and steps. */
struct noisy {
	double ns[2];
	double noise;	    /* standard deviation of the logarithm, of a run */
	double drift;	    /* slower by this factor after a minute */
	uint64_t step_from; /* random requests of so much take step times as long; 0: none */
	double step;
	double bend;  /* of random requests: (size / 8 MiB) to this power is a factor; 0: none */
	int fails_at; /* run */
	int error;
	int runs;
	bool random_run[1000]; /* by run, round and round */
	int64_t now_ns;
	struct sl_random random;
};

static double noisy_ns(const struct noisy *d, bool random, uint64_t size_bytes)
{
	double ns = d->ns[random] + (double)size_bytes;

	if (random && d->bend > 0)
		ns *= pow((double)size_bytes / 8388608, d->bend);
	return random && d->step_from && size_bytes >= d->step_from ? ns * d->step : ns;
}

static int64_t noisy_run(void *context, uint32_t op, bool random, uint64_t size_bytes,
			 uint32_t requests)
{
	struct noisy *d = context;
	double normal = -6, ns;

	(void)op;
	assert_in_range(requests, 2, FILE_BYTES / size_bytes);
	d->random_run[d->runs % 1000] = random;
	if (++d->runs == d->fails_at)
		return d->error;
	for (int i = 0; i < 12; i++)
		normal += sl_random_unit(&d->random);
	ns = noisy_ns(d, random, size_bytes) * requests * exp(normal * d->noise) *
	     pow(d->drift > 0 ? d->drift : 1, (double)d->now_ns / 6e10);
	d->now_ns += (int64_t)ns;
	return (int64_t)ns;
}

static int64_t noisy_now(void *context)
{
	return ((struct noisy *)context)->now_ns;
}

static struct profile_target noisy(struct noisy *d, uint64_t seed)
{
	d->random = sl_random_stream(seed, 7);
	d->now_ns = 0;
	d->runs = 0;
	return (struct profile_target){
		.context = d, .run = noisy_run, .now_ns = noisy_now, .file_bytes = FILE_BYTES
	};
}

/* What a sanitizer looks for is in each of them. */
#ifdef __SANITIZE_ADDRESS__
#define SEEDS 20
#else
#define SEEDS 100
#endif

static void the_interval_holds_the_ratio_about_as_often_as_it_says(void **state)
{
	unsigned within = 0, all = 0, estimated = 0, of_estimated = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct noisy d = { .ns = { 1e5, 5e6 }, .noise = 0.1 };
		struct profile_plan p = plan(noisy(&d, seed), 11);
		struct sl_profile out = { 0 };

		assert_int_equal(profile_run(&p, &out), 0);
		for (uint32_t op = 0; op < 2; op++) {
			for (uint32_t i = 0; i < 11; i++) {
				const struct sl_profile_point *pt = &out.point[op][i];
				double true_ratio = noisy_ns(&d, true, pt->size_bytes) /
						    noisy_ns(&d, false, pt->size_bytes);
				bool in = pt->low <= true_ratio && true_ratio <= pt->high;

				within += in && pt->runs;
				all += pt->runs > 0;
				estimated += in && !pt->runs;
				of_estimated += !pt->runs;
			}
		}
	}
	/* Stopping when it looks narrow costs some of the 95 %. */
	if (within < all * 0.90 || within > all * 0.99)
		fail_msg("%u of %u intervals hold the ratio", within, all);
	if (estimated < of_estimated * 0.90)
		fail_msg("%u of %u estimated intervals hold the ratio", estimated, of_estimated);
}

static void more_noise_is_met_with_more_pairs(void **state)
{
	uint32_t pairs[2] = { 0, 0 };

	for (int k = 0; k < 2; k++) {
		struct noisy d = { .ns = { 1e5, 5e6 }, .noise = k ? 0.08 : 0.001 };
		struct profile_plan p = plan(noisy(&d, 1), 3);
		struct sl_profile out = { 0 };

		p.time_ns = 600 * SECOND;
		assert_int_equal(profile_run(&p, &out), 0);
		for (uint32_t i = 0; i < 3; i++) {
			const struct sl_profile_point *pt = &out.point[0][i];

			pairs[k] += pt->runs;
			assert_in_range(pt->runs, 5, 30);
			assert_true(pt->runs == 30 || pt->high / pt->low <= exp(0.1001));
		}
	}
	assert_int_equal(pairs[0], 15);
	assert_true(pairs[1] > 20);
}

static void where_the_line_breaks_more_sizes_are_tested(void **state)
{
	struct noisy d = { .ns = { 1e5, 1e6 }, .noise = 0.001, .step_from = 512 * 1024, .step = 3 };
	struct profile_plan p = plan(noisy(&d, 1), 11);
	struct sl_profile out = { 0 };

	assert_int_equal(profile_run(&p, &out), 0);
	assert_in_range(tested(&out, 0), 5, 11);
	/* The step is between two sizes that were tested. */
	assert_true(out.point[0][5].runs && out.point[0][6].runs);
	for (uint32_t i = 0; i < 11; i++) {
		const struct sl_profile_point *pt = &out.point[0][i];
		double true_ratio =
			noisy_ns(&d, true, pt->size_bytes) / noisy_ns(&d, false, pt->size_bytes);

		if (fabs(log(ratio(pt) / true_ratio)) > 0.1)
			fail_msg("%u: %g is %g", (unsigned)pt->size_bytes, true_ratio, ratio(pt));
		assert_true(pt->runs || (pt->low <= true_ratio && true_ratio <= pt->high));
	}
}

static void where_the_line_is_a_little_wrong_the_intervals_are_wider(void **state)
{
	struct noisy d = { .ns = { 1e5, 5e6 }, .noise = 0.0001, .bend = 0.01 };
	struct profile_plan p = plan(noisy(&d, 1), 11);
	struct sl_profile out = { 0 };

	assert_int_equal(profile_run(&p, &out), 0);
	assert_int_equal(tested(&out, 0), 3);
	for (uint32_t i = 0; i < 11; i++) {
		const struct sl_profile_point *pt = &out.point[0][i];
		double true_ratio =
			noisy_ns(&d, true, pt->size_bytes) / noisy_ns(&d, false, pt->size_bytes);

		if (pt->runs)
			continue;
		assert_true(pt->low < true_ratio && true_ratio < pt->high);
		assert_true(pt->high / pt->low > 1.02);
		assert_true(pt->high / pt->low < 1.22);
	}
}

static void either_run_of_a_pair_may_come_first(void **state)
{
	unsigned random_first = 0;

	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct noisy d = { .ns = { 1e5, 5e6 } };
		struct profile_plan p = plan(noisy(&d, 1), 1);
		struct sl_profile out = { 0 };

		p.op[SL_WRITE] = false;
		p.seed = seed;
		assert_int_equal(profile_run(&p, &out), 0);
		assert_int_equal(out.point[SL_READ][0].runs, 5);
		for (int i = d.runs - 10; i < d.runs; i += 2) {
			assert_true(d.random_run[i] != d.random_run[i + 1]);
			random_first += d.random_run[i];
		}
	}
	assert_in_range(random_first, 15, 35);
}

static void a_device_that_gets_slower_and_slower_has_the_same_ratio(void **state)
{
	struct noisy d = { .ns = { 1e5, 5e6 }, .noise = 0.001, .drift = 4 };
	struct profile_plan p = plan(noisy(&d, 1), 2);
	struct sl_profile out = { 0 };

	assert_int_equal(profile_run(&p, &out), 0);
	for (uint32_t i = 0; i < 2; i++) {
		double true_ratio =
			noisy_ns(&d, true, p.size_bytes[i]) / noisy_ns(&d, false, p.size_bytes[i]);

		assert_true(fabs(log(ratio(&out.point[0][i]) / true_ratio)) < 0.02);
	}
}

static void one_size_and_one_operation_are_enough(void **state)
{
	struct noisy d = { .ns = { 1e5, 5e6 }, .noise = 0.01 };

	for (uint32_t sizes = 1; sizes <= 4; sizes++) {
		struct profile_plan p = plan(noisy(&d, 1), sizes);
		struct sl_profile out = { 0 };

		p.op[SL_READ] = false;
		assert_int_equal(profile_run(&p, &out), 0);
		assert_int_equal(out.points[SL_READ], 0);
		assert_int_equal(out.points[SL_WRITE], sizes);
		assert_int_equal(tested(&out, SL_WRITE), sizes < 3 ? sizes : 3);
	}
}

static void the_time_is_kept_to(void **state)
{
	for (int64_t seconds = 5; seconds <= 40; seconds += 5) {
		/* So much noise that it could go on for ever. */
		struct noisy d = { .ns = { 1e5, 5e6 }, .noise = 0.5 };
		struct profile_plan p = plan(noisy(&d, (uint64_t)seconds), 11);
		struct sl_profile out = { 0 };

		p.time_ns = seconds * SECOND;
		assert_int_equal(profile_run(&p, &out), 0);
		assert_true(d.now_ns < p.time_ns + SECOND);
		assert_true(d.now_ns > p.time_ns / 2);
	}
}

static void too_little_time_is_an_error(void **state)
{
	struct noisy d = { .ns = { 1e8, 5e9 } };
	struct profile_plan p = plan(noisy(&d, 1), 11);
	struct sl_profile out = { 0 };

	p.time_ns = 2 * SECOND;
	assert_int_equal(profile_run(&p, &out), -ETIME);
	assert_int_equal(out.points[SL_READ], 0);
}

static void an_error_of_the_device_ends_all(void **state)
{
	struct noisy d = { .ns = { 1e5, 5e6 }, .noise = 0.1 };
	struct profile_plan p = plan(noisy(&d, 1), 11);
	struct sl_profile out = { 0 };
	int runs;

	assert_int_equal(profile_run(&p, &out), 0);
	runs = d.runs;
	for (int at = 1; at <= runs; at += 7) {
		p.target = noisy(&d, 1);
		d.fails_at = at;
		d.error = -EIO;
		out = (struct sl_profile){ 0 };
		assert_int_equal(profile_run(&p, &out), -EIO);
		assert_int_equal(out.points[SL_READ], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ratios_of_every_model_are_found_by_three_tests),
		cmocka_unit_test(the_interval_holds_the_ratio_about_as_often_as_it_says),
		cmocka_unit_test(more_noise_is_met_with_more_pairs),
		cmocka_unit_test(where_the_line_breaks_more_sizes_are_tested),
		cmocka_unit_test(where_the_line_is_a_little_wrong_the_intervals_are_wider),
		cmocka_unit_test(either_run_of_a_pair_may_come_first),
		cmocka_unit_test(a_device_that_gets_slower_and_slower_has_the_same_ratio),
		cmocka_unit_test(one_size_and_one_operation_are_enough),
		cmocka_unit_test(the_time_is_kept_to),
		cmocka_unit_test(too_little_time_is_an_error),
		cmocka_unit_test(an_error_of_the_device_ends_all),
	};

	return cmocka_run_group_tests_name("profile-run", tests, NULL, NULL);
}
