/* SPDX-License-Identifier: Apache-2.0 */
/* The device of a scenario of requests, in YAML. See requests-device.c. */
#ifndef SL_SIM_REQUESTS_DEVICE_H
#define SL_SIM_REQUESTS_DEVICE_H

#include "base/yaml.h"
#include "sim/device.h"

/* out: a device before, too. 0, or -EINVAL with a message that names file, line and key. */
int sl_requests_device(struct sl_yaml *y, const yaml_node_t *node, struct sl_device_model *out);

#endif
