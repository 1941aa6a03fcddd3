/* SPDX-License-Identifier: Apache-2.0 */
/* grant/min-max: below gamma by delay, else as max-sys-eff. SL_SEED=number repeats a failure. */
#include "grant-rig.h"

static void app(struct grant *g, double ratio, double price)
{
	struct sl_io_job *j = grant_add(g, 6);

	grant_past(g, j, 100, 100 * ratio, 1);
	j->bytes = j->left_bytes = price;
}

/* The example of min-max.c. */
static void those_below_gamma_are_first_by_delay_then_the_others_by_price(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_min_max, 10, { "gamma", 50 }, END);
	app(&g, 0.4, 9);
	app(&g, 0.9, 1);
	app(&g, 0.45, 2);
	grant_expect(&g, 6, 0, 4);
	grant_close(&g);
	grant_open(&g, &sl_grant_min_max, 10, { "gamma", 42 }, END);
	app(&g, 0.4, 9);
	app(&g, 0.9, 1);
	app(&g, 0.45, 2);
	grant_expect(&g, 6, 4, 0);
	grant_close(&g);
}

static void with_priority_who_has_started_goes_first(void **state)
{
	struct grant g;

	grant_open(&g, &sl_grant_min_max, 6, { "priority", 1 }, END);
	app(&g, 0.4, 9);
	app(&g, 0.9, 1);
	grant_expect(&g, 6, 0);
	g.jobs[1].started = true;
	grant_expect(&g, 0, 6);
	grant_close(&g);
}

static void random_job(struct grant *g)
{
	struct sl_io_job *j = grant_add(g, (double)(1 + rnd_below(g, 4)));

	j->released = g->now - (sl_time)rnd_below(g, 20) * SEC;
	j->procs = 1 + (uint32_t)rnd_below(g, 3);
	j->compute_s = (double)rnd_below(g, 4);
	j->bytes = (double)(1 + rnd_below(g, 3));
	j->left_bytes = rnd_below(g, 2) ? j->bytes : j->bytes / 2;
	j->started = j->left_bytes < j->bytes;
	j->ended = rnd_below(g, 3);
	if (j->ended)
		j->alone_s = (double)rnd_below(g, 20);
}

/* Small numbers, so that many jobs are equal in one respect or all. */
static void agrees_with(const struct sl_grant_ops *other, int64_t gamma)
{
	for (unsigned round = 0; round < 2000; round++) {
		struct grant a, b;
		int64_t priority = round & 1;

		grant_open(&a, &sl_grant_min_max, 10, { "gamma", gamma }, { "priority", priority },
			   END);
		grant_open(&b, other, 10, { "priority", priority }, END);
		a.random = b.random += round;
		for (unsigned i = 0; i <= round % 20; i++) {
			random_job(&a);
			random_job(&b);
		}
		grant_decide(&a);
		grant_decide(&b);
		for (uint32_t i = 0; i < a.n; i++)
			check(&a, a.jobs[i].rate_bps == b.jobs[i].rate_bps);
		grant_close(&a);
		grant_close(&b);
	}
}

static void with_gamma_1_it_is_min_dilation(void **state)
{
	agrees_with(&sl_grant_min_dilation, 100);
}

static void with_gamma_0_it_is_max_sys_eff(void **state)
{
	agrees_with(&sl_grant_max_sys_eff, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_below_gamma_are_first_by_delay_then_the_others_by_price),
		cmocka_unit_test(with_priority_who_has_started_goes_first),
		cmocka_unit_test(with_gamma_1_it_is_min_dilation),
		cmocka_unit_test(with_gamma_0_it_is_max_sys_eff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
