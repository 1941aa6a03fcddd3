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
 * The functions below take the place of _IO_file_read and _IO_file_write and do what those do:
 * one read, or writes until all is written, with the stream's idea of its offset kept up. In the
 * turn route the original makes the calls, after a wait if need be, and so it does what is not
 * forwarded. The close operation only tells us that the number is free. Without it, we would keep
 * an entry for files that libc opens and closes itself.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/conn/settings.h"
#include "client/conn/turn.h"
#include "client/conn/wire.h"
#include "client/preload/preload.h"

#ifdef __GLIBC__

#define ERROR_SEEN 0x20 /* in _flags: ferror() */

enum { JUMP_READ = 14, JUMP_WRITE = 15, JUMP_SEEK = 16, JUMP_CLOSE = 17 };

static SL_AT_START ssize_t (*file_read)(FILE *, void *, ssize_t);
static SL_AT_START ssize_t (*file_write)(FILE *, const void *, ssize_t);
static SL_AT_START int (*file_close)(FILE *);

static ssize_t forward_read(FILE *f, void *data, ssize_t length)
{
	struct iovec iov = { data, (size_t)length };
	ssize_t n;

	return length > 0 && sl_forward(f->_fileno, SL_READ, &iov, 1, SL_HERE, &n)
		       ? n
		       : file_read(f, data, length);
}

static ssize_t forward_write(FILE *f, const void *data, ssize_t length)
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

/* Behind a gate: what libc's functions do, by calls that it lets pass. */

static ssize_t stub_file_read(FILE *f, void *data, ssize_t length)
{
	return sl_real.read(f->_fileno, data, (size_t)length);
}

static ssize_t stub_file_write(FILE *f, const void *data, ssize_t length)
{
	ssize_t done = 0;

	while (done < length) {
		ssize_t n = sl_real.write(f->_fileno, (const char *)data + done,
					  (size_t)(length - done));

		if (n < 0) {
			f->_flags |= ERROR_SEEN;
			break;
		}
		done += n;
	}
	if (f->_offset >= 0)
		f->_offset += done;
	return done;
}

/* libc's own function is the real call, as in io.c. */
static ssize_t stream_read(FILE *f, void *data, ssize_t length)
{
	struct turn t;
	ssize_t n;

	if (turnfd_state(f->_fileno) == TURNFD_PASS || length <= 0)
		return file_read(f, data, length);
	switch (turn_begin(&t, f->_fileno, SL_READ, NULL, (size_t)length, SL_HERE, TURN_CANCELS)) {
	case TURN_PASS:
		return file_read(f, data, length);
	case TURN_FORWARD:
		return forward_read(f, data, length);
	case TURN_CLOSED:
		errno = EBADF;
		return -1;
	default:
		n = file_read(f, data, length);
		turn_end(&t, n);
		return n;
	}
}

static ssize_t stream_write(FILE *f, const void *data, ssize_t length)
{
	struct turn t;
	ssize_t n;

	if (turnfd_state(f->_fileno) == TURNFD_PASS || length <= 0)
		return file_write(f, data, length);
	switch (turn_begin(&t, f->_fileno, SL_WRITE, NULL, (size_t)length, SL_HERE, TURN_CANCELS)) {
	case TURN_PASS:
		return file_write(f, data, length);
	case TURN_FORWARD:
		return forward_write(f, data, length);
	case TURN_CLOSED:
		errno = EBADF;
		f->_flags |= ERROR_SEEN;
		return 0;
	default:
		n = file_write(f, data, length);
		turn_end(&t, n);
		return n;
	}
}

static int stream_close(FILE *f)
{
	int saved = errno;

	wire_close(f->_fileno, true);
	turnfd_forget(f->_fileno);
	sl_fd_forget(f->_fileno);
	errno = saved;
	return file_close(f);
}

/* Weak: another libc has none of these. */
extern void *_IO_file_jumps[] __attribute__((weak));
extern void *_IO_wfile_jumps[] __attribute__((weak));
extern char _IO_file_read[] __attribute__((weak)), _IO_file_write[] __attribute__((weak));
extern char _IO_file_seek[] __attribute__((weak)), _IO_file_close[] __attribute__((weak));

static bool is_known(void *const *table)
{
	return table && table[JUMP_READ] == _IO_file_read && table[JUMP_WRITE] == _IO_file_write &&
	       table[JUMP_SEEK] == _IO_file_seek && table[JUMP_CLOSE] == _IO_file_close;
}

/* The part of libc that the loader has made read-only after relocating it, if libc has one. */
struct relro {
	uintptr_t low, high;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct relro *r = arg;
	const uintptr_t table = (uintptr_t)_IO_file_jumps;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		const uintptr_t low = info->dlpi_addr + h->p_vaddr;

		if (h->p_type != PT_GNU_RELRO || table - low >= h->p_memsz)
			continue;
		*r = (struct relro){ low, low + h->p_memsz };
		return 1;
	}
	return 0;
}

/* Write the entries of both tables. */
static void replace(void **first, void **second, void *const *with, size_t bytes)
{
	const uintptr_t page = getauxval(AT_PAGESZ);
	uintptr_t low = (uintptr_t)(first < second ? first : second) & ~(page - 1);
	uintptr_t high = (uintptr_t)(first < second ? second : first) + bytes;
	struct relro relro = { 0 };

	bool protected;

	/* The loader protects whole pages, and leaves the last one alone if it is not whole. */
	dl_iterate_phdr(look_at, &relro);
	relro.low &= ~(page - 1);
	relro.high &= ~(page - 1);
	protected = low < relro.high;
	if (protected && (low < relro.low || high > relro.high ||
			  mprotect((void *)low, high - low, PROT_READ | PROT_WRITE)))
		return;
	memcpy(first, with, bytes);
	memcpy(second, with, bytes);
	if (protected)
		mprotect((void *)low, high - low, PROT_READ);
}

void sl_stdio_divert(void)
{
	void *ours[JUMP_CLOSE - JUMP_READ + 1];

	if (!is_known(_IO_file_jumps) || !is_known(_IO_wfile_jumps))
		return;
	memcpy(&file_read, &_IO_file_jumps[JUMP_READ], sizeof(file_read));
	memcpy(&file_write, &_IO_file_jumps[JUMP_WRITE], sizeof(file_write));
	memcpy(&file_close, &_IO_file_jumps[JUMP_CLOSE], sizeof(file_close));
	if (sl_stub_is_on()) {
		file_read = stub_file_read;
		file_write = stub_file_write;
	}
	memcpy(ours, &_IO_file_jumps[JUMP_READ], sizeof(ours));
	ours[0] = (void *)stream_read;
	ours[JUMP_WRITE - JUMP_READ] = (void *)stream_write;
	ours[JUMP_CLOSE - JUMP_READ] = (void *)stream_close;
	replace(&_IO_file_jumps[JUMP_READ], &_IO_wfile_jumps[JUMP_READ], ours, sizeof(ours));
}

#else

void sl_stdio_divert(void)
{
}

#endif
