/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of words that people type about layers and jobs: see check.h. */
#include "layer/check.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/guess.h"
#include "base/units.h"
#include "sched/spec.h"
#include "wire/ops.h"

static int ch_wrong(char *err, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int ch_wrong(char *err, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, CHECK_TEXT, format, args);
	va_end(args);
	return error;
}

int check_layer_name(const char *name, char *err)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-";
	size_t length = strlen(name);

	if (length >= 1 && length <= CHECK_LAYER_NAME && strspn(name, allowed) == length &&
	    name[0] != '.' && name[0] != '-')
		return 0;
	return ch_wrong(err, -EINVAL,
			"'%.64s' is not a valid name of a layer: use up to %d letters, digits, "
			"'_', '-' and "
			"'.', and do not begin with '-' or '.'",
			name, CHECK_LAYER_NAME);
}

int check_owner(const char *name, char *err)
{
	size_t length = strlen(name);

	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == ',' || *c == '=' || *c == '"')
			length = 0;
	if (length >= 1 && length <= CHECK_OWNER)
		return 0;
	return ch_wrong(
		err, -EINVAL,
		"'%.64s' is not a valid name: use 1 to %d printable ASCII characters, without "
		"spaces, ',', '=' and '\"'",
		name, CHECK_OWNER);
}

int check_job_name(const char *name, char *err)
{
	size_t length = strlen(name);

	if (length < 1 || length > CHECK_JOB_NAME)
		return ch_wrong(err, -EINVAL,
				"the name of a job must have 1 to %d characters, not %zu",
				CHECK_JOB_NAME, length);
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~')
			return ch_wrong(err, -EINVAL,
					"the name of a job must be printable ASCII characters "
					"without spaces");
	return 0;
}

int check_count(const char *text, unsigned long low, unsigned long high, unsigned long *out)
{
	unsigned long value;
	char *end;

	if (text[0] < '0' || text[0] > '9') /* strtoul() takes signs and spaces */
		return -EINVAL;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value < low || value > high)
		return -EINVAL;
	*out = value;
	return 0;
}

bool check_auto(const char *capacity)
{
	return !strcmp(capacity, "auto") || (!strncmp(capacity, "auto,", 5) && capacity[5]);
}

bool check_low_rate(const char *what, const char *text, uint64_t least_bps, char *warning)
{
	size_t length = text ? strlen(text) : 0;
	bool bare = length && text[length - 1] >= '0' && text[length - 1] <= '9';
	char rate[32];
	uint64_t bps;

	if (!text || sl_parse_rate(text, &bps) || !bps ||
	    bps >= (bare && least_bps < CHECK_LOW_CAPACITY ? CHECK_LOW_CAPACITY : least_bps))
		return false;
	sl_format_rate(rate, sizeof(rate), bps);
	if (bare)
		snprintf(warning, CHECK_TEXT,
			 "%.200s is %s: a number without a unit is bytes per second. Write %.24sM "
			 "for "
			 "MB/s.",
			 what, rate, text);
	else
		snprintf(warning, CHECK_TEXT, "%.200s is only %s. Write M for MB/s or G for GB/s.",
			 what, rate);
	return true;
}

bool check_low_word(const char *whose, const char *word, char *warning)
{
	char what[CHECK_TEXT];

	if (strncmp(word, "min=", 4) != 0 && strncmp(word, "max=", 4) != 0)
		return false;
	snprintf(what, sizeof(what), "%s%.3s", whose, word);
	return check_low_rate(what, word + 4, CHECK_LOW_JOB, warning);
}

static int ch_rate(const char *key, const char *value, uint64_t *out, char *err)
{
	uint64_t bps;

	if (sl_parse_rate(value, &bps) == 0 && bps <= SL_MAX_RATE) {
		*out = bps;
		return 0;
	}
	return ch_wrong(err, -EINVAL, "%s: '%.64s' is not a rate; write 200M, 1.5Gi or 100MB/s",
			key, value);
}

int check_job_key(const char *key, const char *value, struct sl_job_conf *conf, char *err)
{
	struct sl_ops_conf ops;
	unsigned long number;
	int rc;

	if (!strcmp(key, "min"))
		return ch_rate(key, value, &conf->min_bps, err);
	if (!strcmp(key, "max"))
		return ch_rate(key, value, &conf->max_bps, err);
	if (!strcmp(key, "burst")) {
		if (sl_parse_bytes(value, &conf->burst_bytes) == 0 &&
		    conf->burst_bytes <= SL_MAX_LENGTH)
			return 0;
		return ch_wrong(err, -EINVAL, "burst: '%.64s' is not a size; write 4M or 64MiB",
				value);
	}
	if (!strcmp(key, "period")) {
		if (sl_parse_period(value, &conf->period_ns) == 0)
			return 0;
		return ch_wrong(
			err, -EINVAL,
			"period: '%.64s' is not a time; write 20 (seconds), 500ms, 10m or auto",
			value);
	}
	if (!strcmp(key, "weight")) {
		if (check_count(value, 1, SL_MAX_WEIGHT, &number))
			return ch_wrong(err, -EINVAL,
					"weight: '%.64s' is not a number from 1 to %u", value,
					SL_MAX_WEIGHT);
		conf->weight = (uint32_t)number;
		return 0;
	}
	if (!strcmp(key, "best_effort")) {
		if (check_count(value, 0, 1, &number))
			return ch_wrong(err, -EINVAL, "best_effort: '%.64s' is neither 0 nor 1",
					value);
		conf->best_effort = (uint32_t)number;
		return 0;
	}
	rc = sl_ops_key(&ops, key, value);
	if (rc == -EINVAL && (!strcmp(key, "max_read") || !strcmp(key, "max_write")))
		return ch_rate(key, value, &ops.max[SL_METER_READ], err);
	if (rc == -EINVAL && !strncmp(key, "weight", 6))
		return ch_wrong(err, rc, "%s: '%.64s' is not a number from 1 to %u", key, value,
				SL_MAX_WEIGHT);
	if (rc == -EINVAL)
		return ch_wrong(err, rc, "%s: '%.64s' is not a number per second, like 500 or 20k",
				key, value);
	if (!rc)
		return 0;
	if (!strcmp(key, "order"))
		return strcmp(value, "default") ? check_policy("order", value, err) : 0;
	return ch_wrong(err, -ENOENT, "a job has no key '%.32s'; there are " CHECK_JOB_KEYS, key);
}

int check_job_word(const char *word, char *err)
{
	static const char *const keys[] = { "min",    "max",	     "burst", "weight",
					    "period", "best_effort", "order" };
	const char *equals = strchr(word, '=');
	struct sl_job_conf conf;
	char key[32], why[CHECK_TEXT];
	struct sl_guess guess = { .word = key };
	int rc;

	if (!equals || equals == word) {
		snprintf(err, CHECK_TEXT, "'%.200s' is not KEY=VALUE, like max=100M.", word);
		return -EINVAL;
	}
	snprintf(key, sizeof(key), "%.*s", (int)(equals - word), word);
	rc = check_job_key(key, equals + 1, &conf, why);
	for (size_t i = 0; rc == -ENOENT && i < sizeof(keys) / sizeof(keys[0]); i++)
		sl_consider(&guess, keys[i]);
	for (int i = 0; rc == -ENOENT && i < SL_METERS; i++)
		sl_consider(&guess, sl_meter_keys[i]);
	for (int i = 0; rc == -ENOENT && i < SL_QUEUES; i++)
		sl_consider(&guess, sl_min_keys[i]);
	for (int i = 0; rc == -ENOENT && i < SL_CLASSES; i++)
		sl_consider(&guess, sl_weight_keys[i]);
	if (rc)
		snprintf(err, CHECK_TEXT, guess.best ? "%.300s. Did you mean '%s'?" : "%.300s.",
			 why, guess.best);
	return rc ? -EINVAL : 0;
}

char *check_absolute(const char *spec)
{
	static const char key[] = ",tree=";
	const char *at = strstr(spec, key);
	char cwd[PATH_MAX], *out;

	if (!at || at[strlen(key)] == '/')
		return strdup(spec);
	at += strlen(key);
	if (!getcwd(cwd, sizeof(cwd)) || strlen(cwd) + 1 + strcspn(at, ",") > SL_SPEC_FILE_MAX ||
	    strpbrk(cwd, ", \t\n"))
		return NULL;
	return asprintf(&out, "%.*s%s/%s", (int)(at - spec), spec, cwd, at) < 0 ? NULL : out;
}

/* Check it by creating a minimal scheduler, so that the messages are those of the library. */
int check_policy(const char *stage, const char *spec, char *err)
{
	struct sl_config config = { .limits = { .jobs = 1, .files = 1, .requests = 1 } };
	struct sl_spec parsed;
	struct sl_sched *s;

	if (strpbrk(spec, " \t\n")) /* the words of a control line end there */
		return ch_wrong(err, -EINVAL,
				"%.16s: a policy is written without spaces, as in "
				"aioli,wait_us=500",
				stage);
	if (!strcmp(stage, "admit"))
		config.admit = spec;
	else if (!strcmp(stage, "share"))
		config.share = spec;
	else if (!strcmp(stage, "order"))
		config.order = spec;
	else if (!strcmp(stage, "grant") || !strcmp(stage, "allocate"))
		return sl_spec_parse(stage[0] == 'g' ? SL_GRANT : SL_ALLOCATE, spec, &parsed, err,
				     CHECK_TEXT)
			       ? -EINVAL
			       : 0;
	else
		return ch_wrong(err, -ENOENT,
				"no stage '%.32s'; there are admit, share, order, grant, allocate",
				stage);
	if (sl_sched_create(&s, &config, 0, err, CHECK_TEXT))
		return -EINVAL;
	sl_sched_destroy(s);
	return 0;
}
