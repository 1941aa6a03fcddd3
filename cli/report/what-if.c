/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice report --what-if`: simulate the jobs of an account under each grant policy. Phases are
 * found in the spans: I/O after a pause of more than GAP_S begins a new phase.
 *
 *	spans of a job with I/O at 0-2, 2-4, 10-12, 12-14 s, 1 GB each: two phases of 2 GB, and 6 s
 * between
 *
 * Jobs with one phase are left out, because their period is unknown.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/report/report.h"
#include "layer/layer.h"
#include "sim/what-if.h"

#define CMD   REPORT_CMD
#define GAP_S 1.0

static double begin_of(const struct report_row *w)
{
	return w->end_s - w->seconds + w->first_s;
}

static double end_of(const struct report_row *w)
{
	return w->end_s - w->seconds + w->last_s;
}

static int by_begin(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return begin_of(x) < begin_of(y) ? -1 : begin_of(x) > begin_of(y);
}

/* The highest bandwidth of all jobs together in a span of a node. */
static double peak_bps(const struct report *r)
{
	double *bps = calloc(r->spans + 1, sizeof(*bps)), most = 0;

	for (size_t i = 0; bps && i < r->rows; i++) {
		const struct report_row *w = &r->row[i];

		bps[w->span] += ((double)w->bytes[0] + (double)w->bytes[1]) / w->seconds;
		most = fmax(most, bps[w->span]);
	}
	free(bps);
	return most;
}

/* Find the phases in the rows of one job, sorted by their begin. Returns their number. */
static unsigned phases(const struct report_row *w, size_t rows, struct what_if_job *job)
{
	double end = 0, pauses_s = 0, bytes = 0;
	unsigned count = 0;

	for (size_t i = 0; i < rows; i++) {
		if (w[i].bytes[0] + w[i].bytes[1] == 0)
			continue;
		if (count && begin_of(&w[i]) - end > GAP_S)
			pauses_s += begin_of(&w[i]) - end;
		count += !count || begin_of(&w[i]) - end > GAP_S;
		end = fmax(end, end_of(&w[i]));
		bytes += (double)w[i].bytes[0] + (double)w[i].bytes[1];
	}
	job->procs = 1;
	job->compute_s = count > 1 ? pauses_s / (count - 1) : 0;
	job->bytes = count ? bytes / count : 0;
	return count;
}

/* `sluice sim` on the scenario; it prints. */
static int simulate(const char *scenario, bool as_json)
{
	char program[PATH_MAX];
	int in = memfd_create("scenario", 0), status = cli_layer(CMD, layer_program(program));
	ssize_t length = (ssize_t)strlen(scenario);
	pid_t pid;

	if (status)
		return status;
	if (in < 0 || write(in, scenario, (size_t)length) != length || lseek(in, 0, SEEK_SET))
		return cli_fail(CMD, "cannot pass the jobs on to the simulator.");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (dup2(in, 0) == 0)
			execl(program, program, "sim", "-", as_json ? "--json" : NULL, NULL);
		_exit(127);
	}
	close(in);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return cli_fail(CMD, "the simulator failed.");
	return WEXITSTATUS(status);
}

int report_what_if(struct report *r, double bandwidth_bps, bool as_json)
{
	struct what_if_job *job = calloc(r->jobs + 1, sizeof(*job));
	char *scenario = NULL, rate[32];
	size_t jobs = 0, left = 0;
	int status;

	if (!job)
		return cli_fail(CMD, "out of memory.");
	if (bandwidth_bps <= 0)
		bandwidth_bps = peak_bps(r);
	qsort(r->row, r->rows, sizeof(r->row[0]), by_begin);
	for (size_t i = 0, n; i < r->rows; i += n) {
		for (n = 1; i + n < r->rows && r->row[i].job == r->row[i + n].job; n++)
			;
		job[jobs].name = r->job[r->row[i].job].name;
		if (phases(&r->row[i], n, &job[jobs]) > 1)
			jobs++;
		else if (!as_json)
			printf("%s%s", left++ ? ", " : "Left out, with only one I/O phase: ",
			       job[jobs].name);
	}
	if (left)
		printf(".\n");
	if (jobs)
		scenario = what_if_scenario(job, jobs, bandwidth_bps);
	if (scenario && !as_json)
		printf("The %zu job%s with several I/O phases, on a file system of %s, under each "
		       "grant "
		       "policy:\n\n",
		       jobs, jobs == 1 ? "" : "s",
		       sl_format_rate(rate, sizeof(rate), (uint64_t)bandwidth_bps));
	if (scenario)
		status = simulate(scenario, as_json);
	else
		status = cli_fail(CMD,
				  jobs ? "out of memory."
				       : "--what-if needs a job with several I/O phases; there is "
					 "none in this account.");
	cJSON_free(scenario);
	free(job);
	return status;
}
