/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max-min fair sharing of one I/O server by virtual time: the fast path of the phase-level
 * simulator.
 *
 * Every transfer gets min(cap, level), with the one level at which the rates add up to the
 * capacity. Transfers with the same cap are a *class*: all of a class always have the same rate, so
 * a class has one clock, which shows the bytes that a transfer would have got since the clock was
 * set. A transfer of `bytes` that starts when the clock shows v ends when it shows v + bytes, its
 * *tag*, however the rates change until then, so only the heap of its class has to be updated
 * (Parekh and Gallager's virtual time, "A generalized processor sharing approach to flow control in
 * integrated services networks", 1993).
 *
 * A class whose cap is above the level is *open*: all of these have the same rate, the level. Their
 * clocks go at the same pace, so that they are one clock with an offset each. A class whose cap is
 * not above the level is *capped*: its rate is its cap, its first end has a fixed time. So
 *
 *	open    heap of classes by the value of the common clock at their first end
 *	capped  heap of classes by the time of their first end
 *
 * and the next end is the earlier of the two tops. Classes are numbered by cap; those before
 * `border` are capped. When transfers come and go the border moves over classes that have any,
 * which a bitmap finds.
 *
 * Example: capacity 10; A: cap 2, 6 bytes; B and C: no cap, 8 bytes each. Level 4: A is capped and
 * ends at 3 s; the open clock ends B and C at 8, which is in 2 s. At 2 s A is alone: the level is
 * 10, nothing changes for A, and it ends at 3 s.
 *
 * Clocks are set back to 0 after 256 starts for each application, and all tags are reduced by the
 * clock's value: the error of an end is about 1e-16 times the bytes of an application in 256
 * phases. O(log n) per start or end, if the border moves over few classes at a time, which is the
 * case unless many classes have few transfers.
 */
#include "sim/fluid.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/event.h"
#include "sim/granted.h"

#define NEAR	1e-9
#define LASTING 256U /* starts for each application until clocks are set back */

struct fl_class {
	double cap_bps;
	/* Capped: the clock at since_s. Open: what is to be added to the common clock. */
	double clock_bytes, since_s;
	struct sl_heap tag; /* by place of the transfer in its class */
	uint32_t first;	    /* place 0 is member[first] */
};

struct sl_fluid {
	uint32_t n, n_classes;
	uint32_t border;    /* classes before it are capped */
	uint32_t capped;    /* transfers in them */
	uint32_t transfers; /* in all */
	double capacity_bps, level_bps, capped_bps;
	double clock_bytes; /* the common one, of open classes */
	double now_s, moved_bytes;
	uint64_t starts; /* since the clocks were set back */
	double asked_bytes;
	struct fl_class *class;
	uint32_t *member;   /* by class: ids */
	uint32_t *class_of; /* by id */
	uint32_t *place_of; /* by id */
	uint64_t *some;	    /* bitmap: classes with transfers */
	struct sl_heap open, due;
	char *memory; /* of all heaps */
};

/* ---- making it ---- */

struct fl_order {
	double cap_bps;
	uint32_t id;
};

static int fl_by_cap(const void *a, const void *b)
{
	const struct fl_order *x = a, *y = b;

	if (x->cap_bps != y->cap_bps)
		return x->cap_bps < y->cap_bps ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static size_t fl_heap_size(uint32_t n)
{
	return (sl_heap_size(n) + 15) & ~(size_t)15;
}

/* class, member, class_of, place_of from the order; the sizes of all heaps together. */
static size_t fl_classes(struct sl_fluid *f, const struct fl_order *order)
{
	size_t size = 0;

	for (uint32_t i = 0, c = 0; i < f->n; i++) {
		if (!i || order[i].cap_bps != order[i - 1].cap_bps) {
			c = f->n_classes++;
			f->class[c].cap_bps = order[i].cap_bps;
			f->class[c].first = i;
		}
		f->member[i] = order[i].id;
		f->class_of[order[i].id] = c;
		f->place_of[order[i].id] = i - f->class[c].first;
	}
	f->class[f->n_classes].first = f->n;
	for (uint32_t c = 0; c < f->n_classes; c++)
		size += fl_heap_size(f->class[c + 1].first - f->class[c].first);
	return size + 2 * fl_heap_size(f->n_classes);
}

static void fl_heaps(struct sl_fluid *f)
{
	char *at = f->memory;

	for (uint32_t c = 0; c < f->n_classes; c++) {
		uint32_t members = f->class[c + 1].first - f->class[c].first;

		sl_heap_init(&f->class[c].tag, at, members);
		at += fl_heap_size(members);
	}
	sl_heap_init(&f->open, at, f->n_classes);
	sl_heap_init(&f->due, at + fl_heap_size(f->n_classes), f->n_classes);
}

int sl_fluid_create(struct sl_fluid **out, const double *cap_bps, uint32_t n)
{
	struct sl_fluid *f = calloc(1, sizeof(*f));
	struct fl_order *order = calloc((size_t)n + 1, sizeof(*order));

	*out = NULL;
	if (f) {
		f->n = n;
		f->class = calloc((size_t)n + 1, sizeof(*f->class));
		f->member = calloc((size_t)n + 1, sizeof(*f->member));
		f->class_of = calloc((size_t)n + 1, sizeof(*f->class_of));
		f->place_of = calloc((size_t)n + 1, sizeof(*f->place_of));
		f->some = calloc(n / 64 + 1, sizeof(*f->some));
	}
	if (f && order && f->class && f->member && f->class_of && f->place_of && f->some) {
		for (uint32_t i = 0; i < n; i++)
			order[i] = (struct fl_order){ cap_bps[i], i };
		qsort(order, n, sizeof(*order), fl_by_cap);
		f->memory = malloc(fl_classes(f, order));
		if (f->memory) {
			fl_heaps(f);
			*out = f;
		}
	}
	free(order);
	if (!*out)
		sl_fluid_destroy(f);
	return *out ? 0 : -ENOMEM;
}

void sl_fluid_destroy(struct sl_fluid *f)
{
	if (!f)
		return;
	free(f->class);
	free(f->member);
	free(f->class_of);
	free(f->place_of);
	free(f->some);
	free(f->memory);
	free(f);
}

/* ---- clocks ---- */

static double fl_clock(const struct sl_fluid *f, uint32_t c, double now_s)
{
	const struct fl_class *k = &f->class[c];

	if (c < f->border)
		return k->clock_bytes + k->cap_bps * (now_s - k->since_s);
	return k->clock_bytes + f->clock_bytes + f->level_bps * (now_s - f->now_s);
}

/* The class has another first end, or none. */
static void fl_first(struct sl_fluid *f, uint32_t c)
{
	const struct fl_class *k = &f->class[c];
	const struct sl_heap_entry *top = sl_heap_top(&k->tag);
	struct sl_heap *in = c < f->border ? &f->due : &f->open;
	double left;

	if (!top) {
		sl_heap_remove(in, c);
		return;
	}
	left = sl_event_value(top->key) - k->clock_bytes;
	sl_heap_set(in, c,
		    sl_event_key(fmax(0, c < f->border ? k->since_s + left / k->cap_bps : left)));
}

/* Now, the border being behind it or before it. */
static void fl_cross(struct sl_fluid *f, uint32_t c, bool capped)
{
	struct fl_class *k = &f->class[c];
	double clock_bytes = fl_clock(f, c, f->now_s);

	sl_heap_remove(capped ? &f->open : &f->due, c);
	f->border = capped ? c + 1 : c;
	k->clock_bytes = capped ? clock_bytes : clock_bytes - f->clock_bytes;
	k->since_s = f->now_s;
	if (capped) {
		f->capped += k->tag.count;
		f->capped_bps += k->tag.count * k->cap_bps;
	} else {
		f->capped -= k->tag.count;
		f->capped_bps = f->capped ? f->capped_bps - k->tag.count * k->cap_bps : 0;
	}
	fl_first(f, c);
}

/* All clocks show 0; what is left of each transfer stays. And sums are made anew. */
static void fl_set_back(struct sl_fluid *f)
{
	double left_bytes = 0;

	f->capped_bps = 0;
	for (uint32_t c = 0; c < f->n_classes; c++) {
		struct fl_class *k = &f->class[c];
		double clock_bytes = fl_clock(f, c, f->now_s);

		/* Smaller by the same: the order of the heap stays. */
		for (uint32_t i = 0; i < k->tag.count; i++) {
			double left = fmax(0, sl_event_value(k->tag.entry[i].key) - clock_bytes);

			k->tag.entry[i].key = sl_event_key(left);
			left_bytes += left;
		}
		k->clock_bytes = 0;
		k->since_s = f->now_s;
		if (c < f->border)
			f->capped_bps += k->tag.count * k->cap_bps;
	}
	f->clock_bytes = 0;
	f->starts = 0;
	for (uint32_t c = 0; c < f->n_classes; c++)
		fl_first(f, c);
	assert(fabs(f->asked_bytes - f->moved_bytes - left_bytes) <= NEAR * f->asked_bytes);
	(void)left_bytes;
}

/* ---- the calls of an event ---- */

void sl_fluid_capacity(struct sl_fluid *f, double bps)
{
	f->capacity_bps = bps;
}

void sl_fluid_advance(struct sl_fluid *f, double now_s)
{
	double dt = now_s - f->now_s;

	f->moved_bytes += sl_fluid_rate_bps(f) * dt;
	f->clock_bytes += f->level_bps * dt;
	f->now_s = now_s;
}

/* A transfer of class c came (1) or went (-1). */
static void fl_count(struct sl_fluid *f, uint32_t c, int one)
{
	struct fl_class *k = &f->class[c];

	f->transfers += (uint32_t)one;
	if (c < f->border) {
		f->capped += (uint32_t)one;
		f->capped_bps = f->capped ? f->capped_bps + one * k->cap_bps : 0;
	}
	if (k->tag.count)
		f->some[c / 64] |= UINT64_C(1) << c % 64;
	else
		f->some[c / 64] &= ~(UINT64_C(1) << c % 64);
}

static uint32_t fl_pop(struct sl_fluid *f, uint32_t c)
{
	struct fl_class *k = &f->class[c];
	double tag_bytes = sl_event_value(k->tag.entry[0].key), rest_bytes;
	uint32_t place = k->tag.entry[0].id;

	/* By rounding, or because its end was near. */
	rest_bytes = tag_bytes - fl_clock(f, c, f->now_s);
	assert(fabs(rest_bytes) <=
	       2 * sl_event_grain_s(f->now_s) * (c < f->border ? k->cap_bps : f->level_bps) +
		       NEAR * tag_bytes);
	f->moved_bytes += rest_bytes;
	sl_heap_remove(&k->tag, place);
	fl_count(f, c, -1);
	fl_first(f, c);
	return f->member[k->first + place];
}

uint32_t sl_fluid_end(struct sl_fluid *f)
{
	const struct sl_heap_entry *open = sl_heap_top(&f->open), *due = sl_heap_top(&f->due);
	double grain_s = sl_event_grain_s(f->now_s);

	if (open && sl_event_value(open->key) <= f->clock_bytes + f->level_bps * grain_s)
		return fl_pop(f, open->id);
	if (due && sl_event_value(due->key) <= f->now_s + grain_s)
		return fl_pop(f, due->id);
	return SL_NO_TRANSFER;
}

uint32_t sl_fluid_first(const struct sl_fluid *f)
{
	const struct sl_heap_entry *top = sl_heap_top(f->open.count ? &f->open : &f->due);

	if (!top)
		return SL_NO_TRANSFER;
	return f->member[f->class[top->id].first + f->class[top->id].tag.entry[0].id];
}

void sl_fluid_start(struct sl_fluid *f, uint32_t id, double bytes)
{
	uint32_t c = f->class_of[id], place = f->place_of[id];
	struct fl_class *k = &f->class[c];

	if (!k->tag.count) { /* a clock that nobody looks at may have been left behind */
		k->clock_bytes = c < f->border ? 0 : -f->clock_bytes;
		k->since_s = f->now_s;
	}
	sl_heap_set(&k->tag, place, sl_event_key(fl_clock(f, c, f->now_s) + bytes));
	f->asked_bytes += bytes;
	f->starts++;
	fl_count(f, c, 1);
	if (k->tag.entry[0].id == place)
		fl_first(f, c);
}

void sl_fluid_cancel(struct sl_fluid *f, uint32_t id)
{
	uint32_t c = f->class_of[id], place = f->place_of[id];

	if (!sl_heap_has(&f->class[c].tag, place))
		return;
	f->asked_bytes -= sl_fluid_left_bytes(f, id, f->now_s);
	sl_heap_remove(&f->class[c].tag, place);
	fl_count(f, c, -1);
	fl_first(f, c);
}

/* The first class with transfers from c on, or n_classes. */
static uint32_t fl_up(const struct sl_fluid *f, uint32_t c)
{
	uint64_t word;

	if (c >= f->n_classes)
		return f->n_classes;
	for (word = f->some[c / 64] >> c % 64 << c % 64; !word; word = f->some[c / 64])
		if ((c = (c / 64 + 1) * 64) >= f->n_classes)
			return f->n_classes;
	return c / 64 * 64 + (uint32_t)__builtin_ctzll(word);
}

/* The last class with transfers before c, or n_classes. */
static uint32_t fl_down(const struct sl_fluid *f, uint32_t c)
{
	while (c--) {
		uint64_t word = f->some[c / 64] << (63 - c % 64);

		if (word)
			return c - (uint32_t)__builtin_clzll(word);
		c = c / 64 * 64;
	}
	return f->n_classes;
}

double sl_fluid_settle(struct sl_fluid *f)
{
	const struct sl_heap_entry *open, *due;
	double next_s = INFINITY;
	uint32_t c;

	/* A class is capped if all that have more, and it, could have its cap. */
	while ((c = fl_down(f, f->border)) < f->n_classes) {
		const struct fl_class *k = &f->class[c];
		uint32_t others = f->capped - k->tag.count;
		double others_bps = others ? f->capped_bps - k->tag.count * k->cap_bps : 0;

		if (others_bps + (f->transfers - others) * k->cap_bps <= f->capacity_bps)
			break;
		fl_cross(f, c, false);
	}
	while ((c = fl_up(f, f->border)) < f->n_classes &&
	       f->capped_bps + (f->transfers - f->capped) * f->class[c].cap_bps <= f->capacity_bps)
		fl_cross(f, c, true);
	f->level_bps = f->transfers > f->capped
			       ? (f->capacity_bps - f->capped_bps) / (f->transfers - f->capped)
			       : 0;
	assert(f->level_bps >= 0 && sl_fluid_rate_bps(f) <= f->capacity_bps * (1 + NEAR));
	if (f->starts > (uint64_t)f->n * LASTING)
		fl_set_back(f);
	open = sl_heap_top(&f->open);
	due = sl_heap_top(&f->due);
	if (open)
		next_s = f->now_s + (sl_event_value(open->key) - f->clock_bytes) / f->level_bps;
	if (due)
		next_s = fmin(next_s, sl_event_value(due->key));
	return next_s;
}

double sl_fluid_rate_bps(const struct sl_fluid *f)
{
	return f->capped_bps + f->level_bps * (f->transfers - f->capped);
}

double sl_fluid_moved_bytes(const struct sl_fluid *f)
{
	return f->moved_bytes;
}

double sl_fluid_left_bytes(const struct sl_fluid *f, uint32_t id, double now_s)
{
	uint32_t c = f->class_of[id];
	const struct sl_heap *h = &f->class[c].tag;
	double tag_bytes = sl_event_value(h->entry[h->pos[f->place_of[id]]].key);

	return fmax(0, tag_bytes - fl_clock(f, c, now_s));
}
