/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice.yaml.
 *
 *	name: scratch
 *	directory: /mnt/scratch
 *	capacity: 2GB/s
 *	workers: 4
 *	ionodes: 4
 *	dashboard: true
 *	policy:
 *	  share: io-sets
 *	  order: aioli,wait_us=500
 *	jobs:
 *	  - job: climate
 *	    min: 300MB/s
 *	    period: 20m
 *	tags:
 *	  - tag: ckpt
 *	    path: "checkpoints/" and a star
 *	    max: 100MB/s
 *
 * base/yaml.c walks the document. The schema is here, except for the keys with one value
 * (config-keys.c) and rules (config-rules.c).
 */
#include "layer/config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "layer/config-rules.h"
#include "wire/turn.h"

const char *const config_stages[CONFIG_STAGES] = { "admit", "share", "order", "grant", "allocate" };

/* ---- the keys of a layer ---- */

static int cf_value(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct config *c = into;
	char err[CHECK_TEXT];
	int k = 0, rc;

	while (strcmp(config_keys[k].name, key) != 0)
		k++;
	rc = sl_yaml_scalar(y, key, value, config_keys[k].what);
	if (!rc && config_check((enum config_which)k, sl_yaml_text(value), err))
		rc = sl_yaml_wrong(y, sl_yaml_line(value), "%s: %s", key, err);
	return rc ? rc : sl_yaml_copy(y, value, &c->value[k]);
}

static int cf_policy_text(struct sl_yaml *y, const yaml_node_t *value, char **out)
{
	free(*out);
	*out = check_absolute(sl_yaml_text(value));
	return *out ? 0
		    : sl_yaml_wrong(y, sl_yaml_line(value), "give the absolute path of the tree");
}

static int cf_stage(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct config *c = into;
	char err[CHECK_TEXT];
	int rc = sl_yaml_scalar(y, key, value, "a policy like wfq or aioli,wait_us=500");

	if (!rc && check_policy(key, sl_yaml_text(value), err))
		rc = sl_yaml_wrong(y, sl_yaml_line(value), "%s", err);
	for (int i = 0; !rc && i < CONFIG_STAGES; i++)
		if (!strcmp(config_stages[i], key))
			rc = cf_policy_text(y, value, &c->policy[i]);
	return rc;
}

static int cf_policy(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "admit", cf_stage }, { "share", cf_stage },	 { "order", cf_stage },
		{ "grant", cf_stage }, { "allocate", cf_stage }, { 0 },
	};

	return sl_yaml_mapping(y, value, keys, key, into);
}

/* ---- jobs ---- */

struct cf_job {
	struct config *c;
	struct config_job *to; /* its last */
};

static int cf_job_name(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct cf_job *job = into;
	char err[CHECK_TEXT];
	int rc = sl_yaml_scalar(y, key, value, "the name of a job");

	if (!rc && check_job_name(sl_yaml_text(value), err))
		rc = sl_yaml_wrong(y, sl_yaml_line(value), "%s", err);
	for (size_t i = 0; !rc && i + 1 < job->c->jobs_count; i++)
		if (!strcmp(job->c->jobs[i].name, sl_yaml_text(value)))
			rc = sl_yaml_wrong(y, sl_yaml_line(value),
					   "job '%s' exists already, in line %u",
					   sl_yaml_text(value), job->c->jobs[i].line);
	return rc ? rc : sl_yaml_copy(y, value, &job->to->name);
}

/* YAML has true and false for 1 and 0. */
static const char *cf_flag(const char *text)
{
	static const char *const yes[] = { "true", "yes", "on" }, *const no[] = { "false", "no",
										  "off" };

	for (int i = 0; i < 3; i++) {
		if (!strcmp(text, yes[i]))
			return "1";
		if (!strcmp(text, no[i]))
			return "0";
	}
	return text;
}

static int cf_job_key(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct config_job *job = ((struct cf_job *)into)->to;
	char err[CHECK_TEXT], *words;
	const char *text;
	int rc = sl_yaml_scalar(y, key, value, "one value");

	if (rc)
		return rc;
	text = strcmp(key, "best_effort") ? sl_yaml_text(value) : cf_flag(sl_yaml_text(value));
	if (check_job_key(key, text, &job->conf, err))
		return sl_yaml_wrong(y, sl_yaml_line(value), "%s", err);
	sl_ops_key(&job->ops, key, text); /* if it is one of these */
	if (asprintf(&words, "%s%s%s=%s", job->words ? job->words : "", job->words ? " " : "", key,
		     text) < 0)
		return sl_yaml_no_memory(y, value);
	free(job->words);
	job->words = words;
	return 0;
}

#define CF_JOB_KEYS                                                                                \
	{ "min", cf_job_key }, { "max", cf_job_key }, { "burst", cf_job_key },                     \
		{ "weight", cf_job_key }, { "period", cf_job_key }, { "best_effort", cf_job_key }, \
		{ "min_ops", cf_job_key }, { "min_create", cf_job_key },                           \
		{ "min_lookup", cf_job_key }, { "min_remove", cf_job_key },                        \
		{ "min_list", cf_job_key }, { "min_attribute", cf_job_key },                       \
		{ "weight_create", cf_job_key }, { "weight_lookup", cf_job_key },                  \
		{ "weight_remove", cf_job_key }, { "weight_list", cf_job_key },                    \
		{ "weight_attribute", cf_job_key }, { "max_ops", cf_job_key },                     \
		{ "max_create", cf_job_key }, { "max_lookup", cf_job_key },                        \
		{ "max_remove", cf_job_key }, { "max_list", cf_job_key },                          \
		{ "max_attribute", cf_job_key }, { "max_iops", cf_job_key },                       \
		{ "max_read", cf_job_key },                                                        \
	{                                                                                          \
		"max_write", cf_job_key                                                            \
	}

/* Append an element to a list; NULL: no memory. */
static struct config_job *cf_more(struct config_job **list, size_t *count, const yaml_node_t *node)
{
	struct config_job *more = reallocarray(*list, *count + 1, sizeof(*more));

	if (!more)
		return NULL;
	*list = more;
	more += (*count)++;
	*more = (struct config_job){ .line = (unsigned)sl_yaml_line(node) };
	return more;
}

static int cf_job(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "job", cf_job_name }, CF_JOB_KEYS, { "order", cf_job_key }, { 0 }
	};
	struct config *c = into;
	struct config_job *job;
	int rc;

	if (c->jobs_count == CONFIG_JOBS)
		return sl_yaml_wrong(y, sl_yaml_line(node), "more than %d jobs", CONFIG_JOBS);
	job = cf_more(&c->jobs, &c->jobs_count, node);
	if (!job)
		return sl_yaml_no_memory(y, node);
	if ((rc = sl_yaml_mapping(y, node, keys, "a job", &(struct cf_job){ c, job })))
		return rc;
	if (!job->name)
		return sl_yaml_wrong(y, job->line, "a job needs its name, as in 'job: climate'");
	return 0;
}

static int cf_jobs(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	return sl_yaml_list(y, key, value, "a list: '- job: NAME' and its keys", cf_job, into);
}

/* ---- parts of jobs ---- */

static int cf_tag_name(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct cf_job *tag = into;
	int rc = sl_yaml_scalar(y, key, value, "a tag");

	if (!rc && !sl_tag_is_good(sl_yaml_text(value)))
		return sl_yaml_bad(y, value, "a tag must be 1 to %d letters, digits and - _ .",
				   SL_TAG_MAX - 1);
	for (size_t i = 0; !rc && i + 1 < tag->c->tags_count; i++)
		if (!strcmp(tag->c->tags[i].name, sl_yaml_text(value)))
			return sl_yaml_bad(y, value, "tag '%s' exists already, in line %u",
					   sl_yaml_text(value), tag->c->tags[i].line);
	return rc ? rc : sl_yaml_copy(y, value, &tag->to->name);
}

static int cf_tag_path(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	int rc = sl_yaml_scalar(y, key, value, "a glob like checkpoints/*");
	const char *text = rc ? "" : sl_yaml_text(value);

	if (rc)
		return rc;
	if (!*text || text[0] == '/' || !strncmp(text, "./", 2) || strchr(text, '\n'))
		return sl_yaml_bad(
			y, value,
			"a path must be one line and relative to the layer's directory, like "
			"checkpoints/*");
	return sl_yaml_copy(y, value, &((struct cf_job *)into)->to->path);
}

static int cf_tag(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "tag", cf_tag_name }, { "path", cf_tag_path }, CF_JOB_KEYS, { 0 }
	};
	struct config *c = into;
	struct config_job *tag;
	int rc;

	tag = cf_more(&c->tags, &c->tags_count, node);
	if (!tag)
		return sl_yaml_no_memory(y, node);
	if ((rc = sl_yaml_mapping(y, node, keys, "a tag", &(struct cf_job){ c, tag })))
		return rc;
	if (!tag->name)
		return sl_yaml_wrong(y, tag->line, "a tag needs its name, as in 'tag: ckpt'");
	return config_parts(y, tag->line, c);
}

static int cf_tags(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	return sl_yaml_list(y, key, value, "a list: '- tag: NAME' and its keys", cf_tag, into);
}

/* ---- the dashboard ---- */

static int cf_dashboard_where(struct sl_yaml *y, const char *key, const yaml_node_t *value,
			      void *into)
{
	bool port = !strcmp(key, "port");
	struct config *c = into;
	char err[CHECK_TEXT];
	int rc = sl_yaml_scalar(y, key, value, port ? "a number" : "a name or address of a host");

	if (!rc && (port ? check_port : check_host)(sl_yaml_text(value), err))
		rc = sl_yaml_bad(y, value, "%s", err);
	return rc ? rc : sl_yaml_copy(y, value, port ? &c->dashboard_port : &c->dashboard_host);
}

/* `dashboard:` is true or false, or a mapping with the address, which implies true. */
static int cf_dashboard(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	static const struct sl_yaml_key keys[] = { { "port", cf_dashboard_where },
						   { "listen", cf_dashboard_where },
						   { 0 } };
	struct config *c = into;
	int rc;

	if (value->type == YAML_MAPPING_NODE) {
		c->dashboard = true;
		return sl_yaml_mapping(y, value, keys, key, into);
	}
	rc = sl_yaml_scalar(y, key, value, "true, false, or a mapping with port and listen");
	if (!rc && !config_is_flag(sl_yaml_text(value)))
		rc = sl_yaml_bad(y, value,
				 "'%.64s' is neither true nor false, nor a mapping with port and "
				 "listen",
				 sl_yaml_text(value));
	if (!rc)
		c->dashboard = config_flag(sl_yaml_text(value));
	return rc;
}

/* ---- the file ---- */

static int cf_root(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key others[] = {
		{ "dashboard", cf_dashboard }, { "policy", cf_policy },	  { "jobs", cf_jobs },
		{ "tags", cf_tags },	       { "rules", config_rules }, { 0 },
	};
	struct sl_yaml_key keys[CONFIG_KEYS + sizeof(others) / sizeof(others[0])];

	for (int k = 0; k < CONFIG_KEYS; k++)
		keys[k] = (struct sl_yaml_key){ config_keys[k].name, cf_value };
	memcpy(keys + CONFIG_KEYS, others, sizeof(others));

	if (node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0)
		return 0; /* an empty document */
	return sl_yaml_mapping(y, node, keys, "the file", into);
}

int config_parse(struct config *c, const char *file, const char *text, size_t length, char *err)
{
	int rc;

	*c = (struct config){ 0 };
	rc = sl_yaml_parse(file, text, length, cf_root, c, err, CONFIG_TEXT);
	if (rc)
		config_free(c);
	return rc;
}

/* Relative paths start at the directory of the file, not at the current directory. */
static int cf_beneath(struct config *c, const char *file)
{
	const char *slash = strrchr(file, '/');
	char *path;

	for (int k = 0; slash && k < CONFIG_KEYS; k++) {
		if (!config_keys[k].is_path || !c->value[k] || c->value[k][0] == '/')
			continue;
		if (asprintf(&path, "%.*s%s", (int)(slash - file + 1), file, c->value[k]) < 0)
			return -ENOMEM;
		free(c->value[k]);
		c->value[k] = path;
	}
	return 0;
}

int config_read(struct config *c, const char *file, char *err)
{
	int rc;

	*c = (struct config){ 0 };
	rc = sl_yaml_read(file, cf_root, c, err, CONFIG_TEXT);
	if (!rc && (rc = cf_beneath(c, file)))
		snprintf(err, CONFIG_TEXT, "no memory");
	if (rc)
		config_free(c);
	return rc;
}

static void free_jobs(struct config_job *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(jobs[i].name);
		free(jobs[i].words);
		free(jobs[i].path);
	}
	free(jobs);
}

void config_free(struct config *c)
{
	for (int k = 0; k < CONFIG_KEYS; k++)
		free(c->value[k]);
	for (int i = 0; i < CONFIG_STAGES; i++)
		free(c->policy[i]);
	free_jobs(c->jobs, c->jobs_count);
	free_jobs(c->tags, c->tags_count);
	config_rules_free(c);
	free(c->dashboard_host);
	free(c->dashboard_port);
	*c = (struct config){ 0 };
}
