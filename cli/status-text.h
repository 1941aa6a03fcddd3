/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `sluice status`. */
#ifndef SL_CLI_STATUS_TEXT_H
#define SL_CLI_STATUS_TEXT_H

#include <stdio.h>

#include "layer/status.h"

/* listen: the TCP address of the layer, or "". Lines are at most `columns` (80 and up) wide. */
void status_table(FILE *f, const char *name, const char *listen, const struct status *s,
		  unsigned columns);
/* For a layer with several members: two lines about them, and the table of the nodes. */
void status_members(FILE *f, const struct status *s);
void status_nodes(FILE *f, const char *name, const struct status *s);
/* Print a line if a recording has stopped; `who` names the node. */
void status_trace(FILE *f, const char *who, const char *state, const char *file, const char *error);
/* "2 workers"; out. */
const char *status_workers(char out[STATUS_CELL], double workers);

#endif
