/* SPDX-License-Identifier: Apache-2.0 */
/* See blocked.h. */
#include "sluiced/ionode/blocked.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel makes an entry for each thread it lists: a small buffer keeps that to few. */
#define ENTRIES_BYTES 1024

static bool read_text(int dir, const char *name, const char *file, char *text, size_t size)
{
	char path[300];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", name, file);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* Where threads sleep that wait for a file server, and can be interrupted in it. Of these only FUSE
 * was tried. */
static bool is_of_file_server(const char *wchan)
{
	static const char *const places[] = { "request_wait_answer",
					      "fuse_",
					      "ptlrpc_",
					      "cl_sync_io_",
					      "osc_",
					      "cfs_",
					      "nfs_",
					      "rpc_wait" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!strncmp(wchan, places[i], strlen(places[i])))
			return true;
	return false;
}

/* "PID (NAME) STATE …": the name may hold anything. */
static bool is_blocked(int dir, const char *name)
{
	char text[512], wchan[64];
	const char *at;

	if (!read_text(dir, name, "stat", text, sizeof(text)))
		return false;
	at = strrchr(text, ')');
	if (!at || !at[1])
		return false;
	return at[2] == 'D' ||
	       (at[2] == 'S' && read_text(dir, name, "wchan", wchan, sizeof(wchan)) &&
		is_of_file_server(wchan));
}

double blocked_threads(uint32_t pid, uint32_t most)
{
	_Alignas(struct dirent64) char entries[ENTRIES_BYTES];
	uint32_t blocked = 0, looked = 0, threads;
	char path[64];
	struct stat st;
	long bytes;
	int dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return 0;
	threads = fstat(dir, &st) == 0 && st.st_nlink > 2 ? (uint32_t)st.st_nlink - 2 : 0;
	while (looked < most &&
	       (bytes = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0)
		for (long at = 0; at < bytes && looked < most;) {
			const struct dirent64 *e = (const void *)(entries + at);

			at += e->d_reclen;
			if (e->d_name[0] == '.')
				continue;
			blocked += is_blocked(dir, e->d_name);
			looked++;
		}
	close(dir);
	if (!looked)
		return 0;
	return threads > looked ? (double)blocked * threads / looked : blocked;
}
