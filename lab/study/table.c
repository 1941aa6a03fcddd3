/* SPDX-License-Identifier: Apache-2.0 */
/* The results of `sluice sim`, as a table, as JSON and as CSV. */
#include "lab/study/sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/json.h"
#include "base/units.h"

#define CELL   24
#define NAME   24 /* columns of a name; with seven measures of 8 that is CLI_WIDTH */
#define COLUMN 8

/* ---- the table ---- */

/* Five digits, at most 7 characters. */
static const char *tb_number(char out[CELL], double v)
{
	double size = fabs(v);

	if (!isfinite(v))
		snprintf(out, CELL, isnan(v) ? "-" : "inf");
	else
		snprintf(out, CELL, "%.*f",
			 size < 9.99995	  ? 4
			 : size < 99.9995 ? 3
			 : size < 999.995 ? 2
					  : 0,
			 v);
	if (strlen(out) > COLUMN - 1)
		snprintf(out, CELL, "%.1e", v);
	return out;
}

/* Whether the value is the best of the column, as printed. */
static bool tb_best(const struct sim_study *s, const struct sim_policy *of, enum sim_measure m)
{
	int better = sim_measures[m].better;
	double best = NAN;
	char a[CELL], b[CELL];

	if (!better || s->n_policies < 2 || !isfinite(of->measure[m].mean))
		return false;
	for (uint32_t p = 0; p < s->n_policies; p++) {
		double v = s->policy[p].measure[m].mean;

		if (isfinite(v) && !((best - v) * better >= 0))
			best = v;
	}
	return !strcmp(tb_number(a, best), tb_number(b, of->measure[m].mean));
}

/* Name in the first column, or on a line of its own. */
static void tb_name(const char *name)
{
	if (strlen(name) < NAME)
		printf("%-*s", NAME, name);
	else
		printf("%s\n%*s", name, NAME, "");
}

static void tb_interval(const struct sim_policy *p)
{
	char text[CELL];

	printf("%*s", NAME, "");
	for (enum sim_measure m = 0; m < SIM_MEASURES; m++) {
		tb_number(text, p->measure[m].ci95);
		/* The sign is one column, but two bytes. */
		printf("%*s±%s%s", COLUMN - 2 - (int)strlen(text), "", text,
		       m < SIM_MEASURES - 1 ? " " : "\n");
	}
}

static void tb_head(const struct sim_study *s)
{
	char text[900], about[300], window[80], runs[40] = "";

	if (s->repeat > 1)
		snprintf(runs, sizeof(runs), ", mean of %" PRIu32 " runs", s->repeat);
	snprintf(text, sizeof(text), "%.300s: %s, %s%s%s", s->scenario.name,
		 sim_about(s, about, sizeof(about)), sim_window_text(s, window, sizeof(window)),
		 s->detect ? ", periods detected" : "", runs);
	cli_wrap(stdout, text, 0, 0);
	printf("\n%-*s", NAME, "policy");
	for (enum sim_measure m = 0; m < SIM_MEASURES; m++)
		printf("%*s%s", COLUMN - 1, sim_measures[m].head,
		       m < SIM_MEASURES - 1 ? " " : "\n");
}

static void tb_legend(const struct sim_study *s)
{
	bool window = s->scenario.from_s > 0 || s->scenario.to_s > 0;
	char text[900];

	snprintf(text, sizeof(text),
		 "More is better: sys eff (share of its own time that a job computes, mean by "
		 "processors; at most limit), util (share of all processors' time %s that is "
		 "computing). Less: dilation (worst slowdown of a whole job), max and geo str "
		 "(slowdown in %s: worst, geometric mean), io slow (of the I/O alone).%s%s",
		 window ? "in the window" : "up to the last end",
		 window ? "the window" : "the whole run", s->n_policies > 1 ? " *: best." : "",
		 s->repeat > 1 ? " ±: 95 % confidence interval." : "");
	putchar('\n');
	cli_wrap(stdout, text, 0, 0);
	if (sim_note(s, text, sizeof(text)))
		cli_wrap(stdout, text, 0, 0);
	for (uint32_t i = 0; i < s->n_left_out; i++) {
		const struct sim_policy *p = &s->policy[s->n_policies + i];

		snprintf(text, sizeof(text), "Left out: %s, %s.", p->spec,
			 p->left_out ? p->left_out : "which cannot run this");
		cli_wrap(stdout, text, 0, 2);
	}
}

static void tb_apps(const struct sim_study *s)
{
	static const char *const heads[] = { "eff", "dilation", "stretch", "io slow" };

	for (uint32_t p = 0; p < s->n_policies; p++) {
		printf("\n%-*s", NAME, s->policy[p].spec);
		for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
			printf("%*s ", COLUMN, heads[i]);
		printf("%10s%s\n", "iterations", s->detect ? "   period" : "");
		for (uint32_t i = 0; i < s->scenario.n_apps; i++) {
			const struct sl_sim_app_metrics *a = &s->policy[p].apps[i];
			const double v[] = { a->efficiency, a->dilation, a->stretch,
					     a->io_slowdown };
			char text[CELL];

			tb_name(s->scenario.apps[i].name);
			for (size_t k = 0; k < sizeof(v) / sizeof(v[0]); k++)
				printf("%*s ", COLUMN, tb_number(text, v[k]));
			printf("%10" PRIu64, a->iterations);
			if (s->detect)
				printf(" %8s",
				       tb_number(text,
						 a->found.period_s > 0 ? a->found.period_s : NAN));
			putchar('\n');
		}
	}
	if (s->repeat > 1)
		puts("\nThe applications are those of the first run.");
}

void sim_print_table(const struct sim_study *s, bool apps)
{
	tb_head(s);
	for (uint32_t p = 0; p < s->n_policies; p++) {
		const struct sim_policy *policy = &s->policy[p];
		char text[CELL];

		tb_name(policy->spec);
		for (enum sim_measure m = 0; m < SIM_MEASURES; m++)
			printf("%*s%s", COLUMN - 1, tb_number(text, policy->measure[m].mean),
			       tb_best(s, policy, m)  ? "*"
			       : m < SIM_MEASURES - 1 ? " "
						      : "");
		putchar('\n');
		if (s->repeat > 1)
			tb_interval(policy);
	}
	tb_legend(s);
	if (apps)
		tb_apps(s);
}

/* ---- JSON ---- */

static void js_found(struct json *j, const struct sl_sim_found *f)
{
	double nothing = f->period_s > 0 ? 0 : NAN; /* null */

	json_double(j, "period_found_s", f->period_s + nothing);
	json_double(j, "period_confidence", f->confidence + nothing);
	json_double(j, "period_first_found_s", f->first_s + nothing);
}

static void js_apps(struct json *j, const struct sim_study *s, const struct sim_policy *p)
{
	json_array(j, "apps");
	for (uint32_t i = 0; i < s->scenario.n_apps; i++) {
		const struct sl_sim_app_metrics *a = &p->apps[i];

		json_object(j, NULL);
		json_string(j, "name", s->scenario.apps[i].name);
		json_uint(j, "procs", s->scenario.apps[i].procs);
		json_double(j, "efficiency", a->efficiency);
		json_double(j, "dilation", a->dilation);
		json_double(j, "stretch", a->stretch);
		json_double(j, "io_slowdown", a->io_slowdown);
		json_uint(j, "iterations", a->iterations);
		json_double(j, "bytes", round(a->bytes));
		json_double(j, "end_s", a->end_s);
		if (s->detect)
			js_found(j, &a->found);
		json_end(j);
	}
	json_end(j);
}

/* Every run, and its difference to the same run under the first policy. */
static void js_runs(struct json *j, const struct sim_study *s, const struct sim_policy *p)
{
	json_array(j, "runs");
	for (uint32_t i = 0; i < s->repeat; i++) {
		json_object(j, NULL);
		json_uint(j, "seed", s->seed + i);
		for (enum sim_measure m = 0; m < SIM_MEASURES; m++)
			json_double(j, sim_measures[m].key, sim_value(&p->run[i], m));
		json_end(j);
	}
	json_end(j);
	json_object(j, "against_first");
	for (enum sim_measure m = 0; m < SIM_MEASURES; m++) {
		char key[64];

		json_double(j, sim_measures[m].key, p->against[m].mean);
		snprintf(key, sizeof(key), "%s_ci95", sim_measures[m].key);
		json_double(j, key, p->against[m].ci95);
	}
	json_end(j);
}

static void js_machine(struct json *j, const struct sim_study *s)
{
	const struct sl_platform *p = &s->scenario.platform;
	char text[900];

	json_string(j, "about", sim_about(s, text, sizeof(text)));
	json_object(j, "machine");
	json_uint(j, "applications", s->scenario.n_apps);
	json_uint(j, "procs_used", sl_scenario_procs(&s->scenario));
	json_uint(j, "procs", p->procs ? p->procs : sl_scenario_procs(&s->scenario));
	json_double(j, "bandwidth_bps", p->bandwidth_bps);
	json_double(j, "load", sim_load(s));
	if (p->buffer_bytes > 0) {
		json_double(j, "burst_buffer_bytes", p->buffer_bytes);
		json_double(j, "burst_buffer_bps", p->buffer_bps > 0 ? p->buffer_bps : NAN);
	}
	json_end(j);
	if (sim_note(s, text, sizeof(text)))
		json_string(j, "note", text);
}

void sim_print_json(const struct sim_study *s, bool apps)
{
	struct json j;
	char key[64];

	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "scenario", s->scenario.name);
	js_machine(&j, s);
	json_string(&j, "window_mode", s->window == SL_WINDOW_PAPER ? "paper" : "exact");
	json_uint(&j, "seed", s->seed);
	json_uint(&j, "repeat", s->repeat);
	json_bool(&j, "periods_detected", s->detect);
	json_array(&j, "policies");
	for (uint32_t p = 0; p < s->n_policies; p++) {
		const struct sim_policy *policy = &s->policy[p];

		json_object(&j, NULL);
		json_string(&j, "name", policy->spec);
		for (enum sim_measure m = 0; m < SIM_MEASURES; m++) {
			json_double(&j, sim_measures[m].key, policy->measure[m].mean);
			if (s->repeat == 1)
				continue;
			snprintf(key, sizeof(key), "%s_ci95", sim_measures[m].key);
			json_double(&j, key, policy->measure[m].ci95);
		}
		if (s->repeat > 1)
			js_runs(&j, s, policy);
		json_uint(&j, "events", policy->events);
		json_double(&j, "wall_s", policy->wall_s);
		if (apps)
			js_apps(&j, s, policy);
		json_end(&j);
	}
	json_end(&j);
	if (s->n_left_out) {
		json_array(&j, "left_out");
		for (uint32_t i = 0; i < s->n_left_out; i++) {
			json_object(&j, NULL);
			json_string(&j, "name", s->policy[s->n_policies + i].spec);
			json_string(&j, "why", s->policy[s->n_policies + i].left_out);
			json_end(&j);
		}
		json_end(&j);
	}
	json_end(&j);
}

/* ---- CSV (RFC 4180, lines end with \n) ---- */

static void cs_text(const char *text)
{
	if (!strpbrk(text, ",\"\n\r")) {
		fputs(text, stdout);
		return;
	}
	putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	putchar('"');
}

/* Empty if there is no number; else the fewest digits that read back as the same value. */
static void cs_number(double v)
{
	char text[32];
	int digits = 15;

	putchar(',');
	if (!isfinite(v))
		return;
	do
		snprintf(text, sizeof(text), "%.*g", digits, v);
	while (strtod(text, NULL) != v && digits++ < 17);
	fputs(text, stdout);
}

static void cs_apps(const struct sim_study *s)
{
	puts("policy,app,procs,efficiency,dilation,stretch,io_slowdown,iterations,bytes,end_s");
	for (uint32_t p = 0; p < s->n_policies; p++)
		for (uint32_t i = 0; i < s->scenario.n_apps; i++) {
			const struct sl_sim_app_metrics *a = &s->policy[p].apps[i];

			cs_text(s->policy[p].spec);
			putchar(',');
			cs_text(s->scenario.apps[i].name);
			printf(",%" PRIu32, s->scenario.apps[i].procs);
			cs_number(a->efficiency);
			cs_number(a->dilation);
			cs_number(a->stretch);
			cs_number(a->io_slowdown);
			printf(",%" PRIu64, a->iterations);
			cs_number(round(a->bytes));
			cs_number(a->end_s);
			putchar('\n');
		}
}

void sim_print_csv(const struct sim_study *s, bool apps)
{
	if (apps) {
		cs_apps(s);
		return;
	}
	fputs("name", stdout);
	for (enum sim_measure m = 0; m < SIM_MEASURES; m++) {
		printf(",%s", sim_measures[m].key);
		if (s->repeat > 1)
			printf(",%s_ci95", sim_measures[m].key);
	}
	puts(",events,wall_s");
	for (uint32_t p = 0; p < s->n_policies; p++) {
		const struct sim_policy *policy = &s->policy[p];

		cs_text(policy->spec);
		for (enum sim_measure m = 0; m < SIM_MEASURES; m++) {
			cs_number(policy->measure[m].mean);
			if (s->repeat > 1)
				cs_number(policy->measure[m].ci95);
		}
		printf(",%" PRIu64, policy->events);
		cs_number(policy->wall_s);
		putchar('\n');
	}
}
