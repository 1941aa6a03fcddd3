/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load by which the simulator's own speed is measured: applications of 8 processes, each
 * application with a file of its own on 4 servers of AGIOS's cluster Graphene, strided writes of
 * 16 KiB in requests of 8 KiB, with a little chance in between.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/requests.h"

#define PROCS	   8
#define CALL_BYTES 16384
#define PIECES	   2

int sl_requests_bench(const char *policy, uint32_t apps, uint64_t requests,
		      struct sl_requests_result *out, char *err, size_t err_size)
{
	static char name[] = "bench";
	struct sl_requests_policy p;
	struct sl_requests s;
	int rc = sl_requests_policy_parse(policy, &p, err, err_size);

	if (rc)
		return rc;
	sl_requests_init(&s);
	s.name = name;
	s.striping.servers = 4;
	s.transfer_bytes = CALL_BYTES / PIECES;
	s.device = *sl_device_find("graphene");
	s.apps = calloc(apps, sizeof(*s.apps));
	s.n_apps = apps;
	for (uint32_t i = 0; s.apps && i < apps; i++) {
		s.apps[i] = (struct sl_requests_app){
			.procs = PROCS,
			.op = SL_WRITE,
			.spatial = SL_STRIDED,
			.call_bytes = CALL_BYTES,
			.calls = 1 + requests / (PIECES * PROCS * (uint64_t)apps),
			.phases = 1,
			.depth = 1,
			.jitter_ns = 100000,
		};
		snprintf(s.apps[i].name, sizeof(s.apps[i].name), "app-%u", i + 1);
	}
	if (s.apps) {
		rc = sl_requests_run(&s, &p, NULL, out, NULL, err, err_size);
	} else {
		snprintf(err, err_size, "no memory");
		rc = -ENOMEM;
	}
	free(s.apps);
	sl_requests_policy_free(&p);
	return rc;
}
