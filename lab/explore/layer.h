/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for the layer of an exploration, in addition to private-layer.h. */
#ifndef SL_LAB_EXPLORE_LAYER_H
#define SL_LAB_EXPLORE_LAYER_H

#include "lab/explore/explore.h"
#include "lab/private.h"

/* Start the layer with the number of nodes, order and device of the cell, by `sluice up`. */
int explore_layer_up(struct private *p, const struct explore_spec *s, const struct explore_cell *c);

/* Map the job to all nodes; wait a while until the controller knows the job. */
int explore_layer_map(const char *job, uint32_t ionodes);
/* Number of processes connected to a node; -1: no answer. */
int64_t explore_layer_clients(uint32_t node);

#endif
