/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what a peer sends. The first byte chooses: a stream of frames with their payloads,
 * one frame, a HELLO or WELCOME of any length, or the name of a job.
 *
 * Checked: what is accepted is what sluice-protocol(7) allows, no more and no less, written down
 * here a second time over the bare bytes; what was decoded encodes to the same bytes; what was
 * refused left its output alone. Every message lies in memory of its own, of exactly its size, so
 * that the address sanitizer sees a read beyond it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice.h"
#include "wire/proto.h"
#include "wire/shm.h"
#include "tests/fuzz/fuzz.h"

/* The number in the bytes from `first` on, as the tables of the manual page count them. */
static uint64_t number(const uint8_t *b, unsigned first, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | b[first + bytes];
	return value;
}

static uint8_t *exactly(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size);

	CHECK(copy || size == 0);
	if (size)
		memcpy(copy, data, size);
	return copy;
}

static bool untouched(const void *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((const uint8_t *)p)[i] != 0x5a)
			return false;
	return true;
}

/* ---- what is allowed ---- */

static bool frame_allowed(const uint8_t *b)
{
	uint64_t type = number(b, 4, 2), flags = number(b, 6, 2), length = number(b, 8, 4);
	uint64_t status = number(b, 12, 4), count = number(b, 48, 8);

	if (memcmp(b, "SLU1", 4) != 0 || length > 4194304)
		return false;
	if (type != SL_REPLY && status)
		return false;
	if (type != SL_PWRITE && type != SL_FSYNC && type != SL_REPLY && flags)
		return false;
	switch (type) {
	case SL_HELLO:
		return length == 188;
	case SL_WELCOME:
		return length == 56;
	case SL_REPLY:
		return status < 4096 && (flags & ~UINT64_C(12)) == 0;
	case SL_OPEN:
		return length < 4096;
	case SL_CLOSE:
		return length == 0;
	case SL_PREAD:
		return length == 0 && count > 0 && count <= 4194304;
	case SL_PWRITE:
		return (flags == 0 || flags == 1) && length > 0 && count == length;
	case SL_FSYNC:
		return (flags == 0 || flags == 2) && length == 0;
	case SL_CONTROL:
		return length > 0;
	case SL_CHALLENGE:
		return length == 96;
	case SL_PROOF:
		return length == 32;
	case SL_LEASE:
	case SL_SIZE:
		return length == 0;
	case SL_CREDENTIAL:
		return length > 0 && length < 2048;
	default:
		return false;
	}
}

/* Ends within its 64 bytes, with zeros from there on. */
static bool text_allowed(const uint8_t *text)
{
	bool ended = false;

	for (unsigned i = 0; i < 64; i++) {
		if (ended && text[i])
			return false;
		if (!text[i])
			ended = true;
		else if (text[i] < 0x21 || text[i] > 0x7e)
			return false;
	}
	return ended;
}

static bool hello_allowed(const uint8_t *b, size_t size)
{
	return size == 188 && number(b, 0, 4) != 0 && number(b, 12, 4) <= SL_MAX_WEIGHT &&
	       number(b, 16, 8) <= SL_MAX_RATE && number(b, 24, 8) <= SL_MAX_RATE &&
	       number(b, 32, 8) <= SL_MAX_LENGTH && number(b, 40, 8) <= INT64_MAX &&
	       number(b, 48, 4) <= 1 && text_allowed(b + 60);
}

static bool welcome_allowed(const uint8_t *b, size_t size)
{
	uint64_t slots, workers, slot_bytes;

	if (size != 56 || number(b, 0, 4) != 4 || number(b, 4, 4) > 1)
		return false;
	if (!(number(b, 4, 4) & 1)) {
		for (unsigned i = 24; i < 56; i++)
			if (b[i])
				return false;
		return true;
	}
	slots = number(b, 28, 4);
	slot_bytes = number(b, 32, 4);
	workers = number(b, 36, 4);
	return number(b, 24, 4) < 4096 && slots > 0 && slots <= 64 && slot_bytes > 0 &&
	       workers > 0 && workers <= 64 && number(b, 40, 8) > slots * slot_bytes &&
	       number(b, 48, 8) >= sizeof(struct sl_bells);
}

/* ---- one message ---- */

static bool frame(const uint8_t *data, struct sl_frame *f)
{
	uint8_t *in = exactly(data, SL_FRAME_BYTES), out[SL_FRAME_BYTES];
	bool allowed = frame_allowed(in);
	int rc;

	memset(f, 0x5a, sizeof(*f));
	rc = sl_frame_decode(in, f);
	CHECK(rc == (allowed ? 0 : -EPROTO));
	if (rc) {
		CHECK(untouched(f, sizeof(*f)));
	} else {
		CHECK(f->type == number(in, 4, 2) && f->length == number(in, 8, 4) &&
		      f->tag == number(in, 16, 8) && f->epoch == number(in, 56, 8));
		sl_frame_encode(f, out);
		CHECK(!memcmp(in, out, sizeof(out)));
	}
	free(in);
	return rc == 0;
}

static void hello(const uint8_t *data, size_t size)
{
	uint8_t *in = exactly(data, size), out[SL_HELLO_BYTES];
	bool allowed = hello_allowed(in, size);
	struct sl_hello h;
	int rc;

	memset(&h, 0x5a, sizeof(h));
	rc = sl_hello_decode(in, size, &h);
	CHECK(rc == (allowed ? 0 : -EPROTO));
	if (rc) {
		CHECK(untouched(&h, sizeof(h)));
	} else {
		CHECK(!strcmp(h.job, (const char *)in + 60));
		CHECK(!memcmp(h.nonce, in + 124, sizeof(h.nonce)));
		sl_hello_encode(&h, out);
		CHECK(!memcmp(in, out, sizeof(out)));
	}
	free(in);
}

static void welcome(const uint8_t *data, size_t size)
{
	uint8_t *in = exactly(data, size), out[SL_WELCOME_BYTES];
	bool allowed = welcome_allowed(in, size);
	struct sl_welcome w;
	int rc;

	memset(&w, 0x5a, sizeof(w));
	rc = sl_welcome_decode(in, size, &w);
	CHECK(rc == (allowed ? 0 : -EPROTO));
	if (rc) {
		CHECK(untouched(&w, sizeof(w)));
	} else {
		sl_welcome_encode(&w, out);
		CHECK(!memcmp(in, out, sizeof(out)));
	}
	free(in);
}

/* As a receiver does it: a header, then as much as that says; the first bad one is the last. */
static void stream(const uint8_t *data, size_t size)
{
	struct sl_frame f;

	while (size >= SL_FRAME_BYTES && frame(data, &f)) {
		data += SL_FRAME_BYTES;
		size -= SL_FRAME_BYTES;
		CHECK(f.length <= SL_MAX_PAYLOAD);
		if (size < f.length)
			return;
		if (f.type == SL_HELLO)
			hello(data, f.length);
		else if (f.type == SL_WELCOME)
			welcome(data, f.length);
		data += f.length;
		size -= f.length;
	}
}

static void job(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);
	uint64_t hash = UINT64_C(14695981039346656037), got;
	size_t digits, length;

	CHECK(name);
	if (size)
		memcpy(name, data, size);
	name[size] = '\0';
	length = strlen(name);
	digits = strspn(name, "0123456789");
	got = sl_job_number(name);
	errno = 0;
	if (length && digits == length && (strtoull(name, NULL, 10) != UINT64_MAX || errno == 0)) {
		CHECK(got == strtoull(name, NULL, 10));
	} else {
		for (size_t i = 0; i < length; i++)
			hash = (hash ^ (uint8_t)name[i]) * UINT64_C(1099511628211);
		CHECK(got == hash || hash == 0);
		CHECK(got != 0);
	}
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_frame f;

	if (size == 0)
		return 0;
	switch (data[0] % 5) {
	case 0:
		stream(data + 1, size - 1);
		break;
	case 1:
		if (size > SL_FRAME_BYTES)
			frame(data + 1, &f);
		break;
	case 2:
		hello(data + 1, size - 1);
		break;
	case 3:
		welcome(data + 1, size - 1);
		break;
	default:
		job(data + 1, size - 1);
		break;
	}
	return 0;
}
