/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user at the other end of a Unix socket, as the kernel reports it.
 *
 * A node asks who its client is. A client asks who its node is: another user may listen where a
 * node was, and would receive control lines and open descriptors. A client trusts itself, root,
 * and the account that runs a layer for the whole site: that is the owner of the socket's
 * directory, if the directory above belongs to root and nobody else can write to either.
 *
 *	/run/sluice            root, 0755
 *	/run/sluice/default    sluice, 0755: processes of the account sluice are trusted
 */
#ifndef SL_BASE_PEER_H
#define SL_BASE_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#define SL_PEER_GROUPS 64 /* further ones are not looked at */

struct sl_peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	gid_t group[SL_PEER_GROUPS];
	unsigned groups;
};

/* 0 or -errno. */
int sl_peer_of(int sock, struct sl_peer *p);
bool sl_peer_in(const struct sl_peer *p, gid_t group);
/* Client: whether the process that listens at `path` is to be trusted. 0, -EPERM or -errno. */
int sl_peer_trust(int sock, const char *path);

#endif
