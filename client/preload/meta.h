/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metadata calls: one list of the functions, from which meta.c makes the interposed ones and
 * real.c the table of the real ones.
 *
 * Each line: result, name, parameters, arguments, class, and what the call is about: a directory
 * with a path; a descriptor (path NULL); or two of these (SL_META_TWO). SL_META_FOUND are those
 * that return a pointer: NULL says that the call has failed, otherwise it is -1.
 */
#ifndef SL_CLIENT_PRELOAD_META_H
#define SL_CLIENT_PRELOAD_META_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "client/conn/ops.h"

typedef int (*sl_dir_filter)(const struct dirent *);
typedef int (*sl_dir_compare)(const struct dirent **, const struct dirent **);
typedef int (*sl_dir_filter64)(const struct dirent64 *);
typedef int (*sl_dir_compare64)(const struct dirent64 **, const struct dirent64 **);

/* clang-format off */
#define SL_META_LOOKUP(X) \
	X(int, stat, (const char *p, struct stat *s), (p, s), AT_FDCWD, p) \
	X(int, stat64, (const char *p, struct stat64 *s), (p, s), AT_FDCWD, p) \
	X(int, lstat, (const char *p, struct stat *s), (p, s), AT_FDCWD, p) \
	X(int, lstat64, (const char *p, struct stat64 *s), (p, s), AT_FDCWD, p) \
	X(int, fstat, (int fd, struct stat *s), (fd, s), fd, NULL) \
	X(int, fstat64, (int fd, struct stat64 *s), (fd, s), fd, NULL) \
	X(int, fstatat, (int d, const char *p, struct stat *s, int f), (d, p, s, f), d, p) \
	X(int, fstatat64, (int d, const char *p, struct stat64 *s, int f), (d, p, s, f), d, p) \
	X(int, __xstat, (int v, const char *p, struct stat *s), (v, p, s), AT_FDCWD, p) \
	X(int, __xstat64, (int v, const char *p, struct stat64 *s), (v, p, s), AT_FDCWD, p) \
	X(int, __lxstat, (int v, const char *p, struct stat *s), (v, p, s), AT_FDCWD, p) \
	X(int, __lxstat64, (int v, const char *p, struct stat64 *s), (v, p, s), AT_FDCWD, p) \
	X(int, __fxstat, (int v, int fd, struct stat *s), (v, fd, s), fd, NULL) \
	X(int, __fxstat64, (int v, int fd, struct stat64 *s), (v, fd, s), fd, NULL) \
	X(int, __fxstatat, (int v, int d, const char *p, struct stat *s, int f), (v, d, p, s, f), d, p) \
	X(int, __fxstatat64, (int v, int d, const char *p, struct stat64 *s, int f), (v, d, p, s, f), d, p) \
	X(int, statx, (int d, const char *p, int f, unsigned m, struct statx *s), (d, p, f, m, s), d, p) \
	X(int, access, (const char *p, int m), (p, m), AT_FDCWD, p) \
	X(int, euidaccess, (const char *p, int m), (p, m), AT_FDCWD, p) \
	X(int, eaccess, (const char *p, int m), (p, m), AT_FDCWD, p) \
	X(int, faccessat, (int d, const char *p, int m, int f), (d, p, m, f), d, p) \
	X(ssize_t, readlink, (const char *p, char *b, size_t n), (p, b, n), AT_FDCWD, p) \
	X(ssize_t, readlinkat, (int d, const char *p, char *b, size_t n), (d, p, b, n), d, p) \
	X(ssize_t, __readlink_chk, (const char *p, char *b, size_t n, size_t m), (p, b, n, m), AT_FDCWD, p) \
	X(ssize_t, __readlinkat_chk, (int d, const char *p, char *b, size_t n, size_t m), (d, p, b, n, m), d, p)

#define SL_META_LOOKUP_FOUND(X) \
	X(char *, realpath, (const char *p, char *r), (p, r), AT_FDCWD, p) \
	X(char *, __realpath_chk, (const char *p, char *r, size_t n), (p, r, n), AT_FDCWD, p) \
	X(char *, canonicalize_file_name, (const char *p), (p), AT_FDCWD, p)

#define SL_META_CREATE(X) \
	X(int, mkdir, (const char *p, mode_t m), (p, m), AT_FDCWD, p) \
	X(int, mkdirat, (int d, const char *p, mode_t m), (d, p, m), d, p) \
	X(int, mknod, (const char *p, mode_t m, dev_t v), (p, m, v), AT_FDCWD, p) \
	X(int, mknodat, (int d, const char *p, mode_t m, dev_t v), (d, p, m, v), d, p) \
	X(int, __xmknod, (int v, const char *p, mode_t m, dev_t *n), (v, p, m, n), AT_FDCWD, p) \
	X(int, __xmknodat, (int v, int d, const char *p, mode_t m, dev_t *n), (v, d, p, m, n), d, p) \
	X(int, mkfifo, (const char *p, mode_t m), (p, m), AT_FDCWD, p) \
	X(int, mkfifoat, (int d, const char *p, mode_t m), (d, p, m), d, p) \
	X(int, symlink, (const char *to, const char *p), (to, p), AT_FDCWD, p) \
	X(int, symlinkat, (const char *to, int d, const char *p), (to, d, p), d, p) \
	X(int, mkstemp, (char *p), (p), AT_FDCWD, p) \
	X(int, mkstemp64, (char *p), (p), AT_FDCWD, p) \
	X(int, mkostemp, (char *p, int f), (p, f), AT_FDCWD, p) \
	X(int, mkostemp64, (char *p, int f), (p, f), AT_FDCWD, p) \
	X(int, mkstemps, (char *p, int n), (p, n), AT_FDCWD, p) \
	X(int, mkstemps64, (char *p, int n), (p, n), AT_FDCWD, p) \
	X(int, mkostemps, (char *p, int n, int f), (p, n, f), AT_FDCWD, p) \
	X(int, mkostemps64, (char *p, int n, int f), (p, n, f), AT_FDCWD, p)

#define SL_META_CREATE_FOUND(X) \
	X(char *, mkdtemp, (char *p), (p), AT_FDCWD, p)

#define SL_META_CREATE_TWO(X) \
	X(int, link, (const char *p, const char *q), (p, q), AT_FDCWD, p, AT_FDCWD, q) \
	X(int, linkat, (int d, const char *p, int e, const char *q, int f), (d, p, e, q, f), d, p, e, q)

#define SL_META_REMOVE(X) \
	X(int, unlink, (const char *p), (p), AT_FDCWD, p) \
	X(int, unlinkat, (int d, const char *p, int f), (d, p, f), d, p) \
	X(int, rmdir, (const char *p), (p), AT_FDCWD, p) \
	X(int, remove, (const char *p), (p), AT_FDCWD, p)

#define SL_META_REMOVE_TWO(X) \
	X(int, rename, (const char *p, const char *q), (p, q), AT_FDCWD, p, AT_FDCWD, q) \
	X(int, renameat, (int d, const char *p, int e, const char *q), (d, p, e, q), d, p, e, q) \
	X(int, renameat2, (int d, const char *p, int e, const char *q, unsigned f), (d, p, e, q, f), d, p, e, q)

#define SL_META_LIST(X) \
	X(int, scandir, (const char *p, struct dirent ***l, sl_dir_filter f, sl_dir_compare c), (p, l, f, c), AT_FDCWD, p) \
	X(int, scandir64, (const char *p, struct dirent64 ***l, sl_dir_filter64 f, sl_dir_compare64 c), (p, l, f, c), AT_FDCWD, p) \
	X(int, scandirat, (int d, const char *p, struct dirent ***l, sl_dir_filter f, sl_dir_compare c), (d, p, l, f, c), d, p) \
	X(int, scandirat64, (int d, const char *p, struct dirent64 ***l, sl_dir_filter64 f, sl_dir_compare64 c), (d, p, l, f, c), d, p) \
	X(ssize_t, getdents64, (int fd, void *b, size_t n), (fd, b, n), fd, NULL)

#define SL_META_LIST_FOUND(X) \
	X(DIR *, fdopendir, (int fd), (fd), fd, NULL)

#define SL_META_ATTRIBUTE(X) \
	X(int, chmod, (const char *p, mode_t m), (p, m), AT_FDCWD, p) \
	X(int, lchmod, (const char *p, mode_t m), (p, m), AT_FDCWD, p) \
	X(int, fchmod, (int fd, mode_t m), (fd, m), fd, NULL) \
	X(int, fchmodat, (int d, const char *p, mode_t m, int f), (d, p, m, f), d, p) \
	X(int, chown, (const char *p, uid_t u, gid_t g), (p, u, g), AT_FDCWD, p) \
	X(int, lchown, (const char *p, uid_t u, gid_t g), (p, u, g), AT_FDCWD, p) \
	X(int, fchown, (int fd, uid_t u, gid_t g), (fd, u, g), fd, NULL) \
	X(int, fchownat, (int d, const char *p, uid_t u, gid_t g, int f), (d, p, u, g, f), d, p) \
	X(int, utime, (const char *p, const struct utimbuf *t), (p, t), AT_FDCWD, p) \
	X(int, utimes, (const char *p, const struct timeval t[2]), (p, t), AT_FDCWD, p) \
	X(int, lutimes, (const char *p, const struct timeval t[2]), (p, t), AT_FDCWD, p) \
	X(int, futimes, (int fd, const struct timeval t[2]), (fd, t), fd, NULL) \
	X(int, futimesat, (int d, const char *p, const struct timeval t[2]), (d, p, t), d, p) \
	X(int, utimensat, (int d, const char *p, const struct timespec t[2], int f), (d, p, t, f), d, p) \
	X(int, futimens, (int fd, const struct timespec t[2]), (fd, t), fd, NULL) \
	X(int, truncate, (const char *p, off_t n), (p, n), AT_FDCWD, p) \
	X(int, truncate64, (const char *p, off64_t n), (p, n), AT_FDCWD, p) \
	X(int, ftruncate, (int fd, off_t n), (fd, n), fd, NULL) \
	X(int, ftruncate64, (int fd, off64_t n), (fd, n), fd, NULL) \
	X(int, setxattr, (const char *p, const char *k, const void *v, size_t n, int f), (p, k, v, n, f), AT_FDCWD, p) \
	X(int, lsetxattr, (const char *p, const char *k, const void *v, size_t n, int f), (p, k, v, n, f), AT_FDCWD, p) \
	X(int, fsetxattr, (int fd, const char *k, const void *v, size_t n, int f), (fd, k, v, n, f), fd, NULL) \
	X(ssize_t, getxattr, (const char *p, const char *k, void *v, size_t n), (p, k, v, n), AT_FDCWD, p) \
	X(ssize_t, lgetxattr, (const char *p, const char *k, void *v, size_t n), (p, k, v, n), AT_FDCWD, p) \
	X(ssize_t, fgetxattr, (int fd, const char *k, void *v, size_t n), (fd, k, v, n), fd, NULL) \
	X(ssize_t, listxattr, (const char *p, char *l, size_t n), (p, l, n), AT_FDCWD, p) \
	X(ssize_t, llistxattr, (const char *p, char *l, size_t n), (p, l, n), AT_FDCWD, p) \
	X(ssize_t, flistxattr, (int fd, char *l, size_t n), (fd, l, n), fd, NULL) \
	X(int, removexattr, (const char *p, const char *k), (p, k), AT_FDCWD, p) \
	X(int, lremovexattr, (const char *p, const char *k), (p, k), AT_FDCWD, p) \
	X(int, fremovexattr, (int fd, const char *k), (fd, k), fd, NULL) \
	X(int, statfs, (const char *p, struct statfs *s), (p, s), AT_FDCWD, p) \
	X(int, statfs64, (const char *p, struct statfs64 *s), (p, s), AT_FDCWD, p) \
	X(int, fstatfs, (int fd, struct statfs *s), (fd, s), fd, NULL) \
	X(int, fstatfs64, (int fd, struct statfs64 *s), (fd, s), fd, NULL) \
	X(int, statvfs, (const char *p, struct statvfs *s), (p, s), AT_FDCWD, p) \
	X(int, statvfs64, (const char *p, struct statvfs64 *s), (p, s), AT_FDCWD, p) \
	X(int, fstatvfs, (int fd, struct statvfs *s), (fd, s), fd, NULL) \
	X(int, fstatvfs64, (int fd, struct statvfs64 *s), (fd, s), fd, NULL)
/* clang-format on */

#define SL_META_ONE(X)          \
	SL_META_LOOKUP(X)       \
	SL_META_LOOKUP_FOUND(X) \
	SL_META_CREATE(X)       \
	SL_META_CREATE_FOUND(X) \
	SL_META_REMOVE(X) SL_META_LIST(X) SL_META_LIST_FOUND(X) SL_META_ATTRIBUTE(X)
#define SL_META_TWO(X) SL_META_CREATE_TWO(X) SL_META_REMOVE_TWO(X)

extern bool sl_ops_here; /* preload.h */

/*
 * Whether a call that has failed with this errno has read its path: only then may the path be
 * looked at, and only then a file system has been asked.
 */
bool sl_meta_walked(void);

/* A call on a path is over. Keeps errno. */
static inline void sl_meta_made(bool failed, enum sl_class which, int dir, const char *path,
				int64_t since_ns)
{
	if (!sl_ops_here || (failed && !sl_meta_walked()))
		return;
	if (turnfd_path(dir, path)) {
		part_by_path(dir, path);
		ops_made(which, since_ns);
	}
}

#endif
