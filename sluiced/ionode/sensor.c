/* SPDX-License-Identifier: Apache-2.0 */
/* Reading sensors: see sensor.h. */
#include "sluiced/ionode/sensor.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/slurp.h"
#include "detect/capacity.h"
#include "sluiced/ionode/sensor-source.h"

#define READ_MOST    (1 << 20)
#define NFS_MAGIC    0x6969
#define LUSTRE_MAGIC 0x0BD00BD0

enum kind { BLOCK, NFS, LUSTRE, NUMBER };

struct sensor {
	enum kind kind;
	char *word;   /* as it was given, or found */
	char *source; /* a path, a mount point, a command or a URL */
	bool is_capacity;
	struct sensor_asker *asker; /* of a NUMBER */
};

/* The last number that the source has said. */
static int read_number(const struct sensor *s, struct sensor_reading *out)
{
	double number;
	int rc = sensor_source_last(s->asker, &number);

	if (rc)
		return rc;
	if (s->is_capacity && (number < CAPACITY_LEAST || number > CAPACITY_MOST))
		return -ERANGE;
	if (s->is_capacity)
		out->capacity_bps = number;
	else
		out->queue = number;
	out->has_capacity = s->is_capacity;
	out->has_queue = !s->is_capacity;
	return 0;
}

static int read_path(const char *path, char **text)
{
	size_t size;

	return sl_slurp_file(path, READ_MOST, text, &size);
}

static int read_lustre(struct sensor_reading *out)
{
	static const char *const places[] = { "/sys/kernel/debug/lustre/osc/*/rpc_stats",
					      "/proc/fs/lustre/osc/*/rpc_stats" };
	int rc = -ENOENT;
	glob_t g;

	for (size_t p = 0; rc && p < sizeof(places) / sizeof(places[0]); p++) {
		if (glob(places[p], 0, NULL, &g))
			continue;
		for (size_t i = 0; i < g.gl_pathc; i++) {
			char *text = NULL;

			if (read_path(g.gl_pathv[i], &text) == 0 &&
			    sensor_parse_lustre(text, out) == 0)
				rc = 0;
			free(text);
		}
		globfree(&g);
	}
	return rc;
}

int sensor_read(struct sensor *s, struct sensor_reading *out)
{
	char *text = NULL;
	int rc;

	*out = (struct sensor_reading){ 0 };
	switch (s->kind) {
	case BLOCK:
	case NFS:
		rc = read_path(s->kind == NFS ? "/proc/self/mountstats" : s->source, &text);
		if (!rc)
			rc = s->kind == NFS ? sensor_parse_nfs(text, s->source, out)
					    : sensor_parse_block(text, out);
		break;
	case LUSTRE:
		rc = read_lustre(out);
		break;
	default:
		rc = read_number(s, out);
	}
	free(text);
	return rc;
}

/* ---- which one ---- */

int sensor_check(const char *word, char err[SENSOR_TEXT])
{
	const char *source = strchr(word, '=');
	static const char *const kinds[] = { "block", "nfs", "lustre" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(word, kinds[i]))
			return 0;
	if (source && (!strncmp(word, "queue=", 6) || !strncmp(word, "capacity=", 9)) &&
	    ((!strncmp(source + 1, "file:/", 6)) ||
	     (!strncmp(source + 1, "command:", 8) && source[9]) ||
	     (!strncmp(source + 1, "http://", 7) && strchr(source, '#'))))
		return 0;
	snprintf(
		err, SENSOR_TEXT,
		"'%.64s' is no sensor; there are block, nfs, lustre, and queue= and capacity= with "
		"file:/PATH, command:COMMAND or http://HOST:PORT/PATH#METRIC",
		word);
	return -EINVAL;
}

/* The mount point of a directory: where its device changes. */
static char *mount_of(const char *root)
{
	char path[PATH_MAX], above[PATH_MAX + 4];
	struct stat at, up;

	if (!realpath(root, path) || stat(path, &at))
		return NULL;
	while (path[1]) {
		snprintf(above, sizeof(above), "%s/..", path);
		if (stat(above, &up) || up.st_dev != at.st_dev)
			break;
		*strrchr(path, '/') = 0;
		if (!*path)
			strcpy(path, "/");
	}
	return strdup(path);
}

static char *block_of(const char *root)
{
	struct stat st;
	char *path = NULL;

	if (stat(root, &st) ||
	    asprintf(&path, "/sys/dev/block/%u:%u/stat", major(st.st_dev), minor(st.st_dev)) < 0)
		return NULL;
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

int sensor_open(struct sensor **out, const char *word, const char *root, char err[SENSOR_TEXT])
{
	struct sensor *s;
	struct statfs fs;
	int rc;

	*out = NULL;
	if (!*word) {
		if (statfs(root, &fs))
			return 0;
		word = fs.f_type == NFS_MAGIC	   ? "nfs"
		       : fs.f_type == LUSTRE_MAGIC ? "lustre"
						   : "block";
	}
	if ((rc = sensor_check(word, err)))
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s || !(s->word = strdup(word))) {
		free(s);
		return -ENOMEM;
	}
	s->kind = !strcmp(word, "block")    ? BLOCK
		  : !strcmp(word, "nfs")    ? NFS
		  : !strcmp(word, "lustre") ? LUSTRE
					    : NUMBER;
	s->is_capacity = !strncmp(word, "capacity=", 9);
	s->source = s->kind == BLOCK ? block_of(root)
		    : s->kind == NFS ? mount_of(root)
				     : strdup(s->kind == NUMBER ? strchr(word, '=') + 1 : "");
	if (s->source && s->kind == NUMBER && !(s->asker = sensor_source_start(s->source))) {
		sensor_close(s);
		snprintf(err, SENSOR_TEXT, "cannot start a thread for '%.64s'", word);
		return -EAGAIN;
	}
	if (s->source)
		*out = s;
	else
		sensor_close(s);
	return 0;
}

void sensor_close(struct sensor *s)
{
	if (!s)
		return;
	if (s->asker)
		sensor_source_stop(s->asker);
	free(s->word);
	free(s->source);
	free(s);
}

const char *sensor_name(const struct sensor *s)
{
	return s ? s->word : "none";
}
