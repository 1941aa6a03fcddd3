/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/cli.h"

/*
 * A file opened later must not take the number of a closed standard stream, or output meant for
 * the user would go into it. Opened the wrong way round, so that using it is still an error.
 */
void cli_hold_standard_streams(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
			continue;
		/* cppcheck-suppress leakReturnValNotUsed ; it is the lowest free number: fd */
		if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
			return; /* no /dev: go on as well as it goes */
	}
}

static void (*pipe_before)(int) = SIG_DFL;

/* Writing to a closed pipe is an error here, and for a program that is run what it was before. */
void cli_ignore_pipe(void)
{
	pipe_before = signal(SIGPIPE, SIG_IGN);
}

void cli_restore_pipe(void)
{
	signal(SIGPIPE, pipe_before);
}
