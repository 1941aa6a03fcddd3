/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench control`, row remap: how long it takes until the clients of a running job have
 * moved to the node that the controller has decided (Bez et al. 2021, section 3.1: GekkoFWD's
 * clients check every 10 s).
 *
 * A layer of its own, with a controller and two I/O nodes, and PROCS processes of one job, each of
 * which writes 4 KiB a millisecond. The job is moved to one node and to the other in turn. We
 * measure the time from the line to the controller, which decides then, until one node has all of
 * the job's processes and the other has none: the last call there is done and the connection is
 * closed. Both are checked every 0.1 ms.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "client/conn/client.h"
#include "lab/bench/control.h"
#include "lab/private.h"
#include "layer/status.h"

#define CMD	   "bench control"
#define PROCS	   8
#define NODES	   2
#define TIMEOUT_NS INT64_C(5000000000)

struct remap {
	struct private p;
	char controller[108], socket[NODES][108];
	unsigned at; /* the node that has them */
};

/* ---- a process of the job ---- */

static int writer(void *arg, int sock)
{
	const struct private *p = arg;
	static char data[4096];
	const struct iovec iov = { data, sizeof(data) };
	struct sl_remote file = { 0 };
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%d", p->dir, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || !sl_client_look(fd, &file))
		return 1;
	for (;;) {
		struct pollfd end = { .fd = sock, .events = POLLIN };

		if (sl_client_write(&file, fd, &iov, sizeof(data), 0, false) != sizeof(data))
			return 1;
		if (poll(&end, 1, 1) != 0)
			return 0;
	}
}

/* ---- the layer ---- */

/* Wait until the node has all of them and the other none; false: it took too long. */
static bool settled(const struct remap *w, unsigned node)
{
	int64_t end = sl_clock_ns() + TIMEOUT_NS;

	while (sl_clock_ns() < end && !private_interrupted) {
		if (status_clients(w->socket[node]) == PROCS &&
		    status_clients(w->socket[1 - node]) == 0)
			return true;
		nanosleep(&(struct timespec){ 0, 100000 }, NULL);
	}
	return false;
}

static bool send_to(const struct remap *w, unsigned node)
{
	char line[64], *answer = NULL;
	int rc;

	snprintf(line, sizeof(line), "map remap %u", node);
	rc = sl_client_control(w->controller, line, &answer);
	free(answer);
	return rc == 0;
}

/* Wall clock, because other processes do most of the work. */
static double remap_run(void *what)
{
	struct remap *w = what;
	int64_t begin = sl_clock_ns();

	w->at = 1 - w->at;
	if (!send_to(w, w->at) || !settled(w, w->at))
		return -1;
	return (double)(sl_clock_ns() - begin);
}

static int layer_start(struct remap *w)
{
	const char *controller[] = { "controller", "--socket", w->controller, NULL };
	const char *first[] = { "--name", "0", "--controller", w->controller, NULL };
	const char *second[] = { "ionode", "--root", w->p.dir,	     "--socket",    w->socket[1],
				 "--name", "1",	     "--controller", w->controller, NULL };
	int status;

	snprintf(w->controller, sizeof(w->controller), "%s/controller.sock", w->p.runtime);
	snprintf(w->socket[0], sizeof(w->socket[0]), "%s", w->p.socket);
	snprintf(w->socket[1], sizeof(w->socket[1]), "%s/node-1.sock", w->p.runtime);
	if ((status = private_more_start(&w->p, controller)) ||
	    (status = private_node_start(&w->p, first)) ||
	    (status = private_more_start(&w->p, second)))
		return status;
	for (unsigned i = 0; i < PROCS; i++)
		if (private_spawn(&w->p, "remap", NULL, writer, &w->p) < 0)
			return CLI_FAILED;
	return CLI_OK;
}

/* The controller learns of the job and its nodes from their reports: wait for these. */
static int gather(const struct remap *w)
{
	int64_t end = sl_clock_ns() + TIMEOUT_NS;

	while (sl_clock_ns() < end && !private_interrupted) {
		if (status_clients(w->socket[0]) + status_clients(w->socket[1]) == PROCS &&
		    send_to(w, 0) && settled(w, 0))
			return CLI_OK;
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	}
	return private_interrupted ? CLI_FAILED
				   : cli_fail(CMD, "remap: the job did not move to its node.");
}

int control_remap(struct control *c)
{
	struct control_row row = {
		.what = "remap", .jobs = 1, .ionodes = NODES, .goal_ms = 100, .wall = true
	};
	struct remap w = { 0 };
	int status;

	if (!control_wanted(c, &row))
		return CLI_OK;
	status = private_begin(&w.p, CMD, access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!status)
		status = layer_start(&w);
	if (!status)
		status = gather(&w);
	if (!status)
		status = control_measure(c, &row, remap_run, &w);
	return private_end(&w.p, status);
}
