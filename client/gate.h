/* SPDX-License-Identifier: Apache-2.0 */
/* Gate mode: see gate.c and client.h. */
#ifndef SL_CLIENT_GATE_H
#define SL_CLIENT_GATE_H

#include "client/connect.h"

/* A fresh connection: there is no lease yet. */
void gate_start(struct conn *c);

#endif
