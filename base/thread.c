/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

bool sl_thread_blocked(pid_t tid)
{
	char path[64], text[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT || access("/proc/self/syscall", F_OK);
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0 && errno == ESRCH)
		n = 0;
	else if (n < 0)
		n = snprintf(text, sizeof(text), "-1");
	close(fd);
	text[n] = 0;
	/* "running", or the number of the system call, or -1 for a page fault; "": it has ended. */
	return text[0] && text[0] != 'r' && strtol(text, NULL, 10) != SYS_futex;
}
