/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice allocate`: compute how many I/O nodes each job would get, and the bandwidth that follows.
 * This file reads the options and the curves; lab/allocate/print.c and lab/allocate/study.c do the
 * work.
 */
#include "lab/allocate/allocate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "lab/page.h"
#include "layer/check.h"
#include "sched/spec.h"

#define MAX_THREADS 1024

struct request {
	struct allocate a;
	const char *jobs, *html;
	bool json, study, range,
		study_option; /* --ionodes was given; an option that needs --study */
};

/* ---- options ---- */

static int count_option(const char *name, const char *text, unsigned long low, unsigned long high,
			uint32_t *out)
{
	unsigned long n;

	if (check_count(text, low, high, &n))
		return cli_usage(ALLOCATE_CMD, "--%s: '%s' is not a whole number from %lu to %lu.",
				 name, text, low, high);
	*out = (uint32_t)n;
	return CLI_OK;
}

/* "12" or "0..128" */
static int range_option(struct request *r, const char *text)
{
	const char *dots = strstr(text, "..");
	char first[32];
	int status;

	r->range = true;
	if (!dots) {
		status = count_option("ionodes", text, 0, ALLOCATE_MAX_IONODES, &r->a.from);
		r->a.to = r->a.from;
		return status;
	}
	snprintf(first, sizeof(first), "%.*s", (int)(dots - text < 30 ? dots - text : 30), text);
	if ((status = count_option("ionodes", first, 0, ALLOCATE_MAX_IONODES, &r->a.from)))
		return status;
	return count_option("ionodes", dots + 2, r->a.from, ALLOCATE_MAX_IONODES, &r->a.to);
}

static int add_policy(struct request *r, const struct sl_policy *p)
{
	if (r->a.n_policies == ALLOCATE_MAX_POLICIES)
		return cli_usage(ALLOCATE_CMD, "--policy: at most %d can be given.",
				 ALLOCATE_MAX_POLICIES);
	r->a.policy[r->a.n_policies++] = (const struct sl_allocate_ops *)p;
	return CLI_OK;
}

static int all_policies(struct request *r)
{
	const struct sl_policy *p;
	int status = CLI_OK;

	for (unsigned i = 0; !status && (p = sl_policy_at(SL_ALLOCATE, i)); i++)
		status = add_policy(r, p);
	return status;
}

static int policy_option(struct request *r, const char *text)
{
	const struct sl_policy *p;
	struct sl_guess guess = { .word = text };
	struct sl_spec spec;
	char err[CHECK_TEXT];

	if (!strcmp(text, "all"))
		return all_policies(r);
	if (!sl_policy_find(SL_ALLOCATE, text, strcspn(text, ","))) {
		for (unsigned i = 0; (p = sl_policy_at(SL_ALLOCATE, i)); i++)
			sl_consider(&guess, p->name);
		if (guess.best)
			return cli_unknown(ALLOCATE_CMD, "allocate policy", &guess);
	}
	if (sl_spec_parse(SL_ALLOCATE, text, &spec, err, sizeof(err)))
		return cli_usage(ALLOCATE_CMD, "%s.", err);
	return add_policy(r, spec.policy);
}

static int study_options(struct request *r, int opt)
{
	uint32_t n = 0;
	int status;

	r->study_option = true;
	switch (opt) {
	case 'n':
		return count_option("sample", optarg, 1, ALLOCATE_MAX_SAMPLE, &r->a.sample);
	case 'r':
		return count_option("repeat", optarg, 1, ALLOCATE_MAX_REPEAT, &r->a.repeat);
	case 's':
		status = count_option("seed", optarg, 0, UINT32_MAX, &n);
		r->a.seed = n;
		return status;
	case 'T':
		return count_option("threads", optarg, 1, MAX_THREADS, &r->a.threads);
	case 'H':
		r->html = optarg;
		return CLI_OK;
	default:
		return CLI_USAGE;
	}
}

static int one_option(struct request *r, int opt)
{
	switch (opt) {
	case 'F':
		return range_option(r, optarg);
	case 'p':
		return policy_option(r, optarg);
	case 'C':
		return count_option("compute-nodes", optarg, 1, UINT32_MAX,
				    &r->a.machine.compute_nodes);
	case 'D':
		r->a.machine.direct = false;
		return CLI_OK;
	default:
		return study_options(r, opt);
	}
}

static int read_options(struct request *r, int argc, char **argv)
{
	const struct cli_option options[] = {
		{ "ionodes", 'F', "F",
		  .help = "I/O nodes of the machine; default: one for each job; with --study A..B, "
			  "default 0..8 times the sample" },
		{ "policy", 'p', "P", .values = "<allocate>",
		  .help = "allocate policy; may be given again; 'all': all policies; default: "
			  "mckp" },
		{ "jobs", 'J', "LIST", .text = &r->jobs,
		  .help = "jobs of the curves, in this order; a job may be given several times; "
			  "default: each once" },
		{ "compute-nodes", 'C', "C",
		  .help = "compute nodes of the machine, for static; default: those of the jobs" },
		{ "no-direct", 'D', NULL, .help = "every job needs an I/O node: no direct access" },
		{ "uneven", 'u', NULL, .flag = &r->a.machine.uneven,
		  .help = "also allow numbers of I/O nodes that do not divide a job's compute "
			  "nodes" },
		{ "study", 'S', .flag = &r->study,
		  .help = "compare the policies on many sets of jobs" },
		CLI_JSON(&r->json),
		{ "With --study: all policies on many random sets of the jobs",
		  .key = CLI_HEADING },
		{ "sample", 'n', "N", .help = "jobs in a set; default 16" },
		{ "repeat", 'r', "N", .help = "sets; default 10000" },
		{ "seed", 's', "S", .help = "default 1" },
		{ "threads", 'T', "N", .help = "default: one on each CPU" },
		{ "html", 'H', "FILE", .values = "<file>", .help = "write a page with charts" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = ALLOCATE_CMD,
		.usage = "allocate [--ionodes F] [--policy P]... [OPTION]... CURVES.csv\n"
			 "allocate --study [--ionodes A..B] [OPTION]... CURVES.csv",
		.about = "Decides how many I/O nodes each job gets, from curves of the bandwidth "
			 "that "
			 "it reaches with each number of nodes: a row for each point, with columns "
			 "job, "
			 "ionodes, bandwidth, nodes, procs.",
		.more = "The policies: sluice policy list allocate. More: sluice-allocate(1).",
		.options = options,
		.arguments = 1,
		.takes = "file",
	};
	int opt, status;

	while ((opt = cli_next(&command, argc, argv)) > CLI_USAGE)
		if ((status = one_option(r, opt)))
			return status;
	if (opt)
		return opt;
	if (optind == argc || !argv[optind])
		return cli_usage(ALLOCATE_CMD, "give a file with curves.");
	r->a.path = argv[optind];
	if (r->study_option && !r->study)
		return cli_usage(
			ALLOCATE_CMD,
			"--sample, --repeat, --seed, --threads and --html are for --study.");
	if (!r->study && r->a.from != r->a.to)
		return cli_usage(ALLOCATE_CMD, "--ionodes: a range is for --study.");
	if (r->range && !r->a.machine.direct && !r->a.from)
		return cli_usage(
			ALLOCATE_CMD,
			"--no-direct needs at least one I/O node, else jobs have no access.");
	return CLI_OK;
}

/* ---- the curves ---- */

static int load(struct request *r)
{
	char err[CURVES_TEXT];
	bool standard = !strcmp(r->a.path, "-");
	FILE *f = standard ? stdin : fopen(r->a.path, "re");
	int rc;

	if (!f)
		return cli_fail(ALLOCATE_CMD, "cannot read %s: %s.", r->a.path, strerror(errno));
	rc = curves_read(f, r->a.path, &r->a.curves, err);
	if (!standard)
		fclose(f);
	if (!rc)
		return CLI_OK;
	cli_fail(ALLOCATE_CMD, "%s", err);
	return rc == -EINVAL ? CLI_USAGE : CLI_FAILED;
}

static int unknown_job(const struct curves *c, const char *word)
{
	struct sl_guess guess = { .word = word };

	for (uint32_t i = 0; i < c->n; i++)
		sl_consider(&guess, c->job[i].name);
	if (guess.best)
		return cli_unknown(ALLOCATE_CMD, "job", &guess);
	return cli_usage(ALLOCATE_CMD, "--jobs: the curves have no job '%s'.", word);
}

/* Those of --jobs, or each once. */
static int choose(struct request *r)
{
	struct allocate *a = &r->a;
	size_t count = a->curves.n;
	const char *at = r->jobs;

	for (const char *c = r->jobs; c && *c; c++)
		count += *c == ',';
	if (!(a->chosen = calloc(count + 1, sizeof(a->chosen[0]))))
		return cli_fail(ALLOCATE_CMD, "out of memory.");
	for (uint32_t i = 0; !r->jobs && i < a->curves.n; i++)
		a->chosen[a->n_chosen++] = i;
	while (at) {
		char word[CURVES_MAX_NAME + 2];
		size_t length = strcspn(at, ",");
		uint32_t i = 0;

		snprintf(word, sizeof(word), "%.*s",
			 (int)(length <= CURVES_MAX_NAME ? length : CURVES_MAX_NAME + 1), at);
		while (i < a->curves.n && strcmp(a->curves.job[i].name, word))
			i++;
		if (i == a->curves.n)
			return unknown_job(&a->curves, word);
		a->chosen[a->n_chosen++] = i;
		at = at[length] ? at + length + 1 : NULL;
	}
	return CLI_OK;
}

/* ---- the command ---- */

static int study(struct request *r)
{
	struct study s;
	int status;

	if (!r->range) {
		r->a.from = r->a.machine.direct ? 0 : 1;
		r->a.to = 8 * r->a.sample < ALLOCATE_MAX_IONODES ? 8 * r->a.sample
								 : ALLOCATE_MAX_IONODES;
	}
	if ((!r->a.n_policies && (status = all_policies(r))) ||
	    (r->html && (status = page_check(ALLOCATE_CMD, r->html))) ||
	    (status = study_run(&r->a, &s)))
		return status;
	if (r->html)
		status = study_page(&s, r->html);
	if (!status && r->json)
		study_print_json(&s);
	else if (!status)
		study_print(&s);
	study_free(&s);
	return status;
}

static int plain(struct request *r)
{
	if (!r->range)
		r->a.from =
			r->a.n_chosen < ALLOCATE_MAX_IONODES ? r->a.n_chosen : ALLOCATE_MAX_IONODES;
	r->a.machine.ionodes = r->a.from;
	if (!r->a.n_policies)
		add_policy(r, sl_policy_at(SL_ALLOCATE, 0));
	return allocate_print(&r->a, r->json);
}

int cmd_allocate(int argc, char **argv)
{
	struct request r = { .a = { .path = "",
				    .machine = { .direct = true },
				    .sample = 16,
				    .repeat = 10000,
				    .seed = 1 } };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int status;

	r.a.threads = cpus < 1 ? 1 : cpus > MAX_THREADS ? MAX_THREADS : (uint32_t)cpus;
	if ((status = read_options(&r, argc, argv)))
		return cli_end(status);
	if (!(status = load(&r)) && !(status = choose(&r)))
		status = r.study ? study(&r) : plain(&r);
	free(r.a.chosen);
	curves_free(&r.a.curves);
	return status;
}
