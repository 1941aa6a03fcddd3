/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios made by programs: check them, write them as YAML, free them; and values derived from a
 * scenario.
 *
 * A double is written with 15, 16 or 17 digits, the first that read back as the same number: 0.1
 * and not 0.10000000000000001.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sched/spec.h"
#include "sim/random.h"
#include "sim/scenario.h"

/* ---- what follows ---- */

double sl_app_cap_bps(const struct sl_platform *p, const struct sl_app *a)
{
	double server_bps = p->bandwidth_bps / p->servers;

	return p->per_proc_bps > 0 ? fmin(p->per_proc_bps * a->procs, server_bps) : server_bps;
}

bool sl_app_name_ok(const char *name)
{
	size_t length = strlen(name);

	for (const char *c = name; *c; c++)
		if (*c < ' ' || *c > '~')
			return false;
	return length && length < SL_SIM_NAME;
}

static bool sw_something(const struct sl_vary *v)
{
	return sl_vary_mean(v) > 0;
}

bool sl_app_does_something(const struct sl_app *a)
{
	return sw_something(&a->compute_s) || sw_something(&a->volume_bytes);
}

/* ---- checking ---- */

static bool sw_in(double x, double below)
{
	return x >= 0 && x < below; /* not a number: no */
}

static bool sw_vary_ok(const struct sl_vary *v, double below)
{
	switch (v->kind) {
	case SL_VARY_CONSTANT:
	case SL_VARY_EXPONENTIAL:
		return sw_in(v->a, below);
	case SL_VARY_UNIFORM:
		return sw_in(v->a, below) && sw_in(v->b, below) && v->a <= v->b;
	case SL_VARY_NORMAL:
		return sw_in(v->a, below) && sw_in(v->b, below);
	case SL_VARY_LIST:
		for (uint32_t i = 0; i < v->count; i++)
			if (!sw_in(v->list[i], below))
				return false;
		return v->count;
	}
	return false;
}

static const char *sw_platform(const struct sl_platform *p)
{
	if (!sw_in(p->bandwidth_bps, SL_SIM_BYTES) || !(p->bandwidth_bps > 0))
		return "bandwidth";
	if (!sw_in(p->per_proc_bps, SL_SIM_BYTES))
		return "per_proc_bandwidth";
	if (!p->servers || p->servers > SL_SIM_SERVERS)
		return "servers";
	if (p->procs > (uint64_t)SL_SIM_PROCS * SL_SIM_APPS)
		return "procs";
	if (!sw_in(p->buffer_bytes, SL_SIM_BYTES))
		return "burst_buffer.capacity";
	if (!sw_in(p->buffer_bps, SL_SIM_BYTES) ||
	    (p->buffer_bytes > 0 && !(p->buffer_bps > 0) && !(p->per_proc_bps > 0)))
		return "burst_buffer.bandwidth";
	return sw_in(p->restart_s, SL_SIM_SECONDS) ? NULL : "restart";
}

static const char *sw_app(const struct sl_scenario *s, const struct sl_app *a)
{
	if (!memchr(a->name, 0, sizeof(a->name)) || !sl_app_name_ok(a->name))
		return "name";
	if (!a->procs || a->procs > SL_SIM_PROCS)
		return "procs";
	if (!sw_in(a->release_s, SL_SIM_SECONDS))
		return "release";
	if (a->iterations > SL_SIM_ITERATIONS || (!a->iterations && !(s->to_s > 0)))
		return "iterations";
	if (!sw_vary_ok(&a->compute_s, SL_SIM_SECONDS))
		return "compute";
	if (!sw_vary_ok(&a->volume_bytes, SL_SIM_BYTES) || !sl_app_does_something(a))
		return "volume";
	return sw_in(a->period_hint_s, SL_SIM_SECONDS) ? NULL : "period_hint";
}

int sl_scenario_check(const struct sl_scenario *s, char *err, size_t err_size)
{
	const char *key = sw_platform(&s->platform);
	struct sl_spec spec;
	char text[400];

	if (key) {
		snprintf(err, err_size, "platform.%s is out of range", key);
		return -EINVAL;
	}
	if (!sw_in(s->from_s, SL_SIM_SECONDS) || !sw_in(s->to_s, SL_SIM_SECONDS) ||
	    (s->to_s > 0 && s->to_s <= s->from_s)) {
		snprintf(err, err_size, "window is out of range");
		return -EINVAL;
	}
	if (!s->n_apps || s->n_apps > SL_SIM_APPS) {
		snprintf(err, err_size, "there must be from 1 to %u jobs", SL_SIM_APPS);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < s->n_apps; i++) {
		if ((key = sw_app(s, &s->apps[i]))) {
			snprintf(err, err_size, "jobs[%u].%s is out of range", i, key);
			return -EINVAL;
		}
	}
	for (uint32_t i = 0; i < s->n_policies; i++) {
		if (sl_spec_parse(SL_GRANT, s->policies[i], &spec, text, sizeof(text))) {
			snprintf(err, err_size, "policies[%u]: %s", i, text);
			return -EINVAL;
		}
	}
	return 0;
}

/* ---- writing ---- */

static const char *sw_double(char *buf, size_t size, double value)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, size, "%.*g", digits, value);
		if (strtod(buf, NULL) == value)
			break;
	}
	return buf;
}

static void sw_key(FILE *f, const char *key, double value)
{
	char buf[32];

	fprintf(f, "%s: %s", key, sw_double(buf, sizeof(buf), value));
}

static void sw_list(FILE *f, const double *list, uint32_t count)
{
	char buf[32];

	for (uint32_t i = 0; i < count; i++)
		fprintf(f, "%s%s", i ? ", " : "[", sw_double(buf, sizeof(buf), list[i]));
	fputs("]", f);
}

static void sw_quoted(FILE *f, const char *text)
{
	fputc('\'', f);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', f);
		fputc(*text, f);
	}
	fputc('\'', f);
}

static void sw_vary(FILE *f, const char *key, const struct sl_vary *v)
{
	const double pair[] = { v->a, v->b };
	char buf[32];

	fprintf(f, ", %s: ", key);
	switch (v->kind) {
	case SL_VARY_CONSTANT:
		fputs(sw_double(buf, sizeof(buf), v->a), f);
		break;
	case SL_VARY_UNIFORM:
	case SL_VARY_NORMAL:
		fprintf(f, "{%s: ", v->kind == SL_VARY_NORMAL ? "normal" : "uniform");
		sw_list(f, pair, 2);
		fputs("}", f);
		break;
	case SL_VARY_EXPONENTIAL:
		fprintf(f, "{exponential: %s}", sw_double(buf, sizeof(buf), v->a));
		break;
	case SL_VARY_LIST:
		sw_list(f, v->list, v->count);
		break;
	}
}

static void sw_write_platform(FILE *f, const struct sl_platform *p)
{
	fputs("platform:\n", f);
	sw_key(f, "  bandwidth", p->bandwidth_bps);
	if (p->per_proc_bps > 0)
		sw_key(f, "\n  per_proc_bandwidth", p->per_proc_bps);
	if (p->procs)
		fprintf(f, "\n  procs: %" PRIu64, p->procs);
	if (p->servers != 1)
		fprintf(f, "\n  servers: %u", p->servers);
	if (p->buffer_bytes > 0) {
		sw_key(f, "\n  burst_buffer: {capacity", p->buffer_bytes);
		if (p->buffer_bps > 0)
			sw_key(f, ", bandwidth", p->buffer_bps);
		fputs("}", f);
	}
	if (p->restart_s > 0)
		sw_key(f, "\n  restart", p->restart_s);
	fputs("\n", f);
}

static void sw_write_app(FILE *f, const struct sl_app *a)
{
	fputs("  - {name: ", f);
	sw_quoted(f, a->name);
	fprintf(f, ", procs: %u", a->procs);
	if (a->release_s > 0)
		sw_key(f, ", release", a->release_s);
	sw_vary(f, "compute", &a->compute_s);
	sw_vary(f, "volume", &a->volume_bytes);
	if (a->iterations)
		fprintf(f, ", iterations: %" PRIu64, a->iterations);
	if (a->period_hint_s > 0)
		sw_key(f, ", period_hint", a->period_hint_s);
	fputs("}\n", f);
}

int sl_scenario_save(FILE *file, const struct sl_scenario *s)
{
	char buf[32], err[500];

	if (sl_scenario_check(s, err, sizeof(err)))
		return -EINVAL;
	sw_write_platform(file, &s->platform);
	if (s->from_s > 0 || s->to_s > 0) {
		fprintf(file, "window: [%s", sw_double(buf, sizeof(buf), s->from_s));
		fprintf(file, ", %s]\n",
			s->to_s > 0 ? sw_double(buf, sizeof(buf), s->to_s) : "end");
	}
	fputs("jobs:\n", file);
	for (uint32_t i = 0; i < s->n_apps; i++)
		sw_write_app(file, &s->apps[i]);
	if (s->n_policies)
		fputs("policies:\n", file);
	for (uint32_t i = 0; i < s->n_policies; i++) {
		fputs("  - ", file);
		sw_quoted(file, s->policies[i]);
		fputs("\n", file);
	}
	return ferror(file) ? -EIO : 0;
}

void sl_scenario_free(struct sl_scenario *s)
{
	const struct sl_app *a = s->apps, *end = a ? a + s->n_apps : a;

	for (; a < end; a++) {
		bool last = a + 1 == end;

		if (last || a[1].compute_s.list != a->compute_s.list)
			free(a->compute_s.list);
		if (last || a[1].volume_bytes.list != a->volume_bytes.list)
			free(a->volume_bytes.list);
	}
	for (uint32_t i = 0; i < s->n_policies; i++)
		free(s->policies[i]);
	free(s->policies);
	free(s->apps);
	free(s->name);
	*s = (struct sl_scenario){ 0 };
}
