/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice explore`: the command. explore.h describes it and lists the files. */
#include "lab/explore/explore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "lab/page.h"
#include "layer/check.h"

#define CMD	    EXPLORE_CMD
#define MAX_THREADS 1024

struct asked {
	const char *spec, *output, *train, *curves, *html, *directory, *darshan;
	bool simulate, json;
	unsigned long threads;
};

static int ex_read(const struct asked *a, struct explore_spec *s)
{
	char err[EXPLORE_TEXT];
	int rc = explore_load(a->spec, s, err, sizeof(err)), status;

	if (!rc && a->darshan && (status = explore_darshan(s, a->darshan)))
		return status;
	if (!rc)
		rc = explore_check(s, a->simulate, err, sizeof(err));
	if (!rc)
		return CLI_OK;
	cli_fail(CMD, "%s.", err);
	return rc == -EINVAL ? CLI_USAGE : CLI_FAILED;
}

static int ex_write(const struct asked *a, const struct explore *e)
{
	struct json j;
	int status = CLI_OK;

	if (a->train)
		status = explore_train_table(e, a->train);
	if (!status && a->curves)
		status = explore_curves(e, a->curves);
	if (!status && a->html)
		status = explore_page(e, a->html);
	if (status)
		return status;
	if (!a->json) {
		explore_print(e);
		return CLI_OK;
	}
	json_begin(&j, stdout);
	json_object(&j, NULL);
	explore_json(&j, e);
	json_end(&j);
	return CLI_OK;
}

/*
 * Check the outputs before anything runs. The file of --output is opened later; it may be in a
 * directory where no other file can be created.
 */
static int ex_check_files(const struct asked *a)
{
	const char *const files[] = { a->output, a->train, a->curves, a->html };
	const size_t n = sizeof(files) / sizeof(files[0]);
	int status = CLI_OK;

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (files[i] && files[k] && !strcmp(files[i], files[k]) &&
			    strncmp(files[i], "/dev/", 5) != 0)
				return cli_usage(
					CMD, "two results cannot be written to the same file, %s.",
					files[i]);
	for (size_t i = 1; !status && i < n; i++)
		if (files[i])
			status = page_check(CMD, files[i]);
	return status;
}

static int ex_explore(const struct asked *a, const struct explore_spec *s)
{
	const char *directory = a->simulate ? NULL : a->directory ? a->directory : s->directory;
	struct explore e;
	int status;

	if (!a->simulate && !directory)
		return cli_usage(CMD,
				 "no directory for files: give --directory, or 'directory:' in "
				 "the file.");
	if ((status = ex_check_files(a)) || (status = explore_cells(&e, s, a->simulate)))
		return status;
	if (a->output)
		status = explore_csv_open(&e, a->output, directory);
	if (!status) {
		e.threads = (uint32_t)a->threads;
		status = a->simulate ? explore_simulate(&e) : explore_live(&e, directory);
	}
	status = explore_csv_close(&e, status);
	if (!status)
		status = ex_write(a, &e);
	explore_cells_free(&e);
	return status;
}

static int ex_options(struct asked *a, int argc, char **argv)
{
	const char *jobs = NULL;
	const struct cli_option options[] = {
		{ "simulate", 'S', NULL, .flag = &a->simulate,
		  .help = "on the device models of SPEC, in virtual time" },
		{ "directory", 'd', "DIR", .text = &a->directory, .values = "<dir>",
		  .help = "files go into a new directory in DIR, which is removed at the end; "
			  "instead of SPEC's" },
		{ "darshan", 0, "LOG", .text = &a->darshan, .values = "<file>",
		  .help = "add a kernel, made from the output of darshan-parser" },
		{ "output", 'o', "FILE", .text = &a->output, .values = "<file>",
		  .help = "a row for each run, CSV; if the file exists, the exploration continues "
			  "where "
			  "it was" },
		{ "train", 0, "FILE", .text = &a->train, .values = "<file>",
		  .help = "write a table for 'sluice train'" },
		{ "curves", 0, "FILE", .text = &a->curves, .values = "<file>",
		  .help = "write curves for 'sluice allocate'" },
		{ "html", 'H', "FILE", .text = &a->html, .values = "<file>",
		  .help = "write a page with charts" },
		{ "jobs", 'J', "N", .text = &jobs,
		  .help = "threads of a simulation (one on each CPU)" },
		CLI_JSON(&a->json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = CMD,
		.usage = "explore [OPTION]... SPEC.yaml",
		.about = "Runs I/O kernels with several numbers of I/O nodes and ways to order "
			 "requests, in a layer of its own or on device models, until their mean "
			 "times "
			 "are accurate enough, and compares them.",
		.more = "Manual: sluice-explore(1), which also describes SPEC.",
		.options = options,
		.arguments = 1,
		.takes = "file",
	};
	int status = cli_next(&command, argc, argv);

	if (status)
		return status;
	if (jobs && check_count(jobs, 1, MAX_THREADS, &a->threads))
		return cli_usage(CMD, "--jobs: '%s' is not a number from 1 to %d.", jobs,
				 MAX_THREADS);
	if (optind == argc)
		return cli_usage(CMD, "no specification given; give a file like "
				      "examples/explore/forge-small.yaml.");
	a->spec = argv[optind];
	if (a->simulate && a->directory)
		return cli_usage(CMD, "--directory is not for --simulate, which writes no files.");
	return CLI_OK;
}

int cmd_explore(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct asked a = { .threads = cpus < 1		   ? 1
				      : cpus > MAX_THREADS ? MAX_THREADS
							   : (unsigned long)cpus };
	struct explore_spec s = { 0 };
	int status;

	if (argc == 3 && !strcmp(argv[1], "--kernel")) /* internal: lab/explore/live.c */
		return explore_kernel_main(argv[2]);
	status = ex_options(&a, argc, argv);

	if (!status)
		status = ex_read(&a, &s);
	if (!status)
		status = ex_explore(&a, &s);
	explore_free(&s);
	return cli_end(status);
}
