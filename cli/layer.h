/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer: a directory whose I/O is scheduled, and the node that does it.
 *
 * Where it is. The runtime directory is $SLUICE_RUNTIME, else $XDG_RUNTIME_DIR/sluice if that is
 * this user's, else /tmp/sluice-UID; it must belong to the user alone. In it each layer has a
 * directory of its name:
 *
 *	lock       held by the node as long as it lives, and by who starts or cleans up
 *	node.sock  where clients connect
 *	pid, root  of the node
 *	listen     where it is reached over TCP; secret: what one has to know for that
 *	log        what the node says; log.old: what the one before said
 *
 * Whether a layer is up is asked of the lock alone: the kernel lets go of it when the node dies,
 * however it dies, so that nothing that a crash leaves behind can be taken for a layer.
 *
 * Functions that take cmd report failures in the name of that command, and return CLI_OK or the
 * exit status.
 */
#ifndef SL_CLI_LAYER_H
#define SL_CLI_LAYER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/check.h"

#define LAYER_DEFAULT "default"

struct layer {
	const char *cmd; /* for messages; borrowed */
	char name[CHECK_LAYER_NAME + 1];
	char dir[PATH_MAX];
	char socket[108]; /* as long as sun_path */
	int lock;	  /* descriptor; -1: not open */
};

/* Find it; with make, make its directory. It need not be up. name NULL: the default. */
int layer_open(struct layer *l, const char *cmd, const char *name, bool make);
/*
 * The one that is meant by name; by NULL: the default, if there is one by that name, else the only
 * one that is up. If several are, that is reported. It need not be up.
 */
int layer_choose(struct layer *l, const char *cmd, const char *name);
void layer_close(struct layer *l);

/*
 * Take the lock. 0, -EWOULDBLOCK: a node lives, or somebody starts or stops one; -ENOENT: there
 * is no such layer, and none was to be made.
 */
int layer_lock(struct layer *l, bool make);
/* Remove what a node left; with all, the log and the directory too. The lock is held. */
void layer_clean(struct layer *l, bool all);

enum layer_state {
	LAYER_DOWN,
	LAYER_UP,
	LAYER_DIED, /* its node has ended, and nobody has brought it down */
	LAYER_BUSY, /* somebody starts or stops it */
};
enum layer_state layer_state(const struct layer *l);
/* The node's pid if a node holds the lock, else 0. */
pid_t layer_pid(const struct layer *l);
/* The directory that it serves, without a newline. 0 or -errno. */
int layer_root(const struct layer *l, char root[PATH_MAX]);
/* Write a file of the layer anew: "pid", "root". 0 or -errno. */
int layer_write(const struct layer *l, const char *file, const char *text);
/* Its first line. 0 or -errno. */
int layer_read(const struct layer *l, const char *file, char *out, size_t size);

/*
 * Start a node that serves root in the background, args being its command line, and wait until it
 * is ready. The lock is held; the node holds it too from then on. Or say why it did not start.
 */
#define LAYER_READY_FD "4" /* for its --ready-fd */
int layer_start(struct layer *l, const char *const *args, const char *root, pid_t *pid);
/* Stop what this very process has started, and clean up. */
void layer_stop(struct layer *l, pid_t pid);

/* Say that it is not up, what is, and with advise how to start it. Returns CLI_FAILED. */
int layer_not_up(const struct layer *l, bool advise);
/*
 * One line to the node. What it answers goes to *answer (to be freed; may be NULL: not wanted);
 * what it refuses is reported in its words.
 */
int layer_ask(const struct layer *l, const char *line, char **answer);

/* All layers of this user that are not down, by name; to be freed. */
struct layer_seen {
	struct layer layer;
	enum layer_state state;
	pid_t pid;	     /* 0: none */
	char root[PATH_MAX]; /* "": not known */
};
size_t layer_all(const char *cmd, struct layer_seen **all);
/* The runtime directory, which need not be there unless it is to be made. */
int layer_runtime(const char *cmd, bool make, char path[PATH_MAX]);

/* A bare number is bytes/s: a capacity below 1 MB/s was hardly meant. */
void layer_warn_capacity(const char *cmd, uint64_t bps);

/* What belongs to this program: the daemon, the library for LD_PRELOAD. */
int layer_daemon(const char *cmd, char path[PATH_MAX]);
int layer_preload(const char *cmd, char path[PATH_MAX]);

#endif
