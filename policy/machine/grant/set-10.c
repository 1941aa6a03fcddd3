/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set-10: one job at a time within a set of similar periods; the sets share the bandwidth.
 *
 * The heuristic of IO-Sets (Barthélemy et al. 2024, §2.2) for whole phases; share/io-sets is the
 * same for requests. A job's period w_iter is the mean time between the starts of its I/O phases.
 * Its set is S_i with i = log10(w_iter in seconds), rounded to the nearest integer, the set's
 * priority 10^-i. Sets share the bandwidth in proportion to the priorities of those that want I/O.
 * Within a set, the job that asked first is served alone until its phase ends.
 *
 * Example: capacity 110; A has period 19.2 s (S1, 1/10), B and C 384 s (S3, 1/1000), B asked before
 * C. A 108.91, B 1.09, C 0. When A computes, B has 110.
 *
 * In the paper a job has no bandwidth limit of its own. Here jobs have caps, and no bandwidth stays
 * idle: what the first job of a set cannot use goes to the next one of the set, and what a whole
 * set cannot use goes to the other sets by their priorities. Example: as above with a cap of 50 for
 * each: A 50, B 50, C 10.
 *
 * A job of unknown period is a set of its own with priority 1/50 (§3.2). We treat the n jobs of
 * unknown period as one set of priority n/50 with equal shares inside. The small difference by job
 * that the paper adds to distinguish these sets is not needed.
 *
 * A set of long periods beside one of short periods may wait long, because it gets only 10^-3 of
 * the bandwidth. max_stall_ms bounds the wait. O(n) a decision.
 */
#include "policy/machine/grant/list.h"

#define S10_FIRST   (-9) /* a period of 1 ns; the longest, 2^63 ns, is in S10 */
#define S10_SETS    20
#define S10_UNKNOWN S10_SETS /* the index for jobs of unknown period */
#define S10_PLACES  (S10_SETS + 1)

static const struct sl_param params[] = { SL_GRANT_MAX_STALL, { 0 } };

static void s10_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		     sl_time now)
{
	sl_grant_list_init(state, limits, (const int64_t[]){ 0, values[0] }, now);
}

static uint32_t s10_place(const struct sl_io_job *j)
{
	/* The first ns of S-8, S-7 and so on: 10^-8.5 s, 10^-7.5 s. */
	static const sl_time edges[S10_SETS - 1] = {
		INT64_C(4),
		INT64_C(32),
		INT64_C(317),
		INT64_C(3163),
		INT64_C(31623),
		INT64_C(316228),
		INT64_C(3162278),
		INT64_C(31622777),
		INT64_C(316227767),
		INT64_C(3162277661),
		INT64_C(31622776602),
		INT64_C(316227766017),
		INT64_C(3162277660169),
		INT64_C(31622776601684),
		INT64_C(316227766016838),
		INT64_C(3162277660168380),
		INT64_C(31622776601683794),
		INT64_C(316227766016837934),
		INT64_C(3162277660168379332),
	};
	uint32_t place = 0;

	if (j->period_ns <= 0)
		return S10_UNKNOWN;
	for (unsigned i = 0; i < S10_SETS - 1; i++)
		place += j->period_ns >= edges[i];
	return place;
}

/* Sort the jobs by set, whose index is in rate_bps; first[p] is where set p begins. */
static void s10_group(struct sl_io_job **jobs, uint32_t n, uint32_t first[S10_PLACES + 1])
{
	uint32_t next[S10_PLACES] = { 0 };

	for (uint32_t i = 0; i < n; i++)
		next[(uint32_t)jobs[i]->rate_bps]++;
	first[0] = 0;
	for (uint32_t p = 0; p < S10_PLACES; p++) {
		first[p + 1] = first[p] + next[p];
		next[p] = first[p];
	}
	for (uint32_t p = 0; p < S10_PLACES; p++) {
		/* swap each job to its set, until one belongs here */
		while (next[p] < first[p + 1]) {
			struct sl_io_job *j = jobs[next[p]];
			uint32_t home = (uint32_t)j->rate_bps;

			jobs[next[p]] = jobs[next[home]];
			jobs[next[home]++] = j;
		}
	}
}

static sl_time s10_decide(void *state, struct sl_io_job **all, uint32_t count, double capacity_bps,
			  sl_time now)
{
	struct sl_io_job set[S10_PLACES], *sets[S10_PLACES];
	uint32_t first[S10_PLACES + 1], present = 0;
	uint32_t late = sl_grant_late(state, all, count, &capacity_bps, now);
	struct sl_io_job **jobs = all + late;
	uint32_t n = count - late;
	double priority = 1e9; /* of S-9 */

	for (uint32_t i = 0; i < n; i++)
		jobs[i]->rate_bps = s10_place(jobs[i]);
	s10_group(jobs, n, first);
	for (uint32_t p = 0; p < S10_PLACES; p++, priority /= 10) {
		uint32_t members = first[p + 1] - first[p];

		if (!members)
			continue;
		set[p] = (struct sl_io_job){
			.job = p,
			.rate_bps = p == S10_UNKNOWN ? members / 50.0 : priority,
		};
		for (uint32_t i = first[p]; i < first[p + 1]; i++) {
			set[p].cap_bps += jobs[i]->cap_bps;
			jobs[i]->rate_bps = p == S10_UNKNOWN ? 1 : (double)(jobs[i]->asked - now);
		}
		sets[present++] = &set[p];
	}
	sl_grant_by_weight(sets, present, capacity_bps);
	for (uint32_t p = 0; p < S10_PLACES; p++) {
		uint32_t members = first[p + 1] - first[p];

		if (members && p == S10_UNKNOWN)
			sl_grant_by_weight(jobs + first[p], members, set[p].rate_bps);
		else if (members)
			sl_grant_serve(jobs + first[p], members, set[p].rate_bps);
	}
	return sl_grant_wake(state, jobs, n, now);
}

const struct sl_grant_ops sl_grant_set_10 = {
	.base = { .name = "set-10",
		  .summary = "one job at a time within a set of similar periods; sets share by "
			     "priority",
		  .source = "IO-Sets (Barthélemy et al. 2024), section 2.2, Set-10",
		  .params = params,
		  .size = sizeof(struct sl_grant_list),
		  .init = s10_init },
	.decide = s10_decide,
};
