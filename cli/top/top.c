/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice top`: its options, and what it prints without a terminal. See top.h. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/top/top.h"
#include "layer/layer.h"
#include "layer/status.h"

static const char cmd[] = "top";

#define EVERY_MIN_NS INT64_C(100000000)
#define EVERY_MAX_NS INT64_C(86400000000000)

/* ---- without a terminal ---- */

struct paper {
	struct top_canvas canvas; /* first: a canvas is its paper */
	unsigned row;
	size_t used;
	char line[4 * TOP_LINE_MOST + 8];
};

/* Without trailing spaces, which only a screen needs. */
static void to_flush(struct paper *p)
{
	while (p->used && p->line[p->used - 1] == ' ')
		p->used--;
	printf("%.*s\n", (int)p->used, p->line);
	p->used = 0;
}

static void to_put(struct top_canvas *c, unsigned row, enum top_style style, bool selected,
		   const char *text)
{
	struct paper *p = (struct paper *)c;
	size_t length = strlen(text);

	(void)style;
	(void)selected;
	while (p->row < row) {
		to_flush(p);
		p->row++;
	}
	if (p->used + length < sizeof(p->line)) {
		memcpy(p->line + p->used, text, length);
		p->used += length;
	}
}

static int to_batch(const struct layer *l, struct top_view *v, unsigned long count)
{
	for (unsigned long i = 0; (!count || i < count) && !ferror(stdout); i++) {
		struct paper p = { .canvas.put = to_put };
		struct timespec pause = { (time_t)v->every_s,
					  (long)((v->every_s - (double)(time_t)v->every_s) * 1e9) };
		struct top_model m;
		struct status *status;

		if (i) {
			nanosleep(&pause, NULL);
			putchar('\n');
		}
		status = status_ask(l, STATUS_WAIT_MS);
		if (!status)
			return cli_layer(cmd, layer_not_up(l, true));
		if (top_model_read(&m, status))
			return cli_fail(cmd, "no memory.");
		top_model_arrange(&m, v->sort, v->reverse, v->filter);
		top_draw_batch(&p.canvas, &m, v);
		to_flush(&p);
		fflush(stdout);
		top_model_free(&m);
	}
	return CLI_OK;
}

/* ---- options ---- */

struct asked {
	const char *name, *sort, *filter, *every, *count, *columns;
	bool reverse, plain, batch;
};

static int to_options(int argc, char **argv, struct asked *a)
{
	const struct cli_option options[] = {
		CLI_LAYER(&a->name),
		{ "sort", 0, "KEY",
		  .values = "now name average iops ops queue held p50 p99 set min max weight",
		  .text = &a->sort,
		  .help = "now (the default), name, average, iops, ops, queue, held, p50, p99, "
			  "set, min, max or weight" },
		{ "reverse", 0, NULL, .flag = &a->reverse, .help = "sort in the opposite order" },
		{ "filter", 0, "TEXT", .text = &a->filter,
		  .help = "only jobs with this text in their name or reason" },
		{ "interval", 'd', "TIME", .text = &a->every,
		  .help = "time between two updates (1s)" },
		{ "no-color", 0, NULL, .flag = &a->plain,
		  .help = "without colours, as with NO_COLOR in the environment" },
		{ "batch", 'b', NULL, .flag = &a->batch,
		  .help = "plain text to standard output, table after table" },
		{ "count", 'n', "N", .text = &a->count,
		  .help = "with --batch: end after N tables" },
		{ "columns", 0, "N", .text = &a->columns,
		  .help = "with --batch: width, from 60 to 512 (80)" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "top [--name NAME] [--sort KEY] [--filter TEXT] [--interval TIME]\n"
			 "top --batch [-n COUNT] [--columns N] [OPTION]...",
		.about = "Watches the jobs of a layer: how much each moves, which jobs wait, and "
			 "why. "
			 "Keys sort, filter, pause, and change a job's min, max and weight; '?' "
			 "explains them.",
		.more = "Manual: sluice-top(1).",
		.options = options,
	};

	return cli_next(&command, argc, argv);
}

static int to_unknown_sort(const char *word)
{
	struct sl_guess guess = { .word = word };

	for (int i = 0; i < TOP_SORTS; i++)
		sl_consider(&guess, top_sort_name((enum top_sort)i));
	return cli_unknown(cmd, "key of --sort", &guess);
}

/* Copy the options into the view. */
static int to_view(const struct asked *a, struct top_view *v, unsigned long *count)
{
	unsigned long columns = CLI_WIDTH;
	int64_t every_ns = INT64_C(1000000000);
	int sort = a->sort ? top_sort_find(a->sort) : TOP_BY_NOW;

	if (sort < 0)
		return to_unknown_sort(a->sort);
	if (a->filter && strlen(a->filter) >= sizeof(v->filter))
		return cli_usage(cmd, "--filter: longer than any name.");
	if (a->every && (sl_parse_time(a->every, &every_ns) || every_ns < EVERY_MIN_NS ||
			 every_ns > EVERY_MAX_NS))
		return cli_usage(cmd, "--interval: '%s' is not a time from 0.1 seconds to a day.",
				 a->every);
	if ((a->count || a->columns) && !a->batch)
		return cli_usage(cmd, "--%s needs --batch.", a->count ? "count" : "columns");
	if (a->count && check_count(a->count, 1, 1000000000, count))
		return cli_usage(cmd, "--count: '%s' is not a number from 1.", a->count);
	if (a->columns && check_count(a->columns, TOP_COLUMNS, TOP_LINE_MOST, &columns))
		return cli_usage(cmd, "--columns: '%s' is not a number from %d to %d.", a->columns,
				 TOP_COLUMNS, TOP_LINE_MOST);
	v->sort = (enum top_sort)sort;
	v->reverse = a->reverse;
	v->columns = (unsigned)columns;
	v->every_s = (double)every_ns / 1e9;
	snprintf(v->filter, sizeof(v->filter), "%s", a->filter ? a->filter : "");
	return CLI_OK;
}

int cmd_top(int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR");
	struct top_view v = { 0 };
	struct asked a = { 0 };
	unsigned long count = 0;
	struct layer l;
	int status;

	if ((status = to_options(argc, argv, &a)))
		return cli_end(status);
	if ((status = to_view(&a, &v, &count)))
		return status;
	if ((status = cli_layer(cmd, layer_choose(&l, a.name))))
		return status;
	v.layer = l.name;
	if (layer_state(&l) != LAYER_UP)
		return cli_layer(cmd, layer_not_up(&l, true));
	if (a.batch) {
		setlocale(LC_CTYPE, "");
		v.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
		return to_batch(&l, &v, count);
	}
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return cli_fail(cmd,
				"standard output is not a terminal; --batch prints plain text.");
	return top_screen(&l, &v, !a.plain && !(no_color && *no_color));
}
