/* SPDX-License-Identifier: Apache-2.0 */
/* Parse a device: the name of a preset, or key=value pairs separated by commas. */
#include "model/device-spec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define LEAST_BPS 1000000 /* sl_device_submit() */

static bool take(struct sl_device_model *m, const char *key, const char *value)
{
	uint64_t n;
	int64_t ns;

	if (!strcmp(key, "bandwidth") && !sl_parse_rate(value, &n) && n <= SL_MAX_RATE) {
		m->bps[SL_READ] = m->bps[SL_WRITE] = n;
		return true;
	}
	if (!strcmp(key, "streams") && !sl_parse_bytes(value, &n) && n <= SL_DEVICE_STREAMS) {
		m->streams = (uint32_t)n;
		return n >= 1;
	}
	if (sl_parse_time(value, &ns))
		return false;
	if (!strcmp(key, "seek"))
		m->seek_ns[SL_READ] = m->seek_ns[SL_WRITE] = ns;
	else if (!strcmp(key, "op"))
		m->op_ns = ns;
	else
		return false;
	return true;
}

int sl_device_parse(const char *text, struct sl_device_model *m)
{
	const struct sl_device_model *preset = sl_device_find(text);
	char copy[200], *save = NULL;

	if (preset) {
		*m = *preset;
		return 0;
	}
	*m = (struct sl_device_model){ .name = "given", .streams = 1 };
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return -EINVAL;
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		char *value = strchr(word, '=');

		if (!value)
			return -EINVAL;
		*value++ = 0;
		if (!take(m, word, value))
			return -EINVAL;
	}
	return m->bps[SL_READ] >= LEAST_BPS ? 0 : -EINVAL;
}
