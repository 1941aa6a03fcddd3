/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice set`: change what a running job is entitled to, or the capacity of a running layer;
 * `sluice policy set`: its policies. Words are checked here, so that slips are found with their
 * position; what fits is the node's to say. It does all that a command asks for, or nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/set.h"
#include "layer/check.h"
#include "layer/layer.h"
#include "layer/status.h"
#include "wire/ops.h"

#define LINE 4096 /* the longest control line */

enum { O_NAME = 256, O_CAPACITY, O_CAPACITY_OPS };

static int se_help(void)
{
	puts("usage: sluice set [--name NAME] JOB KEY=VALUE...\n"
	     "       sluice set [--name NAME] --capacity RATE\n"
	     "       sluice set [--name NAME] --capacity-ops N\n"
	     "\n"
	     "Changes a running job; 'sluice status' lists them. Other keys stay as they are.\n"
	     "Or changes the capacity of a running layer.\n"
	     "\n"
	     "Keys:\n"
	     "  min=RATE       guaranteed; 0: none\n"
	     "  max=RATE       never more; 0: no limit\n"
	     "  burst=SIZE     what may go at once after a pause under a max\n"
	     "  weight=N       share beside other jobs\n"
	     "  period=TIME    time from one I/O phase to the next; auto: found\n"
	     "  best_effort=1  a min that does not fit is scaled down instead of refused\n"
	     "  min_ops=N      metadata operations per second guaranteed; 0: none\n"
	     "  max_ops=N      never more of them; 0: no limit; of one class: max_create,\n"
	     "                 max_lookup, max_remove, max_list, max_attribute\n"
	     "  max_iops=N     never more reads and writes per second; 0: no limit\n"
	     "  max_read=RATE, max_write=RATE\n"
	     "                 never more bytes read, or written; 0: no limit\n"
	     "  order=POLICY   order policy of this job; 'default': the layer's\n"
	     "\n"
	     "Options:\n"
	     "      --name NAME      which layer; not needed if only one is up\n"
	     "      --capacity RATE  what its node may draw from the file system; 0: not\n"
	     "                       known, no limit; auto: it is found\n"
	     "      --capacity-ops N metadata operations per second that jobs share; 0: no\n"
	     "                       limit; auto: it is found\n"
	     "  -h, --help           this text\n"
	     "\n"
	     "Manual: sluice-set(1), sluice-policies(7).");
	return CLI_OK;
}

/* " word" behind line, if it fits. */
static int se_add(const char *cmd, char line[LINE], const char *word)
{
	size_t at = strlen(line);

	if (at + strlen(word) + 2 > LINE)
		return cli_usage(cmd, "that is too much for one command; give less at a time.");
	snprintf(line + at, LINE - at, " %s", word);
	return CLI_OK;
}

static int se_word(char line[LINE], const char *word)
{
	static const char *const keys[] = { "min",    "max",	     "burst", "weight",
					    "period", "best_effort", "order", "min_ops" };
	const char *equals = strchr(word, '=');
	struct sl_job_conf conf;
	char key[32], err[CHECK_TEXT];
	struct sl_guess guess = { .word = key };
	int rc;

	if (!equals || equals == word)
		return cli_usage("set", "'%s' is not KEY=VALUE, like max=100M.", word);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - word), word);
	rc = check_job_key(key, equals + 1, &conf, err);
	for (size_t i = 0; rc == -ENOENT && i < sizeof(keys) / sizeof(keys[0]); i++)
		sl_consider(&guess, keys[i]);
	for (int i = 0; rc == -ENOENT && i < SL_METERS; i++)
		sl_consider(&guess, sl_meter_keys[i]);
	if (guess.best)
		return cli_usage("set", "%s. Did you mean '%s'?", err, guess.best);
	if (rc)
		return cli_usage("set", "%s.", err);
	return se_add("set", line, word);
}

/* All nodes may die. */
static void se_keep_change(const struct layer *l, const char *line)
{
	int rc = layer_keep_change(l, line);

	if (rc)
		cli_warn(l->cmd,
			 "that cannot be kept in %s: %s. If all nodes die, 'sluice up --revive' "
			 "starts them without it.",
			 l->dir, strerror(-rc));
}

/*
 * What jobs were promised, at the node that knows of the most. A program whose min does not fit any
 * more would be refused by a node that is revived with less, and get EIO.
 */
static uint64_t se_promised(const struct layer_member *m, size_t nodes)
{
	double most = 0.0;

	for (size_t i = 0; i < nodes; i++) {
		struct status *s =
			m[i].pid ? status_of_socket(m[i].socket, STATUS_PATIENT_MS) : NULL;
		double sum = 0.0;

		for (size_t k = 0; s && k < s->jobs_count; k++)
			if (!s->jobs[k].best_effort)
				sum += s->jobs[k].asked_min_bps;
		most = sum > most ? sum : most;
		status_free(s);
	}
	return (uint64_t)most;
}

static int se_capacity(const char *name, const char *text)
{
	struct layer_member m[LAYER_MEMBERS];
	char line[64] = "capacity auto";
	uint64_t bps = 0;
	struct layer l;
	size_t n;
	int status, turn;
	bool found;

	found = !strcmp(text, "auto");
	if (!found && (strlen(text) > 40 || sl_parse_rate(text, &bps) || bps > SL_MAX_RATE))
		return cli_usage("set",
				 "--capacity: '%.64s' is not a rate; write 200M, 1.5Gi, "
				 "100MB/s or auto.",
				 text);
	if ((status = layer_choose(&l, "set", name)))
		return status;
	/* Each node has its part. Those that have died count: they may come back. */
	n = layer_nodes(m, layer_members(&l, m));
	if (!found)
		snprintf(line, sizeof(line), "capacity %" PRIu64, bps && bps < n ? 1 : bps / n);
	turn = layer_turn(&l);
	status = layer_ask_all(&l, line, false);
	if (!status && bps && se_promised(m, n) > bps)
		cli_warn("set", "jobs have been promised more than that, and get less now. It is "
				"not kept: if all nodes die, 'sluice up --revive' starts them with "
				"the capacity before, so that these jobs are not turned away.");
	else if (!status)
		se_keep_change(&l, line);
	layer_turn_end(turn);
	if (status)
		return status;
	check_warn_rate("set", "the capacity", text, CHECK_LOW_CAPACITY);
	return CLI_OK;
}

static int se_capacity_ops(const char *name, const char *text)
{
	struct layer_member m[LAYER_MEMBERS];
	char line[64] = "capacity-ops auto";
	bool found = !strcmp(text, "auto");
	uint64_t count = 0;
	struct layer l;
	size_t n;
	int status, turn;

	if (!found && sl_ops_parse(text, &count))
		return cli_usage("set",
				 "--capacity-ops: '%.64s' is not a number per second; write 5000, "
				 "20k or auto.",
				 text);
	if ((status = layer_choose(&l, "set", name)))
		return status;
	n = layer_members(&l, m);
	n -= m[n - 1].controller;
	if (!found)
		snprintf(line, sizeof(line), "capacity-ops %" PRIu64,
			 count && count < n ? 1 : count / n);
	turn = layer_turn(&l);
	status = layer_ask_all(&l, line, false);
	if (!status)
		se_keep_change(&l, line);
	layer_turn_end(turn);
	return status;
}

static int se_line(char line[LINE], const char *job, int count, char *const *words)
{
	int status = se_add("set", line, job);

	for (int i = 0; !status && i < count; i++)
		status = se_word(line, words[i]);
	return status;
}

static int se_tell(const struct layer *l, const char *line)
{
	int turn = layer_turn(l), status = layer_ask_all(l, line, true);

	layer_turn_end(turn);
	return status;
}

int set_job(const struct layer *l, const char *job, int count, char *const *words)
{
	char line[LINE] = "set";
	int status = se_line(line, job, count, words);

	return status ? status : se_tell(l, line);
}

int cmd_set(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "name", required_argument, NULL, O_NAME },
		{ "capacity", required_argument, NULL, O_CAPACITY },
		{ "capacity-ops", required_argument, NULL, O_CAPACITY_OPS },
		{ 0 },
	};
	char line[LINE] = "set", err[CHECK_TEXT];
	const char *name = NULL, *capacity = NULL, *ops = NULL;
	struct layer l;
	int opt, status;

	while ((opt = cli_getopt("set", argc, argv, "h", longs)) != -1) {
		if (opt == 'h')
			return se_help();
		if (opt == O_NAME)
			name = optarg;
		else if (opt == O_CAPACITY)
			capacity = optarg;
		else if (opt == O_CAPACITY_OPS)
			ops = optarg;
		else
			return CLI_USAGE;
	}
	if (capacity && ops)
		return cli_usage("set", "give --capacity and --capacity-ops one after the other.");
	if (ops && optind == argc)
		return se_capacity_ops(name, ops);
	if ((capacity || ops) && optind < argc)
		return cli_usage("set", "a capacity is the layer's; change the job '%s' by itself.",
				 argv[optind]);
	if (capacity)
		return se_capacity(name, capacity);
	if (optind == argc)
		return cli_usage("set", "which job? 'sluice status' lists them.");
	if (check_job_name(argv[optind], err))
		return cli_usage("set", "%s.", err);
	if (optind + 1 == argc)
		return cli_usage("set", "what is to be set? Give KEY=VALUE, like max=100M.");
	status = se_line(line, argv[optind], argc - optind - 1, argv + optind + 1);
	if (status || (status = layer_choose(&l, "set", name)) || (status = se_tell(&l, line)))
		return status;
	for (int i = optind + 1; i < argc; i++)
		check_warn_word("set", "", argv[i]);
	return CLI_OK;
}

/* grant and allocate are the controller's. */
static bool se_is_controllers(const char *word)
{
	return !strncmp(word, "grant=", 6) || !strncmp(word, "allocate=", 9);
}

/* Who is revived starts with the options it had: with these, from now on. */
static void se_keep(const struct layer *l, const struct layer_member *m, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char option[32];

		if (!se_is_controllers(argv[i]))
			continue;
		snprintf(option, sizeof(option), "--%.*s", (int)strcspn(argv[i], "="), argv[i]);
		if (layer_keep_option(l, m, option, strchr(argv[i], '=') + 1))
			cli_warn("policy",
				 "'sluice up --revive' would bring the controller back with the "
				 "old %s.",
				 option + 2);
	}
}

static int se_ask_controller(struct layer *l, const char *line, int argc, char **argv)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_members(l, m);
	struct layer to = *l;
	int status;

	if (layer_state(l) != LAYER_UP)
		return layer_not_up(l, true);
	if (!m[n - 1].controller)
		return cli_fail("policy",
				"layer '%s' has no controller, which grant and allocate are for. "
				"Start it with 'sluice up --ionodes N' or '--policy grant=POLICY'.",
				l->name);
	if (!m[n - 1].pid)
		return cli_fail("policy",
				"the controller of layer '%s' has died. 'sluice up --revive' "
				"brings it back.",
				l->name);
	memcpy(to.socket, m[n - 1].socket, sizeof(to.socket));
	status = layer_ask(&to, line, NULL);
	if (!status)
		se_keep(l, &m[n - 1], argc, argv);
	return status;
}

int policy_set_command(const char *layer, int argc, char **argv)
{
	static const char begin[] = "policy";
	char nodes[LINE] = "policy", controller[LINE] = "policy", stage[32], err[CHECK_TEXT];
	char *whole;
	struct layer l;
	int status = CLI_OK, turn;

	if (argc == 0)
		return cli_usage("policy", "'set' needs STAGE=POLICY, like share=io-sets.");
	for (int i = 0; !status && i < argc; i++) {
		const char *equals = strchr(argv[i], '=');

		if (!equals || equals == argv[i])
			return cli_usage("policy", "'%s' is not STAGE=POLICY, like share=io-sets.",
					 argv[i]);
		snprintf(stage, sizeof(stage), "%.*s", (int)(equals - argv[i]), argv[i]);
		if (check_policy(stage, equals + 1, err))
			return cli_usage("policy", "%s.", err);
		whole = check_absolute(argv[i]);
		if (!whole)
			return cli_usage("policy", "give the tree by its whole path, from /.");
		status = se_add("policy", se_is_controllers(whole) ? controller : nodes, whole);
		free(whole);
	}
	if (status || (status = layer_choose(&l, "policy", layer)))
		return status;
	turn = layer_turn(&l);
	/* Of what is left to refuse, most is the controller's: so it is asked first. */
	if (strlen(controller) >= sizeof(begin))
		status = se_ask_controller(&l, controller, argc, argv);
	if (!status && strlen(nodes) >= sizeof(begin))
		status = layer_ask_all(&l, nodes, false);
	if (!status && strlen(nodes) >= sizeof(begin))
		se_keep_change(&l, nodes);
	layer_turn_end(turn);
	return status;
}
