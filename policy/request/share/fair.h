/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of share=fair, for code that divides a bandwidth in the same way: see fair.c. */
#ifndef SL_SHARE_FAIR_H
#define SL_SHARE_FAIR_H

#include <stdint.h>

enum sl_fair_by {
	SL_FAIR_USER = 1,    /* users are a level */
	SL_FAIR_ACCOUNT = 2, /* and above them, accounts */
	SL_FAIR_NODES = 4,   /* jobs by their compute nodes */
};

uint32_t sl_fair_by(const int64_t *values); /* of its parameters */

#endif
