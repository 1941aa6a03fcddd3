/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer: a directory whose I/O is scheduled, and its *members*, which are processes: one node, or
 * several nodes and a controller.
 *
 * Location. The runtime directory is $SLUICE_RUNTIME, else $XDG_RUNTIME_DIR/sluice if this user
 * owns it, else /tmp/sluice-UID. No other user may have access to it. In it each layer has a
 * directory of its name:
 *
 *	lock       held by the members while they live, and by a command that starts or cleans up
 *	root       the directory that it serves
 *	node.sock  where clients connect
 *	pid, args  of the node; args: its command line, words that end with a 0
 *	log        the log of the node; log.old: of the node before
 *	listen     its TCP address; secret: the secret for TCP connections
 *	jobs       control lines for the jobs of its configuration file
 *	hosts      the machines of a layer on several (up --hosts); removing it ends their nodes
 *	set-*      changes since the start: set-capacity, set-admit, set-share, set-order,
 *	           set-open
 *
 * A layer for all users of the machine is called "system", or "system:NAME". It is in a directory
 * of root, /run/sluice or $SLUICE_SYSTEM, and its own directory belongs to the account that runs
 * its node. All users may read `root` there, and query its socket to see whether it lives.
 *
 * Beside that directory, .usage-NAME is the node's account of the jobs' usage, and .periods-NAME
 * has the periods of jobs for their next runs. Both stay when the layer is down.
 *
 * These are of node 0. Node 1 has node-1.sock, pid-1, args-1 and log-1, the controller has
 * controller.sock, pid-controller, args-controller and log-controller, the second one standby.sock
 * and so on. controller.active is a link to the socket of the one that leads.
 *
 * Only the kernel's answer decides whether a member lives: a process is a member if it has the lock
 * file open as descriptor 3. So the remains of a crash are never taken for a layer. Members that
 * were started together share one open file and its lock, which is free when the last of them has
 * ended. A member that was revived later has the file open too, and holds the lock only if it was
 * free then.
 *
 * Nothing here prints. Unless its comment says otherwise, a function that fails returns a negative
 * errno, and layer_error() returns sentences that say what happened and what to do. -EINVAL: the
 * user's input is wrong.
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
	uid_t account;	  /* the account that runs a system layer; 0: unknown */
	gid_t group;	  /* of the account */
	int lock;	  /* descriptor; -1: not open */
	int answer_ms;	  /* how long layer_tell_all() waits for each node; 0: 10 s */
};

#define LAYER_TEXT 2560
/* The message of the last failure in this thread. */
const char *layer_error(void);
/* A warning about the last successful change in this thread, or "". */
const char *layer_warning(void);
/*
 * Set these; for the files of layer/ only. layer_fail() returns rc; layer_warn(NULL): no warning.
 */
int layer_fail(int rc, const char *format, ...) __attribute__((format(printf, 2, 3)));
void layer_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Find a layer, which need not be up; make: create its directory. name NULL: the default. */
int layer_open(struct layer *l, const char *name, bool make);
/*
 * Choose a layer, which need not be up. name NULL: the default layer if it exists, else the only
 * one that is up, else the only one that has died; fails if there are several.
 */
int layer_choose(struct layer *l, const char *name);
void layer_close(struct layer *l);

/*
 * Take the lock. -EWOULDBLOCK: a member lives, or a command is starting or stopping one; -ENOENT:
 * the layer does not exist, and make is false.
 */
int layer_lock(struct layer *l, bool make);
/* Only open the lock, for a member that joins others that hold it. 0 or -errno. */
int layer_lock_open(struct layer *l);
/*
 * Remove the files of dead members; all: the logs and the directory too. The caller holds the lock.
 */
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
/*
 * Describe member number `node`, the controller or the second controller, even if it does not
 * exist.
 */
void layer_member(const struct layer *l, unsigned node, bool controller, struct layer_member *m);
void layer_standby(const struct layer *l, struct layer_member *m);
/* The dashboard, which is not a member: see dashboard.h. */
void layer_dashboard(const struct layer *l, struct layer_member *m);
/*
 * All members that the layer should have, at least one: the nodes by number, then the controller,
 * if any. Of two controllers, the active one is last.
 */
size_t layer_members(const struct layer *l, struct layer_member m[LAYER_MEMBERS]);
/* The number of nodes among these. */
size_t layer_nodes(const struct layer_member *m, size_t count);
bool layer_has_many(const struct layer *l); /* more than one */
/* The first member that a signal or a debugger has stopped: it lives but does not answer. */
bool layer_stopped(const struct layer *l, struct layer_member *m);
/* List the dead members, as "I/O node 1, the controller". Returns whether there are any. */
bool layer_dead(const struct layer *l, char *out, size_t size);
/* Set l->socket to that of the first node that lives; false if none does. */
bool layer_enter(struct layer *l);
bool layer_enter_one(struct layer *l, const struct layer_member *m, size_t n); /* of these */
/*
 * "the node", if there is no other; "I/O node 1"; "the controller"; "the second controller"; "the
 * dashboard".
 */
const char *layer_member_called(const struct layer_member *m, bool alone, char out[32]);

enum layer_state {
	LAYER_DOWN,
	LAYER_UP,
	LAYER_DIED, /* all its members have ended without `sluice down` */
	LAYER_BUSY, /* a command is starting or stopping it */
};
enum layer_state layer_state(const struct layer *l);
/*
 * Path of the usage account of node number `node`. It is beside the layer's directory, because it
 * stays. 0 or -ENAMETOOLONG.
 */
int layer_usage(const struct layer *l, unsigned node, char path[PATH_MAX]);
/* Path where the controller of a layer of one user keeps the periods of jobs; it stays too. */
int layer_periods(const struct layer *l, char path[PATH_MAX]);
/* The pid of its first member that lives, else 0. */
pid_t layer_pid(const struct layer *l);
/* The directory that it serves, without a newline. 0 or -errno. */
int layer_root(const struct layer *l, char root[PATH_MAX]);
/* Replace a file of the layer: "root", "listen". 0 or -errno. */
int layer_write(const struct layer *l, const char *file, const char *text);
/* Its first line. 0 or -errno. */
int layer_read(const struct layer *l, const char *file, char *out, size_t size);

/*
 * Start a member in the background. args is its command line, which is stored in a file so that the
 * member can be revived. The member inherits the descriptor of layer_lock() or layer_lock_open().
 * layer_ready() waits until it is ready, or reports why it did not start.
 */
#define LAYER_READY_FD "4" /* for its --ready-fd */
struct layer_start {
	pid_t pid;
	int ready, log;
};
int layer_launch(struct layer *l, const struct layer_member *m, const char *const *args,
		 struct layer_start *s);
int layer_ready(const struct layer_member *m, bool alone, struct layer_start *s);
/* Stop the members that this process has started. */
void layer_stop(struct layer_start *s, size_t count);
/* The command line of a member as it was started, by pointers into *text; both to be freed. */
int layer_args(const struct layer *l, const struct layer_member *m, const char ***args,
	       char **text);

/*
 * Serialise changes to a layer. Otherwise two changes at the same time could reach the nodes in
 * different orders, so that nodes differ from each other and from the stored settings. Begin waits
 * until the changes of other processes have ended; each begin needs an end.
 */
int layer_turn(const struct layer *l);
void layer_turn_end(int turn);

/* Replace an option in the member's stored command line, for when it is revived. 0 or -errno.
 */
int layer_keep_option(const struct layer *l, const struct layer_member *m, const char *option,
		      const char *value);

/*
 * Change a layer, serialised with other changes. The line is one for a node
 * (sluiced/ionode/control.c), but
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
 * Store a change that all nodes have applied, "capacity 5000000", "open", "close" or "policy
 * share=io-sets order=to", for a node that is revived when no other node lives. 0 or -errno.
 */
int layer_keep_change(const struct layer *l, const char *line);
/* Stored change number `which`, as such a line. 0; -ENOENT: not stored; -ERANGE: behind the last.
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
 * A node that is dying or being revived lives but accepts no connection: how long to retry, and the
 * pause between two attempts.
 */
#define LAYER_BRIEF_MS 5000
#define LAYER_AGAIN_MS 20
/*
 * Send the same line to all nodes that live, ignoring their answers. A node that dies meanwhile is
 * skipped; the function waits up to LAYER_BRIEF_MS for one that is being revived. If the first node
 * refuses, the others are not asked. some: succeed if at least one node knows the job.
 */
int layer_ask_all(const struct layer *l, const char *line, bool some);
/*
 * The same without setting layer_error(). -ENOTCONN: no node lives. who: "I/O node 1: " if a node
 * other than the first refuses; *text: its message, to be freed, or NULL.
 */
int layer_tell_all(const struct layer *l, const char *line, bool some, char who[48], char **text);
/*
 * Send the same line to all nodes that live, without waiting for answers. False: sending to one
 * failed; layer_tell() reports why.
 */
bool layer_post(const struct layer *l, const struct layer_member *m, size_t n, const char *line);
/*
 * As layer_tell_all(), with its members known; those that have died meanwhile have no pid
 * afterwards, and the one that was -ETIMEDOUT is `silent` and left out the next time.
 */
int layer_tell(const struct layer *l, struct layer_member *m, size_t n, const char *line, bool some,
	       char who[48], char **text);
/*
 * Set layer_error() for the result of a line, if it is a failure, and free *text. who: as above, or
 * "".
 */
int layer_report(const struct layer *l, const char *who, int rc, char **text);

/* All layers of this user that are not down, by name; *all is to be freed. */
struct layer_seen {
	struct layer layer;
	enum layer_state state;
	pid_t pid;	     /* 0: none */
	char root[PATH_MAX]; /* "": not known */
};
int layer_all(struct layer_seen **all, size_t *count);
/* Path of the runtime directory; make: create it. */
int layer_runtime(bool make, char path[PATH_MAX]);

/* Paths of other parts of this installation. */
int layer_daemon(char path[PATH_MAX]);
int layer_gate(char path[PATH_MAX]); /* sluice-gate */
int layer_httpd(char path[PATH_MAX]);
int layer_program(char path[PATH_MAX]); /* `sluice` itself */
int layer_tools(char path[PATH_MAX]);	/* `sluice-tools` */
int layer_preload(char path[PATH_MAX]);

#endif
