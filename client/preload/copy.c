/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_file_range, sendfile and splice: what cat, cp and Python's shutil copy with.
 *
 * In the turn route the program makes these calls itself: they count as a read of one file and a
 * write of the other, if these are files of the layer, and ask for both turns one after the other.
 *
 * In the forward route, no byte of them would be scheduled. So if one of the two files of
 * copy_file_range or sendfile is forwarded they are done as reads and writes at explicit offsets,
 * each forwarded if its file is. An empty call of the real function comes first: it has the kernel
 * check the descriptors, so that errors are its own. Ranges of one file that may overlap are left
 * to it altogether. Copies that need not move data are not affected where programs ask for them by
 * name (FICLONE); a file system that could have copied on its server now moves the data.
 *
 * As in the kernel, positions are read at the beginning and written at the end, and both functions
 * may transfer less than requested, so that a signal does not wait long.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/oldlibc.h"
#include "client/conn/turn.h"
#include "client/preload/preload.h"

#define CHUNK (1U << 20)
#define MOST  (64U << 20) /* of one call */

struct copy {
	int in, out;
	struct sl_remote was_in, was_out;
	bool in_known, out_known; /* files: what they were at the beginning is in there */
	off_t from, to;		  /* to < 0: write at the position */
	size_t length;
};

/* The kernel would hold the files; we have only numbers, which other threads may close: look.c. */
static void begin(struct copy *c)
{
	c->in_known = sl_client_look(c->in, &c->was_in);
	c->out_known = sl_client_look(c->out, &c->was_out);
}

static bool same(const struct copy *c)
{
	return (!c->in_known || sl_client_same(c->in, &c->was_in)) &&
	       (!c->out_known || sl_client_same(c->out, &c->was_out));
}

/* Bytes copied, or -1 and errno. */
static ssize_t copy(const struct copy *c)
{
	size_t want = c->length < MOST ? c->length : MOST, done = 0,
	       size = want < CHUNK ? want : CHUNK;
	char *chunk = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int cancel, saved = errno;
	bool failed = false;

	if (chunk == MAP_FAILED)
		return -1;
	sl_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	while (done < want) {
		size_t piece = want - done < size ? want - done : size;
		ssize_t n = -1, w = 0;

		errno = EIO;
		if (!done || same(c))
			n = pread(c->in, chunk, piece, c->from + (off_t)done);
		if (n > 0 && !same(c))
			n = -1;
		if (n > 0)
			w = c->to < 0 ? write(c->out, chunk, (size_t)n)
				      : pwrite(c->out, chunk, (size_t)n, c->to + (off_t)done);
		failed = n < 0 || w < 0;
		done += w > 0 ? (size_t)w : 0;
		if (failed || w < (ssize_t)piece)
			break;
	}
	pthread_setcancelstate(cancel, &cancel);
	munmap(chunk, size);
	if (!failed || done)
		errno = saved;
	return failed && !done ? -1 : (ssize_t)done;
}

/* Whether the ranges may be in one file and overlap. */
static bool overlap(const struct copy *c)
{
	off_t apart = c->from < c->to ? c->to - c->from : c->from - c->to;
	struct stat in, out;

	return sl_fstat(c->in, &in) || sl_fstat(c->out, &out) ||
	       (in.st_dev == out.st_dev && in.st_ino == out.st_ino &&
		(uint64_t)apart < (uint64_t)c->length);
}

/* ---- turns ---- */

struct turns {
	struct turn in, out;
	enum turn_kind in_kind, out_kind;
};

static bool counts(enum turn_kind kind)
{
	return kind != TURN_PASS && kind != TURN_FORWARD && kind != TURN_CLOSED;
}

static off_t offset_of(const off_t *offset)
{
	return offset && turn_readable(offset, sizeof(*offset)) ? *offset : SL_HERE;
}

/*
 * True: the forward route has to do with one of the files. The length is often far larger than the
 * file: turn_begin() looks how much there is to read, and no more is written.
 */
static bool turns_begin(struct turns *t, int in, const off_t *from, int out, const off_t *to,
			size_t length, unsigned how)
{
	t->in_kind =
		turn_begin(&t->in, in, SL_READ, NULL, length, offset_of(from), how | TURN_NOSLOT);
	if (t->in_kind == TURN_LEASED || t->in_kind == TURN_READ)
		length = (size_t)t->in.length;
	t->out_kind = turn_begin(&t->out, out, SL_WRITE, NULL, length, offset_of(to),
				 how | (counts(t->in_kind) ? TURN_NOSLOT : 0));
	return t->in_kind == TURN_FORWARD || t->out_kind == TURN_FORWARD;
}

/* A descriptor for the call: none if the program has closed it meanwhile. */
static int open_or_none(int fd, enum turn_kind kind)
{
	return kind == TURN_CLOSED ? -1 : fd;
}

static ssize_t turns_end(const struct turns *t, ssize_t n)
{
	if (counts(t->in_kind))
		turn_end(&t->in, n);
	if (counts(t->out_kind))
		turn_end(&t->out, n);
	return n;
}

/* ---- the functions ---- */

static bool either_forwarded(const struct turns *t, int in, int out)
{
	return (t->in_kind == TURN_FORWARD && sl_forwards(in)) ||
	       (t->out_kind == TURN_FORWARD && sl_forwards(out));
}

ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t length, unsigned flags)
{
	struct copy c = { .in = in, .out = out, .length = length };
	struct turns t;
	ssize_t n;

	if (!turns_begin(&t, in, from, out, to, length, 0)) {
		in = open_or_none(in, t.in_kind);
		out = open_or_none(out, t.out_kind);
		return turns_end(&t, SL_LATE(copy_file_range)(in, from, out, to, length, flags));
	}
	if (flags || length == 0 || !either_forwarded(&t, in, out))
		return SL_LATE(copy_file_range)(in, from, out, to, length, flags);
	if (SL_LATE(copy_file_range)(in, from, out, to, 0, 0) < 0)
		return -1;
	begin(&c);
	c.from = from ? *from : lseek(in, 0, SEEK_CUR);
	c.to = to ? *to : lseek(out, 0, SEEK_CUR);
	if (c.from < 0 || c.to < 0 || overlap(&c))
		return SL_LATE(copy_file_range)(in, from, out, to, length, flags);
	n = copy(&c);
	if (n > 0 && from)
		*from += n;
	if (n > 0 && to)
		*to += n;
	if (n > 0 && !from && same(&c))
		lseek(in, c.from + n, SEEK_SET);
	if (n > 0 && !to && same(&c))
		lseek(out, c.to + n, SEEK_SET);
	return n;
}

#define SENDFILE(name)                                                                     \
	ssize_t name(int out, int in, off_t *from, size_t length)                          \
	{                                                                                  \
		struct copy c = { .in = in, .out = out, .to = SL_HERE, .length = length }; \
		struct turns t;                                                            \
		ssize_t n;                                                                 \
                                                                                           \
		if (!turns_begin(&t, in, from, out, NULL, length, 0)) {                    \
			in = open_or_none(in, t.in_kind);                                  \
			out = open_or_none(out, t.out_kind);                               \
			return turns_end(&t, SL_LATE(name)(out, in, from, length));        \
		}                                                                          \
		if (length == 0 || !either_forwarded(&t, in, out))                         \
			return SL_LATE(name)(out, in, from, length);                       \
		if (SL_LATE(name)(out, in, from, 0) < 0)                                   \
			return -1;                                                         \
		begin(&c);                                                                 \
		c.from = from ? *from : lseek(in, 0, SEEK_CUR);                            \
		if (c.from < 0) /* a pipe, say */                                          \
			return SL_LATE(name)(out, in, from, length);                       \
		n = copy(&c);                                                              \
		if (n > 0 && from)                                                         \
			*from += n;                                                        \
		else if (n > 0 && same(&c))                                                \
			lseek(in, c.from + n, SEEK_SET);                                   \
		return n;                                                                  \
	}
SENDFILE(sendfile)
SENDFILE(sendfile64)

/* One side is a pipe, which the node could not read or write: in the forward route the kernel's. */
ssize_t splice(int in, off_t *from, int out, off_t *to, size_t length, unsigned flags)
{
	unsigned how = TURN_CANCELS | (flags & SPLICE_F_NONBLOCK ? TURN_NOWAIT : 0);
	struct turns t;

	/* It may wait for the pipe, and be cancelled there: the gate holds it. */
	if (sl_stub_is_on() && !sl_stub_alone())
		return SL_LATE(splice)(in, from, out, to, length, flags);
	turns_begin(&t, in, from, out, to, length, how);
	in = open_or_none(in, t.in_kind);
	out = open_or_none(out, t.out_kind);
	return turns_end(&t, SL_LATE(splice)(in, from, out, to, length, flags));
}
