/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the daemons: listen, and connect to another daemon. */
#ifndef SL_BASE_LISTEN_H
#define SL_BASE_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>

/*
 * Listen at this path, for this user only; a socket left by a dead daemon is removed. Returns a
 * descriptor or a negative errno; -EADDRINUSE: another daemon lives.
 */
int listen_unix(const char *path);
/*
 * Listen at HOST:PORT, [HOST]:PORT or :PORT (all addresses of this machine); name: the resulting
 * address. Returns a descriptor or a negative errno.
 */
int listen_tcp(const char *address, char name[64]);
/* Whether another process uses that port. */
bool listen_tcp_taken(const char *address);
void listen_name(const struct sockaddr *a, socklen_t length, char name[64]);
/*
 * Connect to HOST:PORT, tcp:HOST:PORT or PATH, which has a slash or no colon. The socket blocks,
 * but connect and send fail with EAGAIN after a second. Returns a descriptor or a negative errno.
 */
int listen_dial(const char *address);
/* For TCP: the kernel detects within about ten seconds that the other machine is gone. */
void listen_keepalive(int sock);

#endif
