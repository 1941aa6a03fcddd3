/* SPDX-License-Identifier: Apache-2.0 */
/* The controller of a scenario of requests: see requests-control-read.c. */
#ifndef SL_SIM_REQUESTS_CONTROL_READ_H
#define SL_SIM_REQUESTS_CONTROL_READ_H

#include "base/yaml.h"
#include "sim/requests.h"

/* As sl_yaml_mapping(). */
int sl_requests_control_read(struct sl_yaml *y, const char *key, const yaml_node_t *node,
			     struct sl_requests_control *out);
int sl_requests_events_read(struct sl_yaml *y, const char *key, const yaml_node_t *node,
			    struct sl_requests *s);
/* The servers of an application. */
int sl_requests_on_read(struct sl_yaml *y, const char *key, const yaml_node_t *node,
			struct sl_requests *s, struct sl_requests_app *a);
/* Whether all of it fits the rest. */
int sl_requests_control_check(const struct sl_yaml *y, const yaml_node_t *node,
			      const struct sl_requests *s);

#endif
