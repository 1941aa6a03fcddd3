/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What bandwidth jobs have reached with how many I/O nodes, by their name and size: what `allocate`
 * decides by when they come again. See curves.c.
 */
#ifndef SL_SLUICED_CONTROLLER_CURVES_H
#define SL_SLUICED_CONTROLLER_CURVES_H

#include <stdio.h>

#include "policy/policy.h"
#include "wire/proto.h"

#define CURVES_MAX    1024
#define CURVES_POINTS 16

struct curve {
	char name[SL_JOB_NAME_MAX];
	uint32_t nodes, procs;
	uint32_t points;
	struct sl_curve_point point[CURVES_POINTS]; /* rising ionodes */
	uint32_t phases[CURVES_POINTS];		    /* that each point was seen in */
	uint64_t used;				    /* when, in order: the oldest gives way */
};

struct curves {
	struct curve curve[CURVES_MAX];
	uint32_t count;
	uint64_t clock;
	bool changed; /* since the last save */
};

/* NULL: nothing is known. */
const struct curve *curves_find(const struct curves *c, const char *name, uint32_t nodes,
				uint32_t procs);
/* A phase of that job with so many I/O nodes went at this rate. */
void curves_add(struct curves *c, const char *name, uint32_t nodes, uint32_t procs,
		uint32_t ionodes, double bps);
/*
 * As CSV with the columns job,ionodes,bandwidth,nodes,procs, as `sluice allocate` reads it;
 * bandwidth in MB/s. What is wrong in a file is skipped: it can be lost. 0 or -errno.
 */
int curves_load(struct curves *c, const char *path);
int curves_save(struct curves *c, const char *path);
void curves_write(const struct curves *c, FILE *f);

#endif
