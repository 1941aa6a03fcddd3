/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as records of a trace: what is taken is encoded as it was. */
#include <assert.h>
#include <string.h>

#include "sched/trace.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char again[SL_TRACE_MAX];
	struct sl_trace_record r;
	long n;

	for (size_t at = 0; (n = sl_trace_decode(data + at, size - at, &r)) > 0; at += (size_t)n) {
		assert((size_t)n <= size - at && n <= SL_TRACE_MAX);
		assert(r.type >= SL_TRACE_CONFIG && r.type < SL_TRACE_TYPES && r.now >= 0);
		assert(r.text_length < SL_TRACE_TEXT && r.text[r.text_length] == 0);
		assert(sl_trace_encode(&r, again) == (size_t)n);
		assert(!memcmp(again, data + at, (size_t)n));
	}
	return 0;
}
