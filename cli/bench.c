/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice bench`: measurements of Sluice itself, each a file lab/bench/WHAT.c and a line here. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "lab/bench/bench.h"
#include "lab/bench/wire.h"
#include "lab/bench/worker.h"

static const struct cli_option benches[] = {
	{ "control", CLI_WORD, .help = "decisions for a whole machine: I/O nodes and grants" },
	{ "path", CLI_WORD, .help = "programs in a layer, against direct access" },
	{ "sched", CLI_WORD, .help = "CPU time of a scheduling decision, for each policy" },
	{ "share", CLI_WORD,
	  .help = "the bandwidth that jobs get, against their guarantees and weights" },
	{ "sim", CLI_WORD, .help = "events per second of the simulator" },
	{ "wire", CLI_WORD, .help = "a file system with a page cache, with and without a layer" },
	{ 0 },
};
static int (*const run[])(int argc, char **argv) = { bench_control, bench_path, bench_sched,
						     bench_share,   bench_sim,	bench_wire };

static const struct cli_command command = {
	.name = "bench",
	.usage = "bench WHAT [OPTION]...",
	.about = "Measures what Sluice itself costs.",
	.more = "'sluice bench WHAT --help' explains one of them; sluice-bench(1) all.",
	.options = benches,
	.arguments = -1,
	.nested = true,
	.stops = true, /* options after WHAT are the measurement's */
};

int cmd_bench(int argc, char **argv)
{
	int status = cli_next(&command, argc, argv), first = optind;
	struct sl_guess guess;

	if (status)
		return cli_end(status);
	if (optind >= argc)
		return cli_usage("bench", "name a measurement, such as 'path'.");
	if (!strcmp(argv[optind], "worker")) /* started by path and share, not by users */
		return bench_worker(argc - optind, argv + optind);
	if (!strcmp(argv[optind], "load")) /* of wire */
		return bench_load(argc - optind, argv + optind);
	guess = (struct sl_guess){ .word = argv[optind] };
	for (size_t i = 0; benches[i].name; i++) {
		if (!strcmp(benches[i].name, argv[first])) {
			optind = 0; /* glibc: restart getopt() for another argument vector */
			return run[i](argc - first, argv + first);
		}
		sl_consider(&guess, benches[i].name);
	}
	return cli_unknown("bench", "measurement", &guess);
}
