/* SPDX-License-Identifier: Apache-2.0 */
/* What sensors read: see sensor.h. Pure. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
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

struct mount {
	char device[32], *at, type[32];
};

/* "36 35 98:0 / /mnt/data rw,noatime master:1 - ext4 /dev/root rw": see proc_pid_mountinfo(5). */
static bool parse_mount(const char *line, struct mount *m, char at[PATH_MAX])
{
	char format[80];
	const char *dash = strstr(line, " - ");
	size_t length = 0;

	snprintf(format, sizeof(format), "%%*u %%*u %%31s %%*s %%%ds", PATH_MAX - 1);
	if (!dash || sscanf(line, format, m->device, at) != 2 ||
	    sscanf(dash + 3, "%31s", m->type) != 1)
		return false;
	for (char *from = at; *from; length++) /* a blank is \040 */
		if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
			at[length] =
				(char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0');
			from += 4;
		} else {
			at[length] = *from++;
		}
	at[length] = 0;
	m->at = at;
	return true;
}

/* Whether the directory is the mount point or below it. */
static bool is_within(const char *directory, const char *mount)
{
	size_t length = strlen(mount);

	return !strcmp(mount, "/") || (!strncmp(directory, mount, length) &&
				       (!directory[length] || directory[length] == '/'));
}

bool sensor_parse_mounts(const char *text, const char *root, char below[PATH_MAX])
{
	char at[PATH_MAX], device[sizeof(((struct mount *)0)->device)] = "";
	size_t longest = 0;
	struct mount m;

	for (const char *line = text; line; line = next_line(line))
		if (parse_mount(line, &m, at) && is_within(root, m.at) && strlen(m.at) >= longest) {
			longest = strlen(m.at);
			strcpy(device, m.device); /* a later mount covers an earlier one */
		}
	for (const char *line = text; line; line = next_line(line))
		if (parse_mount(line, &m, below) && strcmp(m.at, root) && is_within(m.at, root) &&
		    strcmp(m.device, device) && strcmp(m.type, "autofs"))
			return true;
	return false;
}
