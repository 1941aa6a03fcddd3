/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a layer, its lock and its node: see layer.h. */
#include "cli/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "client/client.h"

#define LOCK_TRIES 100

/* ---- the runtime directory ---- */

/* $XDG_RUNTIME_DIR of another user is inherited through su and sudo: not ours, no mistake. */
static bool la_is_ours(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static bool la_runtime_path(char out[PATH_MAX])
{
	const char *given = getenv("SLUICE_RUNTIME"), *xdg = getenv("XDG_RUNTIME_DIR");
	int n;

	if (given && given[0] == '/')
		n = snprintf(out, PATH_MAX, "%s", given);
	else if (given && *given) { /* the programs that get the path may be anywhere */
		char cwd[PATH_MAX];

		if (!getcwd(cwd, sizeof(cwd)))
			return false;
		n = snprintf(out, PATH_MAX, "%s/%s", cwd, given);
	} else if (xdg && xdg[0] == '/' && la_is_ours(xdg))
		n = snprintf(out, PATH_MAX, "%s/sluice", xdg);
	else
		n = snprintf(out, PATH_MAX, "/tmp/sluice-%u", (unsigned)geteuid());
	return n < PATH_MAX;
}

/* It holds what decides over the user's files: nobody else may have put or may reach it. */
int layer_runtime(const char *cmd, bool make, char path[PATH_MAX])
{
	struct stat st;

	if (!la_runtime_path(path))
		return cli_fail(cmd, "the path of the runtime directory is too long; set "
				     "SLUICE_RUNTIME to a shorter one.");
	if (make && mkdir(path, 0700) && errno != EEXIST)
		return cli_fail(cmd,
				"cannot make the runtime directory %s: %s. Set SLUICE_RUNTIME "
				"to another.",
				path, strerror(errno));
	if (lstat(path, &st)) {
		if (errno == ENOENT && !make)
			return CLI_OK; /* no layer was ever up */
		return cli_fail(cmd, "cannot use the runtime directory %s: %s.", path,
				strerror(errno));
	}
	if (!S_ISDIR(st.st_mode))
		return cli_fail(cmd,
				"the runtime directory %s is not a directory. Set "
				"SLUICE_RUNTIME to another.",
				path);
	if (st.st_uid != geteuid())
		return cli_fail(cmd,
				"the runtime directory %s belongs to user %u. Set "
				"SLUICE_RUNTIME to one of your own.",
				path, (unsigned)st.st_uid);
	if (st.st_mode & 077)
		return cli_fail(cmd,
				"the runtime directory %s is open to others. Close it with "
				"'chmod 700 %s', or set SLUICE_RUNTIME to another.",
				path, path);
	return CLI_OK;
}

/* ---- opening and locking ---- */

int layer_open(struct layer *l, const char *cmd, const char *name, bool make)
{
	char runtime[PATH_MAX], err[CHECK_TEXT];
	int n, status;

	name = name ? name : LAYER_DEFAULT;
	*l = (struct layer){ .cmd = cmd, .lock = -1 };
	if (check_layer_name(name, err))
		return cli_usage(cmd, "%s.", err);
	snprintf(l->name, sizeof(l->name), "%s", name);
	if ((status = layer_runtime(cmd, make, runtime)))
		return status;
	n = snprintf(l->dir, sizeof(l->dir), "%s/%s", runtime, l->name);
	if (n < PATH_MAX)
		n = snprintf(l->socket, sizeof(l->socket), "%s/node.sock", l->dir);
	if (n >= (int)sizeof(l->socket))
		return cli_fail(cmd,
				"%s/%s/node.sock is longer than the %zu bytes that the path "
				"of a socket may have. Set SLUICE_RUNTIME to a shorter "
				"directory, or choose a shorter name.",
				runtime, l->name, sizeof(l->socket) - 1);
	return CLI_OK;
}

void layer_close(struct layer *l)
{
	if (l->lock >= 0)
		close(l->lock);
	l->lock = -1;
}

static void la_file(const struct layer *l, const char *file, char path[PATH_MAX])
{
	/* dir is shorter than a socket's path */
	snprintf(path, PATH_MAX, "%.200s/%s", l->dir, file);
}

/*
 * Who cleans up removes the lock file as well, so what was opened may be locked and yet be no
 * longer there: then it is opened again.
 */
int layer_lock(struct layer *l, bool make)
{
	char path[PATH_MAX];
	struct stat there, ours;

	la_file(l, "lock", path);
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (make && mkdir(l->dir, 0700) && errno != EEXIST)
			return -errno;
		l->lock = open(path, O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
		if (l->lock < 0 && errno == ENOENT && make)
			continue;
		if (l->lock < 0)
			return -errno;
		if (flock(l->lock, LOCK_EX | LOCK_NB)) {
			int error = -errno;

			layer_close(l);
			return error;
		}
		if (fstat(l->lock, &ours) == 0 && stat(path, &there) == 0 &&
		    ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
			return 0;
		layer_close(l);
	}
	return -EWOULDBLOCK;
}

void layer_clean(struct layer *l, bool all)
{
	static const char *const files[] = { "node.sock", "pid", "root",    "listen",
					     "secret",	  "log", "log.old", "lock" };
	char path[PATH_MAX];

	for (size_t i = 0; i < (all ? 8 : 4); i++) {
		la_file(l, files[i], path);
		unlink(path);
	}
	if (all)
		rmdir(l->dir);
}

/* ---- the node ---- */

int layer_read(const struct layer *l, const char *file, char *out, size_t size)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	la_file(l, file, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, out, size - 1);
	close(fd);
	if (n <= 0)
		return -ENODATA;
	out[n] = 0;
	out[strcspn(out, "\n")] = 0;
	return 0;
}

int layer_write(const struct layer *l, const char *file, const char *text)
{
	char path[PATH_MAX];
	size_t length = strlen(text);
	int fd, error = 0;

	la_file(l, file, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, length) != (ssize_t)length)
		error = -(errno ? errno : EIO);
	close(fd);
	return error;
}

int layer_root(const struct layer *l, char root[PATH_MAX])
{
	return layer_read(l, "root", root, PATH_MAX);
}

/* Whether that process has the lock file open: a node gets it as descriptor 3. */
static bool la_holds_lock(const struct layer *l, pid_t pid)
{
	char fd[64], path[PATH_MAX];
	struct stat theirs, lock;

	la_file(l, "lock", path);
	snprintf(fd, sizeof(fd), "/proc/%d/fd/3", (int)pid);
	return stat(fd, &theirs) == 0 && stat(path, &lock) == 0 && theirs.st_ino == lock.st_ino &&
	       theirs.st_dev == lock.st_dev;
}

pid_t layer_pid(const struct layer *l)
{
	char text[32];
	unsigned long pid;

	if (layer_read(l, "pid", text, sizeof(text)) || check_count(text, 2, INT_MAX, &pid) ||
	    !la_holds_lock(l, (pid_t)pid))
		return 0;
	return (pid_t)pid;
}

enum layer_state layer_state(const struct layer *l)
{
	char text[32], path[PATH_MAX];
	bool locked;
	int lock;

	if (layer_pid(l))
		return LAYER_UP;
	la_file(l, "lock", path);
	lock = open(path, O_RDWR | O_CLOEXEC);
	if (lock < 0)
		return LAYER_DOWN;
	locked = flock(lock, LOCK_SH | LOCK_NB) != 0;
	close(lock);
	if (locked)
		return layer_pid(l) ? LAYER_UP : LAYER_BUSY;
	return layer_read(l, "pid", text, sizeof(text)) ? LAYER_DOWN : LAYER_DIED;
}

int layer_ask(const struct layer *l, const char *line, char **answer)
{
	char *text = NULL;
	int rc = sl_client_control(l->socket, line, &text), status = CLI_OK;

	if (rc == -ENAMETOOLONG)
		status = cli_fail(l->cmd, "that is too much for one command; give less at a time.");
	else if (rc && text && *text)
		status = cli_fail(l->cmd, "%s.", text);
	else if (rc == -ENOTCONN || (rc && !text))
		status = layer_not_up(l, true);
	else if (rc)
		status = cli_fail(l->cmd, "the node of layer '%s' says: %s.", l->name,
				  strerror(-rc));
	if (status || !answer) {
		free(text);
		text = NULL;
	}
	if (answer)
		*answer = text;
	return status;
}
