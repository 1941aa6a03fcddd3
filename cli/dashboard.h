/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard of a layer: a process beside its members, which serves HTTP (httpd/). It queries
 * them; they do not know of it. In the directory of the layer it has
 *
 *	dashboard-lock     held as long as it lives
 *	dashboard-token    the secret needed for changes; stays until the layer is down
 *	dashboard-address  http://127.0.0.1:7480
 *	pid-dashboard, log-dashboard
 *	args-dashboard     its command line, while it should be running: see dashboard_died()
 */
#ifndef SL_CLI_DASHBOARD_H
#define SL_CLI_DASHBOARD_H

#include <stdint.h>
#include <sys/types.h>

#include "base/secret.h"
#include "layer/layer.h"

#define DASHBOARD_PORT 7480

struct dashboard {
	pid_t pid;
	bool started; /* just now */
	char address[300];
	char token[SL_SECRET_BYTES];
};

/*
 * Start it if it is not running. host NULL: loopback; port NULL: DASHBOARD_PORT, or any if that is
 * taken. who: the command, for messages. Returns an exit status.
 */
int dashboard_start(const char *who, const struct layer *l, const char *host, const char *port,
		    struct dashboard *out);
/* Check a port as users write it. CLI_USAGE: an error was printed for cmd. */
int dashboard_check_port(const char *cmd, const char *text);
/* Print its addresses, in two lines. */
void dashboard_say(const struct layer *l, const struct dashboard *d);
/* End it, and do not revive it later. Returns whether it was running. */
bool dashboard_end(const struct layer *l, int64_t wait_ms);
/* Whether it was started and ended without being stopped. */
bool dashboard_died(const struct layer *l);
/* Restart it at the same address. Returns an exit status. */
int dashboard_revive(const char *who, const struct layer *l, struct dashboard *out);
/* Remove its record, so that it is not restarted. A running one stays. */
void dashboard_forget(const struct layer *l);

#endif
