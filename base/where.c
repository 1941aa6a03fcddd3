/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about a line of a file: see where.h. */
#include "base/where.h"

#include <stdio.h>

void sl_where(char *err, size_t size, const char *file, unsigned long line, const char *format,
	      va_list args)
{
	int n = snprintf(err, size, "%s:%lu: ", file, line);

	if (n >= 0 && (size_t)n < size)
		vsnprintf(err + n, size - (size_t)n, format, args);
}
