/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

enum sl_log_level sl_log_level = SL_LOG_INFO;

static const char *const names[] = { "error", "warn", "info", "debug" };

int sl_log_level_find(const char *name)
{
	for (int i = 0; i <= SL_LOG_DEBUG; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

void sl_log(enum sl_log_level level, const char *format, ...)
{
	char text[512], when[32];
	struct timespec ts;
	struct tm tm;
	va_list ap;

	if (level > sl_log_level)
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	/* One call, so that lines of several threads do not mix. */
	fprintf(stderr, "%s.%03ldZ %s %s\n", when, ts.tv_nsec / 1000000, names[level], text);
}
