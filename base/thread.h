/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a thread of this process, as the kernel reports it. */
#ifndef SL_BASE_THREAD_H
#define SL_BASE_THREAD_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether the thread is blocked in a system call other than futex(2). False while it runs, is
 * runnable, or waits for a lock, and after it has ended. True if the kernel does not tell
 * (/proc/self/task/TID/syscall).
 */
bool sl_thread_blocked(pid_t tid);

#endif
