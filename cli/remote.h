/* SPDX-License-Identifier: Apache-2.0 */
/* Query a node on another machine over TCP: see remote.c. */
#ifndef SL_CLI_REMOTE_H
#define SL_CLI_REMOTE_H

#include "wire/auth.h"

struct remote {
	const char *cmd;     /* for messages; borrowed */
	const char *address; /* HOST:PORT; borrowed */
	int sock;	     /* -1: none */
	struct sl_session session;
};

/* Connect as a process of that job. Errors are printed; returns an exit status. */
int remote_open(struct remote *r, const char *cmd, const char *address, const char *secret_file,
		const char *job);
/* Send one control line; as layer_ask(). */
int remote_ask(struct remote *r, const char *line, char **answer);
void remote_close(struct remote *r);

#endif
