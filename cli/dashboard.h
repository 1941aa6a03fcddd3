/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard of a layer: a process beside its members, which serves HTTP (httpd/).
 * It asks them, they do not know of it. In the directory of the layer it has
 *
 *	dashboard-lock     held as long as it lives
 *	dashboard-token    what one has to know to change something; stays until the layer is down
 *	dashboard-address  http://127.0.0.1:7480
 *	pid-dashboard, log-dashboard
 *	args-dashboard     its command line, as long as it is to be there: see dashboard_died()
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
 * Start it if it is not there. host NULL: loopback; port NULL: DASHBOARD_PORT, or any if that is
 * taken. who: the command, for messages. An exit status.
 */
int dashboard_start(const char *who, const struct layer *l, const char *host, const char *port,
		    struct dashboard *out);
/* A port as people write it; CLI_USAGE is reported in the name of cmd. */
int dashboard_check_port(const char *cmd, const char *text);
/* Two lines that say where to look. */
void dashboard_say(const struct layer *l, const struct dashboard *d);
/* End it, and do not revive it. Whether there was one. */
bool dashboard_end(const struct layer *l, int64_t wait_ms);
/* Whether it was started, and has ended without having been told to. */
bool dashboard_died(const struct layer *l);
/* Then start it again where it was. An exit status. */
int dashboard_revive(const char *who, const struct layer *l, struct dashboard *out);
/* Or do not: it is not missed any more. One that lives stays. */
void dashboard_forget(const struct layer *l);

#endif
