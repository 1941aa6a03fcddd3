/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice up`: start the node of a layer in the background, and return when it serves. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/layer.h"

static const char cmd[] = "up";

#define ARGS_MAX 32

enum { O_NAME = 256, O_CAPACITY, O_POLICY, O_WORKERS, O_CONFIG, O_DEVICE, O_TRACE, O_LOG };

struct up {
	const char *name, *capacity, *workers, *device, *log_level;
	const char *policy[3];
	const char *config_file;
	struct config config;
	char root[PATH_MAX], trace[PATH_MAX];
	struct layer layer;
};

static int up_help(void)
{
	puts("usage: sluice up [OPTION]... DIR\n"
	     "\n"
	     "Starts a layer: a node that schedules the I/O of programs to the files under\n"
	     "DIR, if they are started with 'sluice run'. Returns when it is ready.\n"
	     "\n"
	     "Options:\n"
	     "      --name NAME           name of the layer, if there is to be more than one\n"
	     "      --capacity RATE       what the file system may be asked for, as 500MB/s;\n"
	     "                            needed for guarantees\n"
	     "      --policy STAGE=SPEC   policy of a stage, as share=io-sets or\n"
	     "                            order=aioli,wait_us=500; may be given for each stage\n"
	     "      --workers N           threads of the node (one for each CPU)\n"
	     "      --device-model MODEL  behave like hdd, raid, ssd: for experiments\n"
	     "      --trace FILE          record what the scheduler is told and answers\n"
	     "      --log-level LEVEL     error, warn, info or debug\n"
	     "      --config FILE         read these from a file, see sluice.yaml(5); what is\n"
	     "                            on the command line wins\n"
	     "  -h, --help                this text\n"
	     "\n"
	     "Manual: sluice-up(1), sluice.yaml(5), sluice-policies(7).");
	return CLI_OK;
}

/* ---- what was asked for ---- */

static int up_policy(struct up *u, char *word)
{
	char *spec = strchr(word, '='), err[CHECK_TEXT];

	if (!spec)
		return cli_usage(cmd, "--policy needs STAGE=POLICY, like share=io-sets, not '%s'.",
				 word);
	*spec++ = 0;
	if (check_policy(word, spec, err))
		return cli_usage(cmd, "%s.", err);
	for (int i = 0; i < 3; i++) {
		if (strcmp(config_stages[i], word) != 0)
			continue;
		if (u->policy[i])
			return cli_usage(cmd, "the policy of %s is given twice.", word);
		u->policy[i] = spec;
	}
	return CLI_OK;
}

/* The node runs in another directory. */
static int up_trace(struct up *u, const char *file)
{
	char cwd[PATH_MAX];
	int n = -1;

	if (file[0] == '/')
		n = snprintf(u->trace, sizeof(u->trace), "%s", file);
	else if (getcwd(cwd, sizeof(cwd)))
		n = snprintf(u->trace, sizeof(u->trace), "%s/%s", cwd, file);
	if (n < 0 || n >= PATH_MAX)
		return cli_fail(cmd, "cannot make sense of the path %s.", file);
	return CLI_OK;
}

static int up_options(struct up *u, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "name", required_argument, NULL, O_NAME },
		{ "capacity", required_argument, NULL, O_CAPACITY },
		{ "policy", required_argument, NULL, O_POLICY },
		{ "workers", required_argument, NULL, O_WORKERS },
		{ "device-model", required_argument, NULL, O_DEVICE },
		{ "trace", required_argument, NULL, O_TRACE },
		{ "log-level", required_argument, NULL, O_LOG },
		{ "config", required_argument, NULL, O_CONFIG },
		{ 0 },
	};
	unsigned long count;
	uint64_t bps;
	int opt, status;

	while ((opt = cli_getopt(cmd, argc, argv, "h", longs)) != -1) {
		switch (opt) {
		case 'h':
			up_help();
			return -1;
		case O_NAME:
			u->name = optarg;
			break;
		case O_CAPACITY:
			if (sl_parse_rate(optarg, &bps) || !bps || bps > SL_MAX_RATE)
				return cli_usage(cmd,
						 "--capacity: '%s' is not a rate; write 200M, "
						 "1.5Gi or 100MB/s.",
						 optarg);
			u->capacity = optarg;
			break;
		case O_POLICY:
			if ((status = up_policy(u, optarg)))
				return status;
			break;
		case O_WORKERS:
			if (check_count(optarg, 1, CONFIG_WORKERS, &count))
				return cli_usage(cmd,
						 "--workers: '%s' is not a number from 1 to "
						 "%d.",
						 optarg, CONFIG_WORKERS);
			u->workers = optarg;
			break;
		case O_DEVICE:
			u->device = optarg;
			break;
		case O_TRACE:
			if ((status = up_trace(u, optarg)))
				return status;
			break;
		case O_LOG:
			u->log_level = optarg;
			break;
		case O_CONFIG:
			u->config_file = optarg;
			break;
		default:
			return CLI_USAGE;
		}
	}
	if (argc - optind > 1)
		return cli_usage(cmd, "unexpected argument '%s'; a layer has one directory.",
				 argv[optind + 1]);
	return CLI_OK;
}

/* The jobs of the file must fit together, and into the capacity: tried on a scheduler. */
static int up_check_jobs(const struct up *u)
{
	struct sl_config config = { .limits = { .jobs = CONFIG_JOBS, .files = 1, .requests = 1 } };
	struct sl_sched *s;
	char err[CHECK_TEXT];
	int rc = 0;

	if (!u->config.jobs_count)
		return CLI_OK;
	if (u->capacity)
		sl_parse_rate(u->capacity, &config.capacity_bps);
	if (sl_sched_create(&s, &config, 0, err, sizeof(err)))
		return cli_fail(cmd, "%s.", err);
	for (size_t i = 0; !rc && i < u->config.jobs_count; i++) {
		const struct config_job *job = &u->config.jobs[i];

		rc = sl_job_add(s, i, &job->conf, 0);
		if (rc)
			cli_usage(cmd, "%s:%u: %s.", u->config_file, job->line,
				  strncmp(sl_error(s), "job: ", 5) ? sl_error(s) : sl_error(s) + 5);
	}
	sl_sched_destroy(s);
	return rc ? CLI_USAGE : CLI_OK;
}

static int up_settings(struct up *u, const char *dir)
{
	static char workers[16];
	char err[CONFIG_TEXT];
	struct stat st;
	int rc;

	if (u->config_file) {
		rc = config_read(&u->config, u->config_file, err);
		if (rc == -EINVAL)
			return cli_usage(cmd, "%s.", err);
		if (rc)
			return cli_fail(cmd, "%s.", err);
	}
	u->name = u->name ? u->name : u->config.name;
	u->capacity = u->capacity ? u->capacity : u->config.capacity;
	for (int i = 0; i < 3; i++)
		u->policy[i] = u->policy[i] ? u->policy[i] : u->config.policy[i];
	if (!u->workers && u->config.workers) {
		snprintf(workers, sizeof(workers), "%u", u->config.workers);
		u->workers = workers;
	}
	dir = dir ? dir : u->config.directory;
	if (!dir)
		return cli_usage(cmd, "which directory? Give it, or 'directory:' in the file of "
				      "--config.");
	if (!realpath(dir, u->root) || stat(u->root, &st))
		return cli_fail(cmd, "cannot use %s: %s.", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return cli_fail(cmd, "%s is not a directory.", dir);
	if (access(u->root, R_OK | X_OK))
		return cli_fail(cmd, "cannot use %s: %s.", dir, strerror(errno));
	if (strchr(u->root, '\n'))
		return cli_fail(cmd, "%s has a newline in its name; Sluice cannot handle that.",
				dir);
	return up_check_jobs(u);
}

/* ---- the node ---- */

static int up_already(struct up *u)
{
	const struct layer *l = &u->layer;
	char root[PATH_MAX];
	pid_t pid = layer_pid(l);

	if (!pid || layer_root(l, root))
		return cli_fail(cmd,
				"layer '%s' is just being started or stopped by another "
				"command. Try again.",
				l->name);
	if (!strcmp(root, u->root))
		return cli_fail(cmd, "layer '%s' is up already, for %s (pid %d).", l->name, root,
				(int)pid);
	return cli_fail(cmd,
			"layer '%s' is up, but for %s (pid %d). Choose another --name, or stop "
			"it with 'sluice down'.",
			l->name, root, (int)pid);
}

/* The command line of the node, in pieces that live as long as u. */
static void up_args(const struct up *u, const char *daemon, const char *args[ARGS_MAX])
{
	static const char *const options[] = { "--admit", "--share", "--order" };
	unsigned n = 0;

	args[n++] = daemon;
	args[n++] = "ionode";
	args[n++] = "--root";
	args[n++] = u->root;
	args[n++] = "--socket";
	args[n++] = u->layer.socket;
	args[n++] = "--ready-fd";
	args[n++] = LAYER_READY_FD;
	for (int i = 0; i < 3; i++)
		if (u->policy[i]) {
			args[n++] = options[i];
			args[n++] = u->policy[i];
		}
	if (u->capacity) {
		args[n++] = "--capacity";
		args[n++] = u->capacity;
	}
	if (u->workers) {
		args[n++] = "--workers";
		args[n++] = u->workers;
	}
	if (u->device) {
		args[n++] = "--device-model";
		args[n++] = u->device;
	}
	if (u->trace[0]) {
		args[n++] = "--trace";
		args[n++] = u->trace;
	}
	if (u->log_level) {
		args[n++] = "--log";
		args[n++] = u->log_level;
	}
	args[n] = NULL;
}

static int up_jobs(struct up *u)
{
	for (size_t i = 0; i < u->config.jobs_count; i++) {
		const struct config_job *job = &u->config.jobs[i];
		char *line;
		int status;

		if (asprintf(&line, "job %s keep=1 %s", job->name, job->words ? job->words : "") <
		    0)
			return cli_fail(cmd, "no memory.");
		status = layer_ask(&u->layer, line, NULL);
		free(line);
		if (status)
			return cli_fail(cmd, "%s:%u: job '%s' was refused; the layer is not up.",
					u->config_file, job->line, job->name);
	}
	return CLI_OK;
}

static int up_bring(struct up *u)
{
	char daemon[PATH_MAX], option[64] = "", limit[48] = "", rate[32];
	const char *args[ARGS_MAX];
	uint64_t bps;
	pid_t pid;
	int rc, status;

	if ((status = layer_daemon(cmd, daemon)) ||
	    (status = layer_open(&u->layer, cmd, u->name, true)))
		return status;
	rc = layer_lock(&u->layer, true);
	if (rc == -EWOULDBLOCK)
		return up_already(u);
	if (rc)
		return cli_fail(cmd, "cannot lock %s/lock: %s.", u->layer.dir, strerror(-rc));
	up_args(u, daemon, args);
	status = layer_start(&u->layer, args, u->root, &pid);
	if (!status && (status = up_jobs(u)))
		layer_stop(&u->layer, pid);
	layer_close(&u->layer); /* the node keeps its own */
	if (status)
		return status;
	if (strcmp(u->layer.name, LAYER_DEFAULT) != 0)
		snprintf(option, sizeof(option), " --name %s", u->layer.name);
	if (u->capacity && !sl_parse_rate(u->capacity, &bps))
		snprintf(limit, sizeof(limit), ", at most %s",
			 sl_format_rate(rate, sizeof(rate), bps));
	printf("Layer '%s' is up for %s%s\n"
	       "  sluice run%s -- COMMAND    runs a program through it\n"
	       "  sluice status%s            shows who does what\n"
	       "  sluice down%s              stops it\n",
	       u->layer.name, u->root, limit, option, option, option);
	return CLI_OK;
}

int cmd_up(int argc, char **argv)
{
	struct up u = { 0 };
	int status = up_options(&u, argc, argv);

	if (status)
		return status < 0 ? CLI_OK : status;
	status = up_settings(&u, optind < argc ? argv[optind] : NULL);
	if (!status)
		status = up_bring(&u);
	config_free(&u.config);
	return status;
}
