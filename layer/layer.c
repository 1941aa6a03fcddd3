/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a layer, its lock and its state: see layer.h. */
#include "layer/layer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layer/check.h"

#define LOCK_TRIES 100

/* ---- the runtime directory ---- */

/* su and sudo inherit another user's $XDG_RUNTIME_DIR: ignore it without a message. */
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
	else if (given && *given) { /* programs that get the path may run in any directory */
		char cwd[PATH_MAX];

		if (!getcwd(cwd, sizeof(cwd)))
			return false;
		n = snprintf(out, PATH_MAX, "%s/%s", cwd, given);
	} else if (xdg && xdg[0] == '/' && la_is_ours(xdg))
		n = snprintf(out, PATH_MAX, "%s/sluice", xdg);
	else {
		const char *home = getenv("HOME");
		struct stat st;

		n = snprintf(out, PATH_MAX, "/tmp/sluice-%u", (unsigned)geteuid());
		/* Any user can create this path in /tmp, and so take it from its owner. */
		if (lstat(out, &st) == 0 && st.st_uid != geteuid() && home && home[0] == '/')
			n = snprintf(out, PATH_MAX, "%s/.sluice-run", home);
	}
	return n < PATH_MAX;
}

/* Its contents control access to the user's files, so no other user may own or enter it. */
int layer_runtime(bool make, char path[PATH_MAX])
{
	struct stat st;

	if (!la_runtime_path(path))
		return layer_fail(-ENAMETOOLONG,
				  "the path of the runtime directory is too long; set "
				  "SLUICE_RUNTIME to a shorter one.");
	if (make && mkdir(path, 0700) && errno != EEXIST)
		return layer_fail(-errno,
				  "cannot make the runtime directory %s: %s. Set SLUICE_RUNTIME "
				  "to another.",
				  path, strerror(errno));
	if (lstat(path, &st)) {
		if (errno == ENOENT && !make)
			return 0; /* no layer was ever up */
		return layer_fail(-errno, "cannot use the runtime directory %s: %s.", path,
				  strerror(errno));
	}
	if (!S_ISDIR(st.st_mode))
		return layer_fail(-EACCES,
				  "the runtime directory %s is not a directory. Set "
				  "SLUICE_RUNTIME to another.",
				  path);
	if (st.st_uid != geteuid())
		return layer_fail(-EACCES,
				  "the runtime directory %s belongs to user %u. Set "
				  "SLUICE_RUNTIME to one of your own.",
				  path, (unsigned)st.st_uid);
	if (st.st_mode & 077)
		return layer_fail(-EACCES,
				  "the runtime directory %s is open to others. Close it with "
				  "'chmod 700 %s', or set SLUICE_RUNTIME to another.",
				  path, path);
	return 0;
}

/* ---- opening and locking ---- */

static const char *la_system_path(void)
{
	const char *given = secure_getenv("SLUICE_SYSTEM");

	return given && given[0] == '/' ? given : "/run/sluice";
}

/* A user who can write there could listen in place of the node. */
static int la_system_runtime(bool make)
{
	const char *path = la_system_path();
	struct stat st;

	if (make && mkdir(path, 0755) && errno != EEXIST)
		return layer_fail(-errno, "cannot make %s: %s.", path, strerror(errno));
	if (make && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == 0)
		chmod(path, 0755); /* whatever the umask is */
	if (lstat(path, &st))
		return errno == ENOENT && !make
			       ? 0
			       : layer_fail(-errno, "cannot use %s: %s.", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != 0 || st.st_mode & 022)
		return layer_fail(
			-EACCES,
			"%s is not a directory of root that only root can write to; layers "
			"for all users are not looked for there.",
			path);
	return 0;
}

static int la_open_system(struct layer *l, const char *name, bool make)
{
	char err[CHECK_TEXT];
	struct stat st;
	int n, rc;

	l->system = true;
	if (check_layer_name(name, err))
		return layer_fail(-EINVAL, "%s.", err);
	if ((rc = la_system_runtime(make)))
		return rc;
	n = snprintf(l->name, sizeof(l->name), "%s%s%s", LAYER_SYSTEM,
		     strcmp(name, LAYER_DEFAULT) ? ":" : "",
		     strcmp(name, LAYER_DEFAULT) ? name : "");
	if (n < (int)sizeof(l->name))
		n = snprintf(l->socket, sizeof(l->socket), "%s/%s/node.sock", la_system_path(),
			     name);
	if (n >= (int)sizeof(l->socket) ||
	    snprintf(l->dir, sizeof(l->dir), "%s/%s", la_system_path(), name) >= PATH_MAX)
		return layer_fail(-ENAMETOOLONG, "the path of layer '%s' is too long.", name);
	if (lstat(l->dir, &st) == 0 && S_ISDIR(st.st_mode)) {
		l->account = st.st_uid;
		l->group = st.st_gid;
	}
	return 0;
}

int layer_open(struct layer *l, const char *name, bool make)
{
	char runtime[PATH_MAX], err[CHECK_TEXT];
	int n, rc;

	name = name ? name : LAYER_DEFAULT;
	*l = (struct layer){ .lock = -1 };
	if (!strcmp(name, LAYER_SYSTEM))
		return la_open_system(l, LAYER_DEFAULT, make);
	if (!strncmp(name, LAYER_SYSTEM ":", strlen(LAYER_SYSTEM) + 1))
		return la_open_system(l, name + strlen(LAYER_SYSTEM) + 1, make);
	if (check_layer_name(name, err))
		return layer_fail(-EINVAL, "%s.", err);
	snprintf(l->name, sizeof(l->name), "%s", name);
	if ((rc = layer_runtime(make, runtime)))
		return rc;
	n = snprintf(l->dir, sizeof(l->dir), "%s/%s", runtime, l->name);
	if (n < PATH_MAX)
		n = snprintf(l->socket, sizeof(l->socket), "%s/node.sock", l->dir);
	if (n >= (int)sizeof(l->socket))
		return layer_fail(-ENAMETOOLONG,
				  "%s/%s/node.sock is longer than the %zu bytes that the path "
				  "of a socket may have. Set SLUICE_RUNTIME to a shorter "
				  "directory, or choose a shorter name.",
				  runtime, l->name, sizeof(l->socket) - 1);
	return 0;
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
 * A process that cleans up also removes the lock file. So the file that we opened and locked may
 * have been removed; then open it again.
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
		    ours.st_ino == there.st_ino && ours.st_dev == there.st_dev) {
			if (!layer_pid(l))
				return 0;
			layer_close(l); /* a member that was revived and outlived the others */
			return -EWOULDBLOCK;
		}
		layer_close(l);
	}
	return -EWOULDBLOCK;
}

int layer_lock_open(struct layer *l)
{
	char path[PATH_MAX];

	la_file(l, "lock", path);
	l->lock = open(path, O_RDWR | O_CLOEXEC);
	return l->lock < 0 ? -errno : 0;
}

/*
 * Whether a member leaves a file of that name, to be removed. `log` and `secret` stay, and so do
 * the files of the dashboard, which are removed with the layer only.
 */
static int la_remove(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	remove(path);
	return 0;
}

static bool la_left(const char *name, bool all)
{
	static const char *const always[] = { "pid",	      "args",	   "root", "listen",
					      "jobs",	      "set-",	   "node", "controller.",
					      "standby.sock", "intercept", "hosts" },
				 *const last[] = { "log", "secret", "dashboard" };

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (!strncmp(name, always[i], strlen(always[i])))
			return all || !strstr(name, "-dashboard");
	for (size_t i = 0; all && i < sizeof(last) / sizeof(last[0]); i++)
		if (!strncmp(name, last[i], strlen(last[i])))
			return true;
	return false;
}

void layer_clean(struct layer *l, bool all)
{
	DIR *dir = opendir(l->dir);
	struct dirent *entry;
	char path[PATH_MAX];

	/* cppcheck-suppress readdirCalled ; there is one thread */
	while (dir && (entry = readdir(dir)))
		if (la_left(entry->d_name, all) && strcmp(entry->d_name, "lock") != 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	if (!all)
		return;
	if (l->system) { /* of its users */
		la_file(l, "u", path);
		nftw(path, la_remove, 16, FTW_DEPTH | FTW_PHYS);
		la_file(l, "kept", path);
		nftw(path, la_remove, 16, FTW_DEPTH | FTW_PHYS);
	}
	la_file(l, "lock", path);
	unlink(path);
	rmdir(l->dir);
}

/* ---- its files and state ---- */

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
	if (l->system && fchmod(fd, 0644)) /* the users of the layer read them */
		error = -errno;
	close(fd);
	return error;
}

int layer_root(const struct layer *l, char root[PATH_MAX])
{
	return layer_read(l, "root", root, PATH_MAX);
}

enum layer_state layer_state(const struct layer *l)
{
	char text[PATH_MAX], path[PATH_MAX];
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
	return layer_read(l, "root", text, sizeof(text)) ? LAYER_DOWN : LAYER_DIED;
}
