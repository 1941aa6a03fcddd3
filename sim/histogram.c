/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histogram of times: see histogram.h.
 *
 * Up to 127 ns a bucket is one nanosecond. Above, the highest bit gives the power of two and the 6
 * bits behind it the bucket: 1000 ns = 0b1111101000 is 0b1111101 << 3, bucket 3 * 64 + 125, which
 * holds 1000 .. 1007.
 */
#include "sim/histogram.h"

static unsigned hs_bucket(uint64_t ns)
{
	unsigned shift;

	if (ns < 2U << SL_HISTOGRAM_BITS)
		return (unsigned)ns;
	shift = 63 - SL_HISTOGRAM_BITS - (unsigned)__builtin_clzll(ns);
	return (shift << SL_HISTOGRAM_BITS) + (unsigned)(ns >> shift);
}

static sl_time hs_upper_ns(unsigned bucket)
{
	unsigned shift = bucket >> SL_HISTOGRAM_BITS;

	if (shift < 2)
		return bucket;
	shift--;
	return (sl_time)((((uint64_t)bucket - ((uint64_t)shift << SL_HISTOGRAM_BITS) + 1)
			  << shift) -
			 1);
}

void sl_histogram_add(struct sl_histogram *h, sl_time ns)
{
	h->count++;
	h->sum_ns += (uint64_t)ns;
	h->max_ns = ns > h->max_ns ? ns : h->max_ns;
	h->bucket[hs_bucket((uint64_t)ns)]++;
}

void sl_histogram_merge(struct sl_histogram *into, const struct sl_histogram *h)
{
	into->count += h->count;
	into->sum_ns += h->sum_ns;
	into->max_ns = h->max_ns > into->max_ns ? h->max_ns : into->max_ns;
	for (unsigned i = 0; i < SL_HISTOGRAM_BUCKETS; i++)
		into->bucket[i] += h->bucket[i];
}

sl_time sl_histogram_percentile_ns(const struct sl_histogram *h, unsigned percent)
{
	unsigned __int128 want = ((unsigned __int128)h->count * percent + 99) / 100;
	uint64_t seen = 0;

	for (unsigned i = 0; i < SL_HISTOGRAM_BUCKETS && want; i++) {
		seen += h->bucket[i];
		if (seen >= want)
			return hs_upper_ns(i) < h->max_ns ? hs_upper_ns(i) : h->max_ns;
	}
	return 0;
}

struct sl_latency sl_histogram_latency(const struct sl_histogram *h)
{
	struct sl_latency l = { .max_ns = h->max_ns };

	if (!h->count)
		return l;
	l.mean_ns = (double)h->sum_ns / (double)h->count;
	l.p50_ns = sl_histogram_percentile_ns(h, 50);
	l.p95_ns = sl_histogram_percentile_ns(h, 95);
	l.p99_ns = sl_histogram_percentile_ns(h, 99);
	return l;
}
