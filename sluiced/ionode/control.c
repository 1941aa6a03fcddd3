/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control lines: the requests of `sluice status`, `run`, `set` and `policy set` to a node.
 *
 *	status                   everything, as JSON
 *	job NAME key=value…      make the job if there is none, then as `set`; and procs, nodes,
 *	                         account, qos, partition, title (of the job when it comes
 *	                         again), pid (keep the job while that process lives), keep=1
 *	                         (until it is ended)
 *	end JOB                  nothing keeps it any more
 *	set JOB key=value…       min max burst weight period best_effort order
 *	policy STAGE=SPEC…       e.g. policy share=io-sets order=aioli,wait_us=500
 *	capacity RATE            what the node may draw from now on; 0: not known, no limit;
 *	                         auto: it is found
 *	rules                    the rules and whom they have held, as JSON
 *	reload [check]           the configuration file is read again (check: only looked at)
 *	open, close              let everything pass from now on; no longer
 *	phase begin|end          this client's: see sl_phase_begin() in sluice.h
 *	ping
 *
 * An error is a positive errno and a message. A line is executed completely or not at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluiced/ionode/adapt.h"
#include "sluiced/ionode/control.h"
#include "sluiced/ionode/link.h"
#include "sluiced/ionode/pass.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/site.h"
#include "sluiced/ionode/turn.h"

int control_answer(char **out, int status, const char *text)
{
	*out = strdup(text);
	return *out ? status : ENOMEM;
}

/* JOB UNIT UNITS: the node of a client that is number UNIT of UNITS units. */
static int where(struct node *n, const struct node_who *who, char *words, char **out)
{
	char *save = NULL, *asked = strtok_r(words, " ", &save), text[8000], name[SL_JOB_NAME_MAX];
	const char *unit = strtok_r(NULL, " ", &save), *units = strtok_r(NULL, " ", &save);
	const struct client *c = who->client;
	bool other;
	int rc;
	const struct node_job *j = control_find_job(n, who, asked, name, &other, &rc);

	if (!j || !unit || !units)
		return control_answer(out, ENOENT, "where: no such job here");
	link_where(n, j, (uint32_t)strtoul(unit, NULL, 10), (uint32_t)strtoul(units, NULL, 10),
		   c && c->peer, text, sizeof(text));
	return control_answer(out, 0, text);
}

/* I/O until now belongs to the phase, so collect it before the end of the phase. */
static int phase(struct node *n, struct client *c, const char *word, char **out)
{
	bool in = !strcmp(word, "begin");

	if (!c || (!in && strcmp(word, "end") != 0))
		return control_answer(out, EINVAL,
				      c ? "phase: begin or end" : "phase: of which client?");
	node_collect(n, node_now());
	node_job_phase(n, c, in);
	return 0;
}

/* Do not repeat the name of a refused job: `rest` is untrusted input. */
static int not_allowed(struct node *n, const struct node_who *who, const char *command, char **out)
{
	site_audit(n, who, command, NULL, false, "for administrators");
	return control_answer(out, EPERM, "only an administrator of this layer may do that");
}

int node_control(struct node *n, const struct node_who *who, char *line, char **out)
{
	struct client *c = who->client;
	char *rest = strchr(line, ' ');
	struct adapt tree = { .text = NULL };
	bool changed = true;
	int rc;

	if (rest)
		*rest++ = 0;
	else
		rest = line + strlen(line);
	if (n->site && !site_allows(who, line))
		return not_allowed(n, who, line, out);
	if (!strcmp(line, "status"))
		return control_status(n, who, out);
	if (!strcmp(line, "ping"))
		return control_answer(out, 0, "pong");
	if (!strcmp(line, "reload") && !(c && c->peer))
		return control_reload(n, !strcmp(rest, "check"), out);
	if (!strcmp(line, "job"))
		rules_know(n, n->site ? who->uid : geteuid());
	/* The account is this thread's: a client over TCP is served by another one. */
	if (!strcmp(line, "usage") && !(c && c->peer)) {
		usage_flush(n);
		return 0;
	}
	if (who->user)
		who->user->status_ns = 0; /* the status may change */
	if (strstr(rest, "order=auto") && !who->remote && who->admin) {
		adapt_read_words(&tree, rest);
		adapt_ratios(n); /* it may have been profiled since */
	}
	pthread_mutex_lock(&n->lock);
	n->adapt = &tree;
	if (!strcmp(line, "set") || !strcmp(line, "job"))
		rc = control_set_job(n, who, rest, line[0] == 'j', &changed, out);
	else if (!strcmp(line, "end"))
		rc = control_end_job(n, who, rest, out);
	else if (!strcmp(line, "rules"))
		rc = rules_json(n, out);
	else if (!strcmp(line, "where"))
		rc = where(n, who, rest, out);
	else if (!strcmp(line, "phase"))
		rc = phase(n, c, rest, out);
	else if (!strcmp(line, "policy"))
		rc = control_policy(n, rest, out);
	else if (!strcmp(line, "capacity"))
		rc = control_capacity(n, rest, out);
	else if (!strcmp(line, "capacity-ops"))
		rc = control_capacity_ops(n, rest, out);
	else if (!strcmp(line, "open") || !strcmp(line, "close"))
		rc = (pass_open(n, line[0] == 'o', node_now()), 0);
	else
		rc = control_answer(out, EINVAL, "the node does not know this command");
	n->adapt = NULL;
	if (n->site && !site_allows(&(struct node_who){ .admin = false }, line))
		site_audit(n, who, line, strcmp(line, "end") ? NULL : rest, !rc,
			   rc && *out		 ? *out
			   : strcmp(line, "end") ? rest
						 : NULL);
	turn_modes(n, node_now());
	node_unlock(n);
	adapt_forget(&tree);
	if (changed)
		node_wake_all(n); /* limits may have been lifted: wake all waiters */
	return rc;
}
