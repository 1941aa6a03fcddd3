/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of the tables of `sluice status`, `sluice top` and `sluice report`: numbers as text of a
 * few columns. Three digits are kept: 1234567 is 1.23M.
 */
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

void status_ionodes(char out[CELL], const struct status_job *job)
{
	size_t at = 0;

	snprintf(out, CELL, "-");
	for (size_t i = 0; i < job->served_by_count && at < CELL; i++)
		at += (size_t)snprintf(out + at, CELL - at, "%s%s", at ? "," : "",
				       job->served_by[i]);
	if (at > 7)
		snprintf(out, CELL, "%zu:%.3s..", job->served_by_count, job->served_by[0]);
}

void status_ops(char *out, size_t size, const struct status_job *job)
{
	const struct {
		const char *key;
		double value;
	} limits[] = {
		{ "min_ops", job->min_ops },
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

void status_sure(char out[CELL], const struct status_job *job)
{
	if (job->period_s > 0 && !strcmp(job->period_from, "detected"))
		snprintf(out, CELL, "%.0f%%", 100 * job->period_confidence);
	else
		snprintf(out, CELL, "-");
}
