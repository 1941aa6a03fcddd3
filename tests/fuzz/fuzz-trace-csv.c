/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the CSV of a trace. Checked: a message names a line that the text has; what is
 * accepted has all its bytes in the bins, and whatever is found in them is a finite period inside
 * the window.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect/period.h"
#include "tests/fuzz/fuzz.h"

#define BINS 240

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static float bandwidth[BINS];
	static double work[2 * BINS];
	struct sl_period_result found;
	struct sl_trace t;
	char err[400] = "";
	double sum = 0, most = 0, length;
	void *memory;
	int rc = sl_trace_parse("f", (const char *)data, size, &t, err, sizeof(err));

	CHECK(rc == 0 || rc == -EINVAL || rc == -ENOMEM);
	if (rc) {
		CHECK(!t.intervals);
		if (rc == -EINVAL)
			names_a_line(err, data, size);
		return 0;
	}
	length = t.end_s - t.start_s;
	CHECK(t.n && length > 0 && isfinite(t.bytes) && t.bytes >= 0);
	CHECK(sl_trace_bins(&t, 0) >= 16);
	sl_trace_bin(&t, BINS, work, bandwidth);
	for (size_t i = 0; i < BINS; i++) {
		CHECK(bandwidth[i] >= 0);
		sum += (double)bandwidth[i] * length / BINS;
		most = fmax(most, (double)bandwidth[i]);
	}
	/* At most 1e30 bytes a second in a bin; less than 1e-30 bytes are none. */
	CHECK(most >= 9.9e29 || fabs(sum - t.bytes) <= 1e-4 * t.bytes + 1e-30);
	memory = malloc(sl_period_work_bytes(BINS));
	CHECK(memory);
	sl_period_find(bandwidth, BINS, length / BINS, memory, &found);
	free(memory);
	CHECK(found.source == SL_PERIOD_NONE || (found.period_s > 0 && found.period_s < length));
	CHECK(found.confidence >= 0 && found.confidence <= 1 + 1e-9);
	sl_trace_free(&t);
	return 0;
}
