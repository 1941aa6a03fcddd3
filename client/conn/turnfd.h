/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turn route's table of descriptors: one byte for each number, which says whether data calls
 * on it are the layer's. See turnfd.c.
 */
#ifndef SL_CLIENT_CONN_TURNFD_H
#define SL_CLIENT_CONN_TURNFD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum turnfd {
	TURNFD_UNKNOWN, /* turnfd_find() tells, at the first data call */
	TURNFD_PASS,	/* not a file of the layer */
	TURNFD_OURS,	/* a file of the layer */
	TURNFD_SLOW,	/* the same, opened with O_DIRECT, O_SYNC or O_DSYNC */
	TURNFD_DIR,	/* a directory of the layer, or something there opened with O_PATH */
};

#define TURNFD_STATE 7U /* the bits of that in an entry; above them: how often it was replaced */
#define TURNFD_FIRST 1024

extern _Atomic unsigned char turnfd_first[TURNFD_FIRST] __attribute__((visibility("hidden")));
unsigned turnfd_high(int fd); /* the entry of a number from TURNFD_FIRST on */

static inline unsigned turnfd_entry(int fd)
{
	unsigned number = (unsigned)fd;

	if (__builtin_expect(number < TURNFD_FIRST, 1))
		return atomic_load_explicit(&turnfd_first[number], memory_order_relaxed);
	return turnfd_high(fd);
}

static inline unsigned turnfd_state(int fd)
{
	return turnfd_entry(fd) & TURNFD_STATE;
}

static inline bool turnfd_ours(unsigned state)
{
	return state & TURNFD_OURS; /* or SLOW */
}

void turnfd_start(const char *root);
/* fd has been opened: its state as far as the arguments of open tell it. Keeps errno. */
void turnfd_opened(int fd, int dir, const char *path, int flags);
/*
 * Whether a path, as a metadata call has it, is in the layer; path NULL or "": the file of `dir`
 * itself. The path must be readable. Keeps errno.
 */
bool turnfd_path(int dir, const char *path);
/* The same for an open file or directory. */
bool turnfd_within(int fd);
/* The number is closed, or means something else from now on. */
void turnfd_forget(int fd);
void turnfd_forget_range(unsigned first, unsigned last);
/* Look at what fd is, and remember it. */
unsigned turnfd_find(int fd);
/* dup2() is about to replace the number, in one step: a call that waits goes to the new file. */
void turnfd_replace(int fd);

/* A file that a call waits with; replaced: as the entry says. */
struct turnfd_file {
	uint64_t device, inode, born;
	unsigned replaced;
};
/*
 * Before a wait. False: a call on fd must not wait, since it is a pipe, say: the path given to
 * open() did not tell. Keeps errno.
 */
bool turnfd_hold(int fd, struct turnfd_file *f);
/*
 * After it. False: the program has closed the number meanwhile, and perhaps opened another file
 * under it. Keeps errno.
 */
bool turnfd_holds(int fd, const struct turnfd_file *f);
/*
 * statx() for this table and its users. The attributes that they read never change, so a file's
 * server need not be asked. Behind a gate this call must not count as an operation of the program:
 * client/preload/stub.c makes it where the gate lets it pass. (musl 1.2.3 has no statx().)
 */
#define TURNFD_STATX_FLAGS (AT_EMPTY_PATH | AT_STATX_DONT_SYNC)
struct statx;
typedef int turnfd_statx_call(int dir, const char *path, unsigned mask, struct statx *sx);
extern turnfd_statx_call *turnfd_statx __attribute__((visibility("hidden")));
/* From now on no system calls are made for this table: the process has a seccomp filter. */
void turnfd_seal(void);
/* The working directory changes: before and after that. */
void turnfd_chdir(void);

#endif
