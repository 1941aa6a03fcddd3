/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where profiles are kept: one file for each file system, for the user who measured it.
 *
 * The name of a file system is its f_fsid (statfs), which ext4, XFS, btrfs and others derive from
 * what they have on disk, so it is the same after a restart and under another path. Where that is
 * 0, as for some network file systems, the numbers of the device must do.
 *
 * A file is written beside its place and renamed, so that a daemon that reads it meanwhile sees
 * the old or the new one.
 */
#include "detect/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/replace.h"
#include "base/slurp.h"

#define MAX_FILE (1U << 20)

int sl_profile_device(const char *dir, char *name, size_t size)
{
	unsigned id[2];
	struct statfs fs;
	struct stat st;
	int n;

	if (statfs(dir, &fs) || stat(dir, &st))
		return -errno;
	_Static_assert(sizeof(fs.f_fsid) == sizeof(id), "f_fsid has 64 bits");
	memcpy(id, &fs.f_fsid, sizeof(id));
	if (id[0] || id[1])
		n = snprintf(name, size, "fs-%08x%08x", id[0], id[1]);
	else
		n = snprintf(name, size, "dev-%u-%u", major(st.st_dev), minor(st.st_dev));
	return n < (int)size ? 0 : -ENAMETOOLONG;
}

int sl_profile_path(const char *dir, char path[PATH_MAX])
{
	const char *given = getenv("SLUICE_STATE"), *state = getenv("XDG_STATE_HOME"),
		   *home = getenv("HOME");
	char name[64];
	int rc = sl_profile_device(dir, name, sizeof(name)), n;

	if (rc)
		return rc;
	/* The specification of XDG: what is not absolute counts as not set. */
	if (given && given[0] == '/')
		n = snprintf(path, PATH_MAX, "%s/%s" SL_PROFILE_SUFFIX, given, name);
	else if (state && state[0] == '/')
		n = snprintf(path, PATH_MAX, "%s/sluice/%s" SL_PROFILE_SUFFIX, state, name);
	else if (home && home[0] == '/')
		n = snprintf(path, PATH_MAX, "%s/.local/state/sluice/%s" SL_PROFILE_SUFFIX, home,
			     name);
	else
		n = snprintf(path, PATH_MAX, "/var/lib/sluice/%s" SL_PROFILE_SUFFIX, name);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int sl_profile_load(const char *path, struct sl_profile *out, char *err, size_t err_size)
{
	char *text;
	size_t n;
	int rc = sl_slurp_or_say(path, MAX_FILE, &text, &n, err, err_size);

	memset(out, 0, sizeof(*out));
	if (!rc)
		rc = sl_profile_parse(path, text, n, out, err, err_size);
	free(text);
	return rc;
}

/* Every directory above the file that is not there yet; ours alone, as the specification says. */
static int ps_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int rc;

		*slash = 0;
		rc = mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (rc)
			return rc;
	}
	return 0;
}

static int ps_write(FILE *f, const void *what)
{
	sl_profile_write(f, what);
	return 0;
}

int sl_profile_save(const char *path, const struct sl_profile *p, char *err, size_t err_size)
{
	char parents[PATH_MAX];
	struct stat st;
	int rc;

	/* A rename would take the place of a device or a pipe. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		snprintf(err, err_size, "%s is no regular file.", path);
		return -EINVAL;
	}
	rc = snprintf(parents, sizeof(parents), "%s", path) < (int)sizeof(parents)
		     ? ps_parents(parents)
		     : -ENAMETOOLONG;
	if (!rc)
		rc = sl_replace(path, 0644, ps_write, p);
	if (rc)
		snprintf(err, err_size, "cannot write %s: %s.", path, strerror(-rc));
	return rc;
}
