/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the commands that make workloads, for generate.c and import.c. */
#ifndef SL_LAB_STUDY_ASKED_H
#define SL_LAB_STUDY_ASKED_H

#include <stdint.h>
#include <stdio.h>

#define SIM_ASKED_CMD "sim"
#define SIM_ASKED_USE "sim --generate" /* command whose --help explains the options */

enum {
	OPT_GENERATE = 256,
	OPT_DARSHAN,
	OPT_SEED,
	OPT_APPS,
	OPT_SMALL,
	OPT_LARGE,
	OPT_VERY_LARGE,
	OPT_IO_RATIO,
	OPT_LOAD,
	OPT_VARY,
	OPT_VARY_IO,
	OPT_BUFFER,
	OPT_HIGH,
	OPT_HINT_ERROR,
	OPT_SET,
	OPT_ITERATIONS,
	OPT_GAP,
	OPT_BANDWIDTH,
	OPT_END
};

struct sim_asked {
	const char *value[OPT_END - OPT_GENERATE]; /* by option; NULL: not given */
	const char *output;
	const char **logs;
	int n_logs;
};

static inline const char *sim_asked_value(const struct sim_asked *a, int option)
{
	return a->value[option - OPT_GENERATE];
}

/* Numbers from text; name: of the option. CLI_OK, or the exit status. */
int sim_asked_count(const char *name, const char *text, uint64_t max, uint64_t *out);
int sim_asked_real(const char *name, const char *text, double scale, double *out);

/* Open the output for the scenario; NULL: an error was printed. */
FILE *sim_asked_open(const struct sim_asked *a);
/* rc: the result of writing. Returns the exit status. */
int sim_asked_close(const struct sim_asked *a, FILE *f, int rc);
/* Write the whole command line as a comment, so that it can be repeated. */
void sim_asked_command(FILE *f, const struct sim_asked *a);
void sim_asked_word(FILE *f, const char *word); /* one of its words */

int sim_import(const struct sim_asked *a); /* an exit status */

#endif
