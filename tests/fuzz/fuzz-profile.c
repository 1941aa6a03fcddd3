/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a profile. Checked: a message names the file and a line that it has; what is
 * accepted has a ratio above 0 for every size of a measured operation, unless it says itself that
 * it is not to be trusted; and it is the same again after it was written and read.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect/profile.h"
#include "tests/fuzz/fuzz.h"

static char *written(const struct sl_profile *p)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	CHECK(f);
	sl_profile_write(f, p);
	CHECK(fclose(f) == 0);
	return text;
}

static void asked(const struct sl_profile *p)
{
	for (uint32_t op = 0; op < 3; op++) {
		bool known = op < 2 && p->points[op] && !p->why[0];

		for (unsigned k = 0; k < 64; k++) {
			double ratio = sl_profile_ratio(p, op, UINT64_C(1) << k);

			CHECK(known ? ratio > 0 && isfinite(ratio) : isnan(ratio));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_profile p, q, r;
	char err[500] = "", *text, *again;
	int rc = sl_profile_parse("f", (const char *)data, size, &p, err, sizeof(err));

	if (rc) {
		CHECK(rc == -EINVAL);
		CHECK(!p.points[0] && !p.points[1]);
		names_a_line(err, data, size);
		return 0;
	}
	asked(&p);
	text = written(&p);
	CHECK(sl_profile_parse("g", text, strlen(text), &q, err, sizeof(err)) == 0);
	CHECK(p.points[0] == q.points[0] && p.points[1] == q.points[1]);
	/* What is written is rounded; once it is, nothing changes any more. */
	again = written(&q);
	CHECK(sl_profile_parse("h", again, strlen(again), &r, err, sizeof(err)) == 0);
	CHECK(!memcmp(&q, &r, sizeof(q)));
	free(text);
	free(again);
	return 0;
}
