/* SPDX-License-Identifier: Apache-2.0 */
/* Clients over TCP: where the node listens, start and end of the thread. */
#include "sluiced/ionode/tcp/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/log.h"

#define PAUSE_MS 1000 /* at most, until it is quiet */

static int add(struct tcp *t, int *fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = fd };

	return epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, *fd, &ev) ? -errno : 0;
}

static int make_buffers(struct tcp *t)
{
	t->memory = mmap(NULL, (size_t)TCP_BUFFERS * SL_TCP_DATA_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->memory == MAP_FAILED)
		return -errno;
	while (t->buffers < TCP_BUFFERS) {
		t->buffer[t->buffers] = t->memory + (size_t)t->buffers * SL_TCP_DATA_BYTES;
		t->buffers++;
	}
	return 0;
}

static int start(struct tcp *t)
{
	int rc;

	t->root_fd = open(t->node->config->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	t->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->root_fd < 0 || t->event_fd < 0 || t->epoll_fd < 0)
		return -errno;
	if ((rc = make_buffers(t)) || (rc = add(t, &t->listen_fd)) || (rc = add(t, &t->event_fd)) ||
	    (rc = tcp_errands_start(t)))
		return rc;
	return -pthread_create(&t->thread, NULL, tcp_main, t);
}

/* Who listens at every address is found by the name of the machine. */
static void reachable(const char *name, char *out, size_t size)
{
	bool any = !strncmp(name, "0.0.0.0:", 8) || !strncmp(name, "[::]:", 5);
	char host[65] = "";

	if (any && gethostname(host, sizeof(host) - 1) == 0 && host[0])
		snprintf(out, size, "%s%s", host, strrchr(name, ':'));
	else
		snprintf(out, size, "%s", name);
}

int tcp_start(struct node *n)
{
	const struct sl_daemon *d = &n->config->daemon;
	struct tcp *t;
	char name[64] = "";
	int rc;

	if (!d->listen)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->node = n;
	t->reading = true;
	sl_list_init(&t->strangers);
	sl_list_init(&t->peers);
	sl_list_init(&t->waiting);
	rc = sl_daemon_secret(d, t->secret);
	if (rc) {
		free(t);
		return rc;
	}
	t->listen_fd = listen_tcp(d->listen, name);
	rc = t->listen_fd < 0 ? t->listen_fd : start(t);
	if (rc)
		return sl_daemon_deaf(d->listen, rc);
	reachable(name, t->name, sizeof(t->name));
	n->tcp = t;
	log_info("tcp=%s listening", name);
	return 0;
}

static void wake(struct tcp *t)
{
	const uint64_t one = 1;

	if (write(t->event_fd, &one, sizeof(one)) < 0)
		log_error("tcp: %s", strerror(errno));
}

void tcp_pause(struct node *n)
{
	if (!n->tcp)
		return;
	atomic_store(&n->tcp->pause, true);
	wake(n->tcp);
	for (int i = 0; i < PAUSE_MS && !atomic_load(&n->tcp->quiet); i++)
		usleep(1000);
}

void tcp_stop(struct node *n)
{
	if (!n->tcp)
		return;
	tcp_errands_stop(n->tcp);
	atomic_store(&n->tcp->stop, true);
	wake(n->tcp);
	pthread_join(n->tcp->thread, NULL);
}
