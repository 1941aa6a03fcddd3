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
 * libyaml makes a tree whose nodes know their lines. The walk over it follows the schema, which
 * is three levels deep, so that aliases, even to a node's own parent, do no harm. libcyaml would
 * do this walk, but tells of an error in several lines of a log, and not what would be right.
 */
#include "cli/config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/units.h"
#include "cli/cli.h"

#define FILE_MAX (1 << 20)

const char *const config_stages[3] = { "admit", "share", "order" };

struct reader {
	struct config *c;
	yaml_document_t *doc;
	const char *file;
	char *err;
};

static int cf_wrong(const struct reader *r, size_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int cf_wrong(const struct reader *r, size_t line, const char *format, ...)
{
	va_list args;
	int at;

	va_start(args, format);
	at = snprintf(r->err, CONFIG_TEXT, "%.200s:%zu: ", r->file, line);
	vsnprintf(r->err + at, CONFIG_TEXT - (size_t)at, format, args);
	va_end(args);
	return -EINVAL;
}

static size_t cf_line(const yaml_node_t *node)
{
	return node->start_mark.line + 1;
}

/* ---- scalars ---- */

static const char *cf_text(const yaml_node_t *node)
{
	return (const char *)node->data.scalar.value;
}

/* A scalar that says something; what: for the message, "a rate like 200M". */
static int cf_scalar(const struct reader *r, const char *key, const yaml_node_t *node,
		     const char *what)
{
	static const char *const kinds[] = { "nothing", "text", "a list", "a mapping" };

	if (node->type != YAML_SCALAR_NODE)
		return cf_wrong(r, cf_line(node), "%s is %s, not %s", key, what,
				kinds[node->type <= YAML_MAPPING_NODE ? node->type : 0]);
	if (node->data.scalar.length == 0)
		return cf_wrong(r, cf_line(node), "%s has no value; it is %s", key, what);
	if (strlen(cf_text(node)) != node->data.scalar.length)
		return cf_wrong(r, cf_line(node), "%s contains a zero byte", key);
	return 0;
}

static int cf_copy(const struct reader *r, const yaml_node_t *node, char **out)
{
	*out = strdup(cf_text(node));
	if (*out)
		return 0;
	cf_wrong(r, cf_line(node), "no memory");
	return -ENOMEM;
}

/* ---- mappings ---- */

struct key {
	const char *name;
	int (*take)(const struct reader *r, const char *key, const yaml_node_t *value, void *into);
};

static int cf_unknown(const struct reader *r, const yaml_node_t *node, const struct key *keys,
		      const char *where)
{
	struct cli_guess guess = { .word = cf_text(node) };
	char all[200] = "";

	for (const struct key *k = keys; k->name; k++) {
		size_t used = strlen(all);

		cli_consider(&guess, k->name);
		snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", k->name);
	}
	return cf_wrong(r, cf_line(node), "%s has no key '%.32s'%s%s%s; there are %s", where,
			cf_text(node), guess.best ? " (did you mean '" : "",
			guess.best ? guess.best : "", guess.best ? "'?)" : "", all);
}

static int cf_mapping(const struct reader *r, const yaml_node_t *node, const struct key *keys,
		      const char *where, void *into)
{
	unsigned seen = 0;
	int rc;

	if (node->type != YAML_MAPPING_NODE)
		return cf_wrong(r, cf_line(node), "%s is a mapping: lines of 'key: value'", where);
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *key = yaml_document_get_node(r->doc, p->key);
		const yaml_node_t *value = yaml_document_get_node(r->doc, p->value);
		const struct key *k = keys;

		if ((rc = cf_scalar(r, "a key", key, "a word")))
			return rc;
		while (k->name && strcmp(k->name, cf_text(key)) != 0)
			k++;
		if (!k->name)
			return cf_unknown(r, key, keys, where);
		if (seen & 1U << (k - keys))
			return cf_wrong(r, cf_line(key), "%s is given twice", k->name);
		seen |= 1U << (k - keys);
		if ((rc = k->take(r, k->name, value, into)))
			return rc;
	}
	return 0;
}

/* ---- the keys of a layer ---- */

static int cf_name(const struct reader *r, const char *key, const yaml_node_t *value, void *into)
{
	char err[CHECK_TEXT];
	int rc = cf_scalar(r, key, value, "the name of the layer");

	(void)into;
	if (!rc && check_layer_name(cf_text(value), err))
		rc = cf_wrong(r, cf_line(value), "%s", err);
	return rc ? rc : cf_copy(r, value, &r->c->name);
}

static int cf_directory(const struct reader *r, const char *key, const yaml_node_t *value,
			void *into)
{
	int rc = cf_scalar(r, key, value, "a path");

	(void)into;
	return rc ? rc : cf_copy(r, value, &r->c->directory);
}

static int cf_capacity(const struct reader *r, const char *key, const yaml_node_t *value,
		       void *into)
{
	uint64_t bps;
	int rc = cf_scalar(r, key, value, "a rate like 200M, 1.5Gi or 100MB/s");

	(void)into;
	if (!rc && (sl_parse_rate(cf_text(value), &bps) || !bps || bps > SL_MAX_RATE))
		rc = cf_wrong(r, cf_line(value),
			      "capacity: '%.64s' is not a rate; write 200M, 1.5Gi or 100MB/s",
			      cf_text(value));
	return rc ? rc : cf_copy(r, value, &r->c->capacity);
}

static int cf_workers(const struct reader *r, const char *key, const yaml_node_t *value, void *into)
{
	unsigned long count;
	int rc = cf_scalar(r, key, value, "a number");

	(void)into;
	if (rc)
		return rc;
	if (check_count(cf_text(value), 1, CONFIG_WORKERS, &count))
		return cf_wrong(r, cf_line(value), "workers: '%.64s' is not a number from 1 to %d",
				cf_text(value), CONFIG_WORKERS);
	r->c->workers = (unsigned)count;
	return 0;
}

static int cf_stage(const struct reader *r, const char *key, const yaml_node_t *value, void *into)
{
	char err[CHECK_TEXT];
	int rc = cf_scalar(r, key, value, "a policy like wfq or aioli,wait_us=500");

	(void)into;
	if (!rc && check_policy(key, cf_text(value), err))
		rc = cf_wrong(r, cf_line(value), "%s", err);
	for (int i = 0; !rc && i < 3; i++)
		if (!strcmp(config_stages[i], key))
			rc = cf_copy(r, value, &r->c->policy[i]);
	return rc;
}

static int cf_policy(const struct reader *r, const char *key, const yaml_node_t *value, void *into)
{
	static const struct key keys[] = {
		{ "admit", cf_stage },
		{ "share", cf_stage },
		{ "order", cf_stage },
		{ 0 },
	};

	(void)into;
	return cf_mapping(r, value, keys, key, NULL);
}

/* ---- jobs ---- */

static int cf_job_name(const struct reader *r, const char *key, const yaml_node_t *value,
		       void *into)
{
	struct config_job *job = into;
	char err[CHECK_TEXT];
	int rc = cf_scalar(r, key, value, "the name of a job");

	if (!rc && check_job_name(cf_text(value), err))
		rc = cf_wrong(r, cf_line(value), "%s", err);
	for (size_t i = 0; !rc && i + 1 < r->c->jobs_count; i++)
		if (!strcmp(r->c->jobs[i].name, cf_text(value)))
			rc = cf_wrong(r, cf_line(value), "job '%s' is there already, in line %u",
				      cf_text(value), r->c->jobs[i].line);
	return rc ? rc : cf_copy(r, value, &job->name);
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

static int cf_job_key(const struct reader *r, const char *key, const yaml_node_t *value, void *into)
{
	struct config_job *job = into;
	char err[CHECK_TEXT], *words;
	const char *text;
	int rc = cf_scalar(r, key, value, "one value");

	if (rc)
		return rc;
	text = strcmp(key, "best_effort") ? cf_text(value) : cf_flag(cf_text(value));
	if (check_job_key(key, text, &job->conf, err))
		return cf_wrong(r, cf_line(value), "%s", err);
	if (asprintf(&words, "%s%s%s=%s", job->words ? job->words : "", job->words ? " " : "", key,
		     text) < 0) {
		cf_wrong(r, cf_line(value), "no memory");
		return -ENOMEM;
	}
	free(job->words);
	job->words = words;
	return 0;
}

static int cf_job(const struct reader *r, const yaml_node_t *node)
{
	static const struct key keys[] = {
		{ "job", cf_job_name },	 { "min", cf_job_key },		{ "max", cf_job_key },
		{ "burst", cf_job_key }, { "weight", cf_job_key },	{ "period", cf_job_key },
		{ "order", cf_job_key }, { "best_effort", cf_job_key }, { 0 },
	};
	struct config_job *job;
	int rc;

	if (r->c->jobs_count == CONFIG_JOBS)
		return cf_wrong(r, cf_line(node), "more than %d jobs", CONFIG_JOBS);
	job = reallocarray(r->c->jobs, r->c->jobs_count + 1, sizeof(*job));
	if (!job) {
		cf_wrong(r, cf_line(node), "no memory");
		return -ENOMEM;
	}
	r->c->jobs = job;
	job += r->c->jobs_count++;
	*job = (struct config_job){ .line = (unsigned)cf_line(node) };
	if ((rc = cf_mapping(r, node, keys, "a job", job)))
		return rc;
	if (!job->name)
		return cf_wrong(r, job->line, "a job needs its name, as in 'job: climate'");
	return 0;
}

static int cf_jobs(const struct reader *r, const char *key, const yaml_node_t *value, void *into)
{
	(void)into;
	if (value->type != YAML_SEQUENCE_NODE)
		return cf_wrong(r, cf_line(value), "%s is a list: '- job: NAME' and its keys", key);
	for (yaml_node_item_t *i = value->data.sequence.items.start;
	     i < value->data.sequence.items.top; i++) {
		int rc = cf_job(r, yaml_document_get_node(r->doc, *i));

		if (rc)
			return rc;
	}
	return 0;
}

/* ---- the file ---- */

static int cf_root(const struct reader *r, const yaml_node_t *node)
{
	static const struct key keys[] = {
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
	return cf_mapping(r, node, keys, "the file", NULL);
}

static int cf_load(const struct reader *r, yaml_parser_t *parser, yaml_document_t *doc)
{
	if (yaml_parser_load(parser, doc))
		return 0;
	if (parser->error == YAML_MEMORY_ERROR) {
		cf_wrong(r, 1, "no memory");
		return -ENOMEM;
	}
	return cf_wrong(r, parser->problem_mark.line + 1, "this is not YAML: %s",
			parser->problem ? parser->problem : "cannot be read");
}

int config_parse(struct config *c, const char *file, const char *text, size_t length, char *err)
{
	yaml_document_t doc, more;
	struct reader r = { .c = c, .doc = &doc, .file = file, .err = err };
	const yaml_node_t *node;
	yaml_parser_t parser;
	int rc;

	*c = (struct config){ 0 };
	if (!yaml_parser_initialize(&parser)) {
		cf_wrong(&r, 1, "no memory");
		return -ENOMEM;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	rc = cf_load(&r, &parser, &doc);
	if (!rc) {
		node = yaml_document_get_root_node(&doc);
		if (node)
			rc = cf_root(&r, node);
		if (!rc && node && !(rc = cf_load(&r, &parser, &more))) {
			node = yaml_document_get_root_node(&more);
			if (node)
				rc = cf_wrong(&r, cf_line(node),
					      "a second document begins here; "
					      "there can be only one");
			yaml_document_delete(&more);
		}
		yaml_document_delete(&doc);
	}
	yaml_parser_delete(&parser);
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
	FILE *f = fopen(file, "re");
	char *text = f ? malloc(FILE_MAX + 1) : NULL;
	size_t length;
	int rc;

	*c = (struct config){ 0 };
	if (!text) {
		rc = -errno;
		snprintf(err, CONFIG_TEXT, "cannot read %.200s: %s", file, strerror(errno));
		if (f)
			fclose(f);
		return rc;
	}
	errno = 0;
	length = fread(text, 1, FILE_MAX + 1, f);
	if (ferror(f)) {
		rc = -(errno ? errno : EIO);
		snprintf(err, CONFIG_TEXT, "cannot read %.200s: %s", file, strerror(-rc));
	} else if (length > FILE_MAX) {
		rc = -EFBIG;
		snprintf(err, CONFIG_TEXT, "%.200s is larger than %d bytes", file, FILE_MAX);
	} else {
		rc = config_parse(c, file, text, length, err);
		if (!rc && (rc = cf_beneath(c, file)))
			snprintf(err, CONFIG_TEXT, "no memory");
	}
	free(text);
	fclose(f);
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
