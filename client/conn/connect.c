/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection of this process: keep it, and handle its loss. dial.c connects; files.c has the
 * files in it.
 *
 * This code runs inside other people's programs. It never closes or reads a descriptor before it
 * has checked that it is its own: the program may have closed ours and opened another file under
 * the number, so the socket's inode is compared before each use. No fork or signal handler can find
 * its lock taken: signals are blocked while it is held, and a child starts with new state (it
 * detects the fork by a page that the kernel wipes). It allocates with mmap.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/oldlibc.h"
#include "client/conn/dial.h"
#include "client/conn/phase.h"
#include "client/conn/settings.h"
#include "client/conn/tcp.h"
#include "client/conn/where.h"

#define LOOK_NS	    INT64_C(1000000000)
#define IMPOSTOR_NS INT64_C(2000000000)
#define ATTEMPTS    8U /* that may be made beyond the timeout */

enum { FREE, TAKEN, WANTED }; /* WANTED: taken, and a thread sleeps for it */

static struct {
	_Atomic uint32_t lock;
	sigset_t mask; /* signal mask of the lock's holder, to restore */
	struct conn *_Atomic current;
	uint64_t lives;
	_Atomic uint32_t *mark;	  /* in a page that is zero in a child */
	_Atomic uint32_t process; /* differs in a child */
	atomic_bool given_up;	  /* a wait for a node timed out, and was reported */
	_Atomic int64_t look_ns;  /* if so: when to look for a node again */
} g;

/* ---- the lock, and fork ---- */

void conn_lock(sigset_t *old)
{
	uint32_t seen = FREE;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, old);
	if (!atomic_compare_exchange_strong(&g.lock, &seen, TAKEN))
		while (atomic_exchange(&g.lock, WANTED) != FREE)
			syscall(SYS_futex, &g.lock, FUTEX_WAIT_PRIVATE, WANTED, NULL, NULL, 0);
	g.mask = *old;
}

void conn_unlock(const sigset_t *old)
{
	if (atomic_exchange(&g.lock, FREE) == WANTED)
		syscall(SYS_futex, &g.lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	sigprocmask(SIG_SETMASK, old, NULL);
}

void conn_let_end(void)
{
	static const int ends[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE,
				    SIGALRM, SIGTERM, SIGUSR1, SIGUSR2 };
	sigset_t pending, fatal;

	sigemptyset(&fatal);
	if (sigpending(&pending))
		return;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct sigaction a;

		if (sigismember(&pending, ends[i]) && !sigismember(&g.mask, ends[i]) &&
		    !sigaction(ends[i], NULL, &a) && a.sa_handler == SIG_DFL)
			sigaddset(&fatal, ends[i]);
	}
	sigprocmask(SIG_UNBLOCK, &fatal, NULL);
}

bool conn_signalled(void)
{
	sigset_t pending;

	if (sigpending(&pending) || sigisemptyset(&pending))
		return false;
	for (int i = 1; i < NSIG; i++)
		if (sigismember(&pending, i) == 1 && sigismember(&g.mask, i) == 0)
			return true;
	return false;
}

bool conn_ours(const struct conn *c)
{
	struct stat st;

	return sl_fstat(c->sock, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_ino == c->sock_ino;
}

static void mark_process(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	madvise(page, 4096, MADV_WIPEONFORK);
	g.mark = page;
	atomic_store(g.mark, 1);
}

/*
 * In a child: replace the memory shared with the node by private memory. If a signal handler has
 * forked, the child returns into the middle of a call, and must not write to its parent's requests.
 */
static void keep_from_child(void *at, size_t bytes)
{
	void *now = !at ? NULL
			: mmap(at, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (now == MAP_FAILED)
		munmap(at, bytes);
}

/* The parent's connection is not ours. */
void sl_client_after_fork(void)
{
	struct conn *c = atomic_load(&g.current);

	if (g.mark && atomic_load(g.mark))
		return;
	if (g.mark)
		atomic_store(g.mark, 1);
	atomic_fetch_add(&g.process, 1);
	atomic_store(&g.lock, FREE);
	atomic_store(&g.current, NULL);
	phase_forget();
	if (!c)
		return;
	keep_from_child(c->segment, SL_SEGMENT_BYTES);
	keep_from_child(c->bells, sizeof(struct sl_bells));
	if (conn_ours(c))
		syscall(SYS_close, c->sock);
}

bool conn_inherited(const struct conn *c)
{
	if (g.mark && !atomic_load_explicit(g.mark, memory_order_relaxed))
		sl_client_after_fork();
	return c->process != atomic_load_explicit(&g.process, memory_order_relaxed);
}

/* ---- one connection ---- */

bool conn_alive(struct conn *c)
{
	/* Not POLLIN: another thread may be about to read an answer. */
	struct pollfd p = { .fd = c->sock, .events = POLLRDHUP };

	/* A pending signal gives EINTR each time, which does not concern the node. */
	return !atomic_load(&c->lost) && conn_ours(c) && poll(&p, 1, 0) <= 0;
}

void conn_retire(struct conn *c)
{
	struct conn *was = c;

	atomic_store(&c->left, true);
	(void)!atomic_compare_exchange_strong(&g.current, &was, NULL);
}

bool conn_ready(void)
{
	struct conn *c = atomic_load(&g.current);

	return c && !atomic_load(&c->lost);
}

void conn_lose(struct conn *c)
{
	atomic_store(&c->lost, true);
}

static void conn_free(struct conn *c)
{
	if (c->segment)
		munmap(c->segment, SL_SEGMENT_BYTES);
	if (c->bells)
		munmap(c->bells, sizeof(struct sl_bells));
	if (conn_ours(c))
		syscall(SYS_close, c->sock);
	c->segment = NULL;
	c->bells = NULL;
}

void conn_put(struct conn *c)
{
	sigset_t old;

	if (atomic_fetch_sub(&c->users, 1) != 1 ||
	    !(atomic_load(&c->lost) || atomic_load(&c->left)))
		return;
	/* The struct itself is kept: another thread may just be looking at it. */
	conn_lock(&old);
	if (atomic_load(&g.current) == c)
		atomic_store(&g.current, NULL);
	if (atomic_load(&c->users) == 0)
		conn_free(c);
	conn_unlock(&old);
}

/* One attempt: 0, or as dial_socket() and dial_greet() have it. */
static int attempt(struct conn **out, char refusal[REFUSAL_BYTES])
{
	const char *address = where_next();
	int sock = dial_socket(address), rc;
	struct conn *c;
	struct stat st;

	if (sock < 0)
		return sock;
	c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c == MAP_FAILED || sl_fstat(sock, &st)) {
		syscall(SYS_close, sock);
		return -ENOMEM;
	}
	c->sock = sock;
	c->sock_ino = st.st_ino;
	c->process = atomic_load(&g.process);
	c->pid = (uint32_t)getpid();
	snprintf(c->address, sizeof(c->address), "%s", address);
	rc = dial_greet(c, refusal);
	if (!rc && phase_tell(c)) /* one that began at another node goes on here */
		rc = -ENOTCONN;
	if (rc) {
		conn_free(c);
		munmap(c, sizeof(*c));
		return rc;
	}
	c->life = ++g.lives;
	*out = c;
	return 0;
}

/*
 * Later calls do not wait again: they fail or go directly at once, until one of them searches for a
 * node and finds it.
 */
static void give_up(int rc, const char *refusal, int64_t waited_ns)
{
	const char *then = client_settings()->direct ? "going on without" : "I/O fails";

	atomic_store(&g.look_ns, sl_clock_ns() + LOOK_NS);
	if (atomic_exchange(&g.given_up, true))
		return;
	if (rc > 0)
		client_say("sluice: cannot use the I/O node at %s: %s; %s\n",
			   client_settings()->socket, refusal, then);
	else
		client_say("sluice: no I/O node at %s (waited %lld s; 'sluice up --revive' starts "
			   "it again); %s\n",
			   client_settings()->socket,
			   (long long)((waited_ns + 500000000) / 1000000000), then);
}

int sl_client_given_up(void)
{
	if (!atomic_load_explicit(&g.given_up, memory_order_relaxed) || conn_ready() ||
	    sl_clock_ns() >= atomic_load(&g.look_ns))
		return 0;
	return client_settings()->direct ? -ENOTCONN : -EIO;
}

/* A process that changed its user does not use the node: it makes its own calls. */
static bool foreign(void)
{
	struct stat st;

	if (client_settings()->tcp)
		return false;
	return sl_stat(client_settings()->socket, &st) ? errno == EACCES : st.st_uid != geteuid();
}

/* Connect, if still unconnected. *attempts: how many attempts the caller should make. */
static int connect_once(char refusal[REFUSAL_BYTES], unsigned *attempts)
{
	struct conn *c;
	sigset_t old;
	int rc = 0;

	conn_lock(&old);
	if (!g.mark)
		mark_process();
	c = atomic_load(&g.current);
	if (!c || atomic_load(&c->lost)) {
		rc = attempt(&c, refusal);
		*attempts = where_attempts();
		if (rc)
			where_failed();
		else {
			where_found();
			atomic_store(&g.current, c);
		}
	}
	conn_unlock(&old);
	return rc;
}

/* True: stop using this connection. */
static bool leave(struct conn *c)
{
	enum where where = WHERE_STAY;
	sigset_t old;

	conn_lock(&old);
	if (atomic_load(&g.current) != c)
		where = WHERE_MOVE; /* another thread was here */
	else if (where_changed(c))
		where = where_ask(c);
	if (where == WHERE_LOST)
		conn_lose(c);
	if (where == WHERE_MOVE && atomic_load(&g.current) == c) {
		if (c->via->far)
			sync_leave(c);
		atomic_store(&c->left, true);
		atomic_store(&g.current, NULL);
	}
	conn_unlock(&old);
	return where != WHERE_STAY;
}

struct conn *conn_get(int *error)
{
	char refusal[REFUSAL_BYTES];
	unsigned tried = 0, attempts = 0;
	int64_t begin = 0, waited;
	struct conn *c;
	int rc;

	if (g.mark && !atomic_load(g.mark))
		sl_client_after_fork();
	for (;;) {
		c = atomic_load(&g.current);
		if (c) {
			atomic_fetch_add(&c->users, 1);
			if (!atomic_load(&c->lost) && atomic_load(&g.current) == c &&
			    !(where_changed(c) && leave(c)))
				return c;
			conn_put(c);
		}
		*error = foreign() ? -ENOTCONN : sl_client_given_up();
		if (*error)
			return NULL;
		if (!begin)
			begin = sl_clock_ns();
		rc = connect_once(refusal, &attempts);
		tried++;
		if (!rc) {
			atomic_store(&g.given_up, false);
			continue;
		}
		/* No memory or descriptor: continue without a node. */
		if (rc < 0 && rc != -ENOTCONN) {
			*error = -ENOTCONN;
			return NULL;
		}
		waited = sl_clock_ns() - begin;
		/* Another process may have a dead node's port: look for another node. */
		if (rc == EACCES && waited < IMPOSTOR_NS)
			rc = -ENOTCONN;
		/* A silent node may have used up all the time: try the others, too. */
		if (rc > 0 || atomic_load(&g.given_up) ||
		    (waited >= client_settings()->timeout_ns &&
		     (tried >= attempts || tried >= ATTEMPTS))) {
			give_up(rc, refusal, waited);
			*error = client_settings()->direct ? -ENOTCONN : -EIO;
			return NULL;
		}
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	}
}

int conn_with(int (*f)(struct conn *c, int error, void *arg), void *arg)
{
	int rc;

	do {
		int error = 0;
		struct conn *c = conn_get(&error);

		rc = f(c, error, arg);
		if (!c)
			break;
		conn_put(c);
	} while (rc == GONE || rc == AGAIN);
	return rc;
}

/* ---- its descriptor ---- */

struct conn *conn_held(void)
{
	struct conn *c = atomic_load(&g.current);

	if (!c || (g.mark && !atomic_load(g.mark)))
		return NULL;
	atomic_fetch_add(&c->users, 1);
	return c;
}

int sl_client_fd(void)
{
	struct conn *c = conn_held();
	int fd = c && conn_ours(c) ? c->sock : -1;

	if (c)
		conn_put(c);
	return fd;
}

bool sl_client_owns(int fd)
{
	struct conn *c = atomic_load_explicit(&g.current, memory_order_acquire);

	return fd >= 0 && c && c->sock == fd && sl_client_fd() == fd;
}

void sl_client_move_fd(void)
{
	struct conn *c = conn_held();
	sigset_t old;
	int fd;

	if (!c)
		return;
	/* The child of a vfork has its parent's memory and connection, and other descriptors. */
	if (c->pid == (uint32_t)syscall(SYS_getpid)) {
		conn_lock(&old);
		fd = fcntl(c->sock, F_DUPFD_CLOEXEC, FD_FLOOR);
		if (fd >= 0)
			c->sock = fd; /* the caller closes the old one by what it does */
		else
			conn_lose(c);
		conn_unlock(&old);
	}
	conn_put(c);
}

void sl_client_bye(void)
{
	struct conn *c = conn_held();
	char byte;

	if (!c)
		return;
	/* Other threads may still move data; then the kernel closes the socket at exit. */
	if (atomic_load(&c->users) == 1 && c->pid == (uint32_t)syscall(SYS_getpid) &&
	    conn_ours(c)) {
		conn_lose(c);
		shutdown(c->sock, SHUT_WR);
		while (recv(c->sock, &byte, 1, 0) < 0 && errno == EINTR)
			;
	}
	conn_put(c);
}
