/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options and start of both daemons: where they listen, their secret, the
 * log, the signals that end them, and telling whoever has started them that they are ready.
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
		munge; /* peers show credentials of MUNGE: the socket of munged, or ""; NULL: not */
	int ready_fd;  /* told when it is ready; -1: nobody is */
	bool open;     /* all users may connect */
	bool activated; /* the socket was passed by who has started it */
};

/* For the tables of both, beside `struct sl_daemon *d`; keys of other options are below the first. */
enum { SL_DAEMON_LOG = 512, SL_DAEMON_READY, SL_DAEMON_MUNGE };
#define SL_DAEMON_OPTIONS(d)                                                                       \
	{ "socket", 0, "PATH", .text = &(d)->socket,                                               \
	  .help = "where others of this machine connect" },                                        \
		{ "listen", 0, "HOST:PORT", .text = &(d)->listen,                                  \
		  .help = "serve other machines too, over TCP" },                                  \
		{ "secret-file", 0, "FILE", .text = &(d)->secret_file,                             \
		  .help = "their secret: a line in a file with mode 0600" },                       \
		{ "munge", SL_DAEMON_MUNGE, "[=SOCKET]",                                           \
		  .help = "credentials of MUNGE, of this user, instead of a secret or beside "     \
			  "it" },                                                                  \
		{ "log", SL_DAEMON_LOG, "LEVEL", .help = "error, warn, info (default) or debug" }, \
	{                                                                                          \
		"ready-fd", SL_DAEMON_READY, "N",                                                  \
			.help = "write a byte to this descriptor when ready"                       \
	}

/* Takes one that is returned by cli_next(), with its value: NULL, or what is wrong with the value. */
const char *sl_daemon_option(struct sl_daemon *d, int option, const char *value);
/* The option that is missing, or NULL. */
const char *sl_daemon_missing(const struct sl_daemon *d);

/*
 * From here on SIGTERM, SIGINT and SIGHUP are read from a descriptor: it is readable then; negative
 * errno. When it is, sl_daemon_told() reads them: to end comes before to reload (SIGHUP).
 */
int sl_daemon_signals(void);
enum sl_daemon_told { SL_DAEMON_NOTHING, SL_DAEMON_RELOAD, SL_DAEMON_END };
enum sl_daemon_told sl_daemon_told(int fd);
/* Listens at the socket, or takes the one that was passed (LISTEN_FDS): a descriptor, or negative errno after it has said so on stderr. */
int sl_daemon_listen(struct sl_daemon *d);
/* Remove the socket, unless it belongs to who has passed it. */
void sl_daemon_unlisten(const struct sl_daemon *d);
/* Says on stderr why it cannot listen there, and returns rc. */
int sl_daemon_deaf(const char *address, int rc);
/* sl_secret_read() of the file; says on stderr what is wrong with it. */
int sl_daemon_secret(const struct sl_daemon *d, char secret[SL_SECRET_BYTES]);
void sl_daemon_ready(struct sl_daemon *d);
/* As many open files as the hard limit allows. */
void sl_daemon_files(void);

#endif
