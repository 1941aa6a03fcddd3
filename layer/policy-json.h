/* SPDX-License-Identifier: Apache-2.0 */
/* Policies as JSON, for `sluice policy --json` and the dashboard, so that both agree. */
#ifndef SL_LAYER_POLICY_JSON_H
#define SL_LAYER_POLICY_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "sluice.h"

/* Whether it is the default of its stage. */
bool policy_is_default(const struct sl_policy_info *info);
/* One, as an object in an array or at the top. */
void policy_json(struct json *j, const struct sl_policy_info *info);
/* {"policies":[...]}: those of a stage, NULL: all. */
void policy_list_json(FILE *f, const char *stage);

#endif
