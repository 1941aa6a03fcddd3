/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the commands of `sluice`: error messages, option parsing, the exit status.
 *
 * A command is `int cmd_NAME(int argc, char **argv)` with its own name in argv[0]; what it
 * returns is the exit status: CLI_OK, CLI_FAILED or CLI_USAGE. It writes results to stdout and
 * need not check each write: main() looks once at the end. Errors go through cli_fail() and
 * cli_usage() only, so that each reads "sluice CMD: what happened. What to do."
 *
 * SIGPIPE is ignored, so that a closed pipe is an error like any other; restore SIG_DFL
 * before starting another program.
 */
#ifndef SL_BASE_CLI_H
#define SL_BASE_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/guess.h"

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

#define CLI_WIDTH 80 /* columns of text output */

/*
 * "sluice CMD: MESSAGE" on stderr; cmd NULL: "sluice: MESSAGE"; cmd "sluiced ionode": a program of
 * its own, named as it is. Returns CLI_FAILED.
 */
int cli_fail(const char *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for wrong use. " See 'sluice CMD --help'." comes after it. Returns CLI_USAGE. */
int cli_usage(const char *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * The exit status for what a function of a library returned: 0 or a negative errno, with the
 * sentences in text. -EINVAL is wrong use.
 */
int cli_result(const char *cmd, int rc, const char *text);
/* "sluice CMD: warning: MESSAGE"; what was asked for is done. */
void cli_warn(const char *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "unknown WHAT 'word'. Did you mean 'best'?", as a usage error. */
int cli_unknown(const char *cmd, const char *what, const struct sl_guess *guess);

/*
 * One entry for each option of a command. The parser, `--help` and the completion of shells are
 * made from these; tests/e2e/man.bats compares the manual with them.
 */
struct cli_option {
	const char *name;   /* long, without "--"; NULL: the end */
	int key;	    /* its letter; or 256 and up, or 0: it has none; or see below */
	const char *arg;    /* what the help calls its value; "[=N]": may be left out; NULL: none */
	const char *help;   /* NULL: taken, for an error that says more, but not shown */
	const char *of;	    /* only for these words of the command; NULL: for all */
	const char *values; /* words; "=a b": only these are taken; "<file>", "<dir>", "<layer>",
			     * "<spec>" (STAGE=POLICY), "<grant>", "<allocate>": a policy */
	bool *flag;	    /* set; or */
	const char **text;  /* gets the value; neither: cli_next() returns the key */
};
enum {
	CLI_WORD = -1,	  /* no option: a word of the command; with .arg "=VALUE" a key */
	CLI_HEADING = -2, /* no option: .name begins a new section of the help */
};

/* Options that many commands have. */
#define CLI_JSON(where)                                            \
	{                                                          \
		"json", 'j', .flag = (where), .help = "print JSON" \
	}
#define CLI_LAYER(where)                                                               \
	{                                                                              \
		"name", 0, "NAME", .values = "<layer>", .text = (where),               \
				   .help = "which layer; not needed if only one is up" \
	}

struct cli_command {
	const char *name;	  /* as it is typed: "sim", "sim --requests" */
	const char *usage;	  /* a line for each form, without "sluice" */
	const char *about, *more; /* paragraphs before and after the options; more NULL: none */
	const struct cli_option *options;
	int arguments; /* other arguments, at most; -1: any number */
	const char
		*takes; /* what these are: dir, file, job, command, program; NULL: none of them */
	bool nested;	/* each CLI_WORD has options and a help of its own */
	bool stops;	/* at the first argument: what follows belongs to that */
};

/*
 * Parses up to the next option that has neither `flag` nor `text`: its key, with the value in
 * optarg. CLI_OK: none is left; other arguments are from optind on. CLI_USAGE: wrong, reported. -1:
 * the help is printed. So a caller that has no such option calls it once, and ends with cli_end()
 * unless CLI_OK. Keys are greater than CLI_USAGE. main() has reset optind.
 */
int cli_next(const struct cli_command *command, int argc, char **argv);
const struct cli_option *cli_find(const struct cli_command *command, int key);
extern bool cli_describes; /* --help prints rows for completion/, not a text */
/* Of the last command whose rows were printed: its words that have a help of their own, up to a NULL. */
#define CLI_NESTED 16
extern const char *cli_nested[CLI_NESTED + 1];
static inline int cli_end(int status)
{
	return status < 0 ? CLI_OK : status;
}

/*
 * Words of `text` to f, broken between words to fit CLI_WIDTH. The cursor is at column `column`;
 * further lines begin with `indent` spaces. Ends the last line.
 */
void cli_wrap(FILE *f, const char *text, unsigned column, unsigned indent);

void cli_hold_standard_streams(void); /* see standard-streams.c */
void cli_ignore_pipe(void);
void cli_restore_pipe(void);
/* Flush stdout; when anything on it failed, say so and make a CLI_OK status CLI_FAILED. */
int cli_finish(int status);

#endif
