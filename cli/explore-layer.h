/* SPDX-License-Identifier: Apache-2.0 */
/* A layer that an exploration has for itself, over the directory of a struct private. */
#ifndef SL_CLI_EXPLORE_LAYER_H
#define SL_CLI_EXPLORE_LAYER_H

#include "cli/explore.h"
#include "cli/private.h"

/*
 * From now on its runtime directory is that of this program. Should this program be killed, a
 * process that is started here stops the layer and removes the directories.
 */
int explore_layer_begin(struct private *p);
void explore_layer_end(struct private *p);

/* With the number of nodes, order and device of the cell; `sluice up` does it. */
int explore_layer_up(struct private *p, const struct explore_spec *s, const struct explore_cell *c);
/* Does nothing if there is none. */
void explore_layer_down(struct private *p);

/* The controller is told that all its nodes serve the job; until it knows the job, for a while. */
int explore_layer_map(const char *job, uint32_t ionodes);
/* Processes that are connected to a node; -1: it does not say. */
int64_t explore_layer_clients(uint32_t node);

#endif
