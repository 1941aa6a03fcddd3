/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latencies, counted in buckets that are at most 1.6 % wide: mean and maximum are exact,
 * percentiles to that width. Adding one is O(1) and allocates nothing.
 */
#ifndef SL_SIM_HISTOGRAM_H
#define SL_SIM_HISTOGRAM_H

#include "sluice.h"

#define SL_HISTOGRAM_BITS    6 /* 2^6 buckets for each power of two */
#define SL_HISTOGRAM_BUCKETS ((64 - SL_HISTOGRAM_BITS) << SL_HISTOGRAM_BITS)

struct sl_histogram {
	uint64_t count;
	sl_time max_ns;
	unsigned __int128 sum_ns;
	uint64_t bucket[SL_HISTOGRAM_BUCKETS];
};

/* Its summary. All 0: nothing was counted. */
struct sl_latency {
	double mean_ns;
	sl_time p50_ns, p95_ns, p99_ns, max_ns;
};

void sl_histogram_add(struct sl_histogram *h, sl_time ns); /* not negative */
void sl_histogram_merge(struct sl_histogram *into, const struct sl_histogram *h);
/* The smallest upper bound of a bucket that percent of all do not exceed. */
sl_time sl_histogram_percentile_ns(const struct sl_histogram *h, unsigned percent);
struct sl_latency sl_histogram_latency(const struct sl_histogram *h);

#endif
