/* SPDX-License-Identifier: Apache-2.0 */
/* Policies, capacities and the configuration file, by control lines. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "sluiced/ionode/adapt.h"
#include "sluiced/ionode/control.h"
#include "sluiced/ionode/link.h"
#include "sluiced/ionode/pass.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/scheduler.h"
#include "sluiced/ionode/sense.h"
#include "sluiced/ionode/turn.h"

int control_policy(struct node *n, char *words, char **out)
{
	char *save = NULL, text[200], *spec[SL_NODE_STAGES] = { NULL };
	struct sl_spec parsed;

	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');
		int stage, rc;

		if (!value)
			return control_answer(out, EINVAL, "give STAGE=POLICY, as in share=wfq");
		*value++ = 0;
		stage = sl_stage_find(word);
		if (stage >= SL_NODE_STAGES)
			stage = -ENOENT;
		if (stage < 0 || spec[stage]) {
			snprintf(text, sizeof(text),
				 stage < 0 ? "no stage '%.32s'; there are admit, share, order"
					   : "the stage %.32s is given twice",
				 word);
			return control_answer(out, EINVAL, text);
		}
		rc = sl_spec_parse((enum sl_stage)stage, value, &parsed, text, sizeof(text));
		if (rc)
			return control_answer(out, -rc, text);
		spec[stage] = value;
	}
	/* Set order first, because only its tree can still be refused. */
	for (int i = SL_NODE_STAGES - 1; i >= 0; i--) {
		char *copy;
		int rc;

		if (!spec[i])
			continue;
		rc = pass_stands_in(n, (enum sl_stage)i)
			     ? 0
			     : node_policy(n, sl_stage_name((enum sl_stage)i), spec[i], node_now());
		if (rc)
			return control_answer(out, -rc, sl_error(n->sched));
		ops_policy(n, sl_stage_name((enum sl_stage)i), spec[i], node_now());
		copy = strdup(spec[i]);
		if (copy) {
			free(n->policy[i]);
			n->policy[i] = copy;
		}
	}
	return 0;
}

int control_capacity(struct node *n, const char *word, char **out)
{
	char text[200];
	uint64_t bps;
	int rc;

	if (!strcmp(word, "auto")) {
		rc = sense_auto(n, true, node_now());
		return rc ? control_answer(out, -rc, "the capacity cannot be found") : 0;
	}
	if (sl_parse_rate(word, &bps)) {
		snprintf(text, sizeof(text), "'%.64s' is not a rate; write 200M, 100MB/s or auto",
			 word);
		return control_answer(out, EINVAL, text);
	}
	rc = node_capacity(n, node_of_layer(n->config, bps), node_now());
	if (rc == -EBUSY)
		return control_answer(out, EBUSY,
				      "the capacity cannot be unknown while jobs have a min");
	if (rc)
		return control_answer(out, -rc, "a capacity goes to 1 PiB/s");
	sense_auto(n, false, node_now());
	/* Take back leases now, at the rate at which they were charged. */
	for (struct node_job *j = n->jobs; j; j = j->next)
		if (j->turn)
			turn_revoke(n, j->turn, node_now());
	n->capacity_bps = n->pace.bps = bps;
	n->layer_bps = node_of_layer(n->config, bps);
	n->pace.at = 0; /* forget the debt of the old rate */
	n->pace.carry = 0;
	link_event(n);
	return 0;
}

int control_capacity_ops(struct node *n, const char *word, char **out)
{
	bool find = !strcmp(word, "auto");
	uint64_t count = 0;
	int rc;

	if (!find && sl_ops_parse(word, &count))
		return control_answer(
			out, EINVAL,
			"a capacity of operations is a number per second like 5000 or 20k, "
			"or auto");
	rc = ops_capacity(n, count, find, node_now());
	return rc ? control_answer(out, -rc,
				   "the capacity of operations cannot be unknown while jobs have a "
				   "min_ops")
		  : 0;
}
/* ---- the configuration file; no lock is held ---- */

/* The policies that differ in the new file: "share=wfq order=to"; "": none. */
static void changed_policies(const struct config *old, const struct config *new, char *out,
			     size_t size)
{
	size_t at = 0;

	out[0] = 0;
	for (int i = 0; i < SL_NODE_STAGES; i++) {
		const char *a = old->policy[i], *b = new->policy[i];

		if (a == b || (a && b && !strcmp(a, b)))
			continue;
		at += (size_t)snprintf(out + at, size - at, "%s%s=%s", at ? " " : "",
				       sl_stage_name((enum sl_stage)i),
				       b ? b : sl_policy_at((enum sl_stage)i, 0)->name);
		at = at < size ? at : size - 1;
	}
}

/* The capacity of this node, as a word of a control line. */
static void capacity_word(const struct node *n, const struct config *c, char out[64])
{
	const char *text = c->value[CONFIG_CAPACITY];
	uint32_t nodes = n->config->layer_nodes ? n->config->layer_nodes : 1;
	uint64_t bps = 0;

	if (text && check_auto(text)) {
		strcpy(out, "auto");
		return;
	}
	if (text)
		sl_parse_rate(text, &bps);
	snprintf(out, 64, "%llu", (unsigned long long)(bps && bps < nodes ? 1 : bps / nodes));
}

/* The mode of the file; if neither the new nor the old file names one, the present mode. */
static bool observes(const struct node *n, const struct config *fresh)
{
	const char *mode = fresh->value[CONFIG_MODE];

	if (!mode && !rules_config(n)->value[CONFIG_MODE])
		return n->observe;
	return mode && !strcmp(mode, "observe");
}

/*
 * Lock held: apply the file completely, or nothing and set an answer. Only values that differ from
 * the last file are set, so values from the command line, or set since, stay.
 */
static int take_config(struct node *n, struct config *fresh, char **out)
{
	const struct config *old = rules_config(n);
	char before[64], after[64], policies[1200], *unsaid = NULL;
	int rc = 0;

	changed_policies(old, fresh, policies, sizeof(policies));
	capacity_word(n, old, before);
	capacity_word(n, fresh, after);
	if (strcmp(before, after) != 0)
		rc = control_capacity(n, after, out);
	if (!rc && policies[0] && (rc = control_policy(n, policies, out)) &&
	    strcmp(before, after) != 0)
		control_capacity(n, before, &unsaid);
	free(unsaid);
	if (rc)
		return rc;
	if (observes(n, fresh) != n->observe)
		pass_observe(n, !n->observe, node_now());
	if (fresh->value[CONFIG_LOG_LEVEL])
		sl_log_level = (enum sl_log_level)sl_log_level_find(fresh->value[CONFIG_LOG_LEVEL]);
	rules_take(n, fresh, node_now());
	return 0;
}

/* The changes as control lines, which the command stores for nodes that are revived. */
static int tell_changes(const struct node *n, const struct config *fresh, char **out)
{
	char before[64], after[64], policies[1200], text[1400] = "";

	changed_policies(rules_config(n), fresh, policies, sizeof(policies));
	capacity_word(n, rules_config(n), before);
	capacity_word(n, fresh, after);
	if (policies[0])
		snprintf(text, sizeof(text), "policy %s\n", policies);
	if (strcmp(before, after) != 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "capacity %s\n", after);
	return control_answer(out, 0, text);
}

static int refuse_config(struct node *n, int rc, const char *why, char **out)
{
	log_error("configuration refused, the one before stays: %s", why);
	pthread_mutex_lock(&n->lock);
	rules_refused(n, why);
	node_unlock(n);
	return *out ? rc : control_answer(out, rc, why);
}

/* check: say whether it could be taken. */
int control_reload(struct node *n, bool check, char **out)
{
	char err[CONFIG_TEXT], policies[1200];
	struct adapt tree = { .text = NULL };
	struct config fresh;
	bool observe;
	int rc = -rules_read(n, &fresh, err);

	if (rc)
		return refuse_config(n, rc, err, out);
	if (check) {
		rc = tell_changes(n, &fresh, out);
		config_free(&fresh);
		return rc;
	}
	rules_again(n);
	changed_policies(rules_config(n), &fresh, policies, sizeof(policies));
	if (strstr(policies, "order=auto")) {
		adapt_read_words(&tree, policies);
		adapt_ratios(n);
	}
	observe = n->observe;
	if (observes(n, &fresh) != observe)
		usage_stop(n); /* observe mode has other columns */
	pthread_mutex_lock(&n->lock);
	n->adapt = &tree;
	rc = take_config(n, &fresh, out);
	n->adapt = NULL;
	turn_modes(n, node_now());
	node_unlock(n);
	adapt_forget(&tree);
	if (!n->usage)
		usage_start(n);
	if (rc) {
		config_free(&fresh);
		return refuse_config(n, rc, *out ? *out : strerror(rc), out);
	}
	if (n->observe && !observe)
		sense_observe(n);
	log_info("configuration %s taken, %zu rules", n->config->file,
		 rules_config(n)->rules_count);
	node_wake_all(n);
	link_event(n);
	return 0;
}
