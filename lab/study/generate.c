/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice sim --generate KIND`, and the command line that it shares with `--import-darshan FILE...`
 * (import.c): write a scenario, with a comment at its head that describes its origin and the
 * command to make it again. sim/generate.c draws the numbers.
 */
#include "lab/study/generate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "lab/study/asked.h"
#include "sim/generate.h"

#define TEXT 400

static const struct cli_option options[] = {
	{ "generate", OPT_GENERATE, "KIND", .values = "intrepid mira mix iosets persched",
	  .help = "a scenario of this kind" },
	{ "import-darshan", OPT_DARSHAN, "LOG", .values = "<file>",
	  .help = "a scenario of what darshan-parser or darshan-dxt-parser prints; each makes a "
		  "job" },
	{ "seed", OPT_SEED, "S", .help = "equal seeds make equal scenarios (default 1)" },
	{ "apps", OPT_APPS, "N", .help = "number of applications, in the proportions of the kind" },
	{ "small", OPT_SMALL, "N", .help = "number of small applications" },
	{ "large", OPT_LARGE, "N", .help = "number of large applications" },
	{ "very-large", OPT_VERY_LARGE, "N", .help = "number of very large applications" },
	{ "io-ratio", OPT_IO_RATIO, "R",
	  .help = "mean time of I/O over that of computing, alone: 0.2" },
	{ "load", OPT_LOAD, "L",
	  .help = "choose the bandwidth so that all together ask for L times it" },
	{ "vary", OPT_VARY, "P", .help = "computing varies: uniform from x to x + P percent" },
	{ "vary-io", OPT_VARY_IO, "P", .help = "volume varies, in the same way" },
	{ "burst-buffer", OPT_BUFFER, NULL, .help = "with the machine's burst buffer" },
	{ "high", OPT_HIGH, "N",
	  .help = "iosets: number of applications of high frequency (default 1)" },
	{ "hint-error", OPT_HINT_ERROR, NULL,
	  .help = "iosets: the hint of each period is 0.5 or 1.5 times its length" },
	{ "set", OPT_SET, "N", .help = "persched: number of the set, 1 to 10" },
	{ "iterations", OPT_ITERATIONS, "N",
	  .help = "iterations of the longest application; 0: until the window ends. Of logs: N "
		  "equal ones instead of the recorded ones" },
	{ "gap", OPT_GAP, "S",
	  .help = "logs: accesses further apart are two phases (default 1 s)" },
	{ "bandwidth", OPT_BANDWIDTH, "R",
	  .help = "logs: bandwidth of the platform (default: that of the fastest phase)" },
	{ "output", 'o', "FILE", .values = "<file>", .help = "write the scenario to FILE" },
	{ 0 },
};
static const struct cli_command command = {
	.name = SIM_ASKED_USE,
	.usage = "sim --generate KIND [OPTION]... [-o FILE]\n"
		 "sim --import-darshan LOG... [OPTION]... [-o FILE]",
	.about = "Writes a scenario for 'sluice sim' to standard output, or to FILE.\n\nKinds:\n  "
		 "intrepid  small and large applications on that machine (RR-8519, section 4)\n  "
		 "mira      the same on Mira\n  mix       small, large and very large ones on "
		 "Intrepid\n  iosets    jobs of high and of low frequency (RR-9537, section 5)\n  "
		 "persched  a set of applications of ACM TOPC 6(2), Table 2",
	.options = options,
	.arguments = -1,
	.takes = "file",
};

#define MACHINES (1U << SL_GENERATE_INTREPID | 1U << SL_GENERATE_MIRA | 1U << SL_GENERATE_MIX)
#define IOSETS	 (1U << SL_GENERATE_IOSETS)
#define PERSCHED (1U << SL_GENERATE_PERSCHED)
#define DARSHAN	 (1U << SL_GENERATE_KINDS)

/* The kinds that an option applies to; 0: all. */
static const unsigned meant_for[OPT_END - OPT_GENERATE] = {
	[OPT_SEED - OPT_GENERATE] = MACHINES | IOSETS,
	[OPT_APPS - OPT_GENERATE] = MACHINES | IOSETS,
	[OPT_SMALL - OPT_GENERATE] = MACHINES,
	[OPT_LARGE - OPT_GENERATE] = MACHINES,
	[OPT_VERY_LARGE - OPT_GENERATE] = MACHINES,
	[OPT_IO_RATIO - OPT_GENERATE] = MACHINES | IOSETS,
	[OPT_LOAD - OPT_GENERATE] = MACHINES,
	[OPT_VARY - OPT_GENERATE] = MACHINES | IOSETS | PERSCHED,
	[OPT_VARY_IO - OPT_GENERATE] = MACHINES | IOSETS | PERSCHED,
	[OPT_BUFFER - OPT_GENERATE] = MACHINES,
	[OPT_HIGH - OPT_GENERATE] = IOSETS,
	[OPT_HINT_ERROR - OPT_GENERATE] = IOSETS,
	[OPT_SET - OPT_GENERATE] = PERSCHED,
	[OPT_GAP - OPT_GENERATE] = DARSHAN,
	[OPT_BANDWIDTH - OPT_GENERATE] = DARSHAN,
};

/* ---- numbers ---- */

int sim_asked_count(const char *name, const char *text, uint64_t max, uint64_t *out)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n > max)
		return cli_usage(SIM_ASKED_USE, "--%s '%s' is not a whole number from 0 to %llu.",
				 name, text, (unsigned long long)max);
	*out = n;
	return CLI_OK;
}

int sim_asked_real(const char *name, const char *text, double scale, double *out)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || *end || !isfinite(x) || x < 0 ||
	    strspn(text, "0123456789.eE+-") != strlen(text))
		return cli_usage(SIM_ASKED_USE, "--%s '%s' is not a number of 0 or more.", name,
				 text);
	*out = x * scale;
	return CLI_OK;
}

/* ---- writing ---- */

FILE *sim_asked_open(const struct sim_asked *a)
{
	FILE *f = a->output && strcmp(a->output, "-") != 0 ? fopen(a->output, "we") : stdout;

	if (!f)
		cli_fail(SIM_ASKED_CMD, "cannot write %s: %s.", a->output, strerror(errno));
	return f;
}

int sim_asked_close(const struct sim_asked *a, FILE *f, int rc)
{
	if (f != stdout && fclose(f) && !rc)
		rc = -errno;
	return rc ? cli_fail(SIM_ASKED_CMD, "cannot write %s: %s.",
			     a->output ? a->output : "the scenario", strerror(-rc))
		  : CLI_OK;
}

/*
 * Write a word into the comment, quoted so that any file name stays on its line and is one word for
 * a shell.
 */
void sim_asked_word(FILE *f, const char *word)
{
	bool quoted = !*word || strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789_-+=./,:@%") != strlen(word);

	if (quoted)
		fputc('\'', f);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", f);
		else
			fputc((unsigned char)*word < ' ' ? '?' : *word, f);
	if (quoted)
		fputc('\'', f);
}

void sim_asked_command(FILE *f, const struct sim_asked *a)
{
	fputs("#\n#\tsluice sim", f);
	for (const struct cli_option *o = options; o->name; o++) {
		if (o->key < OPT_GENERATE || o->key == OPT_DARSHAN || !sim_asked_value(a, o->key))
			continue;
		fprintf(f, " --%s", o->name);
		if (o->arg) {
			fputc(' ', f);
			sim_asked_word(f, sim_asked_value(a, o->key));
		}
	}
	for (int i = 0; i < a->n_logs; i++) {
		fputs(i ? " " : " --import-darshan ", f);
		sim_asked_word(f, a->logs[i]);
	}
	fputs("\n\n", f);
}

/* ---- --generate ---- */

/* N applications in the kind's proportions, the larger remainders first. */
static void sg_spread(struct sl_generate *g, uint64_t n)
{
	uint64_t all = 0, given = 0;
	uint32_t part[SL_APP_CLASSES];

	for (int i = 0; i < SL_APP_CLASSES; i++)
		all += g->apps[i];
	for (int i = 0; i < SL_APP_CLASSES; i++) {
		part[i] = (uint32_t)(n * g->apps[i] / all);
		given += part[i];
	}
	for (; given < n; given++) {
		int most = 0;

		for (int i = 1; i < SL_APP_CLASSES; i++)
			if (n * g->apps[i] - all * part[i] + all >
			    n * g->apps[most] - all * part[most] + all)
				most = i;
		part[most]++;
	}
	memcpy(g->apps, part, sizeof(part));
}

static int sg_counts(const struct sim_asked *a, struct sl_generate *g)
{
	static const char *const name[] = { "small", "large", "very-large" };
	uint64_t n = 0;
	int rc;

	if (sim_asked_value(a, OPT_APPS)) {
		rc = sim_asked_count("apps", sim_asked_value(a, OPT_APPS), SL_GENERATE_MAX_APPS,
				     &n);
		if (rc)
			return rc;
		if (!n)
			return cli_usage(SIM_ASKED_USE, "--apps 0: there must be one at least.");
	}
	if (g->kind == SL_GENERATE_IOSETS) {
		uint64_t all = n ? n : g->high + g->low, high = g->high;

		if (sim_asked_value(a, OPT_HIGH) &&
		    (rc = sim_asked_count("high", sim_asked_value(a, OPT_HIGH), all, &high)))
			return rc;
		g->high = (uint32_t)high;
		g->low = (uint32_t)(all - high);
		return CLI_OK;
	}
	for (int i = 0; i < SL_APP_CLASSES; i++) {
		const char *text = sim_asked_value(a, OPT_SMALL + i);
		uint64_t of = 0;

		if (text && n)
			return cli_usage(SIM_ASKED_USE, "--apps and --%s: give one of them.",
					 name[i]);
		if (text && (rc = sim_asked_count(name[i], text, SL_GENERATE_MAX_APPS, &of)))
			return rc;
		if (text)
			g->apps[i] = (uint32_t)of;
	}
	if (n && g->kind != SL_GENERATE_PERSCHED)
		sg_spread(g, n);
	return CLI_OK;
}

static int sg_parameters(const struct sim_asked *a, struct sl_generate *g)
{
	const struct {
		int option;
		const char *name;
		double scale, *to;
	} real[] = {
		{ OPT_IO_RATIO, "io-ratio", 1, &g->io_ratio },
		{ OPT_LOAD, "load", 1, &g->load },
		{ OPT_VARY, "vary", 0.01, &g->vary_compute },
		{ OPT_VARY_IO, "vary-io", 0.01, &g->vary_volume },
	};
	uint64_t set = g->set;
	int rc = sg_counts(a, g);

	for (size_t i = 0; i < sizeof(real) / sizeof(real[0]) && !rc; i++)
		if (sim_asked_value(a, real[i].option))
			rc = sim_asked_real(real[i].name, sim_asked_value(a, real[i].option),
					    real[i].scale, real[i].to);
	if (!rc && sim_asked_value(a, OPT_SEED))
		rc = sim_asked_count("seed", sim_asked_value(a, OPT_SEED), UINT64_MAX, &g->seed);
	if (!rc && sim_asked_value(a, OPT_ITERATIONS))
		rc = sim_asked_count("iterations", sim_asked_value(a, OPT_ITERATIONS), 1000000,
				     &g->iterations);
	if (!rc && sim_asked_value(a, OPT_SET))
		rc = sim_asked_count("set", sim_asked_value(a, OPT_SET), 10, &set);
	g->set = (unsigned)set;
	g->buffer = sim_asked_value(a, OPT_BUFFER) != NULL;
	g->hint_error = sim_asked_value(a, OPT_HINT_ERROR) != NULL;
	return rc;
}

static int sg_kind(const char *word, enum sl_generate_kind *out)
{
	struct sl_guess guess = { .word = word };

	for (int i = 0; i < SL_GENERATE_KINDS; i++) {
		if (!strcmp(word, sl_generate_name((enum sl_generate_kind)i))) {
			*out = (enum sl_generate_kind)i;
			return CLI_OK;
		}
		sl_consider(&guess, sl_generate_name((enum sl_generate_kind)i));
	}
	if (guess.best)
		return cli_unknown(SIM_ASKED_USE, "kind of workload", &guess);
	return cli_usage(SIM_ASKED_USE,
			 "unknown kind of workload '%s'; there are intrepid, mira, mix, iosets and "
			 "persched.",
			 word);
}

static int sg_generate(const struct sim_asked *a, enum sl_generate_kind kind)
{
	struct sl_scenario scenario;
	struct sl_generate g;
	char err[TEXT];
	FILE *f;
	int rc;

	sl_generate_defaults(&g, kind);
	rc = sg_parameters(a, &g);
	if (rc)
		return rc;
	rc = sl_generate(&g, &scenario, err, sizeof(err));
	if (rc == -EINVAL)
		return cli_usage(SIM_ASKED_USE, "%s.", err);
	if (rc)
		return cli_fail(SIM_ASKED_CMD, "%s.", err);
	f = sim_asked_open(a);
	if (f) {
		for (const char *s = sl_generate_source(kind); *s; s = strchr(s, '\n') + 1)
			fprintf(f, "# %.*s\n", (int)strcspn(s, "\n"), s);
		sim_asked_command(f, a);
		rc = sim_asked_close(a, f, sl_scenario_save(f, &scenario));
	}
	sl_scenario_free(&scenario);
	return f ? rc : CLI_FAILED;
}

/* ---- the command line ---- */

static int sg_run(struct sim_asked *a)
{
	enum sl_generate_kind kind = SL_GENERATE_KINDS; /* a log */

	if (sim_asked_value(a, OPT_GENERATE)) {
		int rc = sg_kind(sim_asked_value(a, OPT_GENERATE), &kind);

		if (rc)
			return rc;
		if (a->n_logs)
			return cli_usage(SIM_ASKED_USE, "unexpected argument '%s'.", a->logs[0]);
	}
	for (const struct cli_option *o = options; o->name; o++)
		if (o->key > OPT_DARSHAN && sim_asked_value(a, o->key) &&
		    meant_for[o->key - OPT_GENERATE] &&
		    !(meant_for[o->key - OPT_GENERATE] & 1U << kind))
			return cli_usage(SIM_ASKED_USE, "--%s means nothing for %s.", o->name,
					 kind == SL_GENERATE_KINDS ? "a log"
								   : sl_generate_name(kind));
	return kind == SL_GENERATE_KINDS ? sim_import(a) : sg_generate(a, kind);
}

int sim_generate_main(int argc, char **argv)
{
	struct sim_asked a = { 0 };
	struct cli_command own = command;
	int opt, rc;

	if (strstr(argv[1], "import"))
		own.name = "sim --import-darshan";
	/* Check this before an option takes the word as its value. */
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		optind = 0;
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return cli_end(cli_next(&own, 2, (char *[]){ argv[0], argv[i], NULL }));
	}
	optind = 0;
	a.logs = calloc((size_t)argc, sizeof(*a.logs));
	if (!a.logs)
		return cli_fail(SIM_ASKED_CMD, "out of memory.");
	while ((opt = cli_next(&command, argc, argv)) > CLI_USAGE) {
		if (opt == 'o')
			a.output = optarg;
		else if (opt == OPT_DARSHAN)
			a.logs[a.n_logs++] = optarg;
		else
			a.value[opt - OPT_GENERATE] = optarg ? optarg : "";
	}
	if (opt) {
		free(a.logs);
		return cli_end(opt);
	}
	for (int i = optind; i < argc; i++)
		a.logs[a.n_logs++] = argv[i];
	rc = sim_asked_value(&a, OPT_GENERATE) || a.n_logs
		     ? sg_run(&a)
		     : cli_usage(SIM_ASKED_USE, "neither a kind of workload nor a log is given.");
	free(a.logs);
	return rc;
}
