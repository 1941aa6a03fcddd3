/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock for durations and deadlines: time since the machine was started, which nobody can set.
 * It is not the time of day.
 */
#ifndef SL_BASE_CLOCK_H
#define SL_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t sl_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline int64_t sl_clock_ms(void)
{
	return sl_clock_ns() / 1000000;
}

static inline double sl_clock_s(void)
{
	return (double)sl_clock_ns() / 1e9;
}

#endif
