/* SPDX-License-Identifier: Apache-2.0 */
/* The part of config.c that reads rules. */
#ifndef SL_LAYER_CONFIG_RULES_H
#define SL_LAYER_CONFIG_RULES_H

#include "base/yaml.h"
#include "layer/config.h"

int config_rules(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into);
/* Whether the parts of jobs that tags and rules with a path make are not too many. */
int config_parts(const struct sl_yaml *y, size_t line, const struct config *c);
void config_rules_free(struct config *c);

#endif
