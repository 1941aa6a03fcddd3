/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in a connection: open them at the node, and close them there. A file has a reference for
 * each connection that it was used in; after another was made, it is opened there when it is used
 * next.
 */
#include <errno.h>
#include <string.h>

#include "client/conn/dial.h"
#include "client/conn/tcp.h"

int conn_pass(struct conn *c, const struct sl_remote *r, int fd, uint64_t *file)
{
	/* The number may mean another file by now: the node looks at what it gets. */
	struct sl_frame f = { .type = SL_OPEN,
			      .tag = 2,
			      .file = r->dev,
			      .offset = r->ino,
			      .count = (uint64_t)(r->open_flags & SL_OPEN_FLAGS) };
	unsigned char head[SL_FRAME_BYTES];
	int rc;

	sl_frame_encode(&f, head);
	rc = dial_send(c->sock, head, sizeof(head), fd);
	if (rc)
		return rc == -ENOTCONN ? GONE : rc;
	if (dial_receive(c, head, sizeof(head)) || sl_frame_decode(head, &f) ||
	    f.type != SL_REPLY || f.length)
		return GONE;
	*file = f.file;
	return -f.status;
}

int conn_open(struct conn *c, struct sl_remote *r, int fd, uint64_t *file)
{
	uint64_t reference;
	sigset_t old;
	int rc = 0;

	/* Read twice: in between another thread may have opened it in a later connection. */
	if (r->life == c->life) {
		*file = r->file;
		if (r->life == c->life)
			return 0;
	}
	conn_lock(&old);
	if (r->life > c->life) {
		rc = AGAIN;
	} else if (atomic_load(&c->lost)) {
		rc = GONE;
	} else if (r->life < c->life) {
		rc = conn_ours(c) ? c->via->open(c, r, fd, &reference) : GONE;
		if (rc == GONE)
			conn_lose(c); /* before another thread reads half an answer */
		if (!rc) {
			r->life = 0;
			r->file = reference;
			r->life = c->life;
		}
	}
	*file = r->file;
	conn_unlock(&old);
	return rc;
}

/*
 * CLOSE has no answer, but the node answers the next request only after it has executed CLOSE. The
 * lock keeps other threads out between request and answer.
 */
int conn_take_back(struct conn *c, uint64_t file)
{
	struct sl_frame f = { .type = SL_CLOSE, .file = file };
	static const char word[] = { 'p', 'i', 'n', 'g' };
	struct sl_frame ping = { .type = SL_CONTROL, .tag = 3, .length = sizeof(word) };
	struct {
		unsigned char close[SL_FRAME_BYTES], ping[SL_FRAME_BYTES], word[sizeof(word)];
	} out;
	unsigned char in[SL_FRAME_BYTES + sizeof(word)]; /* "pong" */

	sl_frame_encode(&f, out.close);
	sl_frame_encode(&ping, out.ping);
	memcpy(out.word, word, sizeof(word));
	return !conn_ours(c) || dial_send(c->sock, &out, sizeof(out), -1) ||
			       dial_receive(c, in, sizeof(in))
		       ? GONE
		       : 0;
}

void sl_client_close(struct sl_remote *r)
{
	struct conn *c = r->life ? conn_held() : NULL;
	sigset_t old;

	if (!c)
		return;
	if (c->life == r->life && !atomic_load(&c->lost)) {
		conn_lock(&old);
		if (c->via->close(c, r->file) == GONE)
			conn_lose(c);
		conn_unlock(&old);
	}
	r->file = 0;
	r->life = 0;
	conn_put(c);
}
