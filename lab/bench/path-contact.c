/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of starting programs in a layer: rows `contact` of `sluice bench path`, alternating
 *
 *	run    true                 env true            sluice run -- true
 *	exec   sh, 200 × true       env sh, the same    sluice run -- sh, the same
 *	write  sh, 100 × dd         env sh, the same    sluice run -- sh, the same
 *
 * A time is from the start of the process to its end. `run` is the first contact: the time that
 * `sluice run` adds, compared with `env`, the minimum for a program that starts another. `exec` is
 * the time that each further program adds if it does no I/O in the layer, `write` if it writes one
 * small file. Both are compared with env, so the first contact is not included.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cli.h"
#include "lab/bench/common.h"
#include "lab/bench/path.h"
#include "lab/statistics.h"
#include "layer/layer.h"

#define GROUP	  "contact"
#define REPEATS	  200 /* at most */
#define COMMAND	  (PATH_MAX + 200)
#define EXEC_GOAL 0.1 /* ms */
#define RUN_GOAL  1.3

static const struct contact {
	const char *op;
	unsigned programs[2]; /* that the shell starts; full, quick; 0: no shell */
	unsigned repeats[2];
} contacts[] = {
	{ "run", { 0, 0 }, { 200, 20 } },
	{ "exec", { 200, 50 }, { 50, 7 } },
	{ "write", { 100, 20 }, { 50, 7 } },
};
#define CONTACTS (sizeof(contacts) / sizeof(contacts[0]))

struct contact_result {
	double plain_ms, env_ms, sluice_ms; /* of the whole, medians */
	double env_added_ms;		    /* over plain, for the whole */
	double added_ms, low_ms, high_ms;   /* by the layer, for each program; 95 % interval */
};

static bool wanted(const struct path_bench *b, const char *mode, const char *op)
{
	char label[100];

	snprintf(label, sizeof(label), " group=" GROUP " mode=%s op=%s ", mode, op);
	return !b->filter || bench_holds(label, b->filter);
}

bool path_contact_wanted(const struct path_bench *b)
{
	for (const char *const *mode = bench_modes; *mode; mode++)
		for (unsigned i = 0; i < CONTACTS; i++)
			if (wanted(b, *mode, contacts[i].op))
				return true;
	return false;
}

/* From its start to its end, ms; negative: it failed, which is reported. */
static double time_of(const char *const *args)
{
	int64_t start = bench_clock_ns();
	int status = 0, rc;
	pid_t pid;

	rc = posix_spawnp(&pid, args[0], NULL, NULL, (char *const *)(uintptr_t)args, environ);
	if (rc) {
		cli_fail(PATH_CMD, "cannot start %s: %s.", args[0], strerror(rc));
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status && !private_interrupted)
		cli_fail(PATH_CMD, "%s has failed.", args[0]);
	return status ? -1 : (double)(bench_clock_ns() - start) / 1e6;
}

static void command_of(const struct path_bench *b, const struct contact *c, char out[COMMAND])
{
	char program[PATH_MAX + 100] = "/bin/true";

	if (!strcmp(c->op, "write"))
		snprintf(program, sizeof(program),
			 "/bin/dd if=/dev/zero of='%s/s' bs=%u count=1 status=none", b->p.dir,
			 BENCH_SMALL);
	snprintf(out, COMMAND, "i=0; while [ $i -lt %u ]; do %s; i=$((i+1)); done",
		 c->programs[b->quick], program);
}

static int measure(struct path_bench *b, const struct contact *c, const char *mode,
		   struct contact_result *out)
{
	double plain[REPEATS], env[REPEATS], sluice[REPEATS], env_added[REPEATS], added[REPEATS];
	unsigned n = c->repeats[b->quick], programs = c->programs[b->quick];
	char command[COMMAND], program[PATH_MAX];
	const char *const head[3][8] = {
		{ NULL },
		{ "env", NULL },
		{ program, "run", "--mode", mode, "--job", "contact", "--", NULL },
	};
	const char *const tail[] = { programs ? "sh" : "true", programs ? "-c" : NULL, command,
				     NULL };
	double *const time[3] = { plain, env, sluice };

	if (cli_result(PATH_CMD, layer_program(program), layer_error()))
		return CLI_FAILED;
	command_of(b, c, command);
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < 3; k++) {
			const char *args[12] = { NULL };
			unsigned words = 0;

			while (head[k][words]) {
				args[words] = head[k][words];
				words++;
			}
			memcpy(&args[words], tail, sizeof(tail));
			time[k][i] = private_interrupted ? -1 : time_of(args);
			if (time[k][i] < 0)
				return CLI_FAILED;
		}
		env_added[i] = env[i] - plain[i];
		added[i] = programs ? (sluice[i] - env[i]) / programs : sluice[i] - plain[i];
	}
	out->plain_ms = stat_median(plain, n);
	out->env_ms = stat_median(env, n);
	out->sluice_ms = stat_median(sluice, n);
	out->env_added_ms = stat_median(env_added, n);
	out->added_ms = stat_median(added, n);
	stat_median_interval(added, n, &out->low_ms, &out->high_ms);
	return CLI_OK;
}

static void print(struct path_bench *b, const struct contact *c, const char *mode,
		  const struct contact_result *r)
{
	bool run = !strcmp(c->op, "run");
	double goal = strcmp(mode, bench_modes[0]) != 0 || !strcmp(c->op, "write") ? 0
		      : run ? RUN_GOAL * r->env_added_ms
			    : EXEC_GOAL;
	unsigned programs = run ? 1 : c->programs[b->quick];
	char text[16];

	b->rows++;
	if (!b->json_wanted) {
		if (path_print_new(b, GROUP, mode))
			puts("                  ms of the whole      sluice adds, ms a program\n"
			     "op    programs   plain     env  sluice   added  95 %           goal");
		path_print_goal(b, text, goal, 3, r->added_ms <= goal);
		printf("%-6s %7u %7.2f %7.2f %7.2f %7.3f %6.3f-%-6.3f %6s\n", c->op, programs,
		       r->plain_ms, r->env_ms, r->sluice_ms, r->added_ms, r->low_ms, r->high_ms,
		       text);
		fflush(stdout);
		return;
	}
	json_object(&b->json, NULL);
	json_string(&b->json, "group", GROUP);
	json_string(&b->json, "mode", mode);
	json_string(&b->json, "op", c->op);
	json_uint(&b->json, "programs", programs);
	json_uint(&b->json, "pairs", c->repeats[b->quick]);
	json_double(&b->json, "plain_ms", bench_rounded(r->plain_ms, 1e4));
	json_double(&b->json, "env_ms", bench_rounded(r->env_ms, 1e4));
	json_double(&b->json, "sluice_ms", bench_rounded(r->sluice_ms, 1e4));
	json_double(&b->json, "env_added_ms", bench_rounded(r->env_added_ms, 1e4));
	json_double(&b->json, "added_ms", bench_rounded(r->added_ms, 1e4));
	json_double(&b->json, "added_low_ms", bench_rounded(r->low_ms, 1e4));
	json_double(&b->json, "added_high_ms", bench_rounded(r->high_ms, 1e4));
	if (goal > 0) {
		json_double(&b->json, "goal_ms", bench_rounded(goal, 1e4));
		json_bool(&b->json, "goal_met", r->added_ms <= goal);
	}
	json_end(&b->json);
	fflush(b->json.f);
}

int path_contact(struct path_bench *b)
{
	int status = CLI_OK;

	for (const char *const *mode = bench_modes; *mode; mode++)
		for (unsigned i = 0; i < CONTACTS && !status; i++) {
			struct contact_result r;

			if (!wanted(b, *mode, contacts[i].op))
				continue;
			status = measure(b, &contacts[i], *mode, &r);
			if (!status)
				print(b, &contacts[i], *mode, &r);
		}
	return status;
}
