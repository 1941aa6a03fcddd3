/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of Slurm (SPANK): `srun --io-max 100M ...` puts a job under a layer.
 *
 * On each machine of a step, before its tasks start (slurm_spank_user_init), slurmstepd registers
 * the job, whose name is the number that Slurm gave it, for as long as slurmstepd lives:
 *
 *	sluice job add UID/N ...      as root, if there is a layer for all users: with the account, QoS,
 *	                              partition and number of machines that slurmctld has for it
 *	sluice run --print-env ...    as the user: with what the user wishes. Prints the environment
 *	                              that makes programs use the layer; the tasks get it.
 *
 * So all steps and tasks of a job are one job of the layer. If there is no layer the tasks run
 * without, and the first one says so on its stderr, if the user asked for anything.
 *
 * With gate=strict, root puts a gate before each task (slurm_spank_task_init_privileged, gate.c).
 *
 * At the end of the batch script, or of an srun that is a job of its own, one line says what the
 * job did (`sluice report --slurm N --line`). It has to get to where the task's stderr went, which
 * only the task knows: the task hands its descriptor over before it starts the program
 * (slurm_spank_task_init), by a pair of sockets, and slurmstepd writes to it when the last task has
 * ended (slurm_spank_task_exit). It must be closed then: for srun it is a pipe to slurmstepd itself,
 * which waits for its end.
 *
 * Nothing here fails a job, but a strict gate that cannot be put before it. Every command is ended
 * after COMMAND_MS.
 *
 * plugstack.conf:
 *
 *	optional /usr/lib/x86_64-linux-gnu/sluice/spank_sluice.so [ARGUMENT]...
 *
 *	sluice=PATH      the program; sluice-gate is looked for in ../libexec from there
 *	layer=NAME       the layer for all users (system)
 *	io-min=RATE      the most that a job may ask for with --io-min there (nothing)
 *	gate=strict      each data call of each task waits for its turn, whatever the program
 *	summary=no       no line at the end
 */
#include <errno.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/units.h"
#include "integrate/slurm/command.h"
#include "integrate/slurm/gate.h"

/* cppcheck-suppress unknownMacro */
SPANK_PLUGIN(sluice, 1)

#define COMMAND_MS 10000 /* `sluice run` itself waits for a node for 5 s at most */
#define OUTPUT	   16384
#define VALUE	   24 /* longest value of an option, as in `sluice run` */
#define BATCH_STEP \
	0xfffffffbU /* SLURM_BATCH_SCRIPT of slurm.h, which does not compile with our warnings */
#define INSIDE	   "SLURM_SLUICE_INSIDE" /* srun always hands on variables that begin with SLURM_ */
#define MOST_WORDS 32
#define NAME	   64
#define TAG	   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

enum option { IO_MAX, IO_MIN, IO_WEIGHT, IO_PERIOD, IO_TAG, IO_SUMMARY, OPTIONS };

static const char *const run_options[] = { "--max", "--min", "--weight", "--period" };
static char value[OPTIONS][VALUE + 1];
static char program[512] = SL_PROGRAM;
static char gate_program[512] = SL_GATE_PROGRAM;
static char site_layer[64] = "system";
static uint64_t most_min_bps; /* of --io-min in a layer for all users */
static bool summary = true, strict;
static bool in_site;		   /* the job is in a layer for all users */
static bool in_layer;		   /* ... or in one of its user */
static char note[256];		   /* what the first task says */
static int handed[2] = { -1, -1 }; /* the first task's stderr, to slurmstepd */
static uint32_t tasks_left;

/* ---- options ---- */

static bool is_weight(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && n >= 1 && n <= 1000000;
}

static bool is_valid(int which, const char *text)
{
	uint64_t bps;
	int64_t ns;

	switch (which) {
	case IO_MAX:
	case IO_MIN:
		return !sl_parse_rate(text, &bps) && bps > 0;
	case IO_WEIGHT:
		return is_weight(text);
	case IO_PERIOD:
		return !strcmp(text, "auto") || (!sl_parse_period(text, &ns) && ns > 0);
	case IO_TAG:
		return *text && !text[strspn(text, TAG)];
	default:
		return !strcmp(text, "yes") || !strcmp(text, "no");
	}
}

/* Of srun, sbatch and salloc; and again in slurmstepd (`remote`), where there is nobody to tell. */
static int take_option(int which, const char *text, int remote)
{
	static const char *const examples[] = {
		"100MB/s",  "100MB/s", "10 (1 to 1000000)", "20m", "letters, digits and - _ .",
		"yes or no"
	};
	static const char *const names[] = { "max", "min", "weight", "period", "tag", "summary" };

	if (!text || strlen(text) > VALUE || !is_valid(which, text)) {
		if (!remote)
			slurm_spank_log("sluice: --io-%s: '%s' was not understood; write %s.",
					names[which], text ? text : "", examples[which]);
		return -1;
	}
	snprintf(value[which], sizeof(value[which]), "%s", text);
	return 0;
}

/* Registered rather than exported as spank_options: those are for srun alone. */
static struct spank_option options[] = {
	{ (char *)"io-max", (char *)"RATE", (char *)"I/O of the job: no more than this", 1, IO_MAX,
	  take_option },
	{ (char *)"io-min", (char *)"RATE", (char *)"I/O of the job: guaranteed", 1, IO_MIN,
	  take_option },
	{ (char *)"io-weight", (char *)"N", (char *)"I/O of the job: share beside others (1)", 1,
	  IO_WEIGHT, take_option },
	{ (char *)"io-period", (char *)"TIME", (char *)"time from one I/O phase to the next", 1,
	  IO_PERIOD, take_option },
	{ (char *)"io-tag", (char *)"TAG",
	  (char *)"I/O of a part of the job, with limits of its own", 1, IO_TAG, take_option },
	{ (char *)"io-summary", (char *)"yes|no",
	  (char *)"a line on its I/O at the job's end (yes)", 1, IO_SUMMARY, take_option },
};

static bool has_wishes(void)
{
	return *value[IO_MAX] || *value[IO_MIN] || *value[IO_WEIGHT] || *value[IO_PERIOD] ||
	       *value[IO_TAG];
}

/* ---- the environment of the tasks ---- */

/* In place: 'a'\''b' becomes a'b. */
static void unquote(char *text)
{
	char *to = text;
	bool quoted = false;

	for (; *text; text++) {
		if (*text == '\'')
			quoted = !quoted;
		else if (*text == '\\' && !quoted && text[1])
			*to++ = *++text;
		else
			*to++ = *text;
	}
	*to = 0;
}

/* What `sluice run --print-env` printed. */
static void set_environment(spank_t sp, char *text)
{
	char *next;

	for (char *line = text; line && *line; line = next) {
		char *equals;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (!strncmp(line, "unset ", 6)) {
			spank_unsetenv(sp, line + 6);
		} else if (!strncmp(line, "export ", 7) && (equals = strchr(line, '='))) {
			*equals = 0;
			unquote(equals + 1);
			spank_setenv(sp, line + 7, equals + 1, 1);
		}
	}
}

__attribute__((format(printf, 1, 2))) static void remember(const char *form, ...)
{
	va_list ap;

	va_start(ap, form);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was started just above */
	vsnprintf(note, sizeof(note), form, ap);
	va_end(ap);
}

static void add(const char **words, const char *option, const char *argument)
{
	size_t n = 0;

	while (words[n])
		n++;
	if (argument && *argument && n + 2 < MOST_WORDS) {
		words[n] = option;
		words[n + 1] = argument;
	}
}

/* ---- what slurmctld knows ---- */

struct facts {
	char nodes[16], partition[32], qos[32], account[32], title[64];
};

/* A word of a control line, in place. */
static void make_word(char *text)
{
	for (char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr(",=\"", *c))
			*c = '_';
}

/*
 * From slurmctld: the environment of a job is what its user makes of it. The name of the job comes
 * last in the line, so that no name of a user's choice is taken for another field.
 */
static void ask_facts(uint32_t job, struct facts *f)
{
	static char text[COMMAND_OUTPUT];
	char id[16];
	const char *const words[] = { "squeue", "--noheader", "--states=all",
				      "--jobs", id,	      "--format=%A|%D|%P|%q|%a|%j",
				      NULL };
	char *line = text, *next,
	     *field, *const to[] = { f->nodes, f->partition, f->qos, f->account };
	size_t digits;

	snprintf(id, sizeof(id), "%u", job);
	digits = strlen(id);
	*f = (struct facts){ 0 };
	if (command_run(command_root(), words, text))
		slurm_debug("sluice: job %s: squeue: %s", id, text);
	/* Of an array there may be several. */
	while (line && (strncmp(line, id, digits) != 0 || line[digits] != '|'))
		line = (next = strchr(line, '\n')) ? next + 1 : NULL;
	if (!line)
		return;
	line[strcspn(line, "\n")] = 0;
	line += digits + 1;
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]) && (field = strsep(&line, "|")); i++) {
		make_word(field);
		if (strcmp(field, "(null)") != 0 && strcmp(field, "N/A") != 0)
			snprintf(to[i], i ? sizeof(f->qos) : sizeof(f->nodes), "%s", field);
	}
	if (line) {
		make_word(line);
		snprintf(f->title, sizeof(f->title), "%.63s", line);
	}
}

/* ---- the job ---- */

static bool layer_for_all(void)
{
	const char *dir = getenv("SLUICE_SYSTEM"), *name = strchr(site_layer, ':');
	char path[512];

	return snprintf(path, sizeof(path), "%s/%s/node.sock", dir && *dir ? dir : "/run/sluice",
			name ? name + 1 : "default") < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

static bool min_is_allowed(void)
{
	uint64_t bps = 0;

	return !sl_parse_rate(value[IO_MIN], &bps) && bps <= most_min_bps;
}

/* The name of the job, or of the part of it that is asked for, as the layer has it. */
static void name_of(uint32_t job, const struct command_user *u, char out[NAME])
{
	char owner[16] = "";

	if (u)
		snprintf(owner, sizeof(owner), "%u/", u->uid);
	snprintf(out, NAME, "%s%u%s%s", owner, job, *value[IO_TAG] ? ":" : "", value[IO_TAG]);
}

/* As root. Whether it is there now. */
static bool register_for_all(uint32_t job, const struct command_user *u, const char *procs)
{
	static const char *const keys[] = { "nodes", "partition", "qos", "account", "title" };
	char name[NAME], pid[24], text[8][96], out[COMMAND_OUTPUT];
	const char *words[MOST_WORDS + 1] = {
		program, "job", "add", "--name", site_layer, name, pid
	};
	struct facts f;
	const char *const facts[] = { f.nodes, f.partition, f.qos, f.account, f.title };
	size_t n = 7, at = 0;
	bool min;

	if (!layer_for_all())
		return false;
	ask_facts(job, &f);
	name_of(job, u, name);
	snprintf(pid, sizeof(pid), "pid=%d", (int)getpid());
	if (*procs) {
		snprintf(text[at], sizeof(text[at]), "procs=%s", procs);
		words[n++] = text[at++];
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (*facts[i]) {
			snprintf(text[at], sizeof(text[at]), "%s=%s", keys[i], facts[i]);
			words[n++] = text[at++];
		}
	min = *value[IO_MIN] && min_is_allowed();
	if (min) {
		snprintf(text[at], sizeof(text[at]), "min=%s", value[IO_MIN]);
		words[n] = text[at];
	} else if (*value[IO_MIN]) {
		remember("sluice: --io-min %s is more than jobs may ask for here (plugstack.conf: "
			 "io-min=RATE). The job runs without it.\n",
			 value[IO_MIN]);
	}
	if (!command_run(command_root(), words, out))
		return true;
	if (min) {
		remember("%.*s The job runs without --io-min.\n", (int)strcspn(out, "\n"), out);
		words[n] = NULL;
		if (!command_run(command_root(), words, out))
			return true;
		*note = 0;
	}
	slurm_info("sluice: job %u: %s", job, out);
	return false;
}

static void register_job(spank_t sp, uint32_t job, uint32_t step)
{
	char id[16], title[64] = "", nodes[16] = "", procs[16] = "", inherited[256] = "",
		     out[COMMAND_OUTPUT];
	const char *words[MOST_WORDS + 1] = { program, "run", "--print-env", "--job", id };
	struct command_user u;
	int status;

	/* A layer of another machine that the user has chosen (sluice run --connect): it is reached
	 * from here. */
	spank_getenv(sp, "SLUICE_SOCKET", inherited, sizeof(inherited));
	if (!strncmp(inherited, "tcp:", 4))
		return;
	/* Where slurmd looks for layers for all users its jobs do, too. */
	if (getenv("SLUICE_SYSTEM"))
		spank_setenv(sp, "SLUICE_SYSTEM", getenv("SLUICE_SYSTEM"), 1);
	if (!command_user(sp, &u))
		return;
	snprintf(id, sizeof(id), "%u", job);
	spank_getenv(sp, "SLURM_JOB_NAME", title, sizeof(title));
	spank_getenv(sp, "SLURM_JOB_NUM_NODES", nodes, sizeof(nodes));
	spank_getenv(sp, "SLURM_NTASKS", procs, sizeof(procs));
	make_word(title);
	add(words, "--title", title);
	add(words, "--procs", procs);
	in_site = register_for_all(job, &u, procs);
	if (in_site)
		add(words, "--name", site_layer);
	else
		add(words, "--nodes", nodes);
	add(words, "--tag", value[IO_TAG]);
	for (int i = IO_MAX; i <= IO_PERIOD; i++)
		if (i != IO_MIN || !in_site)
			add(words, run_options[i], value[i]);
	status = command_run(&u, words, out);
	if (status != 0 && has_wishes()) {
		/* A batch script may start a layer: its steps come here again. */
		const char *who = step == BATCH_STEP ? "The batch script" : "The job";

		if (*out)
			remember("%.*s %s runs without its --io options.\n",
				 (int)strcspn(out, "\n"), out, who);
		else
			remember("sluice: %s cannot be run on this machine. %s runs without its "
				 "--io options.\n",
				 program, who);
		/* Refused, perhaps: then it is scheduled as a job without wishes. */
		for (size_t n = 5; words[n]; n++)
			if (words[n] == run_options[IO_MAX] || words[n] == run_options[IO_MIN] ||
			    words[n] == run_options[IO_WEIGHT] ||
			    words[n] == run_options[IO_PERIOD])
				words[n] = NULL;
		status = command_run(&u, words, out);
	}
	in_layer = status == 0;
	if (in_layer) {
		set_environment(sp, out);
		if (strict)
			spank_setenv(sp, "SLUICE_STRICT", "1", 1);
	} else { /* those of the machine that the step was started from */
		spank_unsetenv(sp, "SLUICE_SOCKET");
		spank_unsetenv(sp, "SLUICE_ROOT");
	}
}

/* ---- the line at the end ---- */

static void hand_over(int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = room,
			    .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	sendmsg(handed[1], &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int take_over(void)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = room,
			    .msg_controllen = sizeof(room) };
	struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(handed[0], &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == 1 &&
	    (c = CMSG_FIRSTHDR(&m)) && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

/* Users do not read the account of a layer for all users: there it is asked for by root. Tasks of
 * other machines that use the same layer may need a moment more. */
static void write_summary(spank_t sp, uint32_t job)
{
	char name[NAME], out[COMMAND_OUTPUT];
	const char *words[MOST_WORDS + 1] = { program,	"report", "--job", name,
					      "--line", "--wait", "5s" };
	struct command_user u;
	int fd = take_over();

	if (in_site)
		add(words, "--name", site_layer);
	if (fd >= 0 && command_user(sp, &u)) {
		size_t length;

		name_of(job, in_site ? &u : NULL, name);
		if (command_run(in_site ? command_root() : &u, words, out) == 0) {
			length = strcspn(out, "\n");
			out[length] = '\n';
			command_write(fd, out, length + 1);
		}
	}
	if (fd >= 0)
		close(fd);
}

/* ---- what Slurm calls ---- */

/* PREFIX/bin/sluice, and PREFIX/libexec/sluice-gate. */
static void take_program(const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(program, sizeof(program), "%s", path);
	if (slash)
		snprintf(gate_program, sizeof(gate_program), "%.*s/../libexec/sluice-gate",
			 (int)(slash - path), path);
}

int slurm_spank_init(spank_t sp, int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		spank_option_register(sp, &options[i]);
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "sluice=", 7))
			take_program(argv[i] + 7);
		else if (!strncmp(argv[i], "layer=", 6))
			snprintf(site_layer, sizeof(site_layer), "%s", argv[i] + 6);
		else if (!strncmp(argv[i], "io-min=", 7) &&
			 !sl_parse_rate(argv[i] + 7, &most_min_bps))
			continue;
		else if (!strcmp(argv[i], "gate=strict"))
			strict = true;
		else if (!strcmp(argv[i], "summary=no"))
			summary = false;
		else if (strcmp(argv[i], "summary=yes") != 0)
			slurm_error("sluice: plugstack.conf: '%s' was not understood.", argv[i]);
	}
	/* A step of an allocation that somebody else prints the line for, or nobody: see
	 * slurm_spank_user_init(). */
	if (spank_context() == S_CTX_LOCAL && getenv("SLURM_JOB_ID"))
		setenv(INSIDE, "1", 1);
	else if (spank_context() == S_CTX_LOCAL || spank_context() == S_CTX_ALLOCATOR)
		unsetenv(INSIDE);
	return 0;
}

int slurm_spank_user_init(spank_t sp, int argc, char **argv)
{
	uint32_t job, step, node = 0;
	char inside[8] = "";

	(void)argc;
	(void)argv;
	if (!spank_remote(sp) || spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
		return 0;
	register_job(sp, job, step);
	spank_get_item(sp, S_JOB_NODEID, &node);
	spank_getenv(sp, INSIDE, inside, sizeof(inside));
	if (*value[IO_SUMMARY])
		summary = !strcmp(value[IO_SUMMARY], "yes");
	if (summary && node == 0 && (step == BATCH_STEP || !*inside) &&
	    spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &tasks_left) == ESPANK_SUCCESS &&
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, handed))
		handed[0] = handed[1] = -1;
	return 0;
}

int slurm_spank_task_init_privileged(spank_t sp, int argc, char **argv)
{
	struct command_user u;
	int rc = -EPERM;

	(void)argc;
	(void)argv;
	if (!strict || !in_layer)
		return 0;
	if (command_user(sp, &u))
		rc = gate_before_task(&u, gate_program, true);
	if (rc)
		slurm_error("sluice: this machine puts a strict gate before all tasks, and cannot: "
			    "%s.",
			    strerror(-rc));
	return rc;
}

int slurm_spank_task_init(spank_t sp, int argc, char **argv)
{
	uint32_t task = 0;

	(void)argc;
	(void)argv;
	if (spank_get_item(sp, S_TASK_GLOBAL_ID, &task) != ESPANK_SUCCESS || task != 0)
		return 0;
	if (*note && write(2, note, strlen(note)) < 0)
		slurm_debug("sluice: cannot write to the task's stderr: %m");
	if (handed[1] >= 0)
		hand_over(2);
	return 0;
}

int slurm_spank_task_exit(spank_t sp, int argc, char **argv)
{
	uint32_t job;

	(void)argc;
	(void)argv;
	if (handed[0] < 0 || !tasks_left || --tasks_left)
		return 0;
	if (spank_get_item(sp, S_JOB_ID, &job) == ESPANK_SUCCESS)
		write_summary(sp, job);
	close(handed[0]);
	close(handed[1]);
	handed[0] = handed[1] = -1;
	return 0;
}
