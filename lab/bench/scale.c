/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench control`, rows nodes: a controller with 100, 1,000 and 10,000 I/O nodes, each a
 * connection of its own from one load generator, and ten jobs at each node.
 *
 * Every tenth node has one job that does I/O, and reports as often as the controller orders. All
 * other nodes report once a second that nothing has changed. In a second part, a job of an idle
 * node begins CHANGES times a second, and we measure how long it takes until its node has the order
 * with its rate, from before the report is sent. The cost of a report is measured without such
 * changes, but with the orders that renew leases.
 *
 * The same bytes at the same rate are then sent to a process that does nothing but epoll_wait() and
 * recv(): what a report costs the controller beyond that are its decisions and orders. Memory, without code, is
 * what the controller has more than with one node, divided by the other pairs of job and node.
 *
 * The connections are Unix sockets. Over TCP the work after the greeting is the same, and both
 * sides pay the same additional cost.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/listen.h"
#include "lab/bench/common.h"
#include "lab/bench/control.h"
#include "lab/private.h"
#include "lab/statistics.h"
#include "wire/report.h"

#define CMD	   "bench control"
#define JOBS	   10 /* at each node */
#define TENTH	   10
#define CHANGES	   50 /* a second */
#define SAMPLES	   4096
#define CAPACITY   100000000000U
#define GOAL_US	   1.0
#define GOAL_MS	   100.0
#define GOAL_BYTES 1024.0
#define SECOND	   INT64_C(1000000000)

struct scale {
	struct private p;
	char socket[108], bare[108];
	uint32_t nodes;
	int epoll_fd, *sock;
	pid_t pid; /* the measured process */
	int64_t *due;
	uint64_t *moved; /* by the job that does I/O */
	uint64_t *draw;	 /* as ordered */
	int64_t every_ns;
	bool loaded;	   /* jobs do I/O */
	uint32_t answered; /* nodes that have had orders */
	/* The change whose order is awaited. */
	uint64_t change; /* the job; 0: none */
	uint32_t changed_at;
	int64_t began;
	double ms[SAMPLES];
	unsigned samples;
	uint64_t reports;
};

struct measured {
	double us, bare_us, change_us, p50_ms, p99_ms, pair_bytes, reports_per_s, seconds;
	unsigned changes;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

static double cpu_us(pid_t pid)
{
	clockid_t clock;
	struct timespec t;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double memory_bytes(pid_t pid)
{
	char path[64];
	unsigned long pages = 0, shared = 0, all;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%lu %lu %lu", &all, &pages, &shared) != 3)
		pages = shared = 0;
	if (f)
		fclose(f);
	return (double)(pages - shared) * (double)sysconf(_SC_PAGESIZE);
}

/* ---- nodes ---- */

static int send_line(const struct scale *s, uint32_t i, const char *text, size_t length)
{
	struct sl_frame f = { .type = SL_CONTROL, .length = (uint32_t)length };
	unsigned char head[SL_FRAME_BYTES];
	struct iovec iov[2] = { { head, sizeof(head) }, { (void *)text, length } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	sl_frame_encode(&f, head);
	return sendmsg(s->sock[i], &m, MSG_NOSIGNAL) == (ssize_t)(sizeof(head) + length) ? 0 : -1;
}

static uint64_t job_id(uint32_t node, uint32_t k)
{
	return (uint64_t)node * JOBS + k + 1;
}

static int send_whole(const struct scale *s, uint32_t i)
{
	struct sl_node_report r = { .life = i + 1,
				    .capacity_bps = CAPACITY / s->nodes,
				    .layer_bps = CAPACITY,
				    .of = s->nodes,
				    .draw_bps = 1 };
	char text[8192];
	FILE *f = fmemopen(text, sizeof(text), "w");

	if (!f)
		return -1;
	snprintf(r.name, sizeof(r.name), "n%u", i);
	snprintf(r.socket, sizeof(r.socket), "/n%u", i);
	fputs("report\n", f);
	sl_report_put_node(f, &r);
	for (uint32_t k = 0; k < JOBS; k++) {
		struct sl_job_report j = { .id = job_id(i, k), .clients = 1, .weight = 1 };

		snprintf(j.name, sizeof(j.name), "job%" PRIu64, j.id);
		sl_report_put_job(f, &j);
	}
	fclose(f);
	return send_line(s, i, text, strlen(text));
}

/* Send the report of a node with I/O, or a report without changes. */
static int send_delta(struct scale *s, uint32_t i)
{
	char text[160];
	int n = snprintf(text, sizeof(text), "delta\n");

	if (s->loaded && i % TENTH == 0) {
		s->moved[i] += 1 << 20;
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "job id=%" PRIu64 " written=%" PRIu64 " queued=65536 waited=%" PRIu64
			      " inside=1\n",
			      job_id(i, 0), s->moved[i], s->moved[i] * 40);
	}
	s->reports++;
	return send_line(s, i, text, (size_t)n);
}

static int connect_all(struct scale *s, const char *socket)
{
	struct sl_hello h = { .version = SL_PROTO_VERSION, .pid = 1, .job = "@ionode" };
	struct sl_frame f = { .type = SL_HELLO, .length = SL_HELLO_BYTES, .tag = 1 };
	unsigned char hello[SL_FRAME_BYTES + SL_HELLO_BYTES];
	struct ucred cred;
	socklen_t length = sizeof(cred);

	sl_frame_encode(&f, hello);
	sl_hello_encode(&h, hello + SL_FRAME_BYTES);
	for (uint32_t i = 0; i < s->nodes; i++) {
		struct epoll_event ev = { .events = EPOLLIN, .data.u32 = i };

		s->sock[i] = listen_dial(socket);
		if (s->sock[i] < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->sock[i], &ev) ||
		    send(s->sock[i], hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
			return cli_fail(CMD, "node %u cannot connect: %s.", i, strerror(errno));
		s->due[i] = now_ns() + (int64_t)((double)SECOND * i / s->nodes);
	}
	if (getsockopt(s->sock[0], SOL_SOCKET, SO_PEERCRED, &cred, &length))
		return cli_fail(CMD, "cannot find the controller.");
	s->pid = cred.pid;
	return CLI_OK;
}

static void close_all(struct scale *s)
{
	for (uint32_t i = 0; i < s->nodes; i++)
		if (s->sock[i] >= 0)
			close(s->sock[i]);
	for (uint32_t i = 0; i < s->nodes; i++)
		s->sock[i] = -1;
}

/* ---- orders ---- */

static void obey(struct scale *s, uint32_t i, char *text)
{
	struct sl_orders_line l;
	int what;

	while ((what = sl_orders_next(&text, &l)) > 0) {
		if (what == SL_LINE_EPOCH) {
			char ack[64];

			s->every_ns = l.epoch.every_ns > 0 ? l.epoch.every_ns : s->every_ns;
			s->answered += l.epoch.whole;
			snprintf(ack, sizeof(ack), "ack %" PRIu64, l.epoch.order);
			if (l.epoch.draw_bps < s->draw[i]) /* as a node does */
				send_line(s, i, ack, strlen(ack));
			s->draw[i] = l.epoch.draw_bps;
		}
		if (what == SL_LINE_JOB && l.job.id == s->change && l.job.rate_bps != UINT64_MAX) {
			if (s->samples < SAMPLES)
				s->ms[s->samples++] = (double)(now_ns() - s->began) / 1e6;
			s->change = 0;
		}
	}
}

static void receive(struct scale *s, uint32_t i)
{
	static unsigned char in[1 << 20];
	struct sl_frame f;
	ssize_t k = recv(s->sock[i], in, sizeof(in) - 1, MSG_DONTWAIT);

	/* Orders arrive complete: each is written at once and fits the socket buffer. */
	for (size_t at = 0; k > 0 && at + SL_FRAME_BYTES <= (size_t)k;) {
		size_t end;
		unsigned char behind;

		if (sl_frame_decode(in + at, &f))
			return;
		end = at + SL_FRAME_BYTES + f.length;
		if (end > (size_t)k)
			return;
		behind = in[end];
		in[end] = 0;
		if (f.length && !f.status)
			obey(s, i, (char *)in + at + SL_FRAME_BYTES);
		in[end] = behind;
		at = end;
	}
}

static void listen_for(struct scale *s, int ms)
{
	struct epoll_event ev[512];
	int n = epoll_wait(s->epoll_fd, ev, 512, ms);

	for (int i = 0; i < n; i++)
		receive(s, ev[i].data.u32);
}

/* ---- the load ---- */

/* Begin a job at an idle node; the job before it has ended. */
static void change(struct scale *s, uint64_t *random)
{
	char text[128];
	uint32_t i;

	if (s->change) {
		if (now_ns() - s->began < 2 * SECOND)
			return;
		s->ms[s->samples++ % SAMPLES] = 2000; /* no answer arrived */
	}
	if (s->began) {
		snprintf(text, sizeof(text), "delta\njob id=%" PRIu64 " inside=0\n",
			 job_id(s->changed_at, 1));
		send_line(s, s->changed_at, text, strlen(text));
		s->reports++;
	}
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	i = (uint32_t)(*random >> 33) % s->nodes;
	s->changed_at = i % TENTH ? i : i + 1;
	s->change = job_id(s->changed_at, 1);
	s->began = now_ns();
	snprintf(text, sizeof(text), "delta\njob id=%" PRIu64 " inside=1\n", s->change);
	send_line(s, s->changed_at, text, strlen(text));
	s->reports++;
}

/* Send the reports that are due, of the first `nodes` nodes. */
static int pulse(struct scale *s, uint32_t nodes, int64_t now)
{
	for (uint32_t i = 0; i < nodes; i++) {
		if (s->due[i] > now)
			continue;
		if (send_delta(s, i))
			return cli_fail(CMD, "node %u has lost its connection.", i);
		s->due[i] += i % TENTH ? SECOND : s->every_ns;
		s->due[i] = s->due[i] < now ? now : s->due[i];
	}
	return CLI_OK;
}

static int load(struct scale *s, int64_t for_ns, bool changing)
{
	int64_t begin = now_ns(), end = begin + for_ns, changes = begin;
	uint64_t random = 1;

	s->loaded = true;
	s->reports = s->samples = 0;
	for (int64_t now = begin; now < end && !private_interrupted; now = now_ns()) {
		if (pulse(s, s->nodes, now))
			return CLI_FAILED;
		if (changing && now >= changes) {
			change(s, &random);
			changes += SECOND / CHANGES;
		}
		listen_for(s, 1);
	}
	return private_interrupted ? CLI_FAILED : CLI_OK;
}

/* ---- the baseline ---- */

static int bare_serve(int listen_fd)
{
	static char in[1 << 16];
	int epoll_fd = epoll_create1(0);
	struct epoll_event ev[512] = { { .events = EPOLLIN, .data.fd = listen_fd } };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, ev))
		return 1;
	for (;;) {
		int n = epoll_wait(epoll_fd, ev, 512, -1);

		for (int i = 0; i < n; i++) {
			int fd = ev[i].data.fd;
			struct epoll_event one = { .events = EPOLLIN };

			if (fd == listen_fd) {
				/* cppcheck-suppress nullPointer */
				one.data.fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
				epoll_ctl(epoll_fd, EPOLL_CTL_ADD, one.data.fd, &one);
			} else if (recv(fd, in, sizeof(in), MSG_DONTWAIT) == 0) {
				close(fd);
			}
		}
	}
}

/* CPU time per report of the process that listens there. */
static int measure(struct scale *s, int64_t for_ns, double *us, double *per_s)
{
	double begin_us, begin_s;
	int status;

	if ((status = load(s, SECOND, false))) /* to warm up */
		return status;
	begin_us = cpu_us(s->pid);
	begin_s = (double)now_ns();
	status = load(s, for_ns, false);
	*us = (cpu_us(s->pid) - begin_us) / (double)(s->reports ? s->reports : 1);
	*per_s = (double)s->reports / ((double)now_ns() - begin_s) * 1e9;
	return status;
}

static int measure_bare(struct scale *s, int64_t for_ns, struct measured *m)
{
	double per_s;
	pid_t pid;
	int status = CLI_FAILED, listen_fd;

	snprintf(s->bare, sizeof(s->bare), "%s/bare.sock", s->p.runtime);
	listen_fd = listen_unix(s->bare);
	if (listen_fd < 0)
		return cli_fail(CMD, "%s: %s.", s->bare, strerror(-listen_fd));
	pid = fork();
	if (pid == 0)
		_exit(bare_serve(listen_fd));
	close(listen_fd);
	if (pid > 0 && !(status = connect_all(s, s->bare))) {
		s->pid = pid; /* and not this one, which has begun to listen */
		status = measure(s, for_ns, &m->bare_us, &per_s);
	}
	close_all(s);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	unlink(s->bare);
	return status;
}

/* ---- a row ---- */

/* The first node: buffers that serve all nodes are there then. */
static int join_first(struct scale *s)
{
	if (send_whole(s, 0))
		return cli_fail(CMD, "node 0 has lost its connection.");
	s->due[0] = now_ns() + SECOND;
	for (int64_t end = now_ns() + 10 * SECOND; !s->answered && now_ns() < end;)
		listen_for(s, 10);
	return CLI_OK;
}

/* All others report for the first time, and go on as they do without work. */
static int join(struct scale *s)
{
	int status = CLI_OK;

	for (uint32_t i = 1; i < s->nodes; i++) {
		if (send_whole(s, i))
			return cli_fail(CMD, "node %u has lost its connection.", i);
		s->due[i] = now_ns() + SECOND;
		if (i % 64)
			continue;
		listen_for(s, 0);
		if ((status = pulse(s, i, now_ns())))
			return status;
	}
	for (int64_t end = now_ns() + 30 * SECOND; s->answered < s->nodes && now_ns() < end;) {
		listen_for(s, 10);
		if ((status = pulse(s, s->nodes, now_ns())))
			return status;
	}
	return CLI_OK;
}

static int all_of_it(struct scale *s, int64_t for_ns, struct measured *m)
{
	const char *args[] = { "controller", "--socket", s->socket, "--log", "error", NULL };
	double before;
	int status;

	snprintf(s->socket, sizeof(s->socket), "%s/controller.sock", s->p.runtime);
	if ((status = private_more_start(&s->p, args)))
		return status;
	s->every_ns = SECOND / 20;
	if ((status = connect_all(s, s->socket)))
		return status;
	if ((status = join_first(s)))
		return status;
	before = memory_bytes(s->pid);
	if ((status = join(s)))
		return status;
	if (s->answered < s->nodes)
		return cli_fail(CMD, "only %u of %u nodes received orders.", s->answered, s->nodes);
	m->pair_bytes = (memory_bytes(s->pid) - before) / ((double)(s->nodes - 1) * JOBS);
	if ((status = measure(s, for_ns, &m->us, &m->reports_per_s)))
		return status;
	before = cpu_us(s->pid);
	if ((status = load(s, for_ns, true)))
		return status;
	if (s->samples)
		m->change_us = (cpu_us(s->pid) - before - m->us * (double)s->reports) / s->samples;
	stat_sort(s->ms, s->samples);
	m->changes = s->samples;
	if (s->samples) {
		m->p50_ms = s->ms[s->samples / 2];
		m->p99_ms = s->ms[s->samples * 99 / 100];
	}
	close_all(s);
	return measure_bare(s, for_ns, m);
}

static void put_row(struct control *c, const struct scale *s, const struct measured *m)
{
	bool met = m->us - m->bare_us <= GOAL_US && m->p99_ms <= GOAL_MS &&
		   m->pair_bytes <= GOAL_BYTES;

	if (!c->json) {
		printf("\n%u nodes, %u jobs, of which %u do I/O\n"
		       "  reports            %8.0f a second, each %.0f ms of busy nodes\n"
		       "  changes            %8u in %g s\n"
		       "  CPU of a report    %8.2f us; epoll and recv alone %.2f us\n"
		       "  report to order    %8.2f ms median, %.2f ms p99\n"
		       "  CPU of a change    %8.0f us\n"
		       "  memory of a pair   %8.0f bytes\n"
		       "  goals (1 us more, p99 100 ms, 1024 bytes): %s\n",
		       s->nodes, s->nodes * JOBS, s->nodes / TENTH, m->reports_per_s,
		       (double)s->every_ns / 1e6, m->changes, m->seconds, m->us, m->bare_us,
		       m->p50_ms, m->p99_ms, m->change_us, m->pair_bytes, met ? "met" : "MISSED");
		return;
	}
	json_object(&c->j, NULL);
	json_string(&c->j, "what", "nodes");
	json_uint(&c->j, "ionodes", s->nodes);
	json_uint(&c->j, "jobs", (uint64_t)s->nodes * JOBS);
	json_uint(&c->j, "active_jobs", s->nodes / TENTH);
	json_double(&c->j, "reports_per_s", bench_rounded(m->reports_per_s, 1));
	json_double(&c->j, "report_every_ms", (double)s->every_ns / 1e6);
	json_double(&c->j, "changes_per_s", bench_rounded(m->changes / m->seconds, 10));
	json_double(&c->j, "report_us", bench_rounded(m->us, 1000));
	json_double(&c->j, "bare_us", bench_rounded(m->bare_us, 1000));
	json_double(&c->j, "change_us", bench_rounded(m->change_us, 10));
	json_double(&c->j, "order_p50_ms", bench_rounded(m->p50_ms, 1000));
	json_double(&c->j, "order_p99_ms", bench_rounded(m->p99_ms, 1000));
	json_double(&c->j, "pair_bytes", bench_rounded(m->pair_bytes, 1));
	json_bool(&c->j, "goal_met", met);
	json_end(&c->j);
}

static int one_row(struct control *c, struct scale *s, struct measured *m)
{
	int status = private_begin(&s->p, CMD, access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");

	if (!status)
		status = all_of_it(s, (int64_t)(m->seconds * 1e9), m);
	if (!status)
		put_row(c, s, m);
	return private_end(&s->p, status);
}

static int scale_row(struct control *c, uint32_t nodes)
{
	const struct control_row row = { .what = "nodes", .ionodes = nodes, .jobs = nodes * JOBS };
	struct measured m = { .seconds = c->quick ? 1 : 5 };
	struct rlimit files;
	struct scale *s;
	int status;

	if (!control_wanted(c, &row))
		return CLI_OK;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
		if (files.rlim_max < nodes + 100) {
			cli_warn(CMD,
				 "the limit on open files (ulimit -H -n) is %lu: %lu nodes "
				 "instead of %u.",
				 (unsigned long)files.rlim_max, (unsigned long)files.rlim_max - 100,
				 nodes);
			nodes = (uint32_t)files.rlim_max - 100;
		}
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return cli_fail(CMD, "out of memory.");
	s->nodes = nodes;
	s->sock = calloc(nodes, sizeof(*s->sock));
	s->due = calloc(nodes, sizeof(*s->due));
	s->moved = calloc(nodes, sizeof(*s->moved));
	s->draw = calloc(nodes, sizeof(*s->draw));
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!s->sock || !s->due || !s->moved || !s->draw)
		status = cli_fail(CMD, "out of memory.");
	else
		status = one_row(c, s, &m);
	close(s->epoll_fd);
	free(s->sock);
	free(s->due);
	free(s->moved);
	free(s->draw);
	free(s);
	return status;
}

int control_scale(struct control *c)
{
	static const uint32_t sizes[] = { 100, 1000, 10000 };
	int status = CLI_OK;

	if (c->nodes)
		return scale_row(c, c->nodes);
	for (size_t i = 0; !status && i < (c->quick ? 1 : sizeof(sizes) / sizeof(sizes[0])); i++)
		status = scale_row(c, sizes[i]);
	return status;
}
