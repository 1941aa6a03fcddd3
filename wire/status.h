/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of an I/O node, of a controller, and of a layer, as types. Their fields are listed in
 * wire/status-fields.h; the JSON that programs exchange is made and read here only.
 *
 * A node fills a struct status and a struct status_job for one job after the other, and writes
 * them. A reader decodes the text, and merges the statuses of all nodes of a layer into one.
 */
#ifndef SL_WIRE_STATUS_H
#define SL_WIRE_STATUS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "wire/status-fields.h"

/* Numbers are doubles, as in JSON: exact up to 2^53. */
#define STATUS_TYPE_NUMBER		       double
#define STATUS_TYPE_FLAG		       double /* 0 or 1 */
#define STATUS_TYPE_MAYBE		       double
#define STATUS_TYPE_MAYBE_FLAG		       double
#define STATUS_TYPE_TEXT		       const char * /* NULL: null */
#define STATUS_F(kind, key, merge, in)	       STATUS_TYPE_##kind key;
#define STATUS_G(kind, object, key, merge, in) STATUS_TYPE_##kind object##_##key;

struct status_job {
	STATUS_JOB_FIELDS(STATUS_F, STATUS_G)
	/* The nodes that serve the job, by name. */
	const char *const *served_by;
	size_t served_by_count;
	/* The job at each node: in the status of a layer, and of a controller. */
	struct status_job *parts, *next_part;
};

struct status_ionode {
	STATUS_IONODE_FIELDS(STATUS_F, STATUS_G)
};

struct status_controller {
	STATUS_CONTROLLER_FIELDS(STATUS_F, STATUS_G)
};

struct status_memory;

struct status {
	STATUS_LAYER_FIELDS(STATUS_F, STATUS_G)
	struct status_job *jobs;
	size_t jobs_count;
	/* Of a layer, and of a controller; of a single node NULL. */
	struct status_ionode *ionodes;
	size_t ionodes_count;
	/* Of a layer: state is NULL if there is none. */
	struct status_controller controller, standby;
	struct status_memory *memory; /* owns all that is above */
};

enum status_kind { STATUS_OF_NODE, STATUS_OF_CONTROLLER, STATUS_OF_LAYER };

static inline double status_or_0(double maybe)
{
	return isnan(maybe) ? 0.0 : maybe;
}

/* ---- writing ---- */

/*
 * Write the members of an open object, and its list of jobs. status_put() writes all; a node, which
 * has no list of jobs in memory, writes the same with begin, job, job, ..., end.
 */
void status_put(struct json *j, const struct status *s, enum status_kind kind);
void status_put_begin(struct json *j, const struct status *s, enum status_kind kind);
void status_put_job(struct json *j, const struct status_job *job, enum status_kind kind);
void status_put_end(struct json *j);

/* ---- reading and merging: wire/status-decode.c, wire/status-merge.c ---- */

/*
 * Decode the output of status_put(), of any kind. Unknown keys are ignored; missing values are 0 or
 * null. NULL: not JSON, or out of memory.
 */
struct status *status_decode(const char *text);
void status_free(struct status *s);
void status_clear(struct status *s); /* frees what it owns */
/* The job of this name; NULL: none. */
const struct status_job *status_job_find(const struct status *s, const char *name);

/* A node or controller of a layer, and its status. */
struct status_member {
	const char *name, *socket, *log;
	int64_t pid;	     /* 0: it does not run */
	struct status *said; /* NULL: no answer; becomes the property of status_merge() */
};
/*
 * Merge the statuses of the nodes into one for the layer, which also lists nodes and controllers.
 * controller, standby: NULL if there is none. NULL: no node has answered, or out of memory.
 */
struct status *status_merge(struct status_member *node, size_t nodes,
			    struct status_member *controller, struct status_member *standby);

/* ---- for these files ---- */

enum status_field_kind { STATUS_NUMBER, STATUS_FLAG, STATUS_MAYBE, STATUS_MAYBE_FLAG, STATUS_TEXT };
enum status_rule {
	STATUS_FIRST,
	STATUS_SUM,
	STATUS_MOST,
	STATUS_MEAN,
	STATUS_RATIO,
	STATUS_LIMIT,
	STATUS_BUSIEST
};
struct status_field {
	const char *object, *key; /* object NULL: none */
	size_t at;		  /* in the struct */
	enum status_field_kind kind;
	enum status_rule rule;
	unsigned in;
};
/* Each ends with a NULL key. */
extern const struct status_field status_job_fields[], status_layer_fields[], status_ionode_fields[],
	status_controller_fields[];

static inline double *status_double(const void *of, const struct status_field *f)
{
	return (double *)(void *)((char *)(uintptr_t)of + f->at);
}

static inline const char **status_text(const void *of, const struct status_field *f)
{
	return (const char **)((char *)(uintptr_t)of + f->at);
}

/* Memory of a status, zeroed; freed with it. NULL: out of memory. */
void *status_alloc(struct status *s, size_t size);
/* Move the memory of `from` to s, and free `from`. */
void status_take_memory(struct status *s, struct status *from);

#endif
