/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For scripts/bench/grant-cost.sh: so many requests of one job that nobody contends with, one after the
 * other, through the scheduler of an I/O node; with a grant of the whole capacity, renewed as
 * often as the controller does, or without.
 *
 *	grant-cost 0|1 REQUESTS
 */
#include <sluice.h>

#include <stdio.h>
#include <stdlib.h>

#define CAPACITY UINT64_C(100000000000)
#define STEP_NS	 5000	   /* of a request */
#define RENEW_NS 500000000 /* RENEW_NS of sluiced/controller/main.c */
#define LEASE_NS 2000000000

int main(int argc, char **argv)
{
	const struct sl_config config = { .capacity_bps = CAPACITY,
					  .lend_us = 2000,
					  .limits = { .jobs = 64, .files = 64, .requests = 64 } };
	const struct sl_job_conf conf = { 0 };
	int granted = argc > 2 ? atoi(argv[1]) : 0;
	long n = argc > 2 ? atol(argv[2]) : 0;
	sl_time now = 1, renew = 0, wake;
	struct sl_sched *s;
	char err[200];

	if (sl_sched_create(&s, &config, now, err, sizeof(err)) || sl_job_add(s, 1, &conf, now))
		return 1;
	for (long i = 0; i < n; i++) {
		struct sl_request r = { .job = 1,
					.file = 1,
					.offset = (uint64_t)i * 4096,
					.length = 4096,
					.op = SL_WRITE };
		const struct sl_batch *b;

		now += STEP_NS;
		if (granted && now >= renew) {
			if (sl_job_grant(s, 1, CAPACITY, now + LEASE_NS, now))
				return 1;
			renew = now + RENEW_NS;
		}
		if (sl_add(s, &r, now) || !(b = sl_next(s, now, &wake)) || sl_done(s, b, now))
			return 1;
	}
	sl_sched_destroy(s);
	return 0;
}
