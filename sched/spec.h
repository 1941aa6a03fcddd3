/* SPDX-License-Identifier: Apache-2.0 */
/* A policy and its parameters from text: "aioli,wait_us=500,batch_bytes=1Mi". */
#ifndef SL_SCHED_SPEC_H
#define SL_SCHED_SPEC_H

#include "policy/policy.h"

struct sl_spec {
	const struct sl_policy *policy;
	int64_t values[SL_MAX_PARAMS]; /* in the order of policy->params */
};

/*
 * text NULL: the stage's default. -ENOENT: no such policy or parameter, -EINVAL: malformed or
 * given twice, -ERANGE: out of range; err (never NULL) then says what, and what is possible.
 * *out is written on success only.
 */
int sl_spec_parse(enum sl_stage stage, const char *text, struct sl_spec *out, char *err,
		  size_t err_size);

#endif
