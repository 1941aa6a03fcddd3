/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of `sluice bench path` as text and as JSON, and their goals. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "lab/bench/common.h"
#include "lab/bench/path.h"

#define KIB 1024U
#define MIB (1024U * KIB)

/* ---- goals ---- */

double path_goal(const struct path_row *row)
{
	if (row->capacity_bps || row->open_flags)
		return 0.97;
	if (row->bare_port)
		return row->size == MIB && row->procs == 4 ? 0.85
		       : row->size == 64 * KIB		   ? 0.80
							   : 0;
	if (strcmp(row->mode, bench_modes[0]) != 0)
		return 0;
	if (!strcmp(row->group, "small"))
		return 0.90;
	if (!strcmp(row->group, "alone") || !strcmp(row->group, "meta"))
		return 0.97;
	if (!strcmp(row->group, "contend"))
		return row->size == 4 * KIB ? 0.95 : row->size == 64 * KIB ? 0.96 : 0.97;
	if (row->size == MIB)
		return 0.70;
	if (row->size == 64 * KIB)
		return 0.60;
	return row->procs == 8 ? 0.20 : 0;
}

double path_node_goal(const struct path_row *row, const struct path_result *r)
{
	if (row->bare_port)
		return row->size == MIB ? 1.25 * r->bare_cpu_us : 0;
	return !strcmp(row->group, "contend") && row->size == 4 * KIB &&
			       !strcmp(row->mode, bench_modes[0])
		       ? 20
		       : 0;
}

double path_p50_goal(const struct path_row *row, const struct path_result *r)
{
	return row->bare_port && row->size == 4 * KIB && row->procs == 1 ? 1.3 * r->bare_p50_us : 0;
}

/* ---- output ---- */

/*
 * In text, figures are rounded to the worse side, so that a printed figure never contradicts the
 * mark of its goal: a ratio of 0.968 prints as 0.96, a time of 6.01 us as 6.1.
 */
static double down(double value, double parts)
{
	return floor(value * parts) / parts;
}

static double up(double value, double parts)
{
	return ceil(value * parts) / parts;
}

bool path_print_new(struct path_bench *b, const char *group, const char *mode)
{
	if (b->group && !strcmp(b->group, group) && !strcmp(b->mode, mode))
		return false;
	printf("%s%s, %s%s\n", b->group ? "\n" : "", group, strcmp(group, "gate") ? "--mode " : "",
	       mode);
	b->group = group;
	b->mode = mode;
	return true;
}

void path_print_goal(struct path_bench *b, char out[16], double goal, int digits, bool met)
{
	out[0] = 0;
	if (goal > 0)
		snprintf(out, 16, "%c%.*f", met ? ' ' : '!', digits, goal);
	b->missed += goal > 0 && !met;
}

static void json_row(struct json *j, const struct path_row *row, const struct path_result *r)
{
	double goal = path_goal(row), node_goal = path_node_goal(row, r);
	double p50_goal = path_p50_goal(row, r);

	json_object(j, NULL);
	json_string(j, "group", row->group);
	json_string(j, "mode", row->mode);
	json_string(j, "op", bench_op_name[row->op]);
	json_uint(j, "size", row->size);
	json_uint(j, "jobs", row->jobs);
	json_uint(j, "procs", row->procs);
	json_uint(j, "pairs", r->pairs);
	json_string(j, "against",
		    row->capacity_bps ? "capacity"
		    : row->bare_port  ? "bare server"
				      : "direct");
	json_double(j, "direct_mib_s", bench_rounded(r->direct_mib_s, 10));
	json_double(j, "sluice_mib_s", bench_rounded(r->sluice_mib_s, 100));
	json_double(j, "ratio", bench_rounded(r->ratio, 1e6));
	json_double(j, "ratio_low", bench_rounded(r->ratio_low, 1e6));
	json_double(j, "ratio_high", bench_rounded(r->ratio_high, 1e6));
	json_double(j, "p50_us", bench_rounded(r->p50_us, 100));
	json_double(j, "p99_us", bench_rounded(r->p99_us, 100));
	if (row->bare_port) {
		json_double(j, "bare_p50_us", bench_rounded(r->bare_p50_us, 100));
		json_double(j, "bare_cpu_us_per_mib", bench_rounded(r->bare_cpu_us, 10));
	}
	json_double(j, "direct_cpu_us_per_mib", bench_rounded(r->direct_cpu_us, 10));
	json_double(j, "client_cpu_us_per_mib", bench_rounded(r->client_cpu_us, 10));
	json_double(j, "node_cpu_us_per_mib", bench_rounded(r->node_cpu_us, 10));
	if (goal > 0) {
		json_double(j, "goal", goal);
		json_bool(j, "goal_met", r->ratio >= goal);
	}
	if (node_goal > 0) {
		json_double(j, "node_cpu_goal_us_per_mib", node_goal);
		json_bool(j, "node_cpu_goal_met", r->node_cpu_us <= node_goal);
	}
	if (p50_goal > 0) {
		json_double(j, "p50_goal_us", bench_rounded(p50_goal, 100));
		json_bool(j, "p50_goal_met", r->p50_us <= p50_goal);
	}
	json_end(j);
	fflush(j->f);
}

static void text_row(struct path_bench *b, const struct path_row *row, const struct path_result *r)
{
	double goal = path_goal(row), node_goal = path_node_goal(row, r);
	double p50_goal = path_p50_goal(row, r);
	char size[16], shape[24], wanted[16], node_wanted[16], p50_wanted[16];

	if (path_print_new(b, row->group, row->mode)) {
		static const char format[] = "%-6s %7s %6s %6s %6s %5s %-9s %5s %5s %6s %6s %4s\n";
		const char *against = row->capacity_bps ? "limit"
				      : row->bare_port	? "bare"
							: "direct";
		const char *rate = row->op == BENCH_META ? "op/s" : "MiB/s";

		printf(format, "", "", "jobs x", against, "sluice", "", "", "", "us a", "call  ",
		       "CPU us", row->op == BENCH_META ? "/op" : "/MiB");
		printf(format, "op", "size", "procs", rate, rate, "ratio", "95 %", "goal", "p50",
		       "p99", "client", "node");
	}
	path_print_goal(b, wanted, goal, 2, r->ratio >= goal);
	path_print_goal(b, node_wanted, node_goal, 0, r->node_cpu_us <= node_goal);
	path_print_goal(b, p50_wanted, p50_goal, 1, r->p50_us <= p50_goal);
	snprintf(shape, sizeof(shape), "%ux%u", row->jobs, row->procs);
	sl_format_bytes(size, sizeof(size), row->size);
	printf("%-6s %7s %6s %6.0f %6.0f %5.2f %4.2f-%4.2f %5s %5.1f %6.0f %6.0f %4.0f%s\n",
	       bench_op_name[row->op], row->op == BENCH_META ? "" : size, shape, r->direct_mib_s,
	       r->sluice_mib_s, down(r->ratio, 100), down(r->ratio_low, 100),
	       up(r->ratio_high, 100), wanted, up(r->p50_us, 10), up(r->p99_us, 1),
	       r->client_cpu_us, r->node_cpu_us, node_wanted);
	if (row->bare_port)
		printf("%50s bare: %5.1f %s %10.0f\n", "", r->bare_p50_us, p50_wanted,
		       r->bare_cpu_us);
	fflush(stdout);
}

void path_print(struct path_bench *b, const struct path_row *row, const struct path_result *r)
{
	if (b->json_wanted)
		json_row(&b->json, row, r);
	else
		text_row(b, row, r);
	b->rows++;
}
