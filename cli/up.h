/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `sluice up`. up.c reads them, up-start.c starts the layer, up-revive.c restarts
 * members.
 */
#ifndef SL_CLI_UP_H
#define SL_CLI_UP_H

#include <limits.h>

#include "base/hosts.h"
#include "layer/config.h"
#include "layer/layer.h"

struct up {
	const char *value[CONFIG_KEYS]; /* from the command line, else from the file */
	const char *policy[CONFIG_STAGES];
	char policy_text[CONFIG_STAGES][1000];
	const char *config_file;
	struct config config;
	unsigned ionodes;
	bool controller, revive;
	bool system; /* for all users */
	const char *account, *admins, *limits;
	bool dashboard;
	const char *dashboard_host, *dashboard_port; /* NULL: the usual */
	char root[PATH_MAX], trace[PATH_MAX], secret[PATH_MAX], curves[PATH_MAX];
	/* Of a layer on several machines, each with one node: up-hosts.c. */
	struct sl_hosts hosts; /* all of them, on the one that has the controller */
	size_t here;	       /* index of this one */
	unsigned machines;     /* 0: the layer is on this one alone */
	const char *launch;    /* how to run a command on another one; NULL: srun or ssh */
	const char *join;      /* HOST:PORT of the controller, on the others */
	char join_name[32];
	char config_path[PATH_MAX]; /* of the file, whole; "": it cannot be read again */
	struct layer layer;
};

bool up_observes(const struct up *u); /* whether calls are only observed */
/*
 * Start all members, and register the jobs of the configuration. A failure leaves nothing behind.
 */
int up_start(struct up *u, const char *daemon);
/* Restart the members of a layer that have died. */
int up_revive(const char *name);
/* Of --hosts and --join. They return a status. */
int up_hosts_check(struct up *u, const char *list);
int up_hosts(const struct up *u); /* the nodes of the other machines */
int up_join_check(struct up *u, const char *word);
int up_join_secret(struct up *u);
int up_join_stay(const struct up *u); /* wait until stdin ends, then stop the layer */
/* Wait, for a while, until the controller has heard of all nodes. */
void up_settle(const struct layer *l);

#endif
