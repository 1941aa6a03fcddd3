/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between a client and an I/O node: encoding and decoding. sluice-protocol(7)
 * describes it for other implementations.
 *
 * Numbers are assembled from single bytes, independent of byte order, struct padding and alignment.
 * Example, "read 4096 bytes at offset 65536 of file 3", with tag 7 and everything that is not shown
 * 0:
 *
 *	 0  53 4c 55 31   magic, "SLU1"
 *	 4  06 00         type SL_PREAD
 *	16  07            tag
 *	32  03            file
 *	42  01            offset, 0x10000
 *	49  10            count, 0x1000
 *
 * A decoder accepts exactly the output of an encoder for values in range, so encoding again gives
 * the same bytes: no data can hide behind the end of a text or in an unknown flag, and each value
 * has one representation. The caller checks what depends on more than these bytes (whether the file
 * exists, whether the peer has sent HELLO). A decoder that refuses has not changed its output.
 * Everything is constant time except texts, which are at most SL_JOB_NAME_MAX long.
 *
 * A job's number is its name, if that is one, else the 64-bit FNV-1a hash of the name (Fowler, Noll
 * and Vo): h = (h ^ byte) * 0x100000001b3 from 0xcbf29ce484222325 on, so "a" is 0xaf63dc4c8601ec8c.
 * The hash distinguishes jobs but does not protect against deliberate collisions: a client that may
 * connect could give the same name anyway. Unlike FNV it is never 0, so 0 is only the job of that
 * name.
 */
#include "wire/proto.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/ds/fnv.h"
#include "sluice.h"
#include "wire/shm.h"

#define PR_STATUS_MAX 4095 /* the largest errno that Linux can return from a system call */

_Static_assert(SL_SHM_SLOTS <= 64, "a slot is a bit of 64");

/* ---- bytes ---- */

static inline void pr_put(unsigned char **at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		(*at)[i] = (unsigned char)(value >> 8 * i);
	*at += bytes;
}

static inline uint64_t pr_get(const unsigned char **at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)(*at)[i] << 8 * i;
	*at += bytes;
	return value;
}

static inline uint16_t pr_get16(const unsigned char **at)
{
	return (uint16_t)pr_get(at, 2);
}

static inline uint32_t pr_get32(const unsigned char **at)
{
	return (uint32_t)pr_get(at, 4);
}

static inline uint64_t pr_get64(const unsigned char **at)
{
	return pr_get(at, 8);
}

/* Fill with zeros behind the end, so that the peer does not see old stack contents. */
static void pr_put_text(unsigned char **at, const char text[SL_JOB_NAME_MAX])
{
	size_t length = strnlen(text, SL_JOB_NAME_MAX - 1);

	memcpy(*at, text, length);
	memset(*at + length, 0, SL_JOB_NAME_MAX - length);
	*at += SL_JOB_NAME_MAX;
}

/* False if it does not end, or if something follows the end. */
static bool pr_get_text(const unsigned char **at, char text[SL_JOB_NAME_MAX])
{
	size_t i;

	memcpy(text, *at, SL_JOB_NAME_MAX);
	*at += SL_JOB_NAME_MAX;
	i = strnlen(text, SL_JOB_NAME_MAX);
	if (i == SL_JOB_NAME_MAX)
		return false;
	while (i < SL_JOB_NAME_MAX)
		if (text[i++])
			return false;
	return true;
}

/* ---- frames ---- */

/* Constraints on a frame that depend only on its type. */
struct pr_shape {
	uint32_t shortest, longest; /* payload */
	uint16_t flags;		    /* that may be set */
};

static const struct pr_shape pr_shapes[SL_FRAME_TYPES] = {
	[SL_HELLO] = { SL_HELLO_BYTES, SL_HELLO_BYTES, 0 },
	[SL_WELCOME] = { SL_WELCOME_BYTES, SL_WELCOME_BYTES, 0 },
	[SL_REPLY] = { 0, SL_MAX_PAYLOAD, SL_F_DATA | SL_F_CROWDED },
	[SL_OPEN] = { 0, SL_PATH_BYTES - 1, 0 }, /* a path comes without its final zero */
	[SL_CLOSE] = { 0, 0, 0 },
	[SL_PREAD] = { 0, 0, 0 },
	[SL_PWRITE] = { 1, SL_MAX_PAYLOAD, SL_F_APPEND },
	[SL_FSYNC] = { 0, 0, SL_F_DATASYNC },
	[SL_CONTROL] = { 1, SL_MAX_PAYLOAD, 0 },
	[SL_CHALLENGE] = { SL_NONCE_BYTES + SL_PROOF_BYTES, SL_NONCE_BYTES + SL_PROOF_BYTES, 0 },
	[SL_PROOF] = { SL_PROOF_BYTES, SL_PROOF_BYTES, 0 },
	[SL_LEASE] = { 0, 0, 0 },
	[SL_SIZE] = { 0, 0, 0 },
	[SL_CREDENTIAL] = { 1, SL_CREDENTIAL_MAX - 1, 0 },
};

static bool pr_frame_valid(const struct sl_frame *f)
{
	const struct pr_shape *shape;

	if (f->type < SL_HELLO || f->type >= SL_FRAME_TYPES)
		return false;
	shape = &pr_shapes[f->type];
	if (f->length < shape->shortest || f->length > shape->longest || f->flags & ~shape->flags)
		return false;
	switch (f->type) {
	case SL_REPLY:
		return f->status >= 0 && f->status <= PR_STATUS_MAX;
	case SL_PREAD: /* the answer must fit into one frame */
		return f->status == 0 && f->count >= 1 && f->count <= SL_MAX_PAYLOAD;
	case SL_PWRITE:
		return f->status == 0 && f->count == f->length;
	default:
		return f->status == 0;
	}
}

void sl_frame_encode(const struct sl_frame *f, unsigned char out[SL_FRAME_BYTES])
{
	unsigned char *at = out;

	pr_put(&at, SL_FRAME_MAGIC, 4);
	pr_put(&at, f->type, 2);
	pr_put(&at, f->flags, 2);
	pr_put(&at, f->length, 4);
	pr_put(&at, (uint32_t)f->status, 4);
	pr_put(&at, f->tag, 8);
	pr_put(&at, f->job, 8);
	pr_put(&at, f->file, 8);
	pr_put(&at, f->offset, 8);
	pr_put(&at, f->count, 8);
	pr_put(&at, f->epoch, 8);
}

int sl_frame_decode(const unsigned char in[SL_FRAME_BYTES], struct sl_frame *f)
{
	const unsigned char *at = in;
	struct sl_frame read;

	if (pr_get32(&at) != SL_FRAME_MAGIC)
		return -EPROTO;
	read.type = pr_get16(&at);
	read.flags = pr_get16(&at);
	read.length = pr_get32(&at);
	read.status = (int32_t)pr_get32(&at);
	read.tag = pr_get64(&at);
	read.job = pr_get64(&at);
	read.file = pr_get64(&at);
	read.offset = pr_get64(&at);
	read.count = pr_get64(&at);
	read.epoch = pr_get64(&at);
	if (!pr_frame_valid(&read))
		return -EPROTO;
	*f = read;
	return 0;
}

/* ---- HELLO ---- */

void sl_hello_encode(const struct sl_hello *h, unsigned char out[SL_HELLO_BYTES])
{
	unsigned char *at = out;

	pr_put(&at, h->version, 4);
	pr_put(&at, h->caps, 4);
	pr_put(&at, h->pid, 4);
	pr_put(&at, h->weight, 4);
	pr_put(&at, h->min_bps, 8);
	pr_put(&at, h->max_bps, 8);
	pr_put(&at, h->burst_bytes, 8);
	pr_put(&at, (uint64_t)h->period_ns, 8);
	pr_put(&at, h->best_effort, 4);
	pr_put(&at, h->procs, 4);
	pr_put(&at, h->nodes, 4);
	pr_put_text(&at, h->job);
	memcpy(at, h->nonce, SL_NONCE_BYTES);
}

/*
 * A name is written to tables, logs and JSON unchanged, so it must be visible ASCII without spaces.
 */
static bool pr_name_valid(const char *name)
{
	for (; *name; name++)
		if (*name <= ' ' || *name > '~')
			return false;
	return true;
}

/*
 * Any version except 0 is decoded, so that a node can tell a client of another version which
 * versions it supports: HELLO keeps its layout as long as the magic of frames stays the same.
 * Unknown capabilities are accepted too; the node leaves them out of its answer.
 */
static bool pr_hello_valid(const struct sl_hello *h)
{
	return h->version != 0 && h->weight <= SL_MAX_WEIGHT && h->min_bps <= SL_MAX_RATE &&
	       h->max_bps <= SL_MAX_RATE && h->burst_bytes <= SL_MAX_LENGTH && h->period_ns >= 0 &&
	       h->best_effort <= 1 && pr_name_valid(h->job);
}

int sl_hello_decode(const unsigned char *in, size_t length, struct sl_hello *h)
{
	const unsigned char *at = in;
	struct sl_hello read;

	if (length != SL_HELLO_BYTES)
		return -EPROTO;
	read.version = pr_get32(&at);
	read.caps = pr_get32(&at);
	read.pid = pr_get32(&at);
	read.weight = pr_get32(&at);
	read.min_bps = pr_get64(&at);
	read.max_bps = pr_get64(&at);
	read.burst_bytes = pr_get64(&at);
	read.period_ns = (int64_t)pr_get64(&at);
	read.best_effort = pr_get32(&at);
	read.procs = pr_get32(&at);
	read.nodes = pr_get32(&at);
	if (!pr_get_text(&at, read.job) || !pr_hello_valid(&read))
		return -EPROTO;
	memcpy(read.nonce, at, SL_NONCE_BYTES);
	*h = read;
	return 0;
}

/* ---- WELCOME ---- */

void sl_welcome_encode(const struct sl_welcome *w, unsigned char out[SL_WELCOME_BYTES])
{
	unsigned char *at = out;

	pr_put(&at, w->version, 4);
	pr_put(&at, w->caps, 4);
	pr_put(&at, w->job, 8);
	pr_put(&at, w->epoch, 8);
	pr_put(&at, w->client, 4);
	pr_put(&at, w->slots, 4);
	pr_put(&at, w->slot_bytes, 4);
	pr_put(&at, w->workers, 4);
	pr_put(&at, w->segment_bytes, 8);
	pr_put(&at, w->bells_bytes, 8);
}

/* Whether the layout has room for every slot, worker and client; without a segment it must be 0. */
static bool pr_layout_valid(const struct sl_welcome *w)
{
	if (!(w->caps & SL_CAP_SHM))
		return !w->client && !w->slots && !w->slot_bytes && !w->workers &&
		       !w->segment_bytes && !w->bells_bytes;
	return w->client < SL_SHM_CLIENTS && w->slots >= 1 && w->slots <= 64 &&
	       w->slot_bytes >= 1 && w->workers >= 1 && w->workers <= SL_SHM_WORKERS &&
	       w->segment_bytes > (uint64_t)w->slots * w->slot_bytes &&
	       w->bells_bytes >= sizeof(struct sl_bells);
}

int sl_welcome_decode(const unsigned char *in, size_t length, struct sl_welcome *w)
{
	const unsigned char *at = in;
	struct sl_welcome read;

	if (length != SL_WELCOME_BYTES)
		return -EPROTO;
	read.version = pr_get32(&at);
	read.caps = pr_get32(&at);
	read.job = pr_get64(&at);
	read.epoch = pr_get64(&at);
	read.client = pr_get32(&at);
	read.slots = pr_get32(&at);
	read.slot_bytes = pr_get32(&at);
	read.workers = pr_get32(&at);
	read.segment_bytes = pr_get64(&at);
	read.bells_bytes = pr_get64(&at);
	/* The capabilities in use were offered by this side, so unknown ones are an error. */
	if (read.version != SL_PROTO_VERSION || read.caps & ~(uint32_t)SL_CAP_SHM ||
	    !pr_layout_valid(&read))
		return -EPROTO;
	*w = read;
	return 0;
}

/* ---- jobs ---- */

static bool pr_number(const char *text, uint64_t *out)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++)
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return false;
	*out = value;
	return true;
}

bool sl_tag_is_good(const char *tag)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-_.";
	size_t length = strspn(tag, good);

	return length && length < SL_TAG_MAX && !tag[length];
}

const char *sl_tag_of(const char *job)
{
	const char *colon = strrchr(job, SL_TAG_COLON);

	if (!colon || colon == job || strlen(colon + 1) >= SL_TAG_MAX)
		return NULL;
	return sl_tag_is_good(colon + 1 + (colon[1] == SL_TAG_RULE)) ? colon + 1 : NULL;
}

uint64_t sl_job_number(const char *name)
{
	uint64_t number;

	if (pr_number(name, &number))
		return number;
	number = sl_fnv(SL_FNV, name, strlen(name));
	return number ? number : SL_FNV;
}
