/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C stdio.
 *
 * glibc's streams make their system calls inside libc, past any function that one could interpose.
 * Streams of our own (fopencookie) would be forwarded, but they are not quite streams: no wide
 * characters, no freopen(), no descriptor inside. So the streams stay libc's, and the two places
 * are changed where they all read and write: the entries for that in libc's tables of stream
 * operations, _IO_file_jumps and _IO_wfile_jumps. Both tables, and the functions that must be found
 * in them, are exported by glibc by name; their order has not changed since 1999. All of it is
 * checked before anything is touched: if it is not as expected (another libc, say, or a later
 * one), streams are left alone, which is correct and unscheduled.
 *
 * The functions below take the place of _IO_file_read and _IO_file_write and do what those do: one
 * read, or writes until all is written, with the stream's idea of its offset kept up. What is not
 * forwarded goes to the original. Closing only tells us that the number is free: libc opens
 * and closes files of its own too, of which we would otherwise remember that they pass.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/preload.h"

#ifdef __GLIBC__

#define ERROR_SEEN 0x20 /* in _flags: ferror() */

enum { JUMP_READ = 14, JUMP_WRITE = 15, JUMP_SEEK = 16, JUMP_CLOSE = 17 };

static ssize_t (*file_read)(FILE *, void *, ssize_t);
static ssize_t (*file_write)(FILE *, const void *, ssize_t);
static int (*file_close)(FILE *);

static ssize_t stream_read(FILE *f, void *data, ssize_t length)
{
	struct iovec iov = { data, (size_t)length };
	ssize_t n;

	return length > 0 && sl_forward(f->_fileno, SL_READ, &iov, 1, SL_HERE, &n)
		       ? n
		       : file_read(f, data, length);
}

static ssize_t stream_write(FILE *f, const void *data, ssize_t length)
{
	ssize_t done = 0;

	while (done < length) {
		struct iovec iov = { (char *)(uintptr_t)data + done, (size_t)(length - done) };
		ssize_t n;

		if (!sl_forward(f->_fileno, SL_WRITE, &iov, 1, SL_HERE, &n)) {
			/* It counts its own part. */
			n = file_write(f, (const char *)data + done, length - done);
			return n < 0 && !done ? n : done + (n > 0 ? n : 0);
		}
		if (n < 0) {
			f->_flags |= ERROR_SEEN;
			break;
		}
		done += n;
		if (f->_offset >= 0)
			f->_offset += n;
	}
	return done;
}

static int stream_close(FILE *f)
{
	int saved = errno;

	sl_fd_forget(f->_fileno);
	errno = saved;
	return file_close(f);
}

/*
 * Write the entries. Tables are read-only once libc is loaded, if it was linked that way;
 * whether they are is found by having the kernel try.
 */
static void replace(void **at, void *const *with, size_t bytes)
{
	const struct iovec from = { (void *)(uintptr_t)with, bytes }, to = { at, bytes };
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)at & ~(page - 1);
	size_t span = (uintptr_t)at + bytes - first;

	if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) == (ssize_t)bytes || errno != EFAULT ||
	    mprotect((void *)first, span, PROT_READ | PROT_WRITE))
		return;
	memcpy(at, with, bytes);
	mprotect((void *)first, span, PROT_READ);
}

static void divert(const char *name)
{
	void **table = dlsym(RTLD_DEFAULT, name);
	void *ours[JUMP_CLOSE - JUMP_READ + 1];

	if (!table || table[JUMP_READ] != dlsym(RTLD_DEFAULT, "_IO_file_read") ||
	    table[JUMP_WRITE] != dlsym(RTLD_DEFAULT, "_IO_file_write") ||
	    table[JUMP_SEEK] != dlsym(RTLD_DEFAULT, "_IO_file_seek") ||
	    table[JUMP_CLOSE] != dlsym(RTLD_DEFAULT, "_IO_file_close"))
		return;
	memcpy(&file_read, &table[JUMP_READ], sizeof(file_read));
	memcpy(&file_write, &table[JUMP_WRITE], sizeof(file_write));
	memcpy(&file_close, &table[JUMP_CLOSE], sizeof(file_close));
	memcpy(ours, &table[JUMP_READ], sizeof(ours));
	ours[0] = (void *)stream_read;
	ours[JUMP_WRITE - JUMP_READ] = (void *)stream_write;
	ours[JUMP_CLOSE - JUMP_READ] = (void *)stream_close;
	replace(&table[JUMP_READ], ours, sizeof(ours));
}

void sl_stdio_divert(void)
{
	divert("_IO_file_jumps");
	divert("_IO_wfile_jumps");
}

#else

void sl_stdio_divert(void)
{
}

#endif
