/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions behind the interposed ones; start and end of a process.
 *
 * Calls are passed on to the next library that has the function (RTLD_NEXT), which need not be
 * libc: tracers such as Darshan are preloaded too and want to see them. Until the table has been
 * filled, by our constructor, it holds stand-ins that make the system call. So a call is safe
 * before that, from another library's constructor, and inside dlsym() itself, which may allocate
 * memory by means of an allocator that reads a file: there is no recursion, and no test in the
 * path of each call. Functions that few programs use are looked up when they are called first.
 *
 * The constructor also reads the environment, while the program has not changed it yet. It opens
 * nothing and does not connect: a program that touches no file beneath the root pays some tens
 * of microseconds.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/oldlibc.h"
#include "client/conn/settings.h"
#include "client/conn/turnfd.h"
#include "client/preload/preload.h"

SL_AT_START bool sl_forwarding, sl_forwarding_all, sl_ops_here;

/* For `sluice doctor`, which reads it out of the file. */
__attribute__((used)) static const char preload_version[] = "sluice-preload-version=" SL_VERSION;

/* ---- finding functions ---- */

/*
 * dlsym() as old as the architecture: see oldlibc.h. Before glibc 2.34 it is in libdl, which this
 * library does not name as needed: every program would pay for loading it. A program there that has
 * not loaded libdl itself gets it by way of what libc has for its own use in those versions.
 */
#ifdef SL_OLDEST_GLIBC
extern void *sl_dlsym_(void *handle, const char *name) __attribute__((weak));
__asm__(".symver sl_dlsym_, dlsym@" SL_OLDEST_GLIBC);
extern void *__libc_dlopen_mode(const char *name, int mode) __attribute__((weak));
extern void *__libc_dlsym(void *handle, const char *name) __attribute__((weak));
#define DLOPEN_OF_LIBC (RTLD_NOW | (int)0x80000000U)

static void *find_symbol(void *handle, const char *name)
{
	static SL_AT_START void *(*lookup)(void *handle, const char *name);
	void *libdl, *found = NULL;

	lookup = lookup ? lookup : sl_dlsym_;
	if (!lookup && __libc_dlopen_mode && __libc_dlsym) {
		libdl = __libc_dlopen_mode("libdl.so.2", DLOPEN_OF_LIBC);
		if (libdl)
			found = __libc_dlsym(libdl, "dlsym");
		memcpy(&lookup, &found, sizeof(lookup));
	}
	return lookup ? lookup(handle, name) : NULL;
}
#else
#define find_symbol dlsym
#endif

/* ---- stand-ins ---- */

/* All others use this one: syscall() is interposed, too. */
static long raw_syscall(long number, ...)
{
	unsigned long arg[6];
	va_list ap;
	long rc;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
#if defined(__x86_64__)
	register unsigned long r10 __asm__("r10");
	register unsigned long r8 __asm__("r8");
	register unsigned long r9 __asm__("r9");

	r10 = arg[3];
	r8 = arg[4];
	r9 = arg[5];
	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(number), "D"(arg[0]), "S"(arg[1]), "d"(arg[2]), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	if ((unsigned long)rc > -4096UL) {
		errno = (int)-rc;
		rc = -1;
	}
#else
	long (*libc)(long, ...);
	void *found = find_symbol(RTLD_NEXT, "syscall");

	memcpy(&libc, &found, sizeof(libc));
	rc = libc(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
#endif
	return rc;
}

static ssize_t raw_read(int fd, void *buf, size_t count)
{
	return syscall(SYS_read, fd, buf, count);
}

static ssize_t raw_write(int fd, const void *buf, size_t count)
{
	return syscall(SYS_write, fd, buf, count);
}

static ssize_t raw_pread(int fd, void *buf, size_t count, off_t offset)
{
	return syscall(SYS_pread64, fd, buf, count, offset);
}

static ssize_t raw_pwrite(int fd, const void *buf, size_t count, off_t offset)
{
	return syscall(SYS_pwrite64, fd, buf, count, offset);
}

static ssize_t raw_readv(int fd, const struct iovec *iov, int iovcnt)
{
	return syscall(SYS_readv, fd, iov, iovcnt);
}

static ssize_t raw_writev(int fd, const struct iovec *iov, int iovcnt)
{
	return syscall(SYS_writev, fd, iov, iovcnt);
}

/* The kernel takes an offset as two words, of which the second is not used on 64 bits. */
static ssize_t raw_preadv2(int fd, const struct iovec *iov, int iovcnt, off_t offset, int flags)
{
	return syscall(SYS_preadv2, fd, iov, iovcnt, offset, 0L, flags);
}

static ssize_t raw_pwritev2(int fd, const struct iovec *iov, int iovcnt, off_t offset, int flags)
{
	return syscall(SYS_pwritev2, fd, iov, iovcnt, offset, 0L, flags);
}

static ssize_t raw_preadv(int fd, const struct iovec *iov, int iovcnt, off_t offset)
{
	return syscall(SYS_preadv, fd, iov, iovcnt, offset, 0L);
}

static ssize_t raw_pwritev(int fd, const struct iovec *iov, int iovcnt, off_t offset)
{
	return syscall(SYS_pwritev, fd, iov, iovcnt, offset, 0L);
}

static ssize_t raw_pread_chk(int fd, void *buf, size_t count, off_t offset, size_t size)
{
	return raw_pread(fd, buf, count < size ? count : size, offset);
}

static ssize_t raw_read_chk(int fd, void *buf, size_t count, size_t size)
{
	return raw_read(fd, buf, count < size ? count : size);
}

static int raw_openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t); /* our callers always give one */
	va_end(ap);
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

static int raw_open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int raw_creat(const char *path, mode_t mode)
{
	return raw_open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

static int raw_open_2(const char *path, int flags)
{
	return raw_open(path, flags, 0);
}

static int raw_openat_2(int dir, const char *path, int flags)
{
	return raw_openat(dir, path, flags, 0);
}

static int raw_fsync(int fd)
{
	return (int)syscall(SYS_fsync, fd);
}

static int raw_fdatasync(int fd)
{
	return (int)syscall(SYS_fdatasync, fd);
}

static void raw_sync(void)
{
	syscall(SYS_sync);
}

static int raw_sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags)
{
	return (int)syscall(SYS_sync_file_range, fd, offset, bytes, flags);
}

static int raw_msync(void *address, size_t bytes, int flags)
{
	return (int)syscall(SYS_msync, address, bytes, flags);
}

static int raw_syncfs(int fd)
{
	return (int)syscall(SYS_syncfs, fd);
}

static int raw_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static int raw_close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

static int raw_dup(int fd)
{
	return (int)syscall(SYS_dup, fd);
}

static int raw_dup3(int from, int to, int flags)
{
	return (int)syscall(SYS_dup3, from, to, flags);
}

static int raw_dup2(int from, int to)
{
	if (from == to)
		return syscall(SYS_fcntl, from, F_GETFD) < 0 ? -1 : to;
	return raw_dup3(from, to, 0);
}

static int raw_fcntl(int fd, int command, ...)
{
	va_list ap;
	long argument;

	va_start(ap, command);
	argument = va_arg(ap, long);
	va_end(ap);
	return (int)syscall(SYS_fcntl, fd, command, argument);
}

static int raw_chdir(const char *path)
{
	return (int)syscall(SYS_chdir, path);
}

static int raw_fchdir(int fd)
{
	return (int)syscall(SYS_fchdir, fd);
}

static int raw_stat(const char *path, struct stat *st)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

static int raw_lstat(const char *path, struct stat *st)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

static int raw_fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

static int raw_access(const char *path, int mode)
{
	return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

static ssize_t raw_readlink(const char *path, char *buf, size_t size)
{
	return syscall(SYS_readlinkat, AT_FDCWD, path, buf, size);
}

static int raw_prctl(int option, ...)
{
	unsigned long arg[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	return (int)syscall(SYS_prctl, option, arg[0], arg[1], arg[2], arg[3]);
}

static int raw_execve(const char *path, char *const *argv, char *const *envp)
{
	return (int)syscall(SYS_execve, path, argv, envp);
}

static int raw_execv(const char *path, char *const *argv)
{
	return (int)syscall(SYS_execve, path, argv, environ);
}

static int raw_execveat(int dir, const char *path, char *const *argv, char *const *envp, int flags)
{
	return (int)syscall(SYS_execveat, dir, path, argv, envp, flags);
}

static int raw_fexecve(int fd, char *const *argv, char *const *envp)
{
	return raw_execveat(fd, "", argv, envp, AT_EMPTY_PATH);
}

static pid_t raw_fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* On 64 bits the two kinds of limits are one. */
static int raw_prlimit64(pid_t pid, enum __rlimit_resource what, const struct rlimit64 *new,
			 struct rlimit64 *old)
{
	return (int)syscall(SYS_prlimit64, pid, what, new, old);
}

static int raw_prlimit(pid_t pid, enum __rlimit_resource what, const struct rlimit *new,
		       struct rlimit *old)
{
	return (int)syscall(SYS_prlimit64, pid, what, new, old);
}

static int raw_setrlimit(__rlimit_resource_t what, const struct rlimit *limit)
{
	return (int)syscall(SYS_prlimit64, 0, what, limit, NULL);
}

static int raw_setrlimit64(__rlimit_resource_t what, const struct rlimit64 *limit)
{
	return (int)syscall(SYS_prlimit64, 0, what, limit, NULL);
}

_Static_assert(sizeof(off_t) == sizeof(long), "stand-ins pass offsets in one word");
_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "limits are 64 bits wide");

/* ---- the table ---- */

struct sl_real sl_real = {
#define SL_REAL(result, name, parameters, stand_in) .name = (stand_in),
	SL_REAL_EARLY(SL_REAL)
#undef SL_REAL
};

static const struct sl_real stand_ins = {
#define SL_REAL(result, name, parameters, stand_in) .name = (stand_in),
	SL_REAL_LATE(SL_REAL)
#undef SL_REAL
		/* Allocators ask for these while dlsym() runs. */
		.stat = raw_stat,
	.lstat = raw_lstat,
	.fstat = raw_fstat,
	.access = raw_access,
	.readlink = raw_readlink,
};

/*
 * Their names, in the order of sl_real. Offsets into one text, since the loader would have to
 * relocate a table of pointers in each program that starts.
 */
#define SL_REAL_ALL(X) \
	SL_REAL_EARLY(X) SL_REAL_LATE(X) SL_REAL_DIRECTORY(X) SL_META_ONE(X) SL_META_TWO(X)
static const struct texts {
#define SL_REAL(result, name, ...) char text_##name[sizeof(#name)];
	SL_REAL_ALL(SL_REAL)
#undef SL_REAL
} texts = {
#define SL_REAL(result, name, ...) #name,
	SL_REAL_ALL(SL_REAL)
#undef SL_REAL
};
static const uint16_t text_at[] = {
#define SL_REAL(result, name, ...) offsetof(struct texts, text_##name),
	SL_REAL_ALL(SL_REAL)
#undef SL_REAL
};
_Static_assert(sizeof(text_at) / sizeof(text_at[0]) == sizeof(struct sl_real) / sizeof(void *),
	       "each function has a name");

enum {
#define SL_REAL(result, name, parameters, stand_in) INDEX_##name,
	SL_REAL_EARLY(SL_REAL)
#undef SL_REAL
		EARLY /* how many */
};

/* An old libc may lack some: then the stand-in stays. */
static void find(size_t i)
{
	void *found = find_symbol(RTLD_NEXT, (const char *)&texts + text_at[i]);

	if (found)
		memcpy((char *)&sl_real + i * sizeof(found), &found, sizeof(found));
}

void *sl_real_symbol(const char *name)
{
	return find_symbol(RTLD_DEFAULT, name);
}

void sl_real_find(size_t offset)
{
	size_t i = offset / sizeof(void *);
	void *stand_in;

	/* Before that: dlsym() itself may come here. Another thread may have found it already, so
	 * that no function is ever replaced by none. */
	memcpy(&stand_in, (const char *)&stand_ins + offset, sizeof(void *));
	if (stand_in)
		memcpy((char *)&sl_real + offset, &stand_in, sizeof(void *));
	find(i);
}

/* ---- start and end ---- */

static void after_fork(void)
{
	sl_client_after_fork();
	sl_forward_after_fork();
}

/*
 * fork() for signal handlers: without what pthread_atfork() was told. The child may come back into
 * the middle of something of ours, in memory that its parent shares with the node.
 */
pid_t _Fork(void); /* NOLINT(readability-redundant-declaration): not before glibc 2.34 */
pid_t _Fork(void)
{
	pid_t pid = sl_real._Fork();

	if (pid == 0 && sl_forwarding)
		after_fork();
	return pid;
}

/*
 * pthread_atfork() without a hard reference to glibc's __register_atfork(), which the loader of
 * musl does not find: a program linked with musl would not start. musl exports pthread_atfork().
 */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *dso) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void at_fork(void (*child)(void))
{
	int (*musl)(void (*)(void), void (*)(void), void (*)(void));
	void *found;

	if (__register_atfork) {
		__register_atfork(NULL, NULL, child, __dso_handle);
		return;
	}
	found = sl_real_symbol("pthread_atfork");
	memcpy(&musl, &found, sizeof(musl));
	if (musl)
		musl(NULL, NULL, child);
}

__attribute__((constructor)) static void start(void)
{
	int saved = errno;

	for (size_t i = 0; i < EARLY; i++)
		find(i);
	sl_forwarding = sl_client_enabled() && !sl_exec_gated();
	sl_ops_here = sl_forwarding && !sl_exec_ops_caught();
	if (sl_forwarding) {
		sl_forwarding_all = client_settings()->forward;
		turnfd_start(client_settings()->root);
		/* Else a child that never forwards would keep its parent's connection open. */
		at_fork(after_fork);
		sl_stdio_divert();
	}
	errno = saved;
}

__attribute__((destructor)) static void end(void)
{
	if (!sl_forwarding)
		return;
	/* Do not connect again for what libc flushes after this. */
	sl_forwarding = sl_ops_here = false;
	sl_client_bye();
}
