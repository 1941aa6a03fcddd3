/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that move data, as one: past all that is interposed, and no point at which a
 * thread can be cancelled. */
#ifndef SL_CLIENT_CALL_H
#define SL_CLIENT_CALL_H

#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sluice.h"

/* At the descriptor's position if offset is negative. Bytes moved or negative errno. */
static inline ssize_t sl_client_call(int fd, enum sl_op op, const struct iovec *iov, int count,
				     off_t offset)
{
	bool reads = op == SL_READ;
	long n;

	if (offset >= 0 && count == 1)
		n = syscall(reads ? SYS_pread64 : SYS_pwrite64, fd, iov->iov_base, iov->iov_len,
			    offset);
	else if (offset >= 0)
		n = syscall(reads ? SYS_preadv : SYS_pwritev, fd, iov, count, offset, 0);
	else if (count == 1)
		n = syscall(reads ? SYS_read : SYS_write, fd, iov->iov_base, iov->iov_len);
	else
		n = syscall(reads ? SYS_readv : SYS_writev, fd, iov, count);
	return n < 0 ? -errno : n;
}

#endif
