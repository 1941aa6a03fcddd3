/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, rates and times as users write them. K M G T P are powers of 1000, Ki Mi Gi Ti Pi powers
 * of 1024; a trailing B and, for rates, /s or ps are accepted: 4096, 64Ki, 1.5GiB, 200M, 100MB/s.
 * Exact: decimal fractions are computed in integers; other fractions are rounded down.
 */
#ifndef SL_BASE_UNITS_H
#define SL_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* -EINVAL: not a number or unknown suffix, -ERANGE: does not fit. *out is written on success only.
 */
int sl_parse_bytes(const char *text, uint64_t *out);
int sl_parse_rate(const char *text, uint64_t *out_bps);
/* "250us", "1.5s", "10m" or "10min", "1h", "2d", "2ms", "7ns"; a bare number is seconds. */
int sl_parse_time(const char *text, int64_t *out_ns);
/* A time, or "auto", which is 0: to be found. */
int sl_parse_period(const char *text, int64_t *out_ns);

/*
 * Short forms for tables, into buf (at least 16 bytes), which is returned: "1.50MiB", "200MB/s",
 * "1.2ms".
 */
const char *sl_format_bytes(char *buf, size_t size, uint64_t bytes); /* binary prefixes */
const char *sl_format_rate(char *buf, size_t size, uint64_t bps);    /* decimal prefixes */
const char *sl_format_time(char *buf, size_t size, int64_t ns);

#endif
