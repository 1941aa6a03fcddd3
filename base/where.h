/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a text something is wrong: "FILE:LINE: message". */
#ifndef SL_BASE_WHERE_H
#define SL_BASE_WHERE_H

#include <stdarg.h>
#include <stddef.h>

/* Into err, of `size` bytes; cut where it does not fit. */
void sl_where(char *err, size_t size, const char *file, unsigned long line, const char *format,
	      va_list args) __attribute__((format(printf, 5, 0)));

#endif
