/* SPDX-License-Identifier: Apache-2.0 */
/* A place in the memory of a program, given as vectors. */
#ifndef SL_CLIENT_CONN_CURSOR_H
#define SL_CLIENT_CONN_CURSOR_H

#include <stddef.h>
#include <sys/uio.h>

struct cursor {
	const struct iovec *iov;
	size_t at; /* in *iov */
};

static inline struct cursor cursor_at(const struct iovec *iov, size_t offset)
{
	while (offset && offset >= iov->iov_len)
		offset -= iov++->iov_len;
	return (struct cursor){ iov, offset };
}

/* The next `length` bytes as vectors, or as many as `most` of them hold; their number. */
static inline unsigned cursor_parts(struct cursor c, size_t length, struct iovec *out,
				    unsigned most)
{
	unsigned count = 0;

	while (length && count < most) {
		size_t have = c.iov->iov_len - c.at, n = have < length ? have : length;

		if (n)
			out[count++] = (struct iovec){ (char *)c.iov->iov_base + c.at, n };
		length -= n;
		c.iov++;
		c.at = 0;
	}
	return count;
}

#endif
