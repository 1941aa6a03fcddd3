/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies and parameters in words, from their tables: for `sluice policy` and the manual page
 * sluice-policies(7), so that both agree.
 */
#ifndef SL_LAYER_PARAM_H
#define SL_LAYER_PARAM_H

#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

/* The decision of the stage, as a question; "" for a stage that has none. */
const char *param_stage_question(const char *stage);

/* "bytes", "count", "us", "ms" or "choice". */
const char *param_unit(const struct sl_param *p);

/* "0 to 1000000 us (1 s), default 500 us"; "one of lend, idle; default lend". Into buf, returned.
 */
const char *param_range(const struct sl_param *p, char *buf, size_t size);

/* A spec that changes a parameter or two: "aioli,batch_bytes=8Mi". Into buf, returned. */
const char *param_example(const struct sl_policy_info *info, char *buf, size_t size);

#endif
