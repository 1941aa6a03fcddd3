/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsync over TCP. What a node has taken may be in the memory of its machine. If the node has
 * another epoch afterwards, that data may be lost. So the next fsync of the file fails with EIO,
 * once, as it does in the kernel after a disk error. A table remembers for each file (by inode:
 * descriptors come and go, and are duplicated) under which epoch it was written. Example: 10 MB
 * to inode 7 under epoch A: {7, A}. The node restarts, with epoch B. fsync: EIO, and {7, A} is
 * forgotten; write 1 MB: {7, B}; fsync: 0. Had the program written before it called fsync, the
 * entry would be {7, B, lost}.
 *
 * The table has WAYS places for each of SETS hash values, and is followed by others of its kind
 * when these do not suffice: 2048 files each, up to TABLES. Only programs such as unpackers of
 * archives leave so many files unsynced. When the table is full, each write of a further file is
 * synced at once: slow, but correct.
 *
 * syncfs() and sync() have the node sync its whole file system. syncfs() reports lost data once,
 * too, and fsync() of the file still reports it, as in the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "client/conn/tcp.h"

#define SETS   512 /* 2^9: find() takes 9 bits of the hash */
#define WAYS   4
#define TABLES 64

/* ---- unsynced data ---- */

struct entry {
	uint64_t dev, ino, epoch; /* epoch 0: free */
	bool lost;		  /* some of it under an earlier epoch */
	bool told;		  /* by syncfs() */
};

struct table {
	struct entry set[SETS][WAYS];
	struct table *next;
};

static struct table first;

/* The entry of the file, or NULL; or a free one for it, or NULL if there is no place. */
static struct entry *find(const struct sl_remote *r, bool make)
{
	uint64_t hash = (r->ino * UINT64_C(0x9e3779b97f4a7c15)) >> 55;
	struct entry *free = NULL;
	struct table *last = NULL;
	int count = 0;

	for (struct table *t = &first; t; last = t, t = t->next, count++)
		for (struct entry *e = t->set[hash]; e < t->set[hash] + WAYS; e++) {
			if (e->epoch && e->ino == r->ino && e->dev == r->dev)
				return e;
			if (!e->epoch && !free)
				free = e;
		}
	if (make && !free && count < TABLES) {
		struct table *more = mmap(NULL, sizeof(*more), PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (more != MAP_FAILED) {
			last->next = more;
			free = more->set[hash];
		}
	}
	if (!make || !free)
		return NULL;
	free->dev = r->dev;
	free->ino = r->ino;
	return free;
}

bool sync_note_write(const struct sl_remote *r, uint64_t epoch)
{
	struct entry *u;

	if (r->open_flags & (O_SYNC | O_DSYNC))
		return true;
	u = find(r, true);
	if (!u)
		return false;
	u->lost = u->epoch && (u->lost || u->epoch != epoch);
	u->epoch = epoch;
	return true;
}

static bool unsynced(const struct sl_remote *r)
{
	return find(r, false) != NULL;
}

static bool lost(const struct sl_remote *r, uint64_t epoch)
{
	const struct entry *u = find(r, false);

	return u && (u->lost || u->epoch != epoch);
}

static void note_synced(const struct sl_remote *r)
{
	struct entry *u = find(r, false);

	if (u)
		*u = (struct entry){ 0 };
}

/* Calls f for all entries: whether it was true for any. */
static bool any(bool (*f)(struct entry *e, uint64_t epoch), uint64_t epoch)
{
	bool some = false;

	for (struct table *t = &first; t; t = t->next)
		for (int i = 0; i < SETS * WAYS; i++)
			some |= f(&t->set[i / WAYS][i % WAYS], epoch);
	return some;
}

/* This node has all of it. */
static bool held(struct entry *e, uint64_t epoch)
{
	return e->epoch == epoch && !e->lost;
}

static bool forget(struct entry *e, uint64_t epoch)
{
	bool had = held(e, epoch);

	if (had)
		*e = (struct entry){ 0 };
	return had;
}

/* The data is lost, and no call has reported it yet. */
static bool tell(struct entry *e, uint64_t epoch)
{
	bool news = e->epoch && !held(e, epoch) && !e->told;

	e->told |= news;
	return news;
}

void sync_leave(struct conn *c)
{
	/* If that fails, the entries stay, and fsync() of these files reports it. */
	if (any(held, c->epoch) && !tcp_sync(c, 0, false))
		any(forget, c->epoch);
}

/* ---- fsync ---- */

struct sync_call {
	struct sl_remote *r;
	int fd;
	bool data_only;
};

static int sync_once(struct conn *c, int error, void *arg)
{
	const struct sync_call *s = arg;
	uint64_t file = 0;
	sigset_t old;
	int rc = c ? conn_open(c, s->r, s->fd, &file) : error;

	if (rc == GONE || rc == AGAIN)
		return rc;
	conn_lock(&old);
	if (c && atomic_load(&c->left)) { /* the table is about the next node by now */
		rc = AGAIN;
	} else {
		if (lost(s->r, c ? c->epoch : 0))
			rc = -EIO;
		else if (rc && c) /* refused: not there, or outside the root */
			rc = unsynced(s->r) ? -EIO : -ENOTCONN;
		else if (c)
			rc = tcp_sync(c, file, s->data_only);
		if (rc != GONE)
			note_synced(s->r);
	}
	conn_unlock(&old);
	return rc;
}

int sl_client_fsync(struct sl_remote *r, int fd, bool data_only)
{
	if (!sl_client_far())
		return -ENOTCONN;
	return conn_with(sync_once, &(struct sync_call){ r, fd, data_only });
}

static int sync_all_once(struct conn *c, int error, void *arg)
{
	sigset_t old;
	int rc;

	(void)arg;
	conn_lock(&old);
	if (c && atomic_load(&c->left))
		rc = AGAIN;
	else
		rc = c ? tcp_sync(c, 0, false) : error;
	if (c && !rc)
		any(forget, c->epoch);
	if (rc != GONE && rc != AGAIN && any(tell, c ? c->epoch : 0))
		rc = -EIO;
	conn_unlock(&old);
	return rc;
}

int sl_client_sync(void)
{
	return sl_client_far() ? conn_with(sync_all_once, NULL) : -ENOTCONN;
}
