/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol's codec: the bytes of each message, what is refused, and the numbers of jobs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sluice.h"
#include "wire/proto.h"
#include "wire/shm.h"
#include "wire/turn.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- frames ---- */

/* One that is accepted, of each type. */
static const struct sl_frame plain[SL_FRAME_TYPES] = {
	[SL_HELLO] = { .type = SL_HELLO, .length = SL_HELLO_BYTES },
	[SL_WELCOME] = { .type = SL_WELCOME, .length = SL_WELCOME_BYTES },
	[SL_REPLY] = { .type = SL_REPLY },
	[SL_OPEN] = { .type = SL_OPEN },
	[SL_CLOSE] = { .type = SL_CLOSE, .file = 1 },
	[SL_PREAD] = { .type = SL_PREAD, .file = 1, .count = 1 },
	[SL_PWRITE] = { .type = SL_PWRITE, .file = 1, .count = 1, .length = 1 },
	[SL_FSYNC] = { .type = SL_FSYNC, .file = 1 },
	[SL_CONTROL] = { .type = SL_CONTROL, .length = 1 },
	[SL_CHALLENGE] = { .type = SL_CHALLENGE, .length = SL_NONCE_BYTES + SL_PROOF_BYTES },
	[SL_PROOF] = { .type = SL_PROOF, .length = SL_PROOF_BYTES },
	[SL_LEASE] = { .type = SL_LEASE },
	[SL_SIZE] = { .type = SL_SIZE, .file = 1 },
	[SL_CREDENTIAL] = { .type = SL_CREDENTIAL, .length = 1 },
};

static void same_frame(const struct sl_frame *a, const struct sl_frame *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->length, b->length);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->tag, b->tag);
	assert_int_equal(a->job, b->job);
	assert_int_equal(a->file, b->file);
	assert_int_equal(a->offset, b->offset);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->epoch, b->epoch);
}

static int decode_bytes(const unsigned char bytes[SL_FRAME_BYTES], struct sl_frame *out)
{
	struct sl_frame before;
	int rc;

	memset(out, 0x5a, sizeof(*out));
	memset(&before, 0x5a, sizeof(before));
	rc = sl_frame_decode(bytes, out);
	if (rc)
		assert_memory_equal(out, &before, sizeof(before));
	return rc;
}

static int recode(struct sl_frame f, struct sl_frame *out)
{
	unsigned char bytes[SL_FRAME_BYTES];

	sl_frame_encode(&f, bytes);
	return decode_bytes(bytes, out);
}

static void takes(struct sl_frame f)
{
	struct sl_frame out;

	if (recode(f, &out))
		fail_msg("type %u, flags %u, length %u, status %d, count %llu: refused", f.type,
			 f.flags, f.length, f.status, (unsigned long long)f.count);
	same_frame(&f, &out);
}

static void refuses(struct sl_frame f)
{
	struct sl_frame out;
	int rc = recode(f, &out);

	if (rc != -EPROTO)
		fail_msg("type %u, flags %u, length %u, status %d, count %llu: %d", f.type, f.flags,
			 f.length, f.status, (unsigned long long)f.count, rc);
}

static void a_frame_has_the_bytes_that_are_documented(void **state)
{
	static const unsigned char bytes[SL_FRAME_BYTES] = {
		0x53, 0x4c, 0x55, 0x31, 0x07, 0x00, 0x01, 0x00, /* "SLU1", PWRITE, append */
		0x03, 0x02, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, /* length 0x10203, status */
		0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* tag */
		0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, /* job */
		0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, /* file */
		0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, /* offset */
		0x03, 0x02, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, /* count */
		0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0xe1, /* epoch */
	};
	const struct sl_frame f = {
		.type = SL_PWRITE,
		.flags = SL_F_APPEND,
		.length = 0x10203,
		.tag = UINT64_C(0x1112131415161718),
		.job = UINT64_C(0x2122232425262728),
		.file = UINT64_C(0x3132333435363738),
		.offset = UINT64_C(0x4142434445464748),
		.count = 0x10203,
		.epoch = UINT64_C(0xe162636465666768),
	};
	unsigned char out[SL_FRAME_BYTES];
	struct sl_frame back;

	sl_frame_encode(&f, out);
	assert_memory_equal(out, bytes, sizeof(bytes));
	assert_int_equal(decode_bytes(bytes, &back), 0);
	same_frame(&back, &f);
}

/* EXAMPLE of sluice-protocol(7). */
static void the_example_of_the_manual_page_is_right(void **state)
{
	static const unsigned char bytes[SL_FRAME_BYTES] = {
		0x53, 0x4c, 0x55, 0x31, 0x06, [16] = 0x07, [32] = 0x03, [42] = 0x01, [49] = 0x10,
	};
	struct sl_frame f;

	assert_int_equal(decode_bytes(bytes, &f), 0);
	same_frame(&f,
		   &(struct sl_frame){
			   .type = SL_PREAD, .tag = 7, .file = 3, .offset = 65536, .count = 4096 });
}

static void a_plain_frame_of_every_type_is_accepted(void **state)
{
	for (unsigned type = 1; type < SL_FRAME_TYPES; type++)
		takes(plain[type]);
}

static void a_frame_with_one_bit_of_the_magic_changed_is_refused(void **state)
{
	unsigned char bytes[SL_FRAME_BYTES];
	struct sl_frame out;

	for (unsigned bit = 0; bit < 32; bit++) {
		sl_frame_encode(&plain[SL_CLOSE], bytes);
		bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
		assert_int_equal(decode_bytes(bytes, &out), -EPROTO);
	}
}

static void types_that_do_not_exist_are_refused(void **state)
{
	struct sl_frame f = { .length = 0 };

	for (uint32_t type = 0; type <= UINT16_MAX; type++)
		if (type == 0 || type >= SL_FRAME_TYPES) {
			f.type = (uint16_t)type;
			refuses(f);
		}
}

static void only_a_write_appends_and_only_a_sync_is_of_data(void **state)
{
	for (unsigned type = 1; type < SL_FRAME_TYPES; type++)
		for (unsigned bit = 0; bit < 16; bit++) {
			struct sl_frame f = plain[type];

			f.flags = (uint16_t)(1U << bit);
			if ((type == SL_PWRITE && f.flags == SL_F_APPEND) ||
			    (type == SL_FSYNC && f.flags == SL_F_DATASYNC) ||
			    (type == SL_REPLY && (f.flags & (SL_F_DATA | SL_F_CROWDED))))
				takes(f);
			else
				refuses(f);
		}
}

static void only_a_reply_has_a_status_and_it_is_an_errno(void **state)
{
	static const int32_t odd[] = { -1, 4096, INT32_MAX, INT32_MIN };
	struct sl_frame f;

	for (unsigned type = 1; type < SL_FRAME_TYPES; type++) {
		f = plain[type];
		f.status = EIO;
		if (type == SL_REPLY)
			takes(f);
		else
			refuses(f);
		for (size_t i = 0; i < COUNT(odd); i++) {
			f.status = odd[i];
			refuses(f);
		}
	}
	f = plain[SL_REPLY];
	f.status = 4095;
	takes(f);
}

static void the_length_of_a_payload_is_what_its_type_allows(void **state)
{
	static const struct {
		uint32_t shortest, longest;
	} limits[SL_FRAME_TYPES] = {
		[SL_HELLO] = { 188, 188 },     [SL_WELCOME] = { 56, 56 },
		[SL_REPLY] = { 0, 4194304 },   [SL_OPEN] = { 0, 4095 },
		[SL_CLOSE] = { 0, 0 },	       [SL_PREAD] = { 0, 0 },
		[SL_PWRITE] = { 1, 4194304 },  [SL_FSYNC] = { 0, 0 },
		[SL_CONTROL] = { 1, 4194304 }, [SL_CHALLENGE] = { 96, 96 },
		[SL_PROOF] = { 32, 32 },       [SL_LEASE] = { 0, 0 },
		[SL_SIZE] = { 0, 0 },	       [SL_CREDENTIAL] = { 1, 2047 },
	};

	for (unsigned type = 1; type < SL_FRAME_TYPES; type++) {
		const uint32_t lengths[] = { 0,
					     1,
					     limits[type].shortest - 1,
					     limits[type].shortest,
					     limits[type].longest,
					     limits[type].longest + 1,
					     SL_MAX_PAYLOAD + 1,
					     UINT32_MAX };

		for (size_t i = 0; i < COUNT(lengths); i++) {
			struct sl_frame f = plain[type];

			f.length = lengths[i];
			if (type == SL_PWRITE)
				f.count = f.length;
			if (f.length >= limits[type].shortest && f.length <= limits[type].longest)
				takes(f);
			else
				refuses(f);
		}
	}
}

static void a_write_says_the_same_length_twice(void **state)
{
	struct sl_frame f = plain[SL_PWRITE];

	f.length = 4096;
	f.count = 4096;
	takes(f);
	f.count = 4095;
	refuses(f);
	f.count = 4097;
	refuses(f);
	f.count = UINT64_C(0x100000000) + 4096; /* equal in the lower half */
	refuses(f);
}

static void a_read_asks_for_something_that_fits_one_reply(void **state)
{
	struct sl_frame f = plain[SL_PREAD];

	f.count = SL_MAX_PAYLOAD;
	takes(f);
	f.count = 0;
	refuses(f);
	f.count = SL_MAX_PAYLOAD + 1;
	refuses(f);
	f.count = UINT64_C(0x100000000) + 1;
	refuses(f);
}

/* ---- HELLO ---- */

static const struct sl_hello full_hello = {
	.version = 1,
	.caps = SL_CAP_SHM,
	.pid = 0x01020304,
	.weight = SL_MAX_WEIGHT,
	.min_bps = UINT64_C(0x0001112131415161),
	.max_bps = SL_MAX_RATE,
	.burst_bytes = SL_MAX_LENGTH,
	.period_ns = INT64_MAX,
	.best_effort = 1,
	.procs = 512,
	.nodes = 16,
	.job = "climate-7[3]",
	.nonce = "sixty-four bytes of any value, \xff too",
};

static int hello_bytes(const unsigned char *bytes, size_t length, struct sl_hello *out)
{
	struct sl_hello before;
	int rc;

	memset(out, 0x5a, sizeof(*out));
	memset(&before, 0x5a, sizeof(before));
	rc = sl_hello_decode(bytes, length, out);
	if (rc)
		assert_memory_equal(out, &before, sizeof(before));
	return rc;
}

static int hello(const struct sl_hello *h)
{
	unsigned char bytes[SL_HELLO_BYTES], again[SL_HELLO_BYTES];
	struct sl_hello out;
	int rc;

	sl_hello_encode(h, bytes);
	rc = hello_bytes(bytes, sizeof(bytes), &out);
	if (rc == 0) {
		sl_hello_encode(&out, again);
		assert_memory_equal(bytes, again, sizeof(bytes));
	}
	return rc;
}

static void a_hello_has_the_bytes_that_are_documented(void **state)
{
	unsigned char want[SL_HELLO_BYTES] = {
		0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, /* version, capabilities */
		0x04, 0x03, 0x02, 0x01, 0x40, 0x42, 0x0f, 0x00, /* pid, weight 10^6 */
		0x61, 0x51, 0x41, 0x31, 0x21, 0x11, 0x01, 0x00, /* min */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, /* max 2^50 */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, /* burst 2^40 */
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, /* period */
		0x01, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, /* best effort, processes */
		0x10, 0x00, 0x00, 0x00,				/* nodes */
	};
	unsigned char got[SL_HELLO_BYTES];
	struct sl_hello out;

	memcpy(want + 60, full_hello.job, SL_JOB_NAME_MAX);
	memcpy(want + 124, full_hello.nonce, SL_NONCE_BYTES);
	sl_hello_encode(&full_hello, got);
	assert_memory_equal(got, want, sizeof(want));
	assert_int_equal(hello_bytes(want, sizeof(want), &out), 0);
	assert_int_equal(out.version, 1);
	assert_int_equal(out.caps, SL_CAP_SHM);
	assert_int_equal(out.pid, 0x01020304);
	assert_int_equal(out.weight, SL_MAX_WEIGHT);
	assert_int_equal(out.min_bps, full_hello.min_bps);
	assert_int_equal(out.max_bps, SL_MAX_RATE);
	assert_int_equal(out.burst_bytes, SL_MAX_LENGTH);
	assert_int_equal(out.period_ns, INT64_MAX);
	assert_int_equal(out.best_effort, 1);
	assert_int_equal(out.procs, 512);
	assert_int_equal(out.nodes, 16);
	assert_string_equal(out.job, full_hello.job);
	assert_memory_equal(out.nonce, full_hello.nonce, SL_NONCE_BYTES);
}

static void a_hello_that_says_nothing_but_its_version_is_accepted(void **state)
{
	assert_int_equal(hello(&(struct sl_hello){ .version = 1 }), 0);
}

static void a_hello_of_another_version_is_decoded_for_the_node_to_answer(void **state)
{
	struct sl_hello h = full_hello;

	h.version = 2;
	h.caps = UINT32_MAX;
	assert_int_equal(hello(&h), 0);
	h.version = 0;
	assert_int_equal(hello(&h), -EPROTO);
}

static void a_payload_of_another_size_is_refused(void **state)
{
	unsigned char bytes[SL_HELLO_BYTES + 1] = { 0 };
	struct sl_hello h;
	struct sl_welcome w;

	sl_hello_encode(&full_hello, bytes);
	assert_int_equal(hello_bytes(bytes, SL_HELLO_BYTES, &h), 0);
	for (size_t length = 0; length <= sizeof(bytes); length++)
		if (length != SL_HELLO_BYTES)
			assert_int_equal(hello_bytes(bytes, length, &h), -EPROTO);
	assert_int_equal(hello_bytes(NULL, 0, &h), -EPROTO);

	sl_welcome_encode(&(struct sl_welcome){ .version = SL_PROTO_VERSION }, bytes);
	assert_int_equal(sl_welcome_decode(bytes, SL_WELCOME_BYTES, &w), 0);
	for (size_t length = 0; length <= sizeof(bytes); length++)
		if (length != SL_WELCOME_BYTES)
			assert_int_equal(sl_welcome_decode(bytes, length, &w), -EPROTO);
	assert_int_equal(sl_welcome_decode(NULL, 0, &w), -EPROTO);
}

static void numbers_beyond_those_of_a_job_are_refused(void **state)
{
	struct sl_hello h;

	assert_int_equal(hello(&full_hello), 0);
	h = full_hello, h.min_bps = SL_MAX_RATE;
	assert_int_equal(hello(&h), 0);
	h = full_hello, h.weight++;
	assert_int_equal(hello(&h), -EPROTO);
	h = full_hello, h.min_bps = SL_MAX_RATE + 1;
	assert_int_equal(hello(&h), -EPROTO);
	h = full_hello, h.max_bps++;
	assert_int_equal(hello(&h), -EPROTO);
	h = full_hello, h.burst_bytes++;
	assert_int_equal(hello(&h), -EPROTO);
	h = full_hello, h.period_ns = -1;
	assert_int_equal(hello(&h), -EPROTO);
	h = full_hello, h.best_effort = 2;
	assert_int_equal(hello(&h), -EPROTO);
}

#define TEXT_AT 60 /* of the job's name in a HELLO */

static void a_text_that_does_not_end_is_refused(void **state)
{
	unsigned char bytes[SL_HELLO_BYTES];
	struct sl_hello out;

	sl_hello_encode(&full_hello, bytes);
	memset(bytes + TEXT_AT, 'x', SL_JOB_NAME_MAX);
	assert_int_equal(hello_bytes(bytes, sizeof(bytes), &out), -EPROTO);
	bytes[TEXT_AT + SL_JOB_NAME_MAX - 1] = 0;
	assert_int_equal(hello_bytes(bytes, sizeof(bytes), &out), 0);
	assert_int_equal(strlen(out.job), SL_JOB_NAME_MAX - 1);
}

static void nothing_hides_behind_the_end_of_a_text(void **state)
{
	unsigned char bytes[SL_HELLO_BYTES];
	struct sl_hello out;

	for (size_t k = 1; k < SL_JOB_NAME_MAX; k++) {
		sl_hello_encode(&full_hello, bytes);
		memset(bytes + TEXT_AT, 0, SL_JOB_NAME_MAX);
		assert_int_equal(hello_bytes(bytes, sizeof(bytes), &out), 0);
		bytes[TEXT_AT + k] = 'x';
		assert_int_equal(hello_bytes(bytes, sizeof(bytes), &out), -EPROTO);
	}
}

static void a_jobs_name_is_ascii_that_can_be_seen(void **state)
{
	struct sl_hello h = { .version = 1 };

	for (int c = 1; c < 256; c++) {
		memcpy(h.job, "a?b", 4);
		h.job[1] = (char)c;
		assert_int_equal(hello(&h), c > ' ' && c < 127 ? 0 : -EPROTO);
	}
}

static void the_encoder_ends_texts_and_passes_on_nothing_behind_them(void **state)
{
	struct sl_hello h = { .version = 1 }, out;
	unsigned char bytes[SL_HELLO_BYTES];

	memset(h.job, 'j', sizeof(h.job)); /* no end */
	sl_hello_encode(&h, bytes);
	assert_int_equal(hello_bytes(bytes, sizeof(bytes), &out), 0);
	assert_int_equal(strlen(out.job), SL_JOB_NAME_MAX - 1);
	h.job[3] = 0; /* the rest is what was there before */
	sl_hello_encode(&h, bytes);
	assert_int_equal(hello_bytes(bytes, sizeof(bytes), &out), 0);
	assert_string_equal(out.job, "jjj");
}

/* ---- WELCOME ---- */

static const struct sl_welcome full_welcome = {
	.version = SL_PROTO_VERSION,
	.caps = SL_CAP_SHM,
	.job = UINT64_C(0x1112131415161718),
	.epoch = UINT64_C(0xe122232425262728),
	.client = SL_SHM_CLIENTS - 1,
	.slots = SL_SHM_SLOTS,
	.slot_bytes = SL_SHM_SLOT_BYTES,
	.workers = SL_SHM_WORKERS,
	.segment_bytes = SL_SEGMENT_BYTES,
	.bells_bytes = sizeof(struct sl_bells),
};

static int welcome(const struct sl_welcome *w)
{
	unsigned char bytes[SL_WELCOME_BYTES], again[SL_WELCOME_BYTES];
	struct sl_welcome out, before;
	int rc;

	sl_welcome_encode(w, bytes);
	memset(&out, 0x5a, sizeof(out));
	memset(&before, 0x5a, sizeof(before));
	rc = sl_welcome_decode(bytes, sizeof(bytes), &out);
	if (rc) {
		assert_memory_equal(&out, &before, sizeof(out));
	} else {
		sl_welcome_encode(&out, again);
		assert_memory_equal(bytes, again, sizeof(bytes));
	}
	return rc;
}

static void a_welcome_has_the_bytes_that_are_documented(void **state)
{
	static const unsigned char want[SL_WELCOME_BYTES] = {
		0x04, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, /* version, capabilities */
		0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* job */
		0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0xe1, /* epoch */
		0xff, 0x0f, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, /* client, slots */
		0x00, 0x00, 0x02, 0x00, 0x01, 0x00, 0x00, 0x00, /* slot bytes, workers */
		0x00, 0x10, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, /* segment bytes */
		0x00, 0x00, 0x03, 0x02, 0x01, 0x00, 0x00, 0x00, /* bells bytes */
	};
	struct sl_welcome w = full_welcome, out;
	unsigned char got[SL_WELCOME_BYTES];

	w.workers = 1;
	w.segment_bytes = 0x401000;
	w.bells_bytes = UINT64_C(0x102030000);
	sl_welcome_encode(&w, got);
	assert_memory_equal(got, want, sizeof(want));
	assert_int_equal(sl_welcome_decode(want, sizeof(want), &out), 0);
	assert_int_equal(out.version, SL_PROTO_VERSION);
	assert_int_equal(out.caps, SL_CAP_SHM);
	assert_int_equal(out.job, w.job);
	assert_int_equal(out.epoch, w.epoch);
	assert_int_equal(out.client, SL_SHM_CLIENTS - 1);
	assert_int_equal(out.slots, SL_SHM_SLOTS);
	assert_int_equal(out.slot_bytes, SL_SHM_SLOT_BYTES);
	assert_int_equal(out.workers, 1);
	assert_int_equal(out.segment_bytes, 0x401000);
	assert_int_equal(out.bells_bytes, w.bells_bytes);
}

static void a_welcome_is_of_this_version_and_uses_nothing_unknown(void **state)
{
	struct sl_welcome w;

	assert_int_equal(welcome(&full_welcome), 0);
	w = full_welcome, w.version = 0;
	assert_int_equal(welcome(&w), -EPROTO);
	w = full_welcome, w.version = SL_PROTO_VERSION + 1;
	assert_int_equal(welcome(&w), -EPROTO);
	w = full_welcome, w.caps |= 2;
	assert_int_equal(welcome(&w), -EPROTO);
	w = full_welcome, w.caps |= 0x80000000U;
	assert_int_equal(welcome(&w), -EPROTO);
}

static void a_layout_in_which_something_has_no_place_is_refused(void **state)
{
	struct sl_welcome w;

	w = full_welcome, w.client = SL_SHM_CLIENTS;
	assert_int_equal(welcome(&w), -EPROTO);
	w = full_welcome, w.slots = 0;
	assert_int_equal(welcome(&w), -EPROTO);
	w = full_welcome, w.slots = 65, w.segment_bytes *= 3;
	assert_int_equal(welcome(&w), -EPROTO);
	w = full_welcome, w.slot_bytes = 0;
	assert_int_equal(welcome(&w), -EPROTO);
	w = full_welcome, w.workers = 0;
	assert_int_equal(welcome(&w), -EPROTO);
	w = full_welcome, w.workers = SL_SHM_WORKERS + 1, w.bells_bytes *= 2;
	assert_int_equal(welcome(&w), -EPROTO);
	w = full_welcome, w.segment_bytes = (uint64_t)w.slots * w.slot_bytes;
	assert_int_equal(welcome(&w), -EPROTO);
	/* 64 times 2^31 is 0 in 32 bits */
	w = full_welcome, w.slots = 64, w.slot_bytes = 0x80000000U, w.segment_bytes = 4096;
	assert_int_equal(welcome(&w), -EPROTO);
	w = full_welcome, w.bells_bytes--;
	assert_int_equal(welcome(&w), -EPROTO);
}

static void the_smallest_and_the_largest_layout_are_accepted(void **state)
{
	struct sl_welcome w = full_welcome;

	w.client = 0;
	w.slots = 1;
	w.slot_bytes = 1;
	w.workers = 1;
	w.segment_bytes = 2;
	w.bells_bytes = sizeof(struct sl_bells);
	assert_int_equal(welcome(&w), 0);
	w = full_welcome;
	w.slots = 64;
	w.slot_bytes = UINT32_MAX;
	w.segment_bytes = UINT64_MAX;
	assert_int_equal(welcome(&w), 0);
}

static void without_shared_memory_there_is_no_layout(void **state)
{
	struct sl_welcome w = { .version = SL_PROTO_VERSION, .job = 7, .epoch = 8 };

	assert_int_equal(welcome(&w), 0);
	for (unsigned i = 0; i < 6; i++) {
		struct sl_welcome odd = w;

		odd.client = i == 0;
		odd.slots = i == 1;
		odd.slot_bytes = i == 2;
		odd.workers = i == 3;
		odd.segment_bytes = i == 4;
		odd.bells_bytes = i == 5;
		assert_int_equal(welcome(&odd), -EPROTO);
	}
}

/* A layout is a promise to clients that were built elsewhere. */
static void shared_memory_lies_as_documented(void **state)
{
	assert_int_equal(offsetof(struct sl_slot_shm, state), 0);
	assert_int_equal(offsetof(struct sl_slot_shm, signal), 4);
	assert_int_equal(offsetof(struct sl_slot_shm, waiting), 8);
	assert_int_equal(offsetof(struct sl_slot_shm, leader), 12);
	assert_int_equal(offsetof(struct sl_slot_shm, op), 16);
	assert_int_equal(offsetof(struct sl_slot_shm, flags), 20);
	assert_int_equal(offsetof(struct sl_slot_shm, file), 24);
	assert_int_equal(offsetof(struct sl_slot_shm, offset), 32);
	assert_int_equal(offsetof(struct sl_slot_shm, length), 40);
	assert_int_equal(offsetof(struct sl_slot_shm, result), 48);
	assert_int_equal(sizeof(struct sl_slot_shm), 64);
	assert_int_equal(offsetof(struct sl_segment, moved), 512);
	assert_int_equal(offsetof(struct sl_segment, slot), 576);
	assert_int_equal(SL_SEGMENT_DATA, 4096);
	assert_int_equal(SL_SEGMENT_BYTES, 4096 + 32 * 131072);
	assert_int_equal(offsetof(struct sl_bell, rings), 0);
	assert_int_equal(offsetof(struct sl_bell, sleeping), 4);
	assert_int_equal(offsetof(struct sl_bell, executing), 8);
	assert_int_equal(offsetof(struct sl_bell, ready), 64);
	assert_int_equal(sizeof(struct sl_bell), 576);
	assert_int_equal(offsetof(struct sl_turn_node, epoch), 16);
	assert_int_equal(offsetof(struct sl_turn_node, alive_ns), 24);
	assert_int_equal(offsetof(struct sl_turn_node, rings), 64);
	assert_int_equal(offsetof(struct sl_turn_node, sleeping), 68);
	assert_int_equal(offsetof(struct sl_turn_node, ready), 128);
	assert_int_equal(offsetof(struct sl_turn_job, mode), 64);
	assert_int_equal(offsetof(struct sl_turn_job, credit), 128);
	assert_int_equal(offsetof(struct sl_turn_job, grants), 256);
	assert_int_equal(sizeof(struct sl_turn_cpu), 64);
	assert_int_equal(sizeof(struct sl_turn_slot), 64);
	assert_int_equal(sizeof(struct sl_bells), 64 * 576 + SL_SHM_CPUS);
}

/* ---- jobs ---- */

static void a_job_that_is_named_by_a_number_has_that_number(void **state)
{
	assert_int_equal(sl_job_number("0"), 0);
	assert_int_equal(sl_job_number("4711"), 4711);
	assert_int_equal(sl_job_number("007"), 7);
	assert_int_equal(sl_job_number("18446744073709551615"), UINT64_MAX);
}

static void any_other_job_has_the_fnv1a_hash_of_its_name(void **state)
{
	assert_int_equal(sl_job_number(""), UINT64_C(0xcbf29ce484222325));
	assert_int_equal(sl_job_number("a"), UINT64_C(0xaf63dc4c8601ec8c));
	assert_int_equal(sl_job_number("foobar"), UINT64_C(0x85944171f73967e8));
	assert_int_equal(sl_job_number("-1"), UINT64_C(0x7d00b07b497d12b));
	/* one too large, and ten times as much, which overflows in the other operation */
	assert_int_equal(sl_job_number("18446744073709551616"), UINT64_C(0xedf2aa6b38fc416d));
	assert_int_equal(sl_job_number("184467440737095516160"), UINT64_C(0x4f98f131d4a31107));
	assert_int_not_equal(sl_job_number("12a"), 12);
	assert_int_not_equal(sl_job_number(" 12"), 12);
}

static void the_tag_of_a_part_is_behind_the_last_colon(void **state)
{
	assert_string_equal(sl_tag_of("climate:ckpt"), "ckpt");
	assert_string_equal(sl_tag_of("1000/42:a:b.c-d_9"), "b.c-d_9");
	assert_null(sl_tag_of("climate"));
	assert_null(sl_tag_of(":ckpt"));
	assert_null(sl_tag_of("climate:"));
	assert_null(sl_tag_of("climate:a/b"));
	assert_true(sl_tag_is_good("1234567890123456789012345678901"));
	assert_false(sl_tag_is_good("12345678901234567890123456789012"));
}

static void no_name_is_hashed_to_0(void **state)
{
	/* These two are known for a 64-bit FNV-1a hash of 0. */
	assert_int_not_equal(sl_job_number("77kepQFQ8Kl"), 0);
	assert_int_not_equal(sl_job_number("!0IC=VloaY"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_has_the_bytes_that_are_documented),
		cmocka_unit_test(the_example_of_the_manual_page_is_right),
		cmocka_unit_test(a_plain_frame_of_every_type_is_accepted),
		cmocka_unit_test(a_frame_with_one_bit_of_the_magic_changed_is_refused),
		cmocka_unit_test(types_that_do_not_exist_are_refused),
		cmocka_unit_test(only_a_write_appends_and_only_a_sync_is_of_data),
		cmocka_unit_test(only_a_reply_has_a_status_and_it_is_an_errno),
		cmocka_unit_test(the_length_of_a_payload_is_what_its_type_allows),
		cmocka_unit_test(a_write_says_the_same_length_twice),
		cmocka_unit_test(a_read_asks_for_something_that_fits_one_reply),
		cmocka_unit_test(a_hello_has_the_bytes_that_are_documented),
		cmocka_unit_test(a_hello_that_says_nothing_but_its_version_is_accepted),
		cmocka_unit_test(a_hello_of_another_version_is_decoded_for_the_node_to_answer),
		cmocka_unit_test(a_payload_of_another_size_is_refused),
		cmocka_unit_test(numbers_beyond_those_of_a_job_are_refused),
		cmocka_unit_test(a_text_that_does_not_end_is_refused),
		cmocka_unit_test(nothing_hides_behind_the_end_of_a_text),
		cmocka_unit_test(a_jobs_name_is_ascii_that_can_be_seen),
		cmocka_unit_test(the_encoder_ends_texts_and_passes_on_nothing_behind_them),
		cmocka_unit_test(a_welcome_has_the_bytes_that_are_documented),
		cmocka_unit_test(a_welcome_is_of_this_version_and_uses_nothing_unknown),
		cmocka_unit_test(a_layout_in_which_something_has_no_place_is_refused),
		cmocka_unit_test(the_smallest_and_the_largest_layout_are_accepted),
		cmocka_unit_test(without_shared_memory_there_is_no_layout),
		cmocka_unit_test(shared_memory_lies_as_documented),
		cmocka_unit_test(a_job_that_is_named_by_a_number_has_that_number),
		cmocka_unit_test(any_other_job_has_the_fnv1a_hash_of_its_name),
		cmocka_unit_test(the_tag_of_a_part_is_behind_the_last_colon),
		cmocka_unit_test(no_name_is_hashed_to_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
