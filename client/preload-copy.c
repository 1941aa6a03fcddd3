/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_file_range and sendfile: what cat, cp and Python's shutil copy with.
 *
 * On the real descriptors they would be correct, and no byte would be scheduled. So if one of the
 * two files is forwarded they are done as reads and writes at explicit offsets, each forwarded if
 * its file is. An empty call of the real function comes first: it has the kernel check the
 * descriptors, so that errors are its own. Ranges of one file that may overlap are left to it
 * altogether. Copies that need not move data are not affected where programs ask for them by name
 * (FICLONE); a file system that could have copied on its server now moves the data.
 *
 * As in the kernel, positions are read at the beginning and written at the end, and both functions
 * may do less than they were asked for: a signal must not wait for more than a moment.
 */
#undef _FORTIFY_SOURCE	 /* both would make the headers rename */
#undef _FILE_OFFSET_BITS /* the functions that we define */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/preload.h"

#define CHUNK (1U << 20)
#define MOST  (64U << 20) /* of one call */

struct copy {
	int in, out;
	struct sl_remote was_in, was_out;
	bool in_known, out_known; /* files: what they were at the beginning is in there */
	off_t from, to;		  /* to < 0: write at the position */
	size_t length;
};

/* The kernel would hold the files; we have but numbers, which others may close under us: look.c. */
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
	pthread_testcancel();
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

	return fstat(c->in, &in) || fstat(c->out, &out) ||
	       (in.st_dev == out.st_dev && in.st_ino == out.st_ino &&
		(uint64_t)apart < (uint64_t)c->length);
}

static bool either_forwarded(int in, int out)
{
	return sl_forwards(in) || sl_forwards(out);
}

ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t length, unsigned flags)
{
	struct copy c = { .in = in, .out = out, .length = length };
	ssize_t n;

	if (!sl_real.copy_file_range)
		sl_real_resolve();
	if (!sl_forwarding || flags || length == 0 || !either_forwarded(in, out))
		return sl_real.copy_file_range(in, from, out, to, length, flags);
	if (sl_real.copy_file_range(in, from, out, to, 0, 0) < 0)
		return -1;
	begin(&c);
	c.from = from ? *from : lseek(in, 0, SEEK_CUR);
	c.to = to ? *to : lseek(out, 0, SEEK_CUR);
	if (c.from < 0 || c.to < 0 || overlap(&c))
		return sl_real.copy_file_range(in, from, out, to, length, flags);
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
		ssize_t n;                                                                 \
                                                                                           \
		if (!sl_real.name)                                                         \
			sl_real_resolve();                                                 \
		if (!sl_forwarding || length == 0 || !either_forwarded(in, out))           \
			return sl_real.name(out, in, from, length);                        \
		if (sl_real.name(out, in, from, 0) < 0)                                    \
			return -1;                                                         \
		begin(&c);                                                                 \
		c.from = from ? *from : lseek(in, 0, SEEK_CUR);                            \
		if (c.from < 0) /* a pipe, say */                                          \
			return sl_real.name(out, in, from, length);                        \
		n = copy(&c);                                                              \
		if (n > 0 && from)                                                         \
			*from += n;                                                        \
		else if (n > 0 && same(&c))                                                \
			lseek(in, c.from + n, SEEK_SET);                                   \
		return n;                                                                  \
	}
SENDFILE(sendfile)
SENDFILE(sendfile64)
