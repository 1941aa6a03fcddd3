/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer: a directory whose I/O is scheduled, and the node that does it, or several nodes and a
 * controller: its *members*, each a process.
 *
 * Where it is. The runtime directory is $SLUICE_RUNTIME, else $XDG_RUNTIME_DIR/sluice if that is
 * this user's, else /tmp/sluice-UID; it must belong to the user alone. In it each layer has a
 * directory of its name:
 *
 *	lock       held by its members as long as they live, and by who starts or cleans up
 *	root       the directory that it serves
 *	node.sock  where clients connect
 *	pid, args  of the node; args: its command line, words that end with a 0
 *	log        what the node says; log.old: what the one before said
 *	listen     where it is reached over TCP; secret: what one has to know for that
 *	jobs       control lines for the jobs of its configuration file
 *	hosts      the machines of a layer on several (up --hosts); removed: their nodes end
 *	set-*      what its nodes were told since: set-capacity, set-admit, set-share, set-order,
 *	           set-open
 *
 * A layer for all users of the machine is called "system", or "system:NAME". It is in a directory
 * of root, /run/sluice or $SLUICE_SYSTEM, and its own directory belongs to the account that runs
 * its node. Everybody may read `root` there; whether it lives is asked of its socket.
 *
 * Beside it, .usage-NAME is the node's account of what jobs used, which stays when the layer is
 * down; .periods-NAME has the periods of jobs, for their next runs.
 *
 * These are of node 0. Node 1 has node-1.sock, pid-1, args-1 and log-1, the controller has
 * controller.sock, pid-controller, args-controller and log-controller, the second one standby.sock
 * and so on. controller.active is a link to the socket of the one that leads.
 *
 * Whether a member lives is asked of the kernel alone: it has the lock file open as descriptor 3,
 * or it is no member. So nothing that a crash leaves behind can be taken for a layer. The lock is
 * one open file that all members share which were started together; it is free when the last of
 * them has ended. One that was revived later has the file open, and holds the lock only if it was
 * free then.
 *
 * Nothing here prints. A function that fails returns a negative errno, and layer_error() has the
 * sentences that say what happened and what to do; -EINVAL: the caller's words are wrong. Where
 * this is not so, the comment of the function says it.
 */
#ifndef SL_LAYER_LAYER_H
#define SL_LAYER_LAYER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "layer/check.h"

#define LAYER_DEFAULT "default"
#define LAYER_SYSTEM  "system"

struct layer {
	char name[CHECK_LAYER_NAME + 1];
	char dir[PATH_MAX];
	char socket[108]; /* as long as sun_path */
	bool system;	  /* for all users */
	uid_t account;	  /* that runs a system layer; 0: not known */
	gid_t group;	  /* of the account */
	int lock;	  /* descriptor; -1: not open */
	int answer_ms;	  /* how long layer_tell_all() waits for each node; 0: 10 s */
};

#define LAYER_TEXT 2560
/* The message of the last failure in this thread. */
const char *layer_error(void);
/* A warning about the last change in this thread, which was made; or "". */
const char *layer_warning(void);
/* For the files of layer/: set these. layer_fail() returns rc; layer_warn(NULL): no warning. */
int layer_fail(int rc, const char *format, ...) __attribute__((format(printf, 2, 3)));
void layer_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Find it; with make, make its directory. It need not be up. name NULL: the default. */
int layer_open(struct layer *l, const char *name, bool make);
/*
 * The one that is meant by name; by NULL: the default, if there is one by that name, else the only
 * one that is up, else the only one that has died. If there are several, that is a failure. It need
 * not be up.
 */
int layer_choose(struct layer *l, const char *name);
void layer_close(struct layer *l);

/*
 * Take the lock. 0, -EWOULDBLOCK: a member lives, or somebody starts or stops one; -ENOENT: there
 * is no such layer, and none was to be made.
 */
int layer_lock(struct layer *l, bool make);
/* Only open it: for a member that joins others who hold it. 0 or -errno. */
int layer_lock_open(struct layer *l);
/* Remove what members left; with all, the logs and the directory too. The lock is held. */
void layer_clean(struct layer *l, bool all);

/* ---- members ---- */

#define LAYER_IONODES 64
#define LAYER_MEMBERS (LAYER_IONODES + 2)

struct layer_member {
	char name[16];	  /* "0", "1", …, "controller" or "standby" */
	char suffix[16];  /* of its files: "", "-1", …, "-controller" */
	char socket[108]; /* "": the path would be too long */
	bool controller, dashboard;
	pid_t pid;   /* 0: it does not live */
	bool silent; /* of layer_tell(): it lives, and did not answer in time */
};
/* Member number `node`, or the controller, whether there is one or not; and the second one. */
void layer_member(const struct layer *l, unsigned node, bool controller, struct layer_member *m);
void layer_standby(const struct layer *l, struct layer_member *m);
/* The dashboard, which is beside the members and none of them: see dashboard.h. */
void layer_dashboard(const struct layer *l, struct layer_member *m);
/*
 * All there should be: the nodes by number, then the controller if there is one. At least one. If
 * there are two controllers, the one that leads is the last.
 */
size_t layer_members(const struct layer *l, struct layer_member m[LAYER_MEMBERS]);
/* How many of these are nodes. */
size_t layer_nodes(const struct layer_member *m, size_t count);
bool layer_has_many(const struct layer *l); /* more than one */
/* The first that a signal has stopped, or a debugger: it lives, and answers nobody. */
bool layer_stopped(const struct layer *l, struct layer_member *m);
/* Those that do not live, as "I/O node 1, the controller"; whether there are any. */
bool layer_dead(const struct layer *l, char *out, size_t size);
/* Let l->socket be that of its first node that lives; false if none does. */
bool layer_enter(struct layer *l);
bool layer_enter_one(struct layer *l, const struct layer_member *m, size_t n); /* of these */
/* "the node", if there is no other; "I/O node 1"; "the controller"; "the second controller";
 * "the dashboard". */
const char *layer_member_called(const struct layer_member *m, bool alone, char out[32]);

enum layer_state {
	LAYER_DOWN,
	LAYER_UP,
	LAYER_DIED, /* all its members have ended, and nobody has brought it down */
	LAYER_BUSY, /* somebody starts or stops it */
};
enum layer_state layer_state(const struct layer *l);
/* Where node number `node` keeps the account of usage: beside the layer's directory, since it
 * stays. 0 or -ENAMETOOLONG. */
int layer_usage(const struct layer *l, unsigned node, char path[PATH_MAX]);
/* Where the controller of a layer of one user keeps the periods of jobs, which stays, too. */
int layer_periods(const struct layer *l, char path[PATH_MAX]);
/* The pid of its first member that lives, else 0. */
pid_t layer_pid(const struct layer *l);
/* The directory that it serves, without a newline. 0 or -errno. */
int layer_root(const struct layer *l, char root[PATH_MAX]);
/* Write a file of the layer anew: "root", "listen". 0 or -errno. */
int layer_write(const struct layer *l, const char *file, const char *text);
/* Its first line. 0 or -errno. */
int layer_read(const struct layer *l, const char *file, char *out, size_t size);

/*
 * Start a member in the background, args being its command line; it is kept in a file, so that the
 * member can be revived. It has what layer_lock() or layer_lock_open() gave. layer_ready() waits
 * until it is ready, or says why it did not start.
 */
#define LAYER_READY_FD "4" /* for its --ready-fd */
struct layer_start {
	pid_t pid;
	int ready, log;
};
int layer_launch(struct layer *l, const struct layer_member *m, const char *const *args,
		 struct layer_start *s);
int layer_ready(const struct layer_member *m, bool alone, struct layer_start *s);
/* Stop what this very process has started. */
void layer_stop(struct layer_start *s, size_t count);
/* The command line of a member as it was started, by pointers into *text; both to be freed. */
int layer_args(const struct layer *l, const struct layer_member *m, const char ***args,
	       char **text);

/*
 * Change one thing after the other, whoever wants to: two that come together could reach the nodes
 * in different orders, which then differ for good, and what is kept for a revival would not be what
 * is in force. A turn begins when that of others has ended, and is to be ended.
 */
int layer_turn(const struct layer *l);
void layer_turn_end(int turn);

/* It is to have this option when it is revived, instead of what it had of that name. 0 or -errno.
 */
int layer_keep_option(const struct layer *l, const struct layer_member *m, const char *option,
		      const char *value);

/*
 * Change a layer, in turn with others: a line as for a node (sluiced/ionode/control.c), but
 *
 *	policy share=wfq grant=fcfs	nodes and controller are told what is theirs
 *	capacity 200000000		of all nodes together; also capacity-ops
 *	open, close			nobody's turn is waited for: they are for emergencies
 *	reload				all nodes take the configuration file again, or none does
 *
 * The change is kept for nodes that are revived. -ENOENT: no such job; -ENOTCONN: it is not
 * up, or its controller has died; -EPROTO and others: refused. layer_warning() may say something.
 */
int layer_change(const struct layer *l, const char *line);

/*
 * What all nodes have been told, "capacity 5000000", "open", "close" or "policy share=io-sets order=to": one that is
 * revived when no other lives is to be told, too. 0 or -errno.
 */
int layer_keep_change(const struct layer *l, const char *line);
/* Number `which` of what was kept, as such a line. 0, -ENOENT: nothing, or -ERANGE behind the last.
 */
int layer_kept_change(const struct layer *l, unsigned which, char *line, size_t size);

/* -ENOTCONN: it is not up; which one is, and with advise how to start it. */
int layer_not_up(const struct layer *l, bool advise);
/*
 * One line to the node, the first that lives if there are several. What it answers goes to *answer
 * (to be freed; may be NULL: not wanted).
 */
int layer_ask(const struct layer *l, const char *line, char **answer);
/*
 * How long a node is tried that lives and takes no connection, since it is dying or being revived,
 * and the pause between two attempts.
 */
#define LAYER_BRIEF_MS 5000
#define LAYER_AGAIN_MS 20
/*
 * The same line to all nodes that live; answers are not wanted. A node that dies meanwhile is left
 * out, and one that is being revived is waited for, up to LAYER_BRIEF_MS. What the first refuses is
 * not asked of the others. some: it will do if one of them knows the job that it is about.
 */
int layer_ask_all(const struct layer *l, const char *line, bool some);
/*
 * The same without a sentence: -ENOTCONN if no node lives; who: "I/O node 1: " if
 * it is another than the first that refuses; *text: its words, to be freed, or NULL.
 */
int layer_tell_all(const struct layer *l, const char *line, bool some, char who[48], char **text);
/* The same line to all nodes that live, and no answer is waited for. False: one could not be sent
 * it; layer_tell() finds out why. */
bool layer_post(const struct layer *l, const struct layer_member *m, size_t n, const char *line);
/* As layer_tell_all(), with its members known; those that have died meanwhile have no pid afterwards, and the
 * one that was -ETIMEDOUT is `silent` and left out the next time. */
int layer_tell(const struct layer *l, struct layer_member *m, size_t n, const char *line, bool some,
	       char who[48], char **text);
/* The sentence for what came of a line, if that is a failure; *text is freed then. who: as above, or "". */
int layer_report(const struct layer *l, const char *who, int rc, char **text);

/* All layers of this user that are not down, by name; *all is to be freed. */
struct layer_seen {
	struct layer layer;
	enum layer_state state;
	pid_t pid;	     /* 0: none */
	char root[PATH_MAX]; /* "": not known */
};
int layer_all(struct layer_seen **all, size_t *count);
/* The runtime directory, which need not be there unless it is to be made. */
int layer_runtime(bool make, char path[PATH_MAX]);

/* Other parts of this installation: the daemon, the dashboard's server, the library for LD_PRELOAD. */
int layer_daemon(char path[PATH_MAX]);
int layer_gate(char path[PATH_MAX]); /* sluice-gate */
int layer_httpd(char path[PATH_MAX]);
int layer_program(char path[PATH_MAX]); /* `sluice` itself */
int layer_tools(char path[PATH_MAX]);	/* `sluice-tools` */
int layer_preload(char path[PATH_MAX]);

#endif
