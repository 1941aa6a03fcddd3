/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes scenarios with the distributions of the papers. See generate.c for what is drawn and
 * where each number comes from.
 */
#ifndef SL_SIM_GENERATE_H
#define SL_SIM_GENERATE_H

#include "sim/scenario.h"

enum sl_generate_kind {
	SL_GENERATE_INTREPID,
	SL_GENERATE_MIRA,
	SL_GENERATE_MIX,
	SL_GENERATE_IOSETS,
	SL_GENERATE_PERSCHED,
	SL_GENERATE_KINDS
};

enum sl_app_class { SL_APP_SMALL, SL_APP_LARGE, SL_APP_VERY_LARGE, SL_APP_CLASSES };

#define SL_GENERATE_MAX_APPS 100000

/* Start from sl_generate_defaults(); a field that a kind does not know must be left at that. */
struct sl_generate {
	enum sl_generate_kind kind;
	uint64_t seed;			  /* equal seeds, equal scenarios */
	uint32_t apps[SL_APP_CLASSES];	  /* intrepid, mira, mix */
	double io_ratio;		  /* mean time of I/O over that of computing, alone */
	double load;			  /* what all ask for together, over B; 0: as B is */
	double vary_compute, vary_volume; /* 0.3: uniform between x and 1.3 x; mean kept */
	int buffer;			  /* with the machine's burst buffer; intrepid, mira, mix */
	uint32_t high, low;		  /* iosets: jobs of high and of low frequency */
	int hint_error;			  /* iosets: each hint is 0.5 or 1.5 times the period */
	unsigned set;			  /* persched: 1 .. 10 */
	uint64_t iterations; /* of the application with the longest; 0: until the window ends */
};

const char *sl_generate_name(enum sl_generate_kind kind);
/* A description of the distributions and their source; lines of at most 96 characters. */
const char *sl_generate_source(enum sl_generate_kind kind);
void sl_generate_defaults(struct sl_generate *g, enum sl_generate_kind kind);
/* 0, or -errno with a message in err; then *out is empty. */
int sl_generate(const struct sl_generate *g, struct sl_scenario *out, char *err, size_t err_size);

#endif
