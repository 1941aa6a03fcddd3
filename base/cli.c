/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the commands of `sluice`: see cli.h. */
#include "base/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* Print "sluice CMD"; "sluice" if cmd is NULL; "sluiced ionode" unchanged. */
static void cl_name(const char *cmd)
{
	fprintf(stderr, "%s%s%s", cmd && !strncmp(cmd, "sluice", 6) ? "" : "sluice",
		cmd && strncmp(cmd, "sluice", 6) ? " " : "", cmd ? cmd : "");
}

static void cl_report(const char *cmd, const char *format, va_list args)
{
	/* Flush results first, so that they precede the error message with 2>&1. */
	fflush(stdout);
	cl_name(cmd);
	fputs(": ", stderr);
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
	cl_name(cmd);
	fputs(": warning: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	putc('\n', stderr);
}

static int cl_see_help(const char *cmd)
{
	fputs(" See '", stderr);
	cl_name(cmd);
	fputs(" --help'.\n", stderr);
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
