/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer for all users of a machine (`sluiced ionode --system`).
 *
 * The node runs as an account of its own, without capabilities. It never touches data: programs
 * make their own calls, and forwarding is refused. The kernel tells who a peer is (SO_PEERCRED).
 *
 * Separate by user: names of jobs ("UID/NAME" inside the node), the page with the bell and the
 * segments (a directory for each user, which an access control list opens to that user alone),
 * the number of jobs and connections, and the rate of requests and of audit lines.
 *
 *	/run/sluice/default/node.sock                     0666
 *	/run/sluice/default/u/1000/node.sock.turn         below a directory that only uid 1000
 *	/run/sluice/default/u/1000/node.sock.jobs/002a    and the node may enter
 *	/run/sluice/default/kept/1000-002a                what the node remembers of the job: 0600
 *
 * Rights: administrators (root, the node's own account, and those listed) may do everything. A user
 * may see and change own jobs: lower a max, set a period, a weight up to what an administrator has
 * given.
 *
 * A user can write to the own segments and so can truncate them. Then the node's access causes
 * SIGBUS: the handler maps an empty page there, and the job is removed with the next tick.
 */
#ifndef SL_SLUICED_IONODE_SITE_H
#define SL_SLUICED_IONODE_SITE_H

#include "base/peer.h"
#include "sluiced/ionode/node.h"

#define SITE_ADMINS 64

struct site_config {
	bool on;
	const char *audit; /* file; NULL: none is kept */
	uid_t admin[SITE_ADMINS];
	gid_t admin_group[SITE_ADMINS];
	uint32_t admins, admin_groups;
	/* Limits of each user. */
	uint32_t jobs, connections, weight, requests_per_s;
};
#define SITE_LIMITS                                                                 \
	{                                                                           \
		.jobs = 64, .connections = 256, .weight = 1, .requests_per_s = 2000 \
	}

/* The state of a connected user. Used by the server's thread only. */
struct node_user {
	uid_t uid;
	uint32_t connections;
	double requests, audits; /* remaining allowance */
	sl_time filled_ns;
	uint64_t unaudited; /* audit lines that were dropped */
	char *status;	    /* the last answer */
	sl_time status_ns;
	struct node_user *next;
};

/* "alice,1001,@ops": NULL, or the word that is wrong. */
const char *site_admins(struct site_config *c, const char *list);
/* "jobs=64,connections=32": NULL, or the word that is wrong. */
const char *site_limits(struct site_config *c, const char *list);

/* No lock is held: after the socket is there. 0 or -errno after a line on stderr. */
int site_start(struct node *n);
void site_stop(struct node *n);
/* Every second, lock held: handle segments that users have truncated or extended. */
void site_tick(struct node *n);

/* The server's thread: a connection begins and ends. NULL: the user has too many. */
struct node_user *site_enter(struct node *n, const struct sl_peer *peer);
void site_leave(struct node *n, struct node_user *u);
bool site_is_admin(const struct node *n, const struct sl_peer *peer);
/* Whether the user may have one more request answered now. */
bool site_budget(const struct node *n, struct node_user *u, sl_time now);

/* Whether any user may use this command. */
bool site_allows(const struct node_who *who, const char *command);
/*
 * The full name of the job. The job of a resource manager's control group has priority; then
 * `given` is set, because it is not the requested one. 0, -EINVAL or -EPERM.
 */
int site_name(const struct node_who *who, const char *asked, char full[SL_JOB_NAME_MAX],
	      bool *other);
/* Check whether the user may set this: NULL, or the reason why not. j is NULL for a new job. */
const char *site_refuses(const struct node *n, const struct node_who *who, const struct node_job *j,
			 const struct sl_job_conf *conf, const struct sl_ops_conf *ops);
/* Whether the process is the user's own. */
bool site_owns(const struct node_who *who, pid_t pid);
/* The name as its owner knows it. */
const char *site_short(const struct node_job *j);
/* Write an audit line: user, command, result. job and why may be NULL. */
void site_audit(struct node *n, const struct node_who *who, const char *what, const char *job,
		bool accepted, const char *why);

#endif
