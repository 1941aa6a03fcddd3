/* SPDX-License-Identifier: Apache-2.0 */
/* Reading sensors: see sensor.h. */
#include "sluiced/ionode/sensor.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/slurp.h"
#include "detect/capacity.h"

#define READ_MOST    (1 << 20)
#define READ_MS	     1000
#define NFS_MAGIC    0x6969
#define LUSTRE_MAGIC 0x0BD00BD0

enum kind { BLOCK, NFS, LUSTRE, NUMBER };

struct sensor {
	enum kind kind;
	char *word;   /* as it was given, or found */
	char *source; /* a path, a mount point, a command or a URL */
	bool is_capacity;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* All that comes until its end, or until the time is up. */
static int read_all(int fd, char *text, int64_t until_ms)
{
	size_t have = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = until_ms - now_ms();
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

/* In a process group of its own, which is ended if it takes too long. */
static int read_command(const char *command, char *text)
{
	int out[2], rc;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		sigset_t none;

		setpgid(0, 0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (dup2(null, 0) < 0 || dup2(out[1], 1) < 0 || dup2(null, 2) < 0)
			_exit(127);
		close_range(3, ~0U, 0);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(out[1]);
	rc = pid < 0 ? -EAGAIN : read_all(out[0], text, now_ms() + READ_MS);
	close(out[0]);
	if (pid > 0) {
		setpgid(pid, pid);
		kill(-pid, SIGKILL); /* not waited for yet: nobody else has the number */
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
	int fd, rc = -EIO, n;

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
		rc = read_all(fd, text, now_ms() + READ_MS);
	close(fd);
	body = strstr(text, "\r\n\r\n");
	if (rc || !body || !strstr(text, " 200 "))
		return rc ? rc : -EIO;
	return sensor_parse_prometheus(body + 4, metric, out);
}

static int read_number(const struct sensor *s, char *text, struct sensor_reading *out)
{
	double number = 0;
	int rc;

	if (!strncmp(s->source, "http://", 7)) {
		rc = read_http(s->source, text, &number);
	} else if (!strncmp(s->source, "command:", 8)) {
		rc = read_command(s->source + 8, text);
		rc = rc ? rc : sensor_parse_number(text, &number);
	} else {
		int fd = open(s->source + 5, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		rc = fd < 0 ? -errno : read_all(fd, text, now_ms() + READ_MS);
		if (fd >= 0)
			close(fd);
		rc = rc ? rc : sensor_parse_number(text, &number);
	}
	if (rc)
		return rc;
	if (s->is_capacity && (number < CAPACITY_LEAST || number > CAPACITY_MOST))
		return -ERANGE;
	if (s->is_capacity)
		out->capacity_bps = number;
	else
		out->queue = number;
	out->has_capacity = s->is_capacity;
	out->has_queue = !s->is_capacity;
	return 0;
}

static int read_path(const char *path, char **text)
{
	size_t size;

	return sl_slurp_file(path, READ_MOST, text, &size);
}

static int read_lustre(struct sensor_reading *out)
{
	static const char *const places[] = { "/sys/kernel/debug/lustre/osc/*/rpc_stats",
					      "/proc/fs/lustre/osc/*/rpc_stats" };
	int rc = -ENOENT;
	glob_t g;

	for (size_t p = 0; rc && p < sizeof(places) / sizeof(places[0]); p++) {
		if (glob(places[p], 0, NULL, &g))
			continue;
		for (size_t i = 0; i < g.gl_pathc; i++) {
			char *text = NULL;

			if (read_path(g.gl_pathv[i], &text) == 0 &&
			    sensor_parse_lustre(text, out) == 0)
				rc = 0;
			free(text);
		}
		globfree(&g);
	}
	return rc;
}

int sensor_read(struct sensor *s, struct sensor_reading *out)
{
	char *text = NULL;
	int rc;

	*out = (struct sensor_reading){ 0 };
	switch (s->kind) {
	case BLOCK:
	case NFS:
		rc = read_path(s->kind == NFS ? "/proc/self/mountstats" : s->source, &text);
		if (!rc)
			rc = s->kind == NFS ? sensor_parse_nfs(text, s->source, out)
					    : sensor_parse_block(text, out);
		break;
	case LUSTRE:
		rc = read_lustre(out);
		break;
	default:
		text = malloc(READ_MOST + 1);
		rc = text ? (*text = 0, read_number(s, text, out)) : -ENOMEM;
	}
	free(text);
	return rc;
}

/* ---- which one ---- */

int sensor_check(const char *word, char err[SENSOR_TEXT])
{
	const char *source = strchr(word, '=');
	static const char *const kinds[] = { "block", "nfs", "lustre" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(word, kinds[i]))
			return 0;
	if (source && (!strncmp(word, "queue=", 6) || !strncmp(word, "capacity=", 9)) &&
	    ((!strncmp(source + 1, "file:/", 6)) ||
	     (!strncmp(source + 1, "command:", 8) && source[9]) ||
	     (!strncmp(source + 1, "http://", 7) && strchr(source, '#'))))
		return 0;
	snprintf(
		err, SENSOR_TEXT,
		"'%.64s' is no sensor; there are block, nfs, lustre, and queue= and capacity= with "
		"file:/PATH, command:COMMAND or http://HOST:PORT/PATH#METRIC",
		word);
	return -EINVAL;
}

/* The mount point of a directory: where its device changes. */
static char *mount_of(const char *root)
{
	char path[PATH_MAX], above[PATH_MAX + 4];
	struct stat at, up;

	if (!realpath(root, path) || stat(path, &at))
		return NULL;
	while (path[1]) {
		snprintf(above, sizeof(above), "%s/..", path);
		if (stat(above, &up) || up.st_dev != at.st_dev)
			break;
		*strrchr(path, '/') = 0;
		if (!*path)
			strcpy(path, "/");
	}
	return strdup(path);
}

static char *block_of(const char *root)
{
	struct stat st;
	char *path = NULL;

	if (stat(root, &st) ||
	    asprintf(&path, "/sys/dev/block/%u:%u/stat", major(st.st_dev), minor(st.st_dev)) < 0)
		return NULL;
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

int sensor_open(struct sensor **out, const char *word, const char *root, char err[SENSOR_TEXT])
{
	struct sensor *s;
	struct statfs fs;
	int rc;

	*out = NULL;
	if (!*word) {
		if (statfs(root, &fs))
			return 0;
		word = fs.f_type == NFS_MAGIC	   ? "nfs"
		       : fs.f_type == LUSTRE_MAGIC ? "lustre"
						   : "block";
	}
	if ((rc = sensor_check(word, err)))
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s || !(s->word = strdup(word))) {
		free(s);
		return -ENOMEM;
	}
	s->kind = !strcmp(word, "block")    ? BLOCK
		  : !strcmp(word, "nfs")    ? NFS
		  : !strcmp(word, "lustre") ? LUSTRE
					    : NUMBER;
	s->is_capacity = !strncmp(word, "capacity=", 9);
	s->source = s->kind == BLOCK ? block_of(root)
		    : s->kind == NFS ? mount_of(root)
				     : strdup(s->kind == NUMBER ? strchr(word, '=') + 1 : "");
	if (s->source) {
		*out = s;
		return 0;
	}
	sensor_close(s);
	return 0;
}

void sensor_close(struct sensor *s)
{
	if (!s)
		return;
	free(s->word);
	free(s->source);
	free(s);
}

const char *sensor_name(const struct sensor *s)
{
	return s ? s->word : "none";
}
