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
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sluiced/ionode/fence.h"

/*
 * If the node dies from here on, the client cannot know the outcome (wire/shm.h). False: the client
 * has left this node and taken the request back.
 */
static bool begin_append(const struct node_io *io)
{
	struct sl_segment *seg = io->client->segment;
	uint32_t posted = SL_SLOT_POSTED;

	return !seg ||
	       atomic_compare_exchange_strong(&seg->slot[io->slot].state, &posted, SL_SLOT_RUNS) ||
	       posted == SL_SLOT_RUNS; /* write() was interrupted */
}

/* Whether this client has a lease, so its calls need the fence. */
static bool is_far(const struct node_io *io)
{
	return !io->client->segment;
}

static int64_t transfer_one(struct node_io *io)
{
	size_t done = 0, length = (size_t)io->req.length;
	int fd = io->file->fd;

	while (done < length) {
		unsigned char *at = io->data + done;
		off_t offset = (off_t)(io->offset + done);
		ssize_t n;

		/* The client may have gone to another node; if not, it sends the request again. */
		if (!fence_holds(io->client))
			return done ? (int64_t)done : -SL_COME_BACK;
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
		/*
		 * A client on another machine keeps its own file position, to be set to this value.
		 */
		if (io->flags & SL_SLOT_APPEND && !io->client->segment)
			io->offset = (uint64_t)lseek(fd, 0, SEEK_CUR);
		if (n == 0 || io->req.op == SL_READ || (io->flags & SL_SLOT_APPEND))
			break; /* the end of the file; and an append is one write */
	}
	return (int64_t)done;
}

static int64_t execute_one(struct node_io *io)
{
	int64_t result;

	if (is_far(io))
		fence_enter();
	result = transfer_one(io);
	if (is_far(io))
		fence_leave();
	return result;
}

static struct node_io *io_of(struct sl_request *r)
{
	return (struct node_io *)r;
}

/*
 * Equal device and inode numbers do not prove that two files are the same: FUSE and stacked file
 * systems may return any numbers. The same open file does, and so do equal file handles, by which
 * the file system itself could open the file.
 */
static bool is_same(const struct node_file *a, const struct node_file *b)
{
	return a == b || (a->dev == b->dev && a->ino == b->ino && a->handle_bytes &&
			  a->handle_bytes == b->handle_bytes && a->handle_type == b->handle_type &&
			  !memcmp(a->handle, b->handle, a->handle_bytes));
}

bool node_one_file(const struct sl_batch *b)
{
	const struct node_file *first = io_of(b->first)->file;

	for (struct sl_request *r = b->first->next; r; r = r->next)
		if (!is_same(io_of(r)->file, first))
			return false;
	return true;
}

bool node_batch_holds(const struct sl_batch *b)
{
	for (struct sl_request *r = b->first; r; r = r->next)
		if (!fence_holds(io_of(r)->client))
			return false;
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

bool node_batch_far(const struct sl_batch *b)
{
	for (struct sl_request *r = b->first; r; r = r->next)
		if (is_far(io_of(r)))
			return true;
	return false;
}

void node_execute(const struct sl_batch *b)
{
	const struct node_io *first = io_of(b->first);
	struct iovec iov[IOV_MAX];
	int count = 0;
	ssize_t n = 0;
	bool far;

	if (b->count > 1 && node_one_file(b)) {
		for (struct sl_request *r = b->first; count < (int)b->count; r = r->next)
			iov[count++] = (struct iovec){ io_of(r)->data, (size_t)r->length };
		far = node_batch_far(b);
		if (far)
			fence_enter();
		if (node_batch_holds(b)) /* else each by itself */
			n = b->op == SL_WRITE
				    ? pwritev(first->file->fd, iov, count, (off_t)first->offset)
				    : preadv(first->file->fd, iov, count, (off_t)first->offset);
		if (far)
			fence_leave();
	}
	node_settle(b, n);
}
