/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients over TCP: what each frame means. The codec has checked what a frame says by itself
 * (wire/proto.c); here is what depends on who says it and when. sluice-protocol(7) tells which
 * errors are answered and for which the node hangs up.
 */
#include "sluiced/ionode/tcp/tcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sluiced/ionode/fence.h"
#include "sluiced/ionode/scheduler.h"

static bool needs_buffer(const struct sl_frame *f)
{
	return f->type == SL_PREAD || f->type == SL_PWRITE || (f->type == SL_OPEN && f->length);
}

/* The number of buffers that one peer may have: see tcp.c. */
static unsigned char *buffer_take(struct tcp_loop *l, const struct tcp_peer *p)
{
	struct tcp *t = l->tcp;
	uint32_t share = atomic_load_explicit(&t->buffers, memory_order_relaxed) / 8;
	unsigned char *buffer = l->spare;

	if (p->buffers >= (share ? share : 1))
		return NULL;
	l->spare = NULL;
	if (buffer)
		return buffer;
	pthread_mutex_lock(&t->pool_lock);
	if (t->buffers)
		buffer = t->buffer[--t->buffers];
	pthread_mutex_unlock(&t->pool_lock);
	return buffer;
}

/* NULL: there is none, or no buffer for it. */
static struct tcp_slot *slot_take(struct tcp_loop *l, struct tcp_peer *p, const struct sl_frame *f)
{
	struct tcp_slot *s = p->slot;

	if (p->used == TCP_SLOTS)
		return NULL;
	while (s->used)
		s++;
	if (needs_buffer(f)) {
		s->buffer = buffer_take(l, p);
		l->starved |= !s->buffer && !p->buffers;
		if (!s->buffer)
			return NULL;
		p->buffers++;
	}
	s->used = true;
	s->where = TCP_RECEIVING;
	s->f = *f;
	s->f.epoch = l->tcp->node->epoch;
	p->used++;
	return s;
}

/* ---- HELLO, CONTROL ---- */

/* Send the reason and nothing more; either side then closes the connection. */
static int refuse(struct tcp_peer *p, struct tcp_slot *s, int status, const char *why)
{
	tcp_log_refused(p, why);
	tcp_reply(s, -status, strdup(why));
	p->ending = true;
	return 0;
}

static int on_hello(struct tcp *t, struct tcp_peer *p, struct tcp_slot *s,
		    const unsigned char *payload)
{
	struct sl_hello h;
	unsigned char *answer;
	int rc = sl_hello_decode(payload, s->f.length, &h);

	if (rc)
		return rc;
	if (h.version != SL_PROTO_VERSION)
		return refuse(p, s, EPROTONOSUPPORT, "the node speaks version 4");
	answer = calloc(1, SL_NONCE_BYTES + SL_PROOF_BYTES + 1);
	if (!answer || sl_nonce(p->nonce)) {
		free(answer);
		return refuse(p, s, ENOMEM, "the node cannot take another client");
	}
	memcpy(p->hello, payload, SL_HELLO_BYTES);
	memcpy(answer, p->nonce, SL_NONCE_BYTES);
	sl_auth_proof(t->secret, SL_SIDE_NODE, p->hello, p->nonce, answer + SL_NONCE_BYTES);
	p->challenged = true;
	tcp_reply(s, 0, (char *)answer);
	return 0;
}

static int on_proof(struct tcp *t, struct tcp_peer *p, struct tcp_slot *s,
		    const unsigned char *payload)
{
	struct sl_welcome w = { .version = SL_PROTO_VERSION, .epoch = t->node->epoch };
	unsigned char proof[SL_PROOF_BYTES];
	struct client *c;
	struct sl_hello h;
	char *text;
	int rc = sl_hello_decode(p->hello, SL_HELLO_BYTES, &h);

	if (rc)
		return rc;
	sl_auth_proof(t->secret, SL_SIDE_CLIENT, p->hello, p->nonce, proof);
	if (!sl_auth_equal(proof, payload))
		return refuse(p, s, EACCES, "the secret is not the right one");
	c = client_alloc(h.pid);
	text = calloc(1, SL_WELCOME_BYTES + 1);
	if (!c || !text) {
		free(text);
		if (c)
			client_free(c);
		return refuse(p, s, ENOMEM, "the node cannot take another client");
	}
	c->transport = &node_tcp;
	atomic_store(&c->lease, 0); /* until it gives back a stamp */
	c->sock = p->sock;
	c->peer = p;
	pthread_mutex_lock(&t->node->lock);
	c->job = node_job_join(t->node, &h, &rc);
	if (!c->job)
		strncpy(text, sl_error(t->node->sched), SL_WELCOME_BYTES);
	pthread_mutex_unlock(&t->node->lock);
	if (!c->job) {
		c->sock = -1; /* the socket stays with the peer, to send it the reason */
		client_free(c);
		refuse(p, s, -rc, text);
		free(text);
		return 0;
	}
	p->client = c;
	sl_auth_session(t->secret, SL_SIDE_NODE, p->hello, p->nonce, &p->session);
	w.job = s->f.job = c->job->number;
	sl_welcome_encode(&w, (unsigned char *)text);
	tcp_reply(s, 0, text);
	log_info("tcp=%s pid=%u job=%s connected", p->name, c->pid, c->job->name);
	return 0;
}

static int on_control(struct tcp *t, struct tcp_slot *s, unsigned char *payload)
{
	char *answer = NULL, behind = (char)payload[s->f.length];
	int status;

	payload[s->f.length] = 0; /* the next frame may begin there */
	status = node_control(
		t->node,
		&(struct node_who){ .client = s->peer->client, .admin = true, .remote = true },
		(char *)payload, &answer);
	payload[s->f.length] = (unsigned char)behind;
	tcp_reply(s, -status, answer);
	return 0;
}

/* ---- the others ---- */

static bool allowed(const struct tcp_peer *p, const struct sl_frame *f)
{
	switch (f->type) {
	case SL_HELLO:
		return !p->client && !p->challenged;
	case SL_PROOF:
		return !p->client && p->challenged;
	case SL_OPEN:
	case SL_CLOSE:
	case SL_FSYNC:
	case SL_CONTROL:
	case SL_LEASE:
	case SL_SIZE:
		return p->client;
	case SL_PREAD:
	case SL_PWRITE:
		return p->client && f->count <= SL_TCP_DATA_BYTES;
	default:
		return false;
	}
}

int tcp_frame(struct tcp_loop *l, struct tcp_peer *p, const struct sl_frame *f,
	      unsigned char *payload)
{
	struct tcp *t = l->tcp;
	struct tcp_slot *s;
	int rc = 0;

	if (!allowed(p, f))
		return -EPROTO;
	if (f->type == SL_CLOSE) {
		client_file_close(t->node, p->client, f->file);
		return 0;
	}
	s = slot_take(l, p, f);
	if (!s)
		return 1;
	p->small = needs_buffer(f) && f->count < SL_TCP_DATA_BYTES;
	p->receiving = s; /* so that it is found if the connection is closed here */
	if (f->type == SL_HELLO)
		rc = on_hello(t, p, s, payload);
	else if (f->type == SL_PROOF)
		rc = on_proof(t, p, s, payload);
	else if (f->type == SL_CONTROL)
		rc = on_control(t, s, payload);
	else if (f->type == SL_LEASE)
		tcp_reply(s, 0, NULL);
	else if (f->type == SL_OPEN && f->length)
		memcpy(s->buffer, payload, f->length);
	if (rc)
		return rc;
	p->receiving = NULL;
	if (f->type == SL_PWRITE) {
		p->receiving = s;
		p->received = 0;
	} else if (s->where == TCP_RECEIVING) {
		tcp_begin(l, s);
	}
	return 0;
}

/* Into the scheduler; the lock is held. */
static int enter(struct tcp *t, struct tcp_slot *s)
{
	struct tcp_peer *p = s->peer;
	const struct node_call call = { .file = s->f.file,
					.offset = s->f.offset,
					.length = s->f.count,
					.op = s->f.type == SL_PWRITE ? SL_WRITE : SL_READ,
					.flags = s->f.flags & SL_F_APPEND ? SL_SLOT_APPEND : 0,
					.slot = (uint32_t)(s - p->slot),
					.data = s->buffer };
	int rc = node_take(t->node, p->client, &call, node_now());

	if (rc)
		return rc;
	s->where = TCP_INSIDE;
	p->busy = true;
	if (!p->counted)
		atomic_fetch_add(&t->busy, 1);
	p->counted = true;
	return 0;
}

/* To the errand threads; the lock is held. */
static int look_after(struct tcp_slot *s)
{
	struct node_file *file = client_file(s->peer->client, s->f.file);

	if (!file)
		return -EBADF;
	file->busy++;
	return 0;
}

/*
 * A request that had to wait to be read has an old stamp and would not be executed. The client
 * sends a new stamp within a second, so keep the request until then, or for STALE_TICKS.
 */
static bool keep_stale(struct tcp_slot *s)
{
	struct tcp_peer *p = s->peer;
	struct tcp_slot **end = &p->stale;

	if ((s->f.type != SL_PREAD && s->f.type != SL_PWRITE) || fence_holds(p->client))
		return false;
	while (*end)
		end = &(*end)->next;
	s->next = NULL;
	*end = s;
	return true;
}

static struct tcp_slot *next_stale(struct tcp_peer *p)
{
	struct tcp_slot *s = p->stale;

	if (s)
		p->stale = s->next;
	return s;
}

void tcp_refreshed(struct tcp_loop *l, struct tcp_peer *p)
{
	struct tcp_slot *s;

	while (p->stale && fence_holds(p->client) && (s = next_stale(p)))
		tcp_begin(l, s);
}

void tcp_give_back_stale(struct tcp_peer *p)
{
	struct tcp_slot *s;

	while ((s = next_stale(p)))
		tcp_reply(s, -SL_COME_BACK, NULL);
}

void tcp_begin(struct tcp_loop *l, struct tcp_slot *s)
{
	bool data = s->f.type == SL_PREAD || s->f.type == SL_PWRITE;
	struct tcp *t = l->tcp;
	int rc = 0;

	if (keep_stale(s))
		return;
	if (s->f.type == SL_OPEN) {
		rc = s->buffer ? 0 : -EBADF;
	} else if (s->f.type != SL_FSYNC || s->f.file) { /* else of all that there is */
		pthread_mutex_lock(&t->node->lock);
		rc = data ? enter(t, s) : look_after(s);
		pthread_mutex_unlock(&t->node->lock);
	}
	if (rc)
		tcp_reply(s, rc, NULL);
	else if (data)
		l->added = true;
	else
		tcp_errand(t, s);
}

/* ---- answers ---- */

static void answer(struct node *n, struct node_io *io, int64_t result)
{
	struct tcp_peer *p = io->client->peer;
	struct tcp_slot *s = &p->slot[io->slot];

	(void)n;
	s->result = result;
	s->f.offset = io->offset;
	tcp_done(s);
}

const struct node_transport node_tcp = { .answer = answer };
