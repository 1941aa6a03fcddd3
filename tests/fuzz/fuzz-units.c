/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as size, rate and time. Checked: nothing is written on error, the error is one of the
 * two promised, the value agrees with an independent reading in long double, and what is written
 * for a value is read again as nearly that value. The first eight bytes are also taken as a
 * number to write.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "tests/fuzz/fuzz.h"

#define UNTOUCHED UINT64_C(0x5ca1ab1e5ca1ab1e)

/* ppm: how far the short form may be off; 1 for what is cut when it is read again. */
static void near(uint64_t a, uint64_t b, uint64_t ppm)
{
	uint64_t off = a > b ? a - b : b - a;

	CHECK(off <= b / 1000000 * ppm + b % 1000000 * ppm / 1000000 + 1);
}

static void writes_and_reads(uint64_t v)
{
	char buf[16];
	uint64_t back = 0;
	int64_t ns = 0;

	CHECK(sl_format_bytes(buf, sizeof(buf), v) == buf);
	CHECK(sl_parse_bytes(buf, &back) == 0);
	near(back, v, 5000);
	CHECK(sl_format_rate(buf, sizeof(buf), v) == buf);
	CHECK(sl_parse_rate(buf, &back) == 0);
	near(back, v, 5000);
	CHECK(sl_format_time(buf, sizeof(buf), (int64_t)v) == buf);
	CHECK(sl_parse_time(buf[0] == '-' ? buf + 1 : buf, &ns) == 0);
	near((uint64_t)ns, (int64_t)v < 0 ? -v : v, 50000);
}

/*
 * What the digits at the start say, without unit, by the C library. The value must be that times
 * a whole factor of the table, up to what a long double can tell apart (it reads 0.99…9 as 1) and
 * one for the cut.
 */
static void agrees(const char *text, uint64_t value, const long double *factors, size_t count)
{
	long double number = strtold(text, NULL);
	bool found = false;

	CHECK(text[0] >= '0' && text[0] <= '9');
	CHECK(strspn(text, "0123456789.KMGTPiBpshnmud/") == strlen(text));
	for (size_t i = 0; i < count; i++) {
		long double off = number * factors[i] - (long double)value;

		found = found || (off >= -1e-15L * (long double)value &&
				  off <= 1.0L + 1e-15L * (long double)value);
	}
	CHECK(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const long double bytes[] = {
		1,    1e3L,    1e6L,	   1e9L,	  1e12L,	   1e15L,
		1024, 1048576, 1073741824, 1099511627776, 1125899906842624
	};
	static const long double times[] = { 1, 1e3L, 1e6L, 1e9L, 60e9L, 3600e9L, 86400e9L };
	uint64_t v = UNTOUCHED, rate = UNTOUCHED, number = 0;
	int64_t ns = -1;
	char text[128];
	int err, rate_err;

	memcpy(&number, data, size < sizeof(number) ? size : sizeof(number));
	writes_and_reads(number);

	if (size >= sizeof(text))
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';

	err = sl_parse_bytes(text, &v);
	CHECK(err == 0 || err == -EINVAL || err == -ERANGE);
	CHECK(err == 0 || v == UNTOUCHED);
	if (!err) {
		agrees(text, v, bytes, sizeof(bytes) / sizeof(bytes[0]));
		writes_and_reads(v);
	}

	rate_err = sl_parse_rate(text, &rate);
	CHECK(rate_err == 0 || rate_err == -EINVAL || rate_err == -ERANGE);
	CHECK(rate_err == 0 || rate == UNTOUCHED);
	/* Every size is a rate, and means the same. */
	CHECK(err == -EINVAL || (rate_err == err && rate == v));
	if (!rate_err)
		agrees(text, rate, bytes, sizeof(bytes) / sizeof(bytes[0]));

	err = sl_parse_time(text, &ns);
	CHECK(err == 0 || err == -EINVAL || err == -ERANGE);
	CHECK(err == 0 ? ns >= 0 : ns == -1);
	if (!err) {
		agrees(text, (uint64_t)ns, times, sizeof(times) / sizeof(times[0]));
		writes_and_reads((uint64_t)ns);
	}
	return 0;
}
