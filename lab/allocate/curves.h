/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Curves of jobs from CSV: the bandwidth that a job reaches with each number of I/O nodes.
 *
 *	job,ionodes,bandwidth,nodes,procs
 *	BT-C,0,195.762,32,128
 *	BT-C,1,77.6,32,128
 *	new,,,16,16                       unknown curve
 *
 * See curves.c for the full format.
 */
#ifndef SL_LAB_ALLOCATE_CURVES_H
#define SL_LAB_ALLOCATE_CURVES_H

#include <stddef.h>
#include <stdio.h>

#include "policy/policy.h"

#define CURVES_TEXT	400
#define CURVES_MAX_ROWS 1000000
#define CURVES_MAX_NUMBER \
	1000000 /* of I/O nodes, compute nodes; processes a thousand times that \
		 */
#define CURVES_MAX_NAME 63

struct curves_job {
	char name[CURVES_MAX_NAME + 1];
	uint32_t nodes, procs;
	const struct sl_curve_point *curve; /* rising ionodes */
	uint32_t points;
};

struct curves {
	struct curves_job *job; /* in the order of the file */
	uint32_t n;
	struct sl_curve_point *point;
};

/*
 * Reads all of f; `name` is for messages. 0, -ENOMEM, another -errno of reading, or -EINVAL. On
 * failure a sentence stands in err (CURVES_TEXT bytes), with file and line.
 */
int curves_read(FILE *f, const char *name, struct curves *out, char *err);
void curves_free(struct curves *c);

#endif
