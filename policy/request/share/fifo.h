/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of fifo, for policies that are fifo between their lanes: see pool.c. */
#ifndef SL_POLICY_REQUEST_SHARE_FIFO_H
#define SL_POLICY_REQUEST_SHARE_FIFO_H

#include "policy/policy.h"

size_t sl_fifo_state_size(const struct sl_policy_limits *limits);
void sl_fifo_init(void *state, const struct sl_policy_limits *limits, const int64_t *values,
		  sl_time now);
void sl_fifo_enter(void *state, uint32_t lane, const struct sl_member *m, sl_time now);
void sl_fifo_leave(void *state, uint32_t lane, bool idle, sl_time now);
void sl_fifo_update(void *state, uint32_t lane, const struct sl_member *m, sl_time now);
void sl_fifo_forget(void *state, uint32_t lane);
int64_t sl_fifo_pick(void *state, sl_time now, sl_time *wake);
void sl_fifo_charge(void *state, uint32_t lane, const struct sl_member *m, uint64_t bytes,
		    uint32_t requests, sl_time now);

#endif
