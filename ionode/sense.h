/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring the file system: a thread that looks at what jobs move, ten times a second while there
 * are some, and once a second otherwise. It feeds the shadow of observe mode (shadow.h).
 */
#ifndef SL_IONODE_SENSE_H
#define SL_IONODE_SENSE_H

#include "ionode/node.h"

int sense_start(struct node *n); /* no lock is held; -errno */
void sense_stop(struct node *n);

#endif
