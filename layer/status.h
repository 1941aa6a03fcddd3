/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `sluice status`. */
#ifndef SL_LAYER_STATUS_H
#define SL_LAYER_STATUS_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "layer/layer.h"

/* tree: what the node answers to "status", or status_merge(); listen: where, over TCP, or "". Lines
 * are at most `columns` (80 and up) wide. */
void status_table(FILE *f, const char *name, const char *listen, const cJSON *tree,
		  unsigned columns);

/* How long members have to answer, all of them together. */
#define STATUS_WAIT_MS 2000
/* What all members of a layer say, as one; to be deleted. NULL: no node answers. */
cJSON *status_merge(const struct layer *l, int wait_ms);
/* What a layer says, of one node or of several; to be deleted. NULL: nobody answers. */
cJSON *status_ask(const struct layer *l, int wait_ms);
/* Of such a tree: two lines about the members; and the table of the nodes. */
void status_members(FILE *f, const cJSON *tree);
void status_nodes(FILE *f, const char *name, const cJSON *tree);

/* A line if the recording of a node has stopped; `who` names the node. */
void status_trace(FILE *f, const char *who, const cJSON *node);

/* Of an object: 0 and "?" if there is no such key. */
double status_number(const cJSON *object, const char *key);
const char *status_string(const cJSON *object, const char *key);

#define STATUS_CELL 24
/* The nodes that serve a job: "0,2", "8:0.." if there are many, a dash for none. */
void status_ionodes(char out[STATUS_CELL], const cJSON *job);
/* Three digits and a prefix, at most five characters: 0, 999, 1.23K, 12.3M, 123G. */
void status_short(char out[STATUS_CELL], double value);
/* A count in three characters: 999, 1K, 99K, .1M, 1M, .1G. */
void status_tiny(char out[STATUS_CELL], double value);
/* What is behind a number as it is printed, so that it is not "1 requests". */
const char *status_plural(const char *number, const char *one, const char *many);
/* At most five characters: 0, 12us, 1.2ms, 12ms, 1.2s, 99s, 12m, 3.4h, 12h, 45d. */
void status_time(char out[STATUS_CELL], double s);

/* "2 workers" of such a tree; out. */
const char *status_workers(char out[STATUS_CELL], const cJSON *tree);

#endif
