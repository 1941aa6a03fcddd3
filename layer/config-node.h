/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of a node in sluice.yaml, as words of its command line. `sluice up` starts
 * nodes with them; a node that systemd or another program starts reads them from its --config.
 */
#ifndef SL_LAYER_CONFIG_NODE_H
#define SL_LAYER_CONFIG_NODE_H

#include "layer/config.h"

struct config_words {
	const char *word[2 * (CONFIG_KEYS + CONFIG_NODE_STAGES) + 1]; /* ends with NULL */
	unsigned count;
	char capacity[24], ops[24], nodes[16];
};

/* value and policy are borrowed while the words are used; nodes: number of nodes of the layer. */
void config_node_words(struct config_words *w, const char *const value[CONFIG_KEYS],
		       const char *const policy[CONFIG_STAGES], unsigned nodes);

#endif
