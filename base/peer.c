/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers of Unix sockets: see peer.h. Used inside other people's programs too, so it makes system
 * calls and uses no symbol of a glibc newer than 2.28.
 */
#include "base/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

int sl_peer_of(int sock, struct sl_peer *p)
{
	socklen_t length = sizeof(struct ucred), groups = sizeof(p->group);
	struct ucred cred;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &length))
		return -errno;
	*p = (struct sl_peer){ .uid = cred.uid, .gid = cred.gid, .pid = cred.pid };
	/* Linux 4.13. A process with more groups than fit is known by its first one. */
	if (getsockopt(sock, SOL_SOCKET, SO_PEERGROUPS, p->group, &groups) == 0)
		p->groups = groups / sizeof(gid_t);
	return 0;
}

bool sl_peer_in(const struct sl_peer *p, gid_t group)
{
	if (p->gid == group)
		return true;
	for (unsigned i = 0; i < p->groups; i++)
		if (p->group[i] == group)
			return true;
	return false;
}

/* The owner of a directory that nobody else can write to. */
static bool owner_of(const char *path, uid_t *owner)
{
	struct statx sx;

	if (syscall(SYS_statx, AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW,
		    STATX_TYPE | STATX_MODE | STATX_UID, &sx) ||
	    (sx.stx_mode & 0170000) != 0040000 || sx.stx_mode & 022)
		return false;
	*owner = sx.stx_uid;
	return true;
}

static bool cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = 0;
	return true;
}

int sl_peer_trust(int sock, const char *path)
{
	socklen_t length = sizeof(struct ucred);
	struct ucred cred;
	char dir[256];
	uid_t owner, above;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &length))
		return -errno;
	if (cred.uid == geteuid() || cred.uid == 0)
		return 0;
	if (strlen(path) >= sizeof(dir) || path[0] != '/')
		return -EPERM;
	strcpy(dir, path);
	if (!cut_last(dir) || !owner_of(dir, &owner) || owner != cred.uid || !cut_last(dir) ||
	    !owner_of(dir, &above) || above != 0)
		return -EPERM;
	return 0;
}
