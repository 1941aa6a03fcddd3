/* SPDX-License-Identifier: Apache-2.0 */
/* Connections, and which one to close: see visitors.h. */
#include "httpd/visitors.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* ---- who it is ---- */

static void address_of(const struct sockaddr *at, unsigned char out[16], in_port_t *port)
{
	struct sockaddr_in four = { 0 };
	struct sockaddr_in6 six = { 0 };

	memset(out, 0, 16);
	if (at->sa_family == AF_INET) {
		memcpy(&four, at, sizeof(four));
		out[10] = out[11] = 255;
		memcpy(out + 12, &four.sin_addr, 4);
		*port = four.sin_port;
	} else {
		memcpy(&six, at, sizeof(six));
		memcpy(out, &six.sin6_addr, 16);
		*port = six.sin6_port;
	}
}

static bool is_four(const unsigned char address[16])
{
	static const unsigned char mapped[12] = { [10] = 255, [11] = 255 };

	return memcmp(address, mapped, sizeof(mapped)) == 0;
}

/* The kernel knows whose socket is at the other end of a connection within this machine. */
static uint32_t owner_of(const unsigned char peer[16], in_port_t peer_port,
			 const unsigned char here[16], in_port_t here_port)
{
	bool four = is_four(peer);
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 req;
	} ask = { .head = { .nlmsg_len = sizeof(ask),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST },
		  .req = { .sdiag_family = four ? AF_INET : AF_INET6,
			   .sdiag_protocol = IPPROTO_TCP,
			   .idiag_states = ~0U,
			   .id = { .idiag_sport = peer_port,
				   .idiag_dport = here_port,
				   .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } } };
	union {
		struct nlmsghdr head;
		char bytes[1024];
	} got;
	struct inet_diag_msg found;
	uint32_t uid = UINT32_MAX;
	int sock = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t n;

	if (sock < 0)
		return uid;
	memcpy(ask.req.id.idiag_src, four ? peer + 12 : peer, four ? 4 : 16);
	memcpy(ask.req.id.idiag_dst, four ? here + 12 : here, four ? 4 : 16);
	if (send(sock, &ask, sizeof(ask), MSG_DONTWAIT) == (ssize_t)sizeof(ask)) {
		n = recv(sock, &got, sizeof(got), MSG_DONTWAIT);
		if (n >= (ssize_t)NLMSG_LENGTH(sizeof(found)) &&
		    got.head.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
			memcpy(&found, got.bytes + NLMSG_HDRLEN, sizeof(found));
			uid = found.idiag_uid;
		}
	}
	close(sock);
	return uid;
}

void visitor_identify(struct visitor *v, const struct sockaddr *peer)
{
	struct sockaddr_storage own = { 0 };
	socklen_t length = sizeof(own);
	unsigned char here[16];
	in_port_t port = 0, here_port = 0;

	v->uid = UINT32_MAX;
	address_of(peer, v->address, &port);
	if (getsockname(v->sock, (struct sockaddr *)&own, &length))
		return;
	address_of((const struct sockaddr *)&own, here, &here_port);
	v->uid = owner_of(v->address, port, here, here_port);
	if (!is_four(v->address)) /* a machine has all addresses of its network */
		memset(v->address + 8, 0, 8);
}

static bool same_party(const struct visitor *a, const struct visitor *b)
{
	return a->uid == b->uid &&
	       (a->uid != UINT32_MAX || !memcmp(a->address, b->address, sizeof(a->address)));
}

/* ---- the list ---- */

void visitors_add(struct visitors *all, struct visitor *v)
{
	v->next = all->first;
	all->first = v;
	all->count++;
}

void visitors_remove(struct visitors *all, struct visitor *v)
{
	struct visitor **at = &all->first;

	while (*at && *at != v)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = v->next;
	all->count -= !v->out;
}

void visitor_is(struct visitor *v, enum visitor_state state, int64_t now_ns)
{
	v->state = state;
	v->since_ns = now_ns;
}

static void hang_up(struct visitors *all, struct visitor *v)
{
	v->out = true;
	all->count--;
	shutdown(v->sock, SHUT_RDWR); /* libmicrohttpd finds out, and closes it */
}

unsigned visitors_like(const struct visitors *all, const struct visitor *v,
		       enum visitor_state state)
{
	unsigned count = 0;

	for (const struct visitor *o = all->first; o; o = o->next)
		count += !o->out && same_party(o, v) &&
			 (state == VISITOR_STATES || o->state == state);
	return count;
}

/* ---- who has to go ---- */

static struct visitor *choose(const struct visitors *all)
{
	const struct visitor *crowd = NULL;
	struct visitor *goes = NULL;
	unsigned most = 0;

	for (const struct visitor *v = all->first; v; v = v->next) {
		unsigned count = v->out ? 0 : visitors_like(all, v, VISITOR_STATES);

		if (count > most) {
			most = count;
			crowd = v;
		}
	}
	for (struct visitor *v = all->first; crowd && v; v = v->next)
		if (!v->out && same_party(v, crowd) &&
		    (!goes || v->state < goes->state ||
		     (v->state == goes->state && v->since_ns <= goes->since_ns)))
			goes = v;
	return goes;
}

void visitors_make_room(struct visitors *all, unsigned most)
{
	struct visitor *v;

	while (all->count > most && (v = choose(all)))
		hang_up(all, v);
}

void visitors_hurry(struct visitors *all, int64_t now_ns)
{
	for (struct visitor *v = all->first; v; v = v->next) {
		int64_t took_ns = now_ns - v->since_ns;

		if (!v->out && ((v->state == VISITOR_ASKS && took_ns > VISITOR_ASKS_NS) ||
				(v->state == VISITOR_ANSWERED && took_ns > VISITOR_ANSWER_NS)))
			hang_up(all, v);
	}
}
