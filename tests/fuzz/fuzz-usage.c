/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an account of usage. Checked: what is read adds up, no time that anybody waited for
 * another is negative, and nobody waited longer than he waited.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/report/report.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[REPORT_ERROR] = "";
	struct report r = { 0 };
	uint64_t calls = 0;

	if (report_read(&r, (const char *)data, size, 0, err)) {
		CHECK(err[0] && !r.rows);
		return 0;
	}
	for (size_t i = 0; i < r.rows; i++)
		calls += r.row[i].calls;
	CHECK(report_sum(&r) == 0);
	for (uint32_t i = 0; i < r.jobs; i++) {
		double sum = 0;

		calls -= r.job[i].calls;
		CHECK(r.job[i].active_s > 0 && isfinite(r.job[i].saved_s));
		for (uint32_t k = 0; k < r.named && i + 1 < r.named; k++) {
			double s = r.by[(size_t)i * r.named + k];

			CHECK(s >= 0 && isfinite(s));
			sum += s;
		}
		CHECK(sum <= r.job[i].waited_s * (1 + 1e-9) + 1e-9);
	}
	CHECK(calls == 0);
	report_free(&r);
	return 0;
}
