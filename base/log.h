/* SPDX-License-Identifier: Apache-2.0 */
/* Log of the daemons: one line each on stderr, "time level key=value …". Hosts only. */
#ifndef SL_BASE_LOG_H
#define SL_BASE_LOG_H

enum sl_log_level { SL_LOG_ERROR, SL_LOG_WARN, SL_LOG_INFO, SL_LOG_DEBUG };

extern enum sl_log_level sl_log_level; /* less important messages are dropped */

/* The level of that name, or -1. */
int sl_log_level_find(const char *name);
void sl_log(enum sl_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) sl_log(SL_LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  sl_log(SL_LOG_WARN, __VA_ARGS__)
#define log_info(...)  sl_log(SL_LOG_INFO, __VA_ARGS__)
#define log_debug(...) sl_log(SL_LOG_DEBUG, __VA_ARGS__)

#endif
