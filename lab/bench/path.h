/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `sluice bench path` share: path.c, path-print.c, path-contact.c. */
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

/* Of a row through the layer: the least ratio that is good; 0: there is no goal. */
double path_goal(const struct path_row *row);
/* CPU time of the nodes for each MiB that is still good; 0: there is no goal. */
double path_node_goal(const struct path_row *row);
void path_print(struct path_bench *b, const struct path_row *row, const struct path_result *r);
/* Between the rows of two groups or modes: what follows. Not in JSON. */
bool path_print_new(struct path_bench *b, const char *group, const char *mode);
/* " goal" or "!goal"; what was missed is counted. */
void path_print_goal(struct path_bench *b, char out[16], double goal, int digits, bool met);

#endif
