/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice bench`: measurements of Sluice itself, each a file lab/bench/WHAT.c and a line here. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "lab/bench/bench.h"
#include "lab/bench/wire.h"
#include "lab/bench/worker.h"

static const struct bench {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} benches[] = {
	{ "control", "decisions for a whole machine: I/O nodes and grants", bench_control },
	{ "path", "programs in a layer, against direct access", bench_path },
	{ "sched", "CPU time of a scheduling decision, for each policy", bench_sched },
	{ "share", "what jobs get, against what they were promised", bench_share },
	{ "sim", "events that the simulator does in a second", bench_sim },
	{ "wire", "a file system with a page cache, with and without a layer", bench_wire },
};

#define BENCHES (sizeof(benches) / sizeof(benches[0]))

static int bn_help(void)
{
	puts("usage: sluice bench WHAT [OPTION]...\n"
	     "\n"
	     "What can be measured:");
	for (size_t i = 0; i < BENCHES; i++)
		printf("  %-9s %s\n", benches[i].name, benches[i].summary);
	puts("\n"
	     "'sluice bench WHAT --help' explains one of them; sluice-bench(1) all.");
	return CLI_OK;
}

int cmd_bench(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct sl_guess guess;

	/* The "+" stops at the name: options after it are the measurement's. */
	switch (cli_getopt("bench", argc, argv, "+h", longs)) {
	case 'h':
		return bn_help();
	case '?':
		return CLI_USAGE;
	}
	if (optind >= argc)
		return cli_usage("bench", "nothing to measure was named, such as 'path'.");
	if (!strcmp(argv[optind], "worker")) /* a part of path and share, not for people */
		return bench_worker(argc - optind, argv + optind);
	if (!strcmp(argv[optind], "load")) /* of wire */
		return bench_load(argc - optind, argv + optind);
	guess = (struct sl_guess){ .word = argv[optind] };
	for (size_t i = 0; i < BENCHES; i++) {
		if (!strcmp(benches[i].name, argv[optind])) {
			int first = optind;

			optind = 0; /* glibc: begin anew with another argument vector */
			return benches[i].run(argc - first, argv + first);
		}
		sl_consider(&guess, benches[i].name);
	}
	return cli_unknown("bench", "measurement", &guess);
}
