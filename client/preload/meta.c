/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stat, unlink, rename and the other metadata calls, as programs call them.
 *
 * Each is the real function with the program's own arguments, whose result and errno are passed on
 * as they are. What is added comes after it: if the path is in the layer, the operation is counted
 * and, under a limit, the call returns later (client/ops.h). So nothing that the function does or
 * reports depends on Sluice. The wait is no cancellation point, and signal handlers run in it.
 *
 * Which paths are in the layer: turnfd_path(). Absolute ones by their beginning, relative ones by
 * what is known of the working directory or the descriptor. A path that only leads into the layer
 * by a symbolic link outside of it is not seen, nor one that goes up from a directory outside.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include "client/preload/meta.h"

#include "client/preload/fdtable.h"
#include "client/preload/preload.h"

#define ENTRIES 512 /* about what a system call of readdir() returns */

/*
 * Errors that can come before the path is read, by bad flags or addresses, are not here: EFAULT,
 * EINVAL, EBADF, ENAMETOOLONG, ERANGE, ENOSYS.
 */
bool sl_meta_walked(void)
{
	switch (errno) {
	case ENOENT:
	case EEXIST:
	case EACCES:
	case EPERM:
	case ENOTDIR:
	case EISDIR:
	case ENOTEMPTY:
	case ELOOP:
	case EXDEV:
	case EROFS:
	case ENOSPC:
	case EDQUOT:
	case EMLINK:
	case EBUSY:
	case ETXTBSY:
	case ENODATA:
	case EOPNOTSUPP:
	case EMFILE:
		return true;
	default:
		return false;
	}
}

/* ---- those of the list ---- */

/* NOLINTBEGIN(bugprone-macro-parentheses): `result` is a type */
#define CALL(failure, which, result, name, parameters, arguments, dir, path)  \
	result name parameters;                                               \
	result name parameters                                                \
	{                                                                     \
		int64_t since_ = ops_since();                                 \
		result result_ = SL_LATE(name) arguments;                     \
                                                                              \
		sl_meta_made(result_ == (failure), which, dir, path, since_); \
		return result_;                                               \
	}

#define LOOKUP(...)    CALL(-1, SL_LOOKUP, __VA_ARGS__)
#define CREATE(...)    CALL(-1, SL_CREATE, __VA_ARGS__)
#define REMOVE(...)    CALL(-1, SL_REMOVE, __VA_ARGS__)
#define LIST(...)      CALL(-1, SL_LIST, __VA_ARGS__)
#define ATTRIBUTE(...) CALL(-1, SL_ATTRIBUTE, __VA_ARGS__)
#define LOOKUP_P(...)  CALL(NULL, SL_LOOKUP, __VA_ARGS__)
#define CREATE_P(...)  CALL(NULL, SL_CREATE, __VA_ARGS__)
#define LIST_P(...)    CALL(NULL, SL_LIST, __VA_ARGS__)

SL_META_LOOKUP(LOOKUP)
SL_META_LOOKUP_FOUND(LOOKUP_P)
SL_META_CREATE(CREATE)
SL_META_CREATE_FOUND(CREATE_P)
SL_META_REMOVE(REMOVE)
SL_META_LIST(LIST)
SL_META_LIST_FOUND(LIST_P)
SL_META_ATTRIBUTE(ATTRIBUTE)

/* Two names: one of them in the layer is enough, and it is one operation. */
static void made_two(bool failed, enum sl_class which, int dir, const char *path, int dir2,
		     const char *path2, int64_t since)
{
	if (!sl_ops_here || (failed && !sl_meta_walked()))
		return;
	if (turnfd_path(dir, path))
		part_by_path(dir, path);
	else if (turnfd_path(dir2, path2))
		part_by_path(dir2, path2);
	else
		return;
	ops_made(which, since);
}

#define CALL_TWO(which, result, name, parameters, arguments, dir, path, dir2, path2) \
	result name parameters;                                                      \
	result name parameters                                                       \
	{                                                                            \
		int64_t since_ = ops_since();                                        \
		result result_ = SL_LATE(name) arguments;                            \
                                                                                     \
		made_two(result_ == -1, which, dir, path, dir2, path2, since_);      \
		return result_;                                                      \
	}
#define CREATE_TWO(...) CALL_TWO(SL_CREATE, __VA_ARGS__)
#define REMOVE_TWO(...) CALL_TWO(SL_REMOVE, __VA_ARGS__)
/* NOLINTEND(bugprone-macro-parentheses) */

SL_META_CREATE_TWO(CREATE_TWO)
SL_META_REMOVE_TWO(REMOVE_TWO)

/* ---- directories ---- */

/* libc opens the descriptor itself: calls relative to it are to find it known. */
DIR *opendir(const char *path)
{
	int64_t since = ops_since();
	DIR *d = SL_LATE(opendir)(path);

	if (d && sl_forwarding) {
		sl_fd_forget(dirfd(d));
		turnfd_opened(dirfd(d), AT_FDCWD, path, O_DIRECTORY);
	}
	sl_meta_made(!d, SL_LIST, AT_FDCWD, path, since);
	return d;
}

int closedir(DIR *d)
{
	/* The header says that it is never NULL; libc answers EINVAL if it is. */
	__asm__("" : "+r"(d));
	if ((uintptr_t)d && sl_forwarding) {
		turnfd_forget(dirfd(d));
		sl_fd_forget(dirfd(d));
	}
	return SL_LATE(closedir)(d);
}

static __thread uint32_t entries __attribute__((tls_model("initial-exec")));

static void listed(DIR *d)
{
	if (++entries % ENTRIES == 0 && sl_ops_here && turnfd_within(dirfd(d))) {
		part_by_fd(dirfd(d));
		ops_made(SL_LIST, 0);
	}
}

struct dirent *readdir(DIR *d)
{
	struct dirent *e = SL_LATE(readdir)(d);

	if (e)
		listed(d);
	return e;
}

struct dirent64 *readdir64(DIR *d)
{
	struct dirent64 *e = SL_LATE(readdir64)(d);

	if (e)
		listed(d);
	return e;
}
