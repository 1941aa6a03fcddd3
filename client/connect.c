/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding, greeting and losing the node.
 *
 * This code runs inside other people's programs. It never closes or reads a descriptor that it
 * does not know to be its own (the program may have closed ours and opened something else under
 * the number: the socket's inode is compared before each use), holds no lock that a fork or a
 * signal handler could find taken (signals are blocked while it is held, and a child starts
 * afresh: a page that the kernel wipes on fork tells it), and allocates with mmap.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/secret.h"
#include "base/units.h"
#include "client/gate.h"
#include "client/tcp.h"
#include "sluice.h"

#define FD_FLOOR	 512 /* keep away from the small numbers that programs reckon with */
#define LOOK_NS		 INT64_C(1000000000)
#define TCP_PREFIX	 "tcp:"
#define ANSWER_TIMEOUT_S 10 /* a node that lives answers a control message within this */

static struct {
	_Atomic uint32_t state; /* of the settings: 0 not read, 1 being read, 2 read */
	bool enabled, direct, tcp, gate;
	char root[PATH_MAX], socket[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char log[PATH_MAX], secret_file[PATH_MAX];
	struct sl_hello hello;
	int64_t timeout_ns;
	struct stat err; /* stderr, when the program started */

	_Atomic uint32_t lock; /* 0 free, 1 taken */
	struct conn *_Atomic current;
	uint64_t lives;
	_Atomic uint32_t *mark;	 /* in a page that is zero in a child */
	atomic_bool given_up;	 /* waited for a node in vain, and said so */
	_Atomic int64_t look_ns; /* then: when to see whether one has come */
} g;

/* The program may have closed its stderr, and a file of its own may have the number now. */
static bool err_is_ours(void)
{
	struct stat st;

	return g.err.st_ino && fstat(2, &st) == 0 && st.st_dev == g.err.st_dev &&
	       st.st_ino == g.err.st_ino;
}

/* What its user has to know. */
static void say(const char *format, const char *what)
{
	char text[256];
	int fd = 2, n;

	if ((!g.log[0] || !strcmp(g.log, "-")) && !err_is_ours())
		return;
	n = snprintf(text, sizeof(text), format, what);
	if (g.log[0] && strcmp(g.log, "-") != 0)
		fd = (int)syscall(SYS_openat, AT_FDCWD, g.log,
				  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0 && n > 0)
		syscall(SYS_write, fd, text, (size_t)n);
	if (fd > 2)
		syscall(SYS_close, fd);
}

/* ---- settings ---- */

static void job_name(char *out)
{
	static const char *const names[] = { "SLUICE_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID",
					     "LSB_JOBID", "FLUX_JOB_ID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value) {
			snprintf(out, SL_JOB_NAME_MAX, "%s", value);
			for (char *c = out; *c; c++)
				if (*c <= ' ' || *c > '~') /* the protocol has no others */
					*c = '_';
			return;
		}
	}
	snprintf(out, SL_JOB_NAME_MAX, "session-%d", (int)getsid(0));
}

/* "min=100M,max=1G,weight=4,period=20": `sluice run` has checked it, so what is wrong is ignored.
 */
static void job_conf(struct sl_hello *h, const char *text)
{
	char copy[256], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = 0;
		if (!strcmp(word, "min"))
			sl_parse_rate(value, &h->min_bps);
		else if (!strcmp(word, "max"))
			sl_parse_rate(value, &h->max_bps);
		else if (!strcmp(word, "burst"))
			sl_parse_bytes(value, &h->burst_bytes);
		else if (!strcmp(word, "period"))
			sl_parse_time(value, &h->period_ns);
		else if (!strcmp(word, "weight"))
			h->weight = (uint32_t)strtoul(value, NULL, 10);
		else if (!strcmp(word, "best_effort"))
			h->best_effort = 1;
		else if (!strcmp(word, "procs"))
			h->procs = (uint32_t)strtoul(value, NULL, 10);
		else if (!strcmp(word, "nodes"))
			h->nodes = (uint32_t)strtoul(value, NULL, 10);
	}
}

static bool bypassed(const char *list)
{
	const char *name = program_invocation_short_name;
	size_t length = strlen(name);

	for (const char *at = list; at && *at;) {
		const char *end = strchrnul(at, ',');

		if ((size_t)(end - at) == length && !memcmp(at, name, length))
			return true;
		at = *end ? end + 1 : end;
	}
	return false;
}

static void read_settings(void)
{
	const char *root = getenv("SLUICE_ROOT"), *sock = getenv("SLUICE_SOCKET"), *value;
	size_t length;

	value = getenv("SLUICE_LOG");
	snprintf(g.log, sizeof(g.log), "%s", value ? value : "");
	if (fstat(2, &g.err))
		g.err.st_ino = 0;
	if (!root || !sock || root[0] != '/' || strlen(sock) >= sizeof(g.socket) ||
	    strlen(root) >= sizeof(g.root) || bypassed(getenv("SLUICE_BYPASS")))
		return;
	snprintf(g.root, sizeof(g.root), "%s", root);
	for (length = strlen(g.root); length > 1 && g.root[length - 1] == '/'; length--)
		g.root[length - 1] = 0;
	snprintf(g.socket, sizeof(g.socket), "%s", sock);
	g.timeout_ns = INT64_C(30000000000);
	if ((value = getenv("SLUICE_TIMEOUT")))
		sl_parse_time(value, &g.timeout_ns);
	value = getenv("SLUICE_FALLBACK");
	g.direct = value && !strcmp(value, "direct");
	value = getenv("SLUICE_MODE");
	g.gate = value && !strcmp(value, "gate");
	g.hello.version = SL_PROTO_VERSION;
	g.tcp = !strncmp(g.socket, TCP_PREFIX, strlen(TCP_PREFIX));
	g.hello.caps = g.tcp ? 0 : SL_CAP_SHM | SL_CAP_SELF | SL_CAP_GATE;
	value = getenv("SLUICE_SECRET_FILE");
	snprintf(g.secret_file, sizeof(g.secret_file), "%s", value ? value : "");
	job_name(g.hello.job);
	if ((value = getenv("SLUICE_JOB_CONF")))
		job_conf(&g.hello, value);
	g.enabled = true;
}

static void settings(void)
{
	uint32_t none = 0;

	if (atomic_load_explicit(&g.state, memory_order_acquire) == 2)
		return;
	if (atomic_compare_exchange_strong(&g.state, &none, 1)) {
		read_settings();
		atomic_store(&g.state, 2);
	}
	while (atomic_load(&g.state) != 2)
		sched_yield();
}

bool sl_client_enabled(void)
{
	settings();
	return g.enabled;
}

bool sl_client_gated(void)
{
	settings();
	return g.gate;
}

const char *sl_client_root(void)
{
	settings();
	return g.enabled ? g.root : NULL;
}

/* ---- the lock, and fork ---- */

void conn_lock(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, old);
	while (atomic_exchange(&g.lock, 1)) {
		const struct timespec ts = { 0, 1000000 };

		syscall(SYS_futex, &g.lock, FUTEX_WAIT_PRIVATE, 1, &ts, NULL, 0);
	}
}

void conn_unlock(const sigset_t *old)
{
	atomic_store(&g.lock, 0);
	syscall(SYS_futex, &g.lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	sigprocmask(SIG_SETMASK, old, NULL);
}

bool conn_ours(const struct conn *c)
{
	struct stat st;

	return fstat(c->sock, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_ino == c->sock_ino;
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

/* The parent's connection is not ours; its segment stays mapped, which costs nothing but addresses.
 */
void sl_client_after_fork(void)
{
	struct conn *c = atomic_load(&g.current);

	if (g.mark && atomic_load(g.mark))
		return;
	if (g.mark)
		atomic_store(g.mark, 1);
	atomic_store(&g.lock, 0);
	atomic_store(&g.current, NULL);
	if (c && conn_ours(c))
		syscall(SYS_close, c->sock);
}

/* ---- one connection ---- */

bool conn_alive(struct conn *c)
{
	struct pollfd p = { .fd = c->sock, .events = POLLIN };

	if (atomic_load(&c->lost) || !conn_ours(c))
		return false;
	/* Nothing comes unasked, so what can be read is the end. */
	return poll(&p, 1, 0) == 0;
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

	if (atomic_fetch_sub(&c->users, 1) != 1 || !atomic_load(&c->lost))
		return;
	/* The struct itself is kept: another thread may just be looking at it. */
	conn_lock(&old);
	if (atomic_load(&g.current) == c)
		atomic_store(&g.current, NULL);
	if (atomic_load(&c->users) == 0)
		conn_free(c);
	conn_unlock(&old);
}

/* Send bytes, with a descriptor if fd >= 0. */
static int send_all(int sock, const void *bytes, size_t length, int fd)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control.space);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	}
	/* Frames that we send are far smaller than a socket buffer: all or nothing. */
	do
		n = sendmsg(sock, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)length ? 0 : -ENOTCONN;
}

/*
 * Receive exactly length bytes; descriptors that come along go to fds[0..1]. With patience, a node
 * on another machine may take its time as long as that machine lives.
 */
static int receive_all(int sock, void *bytes, size_t length, int *fds, bool patience)
{
	size_t have = 0;

	while (have < length) {
		struct iovec iov = { (char *)bytes + have, length - have };
		union {
			struct cmsghdr header;
			char space[CMSG_SPACE(2 * sizeof(int))];
		} control;
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = &control,
				    .msg_controllen = sizeof(control.space) };
		ssize_t n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
		struct cmsghdr *h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

		if (n < 0 && (errno == EINTR || (errno == EAGAIN && patience && !tcp_silent(sock))))
			continue;
		if (n <= 0)
			return -ENOTCONN;
		if (fds && h && h->cmsg_type == SCM_RIGHTS &&
		    h->cmsg_len == CMSG_LEN(2 * sizeof(int)))
			memcpy(fds, CMSG_DATA(h), 2 * sizeof(int));
		have += (size_t)n;
	}
	return 0;
}

/* HELLO and WELCOME. Positive: the node's errno; it is there, and does not want us. */
static int greet(struct conn *c)
{
	struct sl_frame f = { .type = SL_HELLO, .length = SL_HELLO_BYTES, .tag = 1 };
	unsigned char hello[SL_FRAME_BYTES + SL_HELLO_BYTES], head[SL_FRAME_BYTES];
	unsigned char payload[SL_WELCOME_BYTES];
	struct sl_welcome w;
	int fds[2] = { -1, -1 };

	if (g.tcp && sl_secret_read(g.secret_file, g.hello.secret)) {
		say("sluice: cannot use the secret in SLUICE_SECRET_FILE=%s\n", g.secret_file);
		return EACCES;
	}
	g.hello.pid = (uint32_t)getpid();
	sl_frame_encode(&f, hello);
	sl_hello_encode(&g.hello, hello + SL_FRAME_BYTES);
	if (send_all(c->sock, hello, sizeof(hello), -1) ||
	    receive_all(c->sock, head, sizeof(head), fds, false) || sl_frame_decode(head, &f))
		return -ENOTCONN;
	if (f.type == SL_REPLY)
		return f.status ? f.status : EPROTO;
	if (f.type != SL_WELCOME || receive_all(c->sock, payload, sizeof(payload), NULL, false) ||
	    sl_welcome_decode(payload, sizeof(payload), &w))
		return EPROTO;
	c->epoch = w.epoch;
	if (g.tcp) {
		c->via = &conn_tcp;
		tcp_settle(c->sock);
		return w.caps ? EPROTO : 0;
	}
	c->via = &conn_shm;
	c->segment = MAP_FAILED;
	c->bells = MAP_FAILED;
	if (fds[0] >= 0 && w.segment_bytes == SL_SEGMENT_BYTES &&
	    w.bells_bytes == sizeof(struct sl_bells) && w.workers >= 1 &&
	    w.workers <= SL_SHM_WORKERS && w.client < SL_SHM_CLIENTS) {
		c->segment =
			mmap(NULL, SL_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
		c->bells = mmap(NULL, sizeof(struct sl_bells), PROT_READ | PROT_WRITE, MAP_SHARED,
				fds[1], 0);
	}
	if (fds[0] >= 0) {
		syscall(SYS_close, fds[0]);
		syscall(SYS_close, fds[1]);
	}
	if (c->segment == MAP_FAILED || c->bells == MAP_FAILED)
		return EPROTO;
	c->index = w.client;
	c->workers = w.workers;
	c->permits = w.caps & SL_CAP_SELF;
	c->gates = w.caps & SL_CAP_GATE;
	gate_start(c);
	atomic_store(&c->free_slots,
		     (UINT64_C(1) << SL_SHM_LEASE_SLOT) - 1); /* that one has a use of its own */
	return 0;
}

static int dial(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const struct timeval tv = { .tv_sec = ANSWER_TIMEOUT_S };
	bool tcp = !strncmp(g.socket, TCP_PREFIX, strlen(TCP_PREFIX));
	int sock = tcp ? tcp_dial(g.socket + strlen(TCP_PREFIX), ANSWER_TIMEOUT_S)
		       : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    high;

	if (sock < 0)
		return -ENOTCONN;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", g.socket);
	high = fcntl(sock, F_DUPFD_CLOEXEC, FD_FLOOR);
	if (high >= 0) {
		syscall(SYS_close, sock);
		sock = high;
	}
	if (tcp)
		return sock;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr))) {
		syscall(SYS_close, sock);
		return -ENOTCONN;
	}
	return sock;
}

/* One attempt. 0, -ENOTCONN: nobody is there (yet), positive errno: refused. */
static int attempt(struct conn **out)
{
	struct conn *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stat st;
	int rc;

	if (c == MAP_FAILED)
		return ENOMEM;
	c->sock = dial();
	if (c->sock < 0 || fstat(c->sock, &st)) {
		munmap(c, sizeof(*c));
		return -ENOTCONN;
	}
	c->sock_ino = st.st_ino;
	rc = greet(c);
	if (rc) {
		syscall(SYS_close, c->sock);
		munmap(c, sizeof(*c));
		return rc;
	}
	c->life = ++g.lives;
	*out = c;
	return 0;
}

static int64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/*
 * Calls after this one do not wait as long again, each of them: they fail or go directly at once,
 * until a node is found when one of them looks.
 */
static void give_up(void)
{
	if (!atomic_exchange(&g.given_up, true))
		say(g.direct ? "sluice: no I/O node at %s; going on without\n"
			     : "sluice: no I/O node at %s; I/O fails\n",
		    g.socket);
}

/* A process that became another user is none of the node's: its I/O goes where it would alone. */
static bool foreign(void)
{
	struct stat st;

	if (g.tcp)
		return false;
	return stat(g.socket, &st) ? errno == EACCES : st.st_uid != geteuid();
}

struct conn *conn_get(int *error)
{
	int64_t end = 0;
	struct conn *c;

	settings();
	if (g.mark && !atomic_load(g.mark))
		sl_client_after_fork();
	for (;;) {
		sigset_t old;
		int rc = 0;

		c = atomic_load(&g.current);
		if (c) {
			atomic_fetch_add(&c->users, 1);
			if (!atomic_load(&c->lost) && atomic_load(&g.current) == c)
				return c;
			conn_put(c);
		}
		if (foreign()) {
			*error = -ENOTCONN;
			return NULL;
		}
		if (atomic_load(&g.given_up) && monotonic_ns() < atomic_load(&g.look_ns))
			break;
		conn_lock(&old);
		if (!g.mark)
			mark_process();
		c = atomic_load(&g.current);
		if (!c || atomic_load(&c->lost)) {
			c = NULL;
			rc = attempt(&c);
			if (!rc)
				atomic_store(&g.current, c);
		}
		conn_unlock(&old);
		if (!rc) {
			atomic_store(&g.given_up, false);
			continue;
		}
		if (!end)
			end = monotonic_ns() + g.timeout_ns;
		if (rc > 0 || atomic_load(&g.given_up) || monotonic_ns() >= end) {
			atomic_store(&g.look_ns, monotonic_ns() + LOOK_NS);
			give_up();
			break;
		}
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	}
	*error = g.direct ? -ENOTCONN : -EIO;
	return NULL;
}

/* ---- files ---- */

int conn_pass(struct conn *c, const struct sl_remote *r, int fd, uint64_t *file)
{
	struct sl_frame f = { .type = SL_OPEN, .tag = 2 };
	unsigned char head[SL_FRAME_BYTES];

	(void)r;
	sl_frame_encode(&f, head);
	if (send_all(c->sock, head, sizeof(head), fd) ||
	    receive_all(c->sock, head, sizeof(head), NULL, false) || sl_frame_decode(head, &f) ||
	    f.type != SL_REPLY || f.length)
		return GONE;
	*file = f.file;
	return -f.status;
}

int conn_open(struct conn *c, struct sl_remote *r, int fd, uint64_t *file)
{
	uint64_t reference;
	sigset_t old;
	int rc = 0;

	/* Read twice: in between another thread may have opened it in a later connection. */
	if (r->life == c->life) {
		*file = r->file;
		if (r->life == c->life)
			return 0;
	}
	conn_lock(&old);
	if (r->life > c->life || atomic_load(&c->lost)) {
		rc = GONE;
	} else if (r->life < c->life) {
		rc = conn_ours(c) ? c->via->open(c, r, fd, &reference) : GONE;
		if (rc == GONE)
			conn_lose(c); /* before anybody else finds half an answer there */
		if (!rc) {
			r->life = 0;
			r->file = reference;
			r->life = c->life;
		}
	}
	*file = r->file;
	conn_unlock(&old);
	return rc;
}

/* Whether fsync() has to go to the node: what that has taken may be in another machine's memory. */
bool sl_client_syncs(void)
{
	settings();
	return g.enabled && g.tcp;
}

/* The current connection, counted as in use; NULL if this process has none. */
static struct conn *conn_held(void)
{
	struct conn *c = atomic_load(&g.current);

	if (!c || (g.mark && !atomic_load(g.mark)))
		return NULL;
	atomic_fetch_add(&c->users, 1);
	return c;
}

/*
 * CLOSE has no answer; but what comes behind it is answered when it has been obeyed. The lock
 * keeps other threads from coming between question and answer.
 */
void sl_client_close(struct sl_remote *r)
{
	struct sl_frame f = { .type = SL_CLOSE, .file = r->file };
	static const char word[] = { 'p', 'i', 'n', 'g' };
	struct sl_frame ping = { .type = SL_CONTROL, .tag = 3, .length = sizeof(word) };
	struct {
		unsigned char close[SL_FRAME_BYTES], ping[SL_FRAME_BYTES], word[sizeof(word)];
	} out;
	unsigned char in[SL_FRAME_BYTES + sizeof(word)]; /* "pong" */
	struct conn *c = r->life ? conn_held() : NULL;
	sigset_t old;

	if (!c)
		return;
	if (c->life == r->life && !atomic_load(&c->lost)) {
		sl_frame_encode(&f, out.close);
		sl_frame_encode(&ping, out.ping);
		memcpy(out.word, word, sizeof(word));
		conn_lock(&old);
		if (!conn_ours(c) || send_all(c->sock, &out, sizeof(out), -1) ||
		    receive_all(c->sock, in, sizeof(in), NULL, g.tcp))
			conn_lose(c);
		conn_unlock(&old);
	}
	r->file = 0;
	r->life = 0;
	conn_put(c);
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
	if (g.hello.pid == (uint32_t)syscall(SYS_getpid)) {
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
	/* Others of our threads may still be moving data: then the kernel says goodbye for us. */
	if (atomic_load(&c->users) == 1 && g.hello.pid == (uint32_t)syscall(SYS_getpid) &&
	    conn_ours(c)) {
		conn_lose(c);
		shutdown(c->sock, SHUT_WR);
		while (recv(c->sock, &byte, 1, 0) < 0 && errno == EINTR)
			;
	}
	conn_put(c);
}

/* ---- control lines ---- */

int sl_client_control(const char *socket_path, const char *line, char **answer)
{
	struct sl_frame f = { .type = SL_CONTROL, .length = (uint32_t)strlen(line) };
	unsigned char head[SL_FRAME_BYTES];
	int sock, rc = -ENOTCONN;

	*answer = NULL;
	if (strlen(socket_path) >= sizeof(g.socket) || f.length > 4096)
		return -ENAMETOOLONG;
	snprintf(g.socket, sizeof(g.socket), "%s", socket_path);
	sock = dial();
	if (sock < 0)
		return sock;
	sl_frame_encode(&f, head);
	if (!send_all(sock, head, sizeof(head), -1) && !send_all(sock, line, f.length, -1) &&
	    !receive_all(sock, head, sizeof(head), NULL, false) && !sl_frame_decode(head, &f)) {
		*answer = calloc(1, (size_t)f.length + 1);
		rc = !*answer ? -ENOMEM : receive_all(sock, *answer, f.length, NULL, false);
		rc = rc ? rc : -f.status;
	}
	close(sock);
	return rc;
}
