/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice report`: who used what, who was delayed by whom, and what the policy changed, from the
 * account that the nodes of a layer keep while they run (ionode/usage.c).
 */
#include "cli/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/slurp.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/layer.h"
#include "cli/page.h"

#define CMD	  REPORT_CMD
#define MOST	  8 /* jobs of the matrix as text */
#define FILE_MOST (256 << 20)

static int help(void)
{
	puts("usage: sluice report [--name NAME] [--since WHEN] [--html FILE] [--json]\n"
	     "                     [FILE]...\n"
	     "\n"
	     "Who used what, who waited for whom, and what the policy changed: from the\n"
	     "account that the I/O nodes of a layer keep, also after the layer is down.\n"
	     "\n"
	     "Options:\n"
	     "      --name NAME   which layer; default: the one that is up, or 'default'\n"
	     "  -s, --since WHEN  only from then on: 2h, 30m, 7d before now, 14:30 (today),\n"
	     "                    2026-11-16 or 2026-11-16T14:30; default: all\n"
	     "      --html FILE   a page with charts\n"
	     "  -j, --json        print JSON\n"
	     "  -h, --help        this text\n"
	     "\n"
	     "FILE: accounts kept by 'sluiced ionode --usage FILE'.\n"
	     "\n"
	     "Columns: AVERAGE bytes/s while it did I/O; HELD by its own max; WAITED with\n"
	     "requests that were not sent yet; SAVED against equal shares: how much longer it\n"
	     "would have needed; below 0 it was put behind others.\n"
	     "\n"
	     "Manual: sluice-report(1).");
	return CLI_OK;
}

/* ---- since when ---- */

static bool parse_clock(const char *text, time_t now, time_t *out)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
					     "%Y-%m-%d %H:%M", "%Y-%m-%d", "%H:%M" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm tm;
		const char *end;

		localtime_r(&now, &tm);
		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		end = strptime(text, forms[i], &tm);
		if (!end || *end)
			continue;
		tm.tm_isdst = -1;
		*out = mktime(&tm);
		return true;
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
				 "--since: '%s' is no time; write 2h, 14:30, 2026-11-16 or "
				 "2026-11-16T14:30.",
				 text);
	return CLI_OK;
}

/* ---- the files ---- */

static int read_file(struct report *r, uint32_t node, const char *path, int64_t since_s)
{
	char err[REPORT_ERROR] = "", *text;
	size_t size;
	int rc = sl_slurp_file(path, FILE_MOST, &text, &size);

	if (rc)
		return cli_fail(CMD, "cannot read %s: %s.", path, strerror(-rc));
	rc = report_read(r, node, text, size, since_s, err);
	if (rc)
		rc = cli_fail(CMD, "%s is not an account of usage: %s.", path,
			      rc == -ENOMEM ? "out of memory" : err);
	free(text);
	return rc;
}

/* Those of a layer: RUNTIME/.usage-NAME, .usage-NAME-1, …, and the older .1 of each. */
static int read_layer(struct report *r, const struct layer *l, int64_t since_s)
{
	char path[PATH_MAX], who[48], *text = NULL;
	int status = CLI_OK;
	unsigned found = 0;

	/* Nodes write every two seconds. One that does not answer has written what it had to. */
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
			status = read_file(r, i, path, since_s);
			found++;
		}
	}
	if (!status && !found)
		return cli_fail(
			CMD,
			"there is no account of layer '%s': no job has done any I/O through "
			"it yet.",
			l->name);
	return status;
}

/* ---- as text ---- */

static void print_table(const struct report *r)
{
	printf("%-16s %9s %9s %9s %9s %8s %8s %8s\n", "JOB", "READ", "WRITTEN", "REQUESTS",
	       "AVERAGE", "HELD", "WAITED", "SAVED");
	for (uint32_t i = 0; i < r->jobs; i++) {
		const struct report_job *b = &r->job[i];
		char t[6][24];
		double bytes = (double)b->bytes[0] + (double)b->bytes[1];

		sl_format_bytes(t[0], sizeof(t[0]), b->bytes[0]);
		sl_format_bytes(t[1], sizeof(t[1]), b->bytes[1]);
		sl_format_rate(t[2], sizeof(t[2]), (uint64_t)(bytes / b->active_s));
		printf("%-16s %9s %9s %9llu %9s %7.1fs %7.1fs %+7.1fs\n", b->name, t[0], t[1],
		       (unsigned long long)b->calls, t[2], b->held_s, b->waited_s, b->saved_s);
	}
}

static void print_matrix(const struct report *r)
{
	uint32_t n = r->named < MOST ? r->named : MOST;
	bool any = false;

	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n; b++)
			any |= a != b && r->by[(size_t)a * r->named + b] >= 0.05;
	if (!any) {
		puts("\nNobody waited for anybody else.");
		return;
	}
	printf("\nSeconds that the job of the row waited for that of the column:\n%-16s", "");
	for (uint32_t b = 0; b < n; b++)
		printf(" %7.7s", r->job[b].name);
	puts("");
	for (uint32_t a = 0; a < n; a++) {
		printf("%-16.16s", r->job[a].name);
		for (uint32_t b = 0; b < n; b++) {
			if (a == b)
				printf(" %7s", "-");
			else
				printf(" %7.1f", r->by[(size_t)a * r->named + b]);
		}
		puts("");
	}
	if (r->jobs > n)
		printf("(%u more: --json or --html has them.)\n", r->jobs - n);
}

static void print_text(const struct report *r)
{
	char from[32], to[32];
	time_t t[2] = { (time_t)r->from_s, (time_t)r->to_s };
	struct tm tm;

	strftime(from, sizeof(from), "%F %T", localtime_r(&t[0], &tm));
	strftime(to, sizeof(to), "%F %T", localtime_r(&t[1], &tm));
	printf("%s to %s\n\n", from, to);
	print_table(r);
	print_matrix(r);
}

/* ---- the command ---- */

static int print(const struct report *r, bool as_json, const char *html, const char *layer)
{
	struct json j;
	int status;

	if (html && (status = report_page(html, r, layer)))
		return status;
	if (as_json) {
		json_begin(&j, stdout);
		json_object(&j, NULL);
		report_json(&j, r, false);
		json_end(&j);
	} else if (html) {
		printf("Written to %s.\n", html);
	} else if (!r->rows) {
		puts("No job did any I/O in that time.");
	} else {
		print_text(r);
	}
	if (r->skipped_lines)
		cli_warn(CMD, "%llu lines that make no sense were skipped.",
			 (unsigned long long)r->skipped_lines);
	return CLI_OK;
}

int cmd_report(int argc, char **argv)
{
	const char *name = NULL, *since = NULL, *html = NULL;
	bool as_json = false;
	const struct cli_option options[] = { { "name", 0, NULL, &name },
					      { "since", 's', NULL, &since },
					      { "html", 0, NULL, &html },
					      { "json", 'j', &as_json, NULL },
					      { 0 } };
	int status = cli_options(CMD, argc, argv, options, argc, help);
	struct report r = { 0 };
	struct layer l = { .name = "", .lock = -1 };
	int64_t since_s;

	if (status)
		return cli_end(status);
	if ((status = parse_since(since, &since_s)))
		return status;
	if (name && optind < argc)
		return cli_usage(CMD, "--name and files do not go together.");
	if (html && (status = page_check(CMD, html)))
		return status;
	if (optind == argc) {
		status = layer_choose(&l, CMD, name);
		if (!status)
			status = read_layer(&r, &l, since_s);
		layer_close(&l);
	}
	for (int i = optind; i < argc && !status; i++)
		status = read_file(&r, (uint32_t)i, argv[i], since_s);
	if (!status && report_sum(&r))
		status = cli_fail(CMD, "out of memory.");
	if (!status)
		status = print(&r, as_json, html, l.name);
	report_free(&r);
	return status;
}
