/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by path.c, path-print.c and path-contact.c, the files of `sluice bench path`. */
#ifndef SL_LAB_BENCH_PATH_H
#define SL_LAB_BENCH_PATH_H

#include "base/json.h"
#include "lab/bench/path-measure.h"

#define PATH_CMD "bench path"

struct path_bench {
	const char *disk;   /* directory for `disk` and `odirect` */
	const char *filter; /* NULL: none */
	bool quick, json_wanted;
	struct json json;
	struct private p;
	const char *group, *mode; /* of the row that was printed last */
	unsigned rows, missed;	  /* goals */
};

/* How long it takes to start programs: rows `contact`. The layer is up. */
bool path_contact_wanted(const struct path_bench *b);
int path_contact(struct path_bench *b);

/* The goal of a row: its least ratio; 0: no goal. */
double path_goal(const struct path_row *row);
/* The goal of the nodes' CPU time per MiB; 0: no goal. */
double path_node_goal(const struct path_row *row, const struct path_result *r);
/* The goal of the median time of a call; 0: no goal. */
double path_p50_goal(const struct path_row *row, const struct path_result *r);
void path_print(struct path_bench *b, const struct path_row *row, const struct path_result *r);
/* Print a heading between the rows of two groups or modes. Not in JSON. */
bool path_print_new(struct path_bench *b, const char *group, const char *mode);
/* " goal" or "!goal"; counts missed goals. */
void path_print_goal(struct path_bench *b, char out[16], double goal, int digits, bool met);

#endif
