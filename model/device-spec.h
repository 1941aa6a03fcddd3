/* SPDX-License-Identifier: Apache-2.0 */
/* A device in text form: see device-spec.c. */
#ifndef SL_MODEL_DEVICE_SPEC_H
#define SL_MODEL_DEVICE_SPEC_H

#include "model/device.h"

/*
 * A preset by name, or "bandwidth=200M,seek=5ms,op=50us,streams=1" of which bandwidth is needed, at
 * least 1 MB/s. 0 or -EINVAL.
 */
int sl_device_parse(const char *text, struct sl_device_model *m);

#endif
