/* SPDX-License-Identifier: Apache-2.0 */
/* What `sluice up` was asked for. up.c reads it, up-start.c does it, up-revive.c does it again. */
#ifndef SL_CLI_UP_H
#define SL_CLI_UP_H

#include <limits.h>

#include "layer/config.h"
#include "layer/layer.h"

struct up {
	const char *value[CONFIG_KEYS]; /* given, else the file's */
	const char *policy[CONFIG_STAGES];
	char policy_text[CONFIG_STAGES][1000];
	const char *config_file;
	struct config config;
	unsigned ionodes;
	bool controller, revive;
	bool dashboard;
	const char *dashboard_host, *dashboard_port; /* NULL: the usual */
	char root[PATH_MAX], trace[PATH_MAX], secret[PATH_MAX], curves[PATH_MAX];
	struct layer layer;
};

bool up_observes(const struct up *u); /* nothing is to be held */
/* Start all members, and make the jobs of the configuration known. Nothing is left if it fails. */
int up_start(struct up *u, const char *daemon);
/* Start again those members of a layer that have died. */
int up_revive(const char *name);
/* Wait, for a while, until the controller has heard of all nodes. */
void up_settle(const struct layer *l);

#endif
