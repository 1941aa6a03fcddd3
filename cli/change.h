/* SPDX-License-Identifier: Apache-2.0 */
/* A change of a layer by a command: set, policy set, open, close, reload. */
#ifndef SL_CLI_CHANGE_H
#define SL_CLI_CHANGE_H

#include "layer/layer.h"

#define CHANGE_LINE 4096 /* the longest control line */

/* Adds " word" to line. An exit status; CLI_USAGE, reported, if it does not fit. */
int change_word(const char *cmd, char line[CHANGE_LINE], const char *word);
/* Finds the layer (name NULL: the only one), makes the change, and prints its warning, if there is one. An exit status. */
int change_layer(const char *cmd, struct layer *l, const char *name, const char *line);

#endif
