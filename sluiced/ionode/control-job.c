/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs by control lines: what the words of `job`, `set` and `end` mean, and who may say them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "sluiced/ionode/adapt.h"
#include "sluiced/ionode/control.h"
#include "sluiced/ionode/pass.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/scheduler.h"
#include "sluiced/ionode/site.h"
#include "sluiced/ionode/turn.h"

/* One key of `set`: 0, -EINVAL for a bad value, -ENOENT for an unknown key. */
static int set_key(struct sl_job_conf *c, const char *key, const char *value)
{
	char *end;
	unsigned long number;

	if (!strcmp(key, "min"))
		return sl_parse_rate(value, &c->min_bps);
	if (!strcmp(key, "max"))
		return sl_parse_rate(value, &c->max_bps);
	if (!strcmp(key, "burst"))
		return sl_parse_bytes(value, &c->burst_bytes);
	if (!strcmp(key, "period"))
		return sl_parse_period(value, &c->period_ns);
	number = strtoul(value, &end, 10);
	if (*end || end == value || number > UINT32_MAX)
		return -EINVAL;
	if (!strcmp(key, "weight"))
		c->weight = (uint32_t)number;
	else if (!strcmp(key, "best_effort"))
		c->best_effort = (uint32_t)number;
	else
		return -ENOENT;
	return 0;
}

/* Keys that only `job` accepts. */
struct job_facts {
	uint32_t procs, nodes;
	pid_t pid;
	bool keep;
	const char *title;
	struct sl_job_owner owner;
};

/* Check names that are used in control lines, reports and JSON. */
static int owner_key(struct sl_job_owner *o, const char *key, const char *value)
{
	char *to = !strcmp(key, "account")     ? o->account
		   : !strcmp(key, "qos")       ? o->qos
		   : !strcmp(key, "partition") ? o->partition
					       : NULL;

	if (!to)
		return -ENOENT;
	if (strlen(value) >= SL_OWNER_MAX)
		return -EINVAL;
	for (const char *c = value; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == ',' || *c == '=' || *c == '"')
			return -EINVAL;
	strcpy(to, value);
	return 0;
}

static int fact_key(struct job_facts *f, const char *key, const char *value)
{
	char *end;
	unsigned long number = strtoul(value, &end, 10);

	if (!strcmp(key, "title")) {
		f->title = value;
		return strlen(value) < SL_JOB_NAME_MAX ? 0 : -EINVAL;
	}
	if (!strcmp(key, "account") || !strcmp(key, "qos") || !strcmp(key, "partition"))
		return owner_key(&f->owner, key, value);
	if (strcmp(key, "procs") && strcmp(key, "nodes") && strcmp(key, "pid") &&
	    strcmp(key, "keep"))
		return -ENOENT;
	if (*end || end == value || number > INT32_MAX)
		return -EINVAL;
	if (!strcmp(key, "procs"))
		f->procs = (uint32_t)number;
	else if (!strcmp(key, "nodes"))
		f->nodes = (uint32_t)number;
	else if (!strcmp(key, "pid"))
		f->pid = (pid_t)number;
	else
		f->keep = number;
	return 0;
}

/* The words after the job. facts is NULL for `set`. */
static int job_words(char **save, struct sl_job_conf *conf, struct sl_ops_conf *ops, char **order,
		     struct job_facts *facts, char **out)
{
	char *word, text[240];

	while ((word = strtok_r(NULL, " ", save))) {
		char *value = strchr(word, '=');
		int rc = -EINVAL;

		if (value) {
			*value++ = 0;
			rc = facts ? fact_key(facts, word, value) : -ENOENT;
		}
		if (value && rc == -ENOENT && !strcmp(word, "order")) {
			*order = value;
			continue;
		}
		if (rc == -ENOENT)
			rc = sl_ops_key(ops, word, value);
		if (rc == -ENOENT)
			rc = set_key(conf, word, value);
		if (rc) {
			snprintf(text, sizeof(text),
				 rc == -ENOENT ? "no key '%.32s'; there are min, max, burst, "
						 "weight, period, best_effort, order, min_ops, "
						 "max_ops, min_CLASS, max_CLASS, weight_CLASS, "
						 "max_iops, max_read, "
						 "max_write"
					       : "'%.32s' has no proper value",
				 word);
			return control_answer(out, -rc, text);
		}
	}
	return 0;
}

/* The reason why the scheduler refused conf, in the user's units and names. */
static int refused(const struct node *n, uint64_t number, const struct sl_job_conf *conf, int rc,
		   char **out)
{
	const char *why = sl_error(n->sched);
	char text[200], min[16], max[16], promised[16], capacity[16];
	uint64_t others = 0, whole = n->layer_bps;

	for (const struct node_job *j = n->jobs; j; j = j->next)
		if (j->number != number && !j->rights.best_effort)
			others += j->rights.min_bps;
	sl_format_rate(min, sizeof(min), conf->min_bps);
	sl_format_rate(max, sizeof(max), conf->max_bps);
	sl_format_rate(promised, sizeof(promised), others);
	sl_format_rate(capacity, sizeof(capacity), whole);
	if (rc == -EDQUOT)
		snprintf(text, sizeof(text),
			 "min %s does not fit: %s of %s are promised to other jobs", min, promised,
			 capacity);
	else if (conf->max_bps && conf->min_bps > conf->max_bps)
		snprintf(text, sizeof(text), "min %s is above max %s", min, max);
	else if (conf->min_bps && !whole)
		snprintf(text, sizeof(text),
			 "a min needs a layer of known capacity: 'sluice up --capacity RATE'");
	else
		snprintf(text, sizeof(text), "%s", strncmp(why, "job: ", 5) ? why : why + 5);
	return control_answer(out, -rc, text);
}

static bool no_limits(const struct node *n)
{
	const char *admit = pass_configured(n, SL_ADMIT);

	return admit && !strncmp(admit, "open", 4) && (!admit[4] || admit[4] == ',');
}

/* Whether the text is safe for the protocol, a terminal and a report. */
static bool is_name(const char *text)
{
	size_t length = strlen(text);

	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	return length > 0 && length < SL_JOB_NAME_MAX;
}

static bool is_decimal(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/*
 * Another job than the one of this name: its number is the hash of its name, or in decimal digits.
 */
static bool is_other(const struct node_job *j, const char *name)
{
	return strcmp(j->name, name) != 0 && !(is_decimal(j->name) && is_decimal(name));
}

/* Refuse a file that the node could read but the user could not. */
static bool reads_file(const char *order)
{
	char file[SL_SPEC_FILE_MAX + 1];

	return order && sl_spec_file(order, "tree", file);
}

/* The reason why this user may not change the job, or NULL. */
static const char *forbidden(const struct node *n, const struct node_who *who,
			     const struct node_job *j, const struct sl_job_conf *conf,
			     const struct sl_ops_conf *ops, const char *order,
			     const struct job_facts *facts)
{
	if ((who->remote || !who->admin) && reads_file(order))
		return "a tree is read from a file of the node's machine; set it there";
	if (!n->site || who->admin)
		return NULL;
	if (facts->keep)
		return "only an administrator keeps a job";
	return site_refuses(n, who, j, conf, ops);
}

/* Find the job by its full name. NULL: none; *rc: the reason. */
struct node_job *control_find_job(struct node *n, const struct node_who *who, const char *asked,
				  char name[SL_JOB_NAME_MAX], bool *other, int *rc)
{
	struct node_job *j;

	*rc = asked && is_name(asked) ? 0 : -EINVAL;
	*other = false;
	if (!*rc && n->site)
		*rc = site_name(who, asked, name, other);
	else if (!*rc)
		snprintf(name, SL_JOB_NAME_MAX, "%s", asked);
	if (*rc)
		return NULL;
	j = node_job_find(n, sl_job_number(name));
	if (j && is_other(j, name))
		*rc = -EEXIST;
	return *rc ? NULL : j;
}

static int no_job(const char *name, int rc, bool make, char **out)
{
	char text[200];

	if (rc == -EPERM)
		return control_answer(out, EPERM, "the job is another user's");
	if (rc == -EEXIST)
		return control_answer(
			out, EEXIST,
			"another job has the number of this name; choose another name");
	if (make && rc)
		return control_answer(
			out, EINVAL,
			"the name of a job is made of 1 to 63 printable ASCII characters");
	for (const char *c = name ? name : ""; *c; c++)
		if (*c <= ' ' || *c > '~')
			name = "";
	snprintf(text, sizeof(text), "no job '%.64s'; see 'sluice status'", name ? name : "");
	return control_answer(out, ENOENT, text);
}

/* The settings of an administrator are limits for the job's user. */
static void keep_given(const struct node *n, const struct node_who *who, struct node_job *j,
		       const struct sl_job_conf *before, const struct sl_ops_conf *ops_before)
{
	if (!n->site || !who->admin)
		return;
	for (int m = 0; m < SL_METERS; m++)
		if (j->ops.asked.max[m] != ops_before->max[m])
			j->given_ops.max[m] = j->ops.asked.max[m];
	for (int q = 0; q < SL_QUEUES; q++)
		if (j->ops.asked.min[q] != ops_before->min[q])
			j->given_ops.min[q] = j->ops.asked.min[q];
	for (int c = 0; c < SL_CLASSES; c++)
		if (j->ops.asked.weight[c] != ops_before->weight[c])
			j->given_ops.weight[c] = j->ops.asked.weight[c];
	if (j->asked.max_bps != before->max_bps)
		j->given.max_bps = j->asked.max_bps;
	if (j->asked.burst_bytes != before->burst_bytes)
		j->given.burst_bytes = j->asked.burst_bytes;
	if (j->asked.min_bps != before->min_bps)
		j->given.min_bps = j->asked.min_bps;
	if (j->asked.weight != before->weight)
		j->given.weight = j->asked.weight;
}

/* The settings of a job made by an administrator. */
struct given {
	struct sl_job_conf conf;
	struct sl_ops_conf ops;
};

static void lower(uint64_t *asked, uint64_t most)
{
	if (most && (!*asked || *asked > most))
		*asked = most;
}

/*
 * Combine the settings of a job with those of a tag in the file: the file's limits replace the
 * job's.
 */
static struct given given_to(const struct node_job *j, const struct config_job *tag)
{
	struct given g = { .conf = j->given, .ops = j->given_ops };

	g.conf.min_bps = 0; /* a min belongs to the job itself */
	memset(g.ops.min, 0, sizeof(g.ops.min));
	if (g.conf.max_bps && tag && tag->conf.max_bps) {
		g.conf.max_bps = tag->conf.max_bps;
		g.conf.burst_bytes = tag->conf.burst_bytes;
	}
	if (g.conf.weight && tag && tag->conf.weight)
		g.conf.weight = tag->conf.weight;
	for (int m = 0; m < SL_METERS; m++)
		if (g.ops.max[m] && tag && tag->ops.max[m])
			g.ops.max[m] = tag->ops.max[m];
	return g;
}

/* A user cannot escape a job's limits by creating a part of it. */
static void take_given(const struct given *g, struct sl_job_conf *conf, struct sl_ops_conf *ops)
{
	lower(&conf->max_bps, g->conf.max_bps);
	if (g->conf.max_bps && conf->burst_bytes > g->conf.burst_bytes)
		conf->burst_bytes = g->conf.burst_bytes;
	if (g->conf.weight && conf->weight > g->conf.weight)
		conf->weight = g->conf.weight;
	for (int m = 0; m < SL_METERS; m++)
		lower(&ops->max[m], g->ops.max[m]);
	for (int c = 0; c < SL_CLASSES; c++)
		if (g->conf.weight && ops->weight[c] > g->conf.weight)
			ops->weight[c] = g->conf.weight;
}

/*
 * Of a part of a job, JOB:TAG: what the file says of the tag where nobody has said otherwise, whose
 * the job is, and what it was given.
 */
static void take_tag(const struct node *n, const char *name, struct sl_job_conf *conf,
		     struct sl_ops_conf *ops, struct sl_job_owner *owner, struct given *given)
{
	const struct config_job *tag = rules_tag(n, name);
	const char *colon = sl_tag_of(name);
	char whole[SL_JOB_NAME_MAX];
	const struct node_job *job;

	if (!colon)
		return;
	snprintf(whole, sizeof(whole), "%.*s", (int)(colon - 1 - name), name);
	job = node_job_find(n, sl_job_number(whole));
	job = job && !is_other(job, whole) ? job : NULL;
	if (job && !owner->account[0])
		*owner = job->owner;
	if (job)
		*given = given_to(job, tag);
	if (!tag)
		return;
	conf->min_bps = conf->min_bps ? conf->min_bps : tag->conf.min_bps;
	conf->max_bps = conf->max_bps ? conf->max_bps : tag->conf.max_bps;
	conf->burst_bytes = conf->burst_bytes ? conf->burst_bytes : tag->conf.burst_bytes;
	conf->weight = conf->weight ? conf->weight : tag->conf.weight;
	conf->period_ns = conf->period_ns ? conf->period_ns : tag->conf.period_ns;
	conf->best_effort |= tag->conf.best_effort;
	for (int q = 0; q < SL_QUEUES; q++)
		ops->min[q] = ops->min[q] ? ops->min[q] : tag->ops.min[q];
	for (int c = 0; c < SL_CLASSES; c++)
		ops->weight[c] = ops->weight[c] ? ops->weight[c] : tag->ops.weight[c];
	for (int m = 0; m < SL_METERS; m++)
		ops->max[m] = ops->max[m] ? ops->max[m] : tag->ops.max[m];
}

/* *changed: the settings of an existing job have changed; a new job cannot lift limits. */
int control_set_job(struct node *n, const struct node_who *who, char *words, bool make,
		    bool *changed, char **out)
{
	char *save = NULL, *asked = strtok_r(words, " ", &save), *order = NULL, text[200];
	char name[SL_JOB_NAME_MAX];
	struct job_facts facts = { 0 };
	struct sl_job_conf conf = { 0 }, before = { 0 };
	const char *what = make ? "job" : "set", *why = NULL;
	struct sl_ops_conf ops = { 0 }, ops_before = { 0 };
	struct given given = { 0 };
	struct sl_spec spec;
	struct node_job *j;
	bool other, fresh;
	int rc;

	j = control_find_job(n, who, asked, name, &other, &rc);
	fresh = !j;
	*changed = j;
	if (rc || (!j && !make)) {
		site_audit(n, who, what, asked, false, rc ? strerror(-rc) : "no such job");
		return no_job(asked, rc, make, out);
	}
	if (other)
		site_audit(n, who, what, asked, false, "its control group is of another job");
	if (j) {
		before = conf = j->asked;
		ops = ops_before = j->ops.asked;
		facts.owner = j->owner;
	} else {
		facts.owner.uid = n->site ? (uid_t)strtoul(name, NULL, 10) : geteuid();
	}
	if ((rc = job_words(&save, &conf, &ops, &order, make ? &facts : NULL, out)))
		return rc;
	/* A user may not choose the account or the size of a job (share=fair,weigh=nodes). */
	if (n->site && !who->admin) {
		facts.owner = j ? j->owner : (struct sl_job_owner){ .uid = who->uid };
		facts.nodes = 0;
	}
	if (facts.title && !is_name(facts.title))
		return control_answer(out, EINVAL, "a title is made of printable ASCII characters");
	if (order && strcmp(order, "default") != 0 &&
	    (rc = sl_spec_parse(SL_ORDER, order, &spec, text, sizeof(text))))
		return control_answer(out, -rc, text);
	if (n->site && facts.pid > 0 && !site_owns(who, facts.pid)) {
		site_audit(n, who, what, name, false, "another user's process does not hold a job");
		facts.pid = 0;
	}
	if ((why = forbidden(n, who, j, &conf, &ops, order, &facts))) {
		site_audit(n, who, what, name, false, why);
		return control_answer(out, EPERM, why);
	}
	if (!j)
		take_tag(n, name, &conf, &ops, &facts.owner, &given);
	if (n->site && !who->admin)
		take_given(&given, &conf, &ops);
	else
		given = (struct given){ 0 };
	if (no_limits(n) && (conf.min_bps || conf.max_bps))
		return control_answer(out, EINVAL,
				      "under admit=open there are no limits; 'sluice policy set "
				      "admit=token-bucket' first");
	if (!j && n->site && !who->admin && !node_job_fits(n, who->uid, n->config->site->jobs)) {
		site_audit(n, who, what, name, false, "too many jobs of this user");
		return control_answer(out, EDQUOT, "you have as many jobs here as a user may have");
	}
	if (j)
		rc = node_job_ask(n, j, &conf, node_now());
	else
		j = node_job_add(n, name, (uid_t)strtoul(name, NULL, 10), &conf, &rc);
	if (rc) {
		site_audit(n, who, what, name, false, strerror(-rc));
		return refused(n, sl_job_number(name), &conf, rc, out);
	}
	if (fresh) {
		j->given = given.conf;
		j->given_ops = given.ops;
	}
	if (order && (rc = node_job_order(n, j->number, strcmp(order, "default") ? order : NULL,
					  node_now()))) {
		/* Set its order policy. If that fails, a new job stays, without limits. */
		control_answer(out, -rc, sl_error(n->sched));
		node_job_ask(n, j, &before, node_now());
		return -rc;
	}
	if ((rc = ops_job_ask(n, j, &ops, node_now(), &why))) {
		control_answer(out, -rc, why);
		node_job_ask(n, j, &before, node_now());
		return -rc;
	}
	keep_given(n, who, j, &before, &ops_before);
	j->procs = facts.procs ? facts.procs : j->procs;
	j->nodes = facts.nodes ? facts.nodes : j->nodes;
	j->keep = j->keep || facts.keep;
	if (facts.title)
		snprintf(j->title, sizeof(j->title), "%s", facts.title);
	if (make)
		node_job_owner(n, j, &facts.owner);
	if (facts.pid > 0)
		node_job_hold(j, facts.pid);
	if (make)
		turn_job_make(n, j); /* if that fails, its programs run without a segment */
	turn_job_keep(n, j);
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): at worst one line too many */
	if (fresh || memcmp(&before, &j->asked, sizeof(before)) != 0 || order ||
	    memcmp(&ops_before, &j->ops.asked, sizeof(ops_before)) != 0)
		site_audit(n, who, what, name, true, NULL);
	if (n->site && make) { /* tell the caller the job that was used instead */
		snprintf(text, sizeof(text), "job=%s", site_short(j));
		return control_answer(out, 0, text);
	}
	return 0;
}

/* Release the job: it is removed when its programs have ended. */
int control_end_job(struct node *n, const struct node_who *who, const char *asked, char **out)
{
	char name[SL_JOB_NAME_MAX];
	struct node_job *j;
	bool other;
	int rc;

	j = control_find_job(n, who, asked, name, &other, &rc);
	if (!j)
		return no_job(asked, rc, false, out);
	node_job_end(n, j);
	return 0;
}

/* Parse all keys before setting the first. */
