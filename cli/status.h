/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `sluice status`. */
#ifndef SL_CLI_STATUS_H
#define SL_CLI_STATUS_H

#include <stdio.h>

struct cJSON;

/* tree: what the node answers to "status"; listen: where, over TCP, or "". Lines are at most
 * `columns` (80 and up) wide. */
void status_table(FILE *f, const char *name, const char *listen, const struct cJSON *tree,
		  unsigned columns);

#endif
