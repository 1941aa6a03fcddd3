/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice status`: print the state of a layer's nodes and jobs, once or repeatedly. The text fits
 * 80 columns, and has more columns on a wider terminal.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/status-text.h"
#include "layer/layer.h"
#include "layer/listen.h"

static const char cmd[] = "status";

#define WATCH_MIN_NS INT64_C(100000000)
#define WATCH_MAX_NS INT64_C(86400000000000)

/* ---- once ---- */

static void sa_json(const struct layer *l, const struct status *s)
{
	char listen[300];
	struct json j;

	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "name", l->name);
	if (!layer_address(l, listen))
		json_string(&j, "listen", listen);
	status_put(&j, s, s->ionodes ? STATUS_OF_LAYER : STATUS_OF_NODE);
	json_end(&j);
}

static unsigned sa_columns(bool terminal)
{
	struct winsize size;

	if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= CLI_WIDTH)
		return size.ws_col;
	return CLI_WIDTH;
}

/* The status of all nodes, merged, or of one node. NULL: none answers. */
static struct status *sa_ask(const struct layer *l, bool merge)
{
	return merge ? status_of_layer(l, STATUS_WAIT_MS)
		     : status_of_socket(l->socket, STATUS_WAIT_MS);
}

static void sa_print(const struct layer *l, const struct status *s, bool json, FILE *f,
		     bool terminal)
{
	char listen[300] = "";

	if (json) {
		sa_json(l, s);
		return;
	}
	layer_address(l, listen);
	status_table(f, l->name, listen, s, sa_columns(terminal));
}

static int sa_once(const struct layer *l, bool merge, bool json)
{
	struct status *s = sa_ask(l, merge);

	if (!s)
		return cli_layer(cmd, layer_not_up(l, true));
	sa_print(l, s, json, stdout, isatty(STDOUT_FILENO));
	status_free(s);
	return CLI_OK;
}

/* ---- all layers ---- */

static int sa_all(bool json)
{
	static const char *const states[] = { [LAYER_DOWN] = "down",
					      [LAYER_UP] = "up",
					      [LAYER_DIED] = "died",
					      [LAYER_BUSY] = "busy" };
	struct layer_seen *all;
	size_t count, width = 16;
	int status = cli_layer(cmd, layer_all(&all, &count));
	char log[PATH_MAX + 8];
	struct json j;

	if (status)
		return status;
	if (json) {
		json_begin(&j, stdout);
		json_object(&j, NULL);
		json_array(&j, "layers");
	} else if (count) {
		for (size_t i = 0; i < count; i++)
			if (strlen(all[i].layer.name) > width)
				width = strlen(all[i].layer.name);
		printf("%-*s %-5s %8s  %s\n", (int)width, "LAYER", "STATE", "PID", "DIRECTORY");
	} else {
		puts("No layer is up: 'sluice up DIR' starts one.");
	}
	for (size_t i = 0; i < count; i++) {
		const struct layer_seen *s = &all[i];

		snprintf(log, sizeof(log), "%s/log", s->layer.dir);
		if (json) {
			json_object(&j, NULL);
			json_string(&j, "name", s->layer.name);
			json_string(&j, "state", states[s->state]);
			json_uint(&j, "pid", (uint64_t)s->pid);
			json_string(&j, "root", s->root);
			json_string(&j, "log", log);
			json_end(&j);
			continue;
		}
		printf("%-*s %-5s %8d  %s\n", (int)width, s->layer.name, states[s->state],
		       (int)s->pid, s->root);
		if (s->state == LAYER_DIED)
			printf("%*s its log is %s\n", (int)width + 16, "", log);
	}
	if (json) {
		json_end(&j);
		json_end(&j);
	}
	free(all);
	return CLI_OK;
}

/* ---- --watch ---- */

#define LEAVE "\033[?7h\033[?25h\033[?1049l"
static volatile sig_atomic_t drawn;

/*
 * Use the terminal's alternate screen, if it has one, so that its contents return afterwards. Turn
 * off line wrapping, so that each line takes one row.
 */
static void sa_enter(void)
{
	fputs("\033[?1049h\033[?25l\033[?7l", stdout);
	fflush(stdout);
	drawn = true;
}

static void sa_leave(void)
{
	fputs(LEAVE, stdout);
	fflush(stdout);
	drawn = false;
}

/* Overwrite the screen line by line, as many lines as fit, so that nothing flickers or scrolls. */
static int sa_redraw(const struct layer *l, const struct status *s)
{
	char *text = NULL;
	size_t size;
	struct winsize window;
	FILE *f = open_memstream(&text, &size);
	int rows = 24;

	if (!f)
		return cli_fail(cmd, "no memory.");
	sa_print(l, s, false, f, true);
	fclose(f);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 1)
		rows = window.ws_row;
	fputs("\033[H", stdout);
	for (char *at = text; *at && rows > 1; rows--) {
		size_t length = strcspn(at, "\n");

		printf("%.*s\033[K\n", (int)length, at);
		at += length + (at[length] == '\n');
	}
	fputs("\033[J", stdout);
	free(text);
	return CLI_OK;
}

/*
 * Exit at once while nodes are being asked: no output is incomplete then, and a silent node cannot
 * delay the exit.
 */
static void sa_end(int number)
{
	(void)number;
	if (drawn)
		(void)!write(STDOUT_FILENO, LEAVE, strlen(LEAVE));
	_exit(CLI_OK);
}

static void sa_signals(sigset_t *set, sigset_t *ends)
{
	static const int signals[] = { SIGTSTP, SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = sa_end };

	sigemptyset(set);
	sigemptyset(ends);
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(set, signals[i]);
	sigprocmask(SIG_BLOCK, set, NULL);
	for (size_t i = 2; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaddset(ends, signals[i]);
		sigaction(signals[i], &action, NULL);
	}
}

/* False: exit. A change of the window's size ends the wait early. */
static bool sa_sleep(const sigset_t *set, int64_t ns, bool draw)
{
	const struct timespec ts = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	int signal_number = sigtimedwait(set, NULL, &ts);

	if (signal_number < 0 || signal_number == SIGWINCH)
		return true;
	if (signal_number != SIGTSTP)
		return false;
	if (draw)
		sa_leave();
	raise(SIGSTOP);
	if (draw)
		sa_enter();
	return true;
}

static int sa_watch(const struct layer *l, bool merge, bool json, int64_t every_ns)
{
	const char *term = getenv("TERM");
	bool draw = !json && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
	int status = CLI_OK;
	bool first = true, up = true;
	sigset_t set, ends;

	sa_signals(&set, &ends);
	do {
		struct status *s;

		sigprocmask(SIG_UNBLOCK, &ends, NULL);
		s = sa_ask(l, merge);
		sigprocmask(SIG_BLOCK, &ends, NULL);
		up = s;
		if (up) {
			if (draw && first)
				sa_enter();
			if (!draw && !first && !json)
				putchar('\n');
			if (draw)
				status = sa_redraw(l, s);
			else
				sa_print(l, s, json, stdout, false);
			first = false;
		}
		status_free(s);
		fflush(stdout);
	} while (up && !status && !ferror(stdout) && sa_sleep(&set, every_ns, draw));
	if (draw && !first)
		sa_leave();
	return up ? status : cli_layer(cmd, layer_not_up(l, true));
}

/* One node of several. */
static int sa_choose_node(struct layer *l, const char *text)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_nodes(m, layer_members(l, m));
	unsigned long number;

	if (check_count(text, 0, n - 1, &number)) {
		if (n == 1)
			return cli_usage(cmd, "--ionode: layer '%s' has only node 0, not '%s'.",
					 l->name, text);
		return cli_usage(cmd, "--ionode: layer '%s' has nodes 0 to %zu, not '%s'.", l->name,
				 n - 1, text);
	}
	if (!m[number].pid)
		return cli_fail(cmd,
				"I/O node %lu of layer '%s' has died; its log is %s/log%s. 'sluice "
				"up --revive' restarts it.",
				number, l->name, l->dir, m[number].suffix);
	memcpy(l->socket, m[number].socket, sizeof(l->socket));
	return CLI_OK;
}

/* Print the curves that the controller has learned. */
static int sa_curves(struct layer *l)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n;
	char *answer = NULL;
	int status;

	if (layer_state(l) != LAYER_UP)
		return cli_layer(cmd, layer_not_up(l, true));
	n = layer_members(l, m);
	if (!m[n - 1].controller || !m[n - 1].pid)
		return cli_fail(cmd,
				"layer '%s' has no controller; only a controller learns curves.",
				l->name);
	memcpy(l->socket, m[n - 1].socket, sizeof(l->socket));
	status = cli_layer(cmd, layer_ask(l, "curves", &answer));
	if (!status)
		fputs(answer, stdout);
	free(answer);
	return status;
}

int cmd_status(int argc, char **argv)
{
	const char *name = NULL, *every = NULL, *ionode = NULL;
	bool json = false, watch = false, all = false, curves = false, merge;
	int64_t every_ns = INT64_C(1000000000);
	struct layer l;
	const struct cli_option options[] = {
		CLI_LAYER(&name),
		{ "ionode", 0, "N", .text = &ionode, .help = "only this node of it" },
		{ "all", 'a', NULL, .flag = &all,
		  .help = "a line for each layer of this user, instead of jobs" },
		{ "curves", 0, NULL, .flag = &curves,
		  .help = "the bandwidth that jobs reached with each number of I/O nodes, as CSV" },
		CLI_JSON(&json),
		{ "watch", 'w', "[=SECONDS]", .flag = &watch, .text = &every,
		  .help = "repeat every second, or every SECONDS, until interrupted" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "status [--name NAME] [--ionode N] [--json] [--watch [SECONDS]]\n"
			 "status --all [--json]",
		.about = "Shows a layer and its jobs: how much each uses, which jobs wait, and "
			 "what was "
			 "promised.",
		.more = "Columns: CL processes connected; NOW and AVG bytes/s in the last second "
			"and from the job's begin to its end or now; IOPS requests/s; QUEUE "
			"requests that wait; HELD time held by max; P50 and P99 time of a request; "
			"SET of io-sets, by the period; % of all bandwidth now; MIN, MAX and WT "
			"(weight) as set. Of a layer with several nodes: IONODES that serve the "
			"job; PHASE I/O during an I/O phase; GRANT the rate that the controller "
			"gives it.\n\nManual: sluice-status(1).",
		.options = options,
		.arguments = -1,
	};
	int status = cli_next(&command, argc, argv);

	if (status)
		return cli_end(status);
	if (watch && !every && optind < argc) /* "--watch 2" as well as "--watch=2" */
		every = argv[optind++];
	if (optind < argc)
		return cli_usage(cmd, "unexpected argument '%s'; a layer is chosen with --name.",
				 argv[optind]);
	if (every &&
	    (sl_parse_time(every, &every_ns) || every_ns < WATCH_MIN_NS || every_ns > WATCH_MAX_NS))
		return cli_usage(cmd, "--watch: '%s' is not a time from 0.1 seconds to a day.",
				 every);
	if (all && (name || watch || ionode))
		return cli_usage(cmd, "--all cannot be combined with --name or --watch%s.",
				 ionode ? " nor --ionode" : "");
	if (curves && (all || json || watch || ionode))
		return cli_usage(
			cmd,
			"--curves can only be combined with --name; it prints CSV for the layer.");
	if (all)
		return sa_all(json);
	if ((status = cli_layer(cmd, layer_choose(&l, name))))
		return status;
	if (curves)
		return sa_curves(&l);
	merge = !ionode && layer_has_many(&l);
	if (ionode && layer_state(&l) == LAYER_UP && (status = sa_choose_node(&l, ionode)))
		return status;
	return watch ? sa_watch(&l, merge, json, every_ns) : sa_once(&l, merge, json);
}
