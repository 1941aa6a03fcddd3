/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies of a scenario in YAML: [fair-share, fcfs, 'min-max,gamma=50']. Each may be written
 * as 'sluice policy list' has it, too: grant/fcfs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/guess.h"
#include "sched/spec.h"
#include "sim/quantity.h"

/* A policy whose name is much like the beginning of text; NULL: none, or it has that name. */
static const char *sp_meant(const char *text)
{
	const struct sl_policy *p;
	char word[SL_GUESS_WORD + 1];
	struct sl_guess guess = { .word = word };
	size_t length = strcspn(text, ",=");

	if (length > SL_GUESS_WORD || sl_policy_find(SL_GRANT, text, length))
		return NULL;
	memcpy(word, text, length);
	word[length] = 0;
	for (unsigned i = 0; (p = sl_policy_at(SL_GRANT, i)); i++)
		sl_consider(&guess, p->name);
	return guess.best;
}

static int sp_take(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	struct sl_scenario *s = into;
	struct sl_spec spec;
	char err[400];
	int rc = sl_yaml_scalar(y, y->path, node, "a grant policy like fair-share");
	const char *text = rc ? "" : sl_yaml_text(node);

	if (rc)
		return rc;
	if (!strncmp(text, "grant/", 6) || !strncmp(text, "grant=", 6))
		text += 6;
	if (sl_spec_parse(SL_GRANT, text, &spec, err, sizeof(err)))
		return sl_yaml_bad(y, node, "%s%s%s%s%s", err,
				   strchr(text, '=') && !strchr(text, ',')
					   ? "; one with parameters stands in quotes"
					   : "",
				   sp_meant(text) ? " (did you mean '" : "",
				   sp_meant(text) ? sp_meant(text) : "",
				   sp_meant(text) ? "'?)" : "");
	s->policies[s->n_policies] = strdup(text);
	if (!s->policies[s->n_policies])
		return sl_yaml_no_memory(y, node);
	s->n_policies++;
	return 0;
}

int sl_policies_take(struct sl_yaml *y, const char *key, const yaml_node_t *value,
		     struct sl_scenario *s)
{
	ptrdiff_t n = 0;

	if (value->type == YAML_SEQUENCE_NODE)
		n = value->data.sequence.items.top - value->data.sequence.items.start;
	s->policies = calloc((size_t)n + 1, sizeof(*s->policies));
	if (!s->policies)
		return sl_yaml_no_memory(y, value);
	return sl_yaml_list(y, key, value, "a list of grant policies, [fair-share, fcfs]", sp_take,
			    s);
}
