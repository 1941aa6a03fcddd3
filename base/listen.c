/* SPDX-License-Identifier: Apache-2.0 */
/* Listening and connecting: see listen.h. */
#include "base/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/peer.h"

static int unix_address(const char *path, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	strcpy(addr->sun_path, path);
	return 0;
}

int listen_unix(const char *path)
{
	struct sockaddr_un addr;
	int sock, rc = unix_address(path, &addr);
	struct stat st;
	mode_t old;

	if (rc)
		return rc;
	if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return -EEXIST; /* not a socket, so not left by a daemon */
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return -errno;
	/*
	 * Only a refused connection means that the daemon has died; a full queue means that it
	 * lives.
	 */
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) == 0 ||
	    (errno != ECONNREFUSED && errno != ENOENT)) {
		close(sock);
		return -EADDRINUSE;
	}
	unlink(path);
	old = umask(0077);
	rc = bind(sock, (struct sockaddr *)&addr, sizeof(addr)) || listen(sock, 1024) ? -errno : 0;
	umask(old);
	if (!rc)
		return sock;
	close(sock);
	return rc;
}

static int resolve(const char *text, int flags, struct addrinfo **out)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };
	const char *colon = strrchr(text, ':');
	char host[256];
	size_t length;

	if (!colon || !colon[1])
		return -EINVAL;
	length = (size_t)(colon - text);
	if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	}
	if (length >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, length);
	host[length] = 0;
	return getaddrinfo(length ? host : NULL, colon + 1, &hints, out) ? -EADDRNOTAVAIL : 0;
}

void listen_name(const struct sockaddr *a, socklen_t length, char name[64])
{
	char host[46], port[8];

	if (getnameinfo(a, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(name, 64, "unknown");
	else /* NOLINTNEXTLINE(clang-analyzer-core.*): getnameinfo() has read it, too */
		snprintf(name, 64, a->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static int bind_tcp(const char *address)
{
	struct addrinfo *info = NULL;
	int sock, rc = resolve(address, AI_PASSIVE, &info);

	if (rc)
		return rc;
	sock = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = -errno;
	if (sock >= 0) {
		setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
		rc = bind(sock, info->ai_addr, info->ai_addrlen) ? -errno : 0;
	}
	freeaddrinfo(info);
	if (!rc)
		return sock;
	if (sock >= 0)
		close(sock);
	return rc;
}

int listen_tcp(const char *address, char name[64])
{
	struct sockaddr_storage at;
	socklen_t length = sizeof(at);
	int sock = bind_tcp(address), rc;

	if (sock < 0)
		return sock;
	rc = listen(sock, 1024) || getsockname(sock, (struct sockaddr *)&at, &length) ? -errno : 0;
	if (!rc) {
		listen_name((struct sockaddr *)&at, length, name);
		return sock;
	}
	close(sock);
	return rc;
}

bool listen_tcp_taken(const char *address)
{
	int sock = bind_tcp(address);

	if (sock >= 0)
		close(sock);
	return sock == -EADDRINUSE;
}

void listen_keepalive(int sock)
{
	const int on = 1, idle_s = 4, every_s = 2, times = 3;

	/* Fails on Unix sockets, which do not need it. */
	setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
	setsockopt(sock, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

/* Also for connect(2): see socket(7). */
static int patient_socket(int family)
{
	const struct timeval second = { .tv_sec = 1 };
	int sock = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (sock >= 0)
		setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
	return sock;
}

int listen_dial(const char *address)
{
	static const char prefix[] = "tcp:";
	bool tcp = !strncmp(address, prefix, sizeof(prefix) - 1);
	struct addrinfo *info = NULL;
	struct sockaddr_un addr;
	int sock, rc;

	if (tcp)
		address += sizeof(prefix) - 1;
	if (!tcp && (strchr(address, '/') || !strchr(address, ':'))) {
		rc = unix_address(address, &addr);
		if (rc)
			return rc;
		sock = patient_socket(AF_UNIX);
		if (sock >= 0 && connect(sock, (struct sockaddr *)&addr, sizeof(addr)) == 0) {
			rc = sl_peer_trust(sock, address);
			if (rc)
				close(sock);
			return rc ? rc : sock;
		}
	} else {
		rc = resolve(address, 0, &info);
		if (rc)
			return rc;
		sock = patient_socket(info->ai_family);
		rc = sock < 0 ? -1 : connect(sock, info->ai_addr, info->ai_addrlen);
		freeaddrinfo(info);
		if (!rc)
			return sock;
	}
	rc = -errno;
	if (sock >= 0)
		close(sock);
	return rc;
}
