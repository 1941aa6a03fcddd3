/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>

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
