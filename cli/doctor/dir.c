/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check whether a layer can serve a directory: `sluice doctor DIR`. The test uses a temporary file,
 * which is unlinked before it is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/doctor/doctor.h"

#define BLOCK 4096

static const struct {
	unsigned long magic;
	const char *name;
	bool shared; /* by machines */
} kinds[] = {
	{ 0xef53, "ext4", false },
	{ 0x58465342, "XFS", false },
	{ 0x9123683e, "btrfs", false },
	{ 0x2fc12fc1, "ZFS", false },
	{ 0xf2f52010, "F2FS", false },
	{ 0x01021994, "tmpfs", false },
	{ 0x858458f6, "ramfs", false },
	{ 0x794c7630, "overlayfs", false },
	{ 0x01021997, "9p", false },
	{ 0x65735546, "FUSE", false },
	{ 0x6969, "NFS", true },
	{ 0x0bd00bd0, "Lustre", true },
	{ 0x47504653, "Spectrum Scale", true },
	{ 0x19830326, "BeeGFS", true },
	{ 0x00c36400, "CephFS", true },
	{ 0xff534d42, "SMB", true },
};

static void dd_kind(struct doctor *d)
{
	const char *name = NULL;
	bool shared = false;
	struct statfs fs;

	if (statfs(d->dir, &fs))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].magic == ((unsigned long)fs.f_type & 0xffffffffUL)) {
			name = kinds[i].name;
			shared = kinds[i].shared;
		}
	if (!name)
		doctor_say(d, DOCTOR_OK, "file system", NULL, "of kind %#lx",
			   (unsigned long)fs.f_type & 0xffffffffUL);
	else
		doctor_say(d, DOCTOR_OK, "file system", NULL, "%s%s", name,
			   shared ? ", shared with other machines: only I/O through the layer "
				    "is scheduled"
				  : "");
}

static void dd_room(struct doctor *d)
{
	struct statvfs v;
	uint64_t left;
	char text[32];

	if (statvfs(d->dir, &v))
		return;
	left = (uint64_t)v.f_bavail * v.f_frsize;
	sl_format_bytes(text, sizeof(text), left);
	if (left < 1U << 20)
		doctor_say(d, DOCTOR_FAIL, "free space", "Make room, or name another directory.",
			   "%s", text);
	else if (left < UINT64_C(1) << 30)
		doctor_say(d, DOCTOR_WARN, "free space", "Make room before large jobs run.",
			   "only %s", text);
	else
		doctor_say(d, DOCTOR_OK, "free space", NULL, "%s", text);
}

/* An unlinked file; -1: cannot create one. */
static int dd_file(const char *dir)
{
	char name[PATH_MAX];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	if (snprintf(name, sizeof(name), "%s/.sluice-doctor-XXXXXX", dir) >= PATH_MAX)
		return -1;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

static void dd_direct(struct doctor *d, int fd)
{
	void *block = NULL;
	int flags = fcntl(fd, F_GETFL);
	bool ok = posix_memalign(&block, BLOCK, BLOCK) == 0;

	if (ok) {
		memset(block, 0, BLOCK);
		ok = fcntl(fd, F_SETFL, flags | O_DIRECT) == 0 &&
		     pwrite(fd, block, BLOCK, 0) == BLOCK;
		fcntl(fd, F_SETFL, flags);
	}
	free(block);
	if (ok)
		doctor_say(d, DOCTOR_OK, "O_DIRECT", NULL, "works");
	else
		doctor_say(d, DOCTOR_WARN, "O_DIRECT",
			   "Needed only if programs use it: they would fail here without "
			   "Sluice, too.",
			   "%s; transfers go through the page cache", strerror(errno));
}

/* Flags of single calls, which programs may use and nodes pass on. */
static void dd_flags(struct doctor *d, int fd)
{
	char byte = 1, missing[32] = "";
	struct iovec iov = { &byte, 1 };

	if (pwritev2(fd, &iov, 1, 0, RWF_DSYNC) != 1)
		strcat(missing, " RWF_DSYNC");
	if (preadv2(fd, &iov, 1, 0, RWF_NOWAIT) != 1 && errno != EAGAIN)
		strcat(missing, " RWF_NOWAIT");
	if (*missing)
		doctor_say(d, DOCTOR_WARN, "RWF flags", NULL,
			   "not for this file system:%s; programs that use them are refused",
			   missing);
	else
		doctor_say(d, DOCTOR_OK, "RWF flags", NULL, "RWF_DSYNC and RWF_NOWAIT work");
}

void doctor_dir(struct doctor *d)
{
	struct stat st;
	int fd, error = stat(d->dir, &st) ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;

	if (error) {
		doctor_say(d, DOCTOR_FAIL, "directory", "Name an existing directory.", "%s: %s",
			   d->dir, strerror(error));
		return;
	}
	dd_kind(d);
	dd_room(d);
	fd = dd_file(d->dir);
	if (fd < 0) {
		doctor_say(d, errno == EROFS || errno == EACCES ? DOCTOR_WARN : DOCTOR_FAIL,
			   "directory",
			   "Jobs can only read there; if they must write, change its permissions.",
			   "cannot create a file in %s: %s", d->dir, strerror(errno));
		return;
	}
	doctor_say(d, DOCTOR_OK, "directory", NULL, "files can be created in %s", d->dir);
	dd_direct(d, fd);
	dd_flags(d, fd);
	close(fd);
}
