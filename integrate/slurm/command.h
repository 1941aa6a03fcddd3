/* SPDX-License-Identifier: Apache-2.0 */
/* Running a program from slurmstepd, as the job's user or as root, for a bounded time. */
#ifndef SL_SLURM_COMMAND_H
#define SL_SLURM_COMMAND_H

#include <slurm/spank.h>
#include <stdbool.h>
#include <sys/types.h>

#define COMMAND_MS \
	10000 /* then it is killed; `sluice run` itself waits for a node for 5 s at most */
#define COMMAND_OUTPUT 16384

struct command_user {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int count;
	char **environment;
};

/* The job's user, with the job's environment. */
bool command_user(spank_t sp, struct command_user *u);
/* Root, with an environment of its own: nothing of the job's gets there. */
const struct command_user *command_root(void);
/* In a child: be this user with all ids, also where slurmstepd is so for the moment only. */
bool command_become(const struct command_user *u);
/* Its status, or -1; what it printed, on either descriptor, in `out`. words[0] is searched in PATH
 * if it has no slash. */
int command_run(const struct command_user *u, const char *const *words, char out[COMMAND_OUTPUT]);
/* Write the text, unless nobody reads it within a second. */
void command_write(int fd, const char *text, size_t length);

#endif
