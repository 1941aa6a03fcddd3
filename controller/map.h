/* SPDX-License-Identifier: Apache-2.0 */
/* Which I/O nodes serve which job. See map.c. */
#ifndef SL_CONTROLLER_MAP_H
#define SL_CONTROLLER_MAP_H

#include "controller/brain.h"

void map_decide(struct brain *b);

#endif
