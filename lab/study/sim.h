/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice sim`: a study is a scenario under several policies, each with several seeds. cli/sim.c is
 * the command, join.c reads scenarios, policies.c chooses policies, run.c runs the study on
 * threads, measure.c computes the measures, table.c prints them, words.c makes sentences, trace.c
 * records what the page draws, html.c writes the page.
 */
#ifndef SL_LAB_STUDY_SIM_H
#define SL_LAB_STUDY_SIM_H

#include <stdbool.h>

#include "policy/policy.h"
#include "sim/phase.h"

#define SIM_CMD		 "sim"
#define SIM_TEXT	 400
#define SIM_MAX_REPEAT	 1000000
#define SIM_MAX_JOBS	 1024 /* threads */
#define SIM_MAX_POLICIES 64

/* In the order of their columns. */
enum sim_measure {
	SIM_SYS_EFFICIENCY,
	SIM_UPPER_LIMIT,
	SIM_DILATION,
	SIM_MAX_STRETCH,
	SIM_GEOMEAN_STRETCH,
	SIM_IO_SLOWDOWN,
	SIM_UTILIZATION,
	SIM_MEASURES
};

struct sim_measure_info {
	const char *key;     /* in JSON and CSV */
	const char *head;    /* of its column */
	const char *meaning; /* in a few words */
	int better;	     /* 1: higher is better, -1: lower is better, 0: neither */
};
extern const struct sim_measure_info sim_measures[SIM_MEASURES];

/*
 * Mean over the repetitions, and half the width of its 95 % confidence interval; NAN: not known,
 * infinite: some application got nothing done.
 */
struct sim_estimate {
	double mean, ci95;
};

struct sim_trace;

/* A policy of the study, and its results. */
struct sim_policy {
	const char *spec;
	struct sl_sim_metrics *run;	 /* one for each repetition */
	struct sl_sim_app_metrics *apps; /* of the first repetition */
	struct sim_trace *trace;	 /* of the first repetition, or NULL */
	char *left_out;			 /* why it could not run; NULL: it did */
	struct sim_estimate measure[SIM_MEASURES];
	struct sim_estimate against[SIM_MEASURES]; /* difference to the first policy, run by run */
	uint64_t events;			   /* of all repetitions together */
	double wall_s;
};

struct sim_study {
	struct sl_scenario scenario;
	enum sl_window_mode window;
	uint64_t seed; /* of the first repetition; the next has one more */
	uint32_t repeat, threads;
	bool chosen; /* the user chose the policies, so one that cannot run is an error */
	bool trace;  /* record the data of the page */
	bool detect; /* detect periods, instead of passing those of the scenario */
	struct sim_policy *policy;
	uint32_t n_policies;
	uint32_t n_left_out; /* at the end of the array: they cannot run this scenario */
};

/* A scenario's file: "-" is standard input. */
static inline const char *sim_path(const char *word)
{
	return word[0] == '-' && !word[1] ? "/dev/stdin" : word;
}

/* ---- join.c ---- */

/*
 * Join n files: the machine of the first, with the jobs of all. Errors are printed; returns an exit
 * status.
 */
int sim_read(struct sl_scenario *s, char *const *paths, int n);

/* ---- policies.c ---- */

/* The n policies given, or the scenario's, or all. Errors are printed; returns an exit status. */
int sim_choose(struct sim_study *s, const char *const *asked, uint32_t n);
/* The stage with which a spec begins, "order/aioli" or "order=aioli", and the rest; or SL_STAGES.
 */
enum sl_stage sim_stage(const char *spec, const char **rest);

/* ---- run.c ---- */

/* Run all policies with all seeds. Errors are printed; returns an exit status. */
int sim_run(struct sim_study *s);

/* ---- measure.c ---- */

/* Estimate from n values, ignoring NAN. */
struct sim_estimate sim_estimate(const double *values, uint32_t n);
double sim_value(const struct sl_sim_metrics *m, enum sim_measure which);

/* ---- table.c ---- */

/* apps: the applications too. */
void sim_print_table(const struct sim_study *s, bool apps);
void sim_print_json(const struct sim_study *s, bool apps);
void sim_print_csv(const struct sim_study *s, bool apps); /* the applications instead */

/* ---- words.c: into buf, which is returned ---- */

/* "3 applications on 12 of 16 processors, ask for 1.25 times 8GB/s" */
const char *sim_about(const struct sim_study *s, char *buf, size_t size);
/* "window 400 to 3200 s (exact)" */
const char *sim_window_text(const struct sim_study *s, char *buf, size_t size);
/* A warning about the interpretation of the figures; NULL: none. */
const char *sim_note(const struct sim_study *s, char *buf, size_t size);
/* The bandwidth that all applications need, divided by the capacity. */
double sim_load(const struct sim_study *s);
/* Print warnings about unusual values of a scenario to standard error. */
void sim_warn(const struct sl_scenario *c);

/* ---- trace.c: activities and bandwidth of one run, in bounded memory ---- */

#define SIM_BINS 1024

/* A stretch of time of one application; more than one share is not 0 if several were merged. */
struct sim_block {
	double from_s, to_s;
	float share[3]; /* of the time, by enum sl_activity */
	uint32_t app;
	uint32_t next; /* of the same application; UINT32_MAX: none */
};

struct sim_trace {
	struct sl_phase_sink sink; /* give this to sl_phase_run() */
	uint32_t rows;		   /* the applications that are kept: the first ones */
	uint32_t *first, *last;	   /* blocks of each; UINT32_MAX: none */
	struct sim_block *block;
	uint32_t count, limit;
	double merged_s; /* shorter ones than this were merged; 0: none */
	double end_s;
	double bin_s; /* width of a bin */
	double bytes[SIM_BINS];
};

/* Room for `limit` blocks of the first `rows` of the applications. NULL: no memory. */
struct sim_trace *sim_trace_create(uint32_t rows, uint32_t limit);
void sim_trace_free(struct sim_trace *t);

/* ---- html.c ---- */

/* How many blocks and rows of each policy a page can hold. */
void sim_page_limits(const struct sim_study *s, uint32_t *rows, uint32_t *blocks);
/*
 * Check that the page can be written there, before long work. Errors are printed; returns an exit
 * status.
 */
int sim_page_check(const char *path);
/* Write the page completely or not at all. Errors are printed; returns an exit status. */
int sim_page_write(const struct sim_study *s, const char *path);

#endif
