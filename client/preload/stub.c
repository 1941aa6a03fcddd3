/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Behind a gate that is not strict this library works as ever: it waits for the turn, makes the
 * call, counts it. The gate must not do so once more. It lets data calls pass that come from one
 * address (gate/stub.c), so these functions take the place of libc's and make their system calls
 * there. Calls that the library does not see are caught by the gate.
 *
 * A call on a pipe or socket may have to be cancelled while it waits, which only libc's own
 * function can do. So in a program with threads calls on anything but files of the layer are made
 * by libc, and the gate looks at them. A call on a regular file is not interrupted: there it is
 * enough to look before it whether the thread is to end.
 *
 * Metadata calls are libc's own: many of its functions make several, of its own choice. A gate that
 * catches them counts them; behind any other this library does, as without a gate.
 *
 * If another library has functions of these names, too (a tracer), it would miss the calls. Then
 * all is left to the gate.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/oldlibc.h"
#include "client/conn/settings.h"
#include "client/gate/stub.h"
#include "client/preload/preload.h"
#include "client/conn/turnfd.h"
#include "client/conn/wire.h"

static SL_AT_START gate_stub *stub;
static struct sl_real libc; /* the functions that stood in sl_real */
static const char *single;  /* __libc_single_threaded, since glibc 2.32; NULL: there is none */

bool sl_stub_is_on(void)
{
	return stub != NULL;
}

bool sl_stub_alone(void)
{
	return single && *(const volatile char *)single;
}

static bool is_made_here(int fd)
{
	return turnfd_ours(turnfd_state(fd)) || sl_stub_alone();
}

static long result(long rc)
{
	if (rc >= 0 || rc < -4095)
		return rc;
	errno = (int)-rc;
	return -1;
}

#define WORD(value) ((long)(value))
#define CALL(number, a, b, c, d, e, f) \
	result(stub(WORD(a), WORD(b), WORD(c), WORD(d), WORD(e), WORD(f), number))

/* ---- the functions ---- */

#define MAKE(type, name, parameters, arguments, fd, call) \
	static type stub_##name parameters                \
	{                                                 \
		if (!is_made_here(fd))                    \
			return libc.name arguments;       \
		sl_testcancel();                          \
		return call;                              \
	}

MAKE(ssize_t, read, (int fd, void *b, size_t n), (fd, b, n), fd, CALL(SYS_read, fd, b, n, 0, 0, 0))
MAKE(ssize_t, write, (int fd, const void *b, size_t n), (fd, b, n), fd,
     CALL(SYS_write, fd, b, n, 0, 0, 0))
MAKE(ssize_t, pread, (int fd, void *b, size_t n, off_t at), (fd, b, n, at), fd,
     CALL(SYS_pread64, fd, b, n, at, 0, 0))
MAKE(ssize_t, pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at), fd,
     CALL(SYS_pwrite64, fd, b, n, at, 0, 0))
MAKE(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n), fd,
     CALL(SYS_readv, fd, v, n, 0, 0, 0))
MAKE(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n), fd,
     CALL(SYS_writev, fd, v, n, 0, 0, 0))
/* The kernel takes an offset as two words, of which the second is not used on 64 bits. */
MAKE(ssize_t, preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), fd,
     CALL(SYS_preadv, fd, v, n, at, 0, 0))
MAKE(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), fd,
     CALL(SYS_pwritev, fd, v, n, at, 0, 0))
MAKE(ssize_t, preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags),
     (fd, v, n, at, flags), fd, CALL(SYS_preadv2, fd, v, n, at, 0, flags))
MAKE(ssize_t, pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags),
     (fd, v, n, at, flags), fd, CALL(SYS_pwritev2, fd, v, n, at, 0, flags))
/* Fortified: one that would overflow its buffer goes on to libc, which ends the program. */
MAKE(ssize_t, __read_chk, (int fd, void *b, size_t n, size_t size), (fd, b, n, size),
     n <= size ? fd : -1, CALL(SYS_read, fd, b, n, 0, 0, 0))
MAKE(ssize_t, __pread_chk, (int fd, void *b, size_t n, off_t at, size_t size), (fd, b, n, at, size),
     n <= size ? fd : -1, CALL(SYS_pread64, fd, b, n, at, 0, 0))

/* The turn has been waited for if one of the two is the layer's. */
#define COPY(type, name, parameters, call) \
	static type stub_##name parameters \
	{                                  \
		sl_testcancel();           \
		return call;               \
	}
COPY(ssize_t, copy_file_range, (int in, off_t *from, int out, off_t *to, size_t n, unsigned flags),
     CALL(SYS_copy_file_range, in, from, out, to, n, flags))
COPY(ssize_t, sendfile, (int out, int in, off_t *from, size_t n),
     CALL(SYS_sendfile, out, in, from, n, 0, 0))

static ssize_t stub_splice(int in, off_t *from, int out, off_t *to, size_t n, unsigned flags)
{
	if (!sl_stub_alone())
		return libc.splice(in, from, out, to, n, flags);
	sl_testcancel();
	return CALL(SYS_splice, in, from, out, to, n, flags);
}

static ssize_t peek(int fd, const struct iovec *iov, uint64_t offset, int flags)
{
	return CALL(SYS_preadv2, fd, iov, 1, offset, 0, flags);
}

static int stub_statx(int dir, const char *path, unsigned mask, struct statx *sx)
{
	return (int)CALL(SYS_statx, dir, path, TURNFD_STATX_FLAGS, mask, sx, 0);
}

/* ---- start ---- */

struct object {
	uintptr_t of; /* an address in it */
	uintptr_t base;
	bool found;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object *o = arg;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type == PT_LOAD && o->of - info->dlpi_addr - h->p_vaddr < h->p_memsz) {
			o->base = info->dlpi_addr;
			o->found = true;
			return 1;
		}
	}
	return 0;
}

static uintptr_t base_of(const void *address)
{
	struct object o = { .of = (uintptr_t)address };

	dl_iterate_phdr(look_at, &o);
	return o.found ? o.base : 0;
}

/* This function of sl_real is libc's, and not another library's. */
static bool is_libc(size_t offset)
{
	const void *function;

	memcpy(&function, (const char *)&sl_real + offset, sizeof(function));
	return base_of(function) == base_of((const void *)(uintptr_t)getppid);
}

#define PUT(name, with) (libc.name = SL_LATE(name), sl_real.name = stub_##with)

bool sl_stub_start(void)
{
	single = sl_real_symbol("__libc_single_threaded");
	if (!sl_real_symbol("gnu_get_libc_version") || !is_libc(offsetof(struct sl_real, read)) ||
	    !is_libc(offsetof(struct sl_real, write)))
		return false;
	stub = gate_stub_map();
	if (!stub)
		return false;
	PUT(read, read);
	PUT(write, write);
	PUT(pread, pread);
	PUT(pread64, pread);
	PUT(pwrite, pwrite);
	PUT(pwrite64, pwrite);
	PUT(readv, readv);
	PUT(writev, writev);
	PUT(preadv, preadv);
	PUT(preadv64, preadv);
	PUT(pwritev, pwritev);
	PUT(pwritev64, pwritev);
	PUT(preadv2, preadv2);
	PUT(preadv64v2, preadv2);
	PUT(pwritev2, pwritev2);
	PUT(pwritev64v2, pwritev2);
	PUT(__read_chk, __read_chk);
	PUT(__pread_chk, __pread_chk);
	PUT(__pread64_chk, __pread_chk);
	PUT(copy_file_range, copy_file_range);
	PUT(sendfile, sendfile);
	PUT(sendfile64, sendfile);
	PUT(splice, splice);
	wire_peek = peek;
	turnfd_statx = stub_statx;
	return true;
}
