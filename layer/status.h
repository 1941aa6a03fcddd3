/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a layer for its status, and numbers of a status as text of a few columns. */
#ifndef SL_LAYER_STATUS_H
#define SL_LAYER_STATUS_H

#include "layer/layer.h"
#include "wire/status.h"

/* Time limit for the answers of all members together. */
#define STATUS_WAIT_MS 2000
/* For a command that would do harm if it mistook a slow node for a dead one. */
#define STATUS_PATIENT_MS 10000
/* Each to be freed by status_free(). NULL: nobody has answered. */
/* The status of one node or controller; the text may be of any version. */
struct status *status_of_socket(const char *socket, int wait_ms);
/* The status of all members, merged, even if the layer has a single node. */
struct status *status_of_layer(const struct layer *l, int wait_ms);
/* The processes that a node has, of all jobs; -1: it does not answer. */
int64_t status_clients(const char *socket);
/* The status of the only node, or of all members. */
struct status *status_ask(const struct layer *l, int wait_ms);

/* What a column of a table of jobs shows; status-cell.c has the text of each. */
enum status_show {
	STATUS_BAR, /* none: the caller draws something */
	STATUS_NOW,
	STATUS_AVERAGE,
	STATUS_CLIENTS,
	STATUS_IOPS,
	STATUS_QUEUE,
	STATUS_HELD,
	STATUS_P50,
	STATUS_P99,
	STATUS_SET,
	STATUS_SHARE,
	STATUS_MIN,
	STATUS_MAX,
	STATUS_WEIGHT,
	STATUS_READ,
	STATUS_WRITTEN,
	STATUS_DIRTY,
	STATUS_CACHED,
	STATUS_WIRE,
	STATUS_PERIOD,
	STATUS_SURE, /* how sure the controller is of a period that it has found itself */
	STATUS_MERGE,
	STATUS_PATTERN, /* "w strided 16K/8": writes, calls of 16 KB in the mean, 8 files */
	STATUS_ORDER,
	STATUS_OPS,
	STATUS_MAX_OPS,
	STATUS_OPS_HELD,
	STATUS_PHASE,
	STATUS_GRANT,
	STATUS_IONODES, /* the nodes that serve a job: "0,2", "8:0.." if there are many */
	STATUS_SHOWS
};
struct status_column {
	const char *title; /* NULL: the end of a table */
	unsigned width;	   /* with the space before */
	enum status_show show;
};

#define STATUS_CELL 24
/* A dash where the job has none of it. */
void status_cell(char out[STATUS_CELL], enum status_show show, const struct status_job *job);
/* As status_short(); a dash unless it is more than 0. */
void status_some(char out[STATUS_CELL], double value);
/* Three digits and a prefix, at most five characters: 0, 999, 1.23K, 12.3M, 123G. */
void status_short(char out[STATUS_CELL], double value);
/* A count in three characters: 999, 1K, 99K, .1M, 1M, .1G. */
void status_tiny(char out[STATUS_CELL], double value);
/* `one` or `many`, to follow a printed number: not "1 requests". */
const char *status_plural(const char *number, const char *one, const char *many);
/* At most five characters: 0, 12us, 1.2ms, 12ms, 1.2s, 99s, 12m, 3.4h, 12h, 45d. */
void status_time(char out[STATUS_CELL], double s);
/*
 * What limits a job's operations, data calls and bytes of one direction: "max_ops 500 max_read
 * 10.0M"; "" if nothing does. Mins and weights of classes, too.
 */
void status_ops(char *out, size_t size, const struct status_job *job);
/* A text of a status, or "?". */
const char *status_known(const char *text);

#endif
