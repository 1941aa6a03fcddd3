/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice up --hosts LIST`: a layer on several machines, without an administrator. This machine has
 * the controller and a node. On each other machine a launcher (srun, ssh) runs `sluice up --join`,
 * which starts a node there and keeps running:
 *
 *	up --hosts n[1-3] ──┬─ controller, node 0            file `hosts` in the layer's directory
 *	                    ├─ srun … up --join n2@n1:4400 ── node n2
 *	                    ├─ srun … up --join n3@n1:4400 ── node n3
 *	                    └─ the keeper: holds their stdin open while `hosts` is there
 *
 * The first line of that stdin is the secret of the controller, so it appears in no command line
 * and no other file system. The end of stdin stops the nodes: 'sluice down' removes `hosts`, and
 * the keeper exits. This works with any launcher, and also if the launcher is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/up.h"
#include "layer/status.h"

static const char cmd[] = "up";

#define READY_MS INT64_C(60000) /* a batch system may be slow to start a step */
#define WORDS	 128
#define LINES	 5

/* The command line for one machine. */
struct uh_words {
	const char *word[WORDS];
	unsigned count;
	char join[SL_HOST_NAME + 320], nodes[16], host[SL_HOST_NAME + 16], program[PATH_MAX];
	char policy[CONFIG_NODE_STAGES][1032], *launch;
};

static void uh_add(struct uh_words *w, const char *word)
{
	if (w->count + 1 < WORDS)
		w->word[w->count++] = word;
	w->word[w->count] = NULL;
}

/* ---- which machines ---- */

static bool uh_is_here(const char *host)
{
	const char *slurm = getenv("SLURMD_NODENAME");
	char name[SL_HOST_NAME] = "";
	size_t length;

	if (slurm && *slurm)
		return !strcmp(host, slurm);
	gethostname(name, sizeof(name) - 1);
	length = strcspn(name, ".");
	return !strcmp(host, name) || !strcmp(host, "localhost") ||
	       (strlen(host) == length && !strncmp(host, name, length));
}

int up_hosts_check(struct up *u, const char *list)
{
	int rc = sl_hosts_parse(&u->hosts, list);

	if (rc == -EEXIST)
		return cli_usage(cmd, "--hosts: '%s' names a machine twice.", list);
	if (rc == -E2BIG)
		return cli_usage(cmd, "--hosts: more than %d machines, or a name that is too long.",
				 SL_HOSTS_MAX);
	if (rc)
		return cli_usage(cmd, "--hosts: cannot parse '%s'; write n1,n2,n3 or n[1-3].",
				 list);
	while (u->here < u->hosts.count && !uh_is_here(u->hosts.name[u->here]))
		u->here++;
	if (u->here == u->hosts.count)
		return cli_usage(cmd,
				 "--hosts: this machine is not in '%s'; the command has to be "
				 "run on one of them.",
				 list);
	u->machines = (unsigned)u->hosts.count;
	return CLI_OK;
}

/* ---- the command for another machine ---- */

static const char *uh_launcher(struct uh_words *w, const struct up *u, const char *host)
{
	char *save = NULL;

	if (!u->launch && getenv("SLURM_JOB_ID")) {
		snprintf(w->host, sizeof(w->host), "--nodelist=%s", host);
		uh_add(w, "srun");
		uh_add(w, "--quiet");
		uh_add(w, "--overlap");
		uh_add(w, "--nodes=1");
		uh_add(w, "--ntasks=1");
		uh_add(w, w->host);
		return NULL;
	}
	w->launch = strdup(u->launch ? u->launch : "ssh -o BatchMode=yes");
	for (char *word = w->launch ? strtok_r(w->launch, " ", &save) : NULL; word;
	     word = strtok_r(NULL, " ", &save))
		uh_add(w, word);
	uh_add(w, host);
	return w->word[0];
}

/*
 * The options for the nodes: those that were given, and the path of the file, which is read there
 * too.
 */
static void uh_options(struct uh_words *w, const struct up *u)
{
	static const struct {
		enum config_which key;
		const char *option;
	} keys[] = {
		{ CONFIG_NAME, "--name" },
		{ CONFIG_CAPACITY, "--capacity" },
		{ CONFIG_CAPACITY_OPS, "--capacity-ops" },
		{ CONFIG_WORKERS, "--workers" },
		{ CONFIG_DEVICE_MODEL, "--device-model" },
		{ CONFIG_LOG_LEVEL, "--log-level" },
		{ CONFIG_CONTROLLER_LOSS, "--controller-loss" },
		{ CONFIG_CHARGE, "--charge" },
		{ CONFIG_DIRTY, "--dirty" },
		{ CONFIG_INTERCEPT, "--intercept" },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (u->value[keys[i].key]) {
			uh_add(w, keys[i].option);
			uh_add(w, u->value[keys[i].key]);
		}
	if (config_flag(u->value[CONFIG_ASK_ALWAYS]))
		uh_add(w, "--ask-always");
	if (up_observes(u))
		uh_add(w, "--observe");
	for (int i = 0; i < CONFIG_NODE_STAGES; i++)
		if (u->policy[i]) {
			snprintf(w->policy[i], sizeof(w->policy[i]), "%s=%s", config_stages[i],
				 u->policy[i]);
			uh_add(w, "--policy");
			uh_add(w, w->policy[i]);
		}
	if (u->config_path[0]) {
		uh_add(w, "--config");
		uh_add(w, u->config_path);
	}
}

static int uh_command(struct uh_words *w, const struct up *u, const char *host, const char *at)
{
	const char *shell;
	int status;

	*w = (struct uh_words){ 0 };
	shell = uh_launcher(w, u, host);
	if ((status = cli_layer(cmd, layer_program(w->program))))
		return status;
	snprintf(w->join, sizeof(w->join), "%s@%s", host, at);
	snprintf(w->nodes, sizeof(w->nodes), "%u", u->machines);
	uh_add(w, w->program);
	uh_add(w, "up");
	uh_add(w, "--join");
	uh_add(w, w->join);
	uh_add(w, "--ionodes");
	uh_add(w, w->nodes);
	uh_options(w, u);
	uh_add(w, u->root);
	/* The remote shell splits them again. */
	for (unsigned i = 0; shell && i < w->count; i++)
		if (w->word[i][strspn(w->word[i],
				      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_@%+=:,./-")])
			return cli_usage(
				cmd,
				"--hosts: '%s' cannot be passed through the shell of another "
				"machine; use only letters, digits and _@%%+=:,./-.",
				w->word[i]);
	return CLI_OK;
}

/* ---- starting them ---- */

/* The address of the controller: as in --listen, else by the name of this machine in the list. */
static int uh_address(const struct up *u, char *out, size_t size)
{
	const char *listen = u->value[CONFIG_LISTEN], *colon = listen ? strrchr(listen, ':') : NULL;
	char line[1000], path[PATH_MAX];
	unsigned port = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%.200s/log-controller", u->layer.dir);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, "controller listen="),
			   *end = at ? strrchr(at, ':') : NULL;

		if (end)
			sscanf(end + 1, "%u", &port);
	}
	if (f)
		fclose(f);
	if (!port)
		return cli_fail(cmd, "%s does not contain the port; use --log-level info.", path);
	if (colon > listen)
		snprintf(out, size, "%.*s:%u", (int)(colon - listen), listen, port);
	else
		snprintf(out, size, "%s:%u", u->hosts.name[u->here], port);
	return CLI_OK;
}

static pid_t uh_run(const struct uh_words *w, int log, int *to)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0) {
		setsid(); /* Ctrl-C in the terminal is not for it */
		for (int i = 1; i < NSIG; i++)
			signal(i, SIG_DFL);
		if (dup2(ends[0], 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
			_exit(127);
		close_range(3, ~0U, 0); /* the lock of the layer, too */
		execvp(w->word[0], (char *const *)(uintptr_t)w->word);
		dprintf(2, "cannot start %s: %s\n", w->word[0], strerror(errno));
		_exit(127);
	}
	close(ends[0]);
	if (pid < 0)
		close(ends[1]);
	*to = pid < 0 ? -1 : ends[1];
	return pid;
}

/*
 * Start the keeper, which holds the launchers' stdin open until the layer goes down. False: cannot
 * start a process.
 */
static bool uh_keep(const int *to, size_t count, int hosts)
{
	struct stat st;
	long most = sysconf(_SC_OPEN_MAX);
	pid_t pid = fork();

	if (pid != 0)
		return pid > 0;
	setsid();
	signal(SIGPIPE, SIG_IGN);
	if (chdir("/"))
		_exit(1);
	for (int fd = 0; fd < (most < 65536 ? most : 65536); fd++) {
		bool used = fd == hosts;

		for (size_t i = 0; i < count; i++)
			used |= fd == to[i];
		if (!used)
			close(fd);
	}
	while (fstat(hosts, &st) == 0 && st.st_nlink)
		usleep(200000);
	_exit(0);
}

static bool uh_all_there(const struct up *u)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_members(&u->layer, m), up = 0;
	struct status *s = status_of_socket(m[n - 1].socket, 1000);

	for (size_t i = 0; s && i < s->ionodes_count; i++)
		up += s->ionodes[i].up != 0;
	status_free(s);
	return up >= u->machines;
}

static int uh_failed(const struct up *u, int log, const char *what, const char *host)
{
	char text[2048], *at = text;
	ssize_t n = pread(log, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	for (unsigned lines = 0; n > 0 && n-- > 1;)
		if (text[n - 1] == '\n' && ++lines == LINES) {
			at = text + n;
			break;
		}
	return cli_fail(cmd, "%s%s; the layer is not up. %s/log-hosts ends with:\n%s", what, host,
			u->layer.dir, at);
}

/* Wait until all nodes have connected to the controller. */
static int uh_wait(const struct up *u, pid_t *pid, int log)
{
	int64_t end = sl_clock_ms() + READY_MS;

	while (!uh_all_there(u)) {
		for (size_t i = 0; i < u->hosts.count; i++)
			if (pid[i] && waitpid(pid[i], NULL, WNOHANG) == pid[i]) {
				pid[i] = 0;
				return uh_failed(u, log, "no node was started on ",
						 u->hosts.name[i]);
			}
		if (sl_clock_ms() > end)
			return uh_failed(u, log, "not all nodes have connected within a minute",
					 "");
		usleep(50000);
	}
	return CLI_OK;
}

static int uh_begin(const struct up *u, pid_t *pid, int *to, int log, const char *secret)
{
	char at[320];
	int status = uh_address(u, at, sizeof(at));

	for (size_t i = 0; !status && i < u->hosts.count; i++) {
		struct uh_words w;

		if (i == u->here)
			continue;
		status = uh_command(&w, u, u->hosts.name[i], at);
		pid[i] = status ? 0 : uh_run(&w, log, &to[i]);
		free(w.launch);
		if (!status && pid[i] < 0) {
			pid[i] = 0;
			status = cli_fail(cmd, "cannot start %s: %s.", w.word[0], strerror(errno));
		} else if (!status) {
			dprintf(to[i], "%s\n", secret);
		}
	}
	return status;
}

static void uh_end(const struct up *u, pid_t *pid, int *to)
{
	for (size_t i = 0; i < u->hosts.count; i++)
		if (to[i] >= 0)
			close(to[i]);
	for (size_t i = 0; i < u->hosts.count; i++)
		for (int ms = 0; pid[i] > 0 && waitpid(pid[i], NULL, WNOHANG) == 0; ms += 10) {
			if (ms == 5000)
				kill(pid[i], SIGTERM);
			if (ms == 10000)
				kill(pid[i], SIGKILL);
			usleep(10000);
		}
}

int up_hosts(const struct up *u)
{
	pid_t *pid = calloc(u->hosts.count, sizeof(*pid));
	int *to = calloc(u->hosts.count, sizeof(*to));
	char secret[128], path[PATH_MAX];
	int log, hosts, status = CLI_OK;

	if (!pid || !to) {
		free(pid);
		free(to);
		return cli_fail(cmd, "no memory.");
	}
	snprintf(path, sizeof(path), "%.200s/log-hosts", u->layer.dir);
	log = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	snprintf(path, sizeof(path), "%.200s/hosts", u->layer.dir);
	hosts = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	for (size_t i = 0; hosts >= 0 && i < u->hosts.count; i++)
		dprintf(hosts, "%s\n", u->hosts.name[i]);
	for (size_t i = 0; i < u->hosts.count; i++)
		to[i] = -1;
	signal(SIGPIPE, SIG_IGN);
	if (log < 0 || hosts < 0 || layer_read(&u->layer, "secret", secret, sizeof(secret)))
		status = cli_fail(cmd, "cannot write into %s.", u->layer.dir);
	if (!status)
		status = uh_begin(u, pid, to, log, secret);
	if (!status)
		status = uh_wait(u, pid, log);
	if (!status && !uh_keep(to, u->hosts.count, hosts))
		status = cli_fail(cmd, "cannot start a process: %s.", strerror(errno));
	if (status)
		uh_end(u, pid, to);
	explicit_bzero(secret, sizeof(secret));
	close(log);
	close(hosts);
	free(pid);
	free(to);
	return status;
}

/* ---- on the other machines ---- */

int up_join_check(struct up *u, const char *word)
{
	const char *at = strchr(word, '@');

	if (!at || at == word || at - word >= (int)sizeof(u->join_name) || !strchr(at, ':'))
		return cli_usage(cmd, "--join needs NAME@HOST:PORT, not '%s'.", word);
	snprintf(u->join_name, sizeof(u->join_name), "%.*s", (int)(at - word), word);
	u->join = at + 1;
	return CLI_OK;
}

int up_join_secret(struct up *u)
{
	char line[128];

	if (!fgets(line, sizeof(line), stdin))
		return cli_fail(cmd, "--join reads the secret of the controller from stdin, but "
				     "there is none.");
	if (layer_write(&u->layer, "secret", line))
		return cli_fail(cmd, "cannot write into %s.", u->layer.dir);
	explicit_bzero(line, sizeof(line));
	snprintf(u->secret, sizeof(u->secret), "%.200s/secret", u->layer.dir);
	return CLI_OK;
}

static volatile sig_atomic_t uh_told;

static void uh_tell(int number)
{
	uh_told = number;
}

int up_join_stay(const struct up *u)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction action = { .sa_handler = uh_tell };
	struct pollfd in = { .fd = 0, .events = POLLIN };
	char byte[64], program[PATH_MAX];
	sigset_t told, before;
	ssize_t n = 1;

	sigemptyset(&told);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaction(signals[i], &action, NULL);
		sigaddset(&told, signals[i]);
	}
	fflush(stdout);
	/*
	 * Block the signals except during the sleep, so that none arrives between the check of
	 * uh_told and the sleep.
	 */
	sigprocmask(SIG_BLOCK, &told, &before);
	while (!uh_told && n > 0)
		if (ppoll(&in, 1, NULL, &before) > 0)
			n = read(0, byte, sizeof(byte));
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (cli_layer(cmd, layer_program(program)))
		return CLI_FAILED;
	execl(program, program, "down", "--if-up", "--name", u->layer.name, (char *)NULL);
	return cli_fail(cmd, "cannot start %s: %s.", program, strerror(errno));
}
