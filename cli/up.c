/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice up`: start a layer in the background, and return when it is ready. See up.h. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/dashboard.h"
#include "cli/up.h"
#include "layer/listen.h"

static const char cmd[] = "up";

#define LOCK_MS 1000

/* Each key of a layer that is an option has its number. */
enum { O_KEY = 256, O_POLICY = O_KEY + CONFIG_KEYS, O_HOSTS, O_JOIN };

/* ---- options ---- */

static int up_no_path(char *whole, const char *stage)
{
	free(whole);
	return cli_usage(cmd, "%s: give the absolute path of the tree.", stage);
}

static int up_policy(struct up *u, char *word)
{
	char *spec = strchr(word, '='), *whole, err[CHECK_TEXT];

	if (!spec)
		return cli_usage(cmd, "--policy needs STAGE=POLICY, like share=io-sets, not '%s'.",
				 word);
	*spec++ = 0;
	if (check_policy(word, spec, err))
		return cli_usage(cmd, "%s.", err);
	for (int i = 0; i < CONFIG_STAGES; i++) {
		if (strcmp(config_stages[i], word) != 0)
			continue;
		if (u->policy[i])
			return cli_usage(cmd, "the policy of %s is given twice.", word);
		whole = check_absolute(spec);
		if (!whole || strlen(whole) >= sizeof(u->policy_text[i]))
			return up_no_path(whole, word);
		strcpy(u->policy_text[i], whole);
		free(whole);
		u->policy[i] = u->policy_text[i];
	}
	return CLI_OK;
}

/* The node runs in another directory. */
static int up_absolute(const char *file, char out[PATH_MAX], const char **value)
{
	char cwd[PATH_MAX];
	int n = -1;

	if (file[0] == '/')
		n = snprintf(out, PATH_MAX, "%s", file);
	else if (getcwd(cwd, sizeof(cwd)))
		n = snprintf(out, PATH_MAX, "%s/%s", cwd, file);
	if (n < 0 || n >= PATH_MAX)
		return cli_fail(cmd, "cannot resolve the path %s.", file);
	*value = out;
	return CLI_OK;
}

static int up_key(struct up *u, const struct cli_option *o)
{
	enum config_which which = (enum config_which)(o->key - O_KEY);
	char err[CHECK_TEXT];

	if (!o->arg) {
		u->value[which] = which == CONFIG_MODE ? "observe" : "true";
		return CLI_OK;
	}
	if (config_check(which, optarg, err))
		return cli_usage(cmd, "--%s: %s.", o->name, err);
	u->value[which] = optarg;
	return CLI_OK;
}

static int up_options(struct up *u, int argc, char **argv)
{
	const struct cli_option options[] = {
		{ "name", O_KEY + CONFIG_NAME, "NAME", .values = "<layer>",
		  .help = "name of the layer, needed for a second one" },
		{ "capacity", O_KEY + CONFIG_CAPACITY, "RATE",
		  .help = "bandwidth to use of the file system, like 500MB/s; needed for "
			  "guarantees; auto: measured" },
		{ "capacity-ops", O_KEY + CONFIG_CAPACITY_OPS, "N",
		  .help = "metadata operations per second for all jobs, like 20k; auto: hold jobs "
			  "that slow down others'" },
		{ "charge", O_KEY + CONFIG_CHARGE, "wire|calls", .values = "wire calls",
		  .help = "charge only bytes that reach the file system, or each byte of each call "
			  "(wire)" },
		{ "dirty", O_KEY + CONFIG_DIRTY, "SIZE",
		  .help = "bytes that a job may write before it waits for write-back; 0: charged "
			  "at "
			  "the call (half a second's)" },
		{ "observe", O_KEY + CONFIG_MODE, NULL,
		  .help = "measure everything, hold nothing" },
		{ "intercept", O_KEY + CONFIG_INTERCEPT, "auto|strict", .values = "auto strict",
		  .help = "strict: 'sluice run' starts all programs behind a strict gate (auto: as "
			  "its own --intercept says)" },
		{ "policy", O_POLICY, "STAGE=SPEC", .values = "<spec>",
		  .help = "policy of a stage, as share=io-sets or order=aioli,wait_us=500; may be "
			  "given for each stage" },
		{ "ionodes", O_KEY + CONFIG_IONODES, "N",
		  .help = "number of nodes, and start a controller (one node without a "
			  "controller)" },
		{ "workers", O_KEY + CONFIG_WORKERS, "N",
		  .help = "threads of the node (one for each CPU)" },
		{ "listen", O_KEY + CONFIG_LISTEN, "HOST:PORT",
		  .help = "serve programs on other machines too, over TCP" },
		{ "secret-file", O_KEY + CONFIG_SECRET_FILE, "FILE", .values = "<file>",
		  .help = "their secret; without this option a secret is made" },
		{ "device-model", O_KEY + CONFIG_DEVICE_MODEL, "MODEL",
		  .help = "imitate a device (hdd, raid, ssd), for experiments" },
		{ "ask-always", O_KEY + CONFIG_ASK_ALWAYS, NULL,
		  .help = "schedule each call, also of jobs without limits" },
		{ "trace", O_KEY + CONFIG_TRACE, "FILE", .values = "<file>",
		  .help = "record the calls of the scheduler and its decisions" },
		{ "log-level", O_KEY + CONFIG_LOG_LEVEL, "LEVEL", .values = "error warn info debug",
		  .help = "error, warn, info or debug" },
		{ "dashboard", 0, "[=PORT]", .flag = &u->dashboard, .text = &u->dashboard_port,
		  .help = "start its dashboard too: see sluice-dashboard(1)" },
		{ "revive", 0, NULL, .flag = &u->revive,
		  .help = "restart the members of a layer that have died, with their settings" },
		{ "config", 0, "FILE", .text = &u->config_file, .values = "<file>",
		  .help = "read these from a file, see sluice.yaml(5); what is on the command line "
			  "wins" },
		{ "For all users of the machine, by root", .key = CLI_HEADING },
		{ "system", 0, NULL, .flag = &u->system,
		  .help = "a layer for all users; each user has separate jobs, limits and segments "
			  "of their "
			  "own" },
		{ "account", 0, "NAME", .text = &u->account,
		  .help = "account that its node runs as (sluice)" },
		{ "admins", 0, "LIST", .text = &u->admins,
		  .help = "users and @groups that may change everything, like root; separated by "
			  "commas" },
		{ "limits", 0, "LIST", .text = &u->limits,
		  .help = "of each user: jobs=64,connections=256,weight=1, requests=2000 (a "
			  "second)" },
		{ "On several machines, which all have DIR", .key = CLI_HEADING },
		{ "hosts", O_HOSTS, "LIST",
		  .help = "one node on each, as n1,n2 or n[1-4]; this machine is one of them, and "
			  "has the controller" },
		{ "launch", 0, "COMMAND", .text = &u->launch,
		  .help = "'COMMAND HOST ...' runs a program there (srun in a Slurm job, else "
			  "ssh)" },
		{ "join", O_JOIN, "NAME@HOST:PORT", .help = NULL }, /* what --hosts starts there */
		{ "For the controller, which also runs if allocate or grant is given",
		  .key = CLI_HEADING },
		{ "gap", O_KEY + CONFIG_GAP, "TIME",
		  .help = "time without I/O that ends an I/O phase of a job (1s)" },
		{ "curves", O_KEY + CONFIG_CURVES, "FILE", .values = "<file>",
		  .help = "store the bandwidth that jobs reach with each number of nodes, and "
			  "allocate by "
			  "it" },
		{ "per-proc-bandwidth", O_KEY + CONFIG_PER_PROC, "RATE",
		  .help = "bandwidth that one process of a job can use (all)" },
		{ "controller-loss", O_KEY + CONFIG_CONTROLLER_LOSS, "grow|divide",
		  .values = "grow divide",
		  .help = "if the controller is lost, nodes grow to the capacity of the layer, or "
			  "divide it equally (grow)" },
		{ "standby", O_KEY + CONFIG_STANDBY, NULL,
		  .help = "a second controller, which takes over if the first dies or is stopped" },
		{ "direct", O_KEY + CONFIG_DIRECT, NULL,
		  .help = "the controller may give a job no I/O node" },
		{ "compute-nodes", O_KEY + CONFIG_COMPUTE_NODES, "N",
		  .help = "compute nodes of the machine, for allocate=static (those of the jobs)" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "up [OPTION]... DIR\n"
			 "up --revive [--name NAME]",
		.about = "Starts a layer: a node that schedules the I/O of programs to the files "
			 "under DIR, if they are started with 'sluice run'. Returns when it is "
			 "ready.",
		.more = "Manual: sluice-up(1), sluice.yaml(5), sluice-policies(7).",
		.options = options,
		.arguments = -1,
		.takes = "dir",
	};
	int opt, status;

	while ((opt = cli_next(&command, argc, argv)) > CLI_USAGE) {
		status = opt == O_POLICY  ? up_policy(u, optarg)
			 : opt == O_HOSTS ? up_hosts_check(u, optarg)
			 : opt == O_JOIN  ? up_join_check(u, optarg)
					  : up_key(u, cli_find(&command, opt));
		if (status)
			return status;
	}
	if (opt)
		return opt;
	if (u->dashboard_port && (status = dashboard_check_port(cmd, u->dashboard_port)))
		return status;
	if (argc - optind > 1)
		return cli_usage(cmd, "unexpected argument '%s'; a layer has one directory.",
				 argv[optind + 1]);
	if (optind < argc)
		u->value[CONFIG_DIRECTORY] = argv[optind];
	return CLI_OK;
}

/* The jobs of the file must fit together and into the capacity: try them on a scheduler. */
static int up_check_jobs(const struct up *u)
{
	struct sl_config config = { .limits = { .jobs = CONFIG_JOBS, .files = 1, .requests = 1 } };
	struct sl_sched *s;
	char err[CHECK_TEXT];
	int rc = 0;

	if (!u->config.jobs_count)
		return CLI_OK;
	if (u->value[CONFIG_CAPACITY] && check_auto(u->value[CONFIG_CAPACITY]))
		config.capacity_bps = SL_MAX_RATE; /* accepts every min */
	else if (u->value[CONFIG_CAPACITY])
		sl_parse_rate(u->value[CONFIG_CAPACITY], &config.capacity_bps);
	if (sl_sched_create(&s, &config, 0, err, sizeof(err)))
		return cli_fail(cmd, "%s.", err);
	for (size_t i = 0; !rc && i < u->config.jobs_count; i++) {
		const struct config_job *job = &u->config.jobs[i];

		rc = sl_job_add(s, i, &job->conf, 0);
		if (rc && job->conf.min_bps && !config.capacity_bps)
			cli_usage(cmd,
				  "%s:%u: a min needs a layer of known capacity: give 'capacity:' "
				  "in the file, or --capacity.",
				  u->config_file, job->line);
		else if (rc)
			cli_usage(cmd, "%s:%u: %s.", u->config_file, job->line,
				  strncmp(sl_error(s), "job: ", 5) ? sl_error(s) : sl_error(s) + 5);
	}
	sl_sched_destroy(s);
	return rc ? CLI_USAGE : CLI_OK;
}

static int up_root(struct up *u)
{
	const char *dir = u->value[CONFIG_DIRECTORY];
	struct stat st;

	if (!dir)
		return cli_usage(cmd, "no directory: give it, or 'directory:' in the file of "
				      "--config.");
	if (!realpath(dir, u->root) || stat(u->root, &st))
		return cli_fail(cmd, "cannot use %s: %s.%s", dir, strerror(errno),
				errno == ENOENT ? " Create it with 'mkdir'." : "");
	if (!S_ISDIR(st.st_mode))
		return cli_fail(cmd, "%s is not a directory.", dir);
	if (access(u->root, R_OK | X_OK))
		return cli_fail(cmd, "cannot use %s: %s.", dir, strerror(errno));
	if (strchr(u->root, '\n'))
		return cli_fail(cmd, "%s has a newline in its name; Sluice cannot handle that.",
				dir);
	return CLI_OK;
}

/* The number of nodes, and whether a controller is needed. */
static void up_shape(struct up *u)
{
	static const int keys[] = { CONFIG_IONODES, CONFIG_GAP,		  CONFIG_PER_PROC,
				    CONFIG_DIRECT,  CONFIG_COMPUTE_NODES, CONFIG_CURVES,
				    CONFIG_STANDBY };

	u->ionodes = 1;
	if (u->value[CONFIG_IONODES])
		u->ionodes = (unsigned)strtoul(u->value[CONFIG_IONODES], NULL, 10);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		u->controller |= u->value[keys[i]] != NULL;
	for (int i = CONFIG_NODE_STAGES; i < CONFIG_STAGES; i++)
		u->controller |= u->policy[i] != NULL;
	if (u->join) { /* one of several machines; the first one does the rest */
		u->machines = u->ionodes;
		u->ionodes = 1;
	}
	u->controller = !u->join && (u->controller || u->hosts.count);
}

static int up_check_hosts(const struct up *u)
{
	if (u->launch && !u->hosts.count)
		return cli_usage(cmd, "--launch is for --hosts.");
	if (!u->hosts.count && !u->join)
		return CLI_OK;
	if (u->system || (u->hosts.count && (u->value[CONFIG_IONODES] || u->join)) ||
	    config_flag(u->value[CONFIG_STANDBY]) || u->value[CONFIG_TRACE] ||
	    u->value[CONFIG_SECRET_FILE])
		return cli_usage(
			cmd, "--hosts starts one node on each machine and one controller; it "
			     "does not go with ionodes, standby, trace, secret-file or --system.");
	return CLI_OK;
}

/* --revive restores all settings. */
static int up_again(const struct up *u)
{
	bool other = u->config_file || u->dashboard;

	for (int k = 0; k < CONFIG_KEYS; k++)
		other |= k != CONFIG_NAME && u->value[k];
	for (int i = 0; i < CONFIG_STAGES; i++)
		other |= u->policy[i] != NULL;
	if (other)
		return cli_usage(
			cmd,
			"--revive can only be combined with --name: dead members are restarted "
			"with their settings.");
	return up_revive(u->value[CONFIG_NAME]);
}

bool up_observes(const struct up *u)
{
	return u->value[CONFIG_MODE] && !strcmp(u->value[CONFIG_MODE], "observe");
}

/* These options hold every call. */
static int up_check_observe(const struct up *u)
{
	const char *other = u->value[CONFIG_DEVICE_MODEL]	       ? "a device model"
			    : u->value[CONFIG_TRACE]		       ? "a trace"
			    : config_flag(u->value[CONFIG_ASK_ALWAYS]) ? "ask-always"
								       : NULL;

	if (!up_observes(u) || !other)
		return CLI_OK;
	return cli_usage(cmd, "observe mode does not go with %s, which holds calls.", other);
}

/* Nodes read the file themselves, also later, so it must not be a pipe. */
static int up_config_path(struct up *u)
{
	struct stat st;

	if (stat(u->config_file, &st) == 0 && S_ISREG(st.st_mode) &&
	    realpath(u->config_file, u->config_path))
		return CLI_OK;
	u->config_path[0] = 0;
	if (u->config.rules_count)
		return cli_usage(cmd, "%s: rules have to be in a file, which nodes read again.",
				 u->config_file);
	return CLI_OK;
}

static int up_settings(struct up *u)
{
	const char **trace = &u->value[CONFIG_TRACE], **secret = &u->value[CONFIG_SECRET_FILE];
	const char **curves = &u->value[CONFIG_CURVES];
	char err[CONFIG_TEXT];
	int rc, status;

	if (u->config_file) {
		rc = config_read(&u->config, u->config_file, err);
		if (rc == -EINVAL)
			return cli_usage(cmd, "%s.", err);
		if (rc)
			return cli_fail(cmd, "%s.", err);
	}
	if (u->config_file && (status = up_config_path(u)))
		return status;
	for (int k = 0; k < CONFIG_KEYS; k++)
		u->value[k] = u->value[k] ? u->value[k] : u->config.value[k];
	for (int i = 0; i < CONFIG_STAGES; i++)
		u->policy[i] = u->policy[i] ? u->policy[i] : u->config.policy[i];
	u->dashboard |= u->config.dashboard;
	u->dashboard_host = u->config.dashboard_host;
	u->dashboard_port = u->dashboard_port ? u->dashboard_port : u->config.dashboard_port;
	up_shape(u);
	if (u->system && (u->controller || u->value[CONFIG_LISTEN]))
		return cli_usage(cmd, "a layer for all users has one node on each machine, which "
				      "supports only turns.");
	if (!u->system && (u->account || u->admins || u->limits))
		return cli_usage(cmd, "--account, --admins and --limits are for --system.");
	if ((status = up_check_hosts(u)))
		return status;
	if (*secret && !u->value[CONFIG_LISTEN])
		return cli_usage(cmd, "a secret needs --listen.");
	if ((status = up_check_observe(u)) || (status = up_root(u)) ||
	    (*trace && (status = up_absolute(*trace, u->trace, trace))) ||
	    (*secret && (status = up_absolute(*secret, u->secret, secret))) ||
	    (*curves && (status = up_absolute(*curves, u->curves, curves))))
		return status;
	return up_check_jobs(u);
}

/* ---- the node ---- */

static int up_already(struct up *u)
{
	const struct layer *l = &u->layer;
	char root[PATH_MAX], dead[1000], option[CHECK_LAYER_NAME + 16] = "";
	pid_t pid = layer_pid(l);

	if (strcmp(l->name, LAYER_DEFAULT) != 0)
		snprintf(option, sizeof(option), " --name %s", l->name);
	if (!pid || layer_root(l, root))
		return cli_fail(cmd,
				"another command is starting or stopping layer '%s'; "
				"try again.",
				l->name);
	if (layer_dead(l, dead, sizeof(dead)))
		return cli_fail(cmd,
				"layer '%s' is up for %s, but these have died: %s. 'sluice up%s "
				"--revive' restarts them.",
				l->name, root, dead, option);
	if (!strcmp(root, u->root))
		return cli_fail(cmd, "layer '%s' is up already, for %s (pid %d).", l->name, root,
				(int)pid);
	return cli_fail(cmd,
			"layer '%s' is up, but for %s (pid %d). Choose another --name, or stop "
			"it with 'sluice down'.",
			l->name, root, (int)pid);
}

static void up_warn_rates(const struct up *u)
{
	char warning[CHECK_TEXT];

	if (check_low_rate("the capacity", u->value[CONFIG_CAPACITY], CHECK_LOW_CAPACITY, warning))
		cli_warn(cmd, "%s", warning);
	if (check_low_rate("the bandwidth of a process", u->value[CONFIG_PER_PROC], CHECK_LOW_JOB,
			   warning))
		cli_warn(cmd, "%s", warning);
	for (size_t i = 0; i < u->config.jobs_count; i++) {
		const struct config_job *job = &u->config.jobs[i];
		char *words = job->words ? strdup(job->words) : NULL, *save = NULL, whose[380];

		snprintf(whose, sizeof(whose), "%.290s:%u: job '%s': ", u->config_file, job->line,
			 job->name);
		for (char *word = words ? strtok_r(words, " ", &save) : NULL; word;
		     word = strtok_r(NULL, " ", &save))
			if (check_low_word(whose, word, warning))
				cli_warn(cmd, "%s", warning);
		free(words);
	}
}

/* Each layer has its own capacity and does not know the jobs of other layers. */
static void up_warn(const struct up *u)
{
	size_t length = strlen(u->root), count, other;
	struct layer_seen *all;
	struct rlimit size;
	char text[32];

	up_warn_rates(u);
	if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_max != RLIM_INFINITY)
		cli_warn(cmd,
			 "the limit on the size of files in this shell (ulimit -H -f) is the "
			 "node's, too: it cannot write beyond %s into a file.",
			 sl_format_bytes(text, sizeof(text), size.rlim_max));
	if (cli_layer(cmd, layer_all(&all, &count)))
		return;
	for (size_t i = 0; i < count; i++) {
		const struct layer_seen *s = &all[i];

		other = strlen(s->root);
		if (s->state != LAYER_UP || !strcmp(s->layer.name, u->layer.name))
			continue;
		if (!strcmp(s->root, u->root))
			cli_warn(cmd,
				 "layer '%s' serves the same directory. Both use their full "
				 "capacity, and do not know each other's jobs.",
				 s->layer.name);
		else if ((!strncmp(s->root, u->root, length) && s->root[length] == '/') ||
			 (!strncmp(s->root, u->root, other) && u->root[other] == '/'))
			cli_warn(cmd,
				 "layer '%s' serves %s. If that is the same file system, both use "
				 "their full capacity of it.",
				 s->layer.name, s->root);
	}
	free(all);
}

static void up_say_address(const struct layer *l, const char *secret_file)
{
	char at[300];

	if (layer_address(l, at))
		return;
	printf("Programs on other machines where this directory is mounted use it by\n"
	       "  sluice run --connect %s --secret-file FILE -- COMMAND\n"
	       "where FILE is a copy, with mode 0600, of %s\n",
	       at, secret_file);
}

static void up_say(const struct up *u)
{
	char option[CHECK_LAYER_NAME + 16] = "", limit[48] = "", nodes[32] = "", rate[32];
	uint64_t bps;

	if (strcmp(u->layer.name, LAYER_DEFAULT) != 0)
		snprintf(option, sizeof(option), " --name %s", u->layer.name);
	if (u->value[CONFIG_CAPACITY] && !sl_parse_rate(u->value[CONFIG_CAPACITY], &bps))
		snprintf(limit, sizeof(limit), ", at most %s",
			 sl_format_rate(rate, sizeof(rate), bps));
	if (u->machines)
		snprintf(nodes, sizeof(nodes), ", on %u machines", u->machines);
	else if (u->controller)
		snprintf(nodes, sizeof(nodes), ", %u I/O node%s", u->ionodes,
			 u->ionodes == 1 ? "" : "s");
	if (u->value[CONFIG_CAPACITY] && check_auto(u->value[CONFIG_CAPACITY]))
		snprintf(limit, sizeof(limit), ", its capacity is found");
	if (up_observes(u))
		snprintf(limit, sizeof(limit), ", observing: no call is held");
	printf("Layer '%s' is up for %s%s%s\n"
	       "  sluice run%s -- COMMAND    runs a program through it\n"
	       "  sluice status%s            shows jobs and their bandwidth\n"
	       "  sluice down%s              stops it\n",
	       u->layer.name, u->root, nodes, limit, option, option, option);
	if (u->value[CONFIG_LISTEN] && !u->machines)
		up_say_address(&u->layer, u->value[CONFIG_SECRET_FILE]);
}

/*
 * A node that was killed keeps the lock for a moment: wait until the kernel has released it.
 */
static int up_lock(struct up *u)
{
	int rc = layer_lock(&u->layer, true);

	for (int ms = 0; rc == -EWOULDBLOCK && !layer_pid(&u->layer) && ms < LOCK_MS; ms += 20) {
		usleep(20000);
		rc = layer_lock(&u->layer, true);
	}
	return rc;
}

/* The layer stays up if this fails, but the command then reports a failure. */
static int up_dashboard(const struct up *u)
{
	struct dashboard d;
	int status = dashboard_start(cmd, &u->layer, u->dashboard_host, u->dashboard_port, &d);

	if (!status)
		dashboard_say(&u->layer, &d);
	else
		cli_fail(cmd, "layer '%s' is up, but its dashboard is not.", u->layer.name);
	return status;
}

/* Find the account that runs a layer for all users, and create its directory. */
static int up_system(struct up *u, uid_t *uid, gid_t *gid)
{
	const char *account = u->account ? u->account : "sluice";
	/* cppcheck-suppress getpwnamCalled ; there is one thread */
	const struct passwd *who = getpwnam(account);
	struct layer *l = &u->layer;

	if (geteuid() != 0)
		return cli_fail(cmd, "only root starts a layer for all users.");
	if (!who)
		return cli_fail(cmd,
				"no account '%s' to run a layer for all users. Create it "
				"with 'useradd --system --no-create-home %s'.",
				account, account);
	if (who->pw_uid == 0)
		return cli_fail(
			cmd,
			"a layer for all users needs an account of its own, not '%s'. Create "
			"one with 'useradd --system --no-create-home sluice'.",
			account);
	if (mkdir(l->dir, 0755) && errno != EEXIST)
		return cli_fail(cmd, "cannot make %s: %s.", l->dir, strerror(errno));
	*uid = who->pw_uid;
	*gid = who->pw_gid;
	return CLI_OK;
}

/* Give the directory to the account, under the lock, so that a layer that is up is not changed. */
static int up_give(struct up *u, uid_t uid, gid_t gid)
{
	struct layer *l = &u->layer;

	if (chmod(l->dir, 0755) || chown(l->dir, uid, gid))
		return cli_fail(cmd, "cannot give %s to the account %u: %s.", l->dir, (unsigned)uid,
				strerror(errno));
	l->account = uid;
	l->group = gid;
	return CLI_OK;
}

static int up_bring(struct up *u)
{
	const char *name = u->value[CONFIG_NAME];
	char daemon[PATH_MAX], system[CHECK_LAYER_NAME + 16];
	uid_t uid = 0;
	gid_t gid = 0;
	int rc, status;

	if (u->system) {
		snprintf(system, sizeof(system), "%s%s%s", LAYER_SYSTEM, name ? ":" : "",
			 name ? name : "");
		name = system;
	}
	if ((status = cli_layer(cmd, layer_daemon(daemon))) ||
	    (status = cli_layer(cmd, layer_open(&u->layer, name, true))))
		return status;
	if (u->layer.system && (status = up_system(u, &uid, &gid)))
		return status;
	rc = up_lock(u);
	if (rc == -EWOULDBLOCK)
		return up_already(u);
	if (rc)
		return cli_fail(cmd, "cannot lock %s/lock: %s.", u->layer.dir, strerror(-rc));
	status = u->layer.system ? up_give(u, uid, gid) : CLI_OK;
	if (!status && u->join)
		status = up_join_secret(u);
	status = status ? status : up_start(u, daemon);
	layer_close(&u->layer); /* the members keep their own */
	if (status)
		return status;
	up_say(u);
	up_warn(u);
	if (u->join)
		return up_join_stay(u);
	return u->dashboard ? up_dashboard(u) : CLI_OK;
}

int cmd_up(int argc, char **argv)
{
	struct up u = { 0 };
	int status = up_options(&u, argc, argv);

	if (!status && u.revive)
		return up_again(&u);
	if (!status)
		status = up_settings(&u);
	if (!status)
		status = up_bring(&u);
	config_free(&u.config);
	sl_hosts_free(&u.hosts);
	return cli_end(status);
}
