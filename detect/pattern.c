/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The access pattern of a stream of requests, for the decision tree of AGIOS (Boito et al. 2015,
 * section 4: "the spatiality and requests size detection is made to each accessed file, and the
 * majority between all accessed files is taken"; how it detects is not in that paper).
 *
 * Each (file, process) that is in use has a track: the ends of the four runs that it last went on
 * with, and where the last run began. A request that begins where a run ended goes on; any other
 * one jumps, and begins a run. A jump is regular if it is as long as the one before, from start to
 * start, give or take a quarter (a striped file on one of several servers has jumps of a few
 * lengths), else it is odd. A jump that turns out to have been a request that overtook others is
 * taken back, when the hole behind it is filled.
 *
 * Example, requests of 8: 0 8 16 | 100 108 | 200 208 | 300: runs at 0, 100, 200, 300. The first
 * jump, of 100, can be compared with none and does not count; the other two are regular. Four went
 * on, two jumped: strided. With 8 0 16 24 ...: 0 jumps, goes up to 8, where the other run begins,
 * and was no jump.
 *
 *	contiguous  at most 1 request in 64 jumps, or runs are 1 MiB long in the mean, which is
 *	            what a disk reads in the time of a seek
 *	strided     else, if half of the jumps are regular
 *	random      else
 *
 * Counts are halved when they reach 256, so that the last 128 to 256 requests of a process in a
 * file decide. The file's pattern is that of most of its processes, the stream's that of most of
 * its files. Tracks by process distinguish the paper's "shared, strided" from "contiguous": the
 * sum of processes that stride together is one contiguous front. Several threads that share a
 * process number are told apart as up to four runs; if they stride together they look contiguous.
 *
 * Size. Calls that come in pieces (transfer_bytes) are put together again: a whole piece, followed
 * by the next bytes so soon that it cannot have been waited for: within thrice the shortest such
 * time. If 128 pieces follow each other without a pause, there is nothing to see, and each counts
 * for itself. A file is large if the mean call is, give or take an eighth: the last call is seen in
 * part, and a striped one comes in as many parts as the server has stripes of it.
 *
 * Bounds. Tracks lie in sets of four, each in one of two sets that its hash says. A new one takes a
 * free place, or that of one unused for a whole epoch (4096 requests, or a second with 512 requests
 * at least); else the request is not tracked: with more processes than tracks, some are watched
 * well rather than all badly. Files are counted exactly while everything was tracked, else by
 * linear counting (Whang et al. 1990) in two bitmaps of 2048 bits: n = -m ln(zeros / m).
 *
 * Cost. A set is found by 16 bits of the hash of each of its tracks, all four compared as one
 * number; the run that went on last is looked at first; the bitmap is touched when a track is used
 * for the first time in an epoch; epochs end, and reads are weighed against writes, at every 64th
 * request. 151 instructions a request that goes on, 198 one that jumps.
 *
 * sl_access_add() is O(1) and touches three or four cache lines; sl_access_get() is O(tracks).
 */
#include "detect/pattern-tracks.h"

#include <assert.h>
#include <string.h>

#define NO_END	       UINT64_MAX
#define NOWHERE	       UINT32_MAX
#define WINDOW	       256U /* halved when reached */
#define EPOCH_REQUESTS 4096U
#define EPOCH_MIN      512U
#define TICK	       64U
#define EPOCH_NS       INT64_C(1000000000)
#define MOST_PIECES    128U
#define OPS_WINDOW     1024U

enum { BEGUN = 1, HAS_STRIDE = 2, WHOLE = 4, LOOSE = 8 };

/* ---- memory ---- */

static uint32_t ac_tracks(const struct sl_access_conf *conf)
{
	uint32_t want = conf->tracks ? conf->tracks : SL_ACCESS_TRACKS, n = WAYS;

	while (n < want && n < SL_ACCESS_TRACKS_MAX)
		n *= 2;
	return n;
}

static size_t ac_round(size_t n)
{
	return (n + 63) / 64 * 64;
}

size_t sl_access_bytes(const struct sl_access_conf *conf)
{
	size_t n = ac_tracks(conf);

	return 64 + ac_round(sizeof(struct sl_access)) + ac_round(n / WAYS * sizeof(uint64_t)) +
	       ac_round(n / WAYS * sizeof(uint32_t)) + ac_round(n * sizeof(struct key)) +
	       ac_round(n * sizeof(struct track)) + ac_round(n * sizeof(struct ballot)) +
	       ac_round(2 * n * sizeof(uint32_t));
}

struct sl_access *sl_access_init(void *memory, const struct sl_access_conf *conf)
{
	size_t n = ac_tracks(conf);
	char *p = (char *)memory + (64 - (uintptr_t)memory % 64) % 64;
	struct sl_access *a = (struct sl_access *)p;

	static_assert(sizeof(struct track) <= 128, "two cache lines");
	memset(memory, 0, sl_access_bytes(conf));
	p += ac_round(sizeof(*a));
	a->tags = (uint64_t *)p;
	p += ac_round(n / WAYS * sizeof(uint64_t));
	a->full = (uint32_t *)p;
	p += ac_round(n / WAYS * sizeof(uint32_t));
	a->key = (struct key *)p;
	p += ac_round(n * sizeof(struct key));
	a->track = (struct track *)p;
	p += ac_round(n * sizeof(struct track));
	a->ballot = (struct ballot *)p;
	p += ac_round(n * sizeof(struct ballot));
	a->slot = (uint32_t *)p;
	a->sets = (uint32_t)n / WAYS;
	a->slots = 2 * (uint32_t)n;
	a->large_bytes = conf->large_bytes ? conf->large_bytes : SL_ACCESS_LARGE_BYTES;
	a->transfer_bytes = conf->transfer_bytes;
	a->epoch = 2;
	return a;
}

/* ---- requests ---- */

/* What need not be done for each request. */
static __attribute__((noinline)) void ac_tick(struct sl_access *a, sl_time now)
{
	a->epoch_requests += TICK;
	if (a->epoch_requests > EPOCH_REQUESTS ||
	    (a->epoch_requests > EPOCH_MIN && now - a->epoch_ns >= EPOCH_NS)) {
		a->epoch++;
		a->epoch_requests = 0;
		a->epoch_ns = now;
		a->dropped[a->epoch & 1] = 0;
		memset(a->bits[a->epoch & 1], 0, sizeof(a->bits[0]));
	}
	if (a->ops[0] >= OPS_WINDOW || a->ops[1] >= OPS_WINDOW) {
		a->ops[0] /= 2;
		a->ops[1] /= 2;
	}
}

static void ac_count_file(struct sl_access *a, uint64_t file)
{
	uint64_t h = ac_hash(file);

	a->bits[a->epoch & 1][h % (BITS / 64)] |= UINT64_C(1) << (h >> 48) % 64;
}

/* A place in one of the sets for the key; NULL: all are in use. */
static struct track *ac_place(struct sl_access *a, const uint32_t set[2],
			      const struct sl_request *r, uint16_t tag)
{
	uint32_t found = set[0] * WAYS, shift;
	struct track *t;

	for (unsigned k = 0; k < 2 && ac_in_use(a, &a->track[found]); k++)
		for (uint32_t i = set[k] * WAYS; i < (set[k] + 1) * WAYS; i++)
			if (a->track[i].epoch < a->track[found].epoch)
				found = i;
	t = &a->track[found];
	if (ac_in_use(a, t)) {
		a->full[set[0]] = a->full[set[1]] = a->epoch;
		return NULL;
	}
	a->key[found] = (struct key){ r->file, r->client };
	shift = found % WAYS * 16;
	a->tags[found / WAYS] &= ~(UINT64_C(0xffff) << shift);
	a->tags[found / WAYS] |= (uint64_t)tag << shift;
	memset(t, 0, sizeof(*t));
	for (unsigned i = 0; i < RUNS; i++)
		t->end[i] = t->start[i] = NO_END;
	t->gap_ns = UINT32_MAX;
	return t;
}

/*
 * Which of the four it is changes with each request when processes are interleaved: without
 * branches, or the processor guesses wrong each time, at 5 ns. Written out, since compilers leave
 * a loop at the usual level of optimization.
 */
static inline unsigned ac_equal(const uint64_t v[RUNS], uint64_t x)
{
	static_assert(RUNS == 4, "written out");
	return (unsigned)(v[0] == x) | (unsigned)(v[1] == x) << 1U | (unsigned)(v[2] == x) << 2U |
	       (unsigned)(v[3] == x) << 3U;
}

/* Which track it is in this set, or NOWHERE. No tag in use is 0. */
static inline uint32_t ac_in_set(const struct sl_access *a, uint32_t set,
				 const struct sl_request *r, uint16_t tag)
{
	const uint64_t ones = UINT64_C(0x0001000100010001);
	uint64_t x = a->tags[set] ^ tag * ones;

	static_assert(WAYS * 16 == 64, "tags of a set");
	x = (x - ones) & ~x & ones << 15; /* top bit: equal, or behind one that is */
	while (x) {
		uint32_t i = set * WAYS + (uint32_t)__builtin_ctzll(x) / 16;

		if (__builtin_expect(
			    ((a->key[i].file ^ r->file) | (a->key[i].client ^ r->client)) == 0, 1))
			return i;
		x &= x - 1;
	}
	return NOWHERE;
}

/* Not in its first set. */
static __attribute__((noinline)) struct track *ac_elsewhere(struct sl_access *a,
							    const struct sl_request *r, uint64_t h)
{
	uint32_t mask = a->sets - 1, set[2] = { (uint32_t)h & mask, (uint32_t)(h >> 24) & mask };
	uint16_t tag = (uint16_t)(h >> 48 | 1);
	uint32_t i = ac_in_set(a, set[1], r, tag);
	struct track *t = NULL;

	if (i != NOWHERE)
		return &a->track[i];
	if (a->full[set[0]] != a->epoch || a->full[set[1]] != a->epoch)
		t = ac_place(a, set, r, tag);
	if (!t) {
		a->dropped[a->epoch & 1]++;
		ac_count_file(a, r->file);
	}
	return t;
}

static inline struct track *ac_find(struct sl_access *a, const struct sl_request *r)
{
	uint64_t h = (r->file * UINT64_C(0x9e3779b97f4a7c15)) ^ r->client;
	uint32_t i;

	h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
	h ^= h >> 32;
	i = ac_in_set(a, (uint32_t)h & (a->sets - 1), r, (uint16_t)(h >> 48 | 1));
	return __builtin_expect(i != NOWHERE, 1) ? &a->track[i] : ac_elsewhere(a, r, h);
}

/* The run now reaches to where another one begins: that one was ahead of its turn. */
static __attribute__((noinline)) void ac_fill_hole(struct track *t, unsigned run, unsigned other)
{
	if (t->regulars & 1U << other && t->regular) {
		t->regular--;
		t->on++;
	} else if (t->odds & 1U << other && t->odd) {
		t->odd--;
		t->on++;
	}
	t->end[run] = t->end[other];
	t->end[other] = t->start[other] = NO_END;
	t->runs--;
}

static inline bool ac_alike(int64_t a, int64_t b)
{
	uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
	uint64_t length = b < 0 ? -(uint64_t)b : (uint64_t)b;

	return apart <= length / 4;
}

/* The place of a new run. */
static inline unsigned ac_run(struct track *t)
{
	unsigned run;

	if (t->runs < RUNS) {
		t->runs++;
		return (unsigned)__builtin_ctz(ac_equal(t->end, NO_END));
	}
	run = t->next++ % RUNS;
	return run != t->last ? run : t->next++ % RUNS; /* the last may well go on */
}

static __attribute__((noinline)) void ac_jump(struct track *t, uint64_t offset, uint64_t end)
{
	int64_t stride = (int64_t)(offset - t->run_start);
	unsigned run = ac_run(t), bit = 1U << run;

	t->last = (uint8_t)run;
	t->start[run] = offset;
	t->end[run] = end;
	t->regulars &= (uint8_t)~bit;
	t->odds &= (uint8_t)~bit;
	if (!(t->state & HAS_STRIDE)) {
		t->state |= t->state & BEGUN ? HAS_STRIDE : BEGUN;
	} else if (ac_alike(stride, t->stride)) {
		t->regular++;
		t->regulars |= (uint8_t)bit;
	} else {
		t->odd++;
		t->odds |= (uint8_t)bit;
	}
	t->run_start = offset;
	t->stride = stride;
}

/* Does a piece that goes on belong to the call of the piece before? */
static bool ac_same_call(struct track *t, sl_time now)
{
	uint64_t gap = (uint64_t)(now > t->last_ns ? now - t->last_ns : 0);
	bool soon;

	if (gap < t->gap_ns)
		t->gap_ns = (uint32_t)gap;
	else if (t->gap_ns < UINT32_MAX / 2)
		t->gap_ns += t->gap_ns / 16 + 1; /* what was short once need not stay so */
	soon = gap <= 3 * (uint64_t)t->gap_ns + 1000;
	if (!soon) {
		t->state &= (uint8_t)~LOOSE;
		return false;
	}
	if (t->state & LOOSE)
		return false;
	if (t->pieces < MOST_PIECES)
		return true;
	t->state |= LOOSE;
	t->calls = (uint16_t)(t->calls + t->pieces);
	return false;
}

static __attribute__((noinline)) void ac_halve(struct track *t)
{
	t->on /= 2;
	t->regular /= 2;
	t->odd /= 2;
	t->bytes = t->bytes * ((t->calls + 1U) / 2) / (t->calls ? t->calls : 1); /* same mean */
	t->calls = (uint16_t)((t->calls + 1) / 2);
}

/* Whether a run ends where the request begins: it then goes on. The last one most often does. */
static inline bool ac_goes_on(struct track *t, uint64_t offset, uint64_t end)
{
	unsigned run = t->last, found;

	if (t->end[run] != offset) {
		found = ac_equal(t->end, offset);
		if (!found)
			return false;
		run = (unsigned)__builtin_ctz(found);
		t->last = (uint8_t)run;
	}
	t->on++;
	t->end[run] = end;
	if (t->runs > 1) {
		unsigned ahead = ac_equal(t->start, end);

		if (__builtin_expect(ahead != 0, 0))
			ac_fill_hole(t, run, (unsigned)__builtin_ctz(ahead));
	}
	return true;
}

void sl_access_add(struct sl_access *a, const struct sl_request *r, sl_time now)
{
	uint64_t end = r->offset + r->length;
	bool joined = false;
	struct track *t;

	a->ops[r->op & 1]++;
	if (++a->requests % TICK == 0)
		ac_tick(a, now);
	t = ac_find(a, r);
	if (!t)
		return;
	if (__builtin_expect(t->epoch != a->epoch, 0)) {
		t->epoch = a->epoch;
		ac_count_file(a, r->file);
	}
	if (ac_goes_on(t, r->offset, end))
		joined = t->state & WHOLE && ac_same_call(t, now);
	else
		ac_jump(t, r->offset, end);
	if (joined) {
		t->pieces++;
	} else {
		t->pieces = 1;
		t->calls++;
	}
	t->bytes += r->length;
	t->last_ns = now;
	t->state = (uint8_t)((t->state & ~WHOLE) | (r->length == a->transfer_bytes ? WHOLE : 0));
	if (t->on + t->regular + t->odd >= (int)WINDOW || t->calls >= WINDOW)
		ac_halve(t);
}
