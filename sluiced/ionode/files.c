/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that clients have open at the node, and the threads that close them.
 *
 * close() may take long: a network file system writes back dirty data, a local one frees the blocks
 * of a large deleted file. No thread that others depend on may wait for it, so a few threads only
 * close files, one after the other, or all files of a departed client. A client's socket is closed
 * last: when the client sees that, the node has no file of it any more, and none of its requests
 * can still be executed.
 *
 * A client that closes a file expects that it is closed then: its flock() is gone, and what was
 * written can be executed. So its next frames are not looked at before (client_closing()). That way
 * costs two switches; a file that is closed quickly goes without: one that has a name, or is
 * small, on a device with a local file system. Those who close find out which devices these are.
 *
 * Descriptors are bounded (RLIMIT_NOFILE). A quarter of them is for sockets and for the node
 * itself. Of the rest a client may have as many as are free: the dynamic threshold of tcp.c, with
 * factor 1. Of 3000 one alone gets 1500, a second one 750, and there is always room for one more.
 * If a client is refused, it makes its calls itself.
 *
 * All of it is O(1) for a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/ds/siphash.h"
#include "base/log.h"
#include "sluiced/ionode/fence.h"

#define CLOSERS	    4
#define CLOSERS_MAX 64 /* if some do not come back */
#define DEVICES	    16
#define SMALL_512   32768 /* blocks of 512 bytes that are freed quickly */
#define ZFS_MAGIC   0x2fc12fc1

struct closer {
	pthread_cond_t some; /* with the node's lock */
	struct node_file *dying, **dying_end;
	struct client *gone;
	uint64_t quick[DEVICES]; /* devices, 0: none */
	uint32_t quick_next;
	uint32_t files, files_max; /* open of all clients */
	uint32_t closers;
	uint64_t taken, seen; /* work that was, and at the last tick */
};

/* ---- a client's files; the lock is held where nothing else is said ---- */

void client_free(struct client *c)
{
	for (uint32_t i = 0; i < c->files_used; i++)
		if (c->files[i].fd >= 0)
			close(c->files[i].fd);
	if (c->segment != MAP_FAILED && c->segment)
		munmap(c->segment, SL_SEGMENT_BYTES);
	munmap(c->files, NODE_FILES * sizeof(struct node_file));
	if (c->sock >= 0)
		close(c->sock);
	free(c);
}

struct client *client_alloc(uint32_t pid)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->pid = pid;
	c->sock = -1;
	atomic_store(&c->lease, FENCE_ALWAYS);
	c->files = mmap(NULL, NODE_FILES * sizeof(struct node_file), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c->files != MAP_FAILED)
		return c;
	free(c);
	return NULL;
}

static struct node_file *file_take(struct node *n, struct client *c)
{
	struct closer *closer = n->closer;
	struct node_file *f = c->files_free;

	if (closer->files >= closer->files_max ||
	    c->files_open >= closer->files_max - closer->files ||
	    (!f && c->files_used == NODE_FILES))
		return NULL;
	if (f)
		c->files_free = f->next;
	else
		f = &c->files[c->files_used++];
	c->files_open++;
	closer->files++;
	return f;
}

/* Close its descriptor, or pass it to a thread that will close it. */
static void file_free(struct node *n, struct node_file *f)
{
	struct client *c = f->owner;

	f->fd = -1;
	f->next = c->files_free;
	c->files_free = f;
	c->files_open--;
	n->closer->files--;
}

/* Equal numbers of inodes are two files to the scheduler if their handles differ. */
static uint64_t file_number(const struct node_file *f)
{
	static const uint64_t key[2] = { 0 };
	uint64_t number = f->ino ^ (f->dev * UINT64_C(0x9e3779b97f4a7c15));

	return f->handle_bytes ? number ^ sl_siphash(key, f->handle, f->handle_bytes) : number;
}

/* Whether it is the file that the client meant: its descriptor may have become another file. */
static bool is_claimed(const struct node_file *f, int flags, const struct sl_frame *open)
{
	return f->dev == open->file && f->ino == open->offset &&
	       !(((uint64_t)flags ^ open->count) & (O_ACCMODE | O_APPEND));
}

/* A handle that is equal only for the same file: see exec.c. */
static void take_handle(int fd, struct node_file *out)
{
	struct {
		struct file_handle head;
		unsigned char bytes[NODE_HANDLE_BYTES];
	} h = { .head.handle_bytes = NODE_HANDLE_BYTES };
	int mount;

	if (name_to_handle_at(fd, "", &h.head, &mount, AT_EMPTY_PATH))
		return;
	out->handle_type = h.head.handle_type;
	out->handle_bytes = h.head.handle_bytes;
	memcpy(out->handle, h.head.f_handle, h.head.handle_bytes);
}

/* Attributes that the kernel knows without asking a server: this must not block. */
static int examine(int fd, int *flags, struct node_file *out)
{
	struct statx st;

	*flags = fcntl(fd, F_GETFL);
	if (*flags < 0 || *flags & O_PATH ||
	    statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) ||
	    !S_ISREG(st.stx_mode))
		return -EINVAL;
	*out = (struct node_file){
		.fd = fd,
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.ino = st.stx_ino,
		.reads = (*flags & O_ACCMODE) != O_WRONLY,
		.writes = (*flags & O_ACCMODE) != O_RDONLY,
		.flags = (uint32_t)*flags & (O_DIRECT | O_SYNC | O_DSYNC | O_APPEND),
	};
	take_handle(fd, out);
	out->id = file_number(out);
	return 0;
}

int64_t client_file_add(struct node *n, struct client *c, int fd, const struct sl_frame *open)
{
	struct node_file new, *f = NULL;
	int flags, rc = examine(fd, &flags, &new);

	if (!rc && open && !is_claimed(&new, flags, open))
		rc = -ESTALE;
	if (!rc) {
		pthread_mutex_lock(&n->lock);
		f = file_take(n, c);
		if (f) {
			*f = new;
			f->owner = c;
		}
		pthread_mutex_unlock(&n->lock);
	}
	if (f)
		return f - c->files + 1;
	close(fd);
	return rc ? rc : -EMFILE;
}

/* ---- closing ---- */

static bool is_known(const struct closer *closer, uint64_t dev)
{
	for (uint32_t i = 0; i < DEVICES; i++)
		if (closer->quick[i] == dev)
			return true;
	return false;
}

static bool is_quick(const struct closer *closer, const struct node_file *f)
{
	struct statx st;

	return is_known(closer, f->dev) &&
	       statx(f->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_NLINK | STATX_BLOCKS,
		     &st) == 0 &&
	       (st.stx_nlink || st.stx_blocks < SMALL_512);
}

/* No lock is held. */
static bool is_local(int fd)
{
	static const uint32_t local[] = { EXT4_SUPER_MAGIC,	 XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
					  F2FS_SUPER_MAGIC,	 TMPFS_MAGIC,	  RAMFS_MAGIC,
					  OVERLAYFS_SUPER_MAGIC, ZFS_MAGIC };
	struct statfs st;

	if (fstatfs(fd, &st))
		return false;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		if ((uint32_t)st.f_type == local[i])
			return true;
	return false;
}

struct node_file *client_file(const struct client *c, uint64_t ref)
{
	struct node_file *f = ref > 0 && ref <= c->files_used ? &c->files[ref - 1] : NULL;

	return f && f->fd >= 0 && !f->closing ? f : NULL;
}

void client_file_put(struct node *n, struct node_file *f)
{
	struct closer *closer = n->closer;

	if (--f->busy || !f->closing)
		return;
	f->next = NULL;
	*closer->dying_end = f;
	closer->dying_end = &f->next;
	f->owner->busy++; /* as long as it is there */
	f->owner->dying++;
	pthread_cond_signal(&closer->some);
}

void client_file_close(struct node *n, struct client *c, uint64_t ref)
{
	struct node_file *f;
	int fd = -1;

	pthread_mutex_lock(&n->lock);
	node_collect(n, node_now()); /* account for the client's own calls */
	f = client_file(c, ref);
	if (f) {
		f->closing = true;
		if (!f->busy && is_quick(n->closer, f)) {
			fd = f->fd;
			file_free(n, f);
		} else {
			f->busy++;
			client_file_put(n, f);
		}
	}
	node_unlock(n);
	if (fd >= 0)
		close(fd);
}

bool client_closing(const struct client *c)
{
	return atomic_load(&c->dying);
}

void client_release(struct node *n, struct client *c)
{
	if (c->segment)
		atomic_store(&n->client[c->index], NULL);
	node_job_phase(n, c, false);
	node_job_leave(n, c->job);
	c->next_gone = n->closer->gone;
	n->closer->gone = c;
	pthread_cond_signal(&n->closer->some);
}

/* The lock is held, but not while closing. */
static void close_one(struct node *n, struct node_file *f)
{
	struct closer *closer = n->closer;
	struct client *c = f->owner;
	const uint64_t one = 1;
	bool local;

	closer->dying = f->next;
	if (!closer->dying)
		closer->dying_end = &closer->dying;
	pthread_mutex_unlock(&n->lock);
	local = is_local(f->fd);
	close(f->fd);
	pthread_mutex_lock(&n->lock);
	if (local && !is_known(closer, f->dev))
		closer->quick[closer->quick_next++ % DEVICES] = f->dev;
	file_free(n, f);
	if (--c->dying == 0 && c->segment && write(n->closed_fd, &one, sizeof(one)) < 0)
		log_error("cannot tell that a file is closed: %s", strerror(errno));
	if (--c->busy == 0 && c->gone)
		client_release(n, c);
}

static void close_all(struct node *n, struct client *c)
{
	uint32_t files = c->files_open;

	n->closer->gone = c->next_gone;
	pthread_mutex_unlock(&n->lock);
	ring_forget(n, c);
	client_free(c);
	pthread_mutex_lock(&n->lock);
	n->closer->files -= files;
}

static void *files_main(void *arg)
{
	struct node *n = arg;

	pthread_mutex_lock(&n->lock);
	for (;;) {
		n->closer->taken++;
		if (n->closer->dying)
			close_one(n, n->closer->dying);
		else if (n->closer->gone)
			close_all(n, n->closer->gone);
		else
			pthread_cond_wait(&n->closer->some, &n->lock);
	}
	return NULL;
}

static int add_closer(struct node *n)
{
	pthread_t thread;
	int rc = pthread_create(&thread, NULL, files_main, n);

	if (rc)
		return -rc;
	pthread_detach(thread); /* it may be in a close() that does not return */
	n->closer->closers++;
	return 0;
}

/* Files wait to be closed, and no thread has taken one for a second: all are stuck. */
void files_tick(struct node *n)
{
	struct closer *closer = n->closer;
	bool all_stuck;

	pthread_mutex_lock(&n->lock);
	all_stuck = (closer->dying || closer->gone) && closer->taken == closer->seen &&
		    closer->closers < CLOSERS_MAX;
	closer->seen = closer->taken;
	pthread_mutex_unlock(&n->lock);
	for (int i = 0; all_stuck && i < CLOSERS; i++)
		if (add_closer(n))
			return;
}

int files_start(struct node *n)
{
	struct closer *closer = calloc(1, sizeof(*closer));
	struct rlimit l = { 1024, 1024 };

	if (!closer)
		return -ENOMEM;
	pthread_cond_init(&closer->some, NULL);
	closer->dying_end = &closer->dying;
	getrlimit(RLIMIT_NOFILE, &l);
	if (l.rlim_cur > UINT32_MAX)
		l.rlim_cur = UINT32_MAX;
	closer->files_max = (uint32_t)(l.rlim_cur - l.rlim_cur / 4);
	n->closer = closer;
	n->closed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (n->closed_fd < 0)
		return -errno;
	for (int i = 0; i < CLOSERS; i++) {
		int rc = add_closer(n);

		if (rc)
			return rc;
	}
	return 0;
}
