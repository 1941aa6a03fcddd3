/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and their parameters as JSON, from their tables: see policy-json.h. */
#include "layer/policy-json.h"

#include <string.h>

#include "layer/param.h"

bool policy_is_default(const struct sl_policy_info *info)
{
	const char *name;

	return sl_policy_default(info->stage, &name) == 0 && !strcmp(name, info->name);
}

static void pj_param(struct json *j, const struct sl_param *p)
{
	json_object(j, NULL);
	json_string(j, "name", p->name);
	json_string(j, "unit", param_unit(p));
	if (p->unit == SL_CHOICE) {
		json_array(j, "choices");
		for (int64_t i = 0; i <= p->max; i++)
			json_string(j, NULL, p->choices[i]);
		json_end(j);
		json_string(j, "default", p->choices[p->def]);
	} else if (p->unit == SL_FILE) {
		json_string(j, "default", NULL);
	} else {
		json_int(j, "min", p->min);
		json_int(j, "max", p->max);
		json_int(j, "default", p->def);
	}
	json_string(j, "help", p->help);
	json_end(j);
}

void policy_json(struct json *j, const struct sl_policy_info *info)
{
	json_object(j, NULL);
	json_string(j, "stage", info->stage);
	json_string(j, "name", info->name);
	json_bool(j, "default", policy_is_default(info));
	json_bool(j, "simulator_only", info->simulator_only);
	json_string(j, "summary", info->summary);
	json_string(j, "source", info->source);
	json_array(j, "params");
	for (const struct sl_param *p = info->params; p && p->name; p++)
		pj_param(j, p);
	json_end(j);
	json_end(j);
}

void policy_list_json(FILE *f, const char *stage)
{
	struct sl_policy_info info;
	struct json j;

	json_begin(&j, f);
	json_object(&j, NULL);
	json_array(&j, "policies");
	for (unsigned i = 0; sl_policy_info(i, &info) == 0; i++)
		if (!stage || !strcmp(stage, info.stage))
			policy_json(&j, &info);
	json_end(&j);
	json_end(&j);
}
