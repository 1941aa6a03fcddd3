/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of Slurm (SPANK): `srun --io-max 100M ...` puts a job under a layer of its user.
 *
 * On each machine of a step, before its tasks start, slurmstepd runs `sluice run --print-env` as
 *the user (slurm_spank_user_init). That registers the job, whose name is the number that Slurm gave
 *it, for as long as slurmstepd lives, and prints the environment that makes programs use the layer;
 *the tasks get it. So all steps and tasks of a job are one job of the layer. If there is no layer
 *the tasks run without, and the first one says so on its stderr, if the user asked for anything.
 *
 * At the end of the batch script, or of an srun that is a job of its own, one line says what the
 *job did
 * (`sluice report --slurm N --line`). It has to get to where the task's stderr went, which only the
 *task knows: the task hands its descriptor over before it starts the program
 *(slurm_spank_task_init), by a pair of sockets, and slurmstepd writes to it when the last task has
 *ended (slurm_spank_task_exit). It must be closed then: for srun it is a pipe to slurmstepd itself,
 *which waits for its end.
 *
 * Nothing here fails a job. Every command is ended after COMMAND_MS.
 *
 * plugstack.conf:
 *
 *	optional /usr/lib/x86_64-linux-gnu/sluice/spank_sluice.so [sluice=PATH] [summary=no]
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

/* cppcheck-suppress unknownMacro */
SPANK_PLUGIN(sluice, 1)

#define COMMAND_MS 10000 /* `sluice run` itself waits for a node for 5 s at most */
#define OUTPUT	   16384
#define VALUE	   24 /* longest value of an option, as in `sluice run` */
#define BATCH_STEP \
	0xfffffffbU /* SLURM_BATCH_SCRIPT of slurm.h, which does not compile with our warnings */
#define INSIDE	   "SLURM_SLUICE_INSIDE" /* srun always hands on variables that begin with SLURM_ */
#define MOST_WORDS 32

enum option { IO_MAX, IO_MIN, IO_WEIGHT, IO_PERIOD, IO_SUMMARY, OPTIONS };

static const char *const run_options[] = { "--max", "--min", "--weight", "--period" };
static char value[OPTIONS][VALUE + 1];
static char program[512] = SL_PROGRAM;
static bool summary = true;
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
	default:
		return !strcmp(text, "yes") || !strcmp(text, "no");
	}
}

/* Of srun, sbatch and salloc; and again in slurmstepd (`remote`), where there is nobody to tell. */
static int take_option(int which, const char *text, int remote)
{
	static const char *const examples[] = { "100MB/s", "100MB/s", "10 (1 to 1000000)", "20m",
						"yes or no" };
	static const char *const names[] = { "max", "min", "weight", "period", "summary" };

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
	{ (char *)"io-summary", (char *)"yes|no",
	  (char *)"a line on its I/O at the job's end (yes)", 1, IO_SUMMARY, take_option },
};

static bool has_wishes(void)
{
	return *value[IO_MAX] || *value[IO_MIN] || *value[IO_WEIGHT] || *value[IO_PERIOD];
}

/* ---- running sluice as the user ---- */

struct user {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int count;
	char **environment;
};

static bool user_of(spank_t sp, struct user *u)
{
	*u = (struct user){ 0 };
	return spank_get_item(sp, S_JOB_UID, &u->uid) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_GID, &u->gid) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_SUPPLEMENTARY_GIDS, &u->groups, &u->count) ==
		       ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_ENV, &u->environment) == ESPANK_SUCCESS;
}

/* In the child. It has to be the user with all its ids, also where slurmstepd is so for the moment
 * only. */
static bool become(const struct user *u)
{
	if (geteuid() != 0 && getuid() == 0 && seteuid(0))
		return false;
	if (getuid() == 0 &&
	    (setgroups((size_t)u->count, u->groups) || setresgid(u->gid, u->gid, u->gid) ||
	     setresuid(u->uid, u->uid, u->uid)))
		return false;
	return getuid() == u->uid && geteuid() == u->uid;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

/* All that comes until the end of file, in time. */
static void read_all(int fd, int64_t until_ms, char out[OUTPUT])
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t at = 0;

	while (at + 1 < OUTPUT) {
		int64_t left_ms = until_ms - now_ms();
		ssize_t n;

		if (left_ms <= 0 || poll(&p, 1, (int)left_ms) <= 0)
			break;
		n = read(fd, out + at, OUTPUT - 1 - at);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	out[at] = 0;
}

static void child(const struct user *u, const char *const *words, int out)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (become(u) && null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 &&
	    dup2(out, 2) >= 0) {
		syscall(SYS_close_range, 3, ~0U, 0); /* old kernels: slurmstepd's close on exec */
		execve(program, (char *const *)words, u->environment);
	}
	_exit(127);
}

/* Its status, or -1; what it printed, on either descriptor, in `out`. */
static int command(const struct user *u, const char *const *words, char out[OUTPUT])
{
	int64_t until_ms = now_ms() + COMMAND_MS;
	int ends[2], status = -1;
	pid_t pid;

	*out = 0;
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0)
		child(u, words, ends[1]);
	close(ends[1]);
	if (pid > 0) {
		read_all(ends[0], until_ms, out);
		/* Who has closed its output ends; else it has taken too long. */
		while (waitpid(pid, &status, WNOHANG) == 0) {
			if (now_ms() >= until_ms)
				kill(pid, SIGKILL);
			usleep(1000);
		}
	}
	close(ends[0]);
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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

static void register_job(spank_t sp, uint32_t job, uint32_t step)
{
	char id[16], title[64] = "", nodes[16] = "", procs[16] = "", inherited[256] = "",
		     out[OUTPUT];
	const char *words[MOST_WORDS + 1] = { program, "run", "--print-env", "--job", id };
	struct user u;
	int status;

	/* A layer of another machine that the user has chosen (sluice run --connect): it is reached
	 * from here. */
	spank_getenv(sp, "SLUICE_SOCKET", inherited, sizeof(inherited));
	if (!strncmp(inherited, "tcp:", 4) || !user_of(sp, &u))
		return;
	snprintf(id, sizeof(id), "%u", job);
	spank_getenv(sp, "SLURM_JOB_NAME", title, sizeof(title));
	spank_getenv(sp, "SLURM_JOB_NUM_NODES", nodes, sizeof(nodes));
	spank_getenv(sp, "SLURM_NTASKS", procs, sizeof(procs));
	add(words, "--title", strpbrk(title, " \t\n") ? NULL : title);
	add(words, "--nodes", nodes);
	add(words, "--procs", procs);
	for (int i = IO_MAX; i <= IO_PERIOD; i++)
		add(words, run_options[i], value[i]);
	status = command(&u, words, out);
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
		status = command(&u, words, out);
	}
	if (status == 0) {
		set_environment(sp, out);
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

static void write_summary(spank_t sp, uint32_t job)
{
	char id[16], out[OUTPUT];
	const char *words[] = { program, "report", "--slurm", id, "--line", NULL };
	struct user u;
	int fd = take_over();

	snprintf(id, sizeof(id), "%u", job);
	if (fd >= 0 && user_of(sp, &u) && command(&u, words, out) == 0) {
		size_t length = strcspn(out, "\n");

		out[length] = '\n';
		if (write(fd, out, length + 1) < 0)
			slurm_debug("sluice: job %u: cannot write its summary: %m", job);
	}
	if (fd >= 0)
		close(fd);
}

/* ---- what Slurm calls ---- */

int slurm_spank_init(spank_t sp, int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		spank_option_register(sp, &options[i]);
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "sluice=", 7))
			snprintf(program, sizeof(program), "%s", argv[i] + 7);
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
