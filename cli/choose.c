/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers there are, which of them is meant, and what to say when it is not up: layer.h. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/layer.h"

static int cs_by_name(const void *a, const void *b)
{
	const struct layer_seen *x = a, *y = b;

	return strcmp(x->layer.name, y->layer.name);
}

size_t layer_all(const char *cmd, struct layer_seen **all)
{
	char runtime[PATH_MAX], err[CHECK_TEXT];
	size_t count = 0;
	struct dirent *entry;
	DIR *dir;

	*all = NULL;
	if (layer_runtime(cmd, false, runtime) || !(dir = opendir(runtime)))
		return 0;
	/* cppcheck-suppress readdirCalled ; there is one thread */
	while ((entry = readdir(dir))) {
		struct layer_seen *seen;

		if (check_layer_name(entry->d_name, err))
			continue;
		seen = reallocarray(*all, count + 1, sizeof(**all));
		if (!seen)
			break;
		*all = seen;
		seen += count;
		if (layer_open(&seen->layer, cmd, entry->d_name, false))
			continue;
		seen->state = layer_state(&seen->layer);
		seen->pid = layer_pid(&seen->layer);
		if (layer_root(&seen->layer, seen->root))
			seen->root[0] = 0;
		count += seen->state != LAYER_DOWN;
	}
	closedir(dir);
	if (count)
		qsort(*all, count, sizeof(**all), cs_by_name);
	return count;
}

/* "'a' for /x, 'b' for /y": those that are up. How many, and the last of them. */
static size_t cs_up(const char *cmd, char *out, size_t size, struct layer *last)
{
	struct layer_seen *all;
	size_t count = layer_all(cmd, &all), at = 0, up = 0;

	out[0] = 0;
	for (size_t i = 0; i < count; i++) {
		if (all[i].state != LAYER_UP)
			continue;
		if (at < size)
			at += (size_t)snprintf(out + at, size - at, "%s'%s' for %s", up ? ", " : "",
					       all[i].layer.name, all[i].root);
		*last = all[i].layer;
		up++;
	}
	free(all);
	return up;
}

int layer_choose(struct layer *l, const char *cmd, const char *name)
{
	int status = layer_open(l, cmd, name, false);
	struct layer only;
	char up[1000];

	if (!status)
		layer_enter(l);
	if (status || name || layer_state(l) != LAYER_DOWN)
		return status;
	switch (cs_up(cmd, up, sizeof(up), &only)) {
	case 0:
		return CLI_OK;
	case 1:
		*l = only;
		layer_enter(l);
		return CLI_OK;
	default:
		return cli_fail(cmd, "several layers are up: %s; choose with --name.", up);
	}
}

void layer_warn_capacity(const char *cmd, uint64_t bps)
{
	char rate[32];

	if (bps && bps < 1000000)
		cli_warn(cmd,
			 "the capacity is %s; a number without a unit is bytes per second, so "
			 "write MB/s or M behind it if that was meant.",
			 sl_format_rate(rate, sizeof(rate), bps));
}

int layer_not_up(const struct layer *l, bool advise)
{
	bool named = strcmp(l->name, LAYER_DEFAULT) != 0;
	char up[1000], option[CHECK_LAYER_NAME + 16] = "", called[32];
	struct layer_member m;
	struct layer last;

	if (named)
		snprintf(option, sizeof(option), " --name %s", l->name);
	switch (layer_state(l)) {
	case LAYER_UP: /* it holds the lock, and did not answer */
		if (layer_dead(l, up, sizeof(up)))
			return cli_fail(l->cmd,
					"of layer '%s' there died: %s; its logs are in %s. 'sluice "
					"up%s --revive' brings back what died.",
					l->name, up, l->dir, option);
		if (layer_stopped(l, &m))
			return cli_fail(l->cmd,
					"%s of layer '%s' (pid %d) is stopped: 'kill -CONT %d' "
					"lets it go on, 'kill -KILL %d' ends it.",
					layer_member_called(&m, !layer_has_many(l), called),
					l->name, (int)m.pid, (int)m.pid, (int)m.pid);
		return cli_fail(l->cmd,
				"layer '%s' is up, but its node does not answer; its log "
				"is %s/log.",
				l->name, l->dir);
	case LAYER_BUSY:
		return cli_fail(l->cmd,
				"layer '%s' is just being started or stopped by another "
				"command. Try again.",
				l->name);
	case LAYER_DIED:
		return cli_fail(l->cmd,
				"the node of layer '%s' has died; its log is %s/log. 'sluice "
				"up%s --revive' starts it again, as it was but for what 'sluice "
				"set' changed of jobs.",
				l->name, l->dir, option);
	case LAYER_DOWN:
		break;
	}
	if (cs_up(l->cmd, up, sizeof(up), &last))
		return cli_fail(l->cmd, "layer '%s' is not up. Up: %s; choose with --name.",
				l->name, up);
	if (named && advise)
		return cli_fail(l->cmd, "layer '%s' is not up. Start it with 'sluice up%s DIR'.",
				l->name, option);
	if (named)
		return cli_fail(l->cmd, "layer '%s' is not up.", l->name);
	return cli_fail(l->cmd, "no layer is up.%s",
			advise ? " Start one with 'sluice up DIR'." : "");
}
