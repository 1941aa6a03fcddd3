/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if: a scenario for `sluice sim` from the present jobs, and their present values of the same
 * measures. Pure.
 */
#ifndef SL_HTTPD_PLAN_H
#define SL_HTTPD_PLAN_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "httpd/history.h"
#include "wire/status.h"

#define PLAN_TEXT 300

struct plan {
	char *scenario; /* text */
	cJSON *now;	/* measures, bandwidth, the jobs, and those left out and why */
};

/* 0; -ENODATA and in err what is missing; -ENOMEM. */
int plan_make(const struct status *s, const struct history *h, struct plan *out,
	      char err[PLAN_TEXT]);
void plan_free(struct plan *p);
/* The answer: the output of the simulator and its input; to be freed. NULL: it failed. */
char *plan_answer(const struct plan *p, const char *printed, size_t *length);

#endif
