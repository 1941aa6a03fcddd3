/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of `sluice replay --name`. See live.c. */
#ifndef SL_LAB_REPLAY_LIVE_H
#define SL_LAB_REPLAY_LIVE_H

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>

#include "client/conn/client.h"
#include "lab/private.h"
#include "lab/replay/replay.h"

#define REPLAY_MAX_LENGTH (16U << 20) /* of one request; a node's requests are shorter */

struct rl_op {
	sl_time at_ns; /* since the first */
	uint64_t offset;
	uint32_t length, op, file;
	uint32_t next;	     /* of this job */
	uint32_t job, batch; /* batch: requests in the one that begins with it */
};

struct rl_file {
	uint64_t size, append_at;
	int flags;
	int fd;
	struct sl_remote remote;
};

struct rl_report {
	uint64_t bytes[2], requests, failed, wrong;
	int error;				     /* of the first that failed */
	sl_time busy_ns, late_ns, first_ns, last_ns; /* sums; times of the clock */
};

struct rl_job {
	uint64_t number;
	struct sl_job_conf conf;
	uint32_t first, last, count;
	uint32_t waiting, threads; /* under way: now, at most */
	sl_time end_ns;
	char name[32];
	struct rl_report report;
};

struct rl {
	struct private p;
	struct layer *layer;
	double speed;
	struct rl_op *op;
	uint32_t ops, op_room;
	struct rl_file *file;
	uint32_t files, file_room;
	struct rl_job job[PRIVATE_PROCS];
	uint32_t jobs;
	unsigned char *pattern; /* what is written, from any offset */
	sl_time end_ns;		/* of the recording */
	/* In a process. */
	const struct rl_job *mine;
	pthread_mutex_t lock;
	uint32_t at;
	sl_time start_ns;
	struct rl_report report;
};

/* Read the requests, files and jobs of the trace. */
int replay_load(struct rl *l, struct replay_trace *t);
/* Print the results. */
void replay_print(const struct rl *l, bool json);

#endif
