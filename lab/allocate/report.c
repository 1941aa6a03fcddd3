/* SPDX-License-Identifier: Apache-2.0 */
/* The results of `sluice allocate --study`, as tables and as JSON. */
#include "lab/allocate/allocate.h"

#include <math.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"

#define TABLE_ROWS 20

const char *study_summary(const struct study *s, char *buf, size_t size)
{
	const struct allocate *a = s->a;
	char machine[64] = "";

	if (a->machine.compute_nodes)
		snprintf(machine, sizeof(machine), ", %u compute nodes", a->machine.compute_nodes);
	snprintf(buf, size, "%u set%s of %u from %u curve%s%s%s%s, seed %llu", a->repeat,
		 a->repeat == 1 ? "" : "s", a->sample, a->n_chosen, a->n_chosen == 1 ? "" : "s",
		 a->sample > a->n_chosen ? " (repeated)" : "", machine,
		 a->machine.direct ? "" : ", no direct access", (unsigned long long)a->seed);
	return buf;
}

/* ---- tables ---- */

/* A round step that divides the range into at most TABLE_ROWS rows. */
static uint32_t rp_step(uint32_t count)
{
	static const uint32_t round[] = { 1, 2, 4, 5, 8 };

	for (uint32_t unit = 1;; unit *= 10)
		for (unsigned i = 0; i < sizeof(round) / sizeof(round[0]); i++)
			if (count / (round[i] * unit) <= TABLE_ROWS)
				return round[i] * unit;
}

static bool rp_shown(const struct study *s, uint32_t i)
{
	return !i || i == s->count - 1 || (s->a->from + i) % rp_step(s->count) == 0;
}

/* The number of decimals with which the largest value fits its column. */
static int rp_digits(const struct study *s)
{
	double most = 0;

	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t p = 0; p < s->n_policies; p++)
			most = fmax(most, study_at(s, i, p)->bandwidth[STUDY_MEDIAN]);
	return most < 10 ? 4 : most < 100000 ? 1 : 0;
}

static void rp_medians(const struct study *s)
{
	const int digits = rp_digits(s);

	fputs("\nMedian bandwidth of a set:\nionodes", stdout);
	for (uint32_t p = 0; p < s->n_policies; p++)
		printf(" %9s", s->policy[p]->base.name);
	putchar('\n');
	for (uint32_t i = 0; i < s->count; i++) {
		if (!rp_shown(s, i))
			continue;
		printf("%7u", s->a->from + i);
		for (uint32_t p = 0; p < s->n_policies; p++)
			printf(" %9.*f", digits, study_at(s, i, p)->bandwidth[STUDY_MEDIAN]);
		putchar('\n');
	}
}

static void rp_ratios(const struct study *s, uint32_t policy)
{
	printf("\n%s as ratio to static, set by set; sets in which it equals the oracle:\n"
	       "ionodes     least    median      most  is oracle\n",
	       s->policy[policy]->base.name);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct study_point *at = study_at(s, i, policy);

		if (rp_shown(s, i))
			printf("%7u %9.3f %9.3f %9.3f %8.1f %%\n", s->a->from + i,
			       at->ratio[STUDY_LEAST], at->ratio[STUDY_MEDIAN],
			       at->ratio[STUDY_MOST], 100 * at->reached);
	}
}

/* Where the median of the ratios is largest. */
static uint32_t rp_peak(const struct study *s, uint32_t policy)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < s->count; i++) {
		double old = study_at(s, best, policy)->ratio[STUDY_MEDIAN];

		if (study_at(s, i, policy)->ratio[STUDY_MEDIAN] > old || isnan(old))
			best = i;
	}
	return best;
}

static void rp_conclusion(const struct study *s, uint32_t policy)
{
	const char *name = s->policy[policy]->base.name;
	const uint32_t peak = rp_peak(s, policy);
	const struct study_point *at = study_at(s, peak, policy);
	int64_t median = study_reaches(s, policy), always = study_reaches_always(s, policy);

	printf("\n%s gains most with %u I/O nodes: a median of %.2f times static.\n", name,
	       s->a->from + peak, at->ratio[STUDY_MEDIAN]);
	if (median < 0)
		printf("It does not reach the median of the oracle.\n");
	else
		printf("It has the median of the oracle from %lld I/O nodes on", (long long)median);
	if (median >= 0 && always >= 0)
		printf(",\nand is the oracle in every set from %lld on.\n", (long long)always);
	else if (median >= 0)
		puts(".");
}

void study_print(const struct study *s)
{
	char summary[300];

	printf("%s: %s\n", s->a->path, study_summary(s, summary, sizeof(summary)));
	rp_medians(s);
	for (uint32_t p = 0; p < s->n_policies; p++)
		if (s->policy[p] == &sl_allocate_mckp || s->n_policies == 1) {
			rp_ratios(s, p);
			rp_conclusion(s, p);
		}
}

/* ---- JSON ---- */

static void rp_figures(struct json *j, const char *key, const double v[STUDY_FIGURES])
{
	json_object(j, key);
	json_double(j, "min", v[STUDY_LEAST]);
	json_double(j, "median", v[STUDY_MEDIAN]);
	json_double(j, "max", v[STUDY_MOST]);
	json_end(j);
}

static void rp_number(struct json *j, const char *key, int64_t n)
{
	if (n < 0)
		json_string(j, key, NULL);
	else
		json_int(j, key, n);
}

void study_json(struct json *j, const struct study *s)
{
	json_uint(j, "sample", s->a->sample);
	json_uint(j, "repeat", s->a->repeat);
	json_uint(j, "curves", s->a->n_chosen);
	json_uint(j, "seed", s->a->seed);
	json_bool(j, "direct", s->a->machine.direct);
	json_array(j, "policies");
	for (uint32_t p = 0; p < s->n_policies; p++) {
		json_object(j, NULL);
		json_string(j, "policy", s->policy[p]->base.name);
		rp_number(j, "reaches_oracle", study_reaches(s, p));
		rp_number(j, "reaches_oracle_always", study_reaches_always(s, p));
		json_array(j, "points");
		for (uint32_t i = 0; i < s->count; i++) {
			const struct study_point *at = study_at(s, i, p);

			json_object(j, NULL);
			json_uint(j, "ionodes", s->a->from + i);
			rp_figures(j, "bandwidth", at->bandwidth);
			rp_figures(j, "ratio_to_static", at->ratio);
			json_double(j, "is_oracle", at->reached);
			json_end(j);
		}
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

void study_print_json(const struct study *s)
{
	struct json j;

	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "study", s->a->path);
	study_json(&j, s);
	json_end(&j);
}
