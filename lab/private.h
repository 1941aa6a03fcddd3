/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a measurement or a demonstration: a directory for its files, a node that
 * serves only this directory, and processes that do the I/O. private_end() removes all of it, also
 * after an interrupt: a signal only sets private_interrupted, and every wait checks it. If this
 * program is killed, its processes die with it.
 *
 * Functions without a parameter cmd print errors for the command given to private_begin(); those
 * that return int return CLI_OK or an exit status.
 */
#ifndef SL_LAB_PRIVATE_H
#define SL_LAB_PRIVATE_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PRIVATE_PROCS 256
#define PRIVATE_MORE  4

struct private_proc {
	pid_t pid;
	int sock; /* to it; closed by either end when it ends */
};

struct private
{
	const char *cmd;    /* for messages; borrowed */
	char dir[PATH_MAX]; /* for files */
	char runtime[64];   /* for the node: its socket and its log */
	char socket[96];    /* in there */
	pid_t node;	    /* 0: none */
	pid_t more[PRIVATE_MORE];
	unsigned more_count;
	unsigned procs;
	struct private_proc proc[PRIVATE_PROCS];
};

extern volatile sig_atomic_t private_interrupted;

/* Create a directory below `below`. Call private_end() whatever the result. */
int private_begin(struct private *p, const char *cmd, const char *below);
/* End all processes and remove all files. Returns status, or CLI_FAILED if interrupted. */
int private_end(struct private *p, int status);

/* options: further ones of `sluiced ionode`, NULL at the end; NULL: none. */
int private_node_start(struct private *p, const char *const *options);
void private_node_stop(struct private *p);
/*
 * Another node, or a controller, until private_end(): the command line of sluiced, NULL at the end.
 * Sockets are best in p->runtime.
 */
int private_more_start(struct private *p, const char *const *words);

/*
 * Start a process that runs main(arg, sock) and exits, as a client of the node in that job; conf as
 * SLUICE_JOB_CONF, NULL: none. It dies with this process. Returns its index in p->proc, or -1.
 */
int private_spawn(struct private *p, const char *job, const char *conf,
		  int (*main)(void *arg, int sock), void *arg);
/* Receive exactly `size` bytes from a process; false if it has ended or the run was interrupted. */
bool private_receive(int sock, void *data, size_t size);
bool private_send(int sock, const void *data, size_t size);
/* Stop the processes with index `from` and above. */
void private_stop_procs(struct private *p, unsigned from);

#endif
