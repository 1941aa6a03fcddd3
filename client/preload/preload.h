/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The preloaded library, inside.
 *
 *	real.c      the functions behind ours, start and end of the process
 *	io.c        read, write and their kin, as programs call them
 *	../conn     the turn route (turn.c …): when they are made
 *	data.c      the forward route: whether the node makes them, and how
 *	position.c  the same: threads that share the position of a descriptor
 *	phase.c     sl_phase_begin and sl_phase_end
 *	sync.c      fsync and its kin
 *	copy.c      copy_file_range, sendfile and splice
 *	stdio.c     streams of C
 *	stub.c      behind a gate: calls that it lets pass
 *	exec.c      exec and posix_spawn: a gate before programs that the library cannot be in
 *	fd.c        open, close, dup and the like: numbers that change their meaning
 */
#ifndef SL_CLIENT_PRELOAD_PRELOAD_H
#define SL_CLIENT_PRELOAD_PRELOAD_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "client/conn/client.h"
#include "client/preload/fdtable.h"
#include "client/preload/meta.h"
#include "sluice.h"

/*
 * What is interposed and has to be passed on: result, name, parameters, stand-in (real.c).
 * The first are looked up when the program starts, the others when they are needed: most programs
 * need none of them, and each look-up takes a quarter of a microsecond.
 */
#define SL_REAL_EARLY(X)                                                     \
	X(long, syscall, (long, ...), raw_syscall)                           \
	X(ssize_t, read, (int, void *, size_t), raw_read)                    \
	X(ssize_t, write, (int, const void *, size_t), raw_write)            \
	X(ssize_t, pread, (int, void *, size_t, off_t), raw_pread)           \
	X(ssize_t, pread64, (int, void *, size_t, off_t), raw_pread)         \
	X(ssize_t, pwrite, (int, const void *, size_t, off_t), raw_pwrite)   \
	X(ssize_t, pwrite64, (int, const void *, size_t, off_t), raw_pwrite) \
	X(ssize_t, readv, (int, const struct iovec *, int), raw_readv)       \
	X(ssize_t, writev, (int, const struct iovec *, int), raw_writev)     \
	X(int, open, (const char *, int, ...), raw_open)                     \
	X(int, open64, (const char *, int, ...), raw_open)                   \
	X(int, openat, (int, const char *, int, ...), raw_openat)            \
	X(int, openat64, (int, const char *, int, ...), raw_openat)          \
	X(int, close, (int), raw_close)                                      \
	X(int, dup2, (int, int), raw_dup2)                                   \
	X(int, fcntl, (int, int, ...), raw_fcntl)                            \
	X(int, fcntl64, (int, int, ...), raw_fcntl)                          \
	X(pid_t, _Fork, (void), raw_fork)                                    \
	X(int, execve, (const char *, char *const *, char *const *), raw_execve)

#define SL_REAL_LATE(X)                                                                          \
	X(int, execv, (const char *, char *const *), raw_execv)                                  \
	X(int, execvp, (const char *, char *const *), NULL)                                      \
	X(int, execvpe, (const char *, char *const *, char *const *), NULL)                      \
	X(int, fexecve, (int, char *const *, char *const *), raw_fexecve)                        \
	X(int, execveat, (int, const char *, char *const *, char *const *, int), raw_execveat)   \
	X(int, posix_spawn,                                                                      \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
	   char *const *, char *const *),                                                        \
	  NULL)                                                                                  \
	X(int, posix_spawnp,                                                                     \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
	   char *const *, char *const *),                                                        \
	  NULL)                                                                                  \
	X(int, fsync, (int), raw_fsync)                                                          \
	X(ssize_t, preadv, (int, const struct iovec *, int, off_t), raw_preadv)                  \
	X(ssize_t, preadv64, (int, const struct iovec *, int, off_t), raw_preadv)                \
	X(ssize_t, pwritev, (int, const struct iovec *, int, off_t), raw_pwritev)                \
	X(ssize_t, pwritev64, (int, const struct iovec *, int, off_t), raw_pwritev)              \
	X(ssize_t, preadv2, (int, const struct iovec *, int, off_t, int), raw_preadv2)           \
	X(ssize_t, preadv64v2, (int, const struct iovec *, int, off_t, int), raw_preadv2)        \
	X(ssize_t, pwritev2, (int, const struct iovec *, int, off_t, int), raw_pwritev2)         \
	X(ssize_t, pwritev64v2, (int, const struct iovec *, int, off_t, int), raw_pwritev2)      \
	X(ssize_t, __read_chk, (int, void *, size_t, size_t), raw_read_chk)                      \
	X(ssize_t, __pread_chk, (int, void *, size_t, off_t, size_t), raw_pread_chk)             \
	X(ssize_t, __pread64_chk, (int, void *, size_t, off_t, size_t), raw_pread_chk)           \
	X(int, creat, (const char *, mode_t), raw_creat)                                         \
	X(int, creat64, (const char *, mode_t), raw_creat)                                       \
	X(int, __open_2, (const char *, int), raw_open_2)                                        \
	X(int, __open64_2, (const char *, int), raw_open_2)                                      \
	X(int, __openat_2, (int, const char *, int), raw_openat_2)                               \
	X(int, __openat64_2, (int, const char *, int), raw_openat_2)                             \
	X(void, sync, (void), raw_sync)                                                          \
	X(int, syncfs, (int), raw_syncfs)                                                        \
	X(int, fdatasync, (int), raw_fdatasync)                                                  \
	X(int, sync_file_range, (int, off64_t, off64_t, unsigned), raw_sync_file_range)          \
	X(int, msync, (void *, size_t, int), raw_msync)                                          \
	X(int, close_range, (unsigned, unsigned, int), raw_close_range)                          \
	X(void, closefrom, (int), NULL)                                                          \
	X(int, dup, (int), raw_dup)                                                              \
	X(int, dup3, (int, int, int), raw_dup3)                                                  \
	X(int, chdir, (const char *), raw_chdir)                                                 \
	X(int, fchdir, (int), raw_fchdir)                                                        \
	X(int, prctl, (int, ...), raw_prctl)                                                     \
	X(int, pthread_setcanceltype, (int, int *), NULL)                                        \
	X(int, fclose, (FILE *), NULL)                                                           \
	X(FILE *, fopen, (const char *, const char *), NULL)                                     \
	X(FILE *, fopen64, (const char *, const char *), NULL)                                   \
	X(FILE *, freopen, (const char *, const char *, FILE *), NULL)                           \
	X(FILE *, freopen64, (const char *, const char *, FILE *), NULL)                         \
	X(ssize_t, copy_file_range, (int, off_t *, int, off_t *, size_t, unsigned), NULL)        \
	X(ssize_t, sendfile, (int, int, off_t *, size_t), NULL)                                  \
	X(ssize_t, sendfile64, (int, int, off_t *, size_t), NULL)                                \
	X(ssize_t, splice, (int, off_t *, int, off_t *, size_t, unsigned), NULL)                 \
	X(int, setrlimit, (__rlimit_resource_t, const struct rlimit *), raw_setrlimit)           \
	X(int, setrlimit64, (__rlimit_resource_t, const struct rlimit64 *), raw_setrlimit64)     \
	X(int, prlimit, (pid_t, enum __rlimit_resource, const struct rlimit *, struct rlimit *), \
	  raw_prlimit)                                                                           \
	X(int, prlimit64,                                                                        \
	  (pid_t, enum __rlimit_resource, const struct rlimit64 *, struct rlimit64 *),           \
	  raw_prlimit64)

#define SL_REAL_DIRECTORY(X)                       \
	X(DIR *, opendir, (const char *), NULL)    \
	X(int, closedir, (DIR *), NULL)            \
	X(struct dirent *, readdir, (DIR *), NULL) \
	X(struct dirent64 *, readdir64, (DIR *), NULL)

struct sl_real {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a type and a list of parameters */
#define SL_REAL(result, name, parameters, stand_in) result(*name) parameters;
#define SL_META(result, name, parameters, ...)	    result(*name) parameters;
	SL_REAL_EARLY(SL_REAL)
	SL_REAL_LATE(SL_REAL)
	SL_REAL_DIRECTORY(SL_REAL)
	SL_META_ONE(SL_META)
	SL_META_TWO(SL_META)
#undef SL_META
#undef SL_REAL
};
extern struct sl_real sl_real;
/* The function, looked up if it has not been: for those of SL_REAL_LATE. */
void sl_real_find(size_t offset);
void *sl_real_symbol(const char *name); /* of any library; NULL: there is none */
#define SL_LATE(name) \
	(sl_real.name ? (void)0 : sl_real_find(offsetof(struct sl_real, name)), sl_real.name)

#define SL_HERE ((off_t)-1) /* at the descriptor's own position, and move that */

/*
 * Move data of fd if that is what Sluice is for: then true, and *result and errno are as the system
 * call leaves them. False: the caller passes the call on.
 */
bool sl_forward(int fd, enum sl_op op, const struct iovec *iov, int iovcnt, off_t offset,
		ssize_t *result);
/* Whether data of fd is forwarded, as far as one can say without moving any. */
bool sl_forwards(int fd);
/* The node's part of fsync or fdatasync, if it has one; of sync, if fd is SL_ALL. 0, or a positive
 * errno. */
#define SL_ALL (-1)
int sl_forward_sync(int fd, bool data_only);
bool sl_beneath_root(int fd); /* or the root itself */
/* The limit on the size of files has perhaps been changed. */
void sl_forward_limits(void);

/* In the child of fork(): nobody but the caller is left. Async-signal-safe. */
void sl_forward_after_fork(void);

/*
 * Behind a gate: have data calls made from the address that the gate lets pass, by what sl_real has
 * for them. False: that cannot be done here. sl_stub_alone: the thread cannot be cancelled in them.
 */
bool sl_stub_start(void);
bool sl_stub_is_on(void);
bool sl_stub_alone(void);

/* Have libc's streams ask us. Once, at the start. */
void sl_stdio_divert(void);

/* At the start: whether this process leaves its calls to a gate, or starts one. */
bool sl_exec_gated(void);
bool sl_exec_ops_caught(void); /* the gate sees metadata calls */

/* NOLINTNEXTLINE(readability-redundant-declaration): meta.h has it for its functions */
extern bool sl_ops_here;       /* and its metadata calls are counted here; else the gate does it */
extern bool sl_forwarding;     /* this process is in a job of a layer; from its start to its end */
extern bool sl_forwarding_all; /* and the node makes all of its calls */

#endif
