/* SPDX-License-Identifier: Apache-2.0 */
/* A private node and processes: see private.h. */
#include "lab/private.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "client/conn/client.h"
#include "layer/layer.h"

#define ARGS_MAX 32
#define READY_MS 15000
#define STOP_MS	 12000 /* it drains for 10 s at most */

volatile sig_atomic_t private_interrupted;

static const int pr_signals[] = { SIGINT, SIGTERM, SIGHUP };
static struct sigaction pr_old[3];

static void pr_on_signal(int number)
{
	private_interrupted = number;
}

/* Without SA_RESTART, so that waiting functions return and check private_interrupted. */
static void pr_catch(void)
{
	struct sigaction a = { .sa_handler = pr_on_signal };

	private_interrupted = 0;
	for (size_t i = 0; i < 3; i++)
		sigaction(pr_signals[i], &a, &pr_old[i]);
}

static void pr_uncatch(void)
{
	for (size_t i = 0; i < 3; i++)
		sigaction(pr_signals[i], &pr_old[i], NULL);
}

/* ---- directories ---- */

int private_begin(struct private *p, const char *cmd, const char *below)
{
	char name[40];

	*p = (struct private){ .cmd = cmd };
	snprintf(name, sizeof(name), "/sluice-%d-XXXXXX", (int)getpid());
	pr_catch();
	errno = ENAMETOOLONG;
	if (!realpath(below, p->dir) || strlen(p->dir) + strlen(name) >= sizeof(p->dir) ||
	    !mkdtemp(strcat(p->dir, name))) {
		int error = errno;

		p->dir[0] = 0;
		return cli_fail(cmd, "cannot make a directory for files in %s: %s.", below,
				strerror(error));
	}
	/* In /tmp, because the path of a socket must be short. */
	snprintf(p->runtime, sizeof(p->runtime), "/tmp%s", name);
	if (!mkdtemp(p->runtime)) {
		p->runtime[0] = 0;
		return cli_fail(cmd, "cannot make a directory in /tmp: %s.", strerror(errno));
	}
	snprintf(p->socket, sizeof(p->socket), "%s/node.sock", p->runtime);
	return CLI_OK;
}

static int pr_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path) && errno != ENOENT;
}

static void pr_stop(pid_t *pid)
{
	if (!*pid)
		return;
	kill(*pid, SIGTERM);
	for (int ms = 0; waitpid(*pid, NULL, WNOHANG) == 0; ms += 5) {
		if (ms == STOP_MS)
			kill(*pid, SIGKILL);
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	}
	*pid = 0;
}

int private_end(struct private *p, int status)
{
	int number = private_interrupted;

	private_stop_procs(p, 0);
	private_node_stop(p);
	while (p->more_count)
		pr_stop(&p->more[--p->more_count]);
	if (p->dir[0])
		nftw(p->dir, pr_remove, 16, FTW_DEPTH | FTW_PHYS);
	if (p->runtime[0])
		nftw(p->runtime, pr_remove, 16, FTW_DEPTH | FTW_PHYS);
	p->dir[0] = p->runtime[0] = 0;
	pr_uncatch();
	if (!number)
		return status;
	cli_fail(p->cmd, "interrupted; all temporary files were removed.");
	return CLI_FAILED;
}

/* ---- the node ---- */

/* In a child: die with this program, and ignore signals from the terminal. */
static void pr_child(pid_t parent, int death)
{
	pr_uncatch();
	prctl(PR_SET_PDEATHSIG, death);
	if (getppid() != parent)
		_exit(1);
}

/* In a child: execute sluiced with both lists of words. */
static void pr_become(const struct private *p, pid_t parent, int ready, const char *log,
		      const char *const *words, const char *const *options)
{
	char daemon[PATH_MAX], path[128], number[16];
	const char *args[ARGS_MAX] = { daemon };
	unsigned n = 1;
	int fd;

	pr_child(parent, SIGTERM);
	setsid();
	signal(SIGPIPE, SIG_DFL);
	snprintf(path, sizeof(path), "%s/%s", p->runtime, log);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ready = fcntl(ready, F_DUPFD, 3); /* without O_CLOEXEC */
	if (fd < 0 || ready < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 ||
	    cli_result(p->cmd, layer_daemon(daemon), layer_error()))
		_exit(127);
	snprintf(number, sizeof(number), "%d", ready);
	while (*words && n < ARGS_MAX - 3)
		args[n++] = *words++;
	args[n++] = "--ready-fd";
	args[n++] = number;
	while (options && *options && n < ARGS_MAX - 1)
		args[n++] = *options++;
	execv(daemon, (char *const *)(uintptr_t)args);
	dprintf(2, "cannot start %s: %s\n", daemon, strerror(errno));
	_exit(127);
}

static int pr_not_started(const struct private *p, const char *log)
{
	char path[128], text[1000] = "";
	FILE *f;
	size_t n = 0;

	if (private_interrupted)
		return CLI_FAILED;
	snprintf(path, sizeof(path), "%s/%s", p->runtime, log);
	if ((f = fopen(path, "r"))) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return cli_fail(p->cmd, "the node did not start%s%s", *text ? ": " : ".", text);
}

/* Start sluiced and wait until it is ready. */
static int pr_start(const struct private *p, pid_t *pid, const char *log, const char *const *words,
		    const char *const *options)
{
	pid_t parent = getpid();
	struct pollfd poll_fd = { .events = POLLIN };
	int ready[2], rc;
	char byte;

	if (pipe2(ready, O_CLOEXEC))
		return cli_fail(p->cmd, "cannot make a pipe: %s.", strerror(errno));
	*pid = fork();
	if (*pid == 0)
		pr_become(p, parent, ready[1], log, words, options);
	close(ready[1]);
	if (*pid < 0) {
		*pid = 0;
		close(ready[0]);
		return cli_fail(p->cmd, "cannot start a process: %s.", strerror(errno));
	}
	poll_fd.fd = ready[0];
	rc = poll(&poll_fd, 1, READY_MS);
	rc = rc == 1 && read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	if (rc)
		return CLI_OK;
	pr_stop(pid);
	return pr_not_started(p, log);
}

int private_node_start(struct private *p, const char *const *options)
{
	const char *words[] = { "ionode", "--root", p->dir, "--socket", p->socket, NULL };

	return pr_start(p, &p->node, "log", words, options);
}

void private_node_stop(struct private *p)
{
	pr_stop(&p->node);
}

int private_more_start(struct private *p, const char *const *words)
{
	char log[24];
	int rc;

	if (p->more_count == PRIVATE_MORE)
		return cli_fail(p->cmd, "too many nodes.");
	snprintf(log, sizeof(log), "log-%u", p->more_count);
	rc = pr_start(p, &p->more[p->more_count], log, words, NULL);
	p->more_count += !rc;
	return rc;
}

/* ---- processes ---- */

static void pr_environment(const struct private *p, const char *job, const char *conf)
{
	setenv("SLUICE_ROOT", p->dir, 1);
	setenv("SLUICE_SOCKET", p->socket, 1);
	setenv("SLUICE_JOB_ID", job, 1);
	setenv("SLUICE_TIMEOUT", "5", 1);
	setenv("SLUICE_MODE", "forward", 1);
	unsetenv("SLUICE_BYPASS");
	unsetenv("SLUICE_FALLBACK");
	unsetenv("SLUICE_JOB_CONF");
	if (conf)
		setenv("SLUICE_JOB_CONF", conf, 1);
}

int private_spawn(struct private *p, const char *job, const char *conf,
		  int (*main)(void *arg, int sock), void *arg)
{
	struct private_proc *proc = &p->proc[p->procs];
	pid_t parent = getpid();
	int pair[2];

	if (p->procs == PRIVATE_PROCS || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		cli_fail(p->cmd, "cannot start a process: %s.",
			 p->procs == PRIVATE_PROCS ? "too many" : strerror(errno));
		return -1;
	}
	fflush(NULL);
	proc->pid = fork();
	if (proc->pid == 0) {
		pr_child(parent, SIGKILL);
		/* Otherwise the others would not see the end of the stream. */
		for (unsigned i = 0; i < p->procs; i++)
			close(p->proc[i].sock);
		close(pair[0]);
		pr_environment(p, job, conf);
		_exit(main(arg, pair[1]));
	}
	close(pair[1]);
	if (proc->pid < 0) {
		cli_fail(p->cmd, "cannot start a process: %s.", strerror(errno));
		close(pair[0]);
		return -1;
	}
	proc->sock = pair[0];
	return (int)p->procs++;
}

bool private_receive(int sock, void *data, size_t size)
{
	size_t have = 0;

	while (have < size && !private_interrupted) {
		struct pollfd p = { .fd = sock, .events = POLLIN };
		ssize_t n;

		/* With a timeout, because a signal just before poll() would not interrupt it. */
		if (poll(&p, 1, 200) <= 0)
			continue;
		n = read(sock, (char *)data + have, size - have);
		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	return have == size;
}

bool private_send(int sock, const void *data, size_t size)
{
	return send(sock, data, size, MSG_NOSIGNAL) == (ssize_t)size;
}

void private_stop_procs(struct private *p, unsigned from)
{
	for (unsigned i = from; i < p->procs; i++) {
		kill(p->proc[i].pid, SIGKILL);
		close(p->proc[i].sock);
	}
	for (unsigned i = from; i < p->procs; i++)
		while (waitpid(p->proc[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
	p->procs = from < p->procs ? from : p->procs;
}
