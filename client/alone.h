/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this process has one thread, as libc knows it (glibc 2.32 and later do). The symbol is
 * weak: the preloaded library must also load into programs of a libc that lacks it, such as musl.
 */
#ifndef SL_CLIENT_ALONE_H
#define SL_CLIENT_ALONE_H

#include <stdbool.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#pragma weak __libc_single_threaded

static inline bool sl_alone(void)
{
	return &__libc_single_threaded && __libc_single_threaded;
}
#else
static inline bool sl_alone(void)
{
	return false;
}
#endif

#endif
