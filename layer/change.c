/* SPDX-License-Identifier: Apache-2.0 */
/* Change a layer that is up, for `sluice set`, `sluice top` and the dashboard: layer_change(). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/conn/client.h"
#include "layer/layer.h"
#include "layer/status.h"

#define LINE 4096 /* the longest control line */

static void ch_keep(const struct layer *l, const char *line)
{
	int rc = layer_keep_change(l, line);

	if (rc)
		layer_warn("cannot store '%.200s' in %.300s: %s. If all nodes die, 'sluice up "
			   "--revive' "
			   "starts them without this change.",
			   line, l->dir, strerror(-rc));
}

static int ch_nodes(const struct layer *l, const char *line, bool some)
{
	int rc = layer_ask_all(l, line, some);

	if (!rc && !some)
		ch_keep(l, line);
	return rc;
}

/* ---- the capacity ---- */

/*
 * The sum of min that jobs were promised, at the node that knows most of them. A node revived with
 * less capacity would refuse a program whose min no longer fits, and the program would get EIO.
 */
static double ch_promised(const struct layer_member *m, size_t nodes)
{
	double most = 0.0;

	for (size_t i = 0; i < nodes; i++) {
		struct status *s =
			m[i].pid ? status_of_socket(m[i].socket, STATUS_PATIENT_MS) : NULL;
		double sum = 0.0;

		for (size_t k = 0; s && k < s->jobs_count; k++)
			if (s->jobs[k].best_effort == 0)
				sum += s->jobs[k].asked_min_bps;
		most = sum > most ? sum : most;
		status_free(s);
	}
	return most;
}

/* Each node gets its part. Nodes that have died count, because they may be revived. */
static int ch_capacity(const struct layer *l, const char *key, const char *value)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t nodes = layer_nodes(m, layer_members(l, m));
	uint64_t all = strtoull(value, NULL, 10);
	char line[64], hosts[8];
	int rc;

	if (layer_read(l, "hosts", hosts, sizeof(hosts)) == 0)
		return layer_fail(-EOPNOTSUPP,
				  "layer '%s' is on several machines, each with a part of the %s. "
				  "Stop the layer and start it with the new value.",
				  l->name, key);
	if (!strcmp(value, "auto"))
		snprintf(line, sizeof(line), "%s auto", key);
	else
		snprintf(line, sizeof(line), "%s %" PRIu64, key,
			 all && all < nodes ? 1 : all / nodes);
	rc = layer_ask_all(l, line, false);
	if (!rc && all && !strcmp(key, "capacity") && ch_promised(m, nodes) > (double)all)
		layer_warn("jobs have been promised more than that; their min is scaled down now. "
			   "The change is not "
			   "stored: if all nodes die, 'sluice up --revive' starts them with the "
			   "previous capacity, so that these jobs are not refused.");
	else if (!rc)
		ch_keep(l, line);
	return rc;
}

/* ---- policies ---- */

static bool ch_is_controllers(const char *word)
{
	return !strncmp(word, "grant=", 6) || !strncmp(word, "allocate=", 9);
}

/* A member that is revived starts with its stored options: store the new policies there. */
static void ch_keep_options(const struct layer *l, const struct layer_member *m, char *line)
{
	char option[32], *save = NULL, *word, *value;

	strtok_r(line, " ", &save); /* "policy" */
	while ((word = strtok_r(NULL, " ", &save))) {
		value = strchr(word, '=');
		snprintf(option, sizeof(option), "--%.*s", (int)(value - word), word);
		if (layer_keep_option(l, m, option, value + 1))
			layer_warn("'sluice up --revive' would bring the controller back with the "
				   "old %s.",
				   option + 2);
	}
}

static int ch_controller(const struct layer *l, char *line)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_members(l, m);
	struct layer to = *l;
	int rc;

	if (layer_state(l) != LAYER_UP)
		return layer_not_up(l, true);
	if (!m[n - 1].controller)
		return layer_fail(
			-ENODEV,
			"layer '%s' has no controller, which grant and allocate need. "
			"Start it with 'sluice up --ionodes N' or '--policy grant=POLICY'.",
			l->name);
	if (!m[n - 1].pid)
		return layer_fail(-ENOTCONN,
				  "the controller of layer '%s' has died. 'sluice up --revive' "
				  "restarts it.",
				  l->name);
	memcpy(to.socket, m[n - 1].socket, sizeof(to.socket));
	rc = layer_ask(&to, line, NULL);
	if (!rc)
		ch_keep_options(l, &m[n - 1], line);
	return rc;
}

/* Ask the controller first: it is the most likely to refuse. */
static int ch_policies(const struct layer *l, const char *words)
{
	char text[LINE], nodes[LINE] = "policy", controller[LINE] = "policy", *save = NULL;
	int rc = 0;

	if ((size_t)snprintf(text, sizeof(text), "%s", words) >= sizeof(text) - strlen(nodes))
		return layer_fail(-E2BIG, "the command is too long; split it into several.");
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *line = ch_is_controllers(word) ? controller : nodes;

		strcat(strcat(line, " "), word);
	}
	if (strchr(controller, ' '))
		rc = ch_controller(l, controller);
	return rc || !strchr(nodes, ' ') ? rc : ch_nodes(l, nodes, false);
}

/* ---- the others ---- */

/* First each node checks the file, then each node applies it. */
static int ch_reload(const struct layer *l)
{
	char *changes = NULL, *save = NULL;
	int rc = layer_ask(l, "reload check", &changes);

	if (!rc)
		rc = layer_ask_all(l, "reload check", false);
	if (!rc)
		rc = layer_ask_all(l, "reload", false);
	for (char *line = !rc && changes ? strtok_r(changes, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		ch_keep(l, line);
	free(changes);
	return rc;
}

/*
 * Store it first, so that a node that is revived at this moment applies it too. All nodes have it
 * before any is waited for: one that is stopped keeps no other from switching.
 */
#define SWITCH_MS 1000

static int ch_switch(const struct layer *l, const char *line)
{
	struct layer_member m[LAYER_MEMBERS];
	int sock[LAYER_MEMBERS], rc = 0;
	size_t n = layer_members(l, m);
	bool asked = false;

	ch_keep(l, line);
	for (size_t i = 0; i < n; i++)
		if (!m[i].controller && m[i].pid)
			sock[i] = sl_client_control_begin(m[i].socket, line, SWITCH_MS);
	for (size_t i = 0; i < n; i++) {
		char *answer = NULL;
		int one;

		if (m[i].controller || !m[i].pid)
			continue;
		one = sl_client_control_end(sock[i], SWITCH_MS, &answer);
		rc = rc ? rc : one;
		asked = true;
		free(answer);
	}
	return asked && !rc ? 0 : layer_ask_all(l, line, false); /* patiently, and says who */
}

int layer_change(const struct layer *l, const char *line)
{
	int turn, rc;

	layer_warn(NULL);
	if (!strcmp(line, "open") || !strcmp(line, "close"))
		return ch_switch(l, line);
	turn = layer_turn(l);
	if (!strncmp(line, "capacity ", 9))
		rc = ch_capacity(l, "capacity", line + 9);
	else if (!strncmp(line, "capacity-ops ", 13))
		rc = ch_capacity(l, "capacity-ops", line + 13);
	else if (!strncmp(line, "policy ", 7))
		rc = ch_policies(l, line + 7);
	else if (!strcmp(line, "reload"))
		rc = ch_reload(l);
	else
		rc = ch_nodes(l, line, true);
	layer_turn_end(turn);
	return rc;
}
