/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of requests: see change.h. */
#include "httpd/change.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/check.h"

#define VALUE 512

static int cg_wrong(char err[CHANGE_TEXT], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int cg_wrong(char err[CHANGE_TEXT], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, CHANGE_TEXT, format, args);
	va_end(args);
	return -EINVAL;
}

/* The body must be one object, without further text. */
static cJSON *cg_parse(const char *body, size_t length, char err[CHANGE_TEXT])
{
	const char *end = NULL;
	cJSON *tree = body ? cJSON_ParseWithLengthOpts(body, length, &end, 0) : NULL;

	while (tree && end < body + length && strchr(" \t\r\n", *end) && *end)
		end++;
	if (cJSON_IsObject(tree) && end == body + length)
		return tree;
	cJSON_Delete(tree);
	cg_wrong(err, "the body is not a JSON object, like {\"max\":\"100M\"}");
	return NULL;
}

/* A value as on a command line: one word. */
static int cg_value(const cJSON *item, char out[VALUE], char err[CHANGE_TEXT])
{
	const char *text = cJSON_GetStringValue(item);
	int n;

	if (text)
		n = snprintf(out, VALUE, "%s", text);
	else if (cJSON_IsBool(item))
		n = snprintf(out, VALUE, "%d", cJSON_IsTrue(item));
	else if (cJSON_IsNumber(item) && fabs(item->valuedouble) < 1e18)
		n = snprintf(out, VALUE, "%.*f",
			     item->valuedouble == floor(item->valuedouble) ? 0 : 9,
			     item->valuedouble);
	else
		return cg_wrong(err, "%.64s: a value is a string or a number", item->string);
	if (n < 1 || n >= VALUE)
		return cg_wrong(err, "%.64s: a value has 1 to %d characters", item->string,
				VALUE - 1);
	for (const char *c = out; *c; c++)
		if (*c <= ' ' || *c > '~')
			return cg_wrong(err, "%.64s: a value has no spaces in it", item->string);
	return 0;
}

static int cg_add(char line[CHANGE_LINE], const char *key, const char *value, char err[CHANGE_TEXT])
{
	size_t at = strlen(line);

	if (snprintf(line + at, CHANGE_LINE - at, " %s=%s", key, value) < (int)(CHANGE_LINE - at))
		return 0;
	return cg_wrong(err, "the change is too long; split it into several");
}

int change_job(const char *job, const char *body, size_t length, char line[CHANGE_LINE],
	       char err[CHANGE_TEXT])
{
	char value[VALUE], why[CHECK_TEXT];
	struct sl_job_conf conf;
	const cJSON *item;
	cJSON *tree;
	int rc = 0;

	if (check_job_name(job, why))
		return cg_wrong(err, "%s", why);
	if (!(tree = cg_parse(body, length, err)))
		return -EINVAL;
	snprintf(line, CHANGE_LINE, "set %s", job);
	if (!tree->child)
		rc = cg_wrong(err, "nothing to set; the keys are " CHECK_JOB_KEYS);
	cJSON_ArrayForEach(item, tree)
	{
		if (!rc && !(rc = cg_value(item, value, err)) &&
		    check_job_key(item->string, value, &conf, why))
			rc = cg_wrong(err, "%s", why);
		if (!rc)
			rc = cg_add(line, item->string, value, err);
	}
	cJSON_Delete(tree);
	return rc;
}

int change_policy(const char *body, size_t length, char line[CHANGE_LINE], char err[CHANGE_TEXT])
{
	char value[VALUE], why[CHECK_TEXT];
	const cJSON *item;
	cJSON *tree = cg_parse(body, length, err);
	int rc = 0;

	if (!tree)
		return -EINVAL;
	snprintf(line, CHANGE_LINE, "policy");
	if (!tree->child)
		rc = cg_wrong(err, "no policy given; the stages are allocate, grant, admit, share "
				   "and order");
	cJSON_ArrayForEach(item, tree)
	{
		if (!rc && !(rc = cg_value(item, value, err)) &&
		    check_policy(item->string, value, why))
			rc = cg_wrong(err, "%s", why);
		if (!rc)
			rc = cg_add(line, item->string, value, err);
	}
	cJSON_Delete(tree);
	return rc;
}

void change_what_if_free(char *policy[CHANGE_POLICIES + 1])
{
	for (size_t i = 0; policy[i]; i++) {
		free(policy[i]);
		policy[i] = NULL;
	}
}

int change_what_if(const char *body, size_t length, char *policy[CHANGE_POLICIES + 1],
		   char err[CHANGE_TEXT])
{
	char why[CHECK_TEXT];
	const cJSON *list, *item;
	cJSON *tree;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i <= CHANGE_POLICIES; i++)
		policy[i] = NULL;
	if (!length)
		return 0;
	if (!(tree = cg_parse(body, length, err)))
		return -EINVAL;
	list = cJSON_GetObjectItemCaseSensitive(tree, "policies");
	if (list && !cJSON_IsArray(list))
		rc = cg_wrong(err, "policies is a list, like [\"fair-share\",\"set-10\"]");
	if (cJSON_GetArraySize(list) > CHANGE_POLICIES)
		rc = cg_wrong(err, "at most %d policies at a time", CHANGE_POLICIES);
	cJSON_ArrayForEach(item, list)
	{
		const char *spec = cJSON_GetStringValue(item);

		if (rc)
			break;
		if (!spec)
			rc = cg_wrong(err, "policies are named, like \"set-10\"");
		else if (check_policy("grant", spec, why))
			rc = cg_wrong(err, "%s", why);
		else if (!(policy[n++] = strdup(spec)))
			rc = cg_wrong(err, "out of memory; try again");
	}
	cJSON_Delete(tree);
	if (rc)
		change_what_if_free(policy);
	return rc;
}
