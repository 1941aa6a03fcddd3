/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find which file a descriptor's number means now.
 *
 * Another thread may close a number and open another file under it at any time. The kernel's own
 * read and write are not affected: they hold the file from their beginning to their end. A call
 * that waits for its turn, or for a node, cannot hold it: a duplicate of the descriptor would have
 * to be closed again, and close() drops all record locks that the process has on the file. So a
 * call that has waited checks the file again before it uses the number. A close between this check
 * and the use is no more likely than one just before the call.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "client/conn/client.h"
#include "client/conn/turnfd.h"

bool sl_client_look(int fd, struct sl_remote *r)
{
	struct statx sx;

	if (turnfd_statx(fd, "", STATX_TYPE | STATX_INO, &sx) || !S_ISREG(sx.stx_mode))
		return false;
	r->dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
	r->ino = sx.stx_ino;
	r->open_flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
	return r->open_flags >= 0 && !(r->open_flags & O_PATH);
}

bool sl_client_same(int fd, const struct sl_remote *r)
{
	struct sl_remote now;

	return sl_client_look(fd, &now) && now.dev == r->dev && now.ino == r->ino &&
	       !((now.open_flags ^ r->open_flags) & (O_ACCMODE | O_APPEND));
}
