/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options and start of both daemons: their addresses, secret, log and signals, and the notification
 * that they are ready.
 */
#ifndef SL_BASE_DAEMON_H
#define SL_BASE_DAEMON_H

#include <stdbool.h>

#include "base/cli.h"
#include "base/secret.h"

struct sl_daemon {
	const char *socket;
	const char *listen, *secret_file; /* HOST:PORT for others over TCP; NULL: none */
	const char *
		/* Peers use credentials of MUNGE: the socket of munged, or ""; NULL: no MUNGE. */
		munge;
	int ready_fd;	/* descriptor to notify when ready; -1: none */
	bool open;	/* all users may connect */
	bool activated; /* the socket was passed by the parent process */
};

/* Entries for the option tables of both, given `struct sl_daemon *d`; other keys are below LOG. */
enum { SL_DAEMON_LOG = 512, SL_DAEMON_READY, SL_DAEMON_MUNGE };
#define SL_DAEMON_OPTIONS(d)                                                                       \
	{ "socket", 0, "PATH", .text = &(d)->socket,                                               \
	  .help = "socket for clients on this machine" },                                          \
		{ "listen", 0, "HOST:PORT", .text = &(d)->listen,                                  \
		  .help = "serve other machines too, over TCP" },                                  \
		{ "secret-file", 0, "FILE", .text = &(d)->secret_file,                             \
		  .help = "their secret: a line in a file with mode 0600" },                       \
		{ "munge", SL_DAEMON_MUNGE, "[=SOCKET]",                                           \
		  .help = "use credentials of MUNGE, of this user, instead of a secret or in "     \
			  "addition to "                                                           \
			  "it" },                                                                  \
		{ "log", SL_DAEMON_LOG, "LEVEL", .help = "error, warn, info (default) or debug" }, \
	{                                                                                          \
		"ready-fd", SL_DAEMON_READY, "N",                                                  \
			.help = "write a byte to this descriptor when ready"                       \
	}

/* Handle an option that cli_next() returned, with its value. NULL, or an error message. */
const char *sl_daemon_option(struct sl_daemon *d, int option, const char *value);
/* The option that is missing, or NULL. */
const char *sl_daemon_missing(const struct sl_daemon *d);

/*
 * Receive SIGTERM, SIGINT and SIGHUP through a descriptor from now on. Returns the descriptor or a
 * negative errno. When it is readable, sl_daemon_told() reads the signals; a signal to end has
 * priority over a reload (SIGHUP).
 */
int sl_daemon_signals(void);
enum sl_daemon_told { SL_DAEMON_NOTHING, SL_DAEMON_RELOAD, SL_DAEMON_END };
enum sl_daemon_told sl_daemon_told(int fd);
/*
 * Listen at the socket, or take the one that was passed (LISTEN_FDS). Returns a descriptor, or a
 * negative errno after printing an error.
 */
int sl_daemon_listen(struct sl_daemon *d);
/* Remove the socket, unless it was passed by the parent process. */
void sl_daemon_unlisten(const struct sl_daemon *d);
/* Print why it cannot listen there, and return rc. */
int sl_daemon_deaf(const char *address, int rc);
/* sl_secret_read() of the file; prints errors to stderr. */
int sl_daemon_secret(const struct sl_daemon *d, char secret[SL_SECRET_BYTES]);
void sl_daemon_ready(struct sl_daemon *d);
/* Raise the limit on open files to the hard limit. */
void sl_daemon_files(void);

#endif
