/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec and posix_spawn: a gate before programs that this library cannot be in.
 *
 * Such a program is static, of another libc or machine, makes its system calls itself, or starts
 * without LD_PRELOAD in its environment (gate/program.c). Then sluice-gate is executed in its
 * place, which puts the gate on and becomes the program, with the same arguments, environment,
 * descriptors and process id:
 *
 *	execve("/usr/bin/busybox", argv, envp)
 *	execve("…/sluice-gate", { "sluice-gate", "SLUICE_ROOT=…", …, "--", "/usr/bin/busybox", argv…
 *})
 *
 * system() and popen() start the shell inside libc, past these functions. The shell is preloaded
 * like any other program, and what it starts comes here.
 *
 * All of this may run in a child of vfork(), or of fork() in a program with threads: no memory is
 * allocated, no lock is taken. What is written to static memory is the same each time.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/conn/settings.h"
#include "client/gate/filter.h"
#include "client/gate/program.h"
#include "client/preload/preload.h"

#define LIBRARY "libsluice_preload.so"
#define GATE	"sluice-gate"
#define WORDS	8
#define ARGS	65536 /* of the execl functions */

static SL_AT_START enum gate_state gate; /* if there is one no other can be put on */

bool sl_exec_gated(void)
{
	/* The gate's own program, on its way to another. */
	if (!strcmp(program_invocation_short_name, GATE))
		return true;
	gate = gate_state();
	if (gate == GATE_OFF)
		return false;
	/* The gate lets those calls go that the library makes, if it can tell them apart. */
	if (gate != GATE_ON_STRICT && !client_settings()->passive && sl_stub_start())
		return false;
	client_set_gated();
	return true;
}

bool sl_exec_ops_caught(void)
{
	return gate >= GATE_ON_OPS;
}

/* ---- whether ---- */

static bool preloads(char *const *envp)
{
	for (; envp && *envp; envp++)
		if (!strncmp(*envp, "LD_PRELOAD=", 11) && strstr(*envp, LIBRARY))
			return true;
	return false;
}

/*
 * The library does not suffice, whatever the program: it is not there, or the gate is to be strict.
 */
static bool needs_always(char *const *envp)
{
	return client_settings()->strict || !preloads(envp);
}

static bool needs(enum gate_need need, bool all)
{
	return need != GATE_ABSENT && (need != GATE_PRIVILEGED || client_settings()->strict) &&
	       (need != GATE_NONE || all);
}

static bool is_bypassed(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !client_settings()->strict &&
	       client_listed(client_settings()->bypass, slash ? slash + 1 : path);
}

static bool is_possible(void)
{
	return sl_forwarding && !sl_forwarding_all && gate == GATE_OFF && client_settings()->gate;
}

static bool is_gated(const char *path, char *const *envp)
{
	int saved = errno;
	const bool all = needs_always(envp);
	bool is = is_possible() && path && !is_bypassed(path) && needs(gate_look(path, all), all);

	errno = saved;
	return is;
}

/* ---- the words for sluice-gate ---- */

/* A setting as NAME=VALUE, in memory that is the same each time. */
static char *word(size_t *used, const char *name, const char *value)
{
	static char memory[2 * PATH_MAX + 1024];
	size_t n = strlen(name), v = strlen(value);
	char *at = memory + *used;

	if (*used + n + v + 1 > sizeof(memory))
		return NULL;
	memcpy(at, name, n);
	memcpy(at + n, value, v + 1);
	*used += n + v + 1;
	return at;
}

static size_t words(char **out)
{
	const struct settings *s = client_settings();
	const struct {
		const char *name, *value;
	} all[] = {
		{ "SLUICE_ROOT=", s->root },
		{ "SLUICE_SOCKET=", s->socket },
		{ "SLUICE_JOB_ID=", s->hello.job },
		{ "SLUICE_JOB_CONF=", s->conf },
		{ "SLUICE_TIMEOUT=", s->timeout },
		{ "SLUICE_IO_URING=", s->uring ? "allow" : NULL },
		{ "SLUICE_STRICT=", s->strict ? "1" : NULL },
		{ "SLUICE_LOG=", s->log_file },
	};
	size_t used = 0, n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].value && *all[i].value &&
		    (out[n] = word(&used, all[i].name, all[i].value)))
			n++;
	return n;
}

static size_t count(char *const *argv)
{
	size_t n = 0;

	while (argv && argv[n])
		n++;
	return n;
}

/* sluice-gate's arguments for a program, at out[WORDS + 5 + count(argv)]. */
static void arguments(char **out, const char *how, const char *what, char *const *argv)
{
	size_t n = 0, args = count(argv);

	out[n++] = (char *)(uintptr_t)GATE;
	n += words(out + n);
	out[n++] = (char *)(uintptr_t)how;
	out[n++] = (char *)(uintptr_t)what;
	if (!args) /* the kernel has put an empty one there since 5.18 */
		out[n++] = (char *)(uintptr_t) "";
	for (size_t i = 0; i < args; i++)
		out[n++] = argv[i];
	out[n] = NULL;
}

#define ARGUMENTS(how, what, argv)                                                         \
	({                                                                                 \
		char **out_ = __builtin_alloca((WORDS + 5 + count(argv)) * sizeof(*out_)); \
		arguments(out_, how, what, argv);                                          \
		out_;                                                                      \
	})

static int exec_gated(const char *path, char *const *argv, char *const *envp)
{
	int saved = errno;

	sl_real.execve(client_settings()->gate, ARGUMENTS("--", path, argv), envp);
	/* There is no sluice-gate: the program runs without it. */
	errno = saved;
	return sl_real.execve(path, argv, envp);
}

/* ---- by path ---- */

int execve(const char *path, char *const argv[], char *const envp[])
{
	return is_gated(path, envp) ? exec_gated(path, argv, envp)
				    : sl_real.execve(path, argv, envp);
}

int execv(const char *path, char *const argv[])
{
	return is_gated(path, environ) ? exec_gated(path, argv, environ)
				       : SL_LATE(execv)(path, argv);
}

/* ---- by name ---- */

/* The file that the functions with a p would execute; NULL: none, or leave it to libc. */
static const char *in_path(const char *file, char out[PATH_MAX])
{
	const char *path = getenv("PATH"), *end;
	size_t length;

	if (!file || !*file)
		return NULL;
	if (strchr(file, '/'))
		return file;
	for (path = path ? path : "/bin:/usr/bin";; path = end + 1) {
		end = strchrnul(path, ':');
		length = (size_t)(end - path);
		if (length + strlen(file) + 2 <= PATH_MAX) {
			memcpy(out, path, length);
			if (length)
				out[length++] = '/';
			strcpy(out + length, file);
			if (!syscall(SYS_faccessat, AT_FDCWD, out, X_OK))
				return out;
		}
		if (!*end)
			return NULL;
	}
}

/* Apart, so that its memory is not on the stack when the program is executed. */
static __attribute__((noinline)) bool is_gated_in_path(const char *file, char *const *envp,
						       char *found, size_t size)
{
	char path[PATH_MAX];
	int saved = errno;
	const char *what = is_possible() ? in_path(file, path) : NULL;
	bool is = what && strlen(what) < size && is_gated(what, envp);

	if (is)
		strcpy(found, what);
	errno = saved;
	return is;
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
	char path[PATH_MAX];

	if (is_gated_in_path(file, envp, path, sizeof(path)))
		return exec_gated(path, argv, envp);
	return SL_LATE(execvpe)(file, argv, envp);
}

int execvp(const char *file, char *const argv[])
{
	char path[PATH_MAX];

	if (is_gated_in_path(file, environ, path, sizeof(path)))
		return exec_gated(path, argv, environ);
	return SL_LATE(execvp)(file, argv);
}

/* ---- with the arguments in a list ---- */

#define LIST(first, after)                                           \
	({                                                           \
		char **list_;                                        \
		va_list ap_;                                         \
		size_t n_ = 1;                                       \
                                                                     \
		va_start(ap_, first);                                \
		for (const char *w_ = first; w_ && n_ < ARGS; n_++)  \
			w_ = va_arg(ap_, const char *);              \
		va_end(ap_);                                         \
		list_ = __builtin_alloca((n_ + 1) * sizeof(*list_)); \
		va_start(ap_, first);                                \
		list_[0] = (char *)(uintptr_t)(first);               \
		for (size_t i_ = 1; i_ < n_; i_++)                   \
			list_[i_] = va_arg(ap_, char *);             \
		list_[n_] = NULL;                                    \
		after;                                               \
		va_end(ap_);                                         \
		list_;                                               \
	})

int execl(const char *path, const char *arg, ...)
{
	char **list = LIST(arg, (void)0);

	return execv(path, list);
}

int execlp(const char *file, const char *arg, ...)
{
	char **list = LIST(arg, (void)0);

	return execvp(file, list);
}

int execle(const char *path, const char *arg, ...)
{
	char *const *envp; /* comes after the list */
	char **list = LIST(arg, envp = va_arg(ap_, char *const *));

	return execve(path, list, envp);
}

/* ---- by descriptor ---- */

/* sluice-gate needs the descriptor, and closes it where exec would have. */
static void exec_fd_gated(int fd, char *const *argv, char *const *envp)
{
	char digits[12];
	size_t at = sizeof(digits) - 1;
	int flags = (int)syscall(SYS_fcntl, fd, F_GETFD), saved = errno;
	const bool all = needs_always(envp);

	if (!is_possible() || flags < 0 || !needs(gate_look_fd(fd, all), all)) {
		errno = saved;
		return;
	}
	digits[at] = 0;
	for (unsigned rest = (unsigned)fd; rest || at == sizeof(digits) - 1; rest /= 10)
		digits[--at] = (char)('0' + rest % 10);
	syscall(SYS_fcntl, fd, F_SETFD, 0);
	sl_real.execve(client_settings()->gate,
		       ARGUMENTS(flags & FD_CLOEXEC ? "--fd" : "--open-fd", digits + at, argv),
		       envp);
	syscall(SYS_fcntl, fd, F_SETFD, flags);
	errno = saved;
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
	exec_fd_gated(fd, argv, envp);
	return SL_LATE(fexecve)(fd, argv, envp);
}

int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	if (!*path && flags == AT_EMPTY_PATH)
		exec_fd_gated(dir, argv, envp);
	else if (!flags && (dir == AT_FDCWD || *path == '/') && is_gated(path, envp))
		return exec_gated(path, argv, envp);
	return SL_LATE(execveat)(dir, path, argv, envp, flags);
}

/* ---- posix_spawn ---- */

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	if (is_gated(path, envp) && !SL_LATE(posix_spawn)(pid, client_settings()->gate, actions,
							  attr, ARGUMENTS("--", path, argv), envp))
		return 0;
	return SL_LATE(posix_spawn)(pid, path, actions, attr, argv, envp);
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	char path[PATH_MAX];

	if (is_gated_in_path(file, envp, path, sizeof(path)) &&
	    !SL_LATE(posix_spawn)(pid, client_settings()->gate, actions, attr,
				  ARGUMENTS("--", path, argv), envp))
		return 0;
	return SL_LATE(posix_spawnp)(pid, file, actions, attr, argv, envp);
}
