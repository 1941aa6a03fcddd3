/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice replay`: reading a trace, and the two things to do with it.
 *
 * Functions that return int report what is wrong and return CLI_OK, CLI_FAILED, or CLI_USAGE for
 * a trace that is damaged.
 */
#ifndef SL_LAB_REPLAY_REPLAY_H
#define SL_LAB_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdio.h>

#include "layer/layer.h"
#include "sched/trace.h"

#define REPLAY_CMD "replay"

struct replay_trace {
	const char *cmd;  /* for messages: who reads it; static */
	const char *path; /* borrowed */
	const unsigned char *bytes;
	size_t size, at;
	uint64_t records; /* read so far */
};

int replay_open(struct replay_trace *t, const char *cmd, const char *path);
void replay_close(struct replay_trace *t);
void replay_rewind(struct replay_trace *t);
/*
 * The next record into *r. 1, 0: the end. Negative: it is damaged or cut off, replay_damaged()
 * says how.
 */
int replay_next(struct replay_trace *t, struct sl_trace_record *r);
/*
 * Print the error of replay_next() (rc negative) or, with a text, another inconsistency in the
 * record read last; `so_far` is added to the message and may be "". Returns CLI_USAGE.
 */
int replay_damaged(const struct replay_trace *t, int rc, const char *text, const char *so_far);

/*
 * Repeat all calls on a scheduler, and compare the results. log (may be NULL) gets the decisions of
 * that scheduler, one per line: time in ns, number of requests in the batch, and if there are any,
 * number, job, client, operation, file, offset and length of the first.
 */
int replay_check(struct replay_trace *t, bool json, FILE *log);
/* Repeat the reads and writes, on new files in the layer's directory. */
int replay_live(struct replay_trace *t, struct layer *l, double speed, bool json);

#endif
