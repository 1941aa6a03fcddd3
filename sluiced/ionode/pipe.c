/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads over TCP without copies. splice(2) puts references to pages of the page cache into a pipe,
 * and from there into the socket; the first copy is the one into the memory of the client. Per MiB
 * that saves two of three copies, a third of what both sides take together. Short reads do not use it: three
 * system calls and a reference for each page cost as much as two copies of 64 KiB.
 *
 * What it means for the data: pages are looked at when they leave or, on the same machine, when the
 * client receives them. A write that comes while the answer to a read is under way may show in
 * it, as it may in a read(2) that is under way. The read has not returned by then, so nobody can
 * tell the difference.
 *
 * A pipe has room for twice the longest request, since one that does not begin at a page needs a
 * slot more. What file systems cannot do, and what does not come whole, is left to pread(2): a
 * short answer would look like the end of the file.
 *
 * There are PIPES at most, for all clients; without a free one data is copied.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "sluiced/ionode/pipe.h"
#include "wire/proto.h"

#define PIPES	   32
#define PIPE_BYTES (2 * SL_TCP_DATA_BYTES)

static struct {
	pthread_mutex_t lock;
	struct node_pipe *free;
	unsigned count; /* that there are */
} pipes = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void forget(struct node_pipe *p)
{
	close(p->end[0]);
	close(p->end[1]);
	free(p);
	pthread_mutex_lock(&pipes.lock);
	pipes.count--;
	pthread_mutex_unlock(&pipes.lock);
}

static struct node_pipe *pipe_make(void)
{
	struct node_pipe *p = malloc(sizeof(*p));

	if (p && !pipe2(p->end, O_CLOEXEC | O_NONBLOCK)) {
		if (fcntl(p->end[1], F_SETPIPE_SZ, PIPE_BYTES) >= (int)PIPE_BYTES)
			return p;
		close(p->end[0]);
		close(p->end[1]);
	}
	free(p);
	return NULL; /* its place stays taken: the next one would fail, too */
}

static struct node_pipe *pipe_take(void)
{
	struct node_pipe *p;
	bool make;

	pthread_mutex_lock(&pipes.lock);
	p = pipes.free;
	if (p)
		pipes.free = p->next;
	make = !p && pipes.count < PIPES;
	pipes.count += make;
	pthread_mutex_unlock(&pipes.lock);
	return make ? pipe_make() : p;
}

void pipe_give(struct node_pipe *p, size_t left)
{
	if (!p)
		return;
	if (left) {
		forget(p);
		return;
	}
	pthread_mutex_lock(&pipes.lock);
	p->next = pipes.free;
	pipes.free = p;
	pthread_mutex_unlock(&pipes.lock);
}

ssize_t pipe_fill(int fd, uint64_t offset, size_t length, struct node_pipe **out)
{
	struct node_pipe *p = pipe_take();
	off64_t at = (off64_t)offset;
	size_t done = 0;
	ssize_t n = 1;

	if (!p)
		return -EBUSY;
	while (done < length && n) {
		n = splice(fd, &at, p->end[1], NULL, length - done, SPLICE_F_NONBLOCK);
		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	if (n < 0 || !done) {
		n = n < 0 ? -errno : 0;
		pipe_give(p, done);
		return n;
	}
	*out = p;
	return (ssize_t)done;
}

/* The socket is the calling thread's. */
ssize_t pipe_send(struct node_pipe *p, int sock, size_t length, bool more, bool may_sleep)
{
	int flags = may_sleep ? 0 : fcntl(sock, F_GETFL);
	ssize_t n;

	if (flags < 0)
		return -errno;
	if (!may_sleep)
		fcntl(sock, F_SETFL, flags | O_NONBLOCK);
	n = splice(p->end[0], NULL, sock, NULL, length, more ? SPLICE_F_MORE : 0);
	n = n < 0 ? -errno : n;
	if (!may_sleep)
		fcntl(sock, F_SETFL, flags);
	return n ? n : -EPIPE;
}
