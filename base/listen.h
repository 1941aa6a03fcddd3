/* SPDX-License-Identifier: Apache-2.0 */
/* Where a daemon listens, and how it finds another one. */
#ifndef SL_BASE_LISTEN_H
#define SL_BASE_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>

/*
 * A socket that listens at this path, for this user alone; what a daemon that died has left there
 * is removed. Or negative errno; -EADDRINUSE: another one lives.
 */
int listen_unix(const char *path);
/*
 * At HOST:PORT, [HOST]:PORT or :PORT, which is every address of this machine; name: the address as
 * it is. Or negative errno.
 */
int listen_tcp(const char *address, char name[64]);
/* Whether somebody else has that port. */
bool listen_tcp_taken(const char *address);
void listen_name(const struct sockaddr *a, socklen_t length, char name[64]);
/*
 * A connection to HOST:PORT, tcp:HOST:PORT or PATH, which has a slash or no colon; blocking, but
 * neither connecting nor sending waits for longer than a second: then it fails with EAGAIN. Or
 * negative errno.
 */
int listen_dial(const char *address);
/* Over TCP: the kernel finds out that the other machine is gone, within about ten seconds. */
void listen_keepalive(int sock);

#endif
