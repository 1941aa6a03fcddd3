/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice run`: execute a program, with the preloaded library and its settings in the environment.
 * The job is registered at the node first, so that a refusal is reported here and the program does
 * not start.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/remote.h"
#include "cli/run-start.h"
#include "cli/run.h"
#include "client/conn/client.h"
#include "layer/check.h"
#include "layer/layer.h"

static const char cmd[] = "run";

#define WORDS	   640		       /* all keys together: the limit of the library */
#define TIMEOUT_NS INT64_C(5000000000) /* time to wait for a node, unless --timeout is shorter */

/* The keys of a job come first, each named as its key. */
enum {
	K_FIRST = 256,
	K_MIN = K_FIRST,
	K_MAX,
	K_BURST,
	K_WEIGHT,
	K_PERIOD,
	K_PROCS,
	K_NODES,
	K_ACCOUNT,
	K_QOS,
	K_PARTITION,
	K_END
};
enum {
	O_JOB = K_END,
	O_TAG,
	O_TITLE,
	O_RATE,
	O_TIMEOUT,
	O_SUMMARY,
	O_NO_SUMMARY,
	O_CONNECT,
	O_MIN_OPS,
	O_MAX_OPS,
	O_WEIGHT_OPS,
	O_MAX_IOPS,
	O_MAX_READ,
	O_MAX_WRITE
};

_Static_assert(K_END - K_FIRST == RUN_KEYS, "each key has its place");

static const char *const key_names[RUN_KEYS] = {
	"min", "max", "burst", "weight", "period", "procs", "nodes", "account", "qos", "partition"
};

/* ---- options ---- */

static int ru_key(struct run *r, int opt, const char *value)
{
	const char *key = key_names[opt - K_FIRST];
	struct sl_job_conf conf;
	char err[CHECK_TEXT];
	unsigned long count;

	if (opt >= K_ACCOUNT) {
		if (check_owner(value, err))
			return cli_usage(cmd, "--%s: %s.", key, err);
		r->key[opt - K_FIRST] = value;
		return CLI_OK;
	}
	if (strlen(value) > RUN_VALUE)
		return cli_usage(cmd, "--%s: '%.64s' is too long.", key, value);
	if (opt == K_PROCS || opt == K_NODES) {
		if (check_count(value, 1, INT_MAX, &count))
			return cli_usage(cmd, "--%s: '%s' is not a number from 1.", key, value);
	} else if (check_job_key(key, value, &conf, err)) {
		return cli_usage(cmd, "--%s.", err);
	}
	r->key[opt - K_FIRST] = value;
	return CLI_OK;
}

/* Set a limit on operations, data calls or bytes of a direction. */
static int ru_most(struct run *r, const char *option, enum sl_meter meter, const char *value)
{
	struct sl_ops_conf conf = { 0 };

	if (strlen(value) > RUN_VALUE || sl_ops_key(&conf, sl_meter_keys[meter], value))
		return cli_usage(cmd,
				 meter >= SL_METER_READ
					 ? "--%s: '%.64s' is not a rate; write 200M or 100MB/s."
					 : "--%s: '%.64s' is not a number per second, like 500 or "
					   "20k.",
				 option, value);
	strcpy(r->most[meter], value);
	return CLI_OK;
}

/* A limit, min or weight of operations: all, or of a class. */
static int ru_of_ops(struct run *r, int opt, unsigned which, const char *value)
{
	struct sl_ops_conf conf = { 0 };

	if (opt == O_MAX_OPS)
		return ru_most(r, "max-ops", (enum sl_meter)which, value);
	if (strlen(value) > RUN_VALUE ||
	    sl_ops_key(&conf, opt == O_MIN_OPS ? sl_min_keys[which] : sl_weight_keys[which], value))
		return cli_usage(cmd,
				 opt == O_MIN_OPS
					 ? "--min-ops: '%.64s' is not a number per second, "
					   "like 500 or 20k."
					 : "--weight-ops: '%.64s' is not a weight, like 4.",
				 value);
	strcpy(opt == O_MIN_OPS ? r->least[which] : r->weight_ops[which], value);
	return CLI_OK;
}

/* "500", "create=100,remove=50". The argument stays as it is: sluice-tools may read it again. */
static int ru_ops(struct run *r, int opt, const char *value)
{
	const char *name = opt == O_MAX_OPS ? "max" : opt == O_MIN_OPS ? "min" : "weight";
	int status = CLI_OK;

	do {
		char word[64], *equals; /* what does not fit is longer than any value may be */
		size_t n = strcspn(value, ",");
		unsigned c = 0;

		snprintf(word, sizeof(word), "%.*s", n < sizeof(word) ? (int)n : (int)sizeof(word),
			 value);
		value += n + (value[n] == ',');
		equals = strchr(word, '=');
		if (!equals && opt == O_WEIGHT_OPS)
			return cli_usage(cmd,
					 "--weight-ops: '%.64s' is not CLASS=N; --weight is "
					 "that of the job.",
					 word);
		if (!equals) {
			status = ru_of_ops(r, opt, SL_METER_OPS, word);
			continue;
		}
		*equals++ = 0;
		while (c < SL_CLASSES && strcmp(sl_class_names[c], word) != 0)
			c++;
		if (c == SL_CLASSES)
			return cli_usage(cmd,
					 "--%s-ops: no class '%.32s'; there are create, lookup, "
					 "remove, list and attribute.",
					 name, word);
		status = ru_of_ops(r, opt, c, equals);
	} while (*value && !status);
	return status;
}

static int ru_option(struct run *r, int opt)
{
	char err[CHECK_TEXT];
	uint64_t bps;
	int64_t ns;

	if (opt >= K_FIRST && opt < K_END)
		return ru_key(r, opt, optarg);
	switch (opt) {
	case O_JOB:
		if (check_job_name(optarg, err))
			return cli_usage(cmd, "--job: %s.", err);
		if (sl_tag_of(optarg) && *sl_tag_of(optarg) == SL_TAG_RULE)
			return cli_usage(cmd,
					 "--job: '%s' is a part that the path of a rule makes.",
					 optarg);
		r->job = optarg;
		return CLI_OK;
	case O_TAG:
		if (!sl_tag_is_good(optarg))
			return cli_usage(cmd,
					 "--tag: '%.64s': a tag has 1 to %d letters, digits and - "
					 "_ .",
					 optarg, SL_TAG_MAX - 1);
		r->tag = optarg;
		return CLI_OK;
	case O_TITLE:
		if (check_job_name(optarg, err))
			return cli_usage(cmd, "--title: %s.", err);
		r->title = optarg;
		return CLI_OK;
	case O_RATE:
		if (strlen(optarg) > RUN_VALUE || sl_parse_rate(optarg, &bps) || !bps ||
		    bps > SL_MAX_RATE)
			return cli_usage(cmd,
					 "--rate: '%s' is not a rate; write 200M, 1.5Gi or "
					 "100MB/s.",
					 optarg);
		r->rate = optarg;
		return CLI_OK;
	case O_TIMEOUT:
		if (sl_parse_time(optarg, &ns))
			return cli_usage(cmd, "--timeout: '%s' is not a time; write 30s or 2m.",
					 optarg);
		r->timeout = optarg;
		return CLI_OK;
	case O_SUMMARY:
	case O_NO_SUMMARY:
		r->summary = opt == O_SUMMARY ? 1 : -1;
		return CLI_OK;
	case O_CONNECT:
		if (check_address(optarg, false, err))
			return cli_usage(cmd, "--connect: %s.", err);
		r->connect = optarg;
		return CLI_OK;
	case O_MIN_OPS:
	case O_MAX_OPS:
	case O_WEIGHT_OPS:
		return ru_ops(r, opt, optarg);
	case O_MAX_IOPS:
		return ru_most(r, "max-iops", SL_METER_IOPS, optarg);
	case O_MAX_READ:
		return ru_most(r, "max-read", SL_METER_READ, optarg);
	case O_MAX_WRITE:
		return ru_most(r, "max-write", SL_METER_WRITE, optarg);
	}
	return CLI_USAGE;
}

static int ru_options(struct run *r, int argc, char **argv)
{
	const struct cli_option options[] = {
		CLI_LAYER(&r->name),
		{ "connect", O_CONNECT, "HOST:PORT",
		  .help = "a layer on another machine, whose directory is mounted here too" },
		{ "secret-file", 0, "FILE", .text = &r->secret_file, .values = "<file>",
		  .help = "with --connect: file with its secret" },
		{ "directory", 0, "DIR", .text = &r->directory, .values = "<dir>",
		  .help = "with --connect: path of its directory on this machine, if it is not the "
			  "same place" },
		{ "job", O_JOB, "ID",
		  .help = "job that it belongs to; else SLUICE_JOB_ID, SLURM_JOB_ID, PBS_JOBID, "
			  "LSB_JOBID or FLUX_JOB_ID; else the job of mpirun; else one of its own" },
		{ "tag", O_TAG, "TAG",
		  .help = "run as the part JOB:TAG of the job, which has limits of its own" },
		{ "title", O_TITLE, "NAME",
		  .help = "name by which a job is recognized when it runs again (its --job, its "
			  "name in the batch system, or the program)" },
		{ "min", K_MIN, "RATE",
		  .help = "guaranteed bandwidth, like 100MB/s; refused if it does not fit beside "
			  "the guarantees of other jobs" },
		{ "max", K_MAX, "RATE", .help = "upper limit of the bandwidth" },
		{ "rate", O_RATE, "RATE",
		  .help = "min and max in one, with a lower min if it does not fit; only a max if "
			  "the capacity of the layer is not known" },
		{ "burst", K_BURST, "SIZE",
		  .help = "bytes that may be sent at once after a pause, under a max" },
		{ "min-ops", O_MIN_OPS, "N|CLASS=N,...",
		  .help = "guaranteed metadata operations per second, out of the "
			  "layer's --capacity-ops; also of one class" },
		{ "max-ops", O_MAX_OPS, "N|CLASS=N,...",
		  .help = "upper limit of metadata operations per second; also of one class: "
			  "create, lookup, remove, list or attribute" },
		{ "weight-ops", O_WEIGHT_OPS, "CLASS=N,...",
		  .help = "share of one class beside other jobs and the job's other classes" },
		{ "max-iops", O_MAX_IOPS, "N",
		  .help = "upper limit of read and write calls per second" },
		{ "max-read", O_MAX_READ, "RATE", .help = "upper limit of bytes read per second" },
		{ "max-write", O_MAX_WRITE, "RATE",
		  .help = "upper limit of bytes written per second" },
		{ "weight", K_WEIGHT, "N", .help = "weight of the job's share (1)" },
		{ "period", K_PERIOD, "TIME",
		  .help = "time from one I/O phase of the job to the next, for io-sets and set-10; "
			  "seconds, 10m, or auto: found by the controller (the default)" },
		{ "procs", K_PROCS, "N", .help = "size of the job in processes" },
		{ "nodes", K_NODES, "N", .help = "size of the job in compute nodes" },
		{ "account", K_ACCOUNT, "NAME",
		  .help = "account of the job in the batch system, for fair shares and rules (what "
			  "Slurm says)" },
		{ "qos", K_QOS, "NAME", .help = "its quality of service (what Slurm says)" },
		{ "partition", K_PARTITION, "NAME", .help = "its partition (what Slurm says)" },
		{ "mode", 0, "turn|forward", .values = "=turn forward", .text = &r->mode,
		  .help = "the program makes its calls itself when the node gives it a turn, or "
			  "the node "
			  "makes them (turn)" },
		{ "intercept", 0, "auto|preload|gate", .values = "=auto preload gate",
		  .text = &r->intercept,
		  .help = "how calls are intercepted: by a library inside programs that are linked "
			  "dynamically (preload); by the kernel, with seccomp, whatever the "
			  "program (gate); or by a gate only where the library cannot be loaded "
			  "(auto, the "
			  "default)" },
		{ "strict", 0, NULL, .flag = &r->strict,
		  .help = "with a gate: every data call waits for the supervisor, even those that "
			  "the library makes; without a gate the program is not run" },
		{ "io-uring", 0, "refuse|allow", .values = "=refuse allow", .text = &r->uring,
		  .help = "behind a gate: refuse io_uring, or allow it although Sluice does not "
			  "see its I/O (refuse)" },
		{ "timeout", O_TIMEOUT, "TIME",
		  .help = "how long I/O waits for a node that does not answer (5s; 30s if the node "
			  "makes "
			  "the calls), before it continues without the node" },
		{ "fallback", 0, "error|direct", .values = "=direct error", .text = &r->fallback,
		  .help = "if the node makes the calls: after the timeout, fail them or continue "
			  "without the layer (error)" },
		{ "summary", O_SUMMARY, NULL,
		  .help = "print one line at the end: bytes through the layer, time held, bytes "
			  "that "
			  "bypassed it; the default if standard error is a terminal" },
		{ "no-summary", O_NO_SUMMARY, NULL, .help = "no such line" },
		{ "bypass", 0, "LIST", .text = &r->bypass,
		  .help = "programs that are not intercepted, separated by commas" },
		{ "print-env", 0, NULL, .flag = &r->print,
		  .help = "run no program; print commands for a shell to eval, so that all "
			  "programs that it starts from then on belong to the job" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "run [OPTION]... [--] COMMAND [ARGUMENT]...\n"
			 "run --print-env [OPTION]...",
		.about = "Runs a program whose I/O under the directory of a layer its node "
			 "schedules.",
		.more = "The exit status is that of the command; 127 if it was not "
			"found.\n\nManual: sluice-run(1).",
		.options = options,
		.arguments = -1,
		.takes = "program",
		.stops = true,
	};
	int opt, status;

	while ((opt = cli_next(&command, argc, argv)) > CLI_USAGE)
		if ((status = ru_option(r, opt)))
			return status;
	return opt;
}

/* Takes account, QOS and partition from the batch system unless they were given. */
static void ru_owner(struct run *r)
{
	static const char *const names[] = { "SLURM_JOB_ACCOUNT", "SLURM_JOB_QOS",
					     "SLURM_JOB_PARTITION" };
	char err[CHECK_TEXT];

	for (int i = 0; i < K_END - K_ACCOUNT; i++) {
		const char **to = &r->key[K_ACCOUNT - K_FIRST + i], *value = getenv(names[i]);

		if (!*to && value && !check_owner(value, err))
			*to = value;
	}
}

static void ru_word(char out[WORDS], char between, const char *key, const char *value)
{
	char first[2] = { between, 0 };
	size_t at = strlen(out);

	if (value)
		snprintf(out + at, WORDS - at, "%s%s=%s", at ? first : "", key, value);
}

/* Join the words with `between`: ' ' for the node, ',' for the library. */
static void ru_words(const struct run *r, char between, char out[WORDS])
{
	out[0] = 0;
	if (r->rate && r->no_capacity)
		snprintf(out, WORDS, "max=%s", r->rate);
	else if (r->rate)
		snprintf(out, WORDS, "min=%s%cmax=%s%cbest_effort=1", r->rate, between, r->rate,
			 between);
	for (int k = 0; k < K_END - K_FIRST; k++)
		ru_word(out, between, key_names[k], r->key[k]);
	for (int q = 0; q < SL_QUEUES; q++)
		ru_word(out, between, sl_min_keys[q], *r->least[q] ? r->least[q] : NULL);
	for (int c = 0; c < SL_CLASSES; c++)
		ru_word(out, between, sl_weight_keys[c],
			*r->weight_ops[c] ? r->weight_ops[c] : NULL);
	for (int m = 0; m < SL_METERS; m++)
		ru_word(out, between, sl_meter_keys[m], *r->most[m] ? r->most[m] : NULL);
}

/* ---- the job ---- */

/* Whether to print the line at the end. */
static bool ru_summary(const struct run *r)
{
	return !r->print && !r->connect &&
	       (r->summary > 0 || (!r->summary && isatty(STDERR_FILENO)));
}

/*
 * The process that holds the job: its settings end with it. With --print-env this is the calling
 * shell.
 */
static pid_t ru_process(const struct run *r)
{
	return r->print ? getppid() : getpid();
}

/*
 * "pid=4711 ". In a layer for all users, a process of another user cannot hold a job: there the
 * plugin of the batch system, which calls `sluice run --print-env`, has registered the job as root.
 */
static const char *ru_holder(const struct run *r, bool of_all, char out[24])
{
	char path[32];
	struct stat st;

	snprintf(out, 24, "pid=%d ", (int)ru_process(r));
	snprintf(path, sizeof(path), "/proc/%d", (int)ru_process(r));
	if (of_all && geteuid() && stat(path, &st) == 0 && st.st_uid != geteuid())
		*out = 0;
	return out;
}

/*
 * The title of the job: a name that stays the same when it runs again under another number, so that
 * the controller can use what it has learned of it. The user's name for the job, else the batch
 * system's name, else the program's name.
 */
static void ru_title(struct run *r, const char *command)
{
	static const char *const names[] = { "SLURM_JOB_NAME", "PBS_JOBNAME", "LSB_JOBNAME" };
	const char *slash = strrchr(command, '/'), *title = r->title ? r->title : r->job;

	for (size_t i = 0; !title && i < sizeof(names) / sizeof(names[0]); i++) {
		title = getenv(names[i]);
		title = title && *title ? title : NULL;
	}
	title = title ? title : slash && slash[1] ? slash + 1 : command;
	snprintf(r->title_words, sizeof(r->title_words), "title=%.*s", CHECK_JOB_NAME, title);
	for (char *c = r->title_words; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == ',' || *c == '"')
			*c = '_';
}

/* A min needs a known capacity. Without one, only the max of --rate holds. */
static void ru_warn_rate(const struct run *r)
{
	if (r->no_capacity)
		cli_warn(cmd,
			 "the layer's capacity is not known, so --rate %s is only a limit, not a "
			 "guarantee. Set it with 'sluice set --capacity RATE'.",
			 r->rate);
}

/* Whether there is a node that may answer, besides the one that does not. */
static bool ru_others(const struct layer_member *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!m[i].controller && m[i].pid && !m[i].silent)
			return true;
	return false;
}

/*
 * Register the job at all nodes that live, because it may be moved to any of them. A job without
 * limits and guarantees cannot be refused, so we do not wait for the answer. If it has no given
 * name either, the library registers it with its first I/O: many programs do no I/O, and the node's
 * work is a third of the cost of `sluice run`. 0 or -errno; who and *text as in layer_tell_all().
 */
static int ru_register(struct run *r, struct layer *l, char who[48], char **text)
{
	struct layer_member m[LAYER_MEMBERS];
	char line[WORDS + 256], words[WORDS], holder[24];
	size_t n = layer_members(l, m);
	int rc = 0;

	*who = 0;
	*text = NULL;
	if (r->rate && !(rc = sl_client_control(l->socket, "status", text)))
		r->no_capacity = r->reads->no_capacity(*text);
	if (rc)
		return rc;
	free(*text);
	ru_words(r, ' ', words);
	snprintf(line, sizeof(line), "job %s %s%s %s", r->job_name, ru_holder(r, l->system, holder),
		 r->title_words, words);
	r->late = !*words && !run_forwards(r) && r->own && !r->title && !r->print && !ru_summary(r);
	if (r->late ? layer_enter_one(l, m, n)
		    : !*words && !run_forwards(r) && layer_post(l, m, n, line))
		return 0;
	rc = layer_tell(l, m, n, line, false, who, text);
	if (rc == -ETIMEDOUT && !run_forwards(r) && ru_others(m, n)) {
		cli_warn(cmd,
			 "an I/O node of layer '%s' does not answer; the others serve the job.",
			 l->name);
		free(*text);
		rc = layer_tell(l, m, n, line, false, who, text);
	}
	layer_enter_one(l, m, n); /* do not begin with a node that has died meanwhile */
	return rc;
}

/* Whether no node answered only because one is dying or being revived. */
static bool ru_changing(const struct layer *l)
{
	enum layer_state state = layer_state(l);

	return state == LAYER_UP || state == LAYER_BUSY;
}

/*
 * In the turn route Sluice never prevents a program from running. If the node lives but does not
 * answer, because it is stopped or its machine is overloaded, the program starts. Its calls pass
 * until the node answers; then its library registers the job.
 */
static bool ru_goes_on(const struct run *r, const struct layer *l, int rc)
{
	if (rc != -ETIMEDOUT || layer_state(l) != LAYER_UP ||
	    (r->mode && !strcmp(r->mode, "forward")))
		return false;
	cli_warn(cmd, "layer '%s' does not answer; the program is not scheduled until it does.",
		 l->name);
	return true;
}

/* If a resource manager runs, only its control group identifies the job. */
static void ru_identity(struct run *r)
{
	const char *tag = sl_tag_of(r->job_name);
	char name[sizeof(r->job_name) + SL_TAG_MAX];
	struct sl_cgroup group;

	sl_cgroup_of(getpid(), &group);
	snprintf(name, sizeof(name), tag ? "%s:%s" : "%s", group.job, tag);
	if (group.kind == SL_CGROUP_SLURM && strcmp(name, r->job_name) != 0) {
		if (r->job)
			cli_warn(cmd, "this is Slurm job %s; --job %s is ignored.", group.job,
				 r->job);
		snprintf(r->job_name, sizeof(r->job_name), "%.*s", CHECK_JOB_NAME, name);
	}
	/* All programs of a login shell belong to the job of its session. */
	if (group.kind == SL_CGROUP_SESSION && r->print && !strncmp(r->job_name, "run-", 4))
		snprintf(r->job_name, sizeof(r->job_name), "%s", group.job);
}

/* The name of the part of the job, if --tag was given. */
static int ru_tag(struct run *r)
{
	size_t length = strlen(r->job_name);

	if (!r->tag)
		return CLI_OK;
	if (length + 1 + strlen(r->tag) > CHECK_JOB_NAME)
		return cli_usage(cmd, "--tag: '%s:%s' is longer than %d characters.", r->job_name,
				 r->tag, CHECK_JOB_NAME);
	snprintf(r->job_name + length, sizeof(r->job_name) - length, ":%s", r->tag);
	r->own = false;
	return CLI_OK;
}

static int ru_local(struct run *r)
{
	int64_t until_ms = sl_clock_ms() + LAYER_BRIEF_MS, timeout_ns = TIMEOUT_NS;
	char who[48], *text;
	struct layer l;
	int rc, status;

	if (r->timeout)
		sl_parse_time(r->timeout, &timeout_ns);
	timeout_ns = timeout_ns < TIMEOUT_NS ? timeout_ns : TIMEOUT_NS;
	for (;;) {
		if ((status = cli_layer(cmd, layer_choose(&l, r->name))))
			return status;
		l.answer_ms = (int)(timeout_ns / 1000000) + 1;
		if (l.system && run_forwards(r))
			return cli_fail(
				cmd,
				"layer '%s' is for all users and supports only turns; leave out "
				"--mode forward.",
				l.name);
		if ((status = run_site(r, &l)) || (status = run_gate(r)))
			return status;
		if (l.system)
			ru_identity(r);
		rc = ru_register(r, &l, who, &text);
		if (rc != -ENOTCONN || !ru_changing(&l) || sl_clock_ms() >= until_ms)
			break;
		free(text);
		usleep(LAYER_AGAIN_MS * 1000);
	}
	if (!ru_goes_on(r, &l, rc) && (status = cli_layer(cmd, layer_report(&l, who, rc, &text))))
		return status;
	free(text);
	ru_warn_rate(r);
	if (layer_root(&l, r->root))
		return cli_fail(cmd, "cannot read %s/root; stop the layer and start it again.",
				l.dir);
	snprintf(r->socket, sizeof(r->socket), "%s", l.socket);
	r->layer = l;
	return CLI_OK;
}

/* ---- a layer of another machine ---- */

/* The path of its directory on this machine: --directory, else the same path. */
static int ru_directory(struct run *r, const char *answer)
{
	char root[PATH_MAX];
	const char *dir = r->directory ? r->directory : root;
	struct stat st;

	r->reads->root(answer, root);
	if (!realpath(dir, r->root) || stat(r->root, &st) || !S_ISDIR(st.st_mode))
		return cli_fail(cmd,
				"%s, the directory of the layer, does not exist on this machine%s.",
				dir, r->directory ? "" : "; give its path with --directory");
	return CLI_OK;
}

static int ru_remote(struct run *r)
{
	char line[WORDS + 256], words[WORDS], *answer = NULL;
	struct remote node;
	int status;

	if (!realpath(r->secret_file, r->secret))
		return cli_fail(cmd, "cannot use the secret in %s: %s.", r->secret_file,
				strerror(errno));
	status = remote_open(&node, cmd, r->connect, r->secret, r->job_name);
	if (!status && !(status = remote_ask(&node, "status", &answer))) {
		if (r->rate)
			r->no_capacity = r->reads->no_capacity(answer);
		ru_warn_rate(r);
		status = ru_directory(r, answer);
	}
	free(answer);
	if (!status) {
		ru_words(r, ' ', words);
		snprintf(line, sizeof(line), "job %s %s %s", r->job_name, r->title_words, words);
		status = remote_ask(&node, line, NULL);
	}
	remote_close(&node);
	snprintf(r->socket, sizeof(r->socket), "tcp:%s", r->connect);
	return status;
}

/* After the job is registered: warn of rates that are probably typing errors. */
static void ru_warn_low(const struct run *r)
{
	const struct {
		const char *option, *value;
	} rates[] = { { "--min", r->key[K_MIN - K_FIRST] },
		      { "--max", r->key[K_MAX - K_FIRST] },
		      { "--rate", r->rate } };
	char warning[CHECK_TEXT];

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (check_low_rate(rates[i].option, rates[i].value, CHECK_LOW_JOB, warning))
			cli_warn(cmd, "%s", warning);
}

static int ru_check(const struct run *r)
{
	if (r->rate && (r->key[K_MIN - K_FIRST] || r->key[K_MAX - K_FIRST]))
		return cli_usage(cmd,
				 "--rate sets min and max; give either --rate or --min and --max.");
	if (r->connect && r->name)
		return cli_usage(cmd, "--name is for layers of this machine; give either --name or "
				      "--connect.");
	if (!r->connect && (r->secret_file || r->directory))
		return cli_usage(cmd, "--secret-file and --directory are for --connect.");
	if (r->connect && !r->secret_file)
		return cli_usage(cmd,
				 "--connect needs the secret of the layer: --secret-file FILE.");
	if (r->strict && r->intercept && strcmp(r->intercept, "gate") != 0)
		return cli_usage(cmd, "--strict is for --intercept gate.");
	if (r->strict && r->print)
		return cli_usage(cmd, "--strict needs a program: a gate cannot be added to a shell "
				      "that is already running.");
	if (r->strict && run_forwards(r))
		return cli_usage(cmd, "--strict is for --mode turn: in forward mode the node makes "
				      "the calls.");
	if (r->intercept && !strcmp(r->intercept, "gate") && run_forwards(r))
		return cli_usage(cmd, "--intercept gate is for --mode turn: in forward mode the "
				      "node makes the calls.");
	if (r->connect && r->summary > 0)
		return cli_usage(cmd, "--summary is for layers of this machine.");
	if (r->connect && r->mode && !strcmp(r->mode, "turn"))
		return cli_usage(cmd, "--mode turn is for layers of this machine.");
	return CLI_OK;
}

int run_command(int argc, char **argv, const struct run_status *reads)
{
	char library[PATH_MAX], words[WORDS];
	struct run r = { .reads = reads };
	int status;

	if ((status = ru_options(&r, argc, argv)))
		return cli_end(status);
	if (optind == argc && !r.print)
		return cli_usage(cmd, "no command given.");
	if (optind < argc && r.print)
		return cli_usage(cmd, "--print-env runs no command; leave out '%s'.", argv[optind]);
	if (!reads && (r.rate || r.connect || ru_summary(&r)))
		return RUN_TOOLS;
	ru_owner(&r);
	ru_words(&r, ',', words);
	if (strlen(words) == WORDS - 1)
		return cli_usage(cmd,
				 "all limits together are longer than %d characters; give some "
				 "of them with 'sluice set'.",
				 WORDS - 1);
	r.own = run_job_name(r.job, ru_process(&r), r.job_name);
	ru_title(&r, r.print ? r.job_name : argv[optind]);
	if ((status = ru_tag(&r)) || (status = ru_check(&r)) ||
	    (status = cli_layer(cmd, layer_preload(library))) ||
	    (status = r.connect ? ru_remote(&r) : ru_local(&r)))
		return status;
	ru_warn_low(&r);
	if (ru_summary(&r) &&
	    reads->summary(&r.layer, r.job_name, *r.gate && run_gate_for_all(&r), &status))
		return status;
	ru_words(&r, ',', words);
	if (r.late)
		snprintf(words, sizeof(words), "pid=%d,%s", (int)ru_process(&r), r.title_words);
	run_environment(&r, library, words);
	return r.print ? run_print() : run_exec(&r, argv + optind);
}
