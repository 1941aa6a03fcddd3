/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a trace: sched/trace.h. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sched/trace.h"

/* A record of each type with every field that it has different from 0. */
static struct sl_trace_record sample(enum sl_trace_type type)
{
	struct sl_trace_record r = { .type = type, .request = 0xa0b0c0d0, .now = 1234567890123 };
	unsigned char bytes[SL_TRACE_MAX];

	for (unsigned i = 0; i < 5; i++)
		r.u64[i] = UINT64_C(0x0102030405060700) + i;
	for (unsigned i = 0; i < 4; i++)
		r.u32[i] = 0x11121300 + i;
	/* What a type does not carry comes back as 0: let the decoder say which those are. */
	sl_trace_encode(&r, bytes);
	assert_true(sl_trace_decode(bytes, sizeof(bytes), &r) > 0);
	return r;
}

static bool has_text(enum sl_trace_type type)
{
	return type == SL_TRACE_CONFIG || type == SL_TRACE_ORDER || type == SL_TRACE_POLICY;
}

static void every_type_comes_back_as_it_went_in(void **state)
{
	for (int type = SL_TRACE_CONFIG; type < SL_TRACE_TYPES; type++) {
		struct sl_trace_record in = sample((enum sl_trace_type)type), out;
		unsigned char bytes[SL_TRACE_MAX];
		size_t size;

		if (has_text(in.type)) {
			memcpy(in.text, "a\0bc\0def", 8); /* CONFIG holds several strings */
			in.text_length = 8;
		}
		size = sl_trace_encode(&in, bytes);
		assert_in_range(size, 16, SL_TRACE_MAX);
		assert_int_equal(sl_trace_decode(bytes, size, &out), size);
		assert_int_equal(out.type, type);
		assert_int_equal(out.request, 0xa0b0c0d0);
		assert_int_equal(out.now, 1234567890123);
		assert_memory_equal(out.u64, in.u64, sizeof(in.u64));
		assert_memory_equal(out.u32, in.u32, sizeof(in.u32));
		assert_int_equal(out.text_length, in.text_length);
		assert_memory_equal(out.text, in.text, in.text_length);
		assert_int_equal(out.text[out.text_length], 0);
	}
}

static void a_record_has_the_bytes_of_the_format(void **state)
{
	static const unsigned char add[] = {
		2,    0,    64, 0,		  /* type, size */
		7,    0,    0,	0,		  /* request */
		0x39, 0x30, 0,	0,    0, 0, 0, 0, /* now */
		1,    0,    0,	0,    0, 0, 0, 0, /* job */
		2,    0,    0,	0,    0, 0, 0, 0, /* client */
		3,    0,    0,	0,    0, 0, 0, 0, /* file */
		0,    0,    0,	0,    1, 0, 0, 0, /* offset 4 GiB */
		0,    0x10, 0,	0,    0, 0, 0, 0, /* length 4 KiB */
		1,    0,    0,	0,		  /* write */
		0,    0,    0,	0x40,		  /* flags */
	};
	struct sl_trace_record r = { .type = SL_TRACE_ADD,
				     .request = 7,
				     .now = 12345,
				     .u64 = { 1, 2, 3, UINT64_C(1) << 32, 4096 },
				     .u32 = { SL_WRITE, 0x40000000 } };
	unsigned char bytes[SL_TRACE_MAX];

	assert_int_equal(sl_trace_encode(&r, bytes), sizeof(add));
	assert_memory_equal(bytes, add, sizeof(add));
}

static void of_a_record_that_is_not_all_there_nothing_is_read(void **state)
{
	for (int type = SL_TRACE_CONFIG; type < SL_TRACE_TYPES; type++) {
		struct sl_trace_record in = sample((enum sl_trace_type)type), out;
		unsigned char bytes[SL_TRACE_MAX];
		size_t size = sl_trace_encode(&in, bytes);

		for (size_t have = 0; have < size; have++)
			assert_int_equal(sl_trace_decode(bytes, have, &out), 0);
	}
}

static void unknown_types_are_refused(void **state)
{
	unsigned char bytes[SL_TRACE_MAX] = { 0 };
	struct sl_trace_record r;

	bytes[2] = 16;
	assert_int_equal(sl_trace_decode(bytes, sizeof(bytes), &r), -EPROTO); /* 0 */
	bytes[0] = SL_TRACE_TYPES;
	assert_int_equal(sl_trace_decode(bytes, sizeof(bytes), &r), -EPROTO);
	bytes[0] = SL_TRACE_DONE;
	assert_int_equal(sl_trace_decode(bytes, sizeof(bytes), &r), 16);
	bytes[1] = 1; /* 256 + DONE */
	assert_int_equal(sl_trace_decode(bytes, sizeof(bytes), &r), -EPROTO);
}

static void a_size_that_its_type_cannot_have_is_refused(void **state)
{
	struct sl_trace_record add = sample(SL_TRACE_ADD), policy = sample(SL_TRACE_POLICY), r;
	unsigned char bytes[2 * SL_TRACE_MAX] = { 0 };

	sl_trace_encode(&add, bytes);
	bytes[2] = 63;
	assert_int_equal(sl_trace_decode(bytes, sizeof(bytes), &r), -EPROTO);
	bytes[2] = 65; /* ADD has no text */
	assert_int_equal(sl_trace_decode(bytes, sizeof(bytes), &r), -EPROTO);
	bytes[2] = 0;
	assert_int_equal(sl_trace_decode(bytes, sizeof(bytes), &r), -EPROTO);
	sl_trace_encode(&policy, bytes);
	bytes[2] = 0xff; /* a text with no room for its end */
	bytes[3] = 0xff;
	assert_int_equal(sl_trace_decode(bytes, sizeof(bytes), &r), -EPROTO);
}

static void the_longest_text_is_taken_and_one_more_is_not(void **state)
{
	unsigned char bytes[SL_TRACE_MAX + 64] = { 0 };
	struct sl_trace_record r = { .type = SL_TRACE_POLICY, .text_length = SL_TRACE_TEXT - 1 };
	struct sl_trace_record out;
	size_t size;

	memset(r.text, 'x', r.text_length);
	size = sl_trace_encode(&r, bytes);
	assert_int_equal(sl_trace_decode(bytes, sizeof(bytes), &out), size);
	assert_int_equal(out.text_length, SL_TRACE_TEXT - 1);
	assert_int_equal(strlen(out.text), SL_TRACE_TEXT - 1);
	size++;
	bytes[2] = (unsigned char)size;
	bytes[3] = (unsigned char)(size >> 8);
	assert_int_equal(sl_trace_decode(bytes, sizeof(bytes), &out), -EPROTO);
}

static void a_time_before_0_is_refused(void **state)
{
	struct sl_trace_record in = { .type = SL_TRACE_DONE, .now = -1 }, out;
	unsigned char bytes[SL_TRACE_MAX];
	size_t size = sl_trace_encode(&in, bytes);

	assert_int_equal(sl_trace_decode(bytes, size, &out), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_comes_back_as_it_went_in),
		cmocka_unit_test(a_record_has_the_bytes_of_the_format),
		cmocka_unit_test(of_a_record_that_is_not_all_there_nothing_is_read),
		cmocka_unit_test(unknown_types_are_refused),
		cmocka_unit_test(a_size_that_its_type_cannot_have_is_refused),
		cmocka_unit_test(the_longest_text_is_taken_and_one_more_is_not),
		cmocka_unit_test(a_time_before_0_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
