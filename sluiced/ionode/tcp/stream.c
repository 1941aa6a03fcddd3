/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients over TCP: bytes in and out of one connection. What comes is read into a small buffer of
 * the peer until it is known where it belongs; the rest of a payload then goes there directly.
 * Replies wait in a queue that is as long as there are slots, and leave in one call if they can.
 */
#include "sluiced/ionode/tcp/tcp.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "sluiced/ionode/fence.h"

#define AHEAD (2 * SL_SEALED_BYTES + 4096) /* read with a header: a small frame is whole then */
#define HOLD  2				   /* replies that wait while a frame is coming */

void tcp_watch(struct tcp_loop *l, struct tcp_peer *p)
{
	bool reading = !p->paused && l->reading;
	/* Always watch for the end of the connection. */
	uint32_t events = (reading ? EPOLLIN : 0U) | (p->out ? EPOLLOUT : 0U) | EPOLLRDHUP;
	struct epoll_event ev = { .events = events, .data.ptr = p };

	if (events != p->events && !p->gone && !epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, p->sock, &ev))
		p->events = events;
}

bool tcp_alone(const struct tcp_peer *p)
{
	return p->client && p->loop != &p->loop->tcp->front &&
	       atomic_load_explicit(&p->loop->peers_count, memory_order_relaxed) == 1;
}

/* ---- sending ---- */

/* Header, and seal if the peer is known, of a frame to it. Its length. */
static size_t put_head(struct tcp_peer *p, const struct sl_frame *f, const void *payload,
		       unsigned char head[SL_SEALED_BYTES])
{
	bool covered = f->length && sl_seal_covers(f);

	sl_frame_encode(f, head);
	if (!p->client)
		return SL_FRAME_BYTES;
	sl_seal(&p->session.out, head, fence_stamp(), covered ? payload : NULL,
		covered ? f->length : 0);
	return SL_SEALED_BYTES;
}

size_t tcp_unasked(struct tcp_peer *p, uint64_t tag, int status,
		   unsigned char head[SL_SEALED_BYTES])
{
	const struct sl_frame f = {
		.type = SL_REPLY, .tag = tag, .status = status, .epoch = p->loop->tcp->node->epoch
	};

	return put_head(p, &f, NULL, head);
}

void tcp_reply(struct tcp_slot *s, int64_t result, char *text)
{
	struct tcp_peer *p = s->peer;
	bool data = s->f.type == SL_PREAD && result > 0;
	struct sl_frame f = { .type = SL_REPLY, .tag = s->f.tag, .epoch = s->f.epoch };

	if (data)
		f.flags = SL_F_DATA;
	if (p->client &&
	    atomic_load_explicit(&p->loop->tcp->busy, memory_order_relaxed) > TCP_CROWD)
		f.flags |= SL_F_CROWDED;

	s->text = text;
	s->length = text ? strlen(text) : data ? (size_t)result : 0;
	f.length = (uint32_t)s->length;
	f.status = result < 0 ? (int32_t)-result : 0;
	if (result > 0 && s->f.type == SL_OPEN)
		f.file = (uint64_t)result;
	else if (result > 0)
		f.count = (uint64_t)result;
	if (s->f.flags & SL_F_APPEND)
		f.offset = s->f.offset;
	if (p->client && p->loop->tcp->node->link) /* never 0, so that it asks at least once */
		f.job = atomic_load(&p->client->job->moves) + 1;
	if (s->f.type == SL_HELLO && result == 0) { /* `text` holds the payload of these */
		f.type = SL_CHALLENGE;
		s->length = f.length = SL_NONCE_BYTES + SL_PROOF_BYTES;
	} else if (s->f.type == SL_PROOF && result == 0) {
		f.type = SL_WELCOME;
		f.flags = 0;
		f.job = s->f.job;
		s->length = f.length = SL_WELCOME_BYTES;
	}
	s->head_bytes = put_head(p, &f, s->text, s->head);
	s->sent = 0;
	s->next = NULL;
	s->where = TCP_REPLY;
	if (!p->out)
		p->out_since = node_now();
	*p->out_end = s;
	p->out_end = &s->next;
	p->held++;
	if (!data)
		tcp_buffer_free(p->loop, s); /* what it held has been written */
}

/* Its client sends several frames, then reads several replies: one call for some of them is enough.
 */
bool tcp_more_comes(const struct tcp_peer *p)
{
	return (p->receiving || p->have) && !p->paused && p->loop->reading && p->held < HOLD;
}

static ssize_t send_some(struct tcp_peer *p)
{
	struct iovec iov[2 * TCP_SLOTS];
	struct msghdr m = { .msg_iov = iov };

	for (struct tcp_slot *s = p->out; s; s = s->next) {
		size_t head = s->sent < s->head_bytes ? s->head_bytes - s->sent : 0;
		size_t skip = head ? 0 : s->sent - s->head_bytes;
		unsigned char *payload = s->text ? (unsigned char *)s->text : s->buffer;

		if (head)
			iov[m.msg_iovlen++] =
				(struct iovec){ s->head + s->head_bytes - head, head };
		if (s->length > skip)
			iov[m.msg_iovlen++] = (struct iovec){ payload + skip, s->length - skip };
	}
	return sendmsg(p->sock, &m, MSG_NOSIGNAL | (tcp_alone(p) ? 0 : MSG_DONTWAIT));
}

int tcp_flush(struct tcp_loop *l, struct tcp_peer *p)
{
	p->held = 0;
	while (p->out) {
		ssize_t n = send_some(p);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		while (n > 0) {
			struct tcp_slot *s = p->out;
			size_t left = s->head_bytes + s->length - s->sent;
			size_t part = left < (size_t)n ? left : (size_t)n;

			s->sent += part;
			n -= (ssize_t)part;
			if (part < left)
				break;
			p->out = s->next;
			p->out_since = node_now();
			tcp_slot_free(l, s);
		}
		if (!p->out)
			p->out_end = &p->out;
	}
	if (p->ending && !p->out)
		shutdown(p->sock, SHUT_WR);
	tcp_watch(l, p);
	return 0;
}

/* ---- receiving ---- */

/*
 * More into `in`, or payload to where it belongs and what follows into `in`. 0: there is nothing
 * now. Who has no other connection waits for the rest of a payload in here: it is under way, and
 * being woken up for each packet of it would cost more than to receive it.
 */
static ssize_t receive(struct tcp_peer *p)
{
	size_t ahead = (p->have < AHEAD ? AHEAD : sizeof(p->in) - 1) - p->have, payload = 0;
	struct iovec iov[2] = { { p->in + p->have, ahead } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 1 };
	ssize_t n;

	if (p->budget == 0 || p->drained)
		return 0;
	if (p->receiving) {
		payload = p->receiving->f.length - p->received;
		iov[1] = iov[0];
		iov[0] = (struct iovec){ p->receiving->buffer + p->received, payload };
		m.msg_iovlen = p->short_of ? 1 : 2;
	}
	n = recvmsg(p->sock, &m, p->short_of ? MSG_WAITALL : p->sleeps ? 0 : MSG_DONTWAIT);
	p->sleeps = false;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	if (n == 0)
		return -ECONNRESET;
	if (n < 0)
		n = 0;
	p->drained = (size_t)n < payload + (p->short_of ? 0 : ahead);
	p->short_of = p->drained && !p->short_of && (size_t)n < payload && n > 0 && tcp_alone(p);
	p->drained &= !p->short_of;
	/* A client sends the last piece of a call, and waits. If not, epoll tells. */
	p->drained |= payload && (size_t)n == payload && p->receiving->f.length < SL_TCP_DATA_BYTES;
	if (p->receiving) {
		p->received += (size_t)n < payload ? (size_t)n : payload;
		p->have += (size_t)n > payload ? (size_t)n - payload : 0;
	} else {
		p->have += (size_t)n;
	}
	p->budget -= p->budget < (size_t)n ? p->budget : (size_t)n;
	return n;
}

static void consume(struct tcp_peer *p, size_t bytes)
{
	memmove(p->in, p->in + bytes, p->have - bytes);
	p->have -= bytes;
	p->since = node_now();
}

/* The payload's beginning came with the header. */
static void payload_from_in(struct tcp_peer *p)
{
	size_t want = p->receiving->f.length - p->received, n = want < p->have ? want : p->have;

	memcpy(p->receiving->buffer + p->received, p->in, n);
	p->received += n;
	consume(p, n);
}

/*
 * The frame at the beginning of `in`, with its payload unless that is data. 1: it is whole, and the
 * peer's; 0: more has to come.
 */
static int next_frame(struct tcp_peer *p, struct sl_frame *f, size_t *head, size_t *whole)
{
	size_t covered;
	uint64_t stamp;

	*head = p->client ? SL_SEALED_BYTES : SL_FRAME_BYTES;
	if (p->have < *head)
		return 0;
	if (sl_frame_decode(p->in, f))
		return -EPROTO;
	covered = sl_seal_covers(f) ? f->length : 0;
	if (covered >= TCP_LINE)
		return -EMSGSIZE;
	*whole = *head + covered;
	if (p->have < *whole)
		return 0;
	if (!p->client)
		return 1;
	if (!sl_unseal(&p->session.in, p->in, covered ? p->in + *head : NULL, covered, &stamp))
		return -EBADMSG;
	fence_renew(p->client, stamp);
	return 1;
}

/*
 * Take what is in `in`. 0: more has to come, or a request has gone to the scheduler; 1: the peer
 * has to wait; 2: it is a client now.
 */
static int take(struct tcp_loop *l, struct tcp_peer *p)
{
	struct sl_frame f;
	int rc;

	for (;;) {
		bool sealed = p->client;
		size_t head, whole;

		if (p->receiving) {
			struct tcp_slot *s = p->receiving;

			payload_from_in(p);
			if (p->received < s->f.length)
				return 0;
			p->receiving = NULL;
			p->short_of = false;
			tcp_begin(l, s);
			if (l->added)
				return 0;
			continue;
		}
		if (p->ending)
			return 0;
		rc = next_frame(p, &f, &head, &whole);
		if (rc <= 0)
			return rc;
		tcp_refreshed(l, p);
		rc = tcp_frame(l, p, &f, p->in + head);
		if (rc == 1 && p->stale) {
			tcp_give_back_stale(p);
			rc = tcp_frame(l, p, &f, p->in + head);
		}
		if (rc)
			return rc;
		p->session.in.count += sealed;
		consume(p, whole);
		if (l->added)
			return 0;
		if (p->client && !sealed)
			return 2;
	}
}

int tcp_input(struct tcp_loop *l, struct tcp_peer *p)
{
	ssize_t n;
	int rc;

	do {
		rc = take(l, p);
		if (rc < 0)
			return rc;
		if (rc == 2)
			return tcp_move_on(l->tcp, p);
		if (rc) {
			p->paused = true;
			sl_list_push_back(&l->waiting, &p->waiting);
			break;
		}
		if (l->added)
			return 1;
		if (p->ending)
			p->have = 0; /* it has been refused: ignore its further input */
		if (p->client && !p->have && !p->receiving)
			p->since = node_now();
		n = receive(p);
		if (n < 0)
			return (int)n;
	} while (n > 0);
	if (p->out && !p->to_flush && !tcp_more_comes(p))
		return tcp_flush(l, p);
	tcp_watch(l, p);
	return 0;
}
