/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice up --revive`: restart the dead members of a layer, with their options.
 *
 * A restarted node gets the changes since its start (policies, the capacity, jobs) from a node that
 * lives. If none lives, it gets the stored policies and capacity, and changes of jobs are lost;
 * `sluice set` stores no capacity below the guarantees of the jobs. The controller gets its state
 * from the nodes. The dashboard, which queries the others, is restarted last.
 *
 * A node that listened at any free port is restarted at the port that it had, because programs on
 * other machines look for it there. If another program uses that port now, it gets another one, and
 * a warning is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/dashboard.h"
#include "cli/up.h"
#include "client/conn/client.h"
#include "layer/listen.h"
#include "layer/status.h"

static const char cmd[] = "up";

#define LOCK_MS 1000

/*
 * A refusal is not an error here: the node is up without that setting, and the next `sluice set`
 * shows it.
 */
static void re_tell(const struct layer_member *m, const char *line)
{
	char *answer = NULL;

	sl_client_control(m->socket, line, &answer);
	free(answer);
}

static void re_add(char *line, size_t size, const char *key, const char *value)
{
	size_t at = strlen(line);

	if (value)
		snprintf(line + at, size - at, " %s=%s", key, value);
}

static void re_job(const struct layer_member *m, const struct status_job *job)
{
	char line[2000];

	snprintf(line, sizeof(line),
		 "job %s min=%.0f max=%.0f burst=%.0f weight=%.0f period=%.9f best_effort=%.0f "
		 "procs=%.0f nodes=%.0f min_ops=%.0f min_create=%.0f min_lookup=%.0f "
		 "min_remove=%.0f min_list=%.0f min_attribute=%.0f weight_create=%.0f "
		 "weight_lookup=%.0f weight_remove=%.0f weight_list=%.0f weight_attribute=%.0f "
		 "max_create=%.0f max_lookup=%.0f "
		 "max_remove=%.0f max_list=%.0f max_attribute=%.0f max_ops=%.0f max_iops=%.0f "
		 "max_read=%.0f max_write=%.0f",
		 job->job, job->asked_min_bps, job->asked_max_bps, job->burst_bytes, job->weight,
		 job->asked_period_s, job->best_effort, job->procs, job->nodes, job->min_ops,
		 job->min_create, job->min_lookup, job->min_remove, job->min_list,
		 job->min_attribute, job->weight_create, job->weight_lookup, job->weight_remove,
		 job->weight_list, job->weight_attribute, job->max_create, job->max_lookup,
		 job->max_remove, job->max_list, job->max_attribute, job->max_ops, job->max_iops,
		 job->max_read, job->max_write);
	re_add(line, sizeof(line), "account", job->account);
	re_add(line, sizeof(line), "qos", job->qos);
	re_add(line, sizeof(line), "partition", job->partition);
	re_tell(m, line);
}

/* Copy the settings of the node or controller that lives. */
static void re_copy(const struct layer_member *m, const struct layer_member *from)
{
	struct status *s = status_of_socket(from->socket, STATUS_PATIENT_MS);
	char line[1000] = "policy";

	if (!s)
		return;
	re_add(line, sizeof(line), "admit", s->policy_admit);
	re_add(line, sizeof(line), "share", s->policy_share);
	re_add(line, sizeof(line), "order", s->policy_order);
	re_add(line, sizeof(line), "grant", s->policy_grant);
	re_add(line, sizeof(line), "allocate", s->policy_allocate);
	re_tell(m, line);
	if (s->capacity_auto_state)
		snprintf(line, sizeof(line), "capacity auto");
	else
		snprintf(line, sizeof(line), "capacity %.0f", s->capacity_bps);
	re_tell(m, line);
	if (s->capacity_ops_found != 0)
		snprintf(line, sizeof(line), "capacity-ops auto");
	else
		snprintf(line, sizeof(line), "capacity-ops %.0f", s->capacity_ops);
	re_tell(m, line);
	if (s->mode && !strcmp(s->mode, "open"))
		re_tell(m, "open");
	for (size_t i = 0; i < s->jobs_count; i++)
		re_job(m, &s->jobs[i]);
	status_free(s);
}

static void re_jobs(const struct layer *l, const struct layer_member *m)
{
	char path[PATH_MAX], *line = NULL;
	size_t size = 0;
	ssize_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%.200s/jobs", l->dir);
	f = fopen(path, "re");
	while (f && (n = getline(&line, &size, f)) > 0) {
		line[n - 1] = 0;
		re_tell(m, line);
	}
	free(line);
	if (f)
		fclose(f);
}

/* Apply the stored changes of `sluice set --capacity` and `sluice policy set`. */
static void re_changes(const struct layer *l, const struct layer_member *m)
{
	char line[4096], *answer;
	int rc;

	for (unsigned i = 0; (rc = layer_kept_change(l, i, line, sizeof(line))) != -ERANGE; i++) {
		answer = NULL;
		if (!rc && (rc = sl_client_control(m->socket, line, &answer)))
			cli_warn(cmd, "cannot restore the setting '%s': %s.", line,
				 answer && *answer ? answer : strerror(-rc));
		free(answer);
	}
}

/*
 * If the capacity was raised since the start, the node has it from the beginning: waiting programs
 * will reconnect with a min that was promised out of it.
 */
static void re_raise(const struct layer *l, const struct layer_member *m)
{
	uint64_t kept = 0, had = 0;
	const char **args;
	char line[64], *text;

	if (layer_kept_change(l, 0, line, sizeof(line)) ||
	    sl_parse_rate(strchr(line, ' ') + 1, &kept) || layer_args(l, m, &args, &text))
		return;
	for (size_t i = 0; args[i]; i++)
		if (!strcmp(args[i], "--capacity") && args[i + 1])
			sl_parse_rate(args[i + 1], &had);
	if (kept > had)
		layer_keep_option(l, m, "--capacity", strchr(line, ' ') + 1);
	free(args);
	free(text);
}

/*
 * The argument of --listen, or NULL. A node that was killed keeps its port a little longer than the
 * lock: wait for it. *moved: the port was any free one, and another program has it now.
 */
static const char **re_listen(const struct layer *l, const char **args, char where[300],
			      bool *moved)
{
	const char **word = NULL, *port;
	char had[300] = "";

	*moved = false;
	for (; *args; args++)
		if (!strcmp(*args, "--listen") && args[1])
			word = args + 1;
	port = word ? strrchr(*word, ':') : NULL;
	if (!port)
		return NULL;
	snprintf(where, 300, "%.290s", *word);
	if (!strcmp(port, ":0") && layer_address(l, had) == 0 && strrchr(had, ':'))
		snprintf(where, 300, "%.*s%.6s", (int)(port - *word), *word, strrchr(had, ':'));
	for (int ms = 0; listen_tcp_taken(where) && ms < LOCK_MS; ms += 20)
		usleep(20000);
	*moved = !strcmp(port, ":0") && listen_tcp_taken(where);
	return word;
}

/* The node listens: store its address, and whether any port is allowed. */
static int re_listens(struct layer *l, const struct layer_member *m, const char *asked,
		      const char *had, bool moved)
{
	char at[300];
	int status;

	layer_keep_option(l, m, "--listen", asked);
	if (!moved)
		return CLI_OK;
	if ((status = cli_layer(cmd, layer_note_address(l, asked))) || layer_address(l, at))
		return status;
	cli_warn(cmd,
		 "%s is used by another program; the layer now listens at %s. Programs that "
		 "wait for it at the old address will not find it.",
		 had, at);
	return CLI_OK;
}

static bool re_configured(const char *const *args)
{
	for (; *args; args++)
		if (!strcmp(*args, "--config"))
			return true;
	return false;
}

static int re_member(struct layer *l, struct layer_member *m, const struct layer_member *living,
		     bool alone)
{
	struct layer_start s;
	const char **args, **listen, *asked;
	char *text, called[32], where[300];
	int rc, status;
	bool moved, configured;

	if (!m->controller && !living)
		re_raise(l, m);
	rc = layer_args(l, m, &args, &text);
	if (rc)
		return cli_fail(cmd,
				"cannot read %s/args%s: %s. Stop the layer with 'sluice down' and "
				"start it again.",
				l->dir, m->suffix, strerror(-rc));
	listen = re_listen(l, args, where, &moved);
	asked = listen ? *listen : NULL;
	configured = re_configured(args);
	if (listen && !moved)
		*listen = where;
	status = cli_layer(cmd, layer_launch(l, m, args, &s));
	if (!status)
		status = cli_layer(cmd, layer_ready(m, alone, &s));
	if (!status && asked)
		status = re_listens(l, m, asked, where, moved);
	free(args);
	free(text);
	if (status)
		return status;
	m->pid = s.pid;
	if (!m->controller) {
		if (configured)
			re_tell(m, "reload"); /* its mode may have changed since the start */
		re_jobs(l, m);
		if (living)
			re_copy(m, living);
		else
			re_changes(l, m);
	}
	layer_member_called(m, alone, called);
	called[0] = called[0] == 't' ? 'T' : called[0];
	printf("%s is back (pid %d).\n", called, (int)m->pid);
	return CLI_OK;
}

static int re_all(struct layer *l)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_members(l, m), dead = 0;
	const struct layer_member *living = NULL;
	int status = CLI_OK, one;
	struct dashboard d;
	bool dashboard;

	for (size_t i = 0; i < n; i++) {
		dead += !m[i].pid;
		if (m[i].pid && !m[i].controller && !living)
			living = &m[i];
	}
	dashboard = dashboard_died(l);
	if (!dead && !dashboard)
		printf("No member of layer '%s' has died.\n", l->name);
	for (size_t k = 0, nodes = layer_nodes(m, n); k < n; k++) { /* controllers first */
		size_t i = k < n - nodes ? n - 1 - k : k - (n - nodes);

		if (m[i].pid)
			continue;
		one = re_member(l, &m[i], living, n == 1);
		status = status ? status : one;
		if (!one && !m[i].controller && !living)
			living = &m[i];
	}
	if (dead)
		up_settle(l);
	if (dashboard && (one = dashboard_revive(cmd, l, &d)) == CLI_OK)
		printf("The dashboard is back (pid %d), at %s.\n", (int)d.pid, d.address);
	else if (dashboard)
		status = status ? status : one;
	return status;
}

int up_revive(const char *name)
{
	struct layer l;
	int status = cli_layer(cmd, layer_choose(&l, name)), turn, rc;
	bool ours;

	if (status)
		return status;
	if (layer_state(&l) == LAYER_DOWN)
		return cli_layer(cmd, layer_not_up(&l, true));
	/* One revival at a time. This cannot use the lock, which the living members hold. */
	turn = open(l.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ours = turn >= 0 && flock(turn, LOCK_EX | LOCK_NB) == 0;
	rc = ours ? layer_lock(&l, false) : -EWOULDBLOCK;
	/* A member that was killed holds the lock for a moment, and cannot be joined. */
	for (int ms = 0; ours && rc == -EWOULDBLOCK && !layer_pid(&l) && ms < LOCK_MS; ms += 20) {
		usleep(20000);
		rc = layer_lock(&l, false);
	}
	if (ours && rc == -EWOULDBLOCK && layer_pid(&l))
		rc = layer_lock_open(&l);
	if (rc == -EWOULDBLOCK)
		status = cli_fail(cmd,
				  "another command is starting or stopping layer '%s'; "
				  "try again.",
				  l.name);
	else if (rc == -EACCES && l.system)
		status =
			cli_fail(cmd, "layer '%s' is for all users: only root revives it.", l.name);
	else if (rc)
		status = cli_fail(cmd, "cannot open %s/lock: %s.", l.dir, strerror(-rc));
	else
		status = re_all(&l);
	layer_close(&l);
	if (turn >= 0)
		close(turn);
	return status;
}
