/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the commands of `sluice`: error messages, option parsing, the exit status.
 *
 * A command is `int cmd_NAME(int argc, char **argv)` with its own name in argv[0]; what it returns
 * is the exit status: CLI_OK, CLI_FAILED or CLI_USAGE. It writes results to stdout and need not
 * check each write: main() checks once at the end. Errors go through cli_fail() and cli_usage()
 * only, so that each has the form "sluice CMD: what happened. What to do."
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
 * Print "sluice CMD: MESSAGE" to stderr; cmd NULL: "sluice: MESSAGE"; cmd "sluiced ionode" is
 * printed unchanged. Returns CLI_FAILED.
 */
int cli_fail(const char *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for wrong usage; appends " See 'sluice CMD --help'." Returns CLI_USAGE. */
int cli_usage(const char *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * The exit status for the result of a library function: 0 or a negative errno, with its message in
 * text. -EINVAL means wrong usage.
 */
int cli_result(const char *cmd, int rc, const char *text);
/* Print "sluice CMD: warning: MESSAGE"; the command itself succeeds. */
void cli_warn(const char *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "unknown WHAT 'word'. Did you mean 'best'?", as a usage error. */
int cli_unknown(const char *cmd, const char *what, const struct sl_guess *guess);

/*
 * One entry for each option of a command. The parser, `--help` and the completion of shells are
 * made from these; tests/e2e/man.bats compares the manual with them.
 */
struct cli_option {
	const char *name;   /* long, without "--"; NULL: the end */
	int key;	    /* its letter; 256 and up, or 0: no letter; or see below */
	const char *arg;    /* what the help calls its value; "[=N]": may be left out; NULL: none */
	const char *help;   /* NULL: accepted but hidden, to give a better error message */
	const char *of;	    /* only for these words of the command; NULL: for all */
	const char *values; /* words; "=a b": only these are accepted; "<file>", "<dir>", "<layer>",
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
	const char *name;	  /* as typed: "sim", "sim --requests" */
	const char *usage;	  /* a line for each form, without "sluice" */
	const char *about, *more; /* paragraphs before and after the options; more NULL: none */
	const struct cli_option *options;
	int arguments; /* other arguments, at most; -1: any number */
	const char
		*takes; /* what these are: dir, file, job, command, program; NULL: none of them */
	bool nested;	/* each CLI_WORD has its own options and help */
	bool stops;	/* stop at the first argument; the rest belongs to it */
};

/*
 * Parse up to the next option that has neither `flag` nor `text`, and return its key, with the
 * value in optarg. CLI_OK: no option is left; other arguments begin at optind. CLI_USAGE: an error
 * was printed. -1: the help was printed. A caller without such options calls it once and returns
 * cli_end() unless it is CLI_OK. Keys are greater than CLI_USAGE. main() has reset optind.
 */
int cli_next(const struct cli_command *command, int argc, char **argv);
const struct cli_option *cli_find(const struct cli_command *command, int key);
extern bool cli_describes; /* --help prints rows for completion/, not a text */
/* The words with their own help of the command whose rows were printed last, up to a NULL. */
#define CLI_NESTED 16
extern const char *cli_nested[CLI_NESTED + 1];
static inline int cli_end(int status)
{
	return status < 0 ? CLI_OK : status;
}

/*
 * Print `text` to f, with lines broken between words to fit CLI_WIDTH. The cursor is at column
 * `column`; further lines begin with `indent` spaces. Ends the last line.
 */
void cli_wrap(FILE *f, const char *text, unsigned column, unsigned indent);

void cli_hold_standard_streams(void); /* see standard-streams.c */
void cli_ignore_pipe(void);
void cli_restore_pipe(void);
/* Flush stdout; if any write to it failed, print an error and turn CLI_OK into CLI_FAILED. */
int cli_finish(int status);

#endif
