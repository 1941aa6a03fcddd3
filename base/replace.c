/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file as a whole: see replace.h. */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int re_write(int fd, int (*write)(FILE *f, const void *what), const void *what)
{
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	int rc = f ? 0 : -errno;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	errno = 0;
	rc = write(f, what);
	if (!rc && (fflush(f) || ferror(f)))
		rc = errno ? -errno : -EIO;
	if (fclose(f) && !rc)
		rc = -errno;
	return rc;
}

int sl_write_to(const char *path, int (*write)(FILE *f, const void *what), const void *what)
{
	return re_write(open(path, O_WRONLY | O_CLOEXEC), write, what);
}

int sl_replace(const char *path, mode_t mode, int (*write)(FILE *f, const void *what),
	       const void *what)
{
	char *fresh;
	int rc;

	if (asprintf(&fresh, "%s.%ld.new", path, (long)getpid()) < 0)
		return -ENOMEM;
	unlink(fresh); /* of an earlier process with this id */
	rc = re_write(open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode), write, what);
	if (!rc && rename(fresh, path))
		rc = -errno;
	if (rc)
		unlink(fresh);
	free(fresh);
	return rc;
}
