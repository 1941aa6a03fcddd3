/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all policies, generated from policies.def. */
#include <errno.h>
#include <string.h>

#include "policy.h"

static const struct {
	enum sl_stage stage;
	const struct sl_policy *policy;
} all[] = {
#define SL_POLICY(stage, Stage, symbol) { SL_##Stage, &sl_##stage##_##symbol.base },
#include "policies.def"
#undef SL_POLICY
};

static const char *const stages[SL_STAGES] = { "admit", "share", "order", "grant", "allocate" };

const char *sl_stage_name(enum sl_stage stage)
{
	return stages[stage];
}

int sl_stage_find(const char *name)
{
	for (int i = 0; i < SL_STAGES; i++)
		if (!strcmp(stages[i], name))
			return i;
	return -ENOENT;
}

const struct sl_policy *sl_policy_at(enum sl_stage stage, unsigned i)
{
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		if (all[k].stage == stage && i-- == 0)
			return all[k].policy;
	return NULL;
}

const struct sl_policy *sl_policy_find(enum sl_stage stage, const char *name, size_t name_length)
{
	const struct sl_policy *p;

	for (unsigned i = 0; (p = sl_policy_at(stage, i)); i++)
		if (strlen(p->name) == name_length && !memcmp(p->name, name, name_length))
			return p;
	return NULL;
}
