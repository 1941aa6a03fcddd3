/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller knows, as JSON. */
#ifndef SL_CONTROLLER_STATUS_H
#define SL_CONTROLLER_STATUS_H

#include "controller/brain.h"

/* To be freed; NULL: out of memory. */
char *status_json(const struct brain *b, bool leads, sl_time now, sl_time started);

#endif
