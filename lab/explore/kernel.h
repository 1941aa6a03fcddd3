/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between live.c, which starts the processes of a live kernel, and kernel.c, which
 * runs in them. Both are the same program, so plain structs go over the socket:
 *
 *	-> struct kernel_task           <- struct kernel_result: the file is open, or why not
 *	-> { 'w' }                      <- struct kernel_result: it is connected; any number of
 * times
 *	-> { 'g', when }                <- struct kernel_result: what was done
 */
#ifndef SL_LAB_EXPLORE_KERNEL_H
#define SL_LAB_EXPLORE_KERNEL_H

#include <limits.h>
#include <pthread.h>

#include "lab/explore/explore.h"

/* The devices of direct access, in memory that all processes share. */
struct kernel_devices {
	pthread_mutex_t lock;
	struct sl_device device[]; /* each process sets the model pointer itself */
};

struct kernel_task {
	char dir[PATH_MAX];
	uint32_t app, proc;
	struct explore_kernel kernel;
	uint64_t seed;
	int devices_fd; /* struct kernel_devices; -1: none */
	struct sl_striping striping;
	struct sl_device_model model;
};

enum kernel_step {
	KERNEL_FINE,
	KERNEL_OPEN,
	KERNEL_CALL,
	KERNEL_SYNC,
	KERNEL_WRONG,
	KERNEL_MEMORY
};

struct kernel_result {
	uint32_t step; /* that failed: enum kernel_step */
	int error;
	uint64_t calls; /* that were made */
	sl_time end_ns;
};

struct kernel_order {
	char what; /* 'w' or 'g' */
	sl_time start_ns;
};

struct sl_pattern kernel_pattern(const struct explore_kernel *k, uint64_t seed);
void kernel_path(const char *dir, uint32_t app, uint32_t file, char out[PATH_MAX + 64]);
/* Files for a kernel that reads. 0 or -errno; -EINTR: private_interrupted. */
int kernel_prepare(const struct kernel_task *t);
/*
 * Whether the files contain the first `calls` calls of a process; incomplete if
 * private_interrupted.
 */
bool kernel_verify(const struct kernel_task *t, uint64_t calls);

#endif
