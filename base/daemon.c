/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a daemon: see daemon.h. */
#include "base/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/log.h"

const char *sl_daemon_option(struct sl_daemon *d, int option, const char *value)
{
	int level;

	switch (option) {
	case SL_DAEMON_MUNGE:
		d->munge = value ? value : "";
		break;
	case SL_DAEMON_LOG:
		level = sl_log_level_find(value);
		if (level < 0)
			return "log levels are error, warn, info, debug, not";
		sl_log_level = (enum sl_log_level)level;
		break;
	case SL_DAEMON_READY:
		d->ready_fd = (int)strtol(value, NULL, 10);
		break;
	}
	return NULL;
}

const char *sl_daemon_missing(const struct sl_daemon *d)
{
	if (!d->socket)
		return "--socket";
	if (d->secret_file && !d->listen)
		return "--listen";
	if (d->listen && !d->secret_file && !d->munge)
		return "--secret-file";
	return NULL;
}

int sl_daemon_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN); /* a write to a closed connection returns an error instead */
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

enum sl_daemon_told sl_daemon_told(int fd)
{
	struct signalfd_siginfo info;
	enum sl_daemon_told told = SL_DAEMON_NOTHING;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGHUP)
			return SL_DAEMON_END;
		told = SL_DAEMON_RELOAD;
	}
	return told;
}

int sl_daemon_deaf(const char *address, int rc)
{
	fprintf(stderr, "sluiced: cannot listen at %s: %s\n", address, strerror(-rc));
	return rc;
}

/*
 * Socket activation: see sd_listen_fds(3). Descriptor 3 is the socket, if LISTEN_PID is this
 * process.
 */
static int passed_socket(const char *path)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	struct sockaddr_un at;
	socklen_t length = sizeof(at);
	int listens = 0;
	socklen_t size = sizeof(listens);

	if (!pid || !count || strtol(pid, NULL, 10) != getpid() || strcmp(count, "1") != 0)
		return -ENOENT;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (getsockopt(3, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens)
		return -ENOTSOCK;
	memset(&at, 0, sizeof(at));
	if (getsockname(3, (struct sockaddr *)&at, &length) || at.sun_family != AF_UNIX ||
	    strncmp(at.sun_path, path, sizeof(at.sun_path)) != 0)
		/* Segments are in the same directory, so the path must match. */
		return -EADDRNOTAVAIL;
	if (fcntl(3, F_SETFD, FD_CLOEXEC) || fcntl(3, F_SETFL, O_NONBLOCK))
		return -errno;
	return 3;
}

int sl_daemon_listen(struct sl_daemon *d)
{
	int fd = passed_socket(d->socket);

	d->activated = fd >= 0;
	if (fd == -ENOENT)
		fd = listen_unix(d->socket);
	if (fd >= 0 && d->open && !d->activated && chmod(d->socket, 0666)) {
		int error = -errno;

		close(fd);
		fd = error;
	}
	return fd < 0 ? sl_daemon_deaf(d->socket, fd) : fd;
}

void sl_daemon_unlisten(const struct sl_daemon *d)
{
	if (!d->activated)
		unlink(d->socket);
}

int sl_daemon_secret(const struct sl_daemon *d, char secret[SL_SECRET_BYTES])
{
	int rc = sl_secret_read(d->secret_file, secret);

	if (rc)
		fprintf(stderr, "sluiced: cannot use the secret in %s: %s\n", d->secret_file,
			rc == -EPERM	? "this user must own the file, and its mode must be 0600"
			: rc == -EINVAL ? "it must be one line of 16 to 63 characters"
					: strerror(-rc));
	return rc;
}

void sl_daemon_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

void sl_daemon_ready(struct sl_daemon *d)
{
	if (d->ready_fd >= 0 && write(d->ready_fd, "1", 1) == 1)
		close(d->ready_fd);
	d->ready_fd = -1;
}
