/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding and decoding of trace records: see trace.h. No I/O. */
#include "sched/trace.h"

#include <errno.h>
#include <string.h>

/* The fields of each type, after the header. */
static const struct {
	uint8_t u64s, u32s, text;
} shape[SL_TRACE_TYPES] = {
	[SL_TRACE_CONFIG] = { 1, 5, 1 },   [SL_TRACE_ADD] = { 5, 2, 0 },
	[SL_TRACE_NEXT] = { 0, 1, 0 },	   [SL_TRACE_DONE] = { 0, 0, 0 },
	[SL_TRACE_CANCEL] = { 0, 0, 0 },   [SL_TRACE_JOB] = { 7, 5, 0 },
	[SL_TRACE_REMOVE] = { 1, 0, 0 },   [SL_TRACE_ORDER] = { 1, 0, 1 },
	[SL_TRACE_GRANT] = { 3, 0, 0 },	   [SL_TRACE_POLICY] = { 0, 0, 1 },
	[SL_TRACE_CAPACITY] = { 1, 0, 0 }, [SL_TRACE_LOST] = { 1, 0, 0 },
	[SL_TRACE_FILE] = { 2, 0, 1 },	   [SL_TRACE_RATIO] = { 3, 0, 0 },
};

static unsigned char *put(unsigned char *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*at++ = (unsigned char)(value >> 8 * i);
	return at;
}

static uint64_t get(const unsigned char **at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t) * (*at)++ << 8 * i;
	return value;
}

void sl_trace_job(struct sl_trace_record *r, uint64_t job, const struct sl_job_conf *c, sl_time now)
{
	const uint64_t u64[] = {
		job,	 c->min_bps, c->max_bps, c->burst_bytes, (uint64_t)c->period_ns,
		c->user, c->account
	};
	const uint32_t u32[] = { c->weight, c->best_effort, c->user_weight, c->account_weight,
				 c->nodes };

	memset(r, 0, offsetof(struct sl_trace_record, text));
	r->type = SL_TRACE_JOB;
	r->now = now;
	memcpy(r->u64, u64, sizeof(u64));
	memcpy(r->u32, u32, sizeof(u32));
	r->text[0] = 0;
	r->text_length = 0;
}

void sl_trace_job_conf(const struct sl_trace_record *r, struct sl_job_conf *c)
{
	*c = (struct sl_job_conf){ .min_bps = r->u64[1],
				   .max_bps = r->u64[2],
				   .burst_bytes = r->u64[3],
				   .period_ns = (sl_time)r->u64[4],
				   .user = r->u64[5],
				   .account = r->u64[6],
				   .weight = r->u32[0],
				   .best_effort = r->u32[1],
				   .user_weight = r->u32[2],
				   .account_weight = r->u32[3],
				   .nodes = r->u32[4] };
}

size_t sl_trace_encode(const struct sl_trace_record *r, unsigned char *out)
{
	unsigned char *at = out;
	size_t text = shape[r->type].text ? r->text_length : 0;
	size_t size = 16 + 8U * shape[r->type].u64s + 4U * shape[r->type].u32s + text;

	at = put(at, r->type, 2);
	at = put(at, size, 2);
	at = put(at, r->request, 4);
	at = put(at, (uint64_t)r->now, 8);
	for (unsigned i = 0; i < shape[r->type].u64s; i++)
		at = put(at, r->u64[i], 8);
	for (unsigned i = 0; i < shape[r->type].u32s; i++)
		at = put(at, r->u32[i], 4);
	memcpy(at, r->text, text);
	return size;
}

long sl_trace_decode(const unsigned char *in, size_t have, struct sl_trace_record *r)
{
	const unsigned char *at = in;
	size_t type, size, fixed;

	if (have < 16)
		return 0;
	type = get(&at, 2);
	size = get(&at, 2);
	if (type < SL_TRACE_CONFIG || type >= SL_TRACE_TYPES)
		return -EPROTO;
	fixed = 16 + 8U * shape[type].u64s + 4U * shape[type].u32s;
	if (size < fixed || size > SL_TRACE_MAX || size - fixed > SL_TRACE_TEXT - 1 ||
	    (size > fixed && !shape[type].text))
		return -EPROTO;
	if (have < size)
		return 0;
	memset(r, 0, offsetof(struct sl_trace_record, text));
	r->type = (enum sl_trace_type)type;
	r->request = (uint32_t)get(&at, 4);
	r->now = (sl_time)get(&at, 8);
	if (r->now < 0)
		return -EPROTO;
	for (unsigned i = 0; i < shape[type].u64s; i++)
		r->u64[i] = get(&at, 8);
	for (unsigned i = 0; i < shape[type].u32s; i++)
		r->u32[i] = (uint32_t)get(&at, 4);
	r->text_length = size - fixed;
	memcpy(r->text, at, r->text_length);
	r->text[r->text_length] = 0;
	return (long)size;
}
