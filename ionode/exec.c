/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executing a batch: one vectored read or write on the backing file.
 *
 * The data lies in the segments of the clients, or in buffers of the node for those that come over
 * TCP; the descriptor is the first client's own, so permissions, O_DIRECT, O_SYNC and the like are
 * what the program asked for. When the merged operation fails or comes back short, what it did not
 * cover is executed again, each request by itself, so that every caller gets the result it would
 * have had alone.
 */
#include <errno.h>
#include <limits.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ionode/node.h"

/*
 * If the node dies from here on, its client cannot know the outcome (wire/shm.h). False: the client
 * has given us up, and taken it back.
 */
static bool begin_append(const struct node_io *io)
{
	struct sl_segment *seg = io->client->segment;
	uint32_t posted = SL_SLOT_POSTED;

	return !seg ||
	       atomic_compare_exchange_strong(&seg->slot[io->slot].state, &posted, SL_SLOT_RUNS) ||
	       posted == SL_SLOT_RUNS; /* write() was interrupted */
}

static int64_t execute_one(struct node_io *io)
{
	size_t done = 0, length = (size_t)io->req.length;
	int fd = io->file->fd;

	while (done < length) {
		unsigned char *at = io->data + done;
		off_t offset = (off_t)(io->offset + done);
		ssize_t n;

		if (io->flags & SL_SLOT_APPEND) {
			if (!begin_append(io))
				return -ECANCELED;
			n = write(fd, at, length - done);
		} else if (io->req.op == SL_WRITE)
			n = pwrite(fd, at, length - done, offset);
		else
			n = pread(fd, at, length - done, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return done ? (int64_t)done : -errno;
		done += (size_t)n;
		/* A client on another machine has a position of its own, to be set to this. */
		if (io->flags & SL_SLOT_APPEND && !io->client->segment)
			io->offset = (uint64_t)lseek(fd, 0, SEEK_CUR);
		if (n == 0 || io->req.op == SL_READ || (io->flags & SL_SLOT_APPEND))
			break; /* the end of the file; and an append is one write */
	}
	return (int64_t)done;
}

static struct node_io *io_of(struct sl_request *r)
{
	return (struct node_io *)r;
}

bool node_one_file(const struct sl_batch *b)
{
	const struct node_file *first = io_of(b->first)->file;

	for (struct sl_request *r = b->first->next; r; r = r->next)
		if (io_of(r)->file->dev != first->dev || io_of(r)->file->ino != first->ino)
			return false; /* two files with one number: possible, though not likely */
	return true;
}

void node_settle(const struct sl_batch *b, ssize_t n)
{
	for (struct sl_request *r = b->first; r; r = r->next) {
		struct node_io *io = io_of(r);

		if (n >= (ssize_t)r->length) {
			io->result = (int64_t)r->length;
			n -= (ssize_t)r->length;
		} else {
			io->result = execute_one(io);
			n = 0;
		}
	}
}

void node_execute(const struct sl_batch *b)
{
	const struct node_io *first = io_of(b->first);
	struct iovec iov[IOV_MAX];
	int count = 0;
	ssize_t n = 0;

	if (b->count > 1 && node_one_file(b)) {
		for (struct sl_request *r = b->first; count < (int)b->count; r = r->next)
			iov[count++] = (struct iovec){ io_of(r)->data, (size_t)r->length };
		n = b->op == SL_WRITE ? pwritev(first->file->fd, iov, count, (off_t)first->offset)
				      : preadv(first->file->fd, iov, count, (off_t)first->offset);
	}
	node_settle(b, n);
}
