/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job of a process, from its control group. A program can set SLURM_JOB_ID to any value, but it
 * cannot leave the control group of its resource manager.
 *
 *	9:freezer:/slurm/uid_1000/job_42/step_0/task_0                   Slurm, cgroup v1
 *	4:memory:/slurm_n1/uid_1000/job_42/step_batch                    several slurmd on a machine
 *	0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0      Slurm, cgroup v2
 *	0::/system.slice/n1_slurmstepd.scope/job_42/step_0/user/task_0   several slurmd
 *	0::/user.slice/user-1000.slice/session-3.scope                   a login session
 *
 * Only paths from the root are valid: a user may own a subtree of control groups and name the
 * groups in it slurm/uid_0/job_1.
 */
#ifndef SL_BASE_CGROUP_H
#define SL_BASE_CGROUP_H

#include <sys/types.h>

enum sl_cgroup_kind {
	SL_CGROUP_NONE,
	SL_CGROUP_SESSION, /* of logind: usable as a name, but a user can leave it */
	SL_CGROUP_SLURM,   /* a user cannot leave it */
};

struct sl_cgroup {
	enum sl_cgroup_kind kind;
	char job[32];  /* "42"; "session-3" */
	char step[32]; /* "0", "batch"; "": not known */
};

/* The text of /proc/PID/cgroup. */
void sl_cgroup_parse(const char *text, struct sl_cgroup *out);
/* The cgroup of a process; NONE if it cannot be read. */
void sl_cgroup_of(pid_t pid, struct sl_cgroup *out);

#endif
