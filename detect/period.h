/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The period of a job's I/O: the mean time between the starts of its I/O phases (w_iter of
 * RR-9537, section 2.2), from how many bytes it moved when.
 *
 * Two ways to use it. Online, a `struct sl_period` for each job takes the bytes that were moved, at
 * whatever times that is known, and gives what it found last:
 *
 *	struct sl_period *p = sl_period_new();
 *	sl_period_add(p, now_ns, bytes);            about every 100 ms, also when bytes is 0
 *	if (sl_period_get(p, now_ns, &period_ns, &confidence))
 *		...                                 conclusive, now or before
 *	sl_period_free(p);
 *
 * In one go, from a whole signal or a trace: sl_period_find(), sl_period_bin(), sl_trace_parse().
 *
 * Nothing here reads a clock, writes or allocates, but for the functions named new, free, load and
 * parse. period.c says how periods are found.
 */
#ifndef SL_DETECT_PERIOD_H
#define SL_DETECT_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- online ---- */

#define SL_PERIOD_MIN_S 0.5 /* what is found online; below, twenty reports a second are too few */
#define SL_PERIOD_MAX_S 3600.0

struct sl_period; /* at most 16 KiB */

struct sl_period *sl_period_new(void); /* NULL: no memory */
void sl_period_free(struct sl_period *p);
size_t sl_period_bytes(void); /* of one */

/*
 * bytes were moved since the last call, evenly as far as is known; the first call says when the job
 * began. A time before the last one counts as the last one.
 */
void sl_period_add(struct sl_period *p, int64_t now_ns, uint64_t bytes);
/*
 * The same for a stretch in which the job had I/O to do all the time, from since_ns to now_ns. How
 * fast it was then is the doing of others, who had their turns between: so the bytes count as moved
 * evenly.
 */
void sl_period_stretch(struct sl_period *p, int64_t since_ns, int64_t now_ns, uint64_t bytes);

/*
 * True: *period_ns and *confidence (0 to 1) are those of the last conclusive analysis. False: there
 * was none yet, and both are 0. Analyses anew only when enough has been added since; some 50 us
 * then, else nothing.
 */
bool sl_period_get(struct sl_period *p, int64_t now_ns, int64_t *period_ns, double *confidence);

/* ---- a whole signal ---- */

#define SL_PERIOD_CANDIDATES 10

struct sl_period_candidate {
	double frequency_hz, period_s;
	double share; /* of the power of all frequencies */
	double z;     /* standard deviations above the mean power */
	double confidence;
	bool dominant; /* z > 3 and z / z_max > 0.8 */
	bool harmonic; /* a multiple of a lower dominant one */
};

/* The result of the spectrum alone, as FTIO has it. */
struct sl_period_spectrum {
	unsigned n_candidates;					    /* with z > 3, here */
	struct sl_period_candidate candidate[SL_PERIOD_CANDIDATES]; /* strongest first */
	unsigned above_3;					    /* all of these */
	unsigned dominant;	     /* no harmonics; 1 or 2: conclusive */
	double period_s, confidence; /* of the strongest dominant one; 0: not conclusive */
};

/* The result of the starts of phases. */
struct sl_period_phases {
	unsigned phases;     /* that the period was fitted to; 0: no fit was good enough */
	double period_s;     /* mean time between starts */
	double jitter;	     /* standard deviation of that time, as a part of it */
	double missing;	     /* part of the phases that were left out */
	double evidence;     /* natural logarithm of the odds against chance */
	double regular;	     /* part of the intervals that fit */
	double last_start_s; /* of a phase that fits */
	double scale_s;	     /* at which resolution it was seen */
};

enum sl_period_source { SL_PERIOD_NONE, SL_PERIOD_BY_PHASES, SL_PERIOD_BY_SPECTRUM };

struct sl_period_result {
	enum sl_period_source source; /* NONE: not periodic */
	double period_s, confidence;  /* 0 then */
	double evidence;	/* natural logarithm of the odds against chance, of all kinds */
	double power;		/* around its frequency, in squares of the mean bandwidth */
	double autocorrelation; /* its maximum within 5 % of the period; 1 at lag 0 */
	double window_s, bin_s;
	size_t bins;
	struct sl_period_spectrum spectrum;
	struct sl_period_phases phases;
};

/*
 * bandwidth[i] is the mean over [i, i + 1) bin_s. work: sl_period_work_bytes(n), aligned as malloc
 * does, its contents do not matter. Fewer than 16 bins are never periodic.
 */
void sl_period_find(const float *bandwidth, size_t n, double bin_s, void *work,
		    struct sl_period_result *out);
size_t sl_period_work_bytes(size_t n);

/* ---- a trace ---- */

struct sl_interval {
	double start_s, end_s;
	double bytes; /* moved between, evenly */
};

struct sl_trace {
	struct sl_interval *intervals;
	size_t n;
	double start_s, end_s; /* first start, last end */
	double bytes;
};

/*
 * CSV: a line with the names of the columns, of which t_start, t_end and one of bytes and bandwidth
 * (bytes a second) are read; then a line for each interval. path is for messages alone. 0, or
 * -errno with a message that names the line in err.
 */
int sl_trace_parse(const char *path, const char *text, size_t size, struct sl_trace *out, char *err,
		   size_t err_size);
int sl_trace_load(const char *path, struct sl_trace *out, char *err, size_t err_size);
void sl_trace_free(struct sl_trace *t);

/* How many bins at fs_hz, 0 for what suits the trace; a number that needs no cutting afterwards. */
size_t sl_trace_bins(const struct sl_trace *t, double fs_hz);
/* The mean bandwidth in each of n bins from start_s to end_s. work: 2 n doubles. */
void sl_trace_bin(const struct sl_trace *t, size_t n, double *work, float *bandwidth);

#endif
