/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs from control groups, against texts of /proc/PID/cgroup in the formats of Slurm and systemd. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cgroup.h"

static void check(const char *text, enum sl_cgroup_kind kind, const char *job, const char *step)
{
	struct sl_cgroup g;

	sl_cgroup_parse(text, &g);
	assert_int_equal(g.kind, kind);
	assert_string_equal(g.job, job);
	assert_string_equal(g.step, step);
}

static void test_slurm_v1(void **state)
{
	/* Slurm 22.05, proctrack/cgroup, three slurmd on one machine */
	check("9:name=systemd:/\n8:pids:/\n7:blkio:/\n6:freezer:/slurm_n1/uid_1000/job_42/step_0\n"
	      "5:devices:/\n4:memory:/\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n",
	      SL_CGROUP_SLURM, "42", "0");
	/* RHEL 8, with task_N below the step */
	check("12:pids:/system.slice/slurmd.service\n"
	      "11:memory:/slurm/uid_61234/job_1055432/step_batch/task_0\n"
	      "10:freezer:/slurm/uid_61234/job_1055432/step_batch\n"
	      "1:name=systemd:/system.slice/slurmd.service\n",
	      SL_CGROUP_SLURM, "1055432", "batch");
	check("4:freezer:/slurm/uid_0/job_7\n", SL_CGROUP_SLURM, "7", "");
}

static void test_slurm_v2(void **state)
{
	check("0::/system.slice/slurmstepd.scope/job_30/step_0/user/task_0\n", SL_CGROUP_SLURM,
	      "30", "0");
	check("0::/system.slice/node07_slurmstepd.scope/job_30/step_extern/user/task_special\n",
	      SL_CGROUP_SLURM, "30", "extern");
	check("0::/system.slice/slurmstepd.scope/job_30/step_interactive/user/task_0",
	      SL_CGROUP_SLURM, "30", "interactive"); /* no newline at the end */
}

static void test_sessions(void **state)
{
	check("0::/user.slice/user-1000.slice/session-3.scope\n", SL_CGROUP_SESSION, "session-3",
	      "");
	check("8:pids:/user.slice/user-1000.slice/session-c2.scope\n"
	      "1:name=systemd:/user.slice/user-1000.slice/session-c2.scope\n",
	      SL_CGROUP_SESSION, "session-c2", "");
	/* A resource manager comes first, wherever its line is. */
	check("1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n"
	      "6:freezer:/slurm/uid_1000/job_42/step_0\n",
	      SL_CGROUP_SLURM, "42", "0");
}

static void test_no_job(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n",
		"0::/\n",
		"0::/system.slice/ssh.service\n",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope\n",
		/* A user may have a subtree, and choose names in it. */
		"0::/user.slice/user-1000.slice/user@1000.service/slurm/uid_0/job_1/step_0\n",
		"0::/user.slice/user-1000.slice/u.service/system.slice/slurmstepd.scope/job_1\n",
		"6:freezer:/../slurm/uid_0/job_1\n",
		"6:freezer:/slurm/job_1/step_0\n",
		"6:freezer:/slurm/uid_0/job_/step_0\n",
		"6:freezer:/slurm/uid_0/job_1x/step_0\n",
		"6:freezer:/slurm/uid_0/job_11111111111111111111111111111111111111/step_0\n",
		"6:freezer:/slurmx/uid_0/job_1/step_0\n",
		"0::/system.slice/slurmstepd.scope\n",
		"0::/system.slice/slurmstepd.scope/system\n",
		"0:\n:\n::\n6:freezer\n",
		"slurm/uid_0/job_1",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check(texts[i], SL_CGROUP_NONE, "", "");
}

static void test_process(void **state)
{
	struct sl_cgroup g;

	sl_cgroup_of(-1, &g);
	assert_int_equal(g.kind, SL_CGROUP_NONE);
	sl_cgroup_of(getpid(), &g); /* whatever it is */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slurm_v1), cmocka_unit_test(test_slurm_v2),
		cmocka_unit_test(test_sessions), cmocka_unit_test(test_no_job),
		cmocka_unit_test(test_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
