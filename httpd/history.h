/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of the last hour: bytes in each second, and I/O phases. Pure but for memory: time
 * is an argument (milliseconds of a clock that never goes back).
 *
 *	history_begin(h, now, who);               a sample of all jobs
 *	history_job(h, "a", moved_bytes, in_io);  for each
 *	history_end(h);
 */
#ifndef SL_HTTPD_HISTORY_H
#define SL_HTTPD_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define HISTORY_S      3600
#define HISTORY_JOBS   1024   /* 14 KiB each */
#define HISTORY_PHASES 8192   /* the last ones, of all jobs */
#define HISTORY_POINTS 500000 /* in one answer; then steps are longer than a second */
#define HISTORY_GAP_MS 1000   /* without I/O, that ends a phase if nobody tells */

enum history_io {
	HISTORY_UNKNOWN, /* whether it is in an I/O phase is to be seen from its bytes */
	HISTORY_IDLE,
	HISTORY_IN_IO,
};

struct history_job {
	char name[64]; /* "": free */
	double total;  /* bytes, as last told */
	int64_t first_ms, seen_ms, active_ms;
	int64_t phase; /* number of the one that is under way; -1: none */
	/* of that: its first and its last sample with bytes, and its best rate, bytes/ms */
	int64_t first_ms_end, last_ms_begin;
	double first_bytes, last_bytes, peak;
	float *bytes; /* of second t at t % HISTORY_S */
};

struct history_phase {
	char job[64];
	int64_t from_ms, to_ms; /* to_ms < 0: under way */
	double bytes;
};

struct history {
	struct history_job job[HISTORY_JOBS];
	uint32_t jobs, cursor;
	struct history_phase *phase; /* number n at n % HISTORY_PHASES */
	int64_t phases;		     /* so many there were */
	int64_t begin_ms, last_ms, now_ms;
	bool some;    /* there was a sample */
	uint64_t who; /* counted in it */
	bool counts;  /* what was moved since can be told */
};

int history_init(struct history *h); /* 0 or -ENOMEM */
void history_free(struct history *h);

/*
 * who: a number that stands for the nodes whose counters are added up. With another than before,
 * what jobs have moved since cannot be told, and counts as nothing.
 */
void history_begin(struct history *h, int64_t now_ms, uint64_t who);
void history_job(struct history *h, const char *name, double total_bytes, enum history_io io);
void history_end(struct history *h);

/*
 * The last so many whole seconds as JSON. epoch_ms: what has to be added to this clock to get that
 * since 1970.
 */
void history_json(const struct history *h, FILE *f, uint32_t seconds, int64_t epoch_ms);

/* The phases of one job from from_ms on. False: the job is not known, or has ended none since. */
struct history_use {
	double present_s, io_s, bytes;
	uint32_t phases;		   /* that have ended */
	double mean_bytes, mean_compute_s; /* of those, and of the times between them */
};
bool history_use(const struct history *h, const char *name, int64_t from_ms,
		 struct history_use *out);
/* Since a job moved something; -1: it never did, as far as is known. */
int64_t history_idle_ms(const struct history *h, const char *name);
/* The most that all jobs together moved in a second. */
double history_peak_bps(const struct history *h);

#endif
