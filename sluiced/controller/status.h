/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller knows, as JSON. */
#ifndef SL_SLUICED_CONTROLLER_STATUS_H
#define SL_SLUICED_CONTROLLER_STATUS_H

#include "sluiced/controller/brain.h"

/* To be freed; NULL: out of memory. */
char *status_json(const struct brain *b, sl_time now, sl_time started);

#endif
