/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes for reads over TCP: they hold pages of the page cache until these are sent, so that nothing
 * is copied on the way. See pipe.c.
 */
#ifndef SL_SLUICED_IONODE_PIPE_H
#define SL_SLUICED_IONODE_PIPE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PIPE_LEAST (128U << 10) /* a shorter read is cheaper to copy */

struct node_pipe {
	int end[2];
	struct node_pipe *next;
};

/*
 * Read into a pipe, which is in *p then. Bytes, fewer only at the end of the file. Negative errno: it
 * cannot be done in this way, and nothing has been done.
 */
ssize_t pipe_fill(int fd, uint64_t offset, size_t length, struct node_pipe **p);
/* To a socket. Bytes; negative errno, -EAGAIN also where it may not sleep. */
ssize_t pipe_send(struct node_pipe *p, int sock, size_t length, bool more, bool may_sleep);
/* Not used any more; `left` bytes are still in it. NULL: nothing happens. */
void pipe_give(struct node_pipe *p, size_t left);

#endif
