/* SPDX-License-Identifier: Apache-2.0 */
/* The workload makers: the numbers of the papers, distributions, seeds, and what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/generate.h"
#include "sim/random.h"
#include "tests/unit/near.h"
#include "tests/unit/scenario-rig.h"

#define MIB 1048576.0

static char err[400];

static struct sl_scenario make(const struct sl_generate *g)
{
	struct sl_scenario s;

	if (sl_generate(g, &s, err, sizeof(err)))
		fail_msg("%s", err);
	if (sl_scenario_check(&s, err, sizeof(err)))
		fail_msg("%s: %s", sl_generate_name(g->kind), err);
	return s;
}

static double ratio(const struct sl_scenario *s, const struct sl_app *a)
{
	double compute_s = sl_vary_mean(&a->compute_s);

	return (sl_app_alone_s(&s->platform, a) - compute_s) / compute_s;
}

/* What all ask for together over B. */
static double load(const struct sl_scenario *s)
{
	double asked = 0;

	for (uint32_t i = 0; i < s->n_apps; i++)
		asked += sl_vary_mean(&s->apps[i].volume_bytes) /
			 sl_app_alone_s(&s->platform, &s->apps[i]);
	return asked / s->platform.bandwidth_bps;
}

static void each_kind_can_be_written_and_read_again(void **state)
{
	for (int kind = 0; kind < SL_GENERATE_KINDS; kind++) {
		struct sl_scenario s, again;
		struct sl_generate g;
		char *text, *text2;

		sl_generate_defaults(&g, (enum sl_generate_kind)kind);
		s = make(&g);
		text = saved(&s);
		if (sl_scenario_parse("x", text, strlen(text), &again, err, sizeof(err)))
			fail_msg("%s", err);
		assert_int_equal(again.n_apps, s.n_apps);
		text2 = saved(&again);
		assert_string_equal(text, text2);
		free(text);
		free(text2);
		sl_scenario_free(&s);
		sl_scenario_free(&again);
	}
}

static void equal_seeds_make_equal_scenarios_and_others_do_not(void **state)
{
	struct sl_scenario a, b, c;
	struct sl_generate g;
	char *ta, *tb, *tc;

	sl_generate_defaults(&g, SL_GENERATE_INTREPID);
	a = make(&g);
	b = make(&g);
	g.seed++;
	c = make(&g);
	ta = saved(&a);
	tb = saved(&b);
	tc = saved(&c);
	assert_string_equal(ta, tb);
	assert_string_not_equal(ta, tc);
	free(ta);
	free(tb);
	free(tc);
	sl_scenario_free(&a);
	sl_scenario_free(&b);
	sl_scenario_free(&c);
}

static void iosets_is_the_experiment_of_the_report(void **state)
{
	struct sl_scenario s;
	struct sl_generate g;

	sl_generate_defaults(&g, SL_GENERATE_IOSETS);
	s = make(&g);
	assert_int_equal(s.n_apps, 16);
	near_by(s.platform.bandwidth_bps, 110 * MIB, 0);
	near_by(s.from_s, 400, 0);
	near_by(s.to_s, 3200, 0);
	assert_string_equal(s.apps[0].name, "high-1");
	near_by(s.apps[0].compute_s.a, 18, 0);
	near_by(s.apps[0].volume_bytes.a, 128 * MIB, 0);
	near_by(s.apps[0].period_hint_s, 19.2, 1e-9); /* 18 + 128/110 = 19.16 */
	assert_string_equal(s.apps[15].name, "low-15");
	near_by(s.apps[15].compute_s.a, 360, 0);
	near_by(s.apps[15].volume_bytes.a, 2560 * MIB, 0);
	near_by(s.apps[15].period_hint_s, 383.3, 1e-9);
	sl_scenario_free(&s);
}

static void errors_of_hints_are_half_or_half_as_much_again_and_both_occur(void **state)
{
	unsigned less = 0, more = 0;
	struct sl_scenario s;
	struct sl_generate g;

	sl_generate_defaults(&g, SL_GENERATE_IOSETS);
	g.hint_error = 1;
	g.low = 999;
	s = make(&g);
	for (uint32_t i = 1; i < s.n_apps; i++) {
		double x = s.apps[i].period_hint_s / 383.3;

		less += fabs(x - 0.5) < 1e-9;
		more += fabs(x - 1.5) < 1e-9;
	}
	assert_int_equal(less + more, 999);
	assert_in_range(less, 450, 550);
	sl_scenario_free(&s);
}

/* ACM TOPC 6(2), Table 4: upper bounds of SysEfficiency. */
static void persched_sets_have_the_upper_bounds_of_their_paper(void **state)
{
	static const double bound[] = { 0.172, 0.334, 0.495, 0.656, 0.816,
					0.818, 0.827, 0.977, 0.979, 0.988 };

	for (unsigned set = 1; set <= 10; set++) {
		struct sl_scenario s;
		struct sl_generate g;
		double sum = 0, procs = 0;

		sl_generate_defaults(&g, SL_GENERATE_PERSCHED);
		g.set = set;
		s = make(&g);
		for (uint32_t i = 0; i < s.n_apps; i++) {
			procs += s.apps[i].procs;
			sum += s.apps[i].procs * s.apps[i].compute_s.a /
			       sl_app_alone_s(&s.platform, &s.apps[i]);
		}
		near_by(procs, 640, 0);
		near_by(sum / procs, bound[set - 1], 0.004);
		sl_scenario_free(&s);
	}
}

static void the_machine_is_filled_by_applications_within_their_classes(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct sl_generate g;
		struct sl_scenario s;
		double procs = 0;

		sl_generate_defaults(&g, SL_GENERATE_INTREPID);
		g.seed = seed;
		s = make(&g);
		assert_int_equal(s.n_apps, 55);
		for (uint32_t i = 0; i < s.n_apps; i++) {
			const struct sl_app *a = &s.apps[i];

			if (!strncmp(a->name, "large", 5))
				assert_in_range(a->procs, 1285, 4584);
			else
				assert_in_range(a->procs, 64, 1284);
			assert_true(a->compute_s.a >= 2 && a->compute_s.a <= 7500);
			assert_true(a->release_s <= a->compute_s.a);
			procs += a->procs;
		}
		assert_true(procs > 40960 - 56 && procs <= 40960);
		sl_scenario_free(&s);
	}
}

static void the_io_ratio_is_met_on_average_and_spreads_to_twice_itself(void **state)
{
	double sum = 0, most = 0;
	struct sl_generate g;
	uint32_t n = 0;

	sl_generate_defaults(&g, SL_GENERATE_MIRA);
	g.io_ratio = 0.35;
	for (g.seed = 1; g.seed <= 200; g.seed++) {
		struct sl_scenario s = make(&g);

		for (uint32_t i = 0; i < s.n_apps; i++, n++) {
			sum += ratio(&s, &s.apps[i]);
			most = fmax(most, ratio(&s, &s.apps[i]));
		}
		sl_scenario_free(&s);
	}
	near_by(sum / n, 0.35, 0.02); /* its standard error is 0.2 / sqrt(11000) */
	assert_true(most > 0.68 && most < 0.701);
}

static void applications_end_together_when_each_is_alone(void **state)
{
	struct sl_generate g;
	struct sl_scenario s;
	double longest = 0;

	sl_generate_defaults(&g, SL_GENERATE_MIX);
	s = make(&g);
	for (uint32_t i = 0; i < s.n_apps; i++)
		longest = fmax(longest, sl_app_alone_s(&s.platform, &s.apps[i]));
	for (uint32_t i = 0; i < s.n_apps; i++) {
		double alone = sl_app_alone_s(&s.platform, &s.apps[i]);
		double all = alone * (double)s.apps[i].iterations;

		assert_true(all >= 20 * longest * 0.999 && all <= 20 * longest + alone * 1.001);
		assert_true(ratio(&s, &s.apps[i]) > 0.199 && ratio(&s, &s.apps[i]) < 0.351);
	}
	sl_scenario_free(&s);
}

static void a_load_is_met_exactly_where_it_can_be(void **state)
{
	struct sl_generate g;
	struct sl_scenario s;

	sl_generate_defaults(&g, SL_GENERATE_INTREPID);
	g.load = 1.5;
	s = make(&g);
	near_by(load(&s), 1.5, 1e-4);
	sl_scenario_free(&s);
	/* Two that are each alone on the disk ask for 2 r / (1 + r) at most. */
	g.apps[SL_APP_SMALL] = 0;
	g.apps[SL_APP_LARGE] = 2;
	assert_int_equal(sl_generate(&g, &s, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "cannot make a load of 1.5"));
	assert_null(s.apps);
}

static void variation_keeps_the_mean(void **state)
{
	struct sl_generate g;
	struct sl_scenario s, v;

	sl_generate_defaults(&g, SL_GENERATE_INTREPID);
	s = make(&g);
	g.vary_compute = 0.3;
	g.vary_volume = 1;
	v = make(&g);
	for (uint32_t i = 0; i < s.n_apps; i++) {
		assert_int_equal(v.apps[i].compute_s.kind, SL_VARY_UNIFORM);
		near_by(v.apps[i].compute_s.b / v.apps[i].compute_s.a, 1.3, 1e-9);
		near_by(v.apps[i].volume_bytes.b / v.apps[i].volume_bytes.a, 2, 1e-9);
		near_by(sl_vary_mean(&v.apps[i].compute_s), s.apps[i].compute_s.a, 1e-9);
		near_by(sl_vary_mean(&v.apps[i].volume_bytes), s.apps[i].volume_bytes.a, 1e-9);
	}
	sl_scenario_free(&s);
	sl_scenario_free(&v);
}

static void the_burst_buffer_is_there_when_asked_for(void **state)
{
	struct sl_generate g;
	struct sl_scenario s;

	sl_generate_defaults(&g, SL_GENERATE_MIRA);
	s = make(&g);
	near_by(s.platform.buffer_bytes, 0, 0);
	sl_scenario_free(&s);
	g.buffer = 1;
	s = make(&g);
	near_by(s.platform.buffer_bytes, 384 * 16e9, 0);
	sl_scenario_free(&s);
}

static void what_cannot_be_made_is_refused(void **state)
{
	struct sl_generate g;
	struct sl_scenario s;

	sl_generate_defaults(&g, SL_GENERATE_INTREPID);
	g.apps[SL_APP_LARGE] = 40;
	assert_int_equal(sl_generate(&g, &s, err, sizeof(err)), -EINVAL);
	assert_non_null(strstr(err, "the machine has 40960"));
	sl_generate_defaults(&g, SL_GENERATE_PERSCHED);
	g.set = 11;
	assert_int_equal(sl_generate(&g, &s, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "there are sets 1 to 10, no set 11");
	sl_generate_defaults(&g, SL_GENERATE_IOSETS);
	g.high = g.low = 0;
	assert_int_equal(sl_generate(&g, &s, err, sizeof(err)), -EINVAL);
	sl_generate_defaults(&g, SL_GENERATE_MIRA);
	g.io_ratio = NAN;
	assert_int_equal(sl_generate(&g, &s, err, sizeof(err)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_can_be_written_and_read_again),
		cmocka_unit_test(equal_seeds_make_equal_scenarios_and_others_do_not),
		cmocka_unit_test(iosets_is_the_experiment_of_the_report),
		cmocka_unit_test(errors_of_hints_are_half_or_half_as_much_again_and_both_occur),
		cmocka_unit_test(persched_sets_have_the_upper_bounds_of_their_paper),
		cmocka_unit_test(the_machine_is_filled_by_applications_within_their_classes),
		cmocka_unit_test(the_io_ratio_is_met_on_average_and_spreads_to_twice_itself),
		cmocka_unit_test(applications_end_together_when_each_is_alone),
		cmocka_unit_test(a_load_is_met_exactly_where_it_can_be),
		cmocka_unit_test(variation_keeps_the_mean),
		cmocka_unit_test(the_burst_buffer_is_there_when_asked_for),
		cmocka_unit_test(what_cannot_be_made_is_refused),
	};

	return cmocka_run_group_tests_name("generate", tests, NULL, NULL);
}
