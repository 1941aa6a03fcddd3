/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the layer that have another path for the program, by a bind mount or in a container.
 * They are identified by their path inside the file system, which follows from /proc/PID/mountinfo:
 *
 *	supervisor   36 25 8:1 /       /scratch  …    root of the layer /scratch/a: 8:1, /a
 *	program      91 90 8:1 /a/job  /data     …    /data/f:                      8:1, /a/job/f
 *
 * This is looked for only of files on the device of the layer's root and on another mount than
 * that: a line of some hundred is searched, about 30 us, once a second for each file (call.c keeps
 * the answer).
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/conn/settings.h"
#include "client/conn/turn.h"
#include "client/gate/call.h"

#define VALID_NS INT64_C(1000000000)

/* "\040" and its kin, in place. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] && text[3]) {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
				       (text[3] - '0'));
			text += 4;
		} else
			*to++ = *text++;
	}
	*to = 0;
}

/* What comes behind the prefix, which is a directory; NULL: it is not one. */
static const char *behind(const char *path, const char *prefix)
{
	size_t length = strlen(prefix);

	if (length == 1)
		return path;
	return !strncmp(path, prefix, length) && (path[length] == '/' || !path[length])
		       ? path + length
		       : NULL;
}

bool gate_mount_inside(const char *line, uint64_t mount, const char *path, char *device, char *out)
{
	char root[GATE_PATH], point[GATE_PATH];
	unsigned long long id;
	const char *rest;
	int at = 0, n;

	if (sscanf(line, "%llu %*u %23s %n", &id, device, &at) != 2 || id != mount || !at)
		return false;
	n = (int)strcspn(line + at, " ");
	snprintf(root, sizeof(root), "%.*s", n, line + at);
	at += n + (line[at + n] == ' ');
	snprintf(point, sizeof(point), "%.*s", (int)strcspn(line + at, " \n"), line + at);
	unescape(root);
	unescape(point);
	rest = behind(path, point);
	/* "net:[4026531840]": of nsfs */
	return root[0] == '/' && rest && *rest != '.' &&
	       gate_path_join(root, rest[0] == '/' ? rest + 1 : rest, out);
}

#ifdef STATX_MNT_ID
/* In the mounts of `whose`, "self" or a thread. */
static bool find(const char *whose, uint64_t mount, const char *path, char *device, char *out)
{
	char name[40], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%s/mountinfo", whose);
	f = fopen(name, "re");
	while (f && !found && getline(&line, &room, f) > 0)
		found = gate_mount_inside(line, mount, path, device, out);
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* The mounts of a thread are those below its root directory, and by their paths from there. */
static const char *below_root(const char *thread, const char *path)
{
	char link[40], root[PATH_MAX];
	const char *rest;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%s/root", thread);
	n = readlink(link, root, sizeof(root) - 1);
	root[n > 0 ? n : 0] = 0;
	rest = n > 0 ? behind(path, root) : NULL;
	return rest ? rest : path;
}

/* The layer's root. */
static struct {
	pthread_mutex_t lock;
	int64_t until_ns;
	bool known;
	uint64_t mount;
	uint32_t major, minor;
	char device[GATE_DEVICE], inside[GATE_PATH];
} own;

void gate_mounts_start(void)
{
	pthread_mutex_init(&own.lock, NULL);
	own.until_ns = 0;
}

static void learn(void)
{
	const char *root = client_settings()->root;
	struct statx sx;

	own.known = statx(AT_FDCWD, root, AT_STATX_DONT_SYNC, STATX_MNT_ID, &sx) == 0 &&
		    sx.stx_mask & STATX_MNT_ID &&
		    find("self", sx.stx_mnt_id, root, own.device, own.inside);
	if (own.known) {
		own.mount = sx.stx_mnt_id;
		own.major = sx.stx_dev_major;
		own.minor = sx.stx_dev_minor;
	}
	own.until_ns = turn_now_ns() + VALID_NS;
}

bool gate_mount_leads_beneath(uint32_t tid, const char *path, const struct statx *sx)
{
	char device[GATE_DEVICE], inside[GATE_PATH], thread[16];
	bool ours;

	pthread_mutex_lock(&own.lock);
	if (turn_now_ns() > own.until_ns)
		learn();
	ours = own.known && sx->stx_mask & STATX_MNT_ID && (!path || sx->stx_mnt_id != own.mount) &&
	       sx->stx_dev_major == own.major && sx->stx_dev_minor == own.minor;
	pthread_mutex_unlock(&own.lock);
	if (!ours || !path)
		return ours;
	snprintf(thread, sizeof(thread), "%u", tid);
	if (!find("self", sx->stx_mnt_id, path, device, inside) &&
	    !find(thread, sx->stx_mnt_id, below_root(thread, path), device, inside))
		return false;
	pthread_mutex_lock(&own.lock);
	ours = own.known && !strcmp(device, own.device) && behind(inside, own.inside);
	pthread_mutex_unlock(&own.lock);
	return ours;
}
#else
void gate_mounts_start(void)
{
}

bool gate_mount_leads_beneath(uint32_t tid, const char *path, const struct statx *sx)
{
	(void)tid;
	(void)path;
	(void)sx;
	return false;
}
#endif
