/* SPDX-License-Identifier: Apache-2.0 */
/* sluice.yaml: what a layer is made of, in a file. See sluice.yaml(5). */
#ifndef SL_CLI_CONFIG_H
#define SL_CLI_CONFIG_H

#include <stddef.h>

#include "cli/check.h"

#define CONFIG_JOBS    1024
#define CONFIG_WORKERS 64
#define CONFIG_TEXT    (CHECK_TEXT + 300) /* of a message */

struct config_job {
	char *name;
	char *words; /* "min=100M weight=4", for the node; may be empty */
	struct sl_job_conf conf;
	unsigned line;
};

/* What is not given is NULL or 0. */
struct config {
	char *name, *directory;
	char *capacity; /* as written */
	unsigned workers;
	char *policy[3]; /* admit, share, order */
	struct config_job *jobs;
	size_t jobs_count;
};

extern const char *const config_stages[3];

/*
 * Parse `length` bytes; `file` is for messages only. 0, -EINVAL or -ENOMEM with a message in err
 * (CONFIG_TEXT bytes), "FILE:LINE: what is wrong; what is possible", and *c is empty.
 */
int config_parse(struct config *c, const char *file, const char *text, size_t length, char *err);
/* The same with the contents of a file; a relative directory in it is beneath that of the file. */
int config_read(struct config *c, const char *file, char *err);
void config_free(struct config *c);

#endif
