/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice report`: what each job used, which jobs delayed it, and what the policy changed. The
 * input is the account that the nodes of a layer keep (sluiced/ionode/usage.c).
 */
#include "cli/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/slurp.h"
#include "base/units.h"
#include "cli/cli.h"
#include "lab/page.h"
#include "layer/layer.h"
#include "layer/status.h"

#define CMD	  REPORT_CMD
#define MOST	  8 /* jobs of the matrix as text */
#define FILE_MOST (256 << 20)
#define ASK_MS	  1000
#define WAIT_US	  100000

/* ---- since when ---- */

static bool parse_clock(const char *text, time_t now, time_t *out)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
					     "%Y-%m-%d %H:%M", "%Y-%m-%d", "%H:%M" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm tm;
		const char *end;
		int day;

		localtime_r(&now, &tm);
		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		end = strptime(text, forms[i], &tm);
		if (!end || *end)
			continue;
		day = tm.tm_mday;
		tm.tm_isdst = -1;
		*out = mktime(&tm);
		return tm.tm_mday == day; /* February has no 31st */
	}
	return false;
}

static int parse_since(const char *text, int64_t *out)
{
	time_t now = time(NULL), at = 0;
	int64_t ns;

	*out = 0;
	if (!text)
		return CLI_OK;
	if (!sl_parse_time(text, &ns) && ns >= 0)
		*out = (int64_t)now - ns / 1000000000;
	else if (parse_clock(text, now, &at))
		*out = (int64_t)at;
	else
		return cli_usage(CMD,
				 "--since: '%s' is not a time; write 2h, 14:30, 2026-11-16 or "
				 "2026-11-16T14:30.",
				 text);
	return CLI_OK;
}

/* ---- the files ---- */

static int read_file(struct report *r, const char *path, int64_t since_s)
{
	char err[REPORT_ERROR] = "", *text;
	size_t size;
	int rc = sl_slurp_file(path, FILE_MOST, &text, &size);

	if (rc)
		return cli_fail(CMD, "cannot read %s: %s.", path, strerror(-rc));
	rc = report_read(r, text, size, since_s, err);
	if (rc)
		rc = cli_fail(CMD, "%s is not an account of usage: %s.", path,
			      rc == -ENOMEM ? "out of memory" : err);
	free(text);
	return rc;
}

/* Read the accounts of a layer: RUNTIME/.usage-NAME, .usage-NAME-1, …, and the older .1 of each. */
static int read_layer(struct report *r, const struct layer *l, int64_t since_s)
{
	char path[PATH_MAX], who[48], *text = NULL;
	int status = CLI_OK;
	unsigned found = 0;

	/*
	 * Nodes write every two seconds. Ask them to write now; one that does not answer has
	 * nothing new.
	 */
	if (layer_state(l) == LAYER_UP)
		layer_tell_all(l, "usage", true, who, &text);
	free(text);

	for (unsigned i = 0; i < LAYER_IONODES && !status; i++) {
		for (int old = 1; old >= 0 && !status; old--) {
			if (layer_usage(l, i, path) || (old && strlen(path) + 3 > sizeof(path)))
				continue;
			if (old)
				strcat(path, ".1");
			if (access(path, F_OK))
				continue;
			if (l->system && access(path, R_OK) && errno == EACCES)
				return cli_fail(CMD,
						"only root may read the account of layer '%s'; "
						"'sluice status' shows your own jobs.",
						l->name);
			status = read_file(r, path, since_s);
			found++;
		}
	}
	if (!status && !found)
		return cli_fail(CMD,
				"layer '%s' has no account: it was never up, or no job has "
				"done any I/O through it yet.",
				l->name);
	return status;
}

/* ---- one job ---- */

/* The job of 4711 and of its steps, 4711.0 and 4711.batch. */
static int parse_slurm(const char *text, char id[REPORT_ID])
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits >= REPORT_ID || (text[digits] && text[digits] != '.'))
		return cli_usage(CMD, "--slurm: '%s' is not the number of a job; write 4711.",
				 text);
	snprintf(id, REPORT_ID, "%.*s", (int)digits, text);
	return CLI_OK;
}

/*
 * In a layer for all users a job is UID/4711; the numbers of a batch system are unique without the
 * UID.
 */
static bool is_job(const char *name, const char *id, bool of_all)
{
	const char *slash = of_all ? strchr(name, '/') : NULL;

	return !strcmp(name, id) || (slash && !strcmp(slash + 1, id));
}

/* Number of programs of the job that the nodes know of. */
static double programs(const struct layer *l, const char *id, bool of_all)
{
	struct status *s = layer_state(l) == LAYER_UP ? status_ask(l, ASK_MS) : NULL;
	double count = 0;

	for (size_t i = 0; s && i < s->jobs_count; i++)
		if (is_job(s->jobs[i].job, id, of_all))
			count += s->jobs[i].attached + s->jobs[i].clients;
	status_free(s);
	return count;
}

/* Wait until the job's last program has ended: a job may run on several machines. */
static void wait_for(const struct layer *l, const char *id, bool of_all, int64_t ns)
{
	int64_t until_ms = sl_clock_ms() + ns / 1000000;

	while (programs(l, id, of_all) > 0 && sl_clock_ms() < until_ms)
		usleep(WAIT_US);
}

static int choose_job(struct report *r, const char *id, bool of_all)
{
	for (uint32_t i = 0; i < r->jobs; i++) {
		if (!is_job(r->job[i].name, id, of_all))
			continue;
		r->only = &r->job[i];
		return CLI_OK;
	}
	return cli_fail(CMD, "job '%s' did no I/O through the layer in that time.", id);
}

/* If each machine of a job has its own layer, this layer knows only its part of the job. */
static void print_machines(const struct layer *l, const char *job)
{
	struct status *s = l->system && layer_state(l) == LAYER_UP ? status_ask(l, ASK_MS) : NULL;
	const struct status_job *j = s ? status_job_find(s, job) : NULL;

	if (j && s->machines > 1 && j->nodes > 1)
		printf(" (on one of its %.0f machines)", j->nodes);
	status_free(s);
}

/*
 * "sluice: job 4711 read 0B and wrote 21MB in 20 requests, 19.8MB/s on average; ..." For the job's
 * own user: in a layer for all users without the uid that its name begins with.
 */
static void print_line(const struct report_job *b, const struct layer *l)
{
	const char *slash = l->system ? strchr(b->name, '/') : NULL;
	char t[3][STATUS_CELL];
	double bytes = (double)b->bytes[0] + (double)b->bytes[1];

	sl_format_bytes(t[0], sizeof(t[0]), b->bytes[0]);
	sl_format_bytes(t[1], sizeof(t[1]), b->bytes[1]);
	sl_format_rate(t[2], sizeof(t[2]), (uint64_t)(bytes / b->active_s));
	printf("sluice: job %s", slash ? slash + 1 : b->name);
	print_machines(l, b->name);
	printf(" read %s and wrote %s in %" PRIu64 " requests, %s on average; waited "
	       "%.1fs, %.1fs of it for its own max.\n",
	       t[0], t[1], b->calls, t[2], b->waited_s, b->held_s);
}

/* ---- as text ---- */

#define NAME 16 /* columns of a name */
#define CELL 8	/* of anything else */

/*
 * Print a name in a number of columns. end: keep the end of a long name, which distinguishes
 * run-4711 from run-4712.
 */
static void print_name(const char *name, int columns, bool end)
{
	size_t length = strlen(name), room = (size_t)columns;

	if (length <= room)
		printf(end ? "%*s" : "%-*s", columns, name);
	else if (end)
		printf("~%s", name + length - (room - 1));
	else
		printf("%.*s~", columns - 1, name);
}

/* In CELL columns: 0.3s, -9999.9s, 10000s, 278h. */
static void print_seconds(double s, bool sign)
{
	const char *plus = sign && s >= -0.05 ? "+" : "";
	char text[32];

	if (fabs(s) < 0.05)
		s = 0; /* no -0.0 */
	if (fabs(s) < 9999.95)
		snprintf(text, sizeof(text), "%s%.1fs", plus, s);
	else if (fabs(s) < 999999.5)
		snprintf(text, sizeof(text), "%s%.0fs", plus, s);
	else
		snprintf(text, sizeof(text), "%s%.0fh", plus, s / 3600);
	printf(" %*s", CELL, text);
}

static void print_table(const struct report *r)
{
	static const char *const titles[] = { "READ", "WRITTEN", "REQUESTS", "AVERAGE",
					      "HELD", "WAITED",	 "SAVED" };

	print_name("JOB", NAME, false);
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		printf(" %*s", CELL, titles[i]);
	puts("");
	for (uint32_t i = 0; i < r->jobs; i++) {
		const struct report_job *b = &r->job[i];
		char t[4][STATUS_CELL];
		double bytes = (double)b->bytes[0] + (double)b->bytes[1];

		if (r->only && b != r->only)
			continue;
		sl_format_bytes(t[0], sizeof(t[0]), b->bytes[0]);
		sl_format_bytes(t[1], sizeof(t[1]), b->bytes[1]);
		snprintf(t[2], sizeof(t[2]), "%" PRIu64, b->calls);
		if (strlen(t[2]) > CELL)
			status_short(t[2], (double)b->calls);
		sl_format_rate(t[3], sizeof(t[3]), (uint64_t)(bytes / b->active_s));
		print_name(b->name, NAME, false);
		for (size_t k = 0; k < 4; k++)
			printf(" %*s", CELL, t[k]);
		print_seconds(b->held_s, false);
		print_seconds(b->waited_s, false);
		print_seconds(b->saved_s, true);
		puts("");
	}
}

/*
 * Print the metadata operations of the jobs that made some, and how long limits held operations and
 * data calls.
 */
static void print_operations(const struct report *r)
{
	for (uint32_t i = 0; i < r->jobs; i++) {
		const struct report_job *b = &r->job[i];

		if ((!b->operations && b->ops_held_s < 0.05) || (r->only && b != r->only))
			continue;
		printf("Metadata: %" PRIu64 " operation%s of job %s", b->operations,
		       b->operations == 1 ? "" : "s", b->name);
		if (b->ops_held_s >= 0.05)
			printf("; limits held operations or calls for %.1f s", b->ops_held_s);
		puts("");
	}
}

/* Prints the bytes that the page cache has kept from the file system, if any. */
static void print_cached(const struct report *r)
{
	for (uint32_t i = 0; i < r->jobs; i++) {
		const struct report_job *b = &r->job[i];
		char cached[STATUS_CELL], wire[STATUS_CELL], dirty[STATUS_CELL];

		if (!b->wire_known || (r->only && b != r->only) ||
		    (!b->cached && !b->dirty && b->wire == b->bytes[0] + b->bytes[1]))
			continue;
		printf("Job %s: %s were cached, %s went over the wire, at most %s were dirty\n",
		       b->name, sl_format_bytes(cached, sizeof(cached), b->cached),
		       sl_format_bytes(wire, sizeof(wire), b->wire),
		       sl_format_bytes(dirty, sizeof(dirty), b->dirty));
	}
}

/* Print the bytes that bypassed the scheduler, if any. */
static void print_unscheduled(const struct report *r)
{
	for (uint32_t i = 0; i < r->jobs; i++) {
		const struct report_job *b = &r->job[i];
		char text[STATUS_CELL];

		if (b->unscheduled && (!r->only || b == r->only))
			printf("Unscheduled: %s of job %s\n",
			       sl_format_bytes(text, sizeof(text), b->unscheduled), b->name);
	}
}

/* Whether a waited for b for a time that rounds to at least 0.1 s. */
static bool delayed(const struct report *r, uint32_t a, uint32_t b)
{
	return a != b && r->by[(size_t)a * r->named + b] >= 0.05;
}

static void print_matrix(const struct report *r)
{
	uint32_t n = r->named < MOST ? r->named : MOST;
	bool row[MOST] = { 0 }, column[MOST] = { 0 }, any = false;

	for (uint32_t a = 0; a < n; a++) {
		for (uint32_t b = 0; b < n; b++) {
			row[a] |= delayed(r, a, b);
			column[b] |= delayed(r, a, b);
		}
		any |= row[a];
	}
	if (!any) {
		puts(r->observed_rows ? "\nNo job would have waited for another."
				      : "\nNo job waited for another.");
		return;
	}
	puts(r->observed_rows
		     ? "\nSeconds that the job of the row would have waited for that of the column:"
		     : "\nSeconds that the job of the row waited for that of the column:");
	print_name("", NAME, false);
	for (uint32_t b = 0; b < n; b++) {
		if (!column[b])
			continue;
		putchar(' ');
		print_name(r->job[b].name, CELL - 1, true);
	}
	puts("");
	for (uint32_t a = 0; a < n; a++) {
		if (!row[a])
			continue;
		print_name(r->job[a].name, NAME, false);
		for (uint32_t b = 0; b < n; b++) {
			if (column[b] && a == b)
				printf(" %7s", "-");
			else if (column[b])
				printf(" %7.1f", r->by[(size_t)a * r->named + b]);
		}
		puts("");
	}
	if (r->jobs > n)
		printf("(%u more: --json or --html has them.)\n", r->jobs - n);
}

/* Print the jobs that the selected job waited for. */
static void print_delays(const struct report *r)
{
	uint32_t a = (uint32_t)(r->only - r->job);
	bool any = false;

	puts("");
	for (uint32_t b = 0; a < r->named && b < r->named; b++) {
		if (!delayed(r, a, b))
			continue;
		printf("It waited %.1fs for %s.\n", r->by[(size_t)a * r->named + b],
		       report_name(r, b));
		any = true;
	}
	if (!any)
		puts("It waited for no other job.");
}

static void print_text(const struct report *r)
{
	char from[32], to[32];
	time_t t[2] = { (time_t)r->from_s, (time_t)r->to_s };
	struct tm tm;

	strftime(from, sizeof(from), "%F %T", localtime_r(&t[0], &tm));
	strftime(to, sizeof(to), "%F %T", localtime_r(&t[1], &tm));
	printf("%s to %s\n\n", from, to);
	if (r->observed_rows)
		puts(r->observed_rows == r->rows
			     ? "Observed: no call was held. HELD, WAITED and "
			       "the waits between jobs are what "
			       "would\nhave happened under the capacity, limits "
			       "and weights of that time.\n"
			     : "Partly observed: in that time no call was held, and "
			       "HELD and WAITED are what "
			       "would have happened.\n");
	print_table(r);
	print_operations(r);
	print_cached(r);
	print_unscheduled(r);
	if (r->only)
		print_delays(r);
	else
		print_matrix(r);
}

/* ---- the command ---- */

/* The capacity of a layer, if it is up and has one; else 0. */
static double layer_capacity(const struct layer *l)
{
	struct status *s = layer_state(l) == LAYER_UP ? status_ask(l, ASK_MS) : NULL;
	double bps = s ? s->capacity_bps : 0;

	status_free(s);
	return bps;
}

static int print(const struct report *r, bool as_json, bool line, const char *html,
		 const struct layer *l)
{
	struct json j;
	int status;

	if (html && (status = report_page(html, r, l->name)))
		return status;
	if (as_json) {
		json_begin(&j, stdout);
		json_object(&j, NULL);
		report_json(&j, r, false);
		json_end(&j);
	} else if (line) {
		print_line(r->only, l);
	} else if (html) {
		printf("Written to %s.\n", html);
	} else if (!r->rows) {
		puts("No job did any I/O in that time.");
	} else {
		print_text(r);
	}
	if (r->skipped_lines == 1)
		cli_warn(CMD, "a malformed line was skipped.");
	else if (r->skipped_lines)
		cli_warn(CMD, "%" PRIu64 " malformed lines were skipped.", r->skipped_lines);
	return CLI_OK;
}

int cmd_report(int argc, char **argv)
{
	const char *name = NULL, *since = NULL, *html = NULL, *job = NULL, *slurm = NULL,
		   *wait = NULL;
	bool as_json = false, line = false, what_if = false;
	char slurm_id[REPORT_ID];
	const struct cli_option options[] = {
		{ "name", 0, "NAME", .values = "<layer>", .text = &name,
		  .help = "which layer; default: the one that is up, or 'default'" },
		{ "since", 's', "WHEN", .text = &since,
		  .help = "start of the report: 2h, 30m, 7d before now, 14:30 (today), 2026-11-16 "
			  "or "
			  "2026-11-16T14:30; default: all" },
		{ "job", 0, "ID", .text = &job,
		  .help = "only this job, and the jobs that it waited for" },
		{ "slurm", 0, "JOBID", .text = &slurm,
		  .help = "the same for a Slurm job: 4711; 4711.0 means 4711" },
		{ "line", 0, NULL, .flag = &line,
		  .help = "print one line about that job, for the end of its output" },
		{ "wait", 0, "TIME", .text = &wait,
		  .help = "first wait until its programs have ended, at most this long" },
		{ "html", 0, "FILE", .values = "<file>", .text = &html,
		  .help = "a page with charts" },
		{ "what-if", 0, NULL, .flag = &what_if,
		  .help = "instead of the report, simulate these jobs under each grant policy" },
		CLI_JSON(&as_json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = CMD,
		.usage = "report [--name NAME] [--since WHEN] [--html FILE] [--json]\n"
			 "                     [--job ID | --slurm JOBID] [--line] [--wait TIME]\n"
			 "                     [--what-if]\n"
			 "                     [FILE]...",
		.about =
			"Shows what each job used, which jobs waited for which, and what the "
			"policy changed, from the "
			"account that the I/O nodes of a layer keep, even after the layer is down.",
		.more = "FILE: accounts kept by 'sluiced ionode --usage FILE'.\n\nColumns: AVERAGE "
			"bytes/s while it did I/O; HELD by its own max; WAITED with requests that "
			"were not sent yet; SAVED how much longer it would have needed under equal "
			"shares (below 0: it lost that much). Of a layer in observe "
			"mode: HELD and WAITED are what would have happened; no call was "
			"held.\n\nManual: sluice-report(1).",
		.options = options,
		.takes = "file",
		.arguments = -1,
	};
	int status = cli_next(&command, argc, argv);
	struct report r = { 0 };
	struct layer l = { .name = "", .lock = -1 };
	int64_t since_s, wait_ns = 0;

	if (status)
		return cli_end(status);
	if ((status = parse_since(since, &since_s)))
		return status;
	if (name && optind < argc)
		return cli_usage(CMD, "--name and files exclude each other.");
	if (job && slurm)
		return cli_usage(CMD, "--job and --slurm both name a job; give one of them.");
	if (slurm && (status = parse_slurm(slurm, slurm_id)))
		return status;
	job = slurm ? slurm_id : job;
	if (line && (!job || as_json))
		return cli_usage(
			CMD,
			"--line prints one job as text: give --job or --slurm, and no --json.");
	if (wait && (sl_parse_time(wait, &wait_ns) || wait_ns < 0))
		return cli_usage(CMD, "--wait: '%s' is not a time; write 5s or 1m.", wait);
	if (wait && (!job || optind < argc))
		return cli_usage(CMD, "--wait needs one job of a layer: give --job or --slurm.");
	if (html && job)
		return cli_usage(CMD,
				 "the page shows all jobs: leave out --job, --slurm or --html.");
	if (what_if && (html || job))
		return cli_usage(
			CMD,
			"--what-if covers all jobs and has no page: leave out --html, --job or "
			"--slurm.");
	if (html && (status = page_check(CMD, html)))
		return status;
	if (optind == argc) {
		status = cli_layer(CMD, layer_choose(&l, name));
		if (!status && wait)
			wait_for(&l, job, slurm && l.system, wait_ns);
		if (!status)
			status = read_layer(&r, &l, since_s);
		layer_close(&l);
	}
	for (int i = optind; i < argc && !status; i++)
		status = read_file(&r, argv[i], since_s);
	if (!status && report_sum(&r))
		status = cli_fail(CMD, "out of memory.");
	if (!status && job)
		status = choose_job(&r, job, slurm && l.system);
	if (!status && what_if)
		status = report_what_if(&r, *l.name ? layer_capacity(&l) : 0, as_json);
	else if (!status)
		status = print(&r, as_json, line, html, &l);
	report_free(&r);
	return status;
}
