/* SPDX-License-Identifier: Apache-2.0 */
/* The device of a scenario of requests, in YAML. See requests-device.c. */
#ifndef SL_SIM_REQUESTS_DEVICE_H
#define SL_SIM_REQUESTS_DEVICE_H

#include "base/yaml.h"
#include "model/device.h"
#include "sim/requests.h"

/* out: a device before, too. 0, or -EINVAL with a message that names file, line and key. */
int sl_requests_device(struct sl_yaml *y, const yaml_node_t *node, struct sl_device_model *out);

/* A key of what the requests go through: stripe, transfer, link, latency, window or capacity. */
int sl_requests_platform(struct sl_yaml *y, const char *key, const yaml_node_t *node,
			 struct sl_requests *s);

#endif
