/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user at the other end of a Unix socket, as the kernel reports it.
 *
 * A node checks the user of its client. A client checks the user of its node, because another user
 * may listen at the path of a dead node and would receive control lines and open descriptors. A
 * client trusts its own user, root, and the account that runs a layer for the whole site: the owner
 * of the socket's directory, if root owns the directory above and no other user can write to
 * either.
 *
 *	/run/sluice            root, 0755
 *	/run/sluice/default    sluice, 0755: processes of the account sluice are trusted
 */
#ifndef SL_BASE_PEER_H
#define SL_BASE_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#define SL_PEER_GROUPS 64 /* further groups are ignored */

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
