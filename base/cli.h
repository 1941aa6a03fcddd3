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

/* "sluice CMD: MESSAGE" on stderr; cmd NULL: "sluice: MESSAGE". Returns CLI_FAILED. */
int cli_fail(const char *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for wrong use. " See 'sluice CMD --help'." comes after it. Returns CLI_USAGE. */
int cli_usage(const char *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The exit status for what a function of a library returned: 0 or a negative errno, with the
 * sentences in text. -EINVAL is wrong use. */
int cli_result(const char *cmd, int rc, const char *text);
/* "sluice CMD: warning: MESSAGE"; what was asked for is done. */
void cli_warn(const char *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "unknown WHAT 'word'. Did you mean 'best'?", as a usage error. */
int cli_unknown(const char *cmd, const char *what, const struct sl_guess *guess);

/*
 * getopt_long() that reports errors in our voice, with cmd as above. Returns the option, -1 after
 * the last, or '?' when it has reported an error: return CLI_USAGE then. Every long option needs
 * a `val` that is not 0 ('j', or 256 and up) and `flag` NULL. main() has reset optind.
 */
int cli_getopt(const char *cmd, int argc, char **argv, const char *shorts,
	       const struct option *longs);

/*
 * The same for commands whose options are switches and words: each sets *flag, or puts its value
 * into *text. --help calls help() and is always there. CLI_OK: all taken, and none but `arguments`
 * others are left from optind on. Else the command ends, with CLI_USAGE or -1: return
 * cli_end(status) then.
 */
struct cli_option {
	const char *name; /* NULL: the end */
	char letter;	  /* 0: none */
	bool *flag;
	const char **text;
};
int cli_options(const char *cmd, int argc, char **argv, const struct cli_option *options,
		int arguments, int (*help)(void));
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
