/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find the job of a process that `sluice run` starts.
 *
 * In this order: --job; SLUICE_JOB_ID and the variables of batch systems (client/conn/settings.c,
 * which the library uses too); the MPI launcher, so that the ranks of `mpirun -n 4 sluice run --
 * ./a` are one job; else a job of its own.
 *
 * Launchers that use PMIx (Open MPI, PRRTE) name their job in the environment, and so does Cray's.
 * Hydra (MPICH, Intel MPI) only numbers the ranks. There the job is identified by the launcher: the
 * first ancestor without a rank in its environment. With Hydra this is the proxy of this machine,
 * an ancestor of all its ranks, even if shells are in between.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "cli/run.h"
#include "client/conn/client.h"

#define ANCESTORS 64

/* The parent of another process; 0: not known. */
static pid_t rj_parent(pid_t pid)
{
	char path[64], text[512], *end;
	int parent = 0;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = 0;
	end = strrchr(text, ')'); /* "pid (name) S ppid ..." */
	return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Whether its environment has the variable; false if it cannot be read. */
static bool rj_has(pid_t pid, const char *variable)
{
	size_t length = strlen(variable), size = 0;
	char path[64], *word = NULL;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	while (f && !found && getdelim(&word, &size, 0, f) > 0)
		found = !strncmp(word, variable, length) && word[length] == '=';
	free(word);
	if (f)
		fclose(f);
	return found;
}

static pid_t rj_launcher(const char *rank)
{
	pid_t pid = getppid();

	for (int i = 0; pid > 1 && i < ANCESTORS; i++, pid = rj_parent(pid))
		if (!rj_has(pid, rank))
			return pid;
	return 0;
}

/* The name that the MPI launcher gives the job; false: this process is not a rank. */
static bool rj_mpi(char out[CHECK_JOB_NAME + 1])
{
	static const char *const names[] = { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid",
					     "PMI_JOBID", "PALS_APID", "ALPS_APP_ID" };
	static const char *const ranks[] = { "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value) {
			snprintf(out, CHECK_JOB_NAME + 1, "mpi-%s", value);
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		pid_t launcher = getenv(ranks[i]) ? rj_launcher(ranks[i]) : 0;

		if (launcher) {
			snprintf(out, CHECK_JOB_NAME + 1, "mpi-%d", (int)launcher);
			return true;
		}
	}
	return false;
}

bool run_job_name(const char *given, pid_t process, char out[CHECK_JOB_NAME + 1])
{
	const char *value = given ? given : sl_client_job();
	bool own = !value && !rj_mpi(out);

	if (value)
		snprintf(out, CHECK_JOB_NAME + 1, "%s", value);
	else if (own)
		snprintf(out, CHECK_JOB_NAME + 1, "run-%d", (int)process);
	for (char *c = out; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '_';
	return own;
}
