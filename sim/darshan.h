/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An application of a scenario from a Darshan log, as printed by darshan-parser or
 * darshan-dxt-parser. See darshan.c for how phases are found.
 */
#ifndef SL_SIM_DARSHAN_H
#define SL_SIM_DARSHAN_H

#include <stdbool.h>

#include "sim/scenario.h"

struct sl_darshan_options {
	double gap_s;	     /* accesses further apart belong to two phases */
	uint32_t iterations; /* not 0: this many equal iterations instead of the recorded ones */
	/*
	 * Called for each line of module POSIX, if set: with a counter of a file, or with an access
	 * to it. file: Darshan's number of it, as text. A result that is not 0 ends the parsing.
	 */
	int (*counter)(void *arg, const char *rank, const char *file, const char *name,
		       const char *value);
	int (*access)(void *arg, const char *rank, const char *file, bool write, uint64_t offset,
		      uint64_t bytes);
	void *arg;
};

struct sl_darshan_phase {
	double start_s, end_s; /* since the run began */
	double bytes;
};

struct sl_darshan {
	char name[SL_SIM_NAME]; /* of the program; empty if it is not in the text */
	int dxt;		/* every access was recorded, not only sums for each file */
	uint32_t procs;
	double run_s;
	uint64_t read_bytes, written_bytes, accesses;
	struct sl_darshan_phase *phases; /* in time, at least gap_s apart; at least one */
	uint32_t n_phases;
};

/*
 * path is used only in messages. 0, or -errno with a message that names the line in err: a.txt:17:
 *	'x' is not a number of bytes
 */
int sl_darshan_parse(const char *path, const char *text, size_t size,
		     const struct sl_darshan_options *options, struct sl_darshan *out, char *err,
		     size_t err_size);
int sl_darshan_load(const char *path, const struct sl_darshan_options *options,
		    struct sl_darshan *out, char *err, size_t err_size);
void sl_darshan_free(struct sl_darshan *d);

/* Highest mean bandwidth of a phase; 0: all are too short to tell. */
double sl_darshan_peak_bps(const struct sl_darshan *d);
/* Mean time between the starts of phases; 0: there is one only. */
double sl_darshan_period_s(const struct sl_darshan *d);
/* 0 or -ENOMEM. The lists in it are the caller's, who hands them over to a scenario. */
int sl_darshan_app(const struct sl_darshan *d, struct sl_app *out);

#endif
