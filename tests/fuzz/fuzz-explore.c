/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the specification of an exploration. Checked: a message names the file and a line;
 * what is accepted is within the limits that the runs rely on.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/explore/explore.h"
#include "tests/fuzz/fuzz.h"

static void kernel_is_sound(const struct explore_kernel *k)
{
	CHECK(k->name[0] && memchr(k->name, 0, sizeof(k->name)) && k->line >= 1);
	CHECK(k->apps >= 1 && k->procs >= 1 && k->nodes >= 1 && k->op <= EXPLORE_META);
	CHECK((uint64_t)k->apps * k->procs <= SL_REQUESTS_PROCS && k->spatial <= SL_RANDOM);
	CHECK(k->request_bytes >= 1 && k->request_bytes <= SL_MAX_LENGTH);
	CHECK(k->data_bytes >= 1 && k->data_bytes % k->request_bytes == 0 && k->limit_ns >= 0);
	CHECK(explore_bytes(k) / k->data_bytes == (uint64_t)k->apps * k->procs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[EXPLORE_TEXT] = "";
	struct explore_spec s;
	bool simulate = size % 2;
	int rc = explore_parse("f.yaml", (const char *)data, size, &s, err, sizeof(err));

	CHECK(rc == 0 || rc == -EINVAL || rc == -ENOMEM);
	if (rc) {
		CHECK(!strncmp(err, "f.yaml:", 7) && strtoul(err + 7, NULL, 10) >= 1);
		CHECK(!s.kernel && !s.path);
		return 0;
	}
	for (uint32_t i = 0; i < s.n_kernels; i++)
		kernel_is_sound(&s.kernel[i]);
	CHECK(s.least >= 1 && s.least <= s.most && s.most <= EXPLORE_RUNS);
	CHECK(s.confidence >= 0.5 && s.confidence < 1 && s.error > 0 && s.error <= 1);
	rc = explore_check(&s, simulate, err, sizeof(err));
	CHECK(rc == 0 || (rc == -EINVAL && !strncmp(err, "f.yaml:", 7)));
	if (!rc) {
		CHECK(s.n_kernels && s.n_devices && s.n_orders && s.n_ionodes);
		CHECK(!simulate || s.device[0].name[0]);
	}
	explore_free(&s);
	return 0;
}
