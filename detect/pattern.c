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
 * its files. Tracks by process are what tells the paper's "shared, strided" from "contiguous": the
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
 * free place, or that of one unused for a whole epoch (4096 requests, or a second with 64 requests
 *at least); else the request is not tracked: with more processes than tracks, some are watched well
 *rather than all badly. Files are counted exactly while everything was tracked, else by linear
 *counting (Whang et al. 1990) in two bitmaps of 2048 bits: n = -m ln(zeros / m).
 *
 * sl_access_add() is O(1) and touches three or four cache lines; sl_access_get() is O(tracks).
 */
#include "detect/pattern.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define WAYS	       4U
#define RUNS	       4U
#define NO_END	       UINT64_MAX
#define WINDOW	       256U /* halved when reached */
#define ENOUGH	       4U   /* requests for an opinion */
#define FEW_JUMPS      64U
#define LONG_RUN_BYTES (UINT64_C(1) << 20)
#define EPOCH_REQUESTS 4096U
#define EPOCH_MIN      512U
#define EPOCH_NS       INT64_C(1000000000)
#define BITS	       2048U
#define MOST_PIECES    128U
#define OPS_WINDOW     1024U

struct key {
	uint64_t file, client;
};

struct track {
	uint64_t end[RUNS], start[RUNS]; /* end NO_END: unused */
	uint64_t run_start;		 /* of the last run begun */
	int64_t stride;			 /* of the last jump */
	uint64_t bytes;			 /* of what is counted */
	int64_t last_ns;
	uint32_t gap_ns; /* shortest time between pieces of a call */
	uint32_t epoch;	 /* of the last use; 0: free */
	uint16_t on, regular, odd;
	uint16_t calls;
	uint8_t pieces; /* of the call under way */
	uint8_t next;	/* run to give up next */
	uint8_t last;	/* run used last */
	uint8_t state;
	uint8_t regulars, odds; /* bit i: run i began with such a jump */
};

enum { BEGUN = 1, HAS_STRIDE = 2, WHOLE = 4, LOOSE = 8 };

/* Votes of a file's tracks, while sl_access_get() counts. */
struct ballot {
	uint64_t file;
	uint32_t spatial[SL_ACCESS_SPATIALS];
	uint32_t small, large;
};

struct sl_access {
	struct key *key;
	struct track *track;
	struct ballot *ballot;
	uint32_t *slot;	      /* hash of files, index into ballot + 1 */
	uint32_t sets, slots; /* powers of two */
	uint64_t large_bytes, transfer_bytes;
	uint64_t requests;
	uint32_t epoch; /* from 2, so that 0 is before the last */
	uint32_t epoch_requests;
	sl_time epoch_ns;
	uint32_t dropped[2]; /* by epoch & 1 */
	uint32_t ops[2];
	uint64_t bits[2][BITS / 64];
};

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

	return 64 + ac_round(sizeof(struct sl_access)) + ac_round(n * sizeof(struct key)) +
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
	for (size_t i = 0; i < n; i++) /* no request is like this: it would end beyond 2^64 */
		a->key[i] = (struct key){ NO_END, NO_END };
	return a;
}

/* ---- requests ---- */

static inline uint64_t ac_hash(uint64_t x)
{
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static void ac_epoch(struct sl_access *a, sl_time now)
{
	a->epoch++;
	a->epoch_requests = 0;
	a->epoch_ns = now;
	a->dropped[a->epoch & 1] = 0;
	memset(a->bits[a->epoch & 1], 0, sizeof(a->bits[0]));
}

static bool ac_in_use(const struct sl_access *a, const struct track *t)
{
	return t->epoch + 1 >= a->epoch;
}

/* A place in one of the sets for the key; NULL: all are in use. */
static struct track *ac_place(struct sl_access *a, const uint32_t first[2],
			      const struct sl_request *r)
{
	uint32_t found = first[0];
	struct track *t;

	for (unsigned set = 0; set < 2 && ac_in_use(a, &a->track[found]); set++)
		for (uint32_t i = first[set]; i < first[set] + WAYS; i++)
			if (a->track[i].epoch < a->track[found].epoch)
				found = i;
	t = &a->track[found];
	if (ac_in_use(a, t)) {
		a->dropped[a->epoch & 1]++;
		return NULL;
	}
	a->key[found] = (struct key){ r->file, r->client };
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
#define FOUR(test) ((unsigned)(test(0)) | (test(1)) << 1U | (test(2)) << 2U | (test(3)) << 3U)

static inline unsigned ac_match(const struct key *k, const struct sl_request *r)
{
	static_assert(WAYS == 4, "FOUR");
#define IS(i) (unsigned)(((k[i].file ^ r->file) | (k[i].client ^ r->client)) == 0)
	return FOUR(IS);
#undef IS
}

static inline unsigned ac_equal(const uint64_t v[RUNS], uint64_t x)
{
	static_assert(RUNS == 4, "FOUR");
#define IS(i) (unsigned)(v[i] == x)
	return FOUR(IS);
#undef IS
}

static inline struct track *ac_find(struct sl_access *a, const struct sl_request *r, uint64_t h)
{
	uint32_t mask = a->sets - 1;
	uint32_t first[2];
	unsigned found;

	h += r->client * UINT64_C(0x9e3779b97f4a7c15);
	h ^= h >> 29;
	first[0] = ((uint32_t)(h >> 8) & mask) * WAYS;
	first[1] = ((uint32_t)(h >> 36) & mask) * WAYS;
	found = ac_match(&a->key[first[0]], r);
	if (__builtin_expect(found != 0, 1))
		return &a->track[first[0] + (uint32_t)__builtin_ctz(found)];
	found = ac_match(&a->key[first[1]], r);
	if (found)
		return &a->track[first[1] + (uint32_t)__builtin_ctz(found)];
	return ac_place(a, first, r);
}

/* The run now reaches to where another one begins: that one was ahead of its turn. */
static void ac_fill_hole(struct track *t, unsigned run, unsigned other)
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
}

static bool ac_alike(int64_t a, int64_t b)
{
	uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
	uint64_t length = b < 0 ? -(uint64_t)b : (uint64_t)b;

	return apart <= length / 4;
}

static void ac_jump(struct track *t, uint64_t offset, uint64_t end)
{
	int64_t stride = (int64_t)(offset - t->run_start);
	unsigned unused = ac_equal(t->end, NO_END), run;
	unsigned known = (t->state & HAS_STRIDE) != 0;
	unsigned alike = ac_alike(stride, t->stride);

	if (unused) {
		run = (unsigned)__builtin_ctz(unused);
	} else {
		run = t->next++ % RUNS;
		if (run == t->last) /* it may well go on */
			run = t->next++ % RUNS;
	}
	t->last = (uint8_t)run;
	t->start[run] = offset;
	t->end[run] = end;
	t->regular = (uint16_t)(t->regular + (known & alike));
	t->odd = (uint16_t)(t->odd + (known & !alike));
	t->regulars = (uint8_t)((t->regulars & ~(1U << run)) | (known & alike) << run);
	t->odds = (uint8_t)((t->odds & ~(1U << run)) | (known & !alike) << run);
	t->state |= t->state & BEGUN ? HAS_STRIDE : BEGUN;
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

static void ac_halve(struct track *t)
{
	t->on /= 2;
	t->regular /= 2;
	t->odd /= 2;
	t->bytes = t->bytes * ((t->calls + 1U) / 2) / (t->calls ? t->calls : 1); /* same mean */
	t->calls = (uint16_t)((t->calls + 1) / 2);
}

void sl_access_add(struct sl_access *a, const struct sl_request *r, sl_time now)
{
	uint64_t h = ac_hash(r->file), end = r->offset + r->length;
	unsigned found, joined = 0;
	struct track *t;

	a->requests++;
	if (++a->epoch_requests >= EPOCH_MIN &&
	    (a->epoch_requests > EPOCH_REQUESTS || now - a->epoch_ns >= EPOCH_NS))
		ac_epoch(a, now);
	a->bits[a->epoch & 1][h % (BITS / 64)] |= UINT64_C(1) << (h >> 48) % 64;
	if (++a->ops[r->op & 1] >= OPS_WINDOW) {
		a->ops[0] /= 2;
		a->ops[1] /= 2;
	}

	t = ac_find(a, r, h);
	if (!t)
		return;
	t->epoch = a->epoch;
	found = ac_equal(t->end, r->offset);
	if (found) {
		unsigned run = (unsigned)__builtin_ctz(found);
		unsigned ahead = ac_equal(t->start, end);

		t->on++;
		t->last = (uint8_t)run;
		t->end[run] = end;
		if (__builtin_expect(ahead != 0, 0))
			ac_fill_hole(t, run, (unsigned)__builtin_ctz(ahead));
		joined = a->transfer_bytes && t->state & WHOLE && ac_same_call(t, now);
	} else {
		ac_jump(t, r->offset, end);
	}
	t->pieces = (uint8_t)(joined ? t->pieces + 1 : 1);
	t->calls = (uint16_t)(t->calls + !joined);
	t->bytes += r->length;
	t->last_ns = now;
	t->state = (uint8_t)((t->state & ~WHOLE) | (r->length == a->transfer_bytes ? WHOLE : 0));
	if (t->on + t->regular + t->odd >= (int)WINDOW || t->calls >= WINDOW)
		ac_halve(t);
}

/* ---- opinions ---- */

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
