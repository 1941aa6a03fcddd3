/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Periods of earlier runs: what a job is expected to do until its own period is found. See runs.c.
 */
#ifndef SL_CONTROLLER_RUNS_H
#define SL_CONTROLLER_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice.h"
#include "wire/proto.h"

#define RUNS_MAX 1024

struct run {
	char title[SL_JOB_NAME_MAX];
	uint32_t uid;
	sl_time period_ns;
	uint64_t used; /* when, in order: the oldest gives way */
};

struct runs {
	struct run *run; /* NULL: nothing is kept */
	uint32_t count;
	uint64_t clock;
	bool changed; /* since the last save */
};

int runs_begin(struct runs *r); /* keep some from now on; 0 or -ENOMEM */
void runs_end(struct runs *r);
/* 0: no run of such a job is known. */
sl_time runs_find(const struct runs *r, uint32_t uid, const char *title);
void runs_add(struct runs *r, uint32_t uid, const char *title, sl_time period_ns);
/* Lines of UID SECONDS TITLE. What is wrong in a file is skipped: it can be lost. 0 or -errno. */
int runs_load(struct runs *r, const char *path);
int runs_save(struct runs *r, const char *path);

#endif
