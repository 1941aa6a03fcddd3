/* SPDX-License-Identifier: Apache-2.0 */
/* What sensors read: see sensor.h. Pure. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluiced/ionode/sensor.h"

#define SECTOR 512

int sensor_parse_number(const char *text, double *out)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || !isfinite(number) || number < 0 || !strchr(" \t\r\n", *end))
		return -EINVAL;
	*out = number;
	return 0;
}

/* Documentation/block/stat.rst: read I/Os, merges, sectors, ticks; the same of writes; in flight, …
 */
int sensor_parse_block(const char *text, struct sensor_reading *out)
{
	uint64_t read, written;

	if (sscanf(text, "%*u %*u %" SCNu64 " %*u %*u %*u %" SCNu64, &read, &written) != 2)
		return -EINVAL;
	out->bytes[0] = read * SECTOR;
	out->bytes[1] = written * SECTOR;
	out->has_bytes = true;
	return 0;
}

/* The line after this one, or NULL. */
static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end && end[1] ? end + 1 : NULL;
}

static const char *unindented(const char *line)
{
	return line + strspn(line, " \t");
}

static bool starts(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

/* "device SERVER:/EXPORT mounted on MOUNT with fstype nfs4 statvers=1.1" */
static bool is_mount(const char *line, const char *mount)
{
	const char *on = strstr(line, " mounted on "), *end = strchr(line, '\n');
	size_t length = strlen(mount);

	if (!starts(line, "device ") || !on || (end && on > end))
		return false;
	on += sizeof(" mounted on ") - 1;
	return !strncmp(on, mount, length) && starts(on + length, " with fstype nfs");
}

/*
 * nfsiostat(8) and fs/nfs/super.c: "bytes:" has normal read, written, direct read, written, server
 * read, written, pages read, written; an operation has its number, transmissions, timeouts, bytes
 * sent and received, and the times in queue, of the round trip and in all, in milliseconds.
 */
int sensor_parse_nfs(const char *text, const char *mount, struct sensor_reading *out)
{
	const char *line = text;
	bool found = false;

	while (line && !is_mount(line, mount))
		line = next_line(line);
	while (line && (line = next_line(line)) && !starts(line, "device ")) {
		const char *at = unindented(line);
		double all_ms;

		if (starts(at, "bytes:") &&
		    sscanf(at, "bytes: %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &out->bytes[0],
			   &out->bytes[1]) == 2)
			found = out->has_bytes = true;
		if ((starts(at, "READ:") || starts(at, "WRITE:")) &&
		    sscanf(strchr(at, ':') + 1, "%*u %*u %*u %*u %*u %*u %*u %lf", &all_ms) == 1) {
			out->busy_s += all_ms / 1e3;
			out->has_busy = true;
		}
	}
	return found ? 0 : -EINVAL;
}

/* lctl get_param osc.*.rpc_stats: "read RPCs in flight:  3", "write RPCs in flight: 8", "pending
 * write pages: …" */
int sensor_parse_lustre(const char *text, struct sensor_reading *out)
{
	static const char *const keys[] = { "read RPCs in flight:", "write RPCs in flight:" };
	unsigned found = 0;

	for (const char *line = text; line; line = next_line(line))
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (starts(unindented(line), keys[i])) {
				out->queue += strtod(unindented(line) + strlen(keys[i]), NULL);
				found++;
			}
	if (found != 2)
		return -EINVAL;
	out->has_queue = true;
	return 0;
}

/* https://prometheus.io/docs/instrumenting/exposition_formats: NAME[{LABELS}] VALUE [TIMESTAMP] */
int sensor_parse_prometheus(const char *text, const char *metric, double *out)
{
	size_t length = strlen(metric);

	for (const char *line = text; line; line = next_line(line)) {
		const char *at = line + length;

		if (!starts(line, metric))
			continue;
		if (*at == '{' && !strchr(metric, '{')) {
			at = strchr(at, '}');
			if (!at)
				continue;
			at++;
		}
		if (*at != ' ' && *at != '\t')
			continue;
		return sensor_parse_number(unindented(at), out);
	}
	return -EINVAL;
}
