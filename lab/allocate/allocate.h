/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `sluice allocate`: cli/allocate.c is the command, curves.c reads the curves, print.c
 * decides and prints, study.c computes --study with threads, report.c prints the study, html.c
 * writes its page.
 */
#ifndef SL_LAB_ALLOCATE_ALLOCATE_H
#define SL_LAB_ALLOCATE_ALLOCATE_H

#include <stdbool.h>

#include "lab/allocate/curves.h"
#include "policy/policy.h"

#define ALLOCATE_CMD	      "allocate"
#define ALLOCATE_MAX_POLICIES 16
#define ALLOCATE_MAX_IONODES  100000
#define ALLOCATE_MAX_SAMPLE   100000
#define ALLOCATE_MAX_REPEAT   10000000

/* The options. */
struct allocate {
	const char *path;
	struct curves curves;
	uint32_t *chosen; /* indices into the curves, in the order of --jobs; may repeat */
	uint32_t n_chosen;
	const struct sl_allocate_ops *policy[ALLOCATE_MAX_POLICIES];
	uint32_t n_policies;
	struct sl_alloc_machine machine;
	uint32_t from, to; /* I/O nodes; different values only for a study */
	uint32_t sample, repeat, threads;
	uint64_t seed;
};

/* ---- print.c ---- */

/* n jobs, of the curves `pick`, and memory for a policy on up to `ionodes`. */
struct allocate_run {
	const struct sl_allocate_ops *ops;
	void *state;
	struct sl_alloc_job *job;
	uint32_t n;
};
int allocate_run_open(struct allocate_run *r, const struct sl_allocate_ops *ops, uint32_t n,
		      uint32_t ionodes); /* 0 or -ENOMEM */
void allocate_run_close(struct allocate_run *r);
/* The sum of their bandwidths; a number without a measurement counts as 0. */
double allocate_decide(struct allocate_run *r, const struct allocate *a, const uint32_t *pick,
		       const struct sl_alloc_machine *m);

/* Print each policy's decision. Errors are printed; returns an exit status. */
int allocate_print(const struct allocate *a, bool json);

/* ---- study.c ---- */

enum { STUDY_LEAST, STUDY_MEDIAN, STUDY_MOST, STUDY_FIGURES };

/* One policy on one number of I/O nodes, over all sets. */
struct study_point {
	double bandwidth[STUDY_FIGURES];
	double ratio[STUDY_FIGURES]; /* to static, set by set; NAN: static was always 0 */
	double reached;		     /* part of the sets in which it equals the oracle */
};

struct study {
	const struct allocate *a;
	const struct sl_allocate_ops *policy[ALLOCATE_MAX_POLICIES + 2];
	uint32_t n_policies; /* requested; static and oracle are always computed */
	uint32_t n_all, is_static, is_oracle;
	uint32_t count;		   /* numbers of I/O nodes: a->from + 0 .. count - 1 */
	struct study_point *point; /* by number, and there by policy (n_all) */
};

/* An exit status, reported. */
int study_run(const struct allocate *a, struct study *out);
void study_free(struct study *s);
static inline const struct study_point *study_at(const struct study *s, uint32_t i, uint32_t policy)
{
	return &s->point[(size_t)i * s->n_all + policy];
}
/*
 * The smallest number of I/O nodes from which the policy reaches the median of the oracle; -1:
 * never.
 */
int64_t study_reaches(const struct study *s, uint32_t policy);
/* The same for every set individually. */
int64_t study_reaches_always(const struct study *s, uint32_t policy);

/* ---- report.c ---- */

void study_print(const struct study *s);
void study_print_json(const struct study *s);
/* Write as members of the open JSON object. */
struct json;
void study_json(struct json *j, const struct study *s);
/* "10000 sets of 16 from 9 curves ..." into buf, which is returned. */
const char *study_summary(const struct study *s, char *buf, size_t size);

/* ---- html.c ---- */

int study_page(const struct study *s, const char *path);

#endif
