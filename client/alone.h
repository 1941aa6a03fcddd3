/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this process has one thread, as libc knows it (glibc 2.32 and later do). */
#ifndef SL_CLIENT_ALONE_H
#define SL_CLIENT_ALONE_H

#include <stdbool.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else
#define __libc_single_threaded false
#endif

static inline bool sl_alone(void)
{
	return __libc_single_threaded;
}

#endif
