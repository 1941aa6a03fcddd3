/* SPDX-License-Identifier: Apache-2.0 */
/* See sensor-source.h. */
#include "sluiced/ionode/sensor-source.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sluiced/ionode/sensor.h"

#define READ_MOST (1 << 20)
#define READ_MS	  1000
#define OLD_MS	  1500 /* how long a number is valid */
#define ASK_MS	  300  /* time between an answer and the next query */

struct sensor_asker {
	char *source;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock: */
	unsigned owners; /* the thread, and whoever has started it */
	bool stopped;
	pid_t pid; /* of the command that runs, which leads a group; or not above 0 */
	int rc;	   /* of the last answer, which came then: */
	double number;
	int64_t at_ms;
};

/* Read until the end, or until the time is over. */
static int read_all(int fd, char *text, int64_t until_ms)
{
	size_t have = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = until_ms - sl_clock_ms();
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			return -ETIMEDOUT;
		n = read(fd, text + have, READ_MOST - have);
		if (n < 0)
			return -errno;
		have += (size_t)n;
		text[have] = 0;
		if (n == 0 || have == READ_MOST)
			return 0;
	}
}

/* Run it in its own process group, which is killed if it takes too long. */
static int read_command(struct sensor_asker *a, const char *command, char *text)
{
	int out[2], rc;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	pthread_mutex_lock(&a->lock);
	a->pid = pid = a->stopped ? -1 : fork();
	if (pid > 0)
		setpgid(pid, pid); /* both do it: neither need wait for the other */
	pthread_mutex_unlock(&a->lock);
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		sigset_t none;

		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a node that is killed leaves none behind */
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (dup2(null, 0) < 0 || dup2(out[1], 1) < 0 || dup2(null, 2) < 0)
			_exit(127);
		close_range(3, ~0U, 0);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(out[1]);
	rc = pid < 0 ? -EAGAIN : read_all(out[0], text, sl_clock_ms() + READ_MS);
	close(out[0]);
	if (pid > 0) {
		kill(-pid, SIGKILL); /* not waited for yet, so the pid is still valid */
		pthread_mutex_lock(&a->lock);
		a->pid = 0;
		pthread_mutex_unlock(&a->lock);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return rc;
}

static int dial(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all, *a;
	struct timeval limit = { READ_MS / 1000, 0 };
	int fd = -1;

	if (getaddrinfo(host, port, &hints, &all))
		return -EHOSTUNREACH;
	for (a = all; a; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit,
			   sizeof(limit)); /* of connect(), too */
		if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
			break;
		close(fd);
		fd = -1;
	}
	freeaddrinfo(all);
	return fd < 0 ? -ECONNREFUSED : fd;
}

/* http://HOST[:PORT]/PATH#METRIC */
static int read_http(const char *url, char *text, double *out)
{
	char host[256], port[8] = "80", path[1024], metric[256], request[1600];
	const char *body;
	int fd, rc = -EIO, n, code;

	if (sscanf(url, "http://%255[^:/]:%7[0-9]/%1023[^#]#%255[^\n]", host, port, path, metric) !=
		    4 &&
	    sscanf(url, "http://%255[^:/]/%1023[^#]#%255[^\n]", host, path, metric) != 3)
		return -EINVAL;
	fd = dial(host, port);
	if (fd < 0)
		return fd;
	n = snprintf(request, sizeof(request),
		     "GET /%s HTTP/1.0\r\nHost: %s\r\nAccept: text/plain\r\n\r\n", path, host);
	if (send(fd, request, (size_t)n, MSG_NOSIGNAL) == n)
		rc = read_all(fd, text, sl_clock_ms() + READ_MS);
	close(fd);
	body = strstr(text, "\r\n\r\n");
	if (rc || !body || sscanf(text, "HTTP/%*d.%*d %3d ", &code) != 1 || code != 200)
		return rc ? rc : -EIO;
	return sensor_parse_prometheus(body + 4, metric, out);
}

/* ---- asking ---- */

static int ask(struct sensor_asker *a, char *text, double *number)
{
	int rc, fd;

	*text = 0;
	if (!strncmp(a->source, "http://", 7))
		return read_http(a->source, text, number);
	if (!strncmp(a->source, "command:", 8)) {
		rc = read_command(a, a->source + 8, text);
	} else {
		fd = open(a->source + 5, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		rc = fd < 0 ? -errno : read_all(fd, text, sl_clock_ms() + READ_MS);
		if (fd >= 0)
			close(fd);
	}
	return rc ? rc : sensor_parse_number(text, number);
}

/* The lock is held, and is given back. */
static void leave(struct sensor_asker *a)
{
	bool last = --a->owners == 0;

	pthread_mutex_unlock(&a->lock);
	if (!last)
		return;
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a->source);
	free(a);
}

static void *asker_main(void *arg)
{
	struct sensor_asker *a = arg;
	char *text = malloc(READ_MOST + 1);
	struct timespec until;

	pthread_mutex_lock(&a->lock);
	while (text && !a->stopped) {
		double number = 0;
		int rc;

		pthread_mutex_unlock(&a->lock);
		rc = ask(a, text, &number);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += ASK_MS * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&a->lock);
		a->rc = rc;
		a->number = number;
		a->at_ms = sl_clock_ms();
		while (!a->stopped && pthread_cond_timedwait(&a->changed, &a->lock, &until) == 0)
			;
	}
	free(text);
	leave(a);
	return NULL;
}

struct sensor_asker *sensor_source_start(const char *source)
{
	struct sensor_asker *a = calloc(1, sizeof(*a));
	pthread_condattr_t monotonic;
	pthread_t thread;

	if (!a || !(a->source = strdup(source))) {
		free(a);
		return NULL;
	}
	a->rc = -EAGAIN;
	a->owners = 2;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (pthread_create(&thread, NULL, asker_main, a) == 0) {
		pthread_detach(thread);
		return a;
	}
	a->owners = 1;
	pthread_mutex_lock(&a->lock);
	leave(a);
	return NULL;
}

int sensor_source_last(struct sensor_asker *a, double *number)
{
	int rc;

	pthread_mutex_lock(&a->lock);
	*number = a->number;
	rc = a->rc ? a->rc : sl_clock_ms() - a->at_ms > OLD_MS ? -ETIMEDOUT : 0;
	pthread_mutex_unlock(&a->lock);
	return rc;
}

void sensor_source_stop(struct sensor_asker *a)
{
	pthread_mutex_lock(&a->lock);
	a->stopped = true;
	if (a->pid > 0)
		kill(-a->pid, SIGKILL);
	pthread_cond_signal(&a->changed);
	leave(a);
}
