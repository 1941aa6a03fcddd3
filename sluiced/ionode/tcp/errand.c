/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests over TCP that may block but move no data: open, fsync and size. A few threads take them
 * from one queue, so that a slow file system delays neither the connections nor the workers; more
 * threads are started if none returns. The queue is as long as there are slots, so it needs no
 * limit.
 *
 * Opening. The path comes from a peer that may be hostile or merely wrong, so it is looked up
 * beneath the root (no "..", absolute path, or link leads out of it) and first opened as a place
 * (O_PATH), which touches nothing. Only if that is a regular file, and the one that the client
 * means (its inode), it is opened through that place with the flags asked for: no device or fifo
 * is ever opened, nothing is made or cut, and no rename in between can change what is opened.
 */
#include "sluiced/ionode/tcp/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define JOIN_S 5 /* for one that is in a file system */

static int open_beneath(const struct tcp *t, const char *path, uint64_t flags, uint64_t ino)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	char place[40];
	struct stat st;
	int at, fd;

	if (flags & ~(uint64_t)SL_OPEN_FLAGS || (flags & O_ACCMODE) == O_ACCMODE)
		return -EINVAL;
	do
		at = (int)syscall(SYS_openat2, t->root_fd, path, &how, sizeof(how));
	while (at < 0 && (errno == EAGAIN || errno == EINTR)); /* a rename in the way */
	if (at < 0)
		return -errno;
	if (fstat(at, &st))
		fd = -errno;
	else if (!S_ISREG(st.st_mode))
		fd = -EINVAL;
	else if (st.st_ino != ino)
		fd = -ESTALE;
	else {
		snprintf(place, sizeof(place), "/proc/self/fd/%d", at);
		fd = open(place, (int)flags | O_CLOEXEC | O_NOCTTY);
		fd = fd < 0 ? -errno : fd;
	}
	close(at);
	return fd;
}

static int64_t do_open(struct tcp *t, struct tcp_slot *s)
{
	char path[SL_PATH_BYTES];
	int fd;

	memcpy(path, s->buffer, s->f.length);
	path[s->f.length] = 0;
	if (strlen(path) != s->f.length)
		return -EINVAL;
	fd = open_beneath(t, path, s->f.count, s->f.offset);
	return fd < 0 ? fd : client_file_add(t->node, s->peer->client, fd, NULL);
}

/* The whole file system: what the client has written may be in files that it has closed. */
static int sync_all(const struct tcp *t)
{
	int fd = open(t->node->config->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || syncfs(fd) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

static void run(struct tcp *t, struct tcp_slot *s)
{
	struct node_file *file = NULL;
	struct stat st;

	if (s->f.type == SL_OPEN) {
		s->result = do_open(t, s);
	} else if (s->f.type == SL_FSYNC && !s->f.file) {
		s->result = sync_all(t);
	} else {
		file = &s->peer->client->files[s->f.file - 1];
		if (s->f.type == SL_SIZE)
			s->result = fstat(file->fd, &st) ? -errno : (int64_t)st.st_size;
		else
			s->result = (s->f.flags & SL_F_DATASYNC ? fdatasync : fsync)(file->fd)
					    ? -errno
					    : 0;
	}
	pthread_mutex_lock(&t->node->lock);
	if (file)
		client_file_put(t->node, file);
	tcp_done(s);
	node_unlock(t->node);
}

static void *errand_main(void *arg)
{
	struct tcp *t = arg;

	pthread_mutex_lock(&t->errand_lock);
	for (;;) {
		struct tcp_slot *s = t->errand;

		if (s) {
			t->errands_taken++;
			t->errand = s->next;
			if (!t->errand)
				t->errand_end = &t->errand;
			pthread_mutex_unlock(&t->errand_lock);
			run(t, s);
			pthread_mutex_lock(&t->errand_lock);
		} else if (t->errand_stop) {
			break;
		} else {
			pthread_cond_wait(&t->errand_some, &t->errand_lock);
		}
	}
	pthread_mutex_unlock(&t->errand_lock);
	return NULL;
}

void tcp_errand(struct tcp *t, struct tcp_slot *s)
{
	s->where = TCP_ERRAND;
	s->next = NULL;
	pthread_mutex_lock(&t->errand_lock);
	*t->errand_end = s;
	t->errand_end = &s->next;
	pthread_cond_signal(&t->errand_some);
	pthread_mutex_unlock(&t->errand_lock);
}

static int add_thread(struct tcp *t)
{
	int rc = pthread_create(&t->errand_thread[t->errands], NULL, errand_main, t);

	t->errands += !rc;
	return -rc;
}

int tcp_errands_start(struct tcp *t)
{
	int rc = 0;

	t->errand_end = &t->errand;
	pthread_mutex_init(&t->errand_lock, NULL);
	pthread_cond_init(&t->errand_some, NULL);
	while (!rc && t->errands < TCP_ERRANDS)
		rc = add_thread(t);
	return rc;
}

/* Some wait, and none was taken for a second: all threads are stuck in a file system. */
void tcp_errands_tick(struct tcp *t)
{
	bool all_stuck;

	pthread_mutex_lock(&t->errand_lock);
	all_stuck = t->errand && t->errands_taken == t->errands_seen;
	t->errands_seen = t->errands_taken;
	pthread_mutex_unlock(&t->errand_lock);
	for (int i = 0; all_stuck && i < TCP_ERRANDS && t->errands < TCP_ERRANDS_MAX; i++)
		if (add_thread(t))
			return;
}

void tcp_errands_stop(struct tcp *t)
{
	struct timespec end;

	pthread_mutex_lock(&t->errand_lock);
	t->errand_stop = true;
	pthread_cond_broadcast(&t->errand_some);
	pthread_mutex_unlock(&t->errand_lock);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += JOIN_S;
	for (uint32_t i = 0; i < t->errands; i++)
		pthread_timedjoin_np(t->errand_thread[i], NULL, &end);
}
