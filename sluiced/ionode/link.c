/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's connection to the controller (sluiced/controller/main.c says what travels on it).
 *
 * A thread of its own, so that a controller that is slow, stopped or gone costs the data path
 * nothing; one that does not read for a second, or says nothing for five, has lost the connection,
 * so that the node can end.
 * It reports every REPORT_NS while jobs do something, else every IDLE_NS, and at once when a job
 * begins after a pause. What the controller orders is carried out under the node's lock: what the
 * node may draw and the rates of its jobs, which are leases; the node's share of a job's min and
 * max, which stays as it is; and which nodes serve the job, which its clients are told
 * (wire/shm.h: `moved`). An order that lets the node draw less is acknowledged at once: the
 * controller waits for that before it gives the difference to others.
 *
 * Orders carry the *term* of their controller. A node obeys the highest that it has seen: one that
 * was stopped, replaced and continued does no harm.
 *
 * When the connection breaks, the thread tries again, for ever. The last orders hold for LEASE_NS.
 * Then the node fails open: jobs have no rates any more, and the node may draw its part of the
 * capacity at least, a quarter more each second, up to all of it. A machine must not stall because
 * one process has died.
 */
#include "sluiced/ionode/link.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/listen.h"
#include "base/log.h"
#include "base/secret.h"
#include "policy/policy.h"
#include "sluiced/ionode/sense.h"
#include "sluiced/ionode/tcp/tcp.h"
#include "sluiced/ionode/trace.h"
#include "sluiced/ionode/turn.h"
#include "wire/auth.h"

#define REPORT_NS  INT64_C(50000000)
#define LEAST_NS   INT64_C(1000000) /* between two, however much begins */
#define RETRY_MS   200
#define IDLE_NS	   INT64_C(1000000000)
#define QUIET_NS   INT64_C(3000000000) /* without I/O: idle */
#define SILENT_NS  INT64_C(5000000000)
#define LEASE_NS   INT64_C(4000000000)
#define GREET_S	   5
#define IN_MAX	   (4U << 20)
#define LINK_NODES 64

struct link {
	struct node *node;
	pthread_t thread;
	int event_fd;
	int sock;
	atomic_bool stop;
	bool refused;	/* by the controller, the last time */
	uint64_t epoch; /* of the last orders */
	uint64_t term;	/* the highest, of these */
	uint64_t order; /* the last that is in force */
	bool lowered;	/* by it: it is to be acknowledged at once */
	sl_time until;	/* orders hold; 0: there are none */
	sl_time busy;	/* when a job last did something */
	sl_time heard;	/* when something came from the controller */
	/* The nodes of the layer, as of the last orders. */
	uint32_t nodes;
	char node_name[LINK_NODES][SL_NODE_NAME_MAX];
	char node_socket[LINK_NODES][108], node_tcp[LINK_NODES][96];
	struct sl_job_report *job; /* the last report's */
	uint32_t room;
	size_t have;
	unsigned char *in; /* IN_MAX + 1 */
};

/* ---- reports ---- */

static struct sl_job_report job_report(struct node *n, const struct node_job *j, sl_time now)
{
	struct sl_job_report r = { .id = j->number,
				   .clients = j->clients,
				   .procs = j->procs,
				   .nodes = j->nodes,
				   .min_bps = j->asked.min_bps,
				   .max_bps = j->asked.max_bps,
				   .weight = j->asked.weight,
				   .period_ns = j->asked.period_ns,
				   .moved = { j->moved[0], j->moved[1] },
				   .inside = j->inside,
				   .phase = j->phase,
				   .idle_ns = j->inside ? 0 : now - j->last_io };
	struct sl_job_stats st;

	if (sl_job_stats(n->sched, j->number, now, &st) == 0) {
		r.queued_bytes = st.queued_bytes;
		r.waited_ns = st.waiting_ns;
	}
	memcpy(r.name, j->name, sizeof(r.name));
	memcpy(r.title, j->title, sizeof(r.title));
	if (j->map_epoch && !j->map_count)
		strcpy(r.map, "-");
	for (uint32_t i = 0; j->map_epoch && i < j->map_count; i++) {
		strcat(r.map, i ? "," : "");
		strcat(r.map, j->map[i]);
	}
	return r;
}

/* All jobs, as they are now, into l->job: their number, or -ENOMEM. The lock is held. */
static int collect(struct link *l, sl_time now)
{
	struct node *n = l->node;
	uint32_t count = 0;

	for (const struct node_job *j = n->jobs; j; j = j->next) {
		if (count == l->room) {
			uint32_t room = l->room ? 2 * l->room : 16;
			struct sl_job_report *more = realloc(l->job, room * sizeof(*more));

			if (!more)
				return -ENOMEM;
			l->job = more;
			l->room = room;
		}
		l->job[count++] = job_report(n, j, now);
		if (j->inside || now - j->last_io < QUIET_NS)
			l->busy = now;
	}
	return (int)count;
}

static int send_line(const struct link *l, const char *text, size_t length)
{
	struct sl_frame f = { .type = SL_CONTROL, .length = (uint32_t)length };
	unsigned char head[SL_FRAME_BYTES];
	struct iovec iov[2] = { { head, sizeof(head) }, { (void *)text, length } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	sl_frame_encode(&f, head);
	return sendmsg(l->sock, &m, MSG_NOSIGNAL) == (ssize_t)(sizeof(head) + length) ? 0 : -EPIPE;
}

static int acknowledge(struct link *l)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "ack %" PRIu64, l->order);

	l->lowered = false;
	return send_line(l, text, (size_t)length);
}

static int report(struct link *l)
{
	struct node *n = l->node;
	struct sl_node_report r = { .life = n->epoch };
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	struct sl_sched_stats st;
	sl_time now;
	int rc = -ENOMEM, jobs;

	if (!out)
		return rc;
	snprintf(r.name, sizeof(r.name), "%s", n->config->name ? n->config->name : "0");
	snprintf(r.socket, sizeof(r.socket), "%s", n->config->daemon.socket);
	if (n->tcp)
		memcpy(r.tcp, n->tcp->name, sizeof(r.tcp));
	fputs("report\n", out);
	pthread_mutex_lock(&n->lock);
	now = node_now();
	turn_account(n, now);
	sl_sched_stats(n->sched, &st);
	snprintf(r.share, sizeof(r.share), "%s",
		 n->policy[SL_SHARE] ? n->policy[SL_SHARE]
		 : n->config->share  ? n->config->share
				     : st.share);
	r.capacity_bps = n->find ? 0 : n->capacity_bps; /* each finds its own: nothing to divide */
	if (n->config->layer_nodes > 1 && !n->find)
		r.layer_bps = node_of_layer(n->config, n->capacity_bps);
	r.draw_bps = n->draw_bps;
	r.ack = l->order;
	r.term = l->term;
	jobs = collect(l, now);
	node_unlock(n);
	sl_report_put_node(out, &r);
	for (int i = 0; i < jobs; i++) /* takes ten times as long as to collect them */
		sl_report_put_job(out, &l->job[i]);
	if (fclose(out) == 0 && jobs >= 0)
		rc = send_line(l, text, length);
	free(text);
	return rc;
}

/* ---- orders; the lock is held ---- */

static void take_share(struct node *n, struct node_job *j, uint32_t share, sl_time now)
{
	/* Before the first order a min is divided evenly (job.c): all of it is news, too. */
	if (share == j->share || !(j->asked.min_bps || j->asked.max_bps))
		return;
	j->share = share;
	node_job_apply(n, j, now);
}

static void take_period(struct node *n, struct node_job *j, sl_time found, sl_time now)
{
	if (j->asked.period_ns || found <= 0 || found == j->found_period_ns)
		return;
	j->found_period_ns = found;
	node_job_apply(n, j, now);
}

static void take_map(struct node *n, struct node_job *j, const struct sl_job_orders *o,
		     uint64_t epoch)
{
	if (o->to_count == UINT32_MAX || (j->map_count == o->to_count && j->map_turns == o->turns &&
					  !memcmp(j->map, o->to, sizeof(j->map))))
		return;
	memcpy(j->map, o->to, sizeof(j->map));
	j->map_turns = o->turns;
	j->map_count = o->to_count;
	j->map_epoch = epoch;
	node_clients_moved(n, j);
}

static void take_draw(struct link *l, const struct sl_node_orders *o)
{
	struct node *n = l->node;
	sl_time now = node_now();

	l->term = o->term;
	if (!o->layer_bps || n->find) /* a node that finds its capacity paces itself */
		return;
	if (o->layer_bps != n->layer_bps && node_capacity(n, o->layer_bps, now) == 0)
		n->layer_bps = o->layer_bps;
	l->lowered |= o->draw_bps < n->draw_bps;
	l->order = o->order;
	l->until = now + LEASE_NS;
	node_draw(n, o->draw_bps ? o->draw_bps : 1, now);
}

/* What concerns all jobs: it comes before them. */
static void take_layer(struct link *l, int what, const struct sl_orders_line *line)
{
	if (what == SL_LINE_EPOCH) {
		l->epoch = line->epoch.epoch;
		l->nodes = 0;
		take_draw(l, &line->epoch);
	}
	if (what == SL_LINE_NODE && l->nodes < LINK_NODES) {
		memcpy(l->node_name[l->nodes], line->node.name, sizeof(line->node.name));
		memcpy(l->node_tcp[l->nodes], line->node.tcp, sizeof(line->node.tcp));
		memcpy(l->node_socket[l->nodes++], line->node.socket, sizeof(line->node.socket));
	}
}

static void take_job(const struct link *l, const struct sl_job_orders *o)
{
	struct node *n = l->node;
	struct node_job *j = node_job_find(n, o->id);
	sl_time now = node_now();

	if (!j)
		return;
	if (!n->passing && !n->find)
		node_job_rate(n, j, o->rate_bps, now + LEASE_NS, now);
	take_share(n, j, o->share, now);
	take_period(n, j, o->period_ns, now);
	take_map(n, j, o, l->epoch);
}

/* The lock is not held: with thousands of jobs, requests come between one line and the next. */
static void obey(struct link *l, char *text)
{
	struct node *n = l->node;
	struct sl_orders_line line;
	int what;

	what = sl_orders_next(&text, &line);
	if (what == SL_LINE_EPOCH && line.epoch.term < l->term)
		return; /* of a controller that has been replaced */
	pthread_mutex_lock(&n->lock);
	if (what > 0)
		take_layer(l, what, &line);
	while ((what = sl_orders_next(&text, &line)) > 0 && what != SL_LINE_JOB)
		take_layer(l, what, &line);
	node_unlock(n);
	for (; what > 0; what = sl_orders_next(&text, &line)) {
		if (what != SL_LINE_JOB)
			continue;
		pthread_mutex_lock(&n->lock);
		take_job(l, &line.job);
		node_unlock(n);
	}
	pthread_mutex_lock(&n->lock);
	turn_modes(n, node_now());
	node_unlock(n);
	node_wake_all(n);
	if (what < 0)
		log_warn("controller: orders that make no sense");
}

void link_tick(struct node *n, sl_time now)
{
	struct link *l = n->link;
	uint64_t least = n->capacity_bps, more = n->draw_bps / 4 * 5;

	if (!l || n->find || !l->until || now < l->until || !n->layer_bps)
		return;
	for (struct node_job *j = n->jobs; j; j = j->next)
		if (j->grant_bps != SL_GRANT_NONE)
			node_job_rate(n, j, SL_GRANT_NONE, 0, now);
	more = more < least || n->config->loss_divides ? least : more;
	node_draw(n, more < n->layer_bps ? more : n->layer_bps, now);
}

/* ---- connection ---- */

static int greet(struct link *l)
{
	const struct timeval patience = { .tv_sec = GREET_S }, none = { 0 };
	struct sl_hello h = { .version = SL_PROTO_VERSION,
			      .pid = (uint32_t)getpid(),
			      .job = "@ionode" };
	struct sl_frame f = { .type = SL_HELLO, .length = SL_HELLO_BYTES, .tag = 1 };
	unsigned char out[SL_FRAME_BYTES + SL_HELLO_BYTES];
	char secret[SL_SECRET_BYTES];
	struct sl_session session; /* reports and orders are not sealed */
	int rc;

	if (!l->node->config->controller_secret) {
		sl_frame_encode(&f, out);
		sl_hello_encode(&h, out + SL_FRAME_BYTES);
		return send(l->sock, out, sizeof(out), MSG_NOSIGNAL) == (ssize_t)sizeof(out)
			       ? 0
			       : -EPIPE;
	}
	if (sl_secret_read(l->node->config->controller_secret, secret))
		return -EACCES;
	setsockopt(l->sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	rc = sl_greet(l->sock, &h, secret, &session, &f);
	setsockopt(l->sock, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
	return rc > 0 ? -rc : rc;
}

/* It will not have this node. Said once: it is asked again and again. */
static int refused(struct link *l, const char *why)
{
	if (!l->refused)
		log_warn("controller=%s refuses this node: %s", l->node->config->controller, why);
	l->refused = true;
	return -ECONNREFUSED;
}

static int receive(struct link *l)
{
	ssize_t k = recv(l->sock, l->in + l->have, IN_MAX - l->have, MSG_DONTWAIT);
	struct sl_frame f;

	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (k <= 0)
		return -ECONNRESET;
	l->have += (size_t)k;
	l->heard = node_now();
	while (l->have >= SL_FRAME_BYTES) {
		size_t whole;
		unsigned char behind;

		if (sl_frame_decode(l->in, &f) || f.type != SL_REPLY)
			return -EPROTO;
		whole = SL_FRAME_BYTES + f.length;
		if (whole > IN_MAX)
			return -EMSGSIZE;
		if (l->have < whole)
			break;
		behind = l->in[whole];
		l->in[whole] = 0;
		if (f.status)
			return refused(l, (char *)l->in + SL_FRAME_BYTES);
		if (f.length)
			obey(l, (char *)l->in + SL_FRAME_BYTES);
		l->in[whole] = behind;
		l->have -= whole;
		memmove(l->in, l->in + whole, l->have);
	}
	return 0;
}

static int converse(struct link *l)
{
	sl_time next = 0, last = 0;
	uint64_t count;
	int rc = greet(l);

	l->heard = node_now();

	while (!rc && !atomic_load(&l->stop)) {
		struct pollfd p[2] = { { .fd = l->sock, .events = POLLIN },
				       { .fd = l->event_fd, .events = POLLIN } };
		sl_time now = node_now();

		if (now - l->heard > SILENT_NS)
			return -ETIMEDOUT; /* it renews its orders every second */
		if (now >= next) {
			rc = report(l);
			last = now;
			next = now + (now - l->busy < QUIET_NS ? REPORT_NS : IDLE_NS);
			continue;
		}
		if (poll(p, 2, (int)((next - now) / 1000000 + 1)) < 0 && errno != EINTR)
			return -errno;
		if (p[1].revents && read(l->event_fd, &count, sizeof(count)) == sizeof(count))
			next = last + LEAST_NS;
		if (p[0].revents) {
			rc = receive(l);
			/* One wake-up for both, of a node that has nothing else to do. */
			if (next - last == IDLE_NS && node_now() - last > IDLE_NS / 2)
				next = last;
		}
		if (!rc && l->lowered)
			rc = acknowledge(l);
	}
	return rc;
}

static void *link_main(void *arg)
{
	struct link *l = arg;
	bool said = false;

	while (!atomic_load(&l->stop)) {
		struct pollfd p = { .fd = l->event_fd, .events = POLLIN };
		int rc;

		l->sock = listen_dial(l->node->config->controller);
		if (l->sock < 0) {
			if (!said)
				log_warn("controller=%s not there: %s", l->node->config->controller,
					 strerror(-l->sock));
			said = true;
			/* What has happened meanwhile is in the first report: do not wake for it.
			 */
			while (read(l->event_fd, &(uint64_t){ 0 }, sizeof(uint64_t)) > 0)
				;
			if (!atomic_load(&l->stop))
				poll(&p, 1, RETRY_MS);
			continue;
		}
		if (!l->refused)
			log_info("controller=%s connected", l->node->config->controller);
		l->have = 0;
		rc = converse(l);
		close(l->sock);
		said = false;
		l->refused = rc == -ECONNREFUSED;
		if (rc && !l->refused)
			log_info("controller=%s gone: %s", l->node->config->controller,
				 strerror(-rc));
		if (!atomic_load(&l->stop))
			usleep(RETRY_MS * 1000);
	}
	return NULL;
}

int link_start(struct node *n)
{
	struct link *l;
	int rc;

	if (!n->config->controller)
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->node = n;
	l->in = malloc(IN_MAX + 1);
	l->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	n->link = l;
	if (!l->in || l->event_fd < 0)
		return -ENOMEM;
	rc = pthread_create(&l->thread, NULL, link_main, l);
	return -rc;
}

void link_stop(struct node *n)
{
	struct link *l = n->link;

	if (!l)
		return;
	atomic_store(&l->stop, true);
	link_event(n);
	pthread_join(l->thread, NULL);
	close(l->event_fd);
	free(l->in);
	free(l->job);
	free(l);
	n->link = NULL;
}

void link_event(struct node *n)
{
	uint64_t one = 1;

	if (n->link && write(n->link->event_fd, &one, sizeof(one)) < 0)
		return; /* it is full: the thread will look in any case */
}

/* Node k as a client of that kind reaches it; false: not at all. */
static bool address(const struct link *l, uint32_t k, bool tcp, char out[108])
{
	snprintf(out, 108, tcp ? "tcp:%s" : "%s", tcp ? l->node_tcp[k] : l->node_socket[k]);
	return tcp ? l->node_tcp[k][0] : l->node_socket[k][0];
}

bool link_socket(const struct node *n, const char *name, char out[108])
{
	const struct link *l = n->link;

	for (uint32_t k = 0; l && k < l->nodes; k++)
		if (!strcmp(l->node_name[k], name))
			return address(l, k, false, out);
	return false;
}

/* Unit u of U uses the ⌊u n / U⌋-th of n nodes. */
void link_where(const struct node *n, const struct node_job *j, uint32_t unit, uint32_t units,
		bool tcp, char *out, size_t size)
{
	uint32_t i = !j->map_count ? 0
		     : units	   ? (uint32_t)((uint64_t)(unit % units) * j->map_count / units)
				   : unit % j->map_count;
	const struct link *l = n->link;
	const char *before = " peers=";
	char at[108];
	size_t used;

	snprintf(out, size, "epoch=0");
	if (!l)
		return;
	if (j->map_epoch && !j->map_count)
		snprintf(out, size, "epoch=%llu direct", (unsigned long long)j->map_epoch);
	for (uint32_t k = 0; j->map_epoch && j->map_count && k < l->nodes; k++)
		if (!strcmp(l->node_name[k], j->map[i]) && address(l, k, tcp, at))
			snprintf(out, size, "epoch=%llu at=%s", (unsigned long long)j->map_epoch,
				 at);
	used = strlen(out);
	for (uint32_t k = 0; k < l->nodes && used + sizeof(at) + 8 < size; k++) {
		if (!address(l, k, tcp, at))
			continue;
		used += (size_t)snprintf(out + used, size - used, "%s%s", before, at);
		before = ",";
	}
}
