/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatch window, against devices that do so many batches at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sluiced/ionode/window.h"

#define BYTES 131072

struct rig {
	struct window w;
	uint32_t flying;
	sl_time done[WINDOW_MAX]; /* in order */
	sl_time now, service_ns, channel[WINDOW_MAX];
	uint32_t channels, offered; /* what the programs have outstanding */
	uint64_t batches;
};

static void submit(struct rig *r)
{
	uint32_t best = 0, at = r->flying++;
	sl_time done;

	for (uint32_t i = 1; i < r->channels; i++)
		if (r->channel[i] < r->channel[best])
			best = i;
	done = (r->channel[best] > r->now ? r->channel[best] : r->now) + r->service_ns;
	r->channel[best] = done;
	for (; at > 0 && r->done[at - 1] > done; at--)
		r->done[at] = r->done[at - 1];
	r->done[at] = done;
}

static void complete(struct rig *r)
{
	r->now = r->done[0];
	r->flying--;
	for (uint32_t i = 0; i < r->flying; i++)
		r->done[i] = r->done[i + 1];
	window_measure(&r->w, BYTES, r->flying, r->now);
	r->batches++;
}

static void run(struct rig *r, uint64_t batches)
{
	for (uint64_t end = r->batches + batches; r->batches < end; complete(r))
		while (r->flying < r->w.limit && r->flying < r->offered)
			submit(r);
}

static struct rig device(uint32_t channels, sl_time service_ns)
{
	struct rig r = { .channels = channels, .service_ns = service_ns, .offered = WINDOW_MAX };

	window_init(&r.w, 0);
	return r;
}

static void a_device_that_does_one_thing_at_a_time_gets_two(void **state)
{
	struct rig r = device(1, 1000000);

	run(&r, 20000);
	assert_int_equal(r.w.low, WINDOW_MIN);
}

static void a_device_that_does_eight_gets_eight(void **state)
{
	struct rig r = device(8, 100000);

	run(&r, 50000);
	for (int i = 0; i < 1000; i++) {
		run(&r, 200);
		assert_in_range(r.w.low, 7, 10);
	}
}

static void it_does_not_creep_up_however_long_it_takes(void **state)
{
	struct rig r = device(1, 50000);

	for (int i = 0; i < 100; i++) {
		run(&r, 50000);
		assert_int_equal(r.w.low, WINDOW_MIN);
	}
}

static void finding_it_costs_less_than_one_percent(void **state)
{
	static const uint32_t channels[] = { 1, 2, 3, 5, 8, 16, 30 };

	for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++) {
		struct rig r = device(channels[i], 100000);
		sl_time begin;

		run(&r, 200000);
		begin = r.now;
		run(&r, 200000);
		assert_true((double)(r.now - begin) < 200000 * 100000.0 / channels[i] * 1.01);
	}
}

static void a_device_of_which_less_is_left_gets_less(void **state)
{
	struct rig r = device(16, 100000);

	run(&r, 200000);
	assert_in_range(r.w.low, 14, 24);
	r.channels = 4;
	run(&r, 500000);
	assert_in_range(r.w.low, 3, 6);
}

static void a_device_that_becomes_slower_keeps_its_window(void **state)
{
	struct rig r = device(8, 100000);

	run(&r, 50000);
	r.service_ns *= 10;
	run(&r, 50000);
	assert_in_range(r.w.low, 7, 10);
}

static void a_limit_that_nobody_reaches_stays(void **state)
{
	struct rig r = device(8, 100000);

	r.offered = 1;
	run(&r, 50000);
	assert_int_equal(r.w.low, WINDOW_MIN);
}

static void a_fixed_one_is_fixed(void **state)
{
	struct rig r = device(1, 100000);

	window_init(&r.w, 17);
	run(&r, 50000);
	assert_int_equal(r.w.limit, 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_that_does_one_thing_at_a_time_gets_two),
		cmocka_unit_test(a_device_that_does_eight_gets_eight),
		cmocka_unit_test(it_does_not_creep_up_however_long_it_takes),
		cmocka_unit_test(finding_it_costs_less_than_one_percent),
		cmocka_unit_test(a_device_of_which_less_is_left_gets_less),
		cmocka_unit_test(a_device_that_becomes_slower_keeps_its_window),
		cmocka_unit_test(a_limit_that_nobody_reaches_stays),
		cmocka_unit_test(a_fixed_one_is_fixed),
	};

	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
