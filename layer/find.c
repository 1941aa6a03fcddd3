/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find the daemon and the library for LD_PRELOAD: at the path in the environment, else beside the
 * running program (in the build directory or an installation), else at the configured installation
 * path. So a program never uses parts of another version.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer/layer.h"

/* From meson.build; both relative to the prefix. */
#ifndef SL_PREFIX
#define SL_PREFIX "/usr/local"
#endif
#ifndef SL_LIBDIR
#define SL_LIBDIR "lib"
#endif

/*
 * dir is a real path without links, so removing its last component gives the parent; realpath()
 * would only cost system calls.
 */
static bool fi_try(const char *dir, const char *below, const char *file, char path[PATH_MAX])
{
	const char *up = strrchr(dir, '/');
	int length = (int)strlen(dir);

	if (!strncmp(below, "../", 3) && up) {
		below += 3;
		length = (int)(up - dir);
	} else if (!strcmp(below, ".")) {
		below = "";
	}
	return snprintf(path, PATH_MAX, "%.*s/%s%s%s", length, dir, below, *below ? "/" : "",
			file) < PATH_MAX &&
	       access(path, R_OK) == 0;
}

static int fi_find(const char *variable, const char *file, const char *const *places,
		   char path[PATH_MAX])
{
	const char *given = getenv(variable);
	char here[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", here, sizeof(here) - 1);

	if (given && *given) {
		if (access(given, R_OK) == 0 && realpath(given, path))
			return 0;
		return layer_fail(-ENOENT, "%s is set to %s, which cannot be read.", variable,
				  given);
	}
	if (n > 0) {
		here[n] = 0;
		*strrchr(here, '/') = 0;
		for (const char *const *p = places; *p; p++)
			if (fi_try(here, *p, file, path))
				return 0;
	}
	for (const char *const *p = places; *p; p++)
		if (!strncmp(*p, "../", 3) && fi_try(SL_PREFIX, *p + 3, file, path))
			return 0;
	return layer_fail(-ENOENT,
			  "cannot find %s near this program. Is the installation complete? "
			  "Set %s to its path.",
			  file, variable);
}

int layer_daemon(char path[PATH_MAX])
{
	static const char *const places[] = { ".",	 "../sluiced", "../bin",
					      "../sbin", "../libexec", NULL };

	return fi_find("SLUICED", "sluiced", places, path);
}

int layer_gate(char path[PATH_MAX])
{
	static const char *const places[] = { ".",	    "../client/gate",
					      "../libexec", "../lib/sluice",
					      "../bin",	    NULL };

	return fi_find("SLUICE_GATE_PROGRAM", "sluice-gate", places, path);
}

int layer_httpd(char path[PATH_MAX])
{
	static const char *const places[] = { ".",	 "../httpd",   "../bin",
					      "../sbin", "../libexec", NULL };

	return fi_find("SLUICE_HTTPD", "sluice-httpd", places, path);
}

int layer_program(char path[PATH_MAX])
{
	static const char *const places[] = { ".", "../cli", "../bin", NULL };

	return fi_find("SLUICE_PROGRAM", "sluice", places, path);
}

int layer_tools(char path[PATH_MAX])
{
	static const char *const places[] = { ".", "../libexec", NULL };

	return fi_find("SLUICE_TOOLS", "sluice-tools", places, path);
}

int layer_preload(char path[PATH_MAX])
{
	static const char *const places[] = {
		"../client", ("../" SL_LIBDIR "/sluice"), "../lib/sluice", "../lib64/sluice", ".",
		NULL
	};
	int rc = fi_find("SLUICE_PRELOAD", "libsluice_preload.so", places, path);

	/* ld.so has no way to write these in LD_PRELOAD. */
	if (!rc && strpbrk(path, " :"))
		return layer_fail(-ENOENT,
				  "%s cannot be preloaded: its path must not contain spaces or "
				  "colons.",
				  path);
	return rc;
}
