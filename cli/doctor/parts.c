/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check that the parts of this installation exist, have the same version and work; and check the
 * runtime directory for the remains of crashed layers.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor/doctor.h"
#include "layer/layer.h"

#define PATIENCE_MS 10000
#define MARK	    "sluice-preload-version=" /* client/preload/real.c */

/*
 * Read the output of a program, as far as it fits. preload: a library for LD_PRELOAD, or NULL. True
 * if it ended with status 0 within PATIENCE_MS; otherwise it is killed.
 */
static bool dp_run(const char *const *args, const char *preload, char *out, size_t size)
{
	int fds[2], status = 1;
	size_t used = 0;
	bool late = false;
	pid_t pid;

	out[0] = 0;
	if (pipe2(fds, O_CLOEXEC))
		return false;
	pid = fork();
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		dup2(fds[1], STDOUT_FILENO);
		/* Drop the loader's error message, which contains the name of the library. */
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execvp(args[0], (char *const *)args);
		_exit(127);
	}
	close(fds[1]);
	while (pid > 0 && !late) {
		struct pollfd p = { .fd = fds[0], .events = POLLIN };
		char rest[4096];
		ssize_t n;

		if (poll(&p, 1, PATIENCE_MS) == 0)
			late = true;
		n = late ? 0 : read(fds[0], rest, sizeof(rest));
		if (n <= 0)
			break;
		if ((size_t)n > size - 1 - used)
			n = (ssize_t)(size - 1 - used);
		memcpy(out + used, rest, (size_t)n);
		used += (size_t)n;
		out[used] = 0;
	}
	close(fds[0]);
	if (late)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Check another program of this installation, which must have the same version. */
static void dp_program(struct doctor *d, const char *name, int (*find)(char path[PATH_MAX]))
{
	char path[PATH_MAX], text[200], expected[64];

	if (find(path)) {
		doctor_say(d, DOCTOR_FAIL, name, NULL, "%s", layer_error());
		return;
	}
	snprintf(expected, sizeof(expected), "%s %s", name, SL_VERSION);
	if (!dp_run((const char *[]){ path, "--version", NULL }, NULL, text, sizeof(text))) {
		doctor_say(d, DOCTOR_FAIL, name,
			   "Check with 'ldd' that it is for this machine and that its libraries "
			   "exist.",
			   "%s does not run", path);
		return;
	}
	text[strcspn(text, "\n")] = 0;
	if (strcmp(text, expected) != 0)
		doctor_say(d, DOCTOR_FAIL, name,
			   "Reinstall all parts from the same sources; SLUICED may point to an "
			   "old one.",
			   "%s says '%.60s', but this is version %s", path, text, SL_VERSION);
	else
		doctor_say(d, DOCTOR_OK, name, NULL, "%s, %s", SL_VERSION, path);
}

/* The version that the library was built with; false: it is not a library of this project. */
static bool dp_version(const char *path, char out[32])
{
	const char *at = NULL, *map;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	map = fstat(fd, &st) == 0 && st.st_size > 0
		      ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
		      : MAP_FAILED;
	close(fd);
	if (map == MAP_FAILED)
		return false;
	at = memmem(map, (size_t)st.st_size, MARK, strlen(MARK));
	if (at)
		snprintf(out, 32, "%.*s",
			 (int)strnlen(at + strlen(MARK),
				      (size_t)st.st_size - (size_t)(at - map) - strlen(MARK)),
			 at + strlen(MARK));
	munmap((void *)map, (size_t)st.st_size);
	return at;
}

/* The program's own map of memory shows whether it has the library. */
static void dp_preload(struct doctor *d)
{
	static const char name[] = "preload";
	char path[PATH_MAX], version[32], *maps = malloc(1 << 20);
	bool works;

	if (!maps || layer_preload(path)) {
		doctor_say(d, DOCTOR_FAIL, name, NULL, "%s", maps ? layer_error() : "no memory");
		free(maps);
		return;
	}
	if (!dp_version(path, version)) {
		doctor_say(d, DOCTOR_FAIL, name,
			   "Reinstall it; SLUICE_PRELOAD may point to another file.",
			   "%s is not this project's library", path);
		free(maps);
		return;
	}
	works = dp_run((const char *[]){ access("/bin/cat", X_OK) ? "cat" : "/bin/cat",
					 "/proc/self/maps", NULL },
		       path, maps, 1 << 20) &&
		strstr(maps, path);
	free(maps);
	if (strcmp(version, SL_VERSION) != 0)
		doctor_say(d, DOCTOR_FAIL, name, "Reinstall all parts from the same sources.",
			   "%s is version %s, but this is %s", path, version, SL_VERSION);
	else if (!works)
		doctor_say(d, DOCTOR_FAIL, name,
			   "Programs that are linked statically, or run with other rights "
			   "(set-user-ID), cannot load it either; all others must.",
			   "LD_PRELOAD does not load %s into a program", path);
	else
		doctor_say(d, DOCTOR_OK, name, NULL, "%s, %s, works", SL_VERSION, path);
}

/* The server of the dashboard; nothing else needs it. */
static void dp_httpd(struct doctor *d)
{
	static const char name[] = "sluice-httpd";
	char path[PATH_MAX];

	if (layer_httpd(path))
		doctor_say(d, DOCTOR_WARN, name, "Only 'sluice dashboard' needs it.", "%s",
			   layer_error());
	else if (access(path, X_OK))
		doctor_say(d, DOCTOR_WARN, name, "Only 'sluice dashboard' needs it.", "%s: %s",
			   path, strerror(errno));
	else
		doctor_say(d, DOCTOR_OK, name, NULL, "%s", path);
}

void doctor_parts(struct doctor *d)
{
	dp_program(d, "sluiced", layer_daemon);
	dp_preload(d);
	dp_httpd(d);
}

/* ---- layers ---- */

void doctor_runtime(struct doctor *d)
{
	char path[PATH_MAX], advice[DOCTOR_TEXT];
	struct layer_seen *all = NULL;
	unsigned up = 0, died = 0;
	struct layer l;
	size_t n;

	if (layer_runtime(false, path) || layer_open(&l, NULL, false) || layer_all(&all, &n)) {
		doctor_say(d, DOCTOR_FAIL, "runtime", NULL, "%s", layer_error());
		return;
	}
	for (size_t i = 0; i < n; i++) {
		up += all[i].state == LAYER_UP;
		died += all[i].state == LAYER_DIED;
	}
	if (access(path, F_OK)) {
		char parent[PATH_MAX];

		memcpy(parent, path, sizeof(parent));
		if (access(dirname(parent), W_OK | X_OK))
			doctor_say(d, DOCTOR_FAIL, "runtime",
				   "Set SLUICE_RUNTIME to a directory of your own.",
				   "cannot create %.200s: %s", path, strerror(errno));
		else
			doctor_say(d, DOCTOR_OK, "runtime", NULL, "'sluice up' will create %.200s",
				   path);
	} else {
		doctor_say(d, DOCTOR_OK, "runtime", NULL, "%.200s, %u layer%s up", path, up,
			   up == 1 ? "" : "s");
	}
	for (size_t i = 0; i < n; i++) {
		char dead[200];

		if (all[i].state == LAYER_DIED) {
			snprintf(advice, sizeof(advice),
				 "'sluice up --revive --name %s' restarts it with the same "
				 "settings; "
				 "'sluice down --name %s' removes its files; its log is "
				 "%.200s/log.",
				 all[i].layer.name, all[i].layer.name, all[i].layer.dir);
			doctor_say(d, DOCTOR_WARN, "leftovers", advice, "layer '%s' has died",
				   all[i].layer.name);
		} else if (all[i].state == LAYER_UP &&
			   layer_dead(&all[i].layer, dead, sizeof(dead))) {
			snprintf(advice, sizeof(advice),
				 "'sluice up --revive --name %s' restarts them.",
				 all[i].layer.name);
			doctor_say(d, DOCTOR_WARN, "leftovers", advice,
				   "members of layer '%s' have died: %s", all[i].layer.name, dead);
			died++;
		}
	}
	if (!died)
		doctor_say(d, DOCTOR_OK, "leftovers", NULL, "no crashed layers");
	free(all);
}
