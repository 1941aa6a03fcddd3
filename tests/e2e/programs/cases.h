/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that run one of their cases, by its name, and say what went wrong. */
#ifndef TESTS_E2E_PROGRAMS_CASES_H
#define TESTS_E2E_PROGRAMS_CASES_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct program_case {
	const char *name;
	void (*run)(void);
};

/* 0 after the case of this name; 2: there is none. */
static inline int run_case(const char *name, const struct program_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, cases[i].name)) {
			cases[i].run();
			return 0;
		}
	return 2;
}

#define RUN_CASE(name, cases) run_case(name, cases, sizeof(cases) / sizeof(cases[0]))

/* Ends the program with a line and the reason in errno. */
__attribute__((format(printf, 1, 2), noreturn)) static inline void fail(const char *format, ...)
{
	int error = errno;
	va_list ap;

	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf(" (%s)\n", strerror(error));
	fflush(stdout);
	_exit(1);
}

/* Opens a file, with mode 0644 if O_CREAT makes it. */
static inline int make(const char *name, int flags)
{
	int fd = open(name, flags, 0644);

	if (fd < 0)
		fail("open %s", name);
	return fd;
}

#endif
