/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: also holds the listener, and restarts the supervisor when it has ended.
 *
 * If the last descriptor of a listener is closed, every intercepted call fails with ENOSYS. So two
 * processes hold it. If the supervisor has been killed, the keeper lets the calls continue that it
 * had received (they are in shared memory) and starts a new supervisor; the kernel holds the other
 * calls meanwhile, for about a millisecond. The supervisor does the same for the keeper. A stopped
 * supervisor is killed after SILENT_MS, because programs wait for it. If no supervisor can be
 * started, the keeper answers all calls itself.
 *
 * If both are killed within half a second, caught calls fail with ENOSYS: docs/interception.md.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/conn/turn.h"
#include "client/gate/serve.h"

#define LOOK_MS	  1000
#define BLIND_MS  10
#define SILENT_MS 3000
#define ALONE_NS \
	INT64_C(1000000000)	   /* how long the keeper answers itself before it tries again \
				    */
#define SHORT_NS INT64_C(10000000) /* a supervisor that lived for less did not work */
#define SHORTS	 20

/* What the last supervisor had received. */
static void release(const struct gate *g)
{
	for (unsigned slot = 0; slot < GATE_SLOTS; slot++) {
		struct seccomp_notif *n = gate_place(g, slot);
		struct gate_work *w = &g->shared->work[slot];

		if (!n->id)
			continue;
		if (gate_answer(g, n->id))
			atomic_fetch_add(&g->shared->past, w->bytes[SL_READ] + w->bytes[SL_WRITE]);
		*w = (struct gate_work){ 0 };
		memset(n, 0, g->stride);
	}
}

static pid_t start(struct gate *g)
{
	pid_t keeper = getpid(), pid = fork();

	if (pid == 0)
		gate_serve(g, keeper);
	return pid;
}

static void stand_in(const struct gate *g)
{
	int64_t until = turn_now_ns() + ALONE_NS;
	struct seccomp_notif *n = gate_place(g, 0);

	while (turn_now_ns() < until) {
		struct pollfd p = { .fd = g->listener, .events = POLLIN };

		if (poll(&p, 1, LOOK_MS) != 1)
			continue;
		if (p.revents & (POLLHUP | POLLERR))
			_exit(0);
		if (ioctl(g->listener, SECCOMP_IOCTL_NOTIF_RECV, n) == 0)
			gate_answer(g, n->id);
		memset(n, 0, g->stride);
	}
}

/* Without a descriptor of the process (no room for one): whether it has ended. */
static bool has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == pid || (kill(pid, 0) && errno == ESRCH);
}

/* Until the supervisor has ended, which need not be a child. */
static void watch(const struct gate *g, pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int64_t seen_ns = turn_now_ns();
	uint64_t seen = 0;
	bool ended = false;

	while (!ended) {
		/* poll() ignores a negative descriptor. */
		struct pollfd p[] = { { .fd = g->listener }, { .fd = pidfd, .events = POLLIN } };
		uint64_t beats = atomic_load(&g->shared->beats);
		int64_t now = turn_now_ns();

		if (beats != seen) {
			seen = beats;
			seen_ns = now;
		}
		if (now - seen_ns > SILENT_MS * INT64_C(1000000)) {
			kill(pid, SIGKILL);
			seen_ns = now;
		}
		poll(p, 2, pidfd < 0 ? BLIND_MS : LOOK_MS);
		if (p[0].revents & (POLLHUP | POLLERR)) {
			kill(pid, SIGKILL);
			_exit(0);
		}
		ended = pidfd < 0 ? has_ended(pid) : p[1].revents != 0;
	}
	if (pidfd >= 0)
		close(pidfd);
	waitpid(pid, NULL, WNOHANG);
}

_Noreturn void gate_keep(struct gate *g, pid_t supervisor)
{
	unsigned shorts = 0;

	for (;;) {
		int64_t begin = turn_now_ns();
		pid_t pid = supervisor ? supervisor : start(g);

		if (pid > 0)
			watch(g, pid);
		supervisor = 0;
		release(g);
		shorts = turn_now_ns() - begin < SHORT_NS ? shorts + 1 : 0;
		if (pid < 0 || shorts >= SHORTS)
			stand_in(g);
	}
}
