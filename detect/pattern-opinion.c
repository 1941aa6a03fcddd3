/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opinion about a stream: each (file, process) that is in use has a vote about its file, each
 * file one about the stream. See pattern.c, whose rules these are.
 *
 * Example: 16 processes in one file, 14 of them strided, 1 random, 1 with too few requests for an
 * opinion: the file is strided. With two contiguous files beside it the stream is contiguous.
 *
 * O(tracks), in memory that was set aside for it.
 */
#include "detect/pattern-tracks.h"

#include <string.h>

#define ENOUGH	       4U /* requests for an opinion */
#define FEW_JUMPS      64U
#define LONG_RUN_BYTES (UINT64_C(1) << 20)

static enum sl_access_spatial ac_spatial(const struct track *t)
{
	uint32_t jumps = (uint32_t)t->regular + t->odd, n = t->on + jumps;

	if (n < ENOUGH)
		return SL_ACCESS_UNKNOWN;
	if (jumps * FEW_JUMPS <= n || t->bytes / jumps >= LONG_RUN_BYTES)
		return SL_ACCESS_CONTIGUOUS;
	return 2U * t->regular >= jumps ? SL_ACCESS_STRIDED : SL_ACCESS_RANDOM;
}

/* Of those with an opinion; the simpler one of two that have as many votes. */
static enum sl_access_spatial ac_most(const uint32_t votes[SL_ACCESS_SPATIALS])
{
	enum sl_access_spatial most = SL_ACCESS_UNKNOWN;

	for (unsigned i = SL_ACCESS_CONTIGUOUS; i < SL_ACCESS_SPATIALS; i++)
		if (votes[i] > (most == SL_ACCESS_UNKNOWN ? 0 : votes[most]))
			most = (enum sl_access_spatial)i;
	return most;
}

static struct ballot *ac_ballot(struct sl_access *a, uint64_t file, uint32_t *n)
{
	uint32_t i = (uint32_t)(ac_hash(file) >> 16) % a->slots;

	for (; a->slot[i]; i = (i + 1) % a->slots)
		if (a->ballot[a->slot[i] - 1].file == file)
			return &a->ballot[a->slot[i] - 1];
	a->ballot[*n] = (struct ballot){ .file = file };
	a->slot[i] = ++*n;
	return &a->ballot[*n - 1];
}

/* Natural logarithm of x >= 1: halved until it is below 2, then 2 atanh((x - 1) / (x + 1)). Without
 * libm, which the scheduler's library does not need otherwise. */
static double ac_ln(double x)
{
	double sum = 0, y, power;

	while (x >= 2) {
		x /= 2;
		sum += 0.69314718055994531;
	}
	y = (x - 1) / (x + 1);
	power = y;
	for (unsigned i = 1; i < 24; i += 2, power *= y * y) /* y <= 1/3: to 1e-12 */
		sum += 2 * power / i;
	return sum;
}

static uint32_t ac_estimate(const struct sl_access *a)
{
	uint32_t zeros = 0;

	for (unsigned i = 0; i < BITS / 64; i++)
		zeros += 64 - (uint32_t)__builtin_popcountll(a->bits[0][i] | a->bits[1][i]);
	return (uint32_t)(BITS * ac_ln(BITS / (double)(zeros ? zeros : 1)) + 0.5);
}

void sl_access_get(struct sl_access *a, struct sl_access_pattern *out)
{
	uint32_t n = 0, small = 0, large = 0;
	uint64_t bytes = 0, calls = 0, counted = 0;

	*out = (struct sl_access_pattern){ .requests = a->requests,
					   .op = a->ops[SL_WRITE] > a->ops[SL_READ] ? SL_WRITE
										    : SL_READ };
	memset(a->slot, 0, a->slots * sizeof(a->slot[0]));
	for (uint32_t i = 0; i < a->sets * WAYS; i++) {
		const struct track *t = &a->track[i];
		struct ballot *b;

		if (!ac_in_use(a, t))
			continue;
		b = ac_ballot(a, a->key[i].file, &n);
		b->spatial[ac_spatial(t)]++;
		if (8 * t->bytes >= 7 * t->calls * a->large_bytes) /* one may be under way */
			b->large++;
		else
			b->small++;
		bytes += t->bytes;
		calls += t->calls;
		counted += (uint64_t)t->on + t->regular + t->odd;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct ballot *b = &a->ballot[i];

		out->votes[ac_most(b->spatial)]++;
		if (b->large > b->small)
			large++;
		else
			small++;
	}
	out->spatial = ac_most(out->votes);
	if (n)
		out->size = large > small ? SL_ACCESS_LARGE : SL_ACCESS_SMALL;
	out->call_bytes = calls ? bytes / calls : 0;
	out->request_bytes = counted ? bytes / counted : out->call_bytes;
	out->files = n;
	if (a->dropped[0] || a->dropped[1]) {
		uint32_t estimate = ac_estimate(a);

		out->files = estimate > n ? estimate : n;
	}
}

const char *sl_access_spatial_name(enum sl_access_spatial s)
{
	static const char *const names[] = { "unknown", "contiguous", "strided", "random" };

	return names[s];
}

const char *sl_access_size_name(enum sl_access_size s)
{
	static const char *const names[] = { "unknown", "small", "large" };

	return names[s];
}
