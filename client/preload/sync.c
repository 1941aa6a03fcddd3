/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsync, fdatasync, sync_file_range, msync, syncfs and sync. On one machine the kernel's own are
 * exact: what the node has written is in the same page cache, through the same open file
 * description. Over TCP it may be in the memory of another machine, so the node syncs first; then
 * the kernel does, for what did not go through the node (mapped memory, for one).
 *
 * In the turn route these are where a file system is written to. Where that is charged, they pay
 * for what is dirty before they are made (wire.c), and wait for that; they are not interrupted by
 * it, as they are not by the device.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/conn/wire.h"
#include "client/preload/preload.h"

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
	int64_t since_ns = wire_flush(fd);
	int result = node_synced(fd, false) ? SL_LATE(fsync)(fd) : -1;

	wire_flushed(fd, since_ns);
	return result;
}

int fdatasync(int fd)
{
	int64_t since_ns = wire_flush(fd);
	int result = node_synced(fd, true) ? SL_LATE(fdatasync)(fd) : -1;

	wire_flushed(fd, since_ns);
	return result;
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
	wire_flush(WIRE_ALL);
	return SL_LATE(syncfs)(fd);
}

int sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags)
{
	if (flags & SYNC_FILE_RANGE_WRITE && bytes >= 0)
		wire_flush_range(fd, (uint64_t)bytes);
	return SL_LATE(sync_file_range)(fd, offset, bytes, flags);
}

int msync(void *address, size_t bytes, int flags)
{
	/* Behind a gate the gate charges what mappings have moved. */
	return sl_stub_is_on() ? SL_LATE(msync)(address, bytes, flags)
			       : wire_msync(address, bytes, flags, SL_LATE(msync));
}

void sync(void)
{
	if (sl_forwarding)
		sl_forward_sync(SL_ALL, false);
	wire_flush(WIRE_ALL);
	SL_LATE(sync)();
}
