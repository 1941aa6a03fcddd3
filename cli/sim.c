/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice sim`: simulate a machine and its applications under the grant policies. This file reads
 * the options and the scenario; lab/study/run.c does the work.
 */
#include "lab/study/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "lab/study/generate.h"
#include "lab/study/requests.h"
#include "layer/check.h"

enum format { TABLE, JSON, CSV };
enum { OF_DEVICE = 256, OF_WINDOW };

struct request {
	char **paths;
	int n_paths;
	const char *html;
	const char *policy[SIM_MAX_POLICIES];
	uint32_t n_policies;
	enum format format;
	bool apps;
	struct sim_study study;
};

/* ---- options ---- */

static int number_option(const char *name, const char *text, unsigned long low, unsigned long high,
			 unsigned long *out)
{
	if (!check_count(text, low, high, out))
		return CLI_OK;
	return cli_usage(SIM_CMD, "--%s: '%s' is not a whole number from %lu to %lu.", name, text,
			 low, high);
}

static int window_option(const char *text, enum sl_window_mode *out)
{
	struct sl_guess guess = { .word = text };

	if (!strcmp(text, "exact")) {
		*out = SL_WINDOW_EXACT;
		return CLI_OK;
	}
	if (!strcmp(text, "paper")) {
		*out = SL_WINDOW_PAPER;
		return CLI_OK;
	}
	sl_consider(&guess, "exact");
	sl_consider(&guess, "paper");
	if (guess.best)
		return cli_unknown(SIM_CMD, "window mode", &guess);
	return cli_usage(SIM_CMD, "unknown window mode '%s'; write exact or paper.", text);
}

static int format_option(struct request *r, enum format format)
{
	if (r->format != TABLE && r->format != format)
		return cli_usage(SIM_CMD, "give one of --json and --csv.");
	r->format = format;
	return CLI_OK;
}

static int one_option(struct request *r, int opt)
{
	struct sim_study *s = &r->study;
	unsigned long n;
	int status;

	switch (opt) {
	case 'p':
		if (r->n_policies == SIM_MAX_POLICIES)
			return cli_usage(SIM_CMD, "--policy: at most %d can be given.",
					 SIM_MAX_POLICIES);
		r->policy[r->n_policies++] = optarg;
		return CLI_OK;
	case 'w':
		return window_option(optarg, &s->window);
	case 'r':
		if ((status = number_option("repeat", optarg, 1, SIM_MAX_REPEAT, &n)))
			return status;
		s->repeat = (uint32_t)n;
		return CLI_OK;
	case 's':
		if ((status = number_option("seed", optarg, 0, UINT32_MAX, &n)))
			return status;
		s->seed = n;
		return CLI_OK;
	case 'J':
		if ((status = number_option("jobs", optarg, 1, SIM_MAX_JOBS, &n)))
			return status;
		s->threads = (uint32_t)n;
		return CLI_OK;
	case 'j':
		return format_option(r, JSON);
	case 'c':
		return format_option(r, CSV);
	case OF_DEVICE:
		return cli_usage(SIM_CMD, "--device is for --requests.");
	case OF_WINDOW:
		return cli_usage(SIM_CMD, "--window is for --requests; for phases use "
					  "--window-mode and the window of the scenario.");
	default:
		return CLI_USAGE;
	}
}

static int read_options(struct request *r, int argc, char **argv)
{
	const struct cli_option options[] = {
		{ "Other uses, each with its own --help", .key = CLI_HEADING },
		{ "--requests", CLI_WORD, .help = "simulate single requests" },
		{ "--generate", CLI_WORD, " KIND", .help = "write a scenario of this kind" },
		{ "--import-darshan", CLI_WORD, " LOG...",
		  .help = "write a scenario from Darshan logs" },
		{ "policy", 'p', "SPEC", .values = "<grant>",
		  .help = "a grant policy, such as min-max,gamma=50; again for more. Default: "
			  "those of the scenario, else all" },
		{ "window-mode", 'w', "exact|paper", .values = "exact paper",
		  .help = "I/O phases at the edges of the window: count the bytes moved inside, or "
			  "in proportion "
			  "(exact)" },
		{ "repeat", 'r', "N",
		  .help = "number of runs with different seeds: means with 95 % confidence "
			  "intervals" },
		{ "seed", 's', "S", .help = "seed of the first run, default 1" },
		{ "jobs", 'J', "THREADS",
		  .help = "number of runs at a time; default: one on each CPU" },
		{ "detect-periods", 0, NULL, .flag = &r->study.detect,
		  .help = "give policies the detected periods instead of those of the "
			  "scenario" },
		{ "per-app", 'a', NULL, .flag = &r->apps,
		  .help = "print each application as well" },
		{ "html", 'H', "FILE", .text = &r->html, .values = "<file>",
		  .help = "write a page with charts" },
		{ "json", 'j', NULL, .help = "print JSON" },
		{ "csv", 'c', NULL, .help = "print CSV" },
		{ "device", OF_DEVICE, "NAME", .help = NULL },
		{ "window", OF_WINDOW, "N", .help = NULL },
		{ 0 },
	};
	const struct cli_command command = {
		.name = SIM_CMD,
		.usage = "sim SCENARIO.yaml... [OPTION]...\n"
			 "sim --requests [OPTION]... SCENARIO.yaml\n"
			 "sim --generate KIND [OPTION]...\n"
			 "sim --import-darshan LOG... [OPTION]...",
		.about = "Simulates applications that alternate computing and I/O on a machine, "
			 "under each of several grant policies, and compares the results. "
			 "Several scenarios are combined: the machine of the first, with the jobs "
			 "of "
			 "all. '-': standard input.",
		.more = "The policies: sluice policy list. The scenario: sluice-sim(1).",
		.options = options,
		.arguments = -1,
		.takes = "file",
		.nested = true,
	};
	int opt, status;

	while ((opt = cli_next(&command, argc, argv)) > CLI_USAGE)
		if ((status = one_option(r, opt)))
			return status;
	if (opt)
		return opt;
	if (optind == argc)
		return cli_usage(SIM_CMD, "no scenario given.");
	r->paths = argv + optind;
	r->n_paths = argc - optind;
	return CLI_OK;
}

/* ---- the command ---- */

static void free_study(struct sim_study *s)
{
	for (uint32_t p = 0; s->policy && p < s->n_policies + s->n_left_out; p++) {
		free(s->policy[p].run);
		free(s->policy[p].apps);
		sim_trace_free(s->policy[p].trace);
		free(s->policy[p].left_out);
	}
	free(s->policy);
	sl_scenario_free(&s->scenario);
}

static int study(struct request *r)
{
	struct sim_study *s = &r->study;
	int status;

	if ((status = sim_choose(s, r->policy, r->n_policies)) ||
	    (r->html && (status = sim_page_check(r->html))) || (status = sim_run(s)) ||
	    (r->html && (status = sim_page_write(s, r->html))))
		return status;
	if (r->format == JSON)
		sim_print_json(s, r->apps);
	else if (r->format == CSV)
		sim_print_csv(s, r->apps);
	else
		sim_print_table(s, r->apps);
	return CLI_OK;
}

/* Options that select another command. */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} others[] = {
	{ "--generate", sim_generate_main },
	{ "--import-darshan", sim_generate_main },
	{ "--requests", sim_requests_main },
};

static int (*find_other(int argc, char **argv))(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
			if (strlen(others[k].name) == strcspn(argv[i], "=") &&
			    !strncmp(argv[i], others[k].name, strlen(others[k].name)))
				return others[k].run;
	return NULL;
}

int cmd_sim(int argc, char **argv)
{
	int (*other)(int argc, char **argv) = find_other(argc, argv);
	struct request r = { .study = { .seed = 1, .repeat = 1 } };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int status;

	if (other)
		return other(argc, argv);
	r.study.threads = cpus < 1 ? 1 : cpus > SIM_MAX_JOBS ? SIM_MAX_JOBS : (uint32_t)cpus;
	if ((status = read_options(&r, argc, argv)))
		return status < 0 ? CLI_OK : status;
	r.study.trace = r.html != NULL;
	if ((status = sim_read(&r.study.scenario, r.paths, r.n_paths)))
		return status;
	sim_warn(&r.study.scenario);
	status = study(&r);
	free_study(&r.study);
	return status;
}
