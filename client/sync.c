/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsync over TCP. What a node has taken may be in the memory of its machine. If the node has
 * another epoch afterwards, nobody knows whether that data survived, so the next fsync of the file
 * fails with EIO, once, as it does in the kernel for a disk that failed. A table remembers for each
 * file (by inode: descriptors come and go, and are duplicated) under which epoch it was written.
 * Example: 10 MB to inode 7 under epoch A: {7, A}. The node restarts, with epoch B. fsync: EIO,
 * and {7, A} is forgotten; write 1 MB: {7, B}; fsync: 0. Had the program written before it called
 * fsync, the entry would be {7, B, lost}. The table has WAYS places for each of SETS hash values;
 * if they do not suffice, it remembers that there was some file, and any that it does not know is
 * taken to be that one.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "client/tcp.h"

#define SETS 512 /* 2^9: find() takes 9 bits of the hash */
#define WAYS 4

/* ---- unsynced data ---- */

struct entry {
	uint64_t dev, ino, epoch; /* epoch 0: free */
	bool lost;		  /* some of it under an earlier epoch */
};

static struct entry table[SETS][WAYS];
static struct entry others; /* those that found no place */

static struct entry *find(const struct sl_remote *r, bool make)
{
	struct entry *set = table[(r->ino * UINT64_C(0x9e3779b97f4a7c15)) >> 55], *free = NULL;

	for (int i = 0; i < WAYS; i++) {
		if (set[i].epoch && set[i].ino == r->ino && set[i].dev == r->dev)
			return &set[i];
		if (!set[i].epoch)
			free = &set[i];
	}
	if (make && free) {
		free->dev = r->dev;
		free->ino = r->ino;
		return free;
	}
	return &others;
}

void sync_note_write(const struct sl_remote *r, uint64_t epoch)
{
	struct entry *u;

	if (r->open_flags & (O_SYNC | O_DSYNC))
		return;
	u = find(r, true);
	u->lost |= u->epoch && u->epoch != epoch;
	u->epoch = epoch;
}

static bool unsynced(const struct sl_remote *r)
{
	return find(r, false)->epoch != 0;
}

static bool lost(const struct sl_remote *r, uint64_t epoch)
{
	const struct entry *u = find(r, false);

	return u->epoch && (u->lost || u->epoch != epoch);
}

static void note_synced(const struct sl_remote *r)
{
	struct entry *u = find(r, false);

	if (u != &others)
		*u = (struct entry){ 0 };
}

/* ---- fsync ---- */

static int sync_once(struct conn *c, struct sl_remote *r, int fd, bool data_only)
{
	uint64_t file;
	sigset_t old;
	int rc = conn_open(c, r, fd, &file);

	if (rc == GONE || rc == AGAIN)
		return rc;
	conn_lock(&old);
	if (lost(r, c->epoch))
		rc = -EIO;
	else if (rc) /* the node does not take the file: nothing of it is there, or out of reach */
		rc = unsynced(r) ? -EIO : -ENOTCONN;
	else
		rc = !atomic_load(&c->lost) && conn_ours(c) ? tcp_sync(c, file, data_only) : GONE;
	if (rc == GONE)
		conn_lose(c);
	else
		note_synced(r);
	conn_unlock(&old);
	return rc;
}

int sl_client_fsync(struct sl_remote *r, int fd, bool data_only)
{
	int rc = GONE;

	if (!sl_client_far())
		return -ENOTCONN;
	while (rc == GONE || rc == AGAIN) {
		struct conn *c = conn_get(&rc);

		if (!c) {
			sigset_t old;

			conn_lock(&old);
			rc = lost(r, 0) ? -EIO : rc;
			note_synced(r);
			conn_unlock(&old);
			break;
		}
		rc = sync_once(c, r, fd, data_only);
		conn_put(c);
	}
	return rc;
}
