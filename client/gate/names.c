/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object of an intercepted metadata call: paths in the program's memory, and descriptors.
 *
 * A path is taken by its text, as the preloaded library does (client/conn/turnfd.c): from the root,
 * or from what /proc says of the thread's working directory or of the descriptor. A path that only
 * leads into the layer by a symbolic link outside of it is not seen.
 *
 *	openat(AT_FDCWD, "../x/f", O_CREAT)    /proc/812/cwd is /scratch/y: /scratch/x/f, create
 *	newfstatat(3, "", …, AT_EMPTY_PATH)    /proc/812/fd/3: the file of the descriptor, lookup
 *
 * The kernel reads the path again when it carries the call out. A program that changes it meanwhile
 * is charged for the other path.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/gate/call.h"
#include "client/gate/calls.h"

#define PIECE 256 /* of a path that is read at once; never reaches into another page */

/* Length, or -1: it cannot be read, or is too long for the kernel. */
static ssize_t read_path(uint32_t tid, uint64_t at, char *path)
{
	size_t length = 0;

	while (length < PATH_MAX) {
		size_t n = PIECE - (at + length) % PIECE;
		const char *end;

		if (n > PATH_MAX - length)
			n = PATH_MAX - length;
		if (!gate_copy_in(tid, at + length, path + length, n))
			return -1;
		end = memchr(path + length, 0, n);
		if (end)
			return end - path;
		length += n;
	}
	return -1;
}

bool gate_path_join(const char *base, const char *path, char *out)
{
	const char *parts[] = { path[0] == '/' ? "" : base, path };
	size_t length = 0;

	for (int i = 0; i < 2; i++)
		for (const char *at = parts[i]; *at;) {
			size_t n = strcspn(at, "/");

			if (n == 2 && at[0] == '.' && at[1] == '.') {
				while (length && out[--length] != '/')
					;
			} else if (n && !(n == 1 && at[0] == '.')) {
				if (length + n + 2 > GATE_PATH)
					return false;
				out[length++] = '/';
				memcpy(out + length, at, n);
				length += n;
			}
			at += n + (at[n] == '/');
		}
	if (!length)
		out[length++] = '/';
	out[length] = 0;
	return true;
}

/* Where relative paths begin; false: not known. */
static bool base_of(uint32_t tid, int dir, char *base)
{
	char link[40];
	ssize_t n;

	if (dir == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%u/cwd", tid);
	else if (dir >= 0)
		snprintf(link, sizeof(link), "/proc/%u/fd/%d", tid, dir);
	else
		return false;
	n = readlink(link, base, PATH_MAX - 1);
	base[n > 0 ? n : 0] = 0;
	return n > 0;
}

static bool is_ours(uint32_t tid, int dir, uint64_t at, uint8_t *part)
{
	char path[PATH_MAX], base[PATH_MAX] = "", whole[GATE_PATH];
	ssize_t length = at ? read_path(tid, at, path) : 0;
	struct gate_file f;

	if (length < 0)
		return false;
	if (!length && dir >= 0) {
		gate_file_look(tid, dir, &f);
		*part = f.part;
		return f.ours;
	}
	path[length] = 0;
	if (path[0] != '/' && !base_of(tid, dir, base))
		return false;
	if (!gate_path_join(base, path, whole) || !gate_is_beneath(whole))
		return false;
	*part = (uint8_t)part_of_path(whole);
	return true;
}

static bool names(const uint64_t *arg, uint8_t dir, uint8_t path, uint32_t tid, uint8_t *part)
{
	if (!dir && !path)
		return false;
	return is_ours(tid, dir ? (int)arg[dir - 1] : AT_FDCWD, path ? arg[path - 1] : 0, part);
}

static bool creates(const struct gate_call *c, uint32_t tid, const uint64_t *arg)
{
	uint64_t flags = 0;

	if (c->create)
		flags = arg[c->create - 1];
	else if (c->create_at && !gate_copy_in(tid, arg[c->create_at - 1], &flags, sizeof(flags)))
		return false;
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

void gate_names(struct gate_work *w, const struct gate_call *c, uint32_t tid, const uint64_t *arg)
{
	if (!names(arg, c->fd, c->path, tid, &w->part) &&
	    !names(arg, c->to, c->to_path, tid, &w->part))
		return;
	w->operation = true;
	w->which = creates(c, tid, arg) ? SL_CREATE : c->op;
}
