/* SPDX-License-Identifier: Apache-2.0 */
/* A policy and its parameters from text: "aioli,wait_us=500,batch_bytes=1Mi". */
#ifndef SL_SCHED_SPEC_H
#define SL_SCHED_SPEC_H

#include "policy/policy.h"

struct sl_spec {
	const struct sl_policy *policy;
	/*
	 * In the order of policy->params. The value of a file is a hash of its name, so that specs
	 * are small and comparable; 0: none.
	 */
	int64_t values[SL_MAX_PARAMS];
};

/*
 * Parse a spec; text NULL: the stage's default. Returns -ENOENT: no such policy or parameter,
 * -EINVAL: malformed or given twice, -ERANGE: out of range; err (never NULL) then gets a message.
 * *out is written only on success.
 */
int sl_spec_parse(enum sl_stage stage, const char *text, struct sl_spec *out, char *err,
		  size_t err_size);

#define SL_SPEC_FILE_MAX 255

/* malloc'ed, up to 16 MiB; 0 or -errno. */
int sl_spec_read(const char *name, char **text, size_t *length);
int64_t sl_spec_hash(const char *name, size_t length); /* not 0 */
/* Find the value of a file parameter in a text that was parsed before; false: it is not given. */
bool sl_spec_file(const char *text, const char *param, char name[SL_SPEC_FILE_MAX + 1]);

#endif
