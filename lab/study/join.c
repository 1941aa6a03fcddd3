/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scenarios of a study: one file, or several. Platform, window and policies are those of the
 * first; the jobs of the others come to its machine too, such as one that --import-darshan made. A
 * name that is taken gets a number: io, io-2, io-3.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "lab/study/sim.h"

#define NAME_ROOM 50 /* of a name, so that a number fits behind it */

static int jn_read(const char *word, struct sl_scenario *s)
{
	char err[SIM_TEXT];
	int rc = sl_scenario_load(sim_path(word), s, err, sizeof(err));

	if (!rc)
		return CLI_OK;
	cli_fail(SIM_CMD, "%s.", err);
	return rc == -EINVAL || rc == -ERANGE ? CLI_USAGE : CLI_FAILED;
}

static bool jn_taken(const struct sl_scenario *s, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(s->apps[i].name, name))
			return true;
	return false;
}

/* Move the applications of `more` to s. */
static int jn_append(struct sl_scenario *s, struct sl_scenario *more)
{
	uint32_t n = s->n_apps;
	struct sl_app *apps;

	if (more->n_apps > SL_SIM_APPS - n)
		return -ERANGE;
	apps = reallocarray(s->apps, n + more->n_apps, sizeof(*apps));
	if (!apps)
		return -ENOMEM;
	s->apps = apps;
	for (uint32_t i = 0; i < more->n_apps; i++) {
		struct sl_app *a = &apps[s->n_apps];
		unsigned number = 1;

		*a = more->apps[i];
		while (jn_taken(s, s->n_apps, a->name))
			snprintf(a->name, sizeof(a->name), "%.*s-%u", NAME_ROOM, more->apps[i].name,
				 ++number);
		s->n_apps++;
	}
	more->n_apps = 0;
	return 0;
}

/* Scenarios that are valid alone may not be valid together. */
static int jn_sense(const struct sl_scenario *s)
{
	struct sl_scenario_fault f;

	if (!sl_scenario_sense(s, &f))
		return CLI_OK;
	cli_fail(SIM_CMD, "all together: %s.", f.text);
	return CLI_USAGE;
}

static int jn_endless(const struct sl_scenario *s)
{
	for (uint32_t i = 0; i < s->n_apps; i++)
		if (!s->apps[i].iterations && !(s->to_s > 0)) {
			cli_fail(SIM_CMD,
				 "all together: job %s has no iterations, and the window of the "
				 "first scenario, %s, has no end.",
				 s->apps[i].name, s->name);
			return CLI_USAGE;
		}
	return CLI_OK;
}

int sim_read(struct sl_scenario *s, char *const *paths, int n)
{
	int status = jn_read(paths[0], s), rc;

	if (status)
		return status;
	for (int i = 1; i < n && !status; i++) {
		struct sl_scenario more;

		if ((status = jn_read(paths[i], &more)))
			break;
		if ((rc = jn_append(s, &more)))
			status = rc == -ENOMEM
					 ? cli_fail(SIM_CMD, "out of memory.")
					 : cli_fail(SIM_CMD, "more than %u jobs.", SL_SIM_APPS);
		sl_scenario_free(&more);
	}
	if (!status && n > 1 && !(status = jn_endless(s)))
		status = jn_sense(s);
	if (status)
		sl_scenario_free(s);
	return status;
}
