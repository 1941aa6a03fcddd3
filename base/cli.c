/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the commands of `sluice`: see cli.h. */
#include "base/cli.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define CLI_MAX_OPTIONS 16

static void cl_report(const char *cmd, const char *format, va_list args)
{
	/* Results printed so far come before the error message, also with 2>&1. */
	fflush(stdout);
	fprintf(stderr, "sluice%s%s: ", cmd ? " " : "", cmd ? cmd : "");
	vfprintf(stderr, format, args);
}

int cli_fail(const char *cmd, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cl_report(cmd, format, args);
	va_end(args);
	putc('\n', stderr);
	return CLI_FAILED;
}

void cli_warn(const char *cmd, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "sluice %s: warning: ", cmd);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	putc('\n', stderr);
}

static int cl_see_help(const char *cmd)
{
	fprintf(stderr, " See 'sluice %s%s--help'.\n", cmd ? cmd : "", cmd ? " " : "");
	return CLI_USAGE;
}

int cli_usage(const char *cmd, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cl_report(cmd, format, args);
	va_end(args);
	return cl_see_help(cmd);
}

int cli_result(const char *cmd, int rc, const char *text)
{
	if (!rc)
		return CLI_OK;
	return rc == -EINVAL ? cli_usage(cmd, "%s", text) : cli_fail(cmd, "%s", text);
}

int cli_unknown(const char *cmd, const char *what, const struct sl_guess *guess)
{
	if (guess->best)
		return cli_usage(cmd, "unknown %s '%s'. Did you mean '%s'?", what, guess->word,
				 guess->best);
	return cli_usage(cmd, "unknown %s '%s'.", what, guess->word);
}

static const struct option *cl_by_val(const struct option *longs, int val)
{
	for (; longs->name; longs++)
		if (longs->val == val)
			return longs;
	return NULL;
}

/* What stands on the command line, without "=value". Unknown, or the beginning of several. */
static int cl_bad_long(const char *cmd, const char *typed, const struct option *longs)
{
	char word[SL_GUESS_WORD + 1];
	struct sl_guess guess = { .word = word };
	size_t length = strcspn(typed, "=");
	unsigned begin_so = 0;

	if (length > SL_GUESS_WORD) {
		cli_usage(cmd, "unknown option '--%.*s'.", (int)(length < 200 ? length : 200),
			  typed);
		return '?';
	}
	memcpy(word, typed, length);
	word[length] = '\0';
	for (const struct option *o = longs; o->name; o++) {
		sl_consider(&guess, o->name);
		begin_so += strncmp(word, o->name, length) == 0;
	}
	if (begin_so > 1)
		cli_usage(cmd, "option '--%s' could mean several; write it out.", word);
	else if (guess.best)
		cli_usage(cmd, "unknown option '--%s'. Did you mean '--%s'?", word, guess.best);
	else
		cli_usage(cmd, "unknown option '--%s'.", word);
	return '?';
}

int cli_getopt(const char *cmd, int argc, char **argv, const char *shorts,
	       const struct option *longs)
{
	const struct option *o;
	char name[40];
	int c;

	opterr = 0;
	optopt = 0;
	c = getopt_long(argc, argv, shorts, longs, NULL);
	if (c != '?' && c != ':')
		return c;
	/* getopt tells apart what was wrong only by optopt: 0 is a long option not in the table. */
	if (optopt == 0)
		return cl_bad_long(cmd, argv[optind - 1] + 2, longs);
	o = cl_by_val(longs, optopt);
	if (o && strncmp(argv[optind - 1], "--", 2) == 0)
		snprintf(name, sizeof(name), "--%s", o->name);
	else
		snprintf(name, sizeof(name), "-%c", optopt);
	if (o && o->has_arg == required_argument)
		cli_usage(cmd, "option '%s' needs a value.", name);
	else if (o)
		cli_usage(cmd, "option '%s' takes no value.", name);
	else
		cli_usage(cmd, "unknown option '%s'.", name);
	return '?';
}

int cli_options(const char *cmd, int argc, char **argv, const struct cli_option *options,
		int arguments, int (*help)(void))
{
	struct option longs[CLI_MAX_OPTIONS + 2] = { { "help", no_argument, NULL, 'h' } };
	char shorts[2 * CLI_MAX_OPTIONS + 2] = "h", *s = shorts + 1;
	int n = 1, opt;

	for (const struct cli_option *o = options; o->name; o++, n++) {
		assert(n <= CLI_MAX_OPTIONS);
		longs[n] = (struct option){ .name = o->name,
					    .has_arg = o->text ? required_argument : no_argument,
					    .val = o->letter ? o->letter : 256 + n };
		if (o->letter)
			*s++ = o->letter;
		if (o->letter && o->text)
			*s++ = ':';
	}
	*s = '\0';
	while ((opt = cli_getopt(cmd, argc, argv, shorts, longs)) != -1) {
		const struct cli_option *o = options;

		for (n = 1; o->name && (o->letter ? o->letter : 256 + n) != opt; n++)
			o++;
		if (o->name && o->text)
			*o->text = optarg;
		else if (o->name)
			*o->flag = true;
		else if (opt != 'h')
			return CLI_USAGE;
		else
			return help() == CLI_OK ? -1 : CLI_FAILED;
	}
	if (argc - optind > arguments)
		return cli_usage(cmd, "unexpected argument '%s'.", argv[optind + arguments]);
	return CLI_OK;
}

void cli_wrap(FILE *f, const char *text, unsigned column, unsigned indent)
{
	bool first = true;

	for (;;) {
		size_t length, columns = 0;

		text += strspn(text, " \n\t");
		length = strcspn(text, " \n\t");
		if (length == 0)
			break;
		for (size_t i = 0; i < length; i++) /* a UTF-8 sequence is one column */
			columns += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (!first && column + 1 + columns > CLI_WIDTH) {
			fprintf(f, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			putc(' ', f);
			column++;
		}
		fwrite(text, 1, length, f);
		column += (unsigned)columns;
		text += length;
		first = false;
	}
	putc('\n', f);
}

int cli_finish(int status)
{
	int failed = ferror(stdout), error;

	errno = 0;
	if (fflush(stdout) != 0)
		failed = 1;
	error = errno;
	/* Some file systems report a full disk or quota only on close. */
	if (close(STDOUT_FILENO) != 0) {
		failed = 1;
		error = error ? error : errno;
	}
	if (!failed)
		return status;
	cli_fail(NULL, "cannot write to standard output%s%s; the result is incomplete.",
		 error ? ": " : "", error ? strerror(error) : "");
	return status == CLI_OK ? CLI_FAILED : status;
}
