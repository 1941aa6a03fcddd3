/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token-bucket: a lane sends at most `max` (cap) and is never behind `min` (floor).
 *
 * Source: SDQoS (Hua et al. 2019), §3.2. There a control plane puts tokens into a bucket for each
 * application, and a request waits until the bucket holds enough. Here there is no refill. As in
 * the generic cell rate algorithm (ITU-T I.371, "virtual scheduling"), a lane keeps the theoretical
 * arrival time TAT: the time at which all its bytes would have been sent at exactly its rate. The
 * bucket is full when TAT <= now and empty when TAT = now + τ, τ = burst / rate.
 *
 *	cap     TAT - τ; the lane may send when that is <= now
 *	charge  TAT = max(TAT, now) + bytes / rate
 *
 * Example (the paper's): 64 KiB requests at 100 MiB/s, each is worth 65536 / 104857600 s = 625 µs
 * (the paper says 0.0625 of the 100 tokens of a second). With a burst of 128 KiB, τ = 1250 µs. Sent
 * at 0: TAT 625, cap -625: go; sent at 0: TAT 1250, cap 0: go; sent at 0: TAT 1875, cap 625: the
 * fourth goes at 625 µs, the fifth at 1250 µs. (A full bucket lets one more request pass than it
 * holds: the condition is "not in debt", not "enough tokens".) A request of 1 MiB is larger than
 * the bucket. It goes as soon as cap <= now, and the next request waits for its 10 ms of debt; in
 * the paper it would wait for ever.
 *
 * Batches. A batch is sent as a whole, so a batch of several requests could overdraw the bucket by
 * their sum. So where requests are merged, half of the burst is the depth of the bucket, and the
 * other half is the limit of a merged batch. Then the bounds below hold for requests.
 *
 * Bounds, with L the largest request: in any window W, bytes <= max * W + burst + L, and a lane
 * that always has requests and is served at its tag sends >= max * W - L. The bounds are exact for
 * any duration: the fraction of a nanosecond that a division leaves is kept as a remainder in units
 * of 1/rate ns (so a clock is tag + rem / bps ns). Rates change without rounding: debt is converted
 * as tag * bps + rem, in 10^-9 bytes. A burst of less than one nanosecond counts as one nanosecond,
 * because time is in whole nanoseconds.
 *
 * Floor: a second clock at rate `min`, whose tag says when the next byte is due. It advances with
 * every charge, for whatever reason the lane was chosen. A lane served beyond its guarantee gets
 * ahead by at most horizon_ms (or one request), so bandwidth that was lent to it does not cost it
 * its guarantee for longer. A lane that could not be served falls behind by at most debt_ms, so it
 * cannot claim the device for longer afterwards. A lane that had nothing to send does not fall
 * behind.
 *
 *	charge  tag = min(max(tag, now - debt) + n / min, now + max(horizon, n / min))
 *
 * Example: min 100 MB/s, 1 MB requests (10 ms each), debt 200 ms. The tag is 1.0 s and the device
 * hung until 2.0 s. With the next charge tag = 1.8 + 0.01, and 20 more requests are due at once.
 *
 * Limits: rates up to SL_MAX_RATE; a cap above that means no limit. A tag is at most SL_NEVER / 2
 * (146 years): 2^40 bytes at 1 B/s would be 35,000 years, and are reduced to that. Setting no limit
 * and no guarantee (UINT64_MAX, 0) resets the lane. Cap 0 stops both clocks: debt stays as it is
 * until the rate is set again. 64 bytes a lane; all O(1), with at most two divisions.
 */
#include "policy/policy.h"

#define TB_NS	UINT64_C(1000000000)
#define TB_FAR	(SL_NEVER / 2)
#define TB_LINE 64
/* Up to this length, bytes * 10^9 plus a remainder fits 64 bits. */
#define TB_FAST_BYTES ((UINT64_MAX - SL_MAX_RATE) / TB_NS)

enum { P_BURST_US, P_HORIZON_MS, P_DEBT_MS };

static const struct sl_param params[] = {
	SL_PARAM_NUMBER("burst_us", SL_US, 0, 10000000, 5000,
			"Depth of the bucket of a job that sets no burst, as time at its max."),
	SL_PARAM_NUMBER(
		"horizon_ms", SL_MS, 0, 60000, 200,
		"How far ahead of its min a job may get; bytes beyond that are not counted."),
	SL_PARAM_NUMBER("debt_ms", SL_MS, 0, 60000, 200,
			"How far behind its min a job may fall; only this much is made up for."),
	{ 0 },
};

enum tb_mode {
	TB_NONE,    /* no rate */
	TB_RUNS,    /* tag: on the clock of now */
	TB_STOPPED, /* tag: distance ahead of the stop, at the rate before it */
};

struct tb_clock {
	sl_time tag;
	uint64_t rem; /* < bps */
	uint64_t bps;
};

struct tb_lane {
	struct tb_clock cap, floor;
	sl_time tau_ns;
	uint32_t cap_mode, floor_mode;
};

struct tb {
	struct tb_lane *lane;
	sl_time burst_ns, horizon_ns, debt_ns;
};

_Static_assert(sizeof(struct tb_lane) == TB_LINE, "a lane is one cache line");

/*
 * n / d, at most TB_FAR, and the remainder. By shifting: 128-bit division is a call into the
 * compiler's library, and numbers of more than 64 bits are not on the hot path.
 */
static sl_time tb_divide(unsigned __int128 n, uint64_t d, uint64_t *rem)
{
	unsigned __int128 r = 0, q = 0;

	if (n <= UINT64_MAX) {
		r = (uint64_t)n % d;
		q = (uint64_t)n / d;
	} else {
		for (int i = 127; i >= 0; i--) {
			r = r << 1 | (n >> i & 1);
			q <<= 1;
			if (r >= d) {
				r -= d;
				q |= 1;
			}
		}
	}
	*rem = (uint64_t)r;
	return q < (unsigned __int128)TB_FAR ? (sl_time)q : TB_FAR;
}

/* How long the bytes take at the clock's rate. */
static inline sl_time tb_cost(struct tb_clock *c, uint64_t bytes)
{
	uint64_t ns, x;

	if (__builtin_expect(bytes > TB_FAST_BYTES, 0))
		return tb_divide((unsigned __int128)bytes * TB_NS + c->rem, c->bps, &c->rem);
	x = bytes * TB_NS + c->rem;
	ns = x / c->bps;
	c->rem = x % c->bps;
	return ns < (uint64_t)TB_FAR ? (sl_time)ns : TB_FAR;
}

static inline sl_time tb_later(sl_time t, sl_time by)
{
	return t < TB_FAR - by ? t + by : TB_FAR;
}

static size_t tb_size(const struct sl_policy_limits *limits)
{
	return sizeof(struct tb) + TB_LINE + limits->lanes * sizeof(struct tb_lane);
}

static void tb_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		    sl_time now)
{
	struct tb *t = state;
	char *end = (char *)(t + 1);

	(void)limits, (void)now;
	t->lane = (struct tb_lane *)(end + (-(uintptr_t)end & (TB_LINE - 1)));
	t->burst_ns = values[P_BURST_US] * 1000;
	t->horizon_ns = values[P_HORIZON_MS] * 1000000;
	t->debt_ns = values[P_DEBT_MS] * 1000000;
}

/* How far the clock is ahead of now. If it is not: 0, and the remainder is 0 too. */
static sl_time tb_ahead(struct tb_clock *c, uint32_t mode, sl_time now)
{
	sl_time ahead = mode == TB_RUNS ? c->tag - now : mode == TB_STOPPED ? c->tag : 0;

	if (mode == TB_NONE || ahead < 0) {
		c->rem = 0;
		return 0;
	}
	return ahead;
}

/* Convert a debt of bytes to another rate. */
static sl_time tb_convert(struct tb_clock *c, sl_time ns, uint64_t bps)
{
	unsigned __int128 owed = (unsigned __int128)(uint64_t)ns * c->bps + c->rem;

	c->bps = bps;
	return tb_divide(owed, bps, &c->rem);
}

static void tb_set_cap(const struct tb *t, struct tb_lane *l, const struct sl_rates *r, sl_time now)
{
	struct tb_clock *c = &l->cap;
	uint64_t ignored;

	if (r->cap_bps > SL_MAX_RATE) {
		l->cap_mode = TB_NONE;
		return;
	}
	if (r->cap_bps != c->bps || l->cap_mode != TB_RUNS) {
		sl_time ahead = tb_ahead(c, l->cap_mode, now);

		if (l->cap_mode == TB_NONE)
			c->bps = 1;
		if (!r->cap_bps) {
			c->tag = ahead;
			l->cap_mode = TB_STOPPED;
			return;
		}
		c->tag = tb_later(now, tb_convert(c, ahead, r->cap_bps));
		l->cap_mode = TB_RUNS;
	}
	l->tau_ns = t->burst_ns;
	if (r->burst_bytes)
		l->tau_ns = tb_divide((unsigned __int128)r->burst_bytes * TB_NS, c->bps, &ignored);
	if (r->merges)
		l->tau_ns /= 2;
	if (!l->tau_ns)
		l->tau_ns = 1;
}

static void tb_set_floor(const struct tb *t, struct tb_lane *l, uint64_t bps, sl_time now)
{
	struct tb_clock *c = &l->floor;
	sl_time behind, ahead, most;

	if (bps > SL_MAX_RATE)
		bps = SL_MAX_RATE;
	if (l->floor_mode == TB_NONE ? !bps : l->floor_mode == TB_RUNS && bps == c->bps)
		return;
	behind = l->floor_mode == TB_RUNS && c->tag < now ? now - c->tag : 0;
	ahead = tb_ahead(c, l->floor_mode, now);
	if (!bps) {
		c->tag = ahead;
		l->floor_mode = TB_STOPPED;
		return;
	}
	if (l->floor_mode == TB_NONE)
		c->bps = 1;
	l->floor_mode = TB_RUNS;
	if (behind) {
		behind = tb_convert(c, behind, bps);
		c->rem = 0;
		most = t->debt_ns < now ? t->debt_ns : now;
		c->tag = now - (behind < most ? behind : most);
		return;
	}
	/* A lower rate must not punish the lane for bytes sent beyond the guarantee. */
	most = ahead > t->horizon_ns ? ahead : t->horizon_ns;
	ahead = tb_convert(c, ahead, bps);
	if (ahead >= most) {
		ahead = most;
		c->rem = 0;
	}
	c->tag = tb_later(now, ahead);
}

static void tb_set(void *state, uint32_t lane, const struct sl_rates *rates, sl_time now)
{
	struct tb *t = state;
	struct tb_lane *l = &t->lane[lane];

	tb_set_cap(t, l, rates, now);
	if (l->cap_mode == TB_NONE && !rates->floor_bps)
		*l = (struct tb_lane){ 0 };
	else
		tb_set_floor(t, l, rates->floor_bps, now);
}

static void tb_wake(void *state, uint32_t lane, sl_time now)
{
	struct tb_clock *c = &((struct tb *)state)->lane[lane].floor;

	if (((struct tb *)state)->lane[lane].floor_mode == TB_RUNS && c->tag < now) {
		c->tag = now;
		c->rem = 0;
	}
}

static sl_time tb_cap(const void *state, uint32_t lane)
{
	const struct tb_lane *l = &((const struct tb *)state)->lane[lane];
	sl_time t;

	if (l->cap_mode != TB_RUNS)
		return l->cap_mode == TB_NONE ? 0 : SL_NEVER;
	t = l->cap.tag + (l->cap.rem != 0) - l->tau_ns; /* round up: not a nanosecond too early */
	return t > 0 ? t : 0;
}

static sl_time tb_floor(const void *state, uint32_t lane)
{
	const struct tb_lane *l = &((const struct tb *)state)->lane[lane];

	return l->floor_mode == TB_RUNS ? l->floor.tag : SL_NEVER;
}

static uint64_t tb_batch(const void *state, uint32_t lane)
{
	const struct tb_lane *l = &((const struct tb *)state)->lane[lane];
	uint64_t ignored;

	if (l->cap_mode != TB_RUNS)
		return UINT64_MAX;
	return (uint64_t)tb_divide((unsigned __int128)(uint64_t)l->tau_ns * l->cap.bps, TB_NS,
				   &ignored) +
	       1;
}

static inline void tb_charge_cap(struct tb_clock *c, uint64_t bytes, sl_time now)
{
	if (c->tag < now) {
		c->tag = now;
		c->rem = 0;
	}
	c->tag = tb_later(c->tag, tb_cost(c, bytes));
}

static inline void tb_charge_floor(const struct tb *t, struct tb_clock *c, uint64_t bytes,
				   sl_time now)
{
	sl_time cost, most;

	if (c->tag < now - t->debt_ns) {
		c->tag = now - t->debt_ns;
		c->rem = 0;
	}
	cost = tb_cost(c, bytes);
	most = tb_later(now, cost > t->horizon_ns ? cost : t->horizon_ns);
	c->tag = tb_later(c->tag, cost);
	if (c->tag > most) {
		c->tag = most;
		c->rem = 0;
	}
}

static void tb_charge(void *state, uint32_t lane, uint64_t bytes, sl_time now)
{
	struct tb *t = state;
	struct tb_lane *l = &t->lane[lane];

	if (l->cap_mode != TB_NONE)
		tb_charge_cap(&l->cap, bytes, l->cap_mode == TB_RUNS ? now : 0);
	if (l->floor_mode == TB_RUNS)
		tb_charge_floor(t, &l->floor, bytes, now);
}

const struct sl_admit_ops sl_admit_token_bucket = {
	.base = { .name = "token-bucket",
		  .summary = "hard limit, guarantee and burst for each job, in bytes",
		  .source = "SDQoS (Hua et al. 2019), section 3.2; GCRA (ITU-T I.371)",
		  .params = params,
		  .state_size = tb_size,
		  .init = tb_init },
	.set = tb_set,
	.wake = tb_wake,
	.cap = tb_cap,
	.floor = tb_floor,
	.batch = tb_batch,
	.charge = tb_charge,
};
