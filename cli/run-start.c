/* SPDX-License-Identifier: Apache-2.0 */
/* Start the program of `sluice run`: with or without a gate, and with its environment. */
#include "cli/run-start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "client/conn/settings.h"
#include "client/gate/filter.h"
#include "client/gate/program.h"

static const char cmd[] = "run";

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 }; /* as shells do */

bool run_forwards(const struct run *r)
{
	const char *mode = r->mode ? r->mode : getenv("SLUICE_MODE");

	return r->connect || (mode && !strcmp(mode, "forward"));
}

/* ---- the gate ---- */

bool run_gate_for_all(const struct run *r)
{
	return r->strict || (r->intercept && !strcmp(r->intercept, "gate"));
}

/* Find sluice-gate, if this job can have a gate. */
int run_gate(struct run *r)
{
	struct gate_kernel kernel;
	int status;

	if ((r->intercept && !strcmp(r->intercept, "preload")) || run_forwards(r))
		return CLI_OK;
	if ((status = cli_layer(cmd, layer_gate(r->gate))))
		return status;
	gate_kernel(&kernel);
	if (r->strict && gate_state() != GATE_OFF && gate_state() != GATE_ON_STRICT)
		return cli_fail(cmd, "this program runs behind a gate that is not strict, which "
				     "cannot be replaced.");
	if (kernel.notify || gate_state() != GATE_OFF)
		return CLI_OK;
	if (r->strict)
		return cli_fail(cmd, "--strict: this kernel cannot run programs behind a gate "
				     "(seccomp user notification, Linux 5.9).");
	r->gate[0] = 0;
	cli_warn(cmd,
		 "this kernel cannot run programs behind a gate (seccomp user notification, "
		 "Linux 5.9)%s; static programs are not scheduled.",
		 run_gate_for_all(r) ? ", so that --intercept gate has no effect" : "");
	return CLI_OK;
}

/* `intercept: strict` in the sluice.yaml of the layer. */
int run_site(struct run *r, const struct layer *l)
{
	char least[16];

	if (layer_read(l, "intercept", least, sizeof(least)) || strcmp(least, "strict") != 0)
		return CLI_OK;
	r->strict = true;
	if (r->print)
		cli_warn(cmd,
			 "layer '%s' requires a strict gate for all programs. Programs that this "
			 "shell "
			 "starts have only the library; the programs that they start run behind "
			 "a gate.",
			 l->name);
	if (!run_forwards(r) && (!r->intercept || !strcmp(r->intercept, "gate")))
		return CLI_OK;
	return cli_fail(cmd,
			"layer '%s' requires a strict gate for all programs (intercept: strict); "
			"leave out %s.",
			l->name, run_forwards(r) ? "--mode forward" : "--intercept");
}

/* ---- the environment ---- */

/*
 * Put our library first: a library that the user preloads stays, and gets the calls that ours
 * passes on.
 */
static void ru_preload(const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	size_t length = strlen(library);
	char *both;

	/* In a nested `sluice run` it is already in the list. */
	for (const char *at = before; at && *at;) {
		size_t word = strcspn(at, " :");

		if (word == length && !memcmp(at, library, length))
			return;
		at += word + strspn(at + word, " :");
	}
	if (!before || !*before) {
		setenv("LD_PRELOAD", library, 1);
	} else if (asprintf(&both, "%s:%s", library, before) > 0) {
		setenv("LD_PRELOAD", both, 1);
		free(both);
	}
}

/* A program linked with gcc's address sanitizer exits if another library is loaded before it. */
static void ru_sanitizer(void)
{
	static const char option[] = "verify_asan_link_order";
	const char *before = getenv("ASAN_OPTIONS");
	char *both;

	if (before && strstr(before, option))
		return;
	if (asprintf(&both, "%s%s%s=0", before ? before : "", before && *before ? ":" : "",
		     option) > 0) {
		setenv("ASAN_OPTIONS", both, 1);
		free(both);
	}
}

/* Behind the gate of another job all calls are that job's. */
static void ru_environment_gate(const struct run *r, const char *inherited)
{
	const char *gate = getenv("SLUICE_GATE");

	if (gate_state() != GATE_OFF &&
	    ((gate && !strcmp(gate, "-")) || !inherited || strcmp(inherited, r->job_name) != 0))
		setenv("SLUICE_GATE", "-", 1);
	else if (*r->gate)
		setenv("SLUICE_GATE", r->gate, 1);
	else
		unsetenv("SLUICE_GATE");
	if (r->strict)
		setenv("SLUICE_STRICT", "1", 1);
	else
		unsetenv("SLUICE_STRICT");
}

void run_environment(const struct run *r, const char *library, const char *words)
{
	const char *inherited = getenv("SLUICE_JOB_ID");

	if (*words)
		setenv("SLUICE_JOB_CONF", words, 1);
	else if (!inherited || strcmp(inherited, r->job_name) != 0)
		unsetenv("SLUICE_JOB_CONF"); /* those of another job */
	setenv("SLUICE_JOB_ID", r->job_name, 1);
	setenv("SLUICE_SOCKET", r->socket, 1);
	setenv("SLUICE_ROOT", r->root, 1);
	if (r->connect)
		setenv("SLUICE_SECRET_FILE", r->secret, 1);
	if (r->mode)
		setenv("SLUICE_MODE", r->mode, 1);
	if (r->timeout)
		setenv("SLUICE_TIMEOUT", r->timeout, 1);
	if (r->fallback)
		setenv("SLUICE_FALLBACK", r->fallback, 1);
	if (r->bypass)
		setenv("SLUICE_BYPASS", r->bypass, 1);
	if (r->uring)
		setenv("SLUICE_IO_URING", r->uring, 1);
	ru_environment_gate(r, inherited);
	ru_preload(library);
	ru_sanitizer();
}

/* Print as shell commands. A quote inside becomes '\\''. */
int run_print(void)
{
	static const char *const names[] = {
		"LD_PRELOAD",	   "ASAN_OPTIONS",    "SLUICE_ROOT",   "SLUICE_SOCKET",
		"SLUICE_JOB_ID",   "SLUICE_JOB_CONF", "SLUICE_MODE",   "SLUICE_SECRET_FILE",
		"SLUICE_FALLBACK", "SLUICE_TIMEOUT",  "SLUICE_BYPASS", "SLUICE_GATE",
		"SLUICE_STRICT",   "SLUICE_IO_URING",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (!value) {
			printf("unset %s\n", names[i]);
			continue;
		}
		printf("export %s='", names[i]);
		for (; *value; value++) {
			if (*value == '\'')
				fputs("'\\''", stdout);
			else
				putchar(*value);
		}
		puts("'");
	}
	return CLI_OK;
}

/* ---- the program ---- */

/* Search as execvp() does; false: not found. */
static bool ru_find(const char *file, char path[PATH_MAX])
{
	const char *dir = getenv("PATH");

	if (strchr(file, '/'))
		return snprintf(path, PATH_MAX, "%s", file) < PATH_MAX;
	for (dir = dir ? dir : "/bin:/usr/bin"; dir; dir = strchr(dir, ':')) {
		dir += *dir == ':';
		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)strcspn(dir, ":"), dir,
			     strcspn(dir, ":") ? "/" : "", file) < PATH_MAX &&
		    access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* Execute the program through sluice-gate, if it needs a gate. */
static void ru_exec_gated(const struct run *r, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	char path[PATH_MAX], **words;
	enum gate_need need;
	size_t n = 0;

	if (!*r->gate || !ru_find(argv[0], path) ||
	    (!r->strict && client_listed(getenv("SLUICE_BYPASS"), slash ? slash + 1 : argv[0])))
		return;
	need = gate_look(path, run_gate_for_all(r));
	if (need == GATE_ABSENT && access(path, X_OK))
		return;
	if ((need == GATE_ABSENT || need == GATE_NONE) && !run_gate_for_all(r))
		return;
	if (need == GATE_PRIVILEGED && !r->strict)
		return;
	while (argv[n])
		n++;
	words = calloc(n + 4, sizeof(*words));
	if (!words)
		return;
	words[0] = (char *)(uintptr_t)r->gate;
	words[1] = (char *)(uintptr_t) "--";
	words[2] = path;
	memcpy(words + 3, argv, n * sizeof(*words));
	execv(r->gate, words);
	free(words);
	if (!r->strict)
		return;
	cli_fail(cmd, "cannot run %s, which --strict needs: %s.", r->gate, strerror(errno));
	exit(EXIT_NOT_EXECUTABLE);
}

int run_exec(const struct run *r, char **argv)
{
	int error;

	cli_restore_pipe();
	ru_exec_gated(r, argv);
	execvp(argv[0], argv);
	error = errno;
	cli_ignore_pipe();
	if (error == ENOENT || error == ENOTDIR) {
		cli_fail(cmd, "command '%s' not found.", argv[0]);
		return EXIT_NOT_FOUND;
	}
	cli_fail(cmd, "cannot run '%s': %s.", argv[0], strerror(error));
	return EXIT_NOT_EXECUTABLE;
}
