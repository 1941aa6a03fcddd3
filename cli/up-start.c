/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start the members of a layer: the controller, if it has one, then all nodes at once.
 *
 * The capacity is that of the layer: each of N nodes gets an N-th of it, and the controller
 * computes the whole as the sum of the nodes' reports. A device model, however, applies to each
 * node.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/dashboard.h"
#include "cli/up.h"
#include "client/conn/client.h"
#include "wire/status.h"
#include "layer/config-node.h"
#include "layer/listen.h"

static const char cmd[] = "up";

#define ARGS_MAX  80
#define SETTLE_MS 2000

/* A command line being built, and storage for its words. */
struct us_args {
	const char *word[ARGS_MAX];
	unsigned n;
	struct config_words config;
	char name[16], workers[16], trace[PATH_MAX + 16], usage[PATH_MAX], periods[PATH_MAX],
		audit[PATH_MAX + 8];
};

static void us_add(struct us_args *a, const char *option, const char *value)
{
	a->word[a->n++] = option;
	if (value)
		a->word[a->n++] = value;
	a->word[a->n] = NULL;
}

static void us_begin(struct us_args *a, const char *daemon, const char *role,
		     const struct layer_member *m)
{
	*a = (struct us_args){ 0 };
	us_add(a, daemon, role);
	us_add(a, "--socket", m->socket);
	us_add(a, "--ready-fd", LAYER_READY_FD);
}

static void us_controller(const struct up *u, const char *daemon, const struct layer_member *m,
			  struct us_args *a)
{
	static const char *const options[] = { "--grant", "--allocate" };

	us_begin(a, daemon, "controller", m);
	if (!layer_periods(&u->layer, a->periods))
		us_add(a, "--periods", a->periods);
	if (u->hosts.count) {
		us_add(a, "--listen", u->value[CONFIG_LISTEN] ? u->value[CONFIG_LISTEN] : ":0");
		us_add(a, "--secret-file", u->value[CONFIG_SECRET_FILE]);
	}
	for (int i = CONFIG_NODE_STAGES; i < CONFIG_STAGES; i++)
		if (u->policy[i])
			us_add(a, options[i - CONFIG_NODE_STAGES], u->policy[i]);
	for (int k = 0; k < CONFIG_KEYS; k++)
		if (config_keys[k].controller && u->value[k])
			us_add(a, config_keys[k].controller, u->value[k]);
	if (config_flag(u->value[CONFIG_DIRECT]))
		us_add(a, "--direct", NULL);
}

/* Two controllers that know each other: the first is active while it lives. */
static void us_pair(struct us_args *a, const struct layer_member *other, bool standby)
{
	us_add(a, "--peer", other->socket);
	if (standby)
		us_add(a, "--standby", NULL);
}

/* The default: at most one worker for each CPU over all nodes. */
static unsigned us_workers(unsigned ionodes)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), each = (cpus + ionodes - 1) / ionodes;

	return each < 1 ? 1 : each > CONFIG_MAX_WORKERS ? CONFIG_MAX_WORKERS : (unsigned)each;
}

static void us_node(const struct up *u, const char *daemon, const struct layer_member *m,
		    const char *controller, struct us_args *a)
{
	const char *value[CONFIG_KEYS], *trace = u->value[CONFIG_TRACE];

	us_begin(a, daemon, "ionode", m);
	memcpy(value, u->value, sizeof(value));
	value[CONFIG_DIRECTORY] = u->root;
	config_node_words(&a->config, value, u->policy, u->machines ? u->machines : u->ionodes);
	for (unsigned i = 0; i < a->config.count; i++)
		us_add(a, a->config.word[i], NULL);
	if (u->layer.system) {
		us_add(a, "--system", NULL);
		snprintf(a->audit, sizeof(a->audit), "%s/audit", u->layer.dir);
		us_add(a, "--audit", a->audit);
		if (u->admins)
			us_add(a, "--admins", u->admins);
		if (u->limits)
			us_add(a, "--limits", u->limits);
	}
	if (!layer_usage(&u->layer, m->suffix[0] ? (unsigned)atoi(m->name) : 0, a->usage))
		us_add(a, "--usage", a->usage);
	if (u->config_path[0])
		us_add(a, "--config", u->config_path);
	if (trace) {
		snprintf(a->trace, sizeof(a->trace), "%s%s", trace, m->suffix);
		us_add(a, "--trace", a->trace);
	}
	if (u->ionodes > 1 && !u->value[CONFIG_WORKERS]) {
		snprintf(a->workers, sizeof(a->workers), "%u", us_workers(u->ionodes));
		us_add(a, "--workers", a->workers);
	}
	/* Programs on other machines know one address, that of the first node. */
	if (u->value[CONFIG_LISTEN] && !m->suffix[0] && !u->machines) {
		us_add(a, "--listen", u->value[CONFIG_LISTEN]);
		us_add(a, "--secret-file", u->value[CONFIG_SECRET_FILE]);
	}
	if (u->machines)
		us_add(a, "--stay", NULL);
	if (u->join) {
		us_add(a, "--name", u->join_name);
		us_add(a, "--controller", u->join);
		us_add(a, "--controller-secret", u->secret);
	} else if (u->controller) {
		us_add(a, "--name", m->name);
		us_add(a, "--controller", controller);
	}
}

/* ---- jobs of the configuration file ---- */

static int us_jobs(struct up *u)
{
	char path[PATH_MAX], *line;
	FILE *f;

	if (!u->config.jobs_count)
		return CLI_OK;
	snprintf(path, sizeof(path), "%.200s/jobs", u->layer.dir);
	f = fopen(path, "we"); /* for a node that is revived */
	for (size_t i = 0; i < u->config.jobs_count; i++) {
		const struct config_job *job = &u->config.jobs[i];
		int status;

		if (asprintf(&line, "job %s keep=1 %s", job->name, job->words ? job->words : "") <
		    0)
			return cli_fail(cmd, "no memory.");
		if (f)
			fprintf(f, "%s\n", line);
		status = cli_layer(cmd, layer_ask_all(&u->layer, line, false));
		free(line);
		if (status) {
			if (f)
				fclose(f);
			return cli_fail(cmd, "%s:%u: job '%s' was refused; the layer is not up.",
					u->config_file, job->line, job->name);
		}
	}
	if (f)
		fclose(f);
	return CLI_OK;
}

/* ---- all together ---- */

static bool us_heard(const char *answer, size_t nodes)
{
	struct status *s = status_decode(answer);
	size_t up = 0;

	for (size_t i = 0; s && i < s->ionodes_count; i++)
		up += s->ionodes[i].up != 0;
	status_free(s);
	return up >= nodes;
}

void up_settle(const struct layer *l)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_members(l, m), nodes = 0;

	for (size_t i = 0; i < n; i++)
		nodes += !m[i].controller && m[i].pid;
	for (int ms = 0; m[n - 1].controller && ms < SETTLE_MS; ms += 10) {
		char *answer = NULL;
		bool done = sl_client_control(m[n - 1].socket, "status", &answer) ||
			    us_heard(answer, nodes);

		free(answer);
		if (done)
			return;
		usleep(10000);
	}
}

/*
 * Start all members and wait until they are ready; `started` counts those to stop after a failure.
 */
static int us_members(struct up *u, const char *daemon, struct layer_start *s, size_t *started)
{
	struct layer *l = &u->layer;
	struct layer_member controller, standby, node[LAYER_IONODES] = { 0 };
	bool two = config_flag(u->value[CONFIG_STANDBY]);
	char both[2 * sizeof(standby.socket) + 1];
	struct us_args a;
	int status = CLI_OK;

	layer_member(l, 0, true, &controller);
	layer_standby(l, &standby);
	snprintf(both, sizeof(both), two ? "%s,%s" : "%s", controller.socket, standby.socket);
	for (unsigned i = 0; i < u->ionodes; i++)
		layer_member(l, i, false, &node[i]);
	if ((u->controller && !controller.socket[0]) || !node[u->ionodes - 1].socket[0])
		return cli_fail(cmd,
				"%s is too long for the paths of %u sockets. Set SLUICE_RUNTIME to "
				"a shorter directory, or choose a shorter name.",
				l->dir, u->ionodes + 1);
	if (u->controller) {
		us_controller(u, daemon, &controller, &a);
		if (two)
			us_pair(&a, &standby, false);
		status = cli_layer(cmd, layer_launch(l, &controller, a.word, &s[*started]));
		*started += !status;
		if (status || (status = cli_layer(cmd, layer_ready(&controller, false, &s[0]))))
			return status;
	}
	if (two) {
		us_controller(u, daemon, &standby, &a);
		us_pair(&a, &controller, true);
		status = cli_layer(cmd, layer_launch(l, &standby, a.word, &s[*started]));
		*started += !status;
		if (status || (status = cli_layer(cmd, layer_ready(&standby, false, &s[1]))))
			return status;
	}
	for (unsigned i = 0; !status && i < u->ionodes; i++) {
		us_node(u, daemon, &node[i], both, &a);
		status = cli_layer(cmd, layer_launch(l, &node[i], a.word, &s[*started]));
		*started += !status;
	}
	for (unsigned i = 0; !status && i < u->ionodes; i++)
		status = cli_layer(
			cmd, layer_ready(&node[i], u->ionodes == 1, &s[*started - u->ionodes + i]));
	return status;
}

int up_start(struct up *u, const char *daemon)
{
	struct layer_start s[LAYER_MEMBERS];
	const char *listen = u->value[CONFIG_LISTEN];
	char text[PATH_MAX + 2];
	size_t started = 0;
	int status;

	layer_clean(&u->layer, false); /* remains of dead members */
	dashboard_forget(&u->layer);
	snprintf(text, sizeof(text), "%s\n", u->root);
	layer_write(&u->layer, "root", text);
	if (u->value[CONFIG_INTERCEPT] && strcmp(u->value[CONFIG_INTERCEPT], "auto") != 0 &&
	    layer_write(&u->layer, "intercept", u->value[CONFIG_INTERCEPT]))
		return cli_fail(cmd, "cannot write %s/intercept.", u->layer.dir);
	if ((listen || u->hosts.count) && !u->value[CONFIG_SECRET_FILE]) {
		if ((status = cli_layer(cmd, layer_secret(&u->layer, u->secret))))
			return status;
		u->value[CONFIG_SECRET_FILE] = u->secret;
	}
	status = us_members(u, daemon, s, &started);
	if (!status)
		status = us_jobs(u);
	if (!status && u->hosts.count)
		status = up_hosts(u);
	else if (!status && listen && !u->machines)
		status = cli_layer(cmd, layer_note_address(&u->layer, listen));
	if (!status) {
		up_settle(&u->layer);
		return CLI_OK;
	}
	layer_stop(s, started);
	layer_clean(&u->layer, true);
	return status;
}
