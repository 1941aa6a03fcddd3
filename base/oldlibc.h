/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The preloaded library is built once and loaded into programs of older systems: glibc 2.28 (RHEL
 * 8) must do. A linker takes the newest version of each function that the build machine has, and
 * the loader of an older glibc refuses a library that names a version it does not know, even if the
 * reference is weak. So:
 *
 *	stat(), fstat()		functions of libc since 2.33 only; here the system call itself
 *	pthread_testcancel()	moved from libpthread to libc in 2.34, and got a new version; here
 *				the old one. It is weak: without libpthread no thread is canceled
 *	dlsym()			moved from libdl to libc in 2.34; see client/preload/real.c
 *
 * tests/unit/oldlibc.sh reads the versions off the library.
 */
#ifndef SL_BASE_OLDLIBC_H
#define SL_BASE_OLDLIBC_H

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The version that the first glibc of the architecture had, which all later ones keep. */
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
#if defined(__x86_64__)
#define SL_OLDEST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__) || defined(__powerpc64__)
#define SL_OLDEST_GLIBC "GLIBC_2.17"
#endif
#endif

/* On 64 bits struct stat is the kernel's. */
_Static_assert(sizeof(long) == 8, "struct stat is not that of the system call");

static inline int sl_fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

static inline int sl_stat(const char *path, struct stat *st)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

#ifdef SL_OLDEST_GLIBC
extern void sl_testcancel_(void) __attribute__((weak));
__asm__(".symver sl_testcancel_, pthread_testcancel@" SL_OLDEST_GLIBC);
#else
#pragma weak pthread_testcancel
#define sl_testcancel_ pthread_testcancel
#endif

static inline void sl_testcancel(void)
{
	if (sl_testcancel_)
		sl_testcancel_();
}

#endif
