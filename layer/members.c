/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a layer: list them, check whether they live, and talk to nodes: layer.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/listen.h"
#include "base/peer.h"
#include "client/conn/client.h"
#include "layer/layer.h"

static void me_file(const struct layer *l, const char *file, const char *suffix,
		    char path[PATH_MAX])
{
	/* dir is shorter than a socket's path */
	snprintf(path, PATH_MAX, "%.200s/%s%s", l->dir, file, suffix);
}

/*
 * Whether that process has the lock file open: a member gets it as descriptor 3. A process that was
 * killed keeps its files a little longer than its memory; it does not count, because it cannot
 * answer.
 */
static bool me_holds_lock(const struct layer *l, const char *file, pid_t pid)
{
	char fd[64], path[PATH_MAX], byte;
	struct stat theirs, lock;

	me_file(l, file, "", path);
	snprintf(fd, sizeof(fd), "/proc/%d/exe", (int)pid);
	if (readlink(fd, &byte, 1) < 0)
		return false;
	snprintf(fd, sizeof(fd), "/proc/%d/fd/3", (int)pid);
	return stat(fd, &theirs) == 0 && stat(path, &lock) == 0 && theirs.st_ino == lock.st_ino &&
	       theirs.st_dev == lock.st_dev;
}

/*
 * The processes of a system layer belong to another account and cannot be inspected, so ask which
 * process listens at the socket.
 */
static pid_t me_listens(const struct layer_member *m)
{
	int sock = listen_dial(m->socket);
	struct sl_peer peer;
	pid_t pid = 0;

	if (sock < 0)
		return 0;
	if (sl_peer_of(sock, &peer) == 0)
		pid = peer.pid > 0 ? peer.pid : 1; /* of another PID namespace */
	close(sock);
	return pid;
}

static pid_t me_pid(const struct layer *l, const struct layer_member *m)
{
	char file[32], text[32];
	unsigned long pid;

	if (l->system && !m->dashboard)
		return me_listens(m);
	snprintf(file, sizeof(file), "pid%s", m->suffix);
	if (layer_read(l, file, text, sizeof(text)) || check_count(text, 2, INT_MAX, &pid) ||
	    !me_holds_lock(l, m->dashboard ? "dashboard-lock" : "lock", (pid_t)pid))
		return 0;
	return (pid_t)pid;
}

void layer_member(const struct layer *l, unsigned node, bool controller, struct layer_member *m)
{
	int n;

	*m = (struct layer_member){ .controller = controller };
	snprintf(m->name, sizeof(m->name), "%u", node);
	if (controller)
		snprintf(m->name, sizeof(m->name), "controller");
	if (node || controller)
		snprintf(m->suffix, sizeof(m->suffix), "-%.14s", m->name);
	n = snprintf(m->socket, sizeof(m->socket),
		     controller ? "%s/controller.sock" : "%s/node%s.sock", l->dir, m->suffix);
	if (n >= (int)sizeof(m->socket))
		m->socket[0] = 0;
	m->pid = me_pid(l, m);
}

void layer_standby(const struct layer *l, struct layer_member *m)
{
	*m = (struct layer_member){ .name = "standby", .suffix = "-standby", .controller = true };
	if (snprintf(m->socket, sizeof(m->socket), "%s/standby.sock", l->dir) >=
	    (int)sizeof(m->socket))
		m->socket[0] = 0;
	m->pid = me_pid(l, m);
}

/* Whether the second of two controllers is active, according to the link; false if it has died. */
static bool me_second_leads(const struct layer *l, const struct layer_member *first,
			    const struct layer_member *second)
{
	char path[PATH_MAX], to[32];
	ssize_t n;

	if (!first->pid || !second->pid)
		return second->pid;
	me_file(l, "controller.active", "", path);
	n = readlink(path, to, sizeof(to) - 1);
	to[n < 0 ? 0 : n] = 0;
	return !strcmp(to, "standby.sock");
}

int layer_periods(const struct layer *l, char path[PATH_MAX])
{
	const char *slash = strrchr(l->dir, '/');

	return snprintf(path, PATH_MAX, "%.*s/.periods-%s", (int)(slash - l->dir), l->dir,
			l->name) < PATH_MAX - 8
		       ? 0
		       : -ENAMETOOLONG;
}

int layer_usage(const struct layer *l, unsigned node, char path[PATH_MAX])
{
	char number[16] = "";
	const char *slash = strrchr(l->dir, '/');

	if (node)
		snprintf(number, sizeof(number), "-%u", node);
	if (l->system)
		return snprintf(path, PATH_MAX, "%s/usage%s", l->dir, number) < PATH_MAX - 2
			       ? 0
			       : -ENAMETOOLONG;
	return snprintf(path, PATH_MAX, "%.*s/.usage-%s%s", (int)(slash - l->dir), l->dir, l->name,
			number) < PATH_MAX - 2
		       ? 0
		       : -ENAMETOOLONG;
}

void layer_dashboard(const struct layer *l, struct layer_member *m)
{
	*m = (struct layer_member){ .name = "dashboard",
				    .suffix = "-dashboard",
				    .dashboard = true };
	m->pid = me_pid(l, m);
}

size_t layer_members(const struct layer *l, struct layer_member m[LAYER_MEMBERS])
{
	char path[PATH_MAX];
	size_t n = 0;

	do {
		layer_member(l, (unsigned)n, false, &m[n]);
		me_file(l, "args", m[n].suffix, path);
	} while ((access(path, F_OK) == 0 || n == 0) && ++n < LAYER_IONODES);
	layer_member(l, 0, true, &m[n]);
	me_file(l, "args", m[n].suffix, path);
	if (access(path, F_OK) != 0)
		return n;
	layer_standby(l, &m[n + 1]);
	me_file(l, "args", m[n + 1].suffix, path);
	if (access(path, F_OK) != 0)
		return n + 1;
	if (!me_second_leads(l, &m[n], &m[n + 1])) {
		struct layer_member leads = m[n];

		m[n] = m[n + 1];
		m[n + 1] = leads;
	}
	return n + 2;
}

size_t layer_nodes(const struct layer_member *m, size_t count)
{
	while (count && m[count - 1].controller)
		count--;
	return count;
}

pid_t layer_pid(const struct layer *l)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_members(l, m);

	for (size_t i = 0; i < n; i++)
		if (m[i].pid)
			return m[i].pid;
	return 0;
}

const char *layer_member_called(const struct layer_member *m, bool alone, char out[32])
{
	snprintf(out, 32,
		 m->controller
			 ? strcmp(m->name, "standby") ? "the controller" : "the second controller"
		 : m->dashboard ? "the dashboard"
		 : alone	? "the node"
				: "I/O node %s",
		 m->name);
	return out;
}

int layer_args(const struct layer *l, const struct layer_member *m, const char ***args, char **text)
{
	char path[PATH_MAX];
	size_t length = 0, at = 0, n = 0;
	struct stat st;
	FILE *f;

	me_file(l, "args", m->suffix, path);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	*text = fstat(fileno(f), &st) == 0 ? calloc(1, (size_t)st.st_size + 1) : NULL;
	*args = *text ? calloc((size_t)st.st_size + 1, sizeof(**args)) : NULL;
	if (*args)
		length = fread(*text, 1, (size_t)st.st_size, f);
	fclose(f);
	if (!length) {
		free(*args);
		free(*text);
		return -ENODATA;
	}
	while (at < length) {
		(*args)[n++] = *text + at;
		at += strlen(*text + at) + 1;
	}
	return 0;
}

/* ---- talking to nodes ---- */

int layer_report(const struct layer *l, const char *who, int rc, char **text)
{
	if (rc == -ENAMETOOLONG)
		layer_fail(rc, "the command is too long; split it into several.");
	else if (rc && *text && **text)
		layer_fail(rc, "%s%s.", who, *text);
	else if (rc == -ENOTCONN || (rc && !*text))
		rc = layer_not_up(l, true);
	else if (rc)
		layer_fail(rc, "%sthe node of layer '%s' says: %s.", who, l->name, strerror(-rc));
	if (rc) {
		free(*text);
		*text = NULL;
	}
	return rc == -EINVAL ? -EPROTO : rc; /* the caller's words were right */
}

int layer_ask(const struct layer *l, const char *line, char **answer)
{
	char *text = NULL;
	int rc = layer_report(l, "", sl_client_control(l->socket, line, &text), &text);

	if (answer)
		*answer = text;
	else
		free(text);
	return rc;
}

/*
 * Send a line to one node. A node that is being revived has a process but no socket yet; a dying
 * node may still have a process without its socket. So while the process lives, retry until
 * `until_ms`. Afterwards m->pid is 0 if the node has died. Sending a line twice is harmless,
 * because a node that dies before it answers takes the change with it.
 */
#define ANSWER_MS 10000

static int me_tell(const struct layer *l, struct layer_member *m, const char *line,
		   int64_t until_ms, char **answer)
{
	for (;;) {
		int ms = l->answer_ms ? l->answer_ms : ANSWER_MS;
		int64_t begin_ms = sl_clock_ms();
		int sock = sl_client_control_begin(m->socket, line, ms);
		int rc = sl_client_control_end(sock, ms, answer);

		if (rc != -ENOTCONN)
			return rc;
		if (sl_clock_ms() - begin_ms >= ms)
			return -ETIMEDOUT; /* it lives, but is stopped or overloaded */
		free(*answer);
		*answer = NULL;
		m->pid = me_pid(l, m);
		if (!m->pid || sl_clock_ms() >= until_ms)
			return rc;
		usleep(LAYER_AGAIN_MS * 1000);
	}
}

bool layer_post(const struct layer *l, const struct layer_member *m, size_t n, const char *line)
{
	bool sent = false;

	for (size_t i = 0; i < n; i++) {
		int sock;

		if (m[i].controller || !m[i].pid)
			continue;
		sock = sl_client_control_begin(m[i].socket, line,
					       l->answer_ms ? l->answer_ms : ANSWER_MS);
		if (sock < 0)
			return false;
		close(sock); /* what was sent is still read */
		sent = true;
	}
	return sent;
}

int layer_tell_all(const struct layer *l, const char *line, bool some, char who[48], char **text)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_members(l, m);

	return layer_tell(l, m, n, line, some, who, text);
}

int layer_tell(const struct layer *l, struct layer_member *m, size_t n, const char *line, bool some,
	       char who[48], char **text)
{
	size_t done = 0;
	int64_t until_ms = sl_clock_ms() + LAYER_BRIEF_MS;
	int rc = -ENOTCONN, one;
	char called[32];

	*who = 0;
	*text = NULL;
	for (size_t i = 0; i < n; i++) {
		char *answer = NULL;

		if (m[i].controller || !m[i].pid || m[i].silent)
			continue;
		one = me_tell(l, &m[i], line, until_ms, &answer);
		if (one == 0) {
			free(answer);
			done++;
			continue;
		}
		if (!m[i].pid) /* it has died meanwhile; the others suffice */
			continue;
		m[i].silent = one == -ETIMEDOUT;
		free(*text);
		*text = answer;
		rc = one;
		if (some && n > 1 && one == -ENOENT)
			continue;
		if (done)
			snprintf(who, 48, "%s: ", layer_member_called(&m[i], false, called));
		return rc;
	}
	/* No member lives, or none knows the job; the last one has reported it. */
	if (!done)
		return rc;
	free(*text);
	*text = NULL;
	return 0;
}

int layer_ask_all(const struct layer *l, const char *line, bool some)
{
	char who[48], *text;
	int rc = layer_tell_all(l, line, some, who, &text);

	rc = layer_report(l, who, rc, &text);
	free(text);
	return rc;
}

bool layer_has_many(const struct layer *l)
{
	struct layer_member m[LAYER_MEMBERS];

	return layer_members(l, m) > 1;
}

bool layer_stopped(const struct layer *l, struct layer_member *m)
{
	struct layer_member all[LAYER_MEMBERS];
	size_t n = layer_members(l, all);

	for (size_t i = 0; i < n; i++) {
		char path[64], text[128] = "", *state;
		FILE *f;

		if (!all[i].pid)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)all[i].pid);
		f = fopen(path, "re");
		if (f) {
			text[fread(text, 1, sizeof(text) - 1, f)] = 0;
			fclose(f);
		}
		state = strrchr(text, ')'); /* "pid (name) T ..." */
		if (state && (state[2] == 'T' || state[2] == 't')) {
			*m = all[i];
			return true;
		}
	}
	return false;
}

bool layer_enter_one(struct layer *l, const struct layer_member *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (m[i].controller || !m[i].pid || m[i].silent)
			continue;
		memcpy(l->socket, m[i].socket, sizeof(l->socket));
		return true;
	}
	return false;
}

bool layer_enter(struct layer *l)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_members(l, m);

	return layer_enter_one(l, m, n);
}

bool layer_dead(const struct layer *l, char *out, size_t size)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_members(l, m), at = 0;
	char called[32];

	out[0] = 0;
	for (size_t i = 0; i < n; i++)
		if (!m[i].pid && at < size)
			at += (size_t)snprintf(out + at, size - at, "%s%s", at ? ", " : "",
					       layer_member_called(&m[i], n == 1, called));
	return at;
}
