/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs from control groups: see cgroup.h. */
#include "base/cgroup.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One part of a path: [at, at + length). */
struct part {
	const char *at;
	size_t length;
};

/* The next part of the path; false: there is none on this line. */
static bool next_part(const char **at, struct part *p)
{
	if (**at != '/')
		return false;
	p->at = *at + 1;
	p->length = strcspn(p->at, "/\n");
	*at = p->at + p->length;
	return p->length > 0;
}

static bool is(const struct part *p, const char *text)
{
	return p->length == strlen(text) && !memcmp(p->at, text, p->length);
}

static bool begins(const struct part *p, const char *prefix)
{
	size_t length = strlen(prefix);

	return p->length > length && !memcmp(p->at, prefix, length);
}

static bool ends(const struct part *p, const char *suffix)
{
	size_t length = strlen(suffix);

	return p->length > length && !memcmp(p->at + p->length - length, suffix, length);
}

/* The rest of a part behind a prefix, if it fits. */
static bool rest(const struct part *p, size_t prefix, size_t suffix, char out[32])
{
	size_t length = p->length - prefix - suffix;

	if (p->length <= prefix + suffix || length >= 32)
		return false;
	memcpy(out, p->at + prefix, length);
	out[length] = 0;
	return true;
}

static bool digits(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/* "job_42/step_0/..." */
static bool parse_job(const char *at, struct sl_cgroup *out)
{
	struct part p;

	if (!next_part(&at, &p) || !begins(&p, "job_") || !rest(&p, 4, 0, out->job) ||
	    !digits(out->job))
		return false;
	out->step[0] = 0;
	if (next_part(&at, &p) && begins(&p, "step_") && !rest(&p, 5, 0, out->step))
		out->step[0] = 0;
	out->kind = SL_CGROUP_SLURM;
	return true;
}

static bool parse_slurm(const char *at, struct sl_cgroup *out)
{
	struct part p;

	if (!next_part(&at, &p))
		return false;
	if (is(&p, "slurm") || begins(&p, "slurm_"))
		return next_part(&at, &p) && begins(&p, "uid_") && parse_job(at, out);
	return is(&p, "system.slice") && next_part(&at, &p) &&
	       (is(&p, "slurmstepd.scope") || ends(&p, "_slurmstepd.scope")) && parse_job(at, out);
}

static bool parse_session(const char *at, struct sl_cgroup *out)
{
	struct part p;

	if (!next_part(&at, &p) || !is(&p, "user.slice") || !next_part(&at, &p) ||
	    !begins(&p, "user-") || !ends(&p, ".slice") || !next_part(&at, &p) ||
	    !begins(&p, "session-") || !ends(&p, ".scope") || !rest(&p, 0, 6, out->job))
		return false;
	out->step[0] = 0;
	out->kind = SL_CGROUP_SESSION;
	return true;
}

/* A line is ID:CONTROLLERS:PATH. The line of Slurm decides, wherever it is. */
void sl_cgroup_parse(const char *text, struct sl_cgroup *out)
{
	struct sl_cgroup found;

	*out = (struct sl_cgroup){ .kind = SL_CGROUP_NONE };
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *end = line + strcspn(line, "\n");
		const char *at = memchr(line, ':', (size_t)(end - line));

		at = at ? memchr(at + 1, ':', (size_t)(end - at - 1)) : NULL;
		if (!at)
			continue;
		found = (struct sl_cgroup){ .kind = SL_CGROUP_NONE };
		if (parse_slurm(at + 1, &found)) {
			*out = found;
			return;
		}
		if (out->kind == SL_CGROUP_NONE && parse_session(at + 1, &found))
			*out = found;
	}
}

void sl_cgroup_of(pid_t pid, struct sl_cgroup *out)
{
	char path[64], text[8192];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
	sl_cgroup_parse(text, out);
}
