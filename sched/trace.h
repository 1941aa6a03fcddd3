/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording of all calls to a scheduler, each with its `now`, and of the results. A scheduler is
 * a pure state machine, so repeating the calls on another one gives the same results: `sluice
 * replay --check` and the simulator do that.
 *
 * A trace is a file: "SLTRACE3", then records, little-endian. A record is a header of 16 bytes and
 * a payload that depends on its type; a text is always last.
 *
 *	 0  u16 type      enum sl_trace_type
 *	 2  u16 size      of the whole record
 *	 4  u32 request   number of a request in the trace: of ADD's, of the first in a batch
 *	 8  i64 now       ns
 *
 *	CONFIG    capacity u64, jobs, files, requests, strict, lend_us u32,
 *	          text: admit \0 share \0 order
 *	ADD       job, client, file, offset, length u64, op, flags u32
 *	NEXT      count u32: requests in the batch that came out, 0: none
 *	DONE      (nothing)
 *	CANCEL    (nothing)
 *	JOB       job, min, max, burst, period, user, account u64,
 *	          weight, best_effort, user_weight, account_weight, nodes u32: added or set
 *	REMOVE    job u64
 *	ORDER     job u64, text: policy, empty for the default
 *	GRANT     job, rate, until u64
 *	POLICY    text: stage=spec
 *	CAPACITY  u64
 *	FILE      offset, length u64, text: name \0 a piece of the file, which a later record names
 *	RATIO     op, bytes, thousandths u64
 *	LOST      u64: records that could not be written fast enough; the rest cannot be checked
 */
#ifndef SL_SCHED_TRACE_H
#define SL_SCHED_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

#define SL_TRACE_MAGIC "SLTRACE3"
#define SL_TRACE_MAX   1024 /* bytes of a record */
#define SL_TRACE_TEXT  (SL_TRACE_MAX - 64)

enum sl_trace_type {
	SL_TRACE_CONFIG = 1,
	SL_TRACE_ADD,
	SL_TRACE_NEXT,
	SL_TRACE_DONE,
	SL_TRACE_CANCEL,
	SL_TRACE_JOB,
	SL_TRACE_REMOVE,
	SL_TRACE_ORDER,
	SL_TRACE_GRANT,
	SL_TRACE_POLICY,
	SL_TRACE_CAPACITY,
	SL_TRACE_LOST,
	SL_TRACE_FILE,
	SL_TRACE_RATIO,
	SL_TRACE_TYPES
};

struct sl_trace_record {
	enum sl_trace_type type;
	uint32_t request;
	sl_time now;
	uint64_t u64[7]; /* in the order above */
	uint32_t u32[5];
	char text[SL_TRACE_TEXT]; /* CONFIG: three strings one after the other */
	size_t text_length;	  /* without the final 0 */
};

/* Make a JOB record from the configuration of a job, and the reverse. */
void sl_trace_job(struct sl_trace_record *r, uint64_t job, const struct sl_job_conf *c,
		  sl_time now);
void sl_trace_job_conf(const struct sl_trace_record *r, struct sl_job_conf *c);
/* Bytes written to out, at most SL_TRACE_MAX. */
size_t sl_trace_encode(const struct sl_trace_record *r, unsigned char *out);
/*
 * Decode the record at `in`, of which `have` bytes are available. Returns its size, 0 if it is
 * incomplete, or -EPROTO.
 */
long sl_trace_decode(const unsigned char *in, size_t have, struct sl_trace_record *r);

#endif
