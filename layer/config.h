/* SPDX-License-Identifier: Apache-2.0 */
/* sluice.yaml: the description of a layer in a file. See sluice.yaml(5). */
#ifndef SL_LAYER_CONFIG_H
#define SL_LAYER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "layer/check.h"
#include "policy/rules.h"
#include "wire/ops.h"

#define CONFIG_JOBS	   1024
#define CONFIG_RULES	   1024
#define CONFIG_MAX_WORKERS 64
#define CONFIG_MAX_IONODES 64
#define CONFIG_STAGES	   5
#define CONFIG_TEXT	   (CHECK_TEXT + 300) /* of a message */

struct config_job {
	char *name;
	char *words; /* "min=100M weight=4", for the node; may be empty */
	char *path;  /* of a tag: a glob; NULL: none */
	struct sl_job_conf conf;
	struct sl_ops_conf ops;
	unsigned line;
};

/* Keys with one value. Each is a key of sluice.yaml and, with dashes, an option of `sluice up`. */
enum config_which {
	CONFIG_NAME,
	CONFIG_DIRECTORY, /* an argument of the command, not an option */
	CONFIG_CAPACITY,
	CONFIG_CAPACITY_OPS,
	CONFIG_WORKERS,
	CONFIG_LISTEN,
	CONFIG_SECRET_FILE,
	CONFIG_DEVICE_MODEL,
	CONFIG_TRACE,
	CONFIG_LOG_LEVEL,
	CONFIG_IONODES,
	CONFIG_GAP,
	CONFIG_CURVES,
	CONFIG_PER_PROC,
	CONFIG_COMPUTE_NODES,
	CONFIG_CONTROLLER_LOSS,
	CONFIG_STANDBY,
	CONFIG_DIRECT,
	CONFIG_ASK_ALWAYS,
	CONFIG_CHARGE,
	CONFIG_DIRTY,
	CONFIG_MODE,
	CONFIG_INTERCEPT,
	CONFIG_KEYS
};

struct config_key {
	const char *name;
	/* The option of a node that sets it; NULL: none. */
	const char *node;
	const char *controller;			    /* the controller's */
	const char *what;			    /* what the value is, for messages */
	int (*check)(const char *value, char *err); /* NULL: any text will do */
	bool is_path;
};
extern const struct config_key config_keys[CONFIG_KEYS];

/* 0, or -EINVAL with "'fast' is not a rate; write …" in err (CHECK_TEXT bytes). */
int config_check(enum config_which which, const char *value, char *err);

/* Members that are not given are NULL or 0. */
struct config {
	char *value[CONFIG_KEYS];    /* as written, but with absolute paths: config_read() */
	char *policy[CONFIG_STAGES]; /* as config_stages */
	struct config_job *jobs;
	size_t jobs_count;
	struct config_job *tags; /* parts that any job may have */
	size_t tags_count;
	struct sl_rule *rules; /* the first that matches holds */
	size_t rules_count;
	bool dashboard;			       /* start a dashboard */
	char *dashboard_host, *dashboard_port; /* its address */
};

/* Those of an I/O node first, then those of the controller. */
extern const char *const config_stages[CONFIG_STAGES];
#define CONFIG_NODE_STAGES 3
/* The value of a flag: true, yes, on, 1 or false, no, off, 0; NULL: false. */
bool config_flag(const char *value);
bool config_is_flag(const char *value); /* whether value is one of these words */

/*
 * Parse `length` bytes; `file` is for messages only. 0, -EINVAL or -ENOMEM with a message in err
 * (CONFIG_TEXT bytes), "FILE:LINE: what is wrong; what is possible", and *c is empty.
 */
int config_parse(struct config *c, const char *file, const char *text, size_t length, char *err);
/* The same with the contents of a file; relative paths in it are beneath its directory. */
int config_read(struct config *c, const char *file, char *err);
void config_free(struct config *c);

#endif
