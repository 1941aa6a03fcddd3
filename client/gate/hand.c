/* SPDX-License-Identifier: Apache-2.0 */
/* Handing a filter's listener over to its keeper, by a pair of sockets. */
#include "client/gate/hand.h"

#include <string.h>
#include <sys/socket.h>

int gate_receive(int sock)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *h;
	int listener;

	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) != 1 || !(h = CMSG_FIRSTHDR(&m)))
		return -1;
	memcpy(&listener, CMSG_DATA(h), sizeof(listener));
	return listener;
}

static bool send_listener(int sock, int listener)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	char byte = 'l';
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &listener, sizeof(listener));
	return sendmsg(sock, &m, MSG_NOSIGNAL) == 1;
}

bool gate_ready(int sock)
{
	char byte;

	return recv(sock, &byte, 1, 0) == 1;
}

bool gate_hand_over(int sock, int listener)
{
	return send_listener(sock, listener) && gate_ready(sock);
}
