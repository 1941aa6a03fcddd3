/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and parameters in words: see param.h. */
#include "layer/param.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* From this value on, us and ms are also shown in a larger unit. */
#define PM_EXPLAIN_FROM 10000

const char *param_stage_question(const char *stage)
{
	static const struct {
		const char *stage, *question;
	} questions[] = {
		{ "allocate", "How many I/O nodes does each job get?" },
		{ "grant", "Which jobs may do I/O now, and at what rate?" },
		{ "admit", "May this job send now?" },
		{ "share", "Whose turn is it among the jobs?" },
		{ "order", "Which of its requests go next, merged into what?" },
	};

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		if (!strcmp(questions[i].stage, stage))
			return questions[i].question;
	return "";
}

const char *param_unit(const struct sl_param *p)
{
	static const char *const names[] = {
		[SL_COUNT] = "count", [SL_BYTES] = "bytes",   [SL_US] = "us",
		[SL_MS] = "ms",	      [SL_CHOICE] = "choice", [SL_FILE] = "file",
	};

	return names[p->unit];
}

struct pm_text {
	char *buf;
	size_t size, length;
};

static void __attribute__((format(printf, 2, 3))) pm_add(struct pm_text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->buf + t->length, t->size - t->length, format, args);
	va_end(args);
	if (n > 0)
		t->length += (size_t)n;
	if (t->length >= t->size)
		t->length = t->size - 1; /* cut */
}

/* The largest prefix in which the size is whole: 0 none, 1 Ki, 2 Mi, ... */
static unsigned pm_binary(int64_t *bytes)
{
	unsigned u = 0;

	while (u < 4 && *bytes && *bytes % 1024 == 0) {
		*bytes /= 1024;
		u++;
	}
	return u;
}

/* For display: 4 MiB, 500 us, 1000000 us (1 s). */
static void pm_value(struct pm_text *t, const struct sl_param *p, int64_t value)
{
	static const char *const sizes[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	int64_t seconds = p->unit == SL_US ? 1000000 : 1000, n = value;
	unsigned u;

	switch (p->unit) {
	case SL_CHOICE:
		pm_add(t, "%s", p->choices[value]);
		break;
	case SL_FILE:
		pm_add(t, "none");
		break;
	case SL_COUNT:
		pm_add(t, "%" PRId64, value);
		break;
	case SL_BYTES:
		u = pm_binary(&n);
		pm_add(t, "%" PRId64 " %s", n, sizes[u]);
		break;
	case SL_US:
	case SL_MS:
		pm_add(t, "%" PRId64 " %s", value, param_unit(p));
		if (value < PM_EXPLAIN_FROM)
			break;
		if (value % (seconds * 3600) == 0)
			pm_add(t, " (%" PRId64 " h)", value / seconds / 3600);
		else if (value % (seconds * 60) == 0)
			pm_add(t, " (%" PRId64 " min)", value / seconds / 60);
		else if (value % seconds == 0)
			pm_add(t, " (%" PRId64 " s)", value / seconds);
		else if (p->unit == SL_US && value % 1000 == 0)
			pm_add(t, " (%" PRId64 " ms)", value / 1000);
		break;
	}
}

/* As a user types it: 4Mi, 500. */
static void pm_typed(struct pm_text *t, const struct sl_param *p, int64_t value)
{
	static const char *const sizes[] = { "", "Ki", "Mi", "Gi", "Ti" };
	unsigned u = 0;

	if (p->unit == SL_CHOICE) {
		pm_add(t, "%s", p->choices[value]);
		return;
	}
	if (p->unit == SL_BYTES)
		u = pm_binary(&value);
	pm_add(t, "%" PRId64 "%s", value, sizes[u]);
}

const char *param_range(const struct sl_param *p, char *buf, size_t size)
{
	struct pm_text t = { .buf = buf, .size = size };

	if (p->unit == SL_CHOICE) {
		pm_add(&t, "one of ");
		for (int64_t i = 0; i <= p->max; i++)
			pm_add(&t, "%s%s", p->choices[i], i < p->max ? ", " : "; default ");
	} else if (p->unit == SL_FILE) {
		pm_add(&t, "a file; default ");
	} else {
		/* The unit appears once if both ends have the same: "0 to 5000 us". */
		if (p->unit == SL_BYTES)
			pm_value(&t, p, p->min);
		else
			pm_add(&t, "%" PRId64, p->min);
		pm_add(&t, " to ");
		pm_value(&t, p, p->max);
		pm_add(&t, ", default ");
	}
	pm_value(&t, p, p->def);
	return buf;
}

/* Another value than the default, so that the example does something. */
static int64_t pm_other(const struct sl_param *p)
{
	if (p->unit == SL_CHOICE)
		return p->def < p->max ? p->def + 1 : 0;
	if (p->def == 0)
		return p->max < 1000 ? p->max : 1000;
	return p->def <= p->max / 2 ? p->def * 2 : p->def / 2 >= p->min ? p->def / 2 : p->min;
}

const char *param_example(const struct sl_policy_info *info, char *buf, size_t size)
{
	struct pm_text t = { .buf = buf, .size = size };

	pm_add(&t, "%s", info->name);
	for (unsigned i = 0; i < 2 && info->params && info->params[i].name; i++) {
		pm_add(&t, ",%s=", info->params[i].name);
		pm_typed(&t, &info->params[i], pm_other(&info->params[i]));
	}
	return buf;
}
