/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/cli.h"

/*
 * If a standard stream is closed, a file opened later would get its number, and output for the user
 * would go into that file. So occupy the number with /dev/null, opened in the wrong direction, so
 * that using it is still an error.
 */
void cli_hold_standard_streams(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
			continue;
		/* cppcheck-suppress leakReturnValNotUsed ; it is the lowest free number: fd */
		if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
			return; /* no /dev: continue without */
	}
}

static void (*pipe_before)(int) = SIG_DFL;

/*
 * Writing to a closed pipe is an error here; a program that we run gets its original signal
 * handling.
 */
void cli_ignore_pipe(void)
{
	pipe_before = signal(SIGPIPE, SIG_IGN);
}

void cli_restore_pipe(void)
{
	signal(SIGPIPE, pipe_before);
}
