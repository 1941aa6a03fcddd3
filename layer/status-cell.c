/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of the tables of `sluice status`, `sluice top` and `sluice report`: numbers as text of
 * a few columns. Three digits are kept: 1234567 is 1.23M.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "layer/status.h"

#define CELL STATUS_CELL

const char *status_known(const char *text)
{
	return text ? text : "?";
}

void status_short(char out[CELL], double value)
{
	static const char prefixes[] = "KMGTPE";
	const char *p = prefixes;

	if (value < 999.5) {
		snprintf(out, CELL, "%.0f", value);
		return;
	}
	for (value /= 1000.0; value >= 999.5 && p[1]; p++)
		value /= 1000.0;
	snprintf(out, CELL, "%.*f%c", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, *p);
}

void status_tiny(char out[CELL], double value)
{
	static const char prefixes[] = " KMGTPE";
	const char *p = prefixes;

	if (value < 999.5) {
		snprintf(out, CELL, "%.0f", value);
		return;
	}
	for (; value >= 99.5 && p[1]; p++)
		value /= 1000;
	if (value >= 0.95)
		snprintf(out, CELL, "%.0f%c", value, *p);
	else
		snprintf(out, CELL, ".%.0f%c", 10 * value, *p);
}

const char *status_plural(const char *number, const char *one, const char *many)
{
	return strcmp(number, "1") ? many : one;
}

void status_some(char out[CELL], double value)
{
	if (value > 0)
		status_short(out, value);
	else
		snprintf(out, CELL, "-");
}

void status_time(char out[CELL], double s)
{
	static const struct {
		double below, unit;
		const char *name;
	} units[] = { { 9.995e-4, 1e-6, "us" }, { 0.9995, 1e-3, "ms" }, { 99.5, 1, "s" },
		      { 5970, 60, "m" },	{ 359100, 3600, "h" },	{ 1e300, 86400, "d" } };
	int i = 0;

	if (s <= 0) {
		snprintf(out, CELL, "0");
		return;
	}
	while (s >= units[i].below)
		i++;
	s /= units[i].unit;
	snprintf(out, CELL, "%.*f%s", s < 9.95 && i > 0 ? 1 : 0, s, units[i].name);
}

void status_ops(char *out, size_t size, const struct status_job *job)
{
	const struct {
		const char *key;
		double value;
	} limits[] = {
		{ "min_ops", job->min_ops },
		{ "min_create", job->min_create },
		{ "min_lookup", job->min_lookup },
		{ "min_remove", job->min_remove },
		{ "min_list", job->min_list },
		{ "min_attribute", job->min_attribute },
		{ "weight_create", job->weight_create },
		{ "weight_lookup", job->weight_lookup },
		{ "weight_remove", job->weight_remove },
		{ "weight_list", job->weight_list },
		{ "weight_attribute", job->weight_attribute },
		{ "max_ops", job->max_ops },
		{ "max_create", job->max_create },
		{ "max_lookup", job->max_lookup },
		{ "max_remove", job->max_remove },
		{ "max_list", job->max_list },
		{ "max_attribute", job->max_attribute },
		{ "max_iops", job->max_iops },
		{ "max_read", job->max_read },
		{ "max_write", job->max_write },
	};
	size_t at = 0;
	char cell[STATUS_CELL];

	*out = 0;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && at < size; i++) {
		if (!(limits[i].value > 0))
			continue;
		status_short(cell, limits[i].value);
		at += (size_t)snprintf(out + at, size - at, "%s%s %s", at ? " " : "", limits[i].key,
				       cell);
	}
}

/* ---- jobs ---- */

static void ce_ionodes(char out[CELL], const struct status_job *job)
{
	size_t at = 0;

	snprintf(out, CELL, "-");
	for (size_t i = 0; i < job->served_by_count && at < CELL; i++)
		at += (size_t)snprintf(out + at, CELL - at, "%s%s", at ? "," : "",
				       job->served_by[i]);
	if (at > 7)
		snprintf(out, CELL, "%zu:%.3s..", job->served_by_count, job->served_by[0]);
}

static void ce_sure(char out[CELL], const struct status_job *job)
{
	if (job->period_s > 0 && !strcmp(job->period_from, "detected"))
		snprintf(out, CELL, "%.0f%%", 100 * job->period_confidence);
	else
		snprintf(out, CELL, "-");
}

static void ce_set(char out[CELL], const struct status_job *job)
{
	if (isnan(job->set))
		snprintf(out, CELL, "-");
	else
		snprintf(out, CELL, "S%.0f", job->set);
}

static void ce_grant(char out[CELL], const struct status_job *job)
{
	if (isnan(job->grant_bps))
		snprintf(out, CELL, "-");
	else
		status_short(out, job->grant_bps);
}

static void ce_share(char out[CELL], const struct status_job *job)
{
	snprintf(out, CELL, "%.0f", 100 * job->share);
}

static void ce_period(char out[CELL], const struct status_job *job)
{
	if (job->period_s > 0)
		status_time(out, job->period_s);
	else
		snprintf(out, CELL, "-");
}

static void ce_merge(char out[CELL], const struct status_job *job)
{
	snprintf(out, CELL, "%.1f", job->merge_ratio);
}

static void ce_order(char out[CELL], const struct status_job *job)
{
	snprintf(out, CELL, "%.10s", status_known(job->order));
}

static void ce_phase(char out[CELL], const struct status_job *job)
{
	snprintf(out, CELL, job->in_io == 1 ? "I/O" : "-");
}

static void ce_pattern(char out[CELL], const struct status_job *job)
{
	char bytes[CELL], files[CELL];

	snprintf(out, CELL, "-");
	if (!job->pattern_op)
		return;
	status_short(bytes, job->pattern_call_bytes);
	status_short(files, job->pattern_files);
	snprintf(out, CELL, "%c %.10s %.5s/%.4s", *job->pattern_op,
		 status_known(job->pattern_spatiality), bytes, files);
}

static void ce_us(char out[CELL], double us)
{
	status_time(out, us / 1e6);
}

/* Either a number of a job, and how it is written, or a function of the job. */
#define NUMBER(how, name)                                    \
	{                                                    \
		how, offsetof(struct status_job, name), NULL \
	}
#define TEXT(function)            \
	{                         \
		NULL, 0, function \
	}
static const struct {
	void (*number)(char out[CELL], double value);
	size_t at;
	void (*text)(char out[CELL], const struct status_job *job);
} cells[STATUS_SHOWS] = {
	[STATUS_NOW] = NUMBER(status_short, bandwidth_bps),
	[STATUS_AVERAGE] = NUMBER(status_short, average_bps),
	[STATUS_CLIENTS] = NUMBER(status_tiny, clients),
	[STATUS_IOPS] = NUMBER(status_short, iops),
	[STATUS_QUEUE] = NUMBER(status_short, queued_requests),
	[STATUS_HELD] = NUMBER(status_time, throttled_s),
	[STATUS_P50] = NUMBER(ce_us, latency_us_p50),
	[STATUS_P99] = NUMBER(ce_us, latency_us_p99),
	[STATUS_SET] = TEXT(ce_set),
	[STATUS_SHARE] = TEXT(ce_share),
	/* What was asked for, or what a rule allows; --json has the part of each node. */
	[STATUS_MIN] = NUMBER(status_some, asked_min_bps),
	[STATUS_MAX] = NUMBER(status_some, allowed_max_bps),
	[STATUS_WEIGHT] = NUMBER(status_tiny, weight),
	[STATUS_READ] = NUMBER(status_short, read_bytes),
	[STATUS_WRITTEN] = NUMBER(status_short, write_bytes),
	[STATUS_DIRTY] = NUMBER(status_short, dirty_bytes),
	[STATUS_CACHED] = NUMBER(status_short, cached_bytes),
	[STATUS_WIRE] = NUMBER(status_short, wire_bytes),
	[STATUS_PERIOD] = TEXT(ce_period),
	[STATUS_SURE] = TEXT(ce_sure),
	[STATUS_MERGE] = TEXT(ce_merge),
	[STATUS_PATTERN] = TEXT(ce_pattern),
	[STATUS_ORDER] = TEXT(ce_order),
	[STATUS_OPS] = NUMBER(status_short, ops_per_s),
	[STATUS_MAX_OPS] = NUMBER(status_some, max_ops),
	[STATUS_OPS_HELD] = NUMBER(status_time, ops_held_s),
	[STATUS_PHASE] = TEXT(ce_phase),
	[STATUS_GRANT] = TEXT(ce_grant),
	[STATUS_IONODES] = TEXT(ce_ionodes),
};

void status_cell(char out[CELL], enum status_show show, const struct status_job *job)
{
	if (cells[show].text)
		cells[show].text(out, job);
	else
		cells[show].number(
			out, *(const double *)(const void *)((const char *)job + cells[show].at));
}
