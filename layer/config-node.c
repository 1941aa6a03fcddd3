/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of a node as words of its command line: see config-node.h. */
#include "layer/config-node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "wire/ops.h"

static void add(struct config_words *w, const char *option, const char *value)
{
	w->word[w->count++] = option;
	if (value)
		w->word[w->count++] = value;
	w->word[w->count] = NULL;
}

/* The node's part of a number for the whole layer. */
static const char *part(char out[24], uint64_t whole, unsigned nodes)
{
	snprintf(out, 24, "%" PRIu64, whole > nodes ? whole / nodes : 1);
	return out;
}

void config_node_words(struct config_words *w, const char *const value[CONFIG_KEYS],
		       const char *const policy[CONFIG_STAGES], unsigned nodes)
{
	static const char *const stages[CONFIG_NODE_STAGES] = { "--admit", "--share", "--order" };
	const char *capacity = value[CONFIG_CAPACITY], *ops = value[CONFIG_CAPACITY_OPS];
	uint64_t number = 0;

	*w = (struct config_words){ 0 };
	if (value[CONFIG_DIRECTORY])
		add(w, "--root", value[CONFIG_DIRECTORY]);
	for (int i = 0; i < CONFIG_NODE_STAGES; i++)
		if (policy[i])
			add(w, stages[i], policy[i]);
	for (int k = 0; k < CONFIG_KEYS; k++)
		if (config_keys[k].node && value[k])
			add(w, config_keys[k].node, value[k]);
	if (capacity && check_auto(capacity))
		add(w, "--capacity", capacity);
	else if (capacity && !sl_parse_rate(capacity, &number))
		add(w, "--capacity", part(w->capacity, number, nodes));
	if (ops && !strcmp(ops, "auto"))
		add(w, "--capacity-ops", ops);
	else if (ops && !sl_ops_parse(ops, &number))
		add(w, "--capacity-ops", part(w->ops, number, nodes));
	if (config_flag(value[CONFIG_ASK_ALWAYS]))
		add(w, "--ask-always", NULL);
	if (value[CONFIG_MODE] && !strcmp(value[CONFIG_MODE], "observe"))
		add(w, "--observe", NULL);
	snprintf(w->nodes, sizeof(w->nodes), "%u", nodes);
	add(w, "--layer-nodes", w->nodes);
}
