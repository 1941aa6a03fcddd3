/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of failures in layer/: see layer.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "layer/layer.h"

static _Thread_local char error[LAYER_TEXT], warning[LAYER_TEXT];

const char *layer_error(void)
{
	return error;
}

const char *layer_warning(void)
{
	return warning;
}

int layer_fail(int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, sizeof(error), format, args);
	va_end(args);
	return rc;
}

void layer_warn(const char *format, ...)
{
	va_list args;

	warning[0] = 0;
	if (!format)
		return;
	va_start(args, format);
	vsnprintf(warning, sizeof(warning), format, args);
	va_end(args);
}
