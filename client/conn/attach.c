/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find the job's segment: the first contact in the turn route.
 *
 * The first data call on a file of the layer opens and maps S.turn and S.jobs/NUMBER. There is no
 * connection and no lock: two threads that come at the same time both map, and one of them unmaps
 * again. If the job's file is not there the job is registered with a control line, once a second at
 * most, and not for longer than REGISTER_NS. If all of this fails, the call is made at once.
 *
 *	open S.turn, mmap, close; open S.jobs/000000000000002a, mmap, close        some 15 us
 *
 * No descriptor stays open, so a program that closes unknown descriptors does no harm. A mapped
 * segment stays mapped, because a thread may be waiting in it.
 *
 * If several nodes serve a job, their sockets are in `home`; this process takes its turns at the
 * node of its unit (where.c). `moved` changes when they change.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/peer.h"
#include "client/conn/settings.h"
#include "client/conn/turn.h"
#include "client/conn/where.h"

#define AGAIN_NS    INT64_C(1000000000)
#define BUSY_NS	    INT64_C(30000000000) /* after a node did not answer in time */
#define REGISTER_NS INT64_C(1000000000)
#define ELSEWHERE_NS \
	INT64_C(200000000) /* between two checks whether another node serves a silent node's job */
#define SIBLINGS 64U	   /* nodes of a layer that are checked */
#define LINE	 768
#define INVALID	 UINT64_MAX /* never equal to the word of a job */

struct turn_route turn_routes[TURN_PARTS];

/* In a page that the kernel clears in a child of fork(). */
struct mark {
	_Atomic uint32_t entered[TURN_PARTS]; /* this process is in proc[] */
	_Atomic uint32_t phase;		      /* it is in a phase of I/O */
	_Atomic uint32_t foreign;	      /* its pids mean other processes to the node */
};

static struct {
	struct mark *_Atomic mark;
	atomic_bool said, sealed;
} a;

int64_t turn_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- mapping ---- */

/* A path beside a socket; without printf(), which takes a lot of stack. */
struct path {
	char text[SOCKET_BYTES + 32];
	size_t length;
};

static void append(struct path *p, const char *text)
{
	size_t n = strlen(text);

	if (p->length + n >= sizeof(p->text))
		n = sizeof(p->text) - 1 - p->length;
	memcpy(p->text + p->length, text, n);
	p->length += n;
	p->text[p->length] = 0;
}

static void append_hex(struct path *p, uint64_t number)
{
	char digits[17];

	for (int i = 0; i < 16; i++)
		digits[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
	digits[16] = 0;
	append(p, digits);
}

/*
 * Map a file over the memory reserved at `place`. False: it does not exist, or has unexpected
 * contents.
 */
static bool map_file(const struct path *p, void *place, size_t bytes, uint64_t *inode)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, p->text, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct statx sx;
	uint64_t *at;

	if (fd < 0)
		return false;
	at = MAP_FAILED;
	/* Access to a shorter file would cause SIGBUS. */
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE | STATX_INO,
		    &sx) == 0 &&
	    sx.stx_size >= bytes)
		at = mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	syscall(SYS_close, fd);
	if (at == MAP_FAILED)
		return false;
	*inode = sx.stx_ino;
	if (at[0] == SL_TURN_MAGIC && at[1] == bytes)
		return true;
	errno = EPROTO;
	return false;
}

#define PAIR_BYTES (TURN_NODE_ROOM + sizeof(struct sl_turn_job))

/* The page of a node, and below it the segment of a job: see turn_node_of(). */
struct pair {
	struct sl_turn_job *job;
	uint64_t inode; /* of the job's file */
};

static void unmap(struct pair *p)
{
	munmap(turn_node_of(p->job), PAIR_BYTES);
	*p = (struct pair){ 0 };
}

static void append_decimal(struct path *p, uint32_t number)
{
	char digits[11];
	size_t at = sizeof(digits) - 1;

	digits[at] = 0;
	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	append(p, digits + at);
}

/* Files beside the socket; in a layer for all users, DIR/u/UID/NAME of DIR/NAME. */
static void begin_path(struct path *p, const char *socket, bool site)
{
	const char *slash = site ? strrchr(socket, '/') : NULL;

	p->length = 0;
	append(p, socket);
	if (!slash || (size_t)(slash - socket) >= p->length)
		return;
	p->length = (size_t)(slash - socket);
	append(p, "/u/");
	append_decimal(p, (uint32_t)syscall(SYS_geteuid));
	append(p, slash);
}

static bool map_pair(const char *socket, uint64_t number, struct pair *out)
{
	struct path p = { .length = 0 };
	bool site = false, found;
	char *place = mmap(NULL, PAIR_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);
	struct sl_turn_job *job = (struct sl_turn_job *)(void *)(place + TURN_NODE_ROOM);
	uint64_t inode;
	int error;

	if (place == MAP_FAILED)
		return false;
	begin_path(&p, socket, site);
	append(&p, ".turn");
	found = map_file(&p, place, sizeof(struct sl_turn_node), &inode);
	if (!found && errno == ENOENT) {
		site = true;
		begin_path(&p, socket, site);
		append(&p, ".turn");
		found = map_file(&p, place, sizeof(struct sl_turn_node), &inode);
	}
	if (found) {
		begin_path(&p, socket, site);
		append(&p, ".jobs/");
		append_hex(&p, number);
		if (map_file(&p, job, sizeof(*job), &inode) && job->job == number &&
		    job->index < SL_TURN_JOBS) {
			*out = (struct pair){ .job = job, .inode = inode };
			return true;
		}
	}
	error = errno;
	munmap(place, PAIR_BYTES);
	errno = error;
	return false;
}

/* ---- registering ---- */

static int connect_to(const char *path)
{
	const struct timeval tv = { .tv_sec = REGISTER_NS / 1000000000 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

	if (sock < 0)
		return -1;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) == 0) {
		error = -sl_peer_trust(sock, path);
		if (!error)
			return sock;
	} else {
		error = errno;
	}
	syscall(SYS_close, sock);
	errno = error;
	return -1;
}

/* In a layer for all users the answer says which job it is: "job=42". */
static void read_number(int sock, uint32_t length, uint64_t *number)
{
	char text[SL_JOB_NAME_MAX + 8];
	ssize_t got;

	if (!length || length >= sizeof(text))
		return;
	do
		got = recv(sock, text, length, MSG_WAITALL);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)length || strncmp(text, "job=", 4) != 0)
		return;
	text[length] = 0;
	*number = sl_job_number(text + 4);
}

/*
 * Register the job like `sluice run` (cli/run.c). 0: the node has answered; else a positive errno.
 * plain: only by name, if the node refuses its settings, or for a part of the job.
 */
static int register_job(const char *path, const char *name, uint64_t *number, bool plain)
{
	const struct settings *s = client_settings();
	unsigned char bytes[SL_FRAME_BYTES + LINE];
	struct sl_frame f = { .type = SL_CONTROL };
	char *line = (char *)bytes + SL_FRAME_BYTES;
	int sock = connect_to(path), rc = ECONNREFUSED;
	bool refused = false;
	ssize_t got;
	size_t n = 4;

	if (sock < 0)
		return errno;
	memcpy(line, "job ", n);
	for (const char *c = name; *c && n < LINE - 1; c++)
		line[n++] = *c;
	line[n++] = ' ';
	for (const char *c = plain ? "" : s->conf; *c && n < LINE; c++)
		line[n++] = *c == ',' ? ' ' : *c;
	f.length = (uint32_t)n;
	sl_frame_encode(&f, bytes);
	if (send(sock, bytes, SL_FRAME_BYTES + n, MSG_NOSIGNAL) == (ssize_t)(SL_FRAME_BYTES + n)) {
		do
			got = recv(sock, bytes, SL_FRAME_BYTES, MSG_WAITALL);
		while (got < 0 && errno == EINTR);
		rc = got == SL_FRAME_BYTES ? 0 : got < 0 ? errno : ECONNREFUSED;
	}
	if (!rc && sl_frame_decode(bytes, &f) == 0 && !f.status)
		read_number(sock, f.length, number);
	else if (!rc)
		refused = f.status == EPERM;
	syscall(SYS_close, sock);
	return refused && !plain ? register_job(path, name, number, true) : rc;
}

/*
 * The layer exists, but no node answers. Print this once; for a forwarded program the connection
 * prints it.
 */
static void say_nobody(const char *path)
{
	struct path dir = { .length = 0 };
	struct statx sx;
	char *slash;

	if (client_settings()->forward && !where_direct())
		return;
	append(&dir, path);
	slash = strrchr(dir.text, '/');
	if (slash)
		*slash = 0;
	if (syscall(SYS_statx, AT_FDCWD, dir.text, AT_STATX_DONT_SYNC, STATX_TYPE, &sx) ||
	    atomic_exchange(&a.said, true))
		return;
	client_say_parts((const char *const[]){ "sluice: no I/O node at ", path,
						"; going on without it ('sluice up --revive' "
						"starts it again)\n",
						NULL });
}

/* ---- processes ---- */

static unsigned part_of(const struct turn_route *r)
{
	return (unsigned)(r - turn_routes);
}

static bool is_entered(const struct turn_route *r)
{
	struct mark *mark = atomic_load_explicit(&a.mark, memory_order_acquire);

	return mark && atomic_load_explicit(&mark->entered[part_of(r)], memory_order_relaxed);
}

static struct mark *make_mark(void)
{
	struct mark *mark = atomic_load(&a.mark), *none = NULL;

	if (mark)
		return mark;
	mark = mmap(NULL, sizeof(*mark), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (mark == MAP_FAILED)
		return NULL;
	madvise(mark, sizeof(*mark), MADV_WIPEONFORK);
	if (atomic_compare_exchange_strong(&a.mark, &none, mark))
		return mark;
	munmap(mark, sizeof(*mark));
	return none;
}

/* The entry of this process in the job's table, created if there is room; else NULL. */
static struct sl_turn_proc *entry(struct sl_turn_job *job)
{
	uint32_t pid = (uint32_t)syscall(SYS_getpid);

	for (unsigned i = 0; i < SL_TURN_PROCS; i++) {
		struct sl_turn_proc *p = &job->proc[(pid + i) % SL_TURN_PROCS];
		uint32_t seen = atomic_load(&p->pid);

		if (!seen && atomic_compare_exchange_strong(&p->pid, &seen, pid))
			return p;
		if (seen == pid)
			return p;
	}
	return NULL;
}

/* Whether this process is in another PID namespace than the node, in a container, say. */
static bool in_other_space(const struct sl_turn_job *job)
{
	uint64_t space = atomic_load(&turn_node_of(job)->pid_space);
	struct statx sx;

	return space && (syscall(SYS_statx, AT_FDCWD, "/proc/self/ns/pid", AT_STATX_DONT_SYNC,
				 STATX_INO, &sx) ||
			 sx.stx_ino != space);
}

bool turn_foreign(void)
{
	struct mark *mark = atomic_load_explicit(&a.mark, memory_order_acquire);

	return mark && atomic_load_explicit(&mark->foreign, memory_order_relaxed);
}

struct sl_turn_proc *turn_proc(struct sl_turn_job *job)
{
	return turn_foreign() || turn_sealed() ? NULL : entry(job);
}

/* Enter this process in the segment's table, once per segment. */
static void enter(const struct turn_route *r, struct sl_turn_job *job)
{
	/* Its connection is counted instead. */
	bool connected = client_settings()->forward && !where_direct();
	struct mark *mark = is_entered(r) || turn_sealed() || connected ? NULL : make_mark();
	struct sl_turn_proc *p;

	if (!mark)
		return;
	atomic_store(&mark->foreign, in_other_space(job));
	p = turn_foreign() ? NULL : entry(job);
	if (p) {
		atomic_store(&p->phase, part_of(r) ? 0 : atomic_load(&mark->phase));
		/* Dirty bytes left by the program that this process ran before exec. */
		atomic_fetch_add(&job->left, atomic_exchange(&p->dirty, 0));
	}
	atomic_store(&mark->entered[part_of(r)], 1);
}

void turn_touch(void)
{
	struct sl_turn_job *job = atomic_load_explicit(&turn_own.job, memory_order_relaxed);

	if (job && !is_entered(&turn_own))
		enter(&turn_own, job);
}

/* ---- attaching ---- */

static void set_open(struct turn_route *r, const struct sl_turn_job *job)
{
	atomic_store(&r->open, (uint64_t)atomic_load(&job->moved) << 32 | SL_TURN_OPEN);
	if (atomic_load(&part_kinds))
		atomic_fetch_or(&r->open, TURN_SLOW);
}

void turn_slow(void)
{
	for (unsigned i = 0; i < TURN_PARTS; i++)
		atomic_fetch_or(&turn_routes[i].open, TURN_SLOW);
}

/* Whether `home` of this job has been read since it changed. */
static bool is_current(const struct turn_route *r, struct sl_turn_job *job)
{
	return atomic_load(&r->open) >> 32 == atomic_load(&job->moved);
}

bool turn_current(struct sl_turn_job *job)
{
	bool changing = false;

	for (const struct turn_route *r = turn_routes; r < turn_routes + TURN_PARTS; r++) {
		if (atomic_load(&r->job) == job && is_current(r, job))
			return true;
		changing |= atomic_load(&r->open) == INVALID;
		if (!atomic_load_explicit(&part_kinds, memory_order_relaxed))
			break;
	}
	/* While another thread changes the route, return unknown; this thread checks again later.
	 */
	return changing;
}

/* This process takes its turns elsewhere from now on. */
static void leave(struct sl_turn_job *job)
{
	uint32_t pid = (uint32_t)syscall(SYS_getpid);

	for (unsigned i = 0; i < SL_TURN_PROCS; i++) {
		struct sl_turn_proc *p = &job->proc[(pid + i) % SL_TURN_PROCS];
		uint32_t seen = pid;

		if (atomic_load_explicit(&p->pid, memory_order_relaxed) != pid)
			continue;
		atomic_store(&p->phase, 0);
		atomic_store(&p->dirty, 0); /* its files account for it */
		atomic_compare_exchange_strong(&p->pid, &seen, 0);
		return;
	}
}

/* Keep a pair that is already in use. */
static struct sl_turn_job *use(struct turn_route *r, struct pair *p)
{
	struct mark *mark = atomic_load(&a.mark);
	struct sl_turn_job *job = atomic_load(&r->job);

	if (job && atomic_load(&r->inode) == p->inode && job->job == p->job->job) {
		unmap(p);
		return job;
	}
	/* A thread that sees the new job and the old word takes the slow way. */
	atomic_store(&r->open, INVALID);
	atomic_store(&r->job, p->job);
	atomic_store(&r->inode, p->inode);
	if (mark && atomic_exchange(&mark->entered[part_of(r)], 0))
		leave(job);
	return p->job;
}

static const char *home_of(const struct sl_turn_job *job)
{
	uint32_t homes = atomic_load(&job->homes), number, units;

	if (!homes || homes > SL_TURN_NODES)
		return NULL;
	where_unit(&number, &units);
	if (units)
		number = (uint32_t)((uint64_t)(number % units) * homes / units);
	return job->home[number % homes];
}

static bool map_home(const struct sl_turn_job *job, struct pair *out)
{
	const char *home = home_of(job);

	return home && memchr(home, 0, sizeof(job->home[0])) && map_pair(home, job->job, out);
}

/* Use a pair, or the pair of the node that serves this unit of the job. */
static struct sl_turn_job *settle(struct turn_route *r, struct pair *p)
{
	struct sl_turn_job *job;
	struct pair home;

	if (map_home(p->job, &home)) {
		unmap(p);
		*p = home;
	}
	job = use(r, p);
	if (r == &turn_own && memchr(job->tags, 0, sizeof(job->tags)))
		part_patterns(job->tags);
	set_open(r, job);
	return job;
}

/* `home` of the job in use has changed. */
static struct sl_turn_job *follow(struct turn_route *r, struct sl_turn_job *job)
{
	struct pair p;

	if (map_home(job, &p))
		job = use(r, &p);
	set_open(r, job);
	return job;
}

static bool is_gone(struct sl_turn_job *job)
{
	return sl_turn_mode_of(job) == SL_TURN_GONE;
}

/* "JOB", or "JOB:TAG". */
static const char *name_of(const struct turn_route *r, char text[SL_JOB_NAME_MAX])
{
	const char *job = client_settings()->hello.job, *tag = part_tag(part_of(r));
	size_t length = strlen(job), more = strlen(tag);

	if (!part_of(r) || length + 1 + more >= SL_JOB_NAME_MAX)
		return job;
	memcpy(text, job, length + 1);
	text[length] = SL_TAG_COLON;
	memcpy(text + length + 1, tag, more + 1);
	return text;
}

/* ---- when the first node is silent ---- */

bool turn_fresh(const struct sl_turn_job *job, int64_t now)
{
	int64_t age = now - atomic_load(&turn_node_of(job)->alive_ns);

	return age < SL_TURN_SILENT_NS && age > -SL_TURN_SILENT_NS;
}

/*
 * The socket of the layer's node i, which is beside that of the first (layer/layer.h); false: it
 * has none.
 */
static bool sibling(unsigned i, char socket[SOCKET_BYTES])
{
	const char *own = client_settings()->socket, *name = strrchr(own, '/');
	struct path p = { .length = 0 };
	struct statx sx;

	if (client_settings()->tcp || !name || strncmp(name, "/node", 5) != 0)
		return false;
	append(&p, own);
	p.length = (size_t)(name - own);
	append(&p, "/node");
	if (i) {
		append(&p, "-");
		append_decimal(&p, i);
	}
	append(&p, ".sock");
	if (p.length >= SOCKET_BYTES || !strcmp(p.text, own))
		return false;
	memcpy(socket, p.text, p.length + 1);
	return syscall(SYS_statx, AT_FDCWD, socket, AT_STATX_DONT_SYNC, STATX_TYPE, &sx) == 0;
}

/*
 * The job's segment at the node that `sluice run` named, which tells where the job is served. If
 * that node has died or is stopped: at the first other node that lives and knows a home that lives.
 */
static bool map_known(uint64_t number, struct pair *out)
{
	bool found = map_pair(client_settings()->socket, number, out);
	int64_t now = turn_now_ns();
	char socket[SOCKET_BYTES];
	int error = errno;
	struct pair p, home;

	if (found && turn_fresh(out->job, now))
		return true;
	for (unsigned i = 0; i < SIBLINGS; i++) {
		bool lives;

		if (!sibling(i, socket) || !map_pair(socket, number, &p))
			continue;
		lives = turn_fresh(p.job, now) && map_home(p.job, &home);
		if (lives) {
			lives = turn_fresh(home.job, now);
			unmap(&home);
		}
		if (lives) {
			if (found)
				unmap(out);
			*out = p;
			return true;
		}
		unmap(&p);
	}
	errno = error;
	return found;
}

/* Find the segment of the job at the node that `sluice run` named; NULL: there is none. */
static struct sl_turn_job *contact(struct turn_route *r)
{
	const struct settings *s = client_settings();
	char text[SL_JOB_NAME_MAX];
	const char *name = name_of(r, text);
	uint64_t number = sl_job_number(name);
	int64_t begin = turn_now_ns(), until, took;
	char other[SOCKET_BYTES];
	struct pair p;
	bool found;
	int rc;

	if (begin < atomic_load(&r->next_ns))
		return NULL;
	found = map_known(number, &p);
	if (!found || is_gone(p.job)) {
		/*
		 * Register only if the job does not exist; a process out of descriptors or memory
		 * cannot.
		 */
		rc = found || errno == ENOENT ? 0 : ENOTCONN;
		if (found)
			unmap(&p);
		rc = rc ? rc : register_job(s->socket, name, &number, part_of(r) != 0);
		found = !rc && map_pair(s->socket, number, &p);
		/* Each node that is stopped too takes REGISTER_NS. */
		until = turn_now_ns() + s->silent_ns;
		for (unsigned i = 0; rc == EAGAIN && i < SIBLINGS && turn_now_ns() < until; i++) {
			found = sibling(i, other) &&
				!register_job(other, name, &number, part_of(r) != 0) &&
				map_pair(other, number, &p);
			rc = found ? 0 : rc;
		}
		took = turn_now_ns() - begin;
		atomic_store(&r->next_ns,
			     begin + took + (took < REGISTER_NS / 2 ? AGAIN_NS : BUSY_NS));
		if (rc == ENOENT || rc == ECONNREFUSED || rc == EAGAIN)
			say_nobody(s->socket);
	}
	account_start();
	return found ? settle(r, &p) : NULL;
}

/* A silent node cannot announce another one in its segment, so ask other nodes. */
static struct sl_turn_job *look_elsewhere(struct turn_route *r, struct sl_turn_job *job)
{
	int64_t now = turn_now_ns();
	struct pair p;

	if (now < atomic_load(&r->next_ns))
		return job;
	atomic_store(&r->next_ns, now + ELSEWHERE_NS);
	return map_known(job->job, &p) ? settle(r, &p) : job;
}

void turn_elsewhere(struct sl_turn_job *job)
{
	struct pair p;

	if (turn_sealed() || !atomic_load(&job->homes))
		return;
	for (struct turn_route *r = turn_routes; r < turn_routes + TURN_PARTS; r++)
		if (atomic_load(&r->job) == job && is_current(r, job) && map_known(job->job, &p))
			enter(r, settle(r, &p));
}

static struct sl_turn_job *attach(struct turn_route *r)
{
	struct sl_turn_job *job = atomic_load(&r->job);

	if (turn_sealed())
		return job && !is_gone(job) ? job : NULL;
	if (!job || is_gone(job))
		job = contact(r);
	else if (!is_current(r, job))
		job = follow(r, job);
	else if (atomic_load_explicit(&job->given_up, memory_order_relaxed))
		job = look_elsewhere(r, job);
	if (!job || is_gone(job))
		return NULL;
	enter(r, job);
	return job;
}

struct sl_turn_job *turn_attach(void)
{
	struct sl_turn_job *job;
	unsigned part = part_now();

	job = attach(&turn_routes[part]);
	return job || !part ? job : attach(&turn_own);
}

struct sl_turn_job *turn_job_for(int fd)
{
	struct sl_turn_job *job;

	part_by_fd(fd);
	job = atomic_load_explicit(&turn_routes[part_now()].job, memory_order_acquire);
	return job ? job : atomic_load_explicit(&turn_own.job, memory_order_acquire);
}

void turn_ring(const struct sl_turn_job *job)
{
	struct sl_turn_node *node = turn_node_of(job);
	uint32_t index = job->index % SL_TURN_JOBS;

	atomic_fetch_or(&node->ready[index / 64], UINT64_C(1) << index % 64);
	if (atomic_load(&node->sleeping)) {
		atomic_fetch_add(&node->rings, 1);
		syscall(SYS_futex, &node->rings, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

void turn_seal(void)
{
	turn_attach();
	for (int fd = 0; fd < TURNFD_FIRST; fd++)
		if (turnfd_state(fd) == TURNFD_UNKNOWN)
			turnfd_find(fd);
	atomic_store(&a.sealed, true);
	turnfd_seal();
}

bool turn_sealed(void)
{
	return atomic_load_explicit(&a.sealed, memory_order_relaxed);
}

int turn_phase(bool begin)
{
	struct sl_turn_job *job = attach(&turn_own);
	struct mark *mark = make_mark();
	struct sl_turn_proc *p;

	if (mark)
		atomic_store(&mark->phase, begin);
	if (!job)
		return begin ? -ENOTCONN : 0;
	p = turn_foreign() ? NULL : entry(job);
	if (!p)
		return -ENOTCONN;
	atomic_store(&p->phase, begin);
	turn_ring(job);
	return 0;
}

bool turn_forwards(void)
{
	struct sl_turn_job *job = attach(&turn_own);

	return job && sl_turn_mode_of(job) == SL_TURN_FORWARD;
}
