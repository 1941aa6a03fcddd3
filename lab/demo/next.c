/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of `sluice demo`: commands to try next. They work as printed, also after `make run`, when
 * the programs are not in the PATH.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/demo/live.h"
#include "layer/layer.h"

/* Whether the shell's "sluice" is the one that this program belongs to. */
static bool dn_in_path(const char *self)
{
	const char *path = getenv("PATH");
	struct stat own, found;

	if (stat(self, &own))
		return false;
	for (const char *at = path; at && *at; at += strspn(at, ":")) {
		size_t length = strcspn(at, ":");
		char file[PATH_MAX];

		if (snprintf(file, sizeof(file), "%.*s/sluice", (int)length, at) <
			    (int)sizeof(file) &&
		    access(file, X_OK) == 0)
			return stat(file, &found) == 0 && found.st_ino == own.st_ino &&
			       found.st_dev == own.st_dev;
		at += length;
	}
	return false;
}

void demo_next(void)
{
	char self[PATH_MAX], cwd[PATH_MAX];
	size_t length;

	puts("\nTry it on programs of your own, for example:");
	if (!layer_program(self) && !dn_in_path(self)) {
		*strrchr(self, '/') = 0;
		length = getcwd(cwd, sizeof(cwd)) ? strlen(cwd) : 0;
		if (length > 1 && !strncmp(self, cwd, length) && self[length] == '/')
			printf("  export PATH=\"$PWD%s:$PATH\"\n", self + length);
		else
			printf("  export PATH=\"%s:$PATH\"\n", self);
	}
	puts("  mkdir -p ~/scratch\n"
	     "  sluice up --charge calls --capacity 100MB/s ~/scratch\n"
	     "  sluice run -- dd if=/dev/zero of=$HOME/scratch/file bs=1M count=100\n"
	     "  sluice report\n"
	     "  sluice down\n"
	     "'sluice top' and 'sluice dashboard' show which jobs wait, and "
	     "why.\n"
	     "'sluice policy list' names the policies; docs/tutorial.md takes ten minutes.");
}
