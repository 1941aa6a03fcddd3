/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench control`, period: find the period in the bins of a signal, with spectrum and
 * autocorrelation, including the allocation of memory.
 *
 * The signal has phases of 30 bins, 100 apart, each up to 10 bins late, and noise of up to half of
 * their bandwidth, so it is not an easy case. 640 bins is the length that is analysed online.
 */
#include <stdlib.h>

#include "base/cli.h"
#include "detect/period.h"
#include "lab/bench/common.h"
#include "lab/bench/control.h"

struct input {
	float *bandwidth;
	size_t n;
};

static uint32_t next_random(uint32_t *state) /* Marsaglia's xorshift */
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static bool make(struct input *in, size_t n)
{
	uint32_t state = 1, late = 0;

	in->n = n;
	in->bandwidth = malloc(n * sizeof(*in->bandwidth));
	if (!in->bandwidth)
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t at = i % 100;

		if (!at)
			late = next_random(&state) % 10;
		in->bandwidth[i] = (float)(next_random(&state) % 1000) / 2000 +
				   (float)(at >= late && at < late + 30);
	}
	return true;
}

/* Negative if memory is exhausted, or if it does not find the period. */
static double find(void *what)
{
	const struct input *in = what;
	int64_t begin = bench_cpu_ns();
	void *work = malloc(sl_period_work_bytes(in->n));
	struct sl_period_result found = { 0 };

	if (work)
		sl_period_find(in->bandwidth, in->n, 0.1, work, &found);
	free(work);
	return found.source != SL_PERIOD_NONE ? (double)(bench_cpu_ns() - begin) : -1;
}

int control_period(struct control *c)
{
	struct control_row rows[] = {
		{ .what = "period", .samples = 640 },
		{ .what = "period", .samples = 1000000, .goal_ms = 100 },
	};
	int status = CLI_OK;

	for (size_t i = 0; !status && i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct input in;

		if (!control_wanted(c, &rows[i]))
			continue;
		if (!make(&in, rows[i].samples))
			return cli_fail("bench control", "out of memory.");
		status = control_measure(c, &rows[i], find, &in);
		free(in.bandwidth);
	}
	return status;
}
