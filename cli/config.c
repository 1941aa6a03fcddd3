/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice.yaml.
 *
 *	name: scratch
 *	directory: /mnt/scratch
 *	capacity: 2GB/s
 *	workers: 4
 *	policy:
 *	  share: io-sets
 *	  order: aioli,wait_us=500
 *	jobs:
 *	  - job: climate
 *	    min: 300MB/s
 *	    period: 20m
 *
 * base/yaml.c walks; here is the schema.
 */
#include "cli/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/yaml.h"

const char *const config_stages[3] = { "admit", "share", "order" };

/* ---- the keys of a layer ---- */

static int cf_name(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct config *c = into;
	char err[CHECK_TEXT];
	int rc = sl_yaml_scalar(y, key, value, "the name of the layer");

	if (!rc && check_layer_name(sl_yaml_text(value), err))
		rc = sl_yaml_wrong(y, sl_yaml_line(value), "%s", err);
	return rc ? rc : sl_yaml_copy(y, value, &c->name);
}

static int cf_directory(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct config *c = into;
	int rc = sl_yaml_scalar(y, key, value, "a path");

	return rc ? rc : sl_yaml_copy(y, value, &c->directory);
}

static int cf_capacity(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct config *c = into;
	uint64_t bps;
	int rc = sl_yaml_scalar(y, key, value, "a rate like 200M, 1.5Gi or 100MB/s");

	if (!rc && (sl_parse_rate(sl_yaml_text(value), &bps) || !bps || bps > SL_MAX_RATE))
		rc = sl_yaml_wrong(y, sl_yaml_line(value),
				   "capacity: '%.64s' is not a rate; write 200M, 1.5Gi or 100MB/s",
				   sl_yaml_text(value));
	return rc ? rc : sl_yaml_copy(y, value, &c->capacity);
}

static int cf_workers(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct config *c = into;
	unsigned long count;
	int rc = sl_yaml_scalar(y, key, value, "a number");

	if (rc)
		return rc;
	if (check_count(sl_yaml_text(value), 1, CONFIG_WORKERS, &count))
		return sl_yaml_wrong(y, sl_yaml_line(value),
				     "workers: '%.64s' is not a number from 1 to %d",
				     sl_yaml_text(value), CONFIG_WORKERS);
	c->workers = (unsigned)count;
	return 0;
}

static int cf_stage(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct config *c = into;
	char err[CHECK_TEXT];
	int rc = sl_yaml_scalar(y, key, value, "a policy like wfq or aioli,wait_us=500");

	if (!rc && check_policy(key, sl_yaml_text(value), err))
		rc = sl_yaml_wrong(y, sl_yaml_line(value), "%s", err);
	for (int i = 0; !rc && i < 3; i++)
		if (!strcmp(config_stages[i], key))
			rc = sl_yaml_copy(y, value, &c->policy[i]);
	return rc;
}

static int cf_policy(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "admit", cf_stage },
		{ "share", cf_stage },
		{ "order", cf_stage },
		{ 0 },
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
					   "job '%s' is there already, in line %u",
					   sl_yaml_text(value), job->c->jobs[i].line);
	return rc ? rc : sl_yaml_copy(y, value, &job->to->name);
}

/* YAML has words for 0 and 1. */
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
	if (asprintf(&words, "%s%s%s=%s", job->words ? job->words : "", job->words ? " " : "", key,
		     text) < 0)
		return sl_yaml_no_memory(y, value);
	free(job->words);
	job->words = words;
	return 0;
}

static int cf_job(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "job", cf_job_name },	 { "min", cf_job_key },		{ "max", cf_job_key },
		{ "burst", cf_job_key }, { "weight", cf_job_key },	{ "period", cf_job_key },
		{ "order", cf_job_key }, { "best_effort", cf_job_key }, { 0 },
	};
	struct config *c = into;
	struct config_job *job;
	int rc;

	if (c->jobs_count == CONFIG_JOBS)
		return sl_yaml_wrong(y, sl_yaml_line(node), "more than %d jobs", CONFIG_JOBS);
	job = reallocarray(c->jobs, c->jobs_count + 1, sizeof(*job));
	if (!job)
		return sl_yaml_no_memory(y, node);
	c->jobs = job;
	job += c->jobs_count++;
	*job = (struct config_job){ .line = (unsigned)sl_yaml_line(node) };
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

/* ---- the file ---- */

static int cf_root(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "name", cf_name },
		{ "directory", cf_directory },
		{ "capacity", cf_capacity },
		{ "workers", cf_workers },
		{ "policy", cf_policy },
		{ "jobs", cf_jobs },
		{ 0 },
	};

	if (node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0)
		return 0; /* a document that was begun, and left empty */
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

/* A relative directory is beneath that of the file, wherever the command was typed. */
static int cf_beneath(struct config *c, const char *file)
{
	const char *slash = strrchr(file, '/');
	char *path;

	if (!c->directory || c->directory[0] == '/' || !slash)
		return 0;
	if (asprintf(&path, "%.*s%s", (int)(slash - file + 1), file, c->directory) < 0)
		return -ENOMEM;
	free(c->directory);
	c->directory = path;
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

void config_free(struct config *c)
{
	free(c->name);
	free(c->directory);
	free(c->capacity);
	for (int i = 0; i < 3; i++)
		free(c->policy[i]);
	for (size_t i = 0; i < c->jobs_count; i++) {
		free(c->jobs[i].name);
		free(c->jobs[i].words);
	}
	free(c->jobs);
	*c = (struct config){ 0 };
}
