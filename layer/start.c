/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start the members of a layer in the background. They inherit the lock and keep it while they
 * live. Each sends a byte through a pipe when it is ready; the end of the pipe without a byte means
 * that it has failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/replace.h"
#include "layer/layer.h"

#define READY_MS  15000 /* a node that takes longer is considered stuck */
#define STOP_MS	  15000 /* it drains for 10 s at most */
#define TURN_MS	  15000 /* a process that holds the turn longer is stuck */
#define LOG_LINES 5

enum { FD_LOCK = 3, FD_READY = 4 }; /* in the member; members.c looks for the lock there */

/* In the child: start a session, and keep only the lock and the pipe. */
static void st_become(const struct layer *l, int ready, int log, const char *const *args)
{
	int lock = l->lock;
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	setsid();
	umask(0077);
	if (chdir("/"))
		_exit(127);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* The shell may run through a layer, but the node's own I/O must not. */
	unsetenv("SLUICE_SOCKET");
	unsetenv("SLUICE_ROOT");
	if (l->system) { /* this account must not use root's home directory */
		setenv("HOME", l->dir, 1);
		unsetenv("XDG_STATE_HOME");
		unsetenv("XDG_CACHE_HOME");
	}
	/* Move the descriptors first: their numbers may be needed for others. */
	lock = fcntl(lock, F_DUPFD, 10);
	ready = fcntl(ready, F_DUPFD, 10);
	log = fcntl(log, F_DUPFD, 10);
	null = fcntl(null, F_DUPFD, 10);
	if (dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 || dup2(lock, FD_LOCK) < 0 ||
	    dup2(ready, FD_READY) < 0)
		_exit(127);
	close_range(FD_READY + 1, ~0U, 0);
	/* Permanently, together with all capabilities. */
	if (l->system &&
	    (!l->account || setgroups(0, NULL) || setgid(l->group) || setuid(l->account))) {
		dprintf(2, "cannot become the account %u\n", (unsigned)l->account);
		_exit(127);
	}
	execv(args[0], (char *const *)(uintptr_t)args);
	dprintf(2, "cannot start %s: %s\n", args[0], strerror(errno));
	_exit(127);
}

/* The last lines of the log, each on a line of its own behind two spaces. */
static void st_last_lines(int log, char *out, size_t size)
{
	char text[2048];
	off_t end = lseek(log, 0, SEEK_END);
	off_t from = end > (off_t)sizeof(text) - 1 ? end - (off_t)sizeof(text) + 1 : 0;
	ssize_t n = pread(log, text, sizeof(text) - 1, from);
	unsigned lines = 0;
	size_t used = 0;
	char *at;

	out[0] = 0;
	if (n <= 0)
		return;
	text[n] = 0;
	for (at = text + n - 1; at > text; at--)
		if (at[-1] == '\n' && ++lines == LOG_LINES)
			break;
	for (char *save = NULL, *line = strtok_r(at, "\n", &save); line && used < size;
	     line = strtok_r(NULL, "\n", &save))
		used += (size_t)snprintf(out + used, size - used, "\n  %s", line);
}

static int st_words(FILE *f, const void *what)
{
	fchmod(fileno(f), 0600); /* no other user may lock it */
	for (const char *const *args = what; *args; args++)
		fwrite(*args, 1, strlen(*args) + 1, f);
	return 0;
}

/* Words that end with a 0, in a file; a reader finds the old ones or these, never a part. */
static int st_keep(const struct layer *l, const char *file, const char *suffix,
		   const char *const *args)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.200s/%s%s", l->dir, file, suffix);
	return sl_replace(path, 0600, st_words, args);
}

int layer_turn(const struct layer *l)
{
	char path[PATH_MAX];
	int fd;

	/* Do not lock a file that all users may open. */
	snprintf(path, sizeof(path), "%.200s/%s", l->dir, l->system ? "args" : "root");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (int ms = 0; fd >= 0 && ms < TURN_MS && flock(fd, LOCK_EX | LOCK_NB); ms += 2)
		usleep(2000);
	return fd;
}

void layer_turn_end(int turn)
{
	if (turn >= 0)
		close(turn);
}

int layer_keep_option(const struct layer *l, const struct layer_member *m, const char *option,
		      const char *value)
{
	const char **args, **more;
	char *text;
	size_t n = 0, at = SIZE_MAX;
	int rc = layer_args(l, m, &args, &text);

	if (rc)
		return rc;
	for (; args[n]; n++)
		if (!strcmp(args[n], option))
			at = n;
	more = realloc(args, (n + 3) * sizeof(*args));
	if (!more)
		rc = -ENOMEM;
	args = more ? more : args;
	if (!rc && (at == SIZE_MAX || at + 1 == n)) {
		at = n;
		args[n + 2] = NULL;
	}
	if (!rc) {
		args[at] = option;
		args[at + 1] = value;
		rc = st_keep(l, "args", m->suffix, args);
	}
	free(args);
	free(text);
	return rc;
}

static const char *const changes[] = {
	"capacity", "capacity-ops", "admit", "share", "order", "open"
};

/* Not as options: a policy whose file has been removed would prevent the node from starting. */
int layer_keep_change(const struct layer *l, const char *line)
{
	char *copy = strdup(line), *save = NULL, *word, *one;
	int rc = copy ? 0 : -ENOMEM;

	if (copy && strncmp(line, "policy ", 7) != 0) {
		rc = st_keep(l, "set-",
			     !strncmp(line, "capacity ", 9)	   ? changes[0]
			     : !strncmp(line, "capacity-ops ", 13) ? changes[1]
								   : "open",
			     (const char *const[]){ line, NULL });
	} else if (copy) {
		strtok_r(copy, " ", &save);
		while (!rc && (word = strtok_r(NULL, " ", &save))) {
			if (asprintf(&one, "policy %s", word) < 0) {
				rc = -ENOMEM;
				break;
			}
			word[strcspn(word, "=")] = 0;
			rc = st_keep(l, "set-", word, (const char *const[]){ one, NULL });
			free(one);
		}
	}
	free(copy);
	return rc;
}

int layer_kept_change(const struct layer *l, unsigned which, char *line, size_t size)
{
	char file[32];

	if (which >= sizeof(changes) / sizeof(changes[0]))
		return -ERANGE;
	snprintf(file, sizeof(file), "set-%s", changes[which]);
	return layer_read(l, file, line, size) ? -ENOENT : 0;
}

int layer_launch(struct layer *l, const struct layer_member *m, const char *const *args,
		 struct layer_start *s)
{
	char text[32], path[PATH_MAX], old[PATH_MAX], called[32];
	int ready[2] = { -1, -1 }, rc;

	*s = (struct layer_start){ .ready = -1, .log = -1 };
	snprintf(path, sizeof(path), "%.200s/log%s", l->dir, m->suffix);
	snprintf(old, sizeof(old), "%.200s/log%s.old", l->dir, m->suffix);
	rename(path, old);
	s->log = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (s->log < 0 || pipe2(ready, O_CLOEXEC) || st_keep(l, "args", m->suffix, args))
		goto failed;
	s->pid = fork();
	if (s->pid == 0)
		st_become(l, ready[1], s->log, args);
	if (s->pid < 0) {
		s->pid = 0;
		goto failed;
	}
	close(ready[1]);
	s->ready = ready[0];
	snprintf(text, sizeof(text), "%d\n", (int)s->pid);
	snprintf(path, sizeof(path), "pid%s", m->suffix);
	layer_write(l, path, text);
	return 0;
failed:
	rc = layer_fail(-errno, "cannot start %s with its files in %s: %s.",
			layer_member_called(m, false, called), l->dir, strerror(errno));
	close(s->log);
	close(ready[0]);
	close(ready[1]);
	s->log = -1;
	return rc;
}

/* Wait for the byte that means ready. The end of the pipe means that the member has ended. */
int layer_ready(const struct layer_member *m, bool alone, struct layer_start *s)
{
	struct pollfd p = { .fd = s->ready, .events = POLLIN };
	char byte, called[32], said[LAYER_TEXT - 200];
	int rc, status = 0;

	layer_member_called(m, alone, called);
	do
		rc = poll(&p, 1, READY_MS);
	while (rc < 0 && errno == EINTR);
	if (rc > 0 && read(s->ready, &byte, 1) == 1) {
		rc = 0;
		goto out;
	}
	if (rc == 0)
		kill(s->pid, SIGKILL);
	waitpid(s->pid, &status, 0);
	s->pid = 0;
	st_last_lines(s->log, said, sizeof(said));
	if (rc == 0)
		rc = layer_fail(-ETIMEDOUT,
				"%s was not ready within %d s, and was stopped. Its log ends "
				"with:%s",
				called, READY_MS / 1000, said);
	else if (WIFSIGNALED(status))
		rc = layer_fail(-EIO, "%s did not start: %s. Its log ends with:%s", called,
				strsignal(WTERMSIG(status)), said);
	else
		rc = layer_fail(-EIO, "%s did not start. Its log ends with:%s", called, said);
out:
	close(s->ready);
	close(s->log);
	s->ready = s->log = -1;
	return rc;
}

void layer_stop(struct layer_start *s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (s[i].pid)
			kill(s[i].pid, SIGTERM);
	for (size_t i = 0; i < count; i++) {
		for (int ms = 0; s[i].pid && waitpid(s[i].pid, NULL, WNOHANG) == 0; ms += 10) {
			if (ms == STOP_MS)
				kill(s[i].pid, SIGKILL);
			usleep(10000);
		}
		if (s[i].ready >= 0)
			close(s[i].ready);
		if (s[i].log >= 0)
			close(s[i].log);
	}
}
