/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, rates and times from and to text, in integers.
 *
 * Reading: DIGITS[.DIGITS][UNIT], nothing before, between or after. The whole part times the unit
 * is checked for overflow. The fraction is worked off from its last digit to its first,
 *
 *	t = 0;  for each digit d from the right:  t = (d * unit + t) / 10
 *
 * which is exact however many digits there are: floor((a + floor(x)) / 10) = floor((a + x) / 10)
 * for a whole a, so nothing is lost on the way. Example, 1.25Ki: 5*1024/10 = 512,
 * (2*1024 + 512)/10 = 256, and 1024 + 256 = 1280.
 *
 * Writing: a value that is whole in its unit is written so ("64KiB"); any other is rounded to
 * three digits, times to one decimal ("1.50MiB", "1.2ms"), and "1.00MiB" therefore says "about".
 * A written value can always be read again: rounding stops at the largest value that fits.
 *
 * No locale is asked: the decimal point is a point.
 */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Largest units are 2^50 bytes and 8.64e13 ns, so ten times a unit is far from overflowing. */
struct un_unit {
	const char *name;
	uint64_t size;
	uint64_t from; /* written in this unit from here on */
};

/* ---- reading ---- */

static bool un_digit(char c)
{
	return c >= '0' && c <= '9';
}

struct un_number {
	const char *whole, *fraction;
	size_t whole_length, fraction_length;
};

/* Where the number ends, or NULL when there is none. At least one digit on each side of a point. */
static const char *un_scan(const char *s, struct un_number *n)
{
	*n = (struct un_number){ .whole = s };
	while (un_digit(*s))
		s++;
	n->whole_length = (size_t)(s - n->whole);
	if (n->whole_length == 0)
		return NULL;
	if (*s != '.')
		return s;
	n->fraction = ++s;
	while (un_digit(*s))
		s++;
	n->fraction_length = (size_t)(s - n->fraction);
	return n->fraction_length ? s : NULL;
}

static int un_value(const struct un_number *n, uint64_t unit, uint64_t max, uint64_t *out)
{
	uint64_t value = 0, part = 0;

	for (size_t i = 0; i < n->whole_length; i++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(n->whole[i] - '0'), &value))
			return -ERANGE;
	for (size_t i = n->fraction_length; i-- > 0;)
		part = ((uint64_t)(n->fraction[i] - '0') * unit + part) / 10;
	if (__builtin_mul_overflow(value, unit, &value) ||
	    __builtin_add_overflow(value, part, &value) || value > max)
		return -ERANGE;
	*out = value;
	return 0;
}

static bool un_skip(const char **s, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*s, word, length) != 0)
		return false;
	*s += length;
	return true;
}

/* [K|M|G|T|P][i][B] */
static uint64_t un_byte_unit(const char **s)
{
	static const char letters[] = "KMGTP";
	const char *letter = **s ? strchr(letters, **s) : NULL;
	uint64_t unit = 1, base;

	if (letter) {
		++*s;
		base = un_skip(s, "i") ? 1024 : 1000;
		for (const char *l = letters; l <= letter; l++)
			unit *= base;
	}
	un_skip(s, "B");
	return unit;
}

static int un_parse(const char *text, bool rate, uint64_t *out)
{
	struct un_number n;
	uint64_t unit;
	const char *s = un_scan(text, &n);

	if (!s)
		return -EINVAL;
	unit = un_byte_unit(&s);
	if (rate && !un_skip(&s, "/s"))
		un_skip(&s, "ps");
	if (*s)
		return -EINVAL;
	return un_value(&n, unit, UINT64_MAX, out);
}

int sl_parse_bytes(const char *text, uint64_t *out)
{
	return un_parse(text, false, out);
}

int sl_parse_rate(const char *text, uint64_t *out_bps)
{
	return un_parse(text, true, out_bps);
}

#define SECOND UINT64_C(1000000000)

/* Below ten minutes in seconds, below ten hours in minutes: two digits at least are exact. */
static const struct un_unit times[] = {
	{ "ns", 1, 0 },
	{ "us", 1000, 1000 },
	{ "ms", 1000000, 1000000 },
	{ "s", SECOND, SECOND },
	{ "m", 60 * SECOND, 600 * SECOND },
	{ "h", 3600 * SECOND, 36000 * SECOND },
};

int sl_parse_time(const char *text, int64_t *out_ns)
{
	struct un_number n;
	const char *s = un_scan(text, &n);
	uint64_t unit = 0, value;
	int err;

	if (!s)
		return -EINVAL;
	if (!*s)
		unit = SECOND;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (!strcmp(s, times[i].name))
			unit = times[i].size;
	if (!strcmp(s, "min"))
		unit = 60 * SECOND;
	if (!strcmp(s, "d"))
		unit = 86400 * SECOND;
	if (!unit)
		return -EINVAL;
	err = un_value(&n, unit, INT64_MAX, &value);
	if (!err)
		*out_ns = (int64_t)value;
	return err;
}

int sl_parse_period(const char *text, int64_t *out_ns)
{
	if (strcmp(text, "auto") != 0)
		return sl_parse_time(text, out_ns);
	*out_ns = 0;
	return 0;
}

/* ---- writing ---- */

#define KI(n) (UINT64_C(1) << (10 * (n)))

static const struct un_unit sizes[] = {
	{ "B", 1, 0 },		 { "KiB", KI(1), KI(1) }, { "MiB", KI(2), KI(2) },
	{ "GiB", KI(3), KI(3) }, { "TiB", KI(4), KI(4) },
};

static const struct un_unit rates[] = {
	{ "B/s", 1, 0 },
	{ "KB/s", 1000, 1000 },
	{ "MB/s", 1000000, 1000000 },
	{ "GB/s", 1000000000, 1000000000 },
	{ "TB/s", UINT64_C(1000000000000), UINT64_C(1000000000000) },
};

/* value / unit * 10^decimals, to the nearest, but never more than max when read again. */
static uint64_t un_round(uint64_t value, uint64_t unit, unsigned decimals, uint64_t max)
{
	uint64_t whole = value / unit, rest = value % unit, power = 1;

	while (decimals-- > 0)
		power *= 10;
	whole = whole * power + rest * power / unit;
	rest = rest * power % unit;
	if (rest >= unit - rest && (power > 1 || whole < max / unit))
		whole++;
	return whole;
}

static const char *un_format(char *buf, size_t size, const char *sign, uint64_t value, uint64_t max,
			     const struct un_unit *units, size_t count, unsigned decimals)
{
	const struct un_unit *u = units, *last = units + count - 1;
	uint64_t n, power;

	/* The largest unit that the value reaches, also by rounding: 1023.9 KiB is 1.00MiB. */
	while (u < last &&
	       (value >= u[1].from || un_round(value, u->size, 0, max) * u->size >= u[1].from))
		u++;
	if (value % u->size == 0)
		decimals = 0;
	while (decimals && un_round(value, u->size, decimals, max) >= 1000)
		decimals--;
	n = un_round(value, u->size, decimals, max);
	power = decimals == 2 ? 100 : 10;
	if (decimals)
		snprintf(buf, size, "%s%" PRIu64 ".%0*" PRIu64 "%s", sign, n / power, (int)decimals,
			 n % power, u->name);
	else
		snprintf(buf, size, "%s%" PRIu64 "%s", sign, n, u->name);
	return buf;
}

const char *sl_format_bytes(char *buf, size_t size, uint64_t bytes)
{
	return un_format(buf, size, "", bytes, UINT64_MAX, sizes, ARRAY_SIZE(sizes), 2);
}

const char *sl_format_rate(char *buf, size_t size, uint64_t bps)
{
	return un_format(buf, size, "", bps, UINT64_MAX, rates, ARRAY_SIZE(rates), 2);
}

const char *sl_format_time(char *buf, size_t size, int64_t ns)
{
	/* Differences of times may be negative; the lowest has no positive counterpart. */
	uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	if (ns == 0) {
		snprintf(buf, size, "0s");
		return buf;
	}
	return un_format(buf, size, ns < 0 ? "-" : "", magnitude, INT64_MAX, times,
			 ARRAY_SIZE(times), 1);
}
