/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effect of an intercepted call: which files of the layer, in which direction, how many bytes.
 */
#ifndef SL_GATE_CALL_H
#define SL_GATE_CALL_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/conn/ops.h"
#include "client/conn/turn.h"

struct gate_work {
	uint64_t bytes[2];	 /* by enum sl_op: of files of the layer */
	uint64_t unseen;	 /* bytes of files that we may not look at: cannot be held */
	uint64_t mapped;	 /* bytes that mappings have moved before this call */
	struct turn_place place; /* of the first file */
	bool nowait;		 /* the program does not want to wait */
	bool operation;		 /* a metadata call on something in the layer */
	uint8_t which;		 /* enum sl_class */
	uint8_t part;		 /* of the job, by the path of the first file */
	struct ops_other ops;	 /* of serve.c: what it waits for */
};

/* Looks at the files of the process in /proc. All are 0 if no file is in the layer. */
void gate_work_of(const struct seccomp_notif *n, struct gate_work *out);

/* A descriptor of a thread of another process. */
struct gate_file {
	struct statx sx;
	bool ours;   /* a file or directory of the layer */
	bool hidden; /* we may not look */
	uint8_t part;
};
void gate_file_look(uint32_t tid, int fd, struct gate_file *f);
/* Read memory of another process; false: not all of it can be read. */
bool gate_copy_in(uint32_t tid, uint64_t from, void *to, size_t bytes);
struct gate_call;
/* names.c: what a metadata call is about. */
void gate_names(struct gate_work *w, const struct gate_call *c, uint32_t tid, const uint64_t *arg);
/*
 * A path of another process, relative to `base` unless it begins with '/': make it absolute, by its
 * text, in `out` of GATE_PATH bytes. False: it is too long.
 */
#define GATE_PATH 8192
bool gate_path_join(const char *base, const char *path, char *out);

bool gate_is_beneath(const char *path); /* the root of the layer */
/*
 * mounts.c: the same for a file that a thread has open, and whose path is not beneath the root by
 * its text: it may be, by a bind mount or in a container.
 */
void gate_mounts_start(void); /* in a new supervisor */
/* path NULL: it is too long to be read; then all files of the layer's file system are the layer's. */
bool gate_mount_leads_beneath(uint32_t tid, const char *path, const struct statx *sx);
/* The path inside of the file system, from a line of mountinfo; false: it is of another mount. */
#define GATE_DEVICE 24
bool gate_mount_inside(const char *line, uint64_t mount, const char *path, char *device, char *out);

#endif
