/* SPDX-License-Identifier: Apache-2.0 */
/* What all fuzz targets have: the entry that libFuzzer calls, and a check that ends the run. */
#ifndef SL_TESTS_FUZZ_H
#define SL_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                \
	do {                                                                    \
		if (!(x)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                \
		}                                                               \
	} while (0)

/* A message is "f:LINE: words", and the text has that line. */
static inline void names_a_line(const char *err, const uint8_t *data, size_t size)
{
	unsigned long line, lines = 1;
	char *end;

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	CHECK(!strncmp(err, "f:", 2));
	line = strtoul(err + 2, &end, 10);
	CHECK(line >= 1 && line <= lines);
	CHECK(!strncmp(end, ": ", 2) && end[2]);
}

#endif
