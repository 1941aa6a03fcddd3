/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsync, fdatasync, syncfs and sync. On one machine the kernel's own are exact: what the node has
 * written is in the same page cache, through the same open file description. Over TCP it may be in
 * the memory of another machine, so the node syncs first; then the kernel does, for what did not go
 * through the node (mapped memory, for one). sync_file_range(2), which promises nothing, is the
 * kernel's alone.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <errno.h>
#include <unistd.h>

#include "client/preload.h"

/* False: it has failed, and errno says how. */
static bool node_synced(int fd, bool data_only)
{
	int error = sl_forwarding && !sl_fd_passes(fd) ? sl_forward_sync(fd, data_only) : 0;

	if (error)
		errno = error;
	return !error;
}

int fsync(int fd)
{
	return node_synced(fd, false) ? sl_real.fsync(fd) : -1;
}

int fdatasync(int fd)
{
	return node_synced(fd, true) ? SL_LATE(fdatasync)(fd) : -1;
}

int syncfs(int fd)
{
	int error = sl_forwarding && sl_client_far() && sl_beneath_root(fd)
			    ? sl_forward_sync(SL_ALL, false)
			    : 0;

	if (error) {
		errno = error;
		return -1;
	}
	return SL_LATE(syncfs)(fd);
}

void sync(void)
{
	if (sl_forwarding)
		sl_forward_sync(SL_ALL, false);
	SL_LATE(sync)();
}
