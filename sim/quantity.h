/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units, and quantities that vary, in the YAML of scenarios. See quantity.c. */
#ifndef SL_SIM_QUANTITY_H
#define SL_SIM_QUANTITY_H

#include <stdbool.h>

#include "base/yaml.h"
#include "sim/scenario.h"

/* The range of a number. */
struct sl_quantity {
	const char *what; /* for messages */
	const struct sl_quantity_unit *units;
	double max; /* less than this */
	bool rate;  /* "/s" may stand behind the unit */
	bool zero;  /* may be 0 */
};

extern const struct sl_quantity sl_a_rate, sl_a_size, sl_a_volume, sl_a_time;

/* 0, or -EINVAL or -ENOMEM with a message that names file, line and key, as those of yaml.h. */
int sl_quantity_take(const struct sl_yaml *y, const yaml_node_t *node, const struct sl_quantity *q,
		     double *out);
/* v is zeroed; its list is to be freed, after a failure too. */
int sl_vary_take(struct sl_yaml *y, const yaml_node_t *node, const struct sl_quantity *q,
		 struct sl_vary *v);
/* The list of policies: scenario-policies.c. */
int sl_policies_take(struct sl_yaml *y, const char *key, const yaml_node_t *value,
		     struct sl_scenario *s);

#endif
