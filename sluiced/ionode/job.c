/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of a node: registered with the scheduler by `sluice run` or when their first process
 * connects, kept for a while after the last has gone (jobs are made of many short processes), then
 * forgotten. A program may compute for hours before its first write; meanwhile the process that
 * `sluice run` became holds the job, so that its guarantee is not given away.
 *
 * In a layer with several nodes, all nodes know a job. Its min comes out of the capacity of the
 * layer, which is this node's capacity times the number of nodes, because all have equal parts; it
 * is checked against the guarantees of all jobs in the layer. The part in force at this node is
 * separate: the node's share of the min, if the job has processes here, as far as the node can give
 * it.
 *
 * Example: 3 nodes of 100M; a has min 250M, and 2 of its 3 processes here, which do 2/3 of its I/O:
 * 167M of it are this node's share, but the node can give only 100M. b asks for min 80M and is
 * refused: 250M of 300M are promised.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "sluiced/ionode/joint.h"
#include "sluiced/ionode/link.h"
#include "sluiced/ionode/pass.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/site.h"
#include "sluiced/ionode/scheduler.h"
#include "sluiced/ionode/turn.h"

#define KEEP_NS	   (60 * INT64_C(1000000000))
#define BURST_PART 50		       /* the default depth of a bucket is 1/50 of a second */
#define UNUSED_NS  INT64_C(1000000000) /* how long a job is kept that has sent nothing */

#define HOLDERS 64 /* most holders of a job; more are not needed */

struct node_holder {
	pid_t pid;
	int pidfd;
	struct node_holder *next;
};

/* Numbers are hashes already, or a batch system has given them in sequence: sl_job_number(). */
static struct node_job **place(struct node *n, uint64_t number)
{
	return &n->by_number[number % NODE_PLACES];
}

struct node_job *node_job_find(const struct node *n, uint64_t number)
{
	for (struct node_job *j = n->by_number[number % NODE_PLACES]; j; j = j->same)
		if (j->number == number)
			return j;
	return NULL;
}

/* Remove holders that have ended; true if one is left. Does not wait: poll() with timeout 0. */
static bool held(struct node_job *j)
{
	for (struct node_holder **p = &j->holders, *h; (h = *p);) {
		struct pollfd ended = { .fd = h->pidfd, .events = POLLIN };

		if (poll(&ended, 1, 0) == 0) {
			p = &h->next;
			continue;
		}
		*p = h->next;
		close(h->pidfd);
		free(h);
	}
	return j->holders;
}

static bool forget(struct node *n, struct node_job **p, sl_time keep_ns, sl_time now)
{
	struct node_job *j = *p;

	/* Processes in other PID namespaces are visible only by their I/O. */
	if (j->clients || j->keep || now - j->last_seen <= keep_ns ||
	    ((j->calls || ops_sum(j->ops.made)) && now - j->last_io <= keep_ns))
		return false;
	if (held(j)) {
		j->last_seen = now;
		return false;
	}
	if (keep_ns >= 0 && turn_owes(j, now))
		return false;
	if (j->turn)
		turn_revoke(n, j->turn, now);
	if (node_job_forget(n, j->number, now))
		return false;
	ops_job_forget(n, j, now);
	turn_job_forget(n, j);
	*p = j->next;
	for (p = place(n, j->number); *p != j;)
		p = &(*p)->same;
	*p = j->same;
	joint_free(n, j);
	free(j);
	return true;
}

/*
 * If the table of jobs is full, remove jobs that have ended, so that a new one fits. uid: only jobs
 * of this user.
 */
static bool forget_oldest(struct node *n, const uid_t *uid, sl_time now)
{
	struct node_job **oldest = NULL;

	for (struct node_job **p = &n->jobs; *p; p = &(*p)->next)
		if ((!uid || (*p)->uid == *uid) && !(*p)->clients && !(*p)->keep && !held(*p) &&
		    (!oldest || (*p)->last_seen < (*oldest)->last_seen))
			oldest = p;
	return oldest && forget(n, oldest, -1, now);
}

bool node_job_fits(struct node *n, uid_t uid, uint32_t most)
{
	uint32_t count;

	do {
		count = 0;
		for (const struct node_job *j = n->jobs; j; j = j->next)
			count += j->uid == uid;
	} while (count >= most && forget_oldest(n, &uid, node_now()));
	return count < most;
}

bool node_release_mins(struct node *n, const struct node_job *but)
{
	sl_time now = node_now();
	bool some = false;

	for (struct node_job *j = n->jobs; j; j = j->next) {
		/* By its own request, not by a rule. */
		if (j->keep || (but && j == but) ||
		    !(j->asked.min_bps || sl_ops_min(&j->ops.asked)))
			continue;
		turn_recount(n, j, now);
		if (j->clients || held(j))
			continue;
		j->asked.min_bps = 0;
		memset(j->ops.asked.min, 0, sizeof(j->ops.asked.min));
		rules_job(n, j);
		some = node_job_apply(n, j, now) == 0 || some;
	}
	return some;
}

static bool has_peers(const struct node *n)
{
	return n->config->layer_nodes > 1;
}

uint64_t node_of_layer(const struct node_config *config, uint64_t bps)
{
	uint64_t most = SL_MAX_RATE / (config->layer_nodes ? config->layer_nodes : 1);

	return bps > most ? SL_MAX_RATE : config->layer_nodes ? bps * config->layer_nodes : bps;
}

static void by_order(const struct node *n, const struct node_job *j, struct sl_job_conf *conf)
{
	const char *share = pass_configured(n, SL_SHARE);

	if (j->grant_bps != SL_GRANT_NONE && n->layer_bps && share && !strncmp(share, "fair", 4))
		sl_rate_weight(conf, j->grant_bps, n->layer_bps);
}

/*
 * The part of a job's limits and guarantees in force at this node. A rate ordered by the controller
 * is a guarantee here, which includes the min. A hundredth is left to the share policy, so that a
 * job that starts does not have to wait until the controller knows it.
 */
static struct sl_job_conf here(const struct node *n, struct node_job *j)
{
	struct sl_job_conf conf = j->rights;

	conf.user = (uint64_t)j->owner.uid + 1; /* 0 means unknown */
	conf.account = j->owner.account[0] ? sl_job_number(j->owner.account) : 0;
	conf.nodes = j->nodes;
	by_order(n, j, &conf);
	if (!conf.period_ns)
		conf.period_ns = j->found_period_ns;
	if (j->share) {
		conf.min_bps = sl_share_part(conf.min_bps, j->share);
		conf.max_bps = sl_share_part(conf.max_bps, j->share);
	} else if (has_peers(n)) {
		conf.min_bps = sl_share_part(conf.min_bps, SL_SHARE_WHOLE / n->config->layer_nodes);
	}
	if (j->bucket && (!conf.max_bps || conf.max_bps > j->bucket_here_bps))
		conf.max_bps = j->bucket_here_bps;
	/*
	 * On a busy machine the node may be late by some milliseconds; the burst lets the job catch
	 * up.
	 */
	if (conf.max_bps && !conf.burst_bytes)
		conf.burst_bytes = conf.max_bps / BURST_PART + 1;
	if (j->bucket && conf.min_bps > conf.max_bps)
		conf.min_bps = conf.max_bps;
	if (has_peers(n)) {
		conf.min_bps = j->clients ? conf.min_bps : 0;
		conf.best_effort = conf.min_bps ? 1 : conf.best_effort;
	}
	j->min_here_bps = conf.min_bps;
	j->max_here_bps = conf.max_bps;
	if (j->grant_bps != SL_GRANT_NONE) {
		uint64_t rate = sl_rate_floor(j->grant_bps);

		conf.min_bps = rate > conf.min_bps ? rate : conf.min_bps;
		if (conf.max_bps && conf.max_bps < conf.min_bps)
			conf.min_bps = conf.max_bps;
		conf.best_effort = 1;
	}
	return conf;
}

/* Whether the min fits the layer. For a single node the scheduler checks it. */
static int admits(const struct node *n, uint64_t number, const struct sl_job_conf *conf)
{
	uint64_t promised = 0, before = 0;

	if (!has_peers(n) || !conf->min_bps)
		return 0;
	if (!n->layer_bps || (conf->max_bps && conf->min_bps > conf->max_bps))
		return -EINVAL;
	for (const struct node_job *j = n->jobs; j; j = j->next) {
		uint64_t min = j->rights.best_effort ? 0 : j->rights.min_bps;

		if (j->number == number)
			before = min;
		else
			promised += min;
	}
	if (conf->best_effort || conf->min_bps <= before)
		return 0;
	return conf->min_bps > n->layer_bps || promised > n->layer_bps - conf->min_bps ? -EDQUOT
										       : 0;
}

struct node_job *node_job_add(struct node *n, const char *name, uid_t uid,
			      const struct sl_job_conf *conf, int *error)
{
	struct node_job *j = calloc(1, sizeof(*j));
	sl_time now = node_now();
	struct sl_job_conf ours;

	if (!j) {
		*error = -ENOMEM;
		return NULL;
	}
	j->number = sl_job_number(name);
	j->uid = uid;
	j->asked = *conf;
	j->grant_bps = SL_GRANT_NONE;
	j->owner.uid = n->site ? uid : geteuid();
	snprintf(j->name, sizeof(j->name), "%s", name);
	rules_job(n, j);
	ours = here(n, j);
	do {
		*error = admits(n, j->number, &j->rights);
		*error = *error ? *error : node_job_register(n, j->number, &ours, now);
	} while ((*error == -ENOSPC && forget_oldest(n, NULL, now)) ||
		 (*error == -EDQUOT && node_release_mins(n, NULL)));
	if (*error) {
		joint_free(n, j);
		free(j);
		return NULL;
	}
	j->since = j->last_seen = j->last_io = now;
	j->next = n->jobs;
	n->jobs = j;
	j->same = *place(n, j->number);
	*place(n, j->number) = j;
	ops_job_apply(n, j, now);
	return j;
}

int node_job_apply(struct node *n, struct node_job *j, sl_time now)
{
	uint64_t min_bps = j->min_here_bps, max_bps = j->max_here_bps;
	struct sl_job_conf conf = here(n, j);
	int rc = node_job_change(n, j->number, &conf, now);

	if (rc) {
		j->min_here_bps = min_bps;
		j->max_here_bps = max_bps;
	}
	turn_job_keep(n, j);
	ops_job_apply(n, j, now);
	return rc;
}

void node_job_owner(struct node *n, struct node_job *j, const struct sl_job_owner *owner)
{
	j->owner = *owner;
	node_job_rules(n, j, node_now());
}

void node_job_rules(struct node *n, struct node_job *j, sl_time now)
{
	rules_job(n, j);
	turn_job_patterns(n, j);
	node_job_apply(n, j, now);
}

void node_job_rate(struct node *n, struct node_job *j, uint64_t bps, sl_time until, sl_time now)
{
	node_job_grant(n, j->number, bps, until, now);
	j->granted_until = bps != SL_GRANT_NONE ? until : 0;
	if (bps == j->grant_bps)
		return;
	j->grant_bps = bps;
	node_job_apply(n, j, now);
}

int node_job_ask(struct node *n, struct node_job *j, const struct sl_job_conf *conf, sl_time now)
{
	struct sl_job_conf before = j->asked, had = j->rights, rights;
	int rc;

	do {
		j->asked = *conf;
		rules_job(n, j);
		rights = j->rights;
		j->rights = had; /* restore the previous guarantee */
		rc = admits(n, j->number, &rights);
		j->rights = rights;
		rc = rc ? rc : node_job_apply(n, j, now);
		if (rc)
			j->asked = before;
		rules_job(n, j);
	} while (rc == -EDQUOT && node_release_mins(n, j));
	return rc;
}

void node_clients_moved(struct node *n, struct node_job *j)
{
	uint32_t high = atomic_load(&n->clients_high);

	atomic_fetch_add(&j->moves, 1); /* clients over TCP learn it from a reply */
	for (uint32_t i = 0; i < high; i++) {
		struct client *c = atomic_load(&n->client[i]);

		if (!c || c->job != j || c->gone)
			continue;
		atomic_fetch_add(&c->segment->moved, 1);
		node_send_back(n, c);
	}
}

void node_job_hold(struct node_job *j, pid_t pid)
{
	struct node_holder *h;
	unsigned count = 0;

	held(j);
	for (h = j->holders; h; h = h->next, count++)
		if (h->pid == pid)
			return;
	h = count < HOLDERS ? malloc(sizeof(*h)) : NULL;
	if (!h)
		return;
	h->pid = pid;
	h->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* The process has ended or the kernel is too old: do not hold the job. */
	if (h->pidfd < 0) {
		free(h);
		return;
	}
	h->next = j->holders;
	j->holders = h;
}

void node_job_end(const struct node *n, struct node_job *j)
{
	for (struct node_holder *h; (h = j->holders);) {
		j->holders = h->next;
		close(h->pidfd);
		free(h);
	}
	j->keep = false;
	turn_job_keep(n, j);
}

void node_job_phases(struct node *n, struct node_job *j, int more)
{
	bool before = j->phase;

	j->phase += (uint32_t)more;
	if (before != (j->phase != 0))
		link_event(n);
}

void node_job_phase(struct node *n, struct client *c, bool in)
{
	if (c->phase == in)
		return;
	c->phase = in;
	node_job_phases(n, c->job, in ? 1 : -1);
}

void node_job_clients(struct node *n, struct node_job *j, int more)
{
	bool before = j->clients;

	j->clients += (uint32_t)more;
	j->last_seen = node_now();
	if (before == (j->clients != 0))
		return;
	link_event(n); /* otherwise an idle node would report it seconds later */
	if (has_peers(n) && j->rights.min_bps)
		node_job_apply(n, j, j->last_seen);
}

struct node_job *node_job_join(struct node *n, const struct sl_hello *h, int *error)
{
	struct sl_job_conf conf = { .min_bps = h->min_bps,
				    .max_bps = h->max_bps,
				    .burst_bytes = h->burst_bytes,
				    .weight = h->weight,
				    .period_ns = h->period_ns,
				    .best_effort = h->best_effort };
	struct node_job *j = node_job_find(n, sl_job_number(h->job));

	if (!j)
		j = node_job_add(n, h->job, geteuid(), &conf, error);
	if (!j)
		return NULL;
	j->procs = h->procs ? h->procs : j->procs;
	j->nodes = h->nodes ? h->nodes : j->nodes;
	node_job_clients(n, j, 1);
	return j;
}

void node_job_leave(struct node *n, struct node_job *j)
{
	node_job_clients(n, j, -1);
}

static uint64_t per_second(uint64_t count, sl_time took_ns)
{
	return (uint64_t)((unsigned __int128)count * 1000000000 / (uint64_t)took_ns);
}

/* Once a second: compute the rates of the last second, and remove jobs that ended long ago. */
bool node_jobs_tick(struct node *n)
{
	static sl_time last;
	sl_time now = node_now();
	struct sl_sched_stats all;

	if (now - last < 1000000000)
		return false;
	pthread_mutex_lock(&n->lock);
	node_collect(n, now);
	turn_account(n, now);
	link_tick(n, now);
	turn_tick(n, now);
	site_tick(n);
	n->idle = !n->jobs;
	sl_sched_stats(n->sched, &all);
	n->decisions_per_s = per_second(all.decisions - n->rate_decisions, now - last);
	n->rate_decisions = all.decisions;
	for (struct node_job **p = &n->jobs, *j; (j = *p);) {
		struct sl_job_stats st;
		uint64_t requests, ops_held;
		struct rules_done done;

		sl_job_stats(n->sched, j->number, now, &st);
		requests = j->calls;
		ops_held = j->turn ? atomic_load(&j->turn->shm->operations.held_ns) : 0;
		done = (struct rules_done){
			.moved = { j->moved[SL_READ] - j->rate_moved[SL_READ],
				   j->moved[SL_WRITE] - j->rate_moved[SL_WRITE] },
			.ops = ops_sum(j->ops.made) - ops_sum(j->ops.rate_made),
			.held_ns = st.throttled_ns - j->rate_throttled_ns,
			.ops_held_ns =
				ops_held > j->rate_ops_held_ns ? ops_held - j->rate_ops_held_ns : 0,
		};
		rules_count(n, j, &done);
		j->ops_held = 2 * done.ops_held_ns > (uint64_t)(now - last);
		j->rate_ops_held_ns = ops_held;
		ops_rates(j, now - last);
		j->rate_bps = per_second(done.moved[SL_READ] + done.moved[SL_WRITE], now - last);
		j->iops = per_second(requests - j->rate_requests, now - last);
		memcpy(j->rate_moved, j->moved, sizeof(j->rate_moved));
		j->rate_requests = requests;
		j->throttled = 2 * (st.throttled_ns - j->rate_throttled_ns) > now - last;
		j->rate_throttled_ns = st.throttled_ns;
		if (j->holders)
			held(j); /* descriptors of processes that have ended */
		if (!forget(n, p, requests || ops_sum(j->ops.made) ? KEEP_NS : UNUSED_NS, now))
			p = &j->next;
	}
	node_unlock(n);
	last = now;
	return true;
}
