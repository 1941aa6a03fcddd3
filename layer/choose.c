/* SPDX-License-Identifier: Apache-2.0 */
/* Find the layer that a command means, and the message if it is not up: layer.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/layer.h"

static int cs_by_name(const void *a, const void *b)
{
	const struct layer_seen *x = a, *y = b;

	return strcmp(x->layer.name, y->layer.name);
}

int layer_all(struct layer_seen **all, size_t *seen_count)
{
	char runtime[PATH_MAX], err[CHECK_TEXT];
	size_t count = 0;
	struct dirent *entry;
	DIR *dir;
	int rc;

	*all = NULL;
	*seen_count = 0;
	if ((rc = layer_runtime(false, runtime)))
		return rc;
	if (!(dir = opendir(runtime)))
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
		if (layer_open(&seen->layer, entry->d_name, false))
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
	*seen_count = count;
	return 0;
}

/*
 * List "'a' for /x, 'b' for /y": the layers that are up, or those whose members have all died (one
 * that was just killed is LAYER_BUSY for a moment). Returns their number; *last: the last one.
 */
static size_t cs_list(bool up, char *out, size_t size, struct layer *last)
{
	struct layer_seen *all;
	size_t count, at = 0, found = 0;

	out[0] = 0;
	layer_all(&all, &count);
	for (size_t i = 0; i < count; i++) {
		if ((all[i].state == LAYER_UP) != up)
			continue;
		if (at < size)
			at += (size_t)snprintf(out + at, size - at, "%s'%s' for %s",
					       found ? ", " : "", all[i].layer.name, all[i].root);
		*last = all[i].layer;
		found++;
	}
	free(all);
	return found;
}

int layer_choose(struct layer *l, const char *name)
{
	int rc = layer_open(l, name, false);
	struct layer only;
	char names[1000];
	bool up = true;
	size_t count;

	if (rc || layer_enter(l) || name || layer_state(l) != LAYER_DOWN)
		return rc;
	count = cs_list(true, names, sizeof(names), &only);
	if (!count) {
		up = false;
		count = cs_list(false, names, sizeof(names), &only);
	}
	if (count > 1)
		return layer_fail(-ENOTUNIQ, "several layers %s: %s; choose one with --name.",
				  up ? "are up" : "have died", names);
	if (count) {
		*l = only;
		layer_enter(l);
		return 0;
	}
	/*
	 * This user has none: take the layer of the machine, if it is up or, for root, if it has
	 * died.
	 */
	if (layer_open(&only, LAYER_SYSTEM, false) == 0 && layer_state(&only) != LAYER_DOWN)
		*l = only;
	return 0;
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
			return layer_fail(
				-ENOTCONN,
				"members of layer '%s' have died: %s; the logs are in %s. 'sluice "
				"up%s --revive' restarts them.",
				l->name, up, l->dir, option);
		if (layer_stopped(l, &m))
			return layer_fail(-ENOTCONN,
					  "%s of layer '%s' (pid %d) is stopped: 'kill -CONT %d' "
					  "resumes it, 'kill -KILL %d' ends it.",
					  layer_member_called(&m, !layer_has_many(l), called),
					  l->name, (int)m.pid, (int)m.pid, (int)m.pid);
		return layer_fail(-ENOTCONN,
				  "layer '%s' is up, but its node does not answer; its log "
				  "is %s/log.",
				  l->name, l->dir);
	case LAYER_BUSY:
		return layer_fail(-ENOTCONN,
				  "another command is starting or stopping layer '%s'; "
				  "try again.",
				  l->name);
	case LAYER_DIED:
		return layer_fail(-ENOTCONN,
				  "the node of layer '%s' has died; its log is %s/log. 'sluice "
				  "up%s --revive' restarts it with the same settings, except "
				  "changes of jobs by 'sluice "
				  "set'.",
				  l->name, l->dir, option);
	case LAYER_DOWN:
		break;
	}
	if (cs_list(true, up, sizeof(up), &last))
		return layer_fail(-ENOTCONN,
				  "layer '%s' is not up. These are: %s; choose one with --name.",
				  l->name, up);
	if (named && advise)
		return layer_fail(-ENOTCONN,
				  "layer '%s' is not up. Start it with 'sluice up%s DIR'.", l->name,
				  option);
	if (named)
		return layer_fail(-ENOTCONN, "layer '%s' is not up.", l->name);
	return layer_fail(-ENOTCONN, "no layer is up.%s",
			  advise ? " Start one with 'sluice up DIR'." : "");
}
