/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice down`: let the nodes of a layer finish their requests, and stop them. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/dashboard.h"
#include "layer/layer.h"
#include "layer/status.h"

static const char cmd[] = "down";

#define LOCK_MS 1000
#define ASK_MS	1000 /* short, because the answer is only a hint */

struct dn {
	struct layer_member m[LAYER_MEMBERS];
	struct pollfd p[LAYER_MEMBERS]; /* pidfds; -1: it has ended */
	size_t count;
};

/* Wait until all have ended; print progress every 2 s. */
static bool dn_wait(struct dn *d, const struct layer *l, int64_t timeout_ms)
{
	int64_t begin = sl_clock_ms(), told = begin;

	for (;;) {
		int64_t now = sl_clock_ms(), left = begin + timeout_ms - now;
		size_t living = 0;

		for (size_t i = 0; i < d->count; i++)
			living += d->p[i].fd >= 0;
		if (!living)
			return true;
		if (left <= 0)
			return false;
		if (poll(d->p, d->count, (int)(left < 500 ? left : 500)) > 0)
			for (size_t i = 0; i < d->count; i++)
				if (d->p[i].fd >= 0 && d->p[i].revents) {
					close(d->p[i].fd);
					d->p[i].fd = -1;
				}
		if (now - told >= 2000) {
			fprintf(stderr,
				"sluice %s: layer '%s' is finishing its requests (%d s) ...\n", cmd,
				l->name, (int)((now - begin) / 1000));
			told = now;
		}
	}
}

/* All have ended, so the lock is free: take it and remove their files. */
static bool dn_clean(struct layer *l, bool all)
{
	for (int i = 0; i < 100; i++) {
		int rc = layer_lock(l, false);

		if (rc == 0)
			layer_clean(l, all);
		layer_close(l);
		if (rc != -EWOULDBLOCK)
			return true;
		if (layer_pid(l)) /* the next one is up already */
			return false;
		usleep(1000);
	}
	return true;
}

static int dn_signal(const struct layer *l, struct dn *d, size_t i)
{
	const struct layer_member *m = &d->m[i];
	struct layer_member again[LAYER_MEMBERS];
	bool still = false;
	int pidfd = (int)syscall(SYS_pidfd_open, m->pid, 0);
	char called[32];

	layer_member_called(m, d->count == 1, called);
	if (pidfd < 0 && errno == ESRCH)
		return CLI_OK;
	if (pidfd < 0)
		return cli_fail(cmd, "cannot reach %s (pid %d): %s.", called, (int)m->pid,
				strerror(errno));
	/* The number may have become another process' before it was opened. */
	for (size_t k = layer_members(l, again); k-- > 0;)
		still |= again[k].pid == m->pid;
	if (still) {
		d->p[i].fd = pidfd;
		if (syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) && errno != ESRCH)
			return cli_fail(cmd, "cannot stop %s (pid %d): %s.", called, (int)m->pid,
					strerror(errno));
		return CLI_OK;
	}
	close(pidfd);
	return CLI_OK;
}

/* Those that have not ended in time. */
static int dn_late(const struct layer *l, const struct dn *d)
{
	int status = CLI_OK;
	char called[32];

	for (size_t i = 0; i < d->count; i++)
		if (d->p[i].fd >= 0)
			status = cli_fail(
				cmd,
				"%s of layer '%s' (pid %d) has not ended yet. "
				"See %s/log%s; 'kill -CONT %d' resumes it if it was stopped; "
				"'kill -KILL %d' ends it at once.",
				layer_member_called(&d->m[i], d->count == 1, called), l->name,
				(int)d->m[i].pid, l->dir, d->m[i].suffix, (int)d->m[i].pid,
				(int)d->m[i].pid);
	return status;
}

static void dn_say(double n, const char *what)
{
	if (n > 0)
		fprintf(stderr, "sluice %s: %.0f process%s %s\n", cmd, n, n > 1 ? "es" : "", what);
}

/* Report the programs that use a node now. Those that make their own calls continue at once. */
static void dn_connected(const struct layer *l, int64_t timeout_ms)
{
	struct status *s = status_ask(l, timeout_ms / 4 < ASK_MS ? (int)(timeout_ms / 4) : ASK_MS);
	double attached = 0, connected = 0;

	for (size_t i = 0; s && i < s->jobs_count; i++) {
		attached += s->jobs[i].attached;
		connected += s->jobs[i].clients - s->jobs[i].attached;
	}
	status_free(s);
	dn_say(attached,
	       "of the layer still running: from now on without limits until a layer for this "
	       "directory is up again.");
	dn_say(connected, "still connected: each waits up to its --timeout for the layer to come "
			  "back, then gets EIO, or goes on directly with --fallback direct.");
}

static int dn_stop(struct layer *l, int64_t timeout_ms)
{
	struct dn d = { 0 };
	char dead[1000];
	bool died = layer_dead(l, dead, sizeof(dead));
	int64_t begin = sl_clock_ms();
	int status = CLI_OK;

	dn_connected(l, timeout_ms);
	timeout_ms -= sl_clock_ms() - begin;
	d.count = layer_members(l, d.m);
	for (size_t i = 0; i < d.count; i++)
		d.p[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	for (size_t i = 0; !status && i < d.count; i++)
		if (d.m[i].pid)
			status = dn_signal(l, &d, i);
	if (!status && !dn_wait(&d, l, timeout_ms))
		status = dn_late(l, &d);
	for (size_t i = 0; i < d.count; i++)
		if (d.p[i].fd >= 0)
			close(d.p[i].fd);
	if (status)
		return status;
	dn_clean(l, !died);
	printf("Layer '%s' is down.\n", l->name);
	if (died)
		cli_warn(cmd, "these had died before: %s. Their logs are in %s.", dead, l->dir);
	return CLI_OK;
}

static int dn_layer(const char *name, bool if_up, int64_t timeout_ms)
{
	struct layer l;
	int rc, status = cli_layer(cmd, layer_choose(&l, name));
	int64_t begin = sl_clock_ms();
	char root[PATH_MAX];
	bool died;

	if (status)
		return status;
	dashboard_end(&l, timeout_ms / 4); /* it only looks */
	timeout_ms -= sl_clock_ms() - begin;
	rc = layer_lock(&l, false);
	/* A member that was killed holds the lock for a moment. */
	for (int ms = 0; rc == -EWOULDBLOCK && !layer_pid(&l) && ms < LOCK_MS; ms += 20) {
		usleep(20000);
		rc = layer_lock(&l, false);
	}
	died = !rc && layer_root(&l, root) == 0;
	if (rc == -EWOULDBLOCK && layer_pid(&l))
		return dn_stop(&l, timeout_ms);
	if (rc == -EWOULDBLOCK)
		return cli_fail(cmd,
				"another command is starting or stopping layer '%s'; "
				"try again.",
				l.name);
	if (rc == -EACCES && l.system)
		return cli_fail(cmd, "layer '%s' is for all users: only root stops it.", l.name);
	if (rc && rc != -ENOENT)
		return cli_fail(cmd, "cannot lock %s/lock: %s.", l.dir, strerror(-rc));
	if (rc == 0) { /* a node died: remove its files, but keep its log */
		layer_clean(&l, !died);
		layer_close(&l);
	}
	if (if_up)
		return CLI_OK;
	if (died)
		return cli_fail(cmd,
				"the node of layer '%s' had died before. Its files are "
				"removed; its log is %s/log.",
				l.name, l.dir);
	return cli_layer(cmd, layer_not_up(&l, false));
}

static int dn_all(bool if_up, int64_t timeout_ms)
{
	struct layer_seen *all;
	size_t count, up = 0;
	int status = cli_layer(cmd, layer_all(&all, &count));

	for (size_t i = 0; i < count; i++) {
		up += all[i].state == LAYER_UP;
		if (dn_layer(all[i].layer.name, true, timeout_ms))
			status = CLI_FAILED;
	}
	free(all);
	if (!up && !if_up && !status)
		return cli_fail(cmd, "no layer is up.");
	return status;
}

int cmd_down(int argc, char **argv)
{
	int64_t timeout_ns = INT64_C(30000000000);
	bool all = false, if_up = false;
	const char *name = NULL, *timeout = NULL;
	const struct cli_option options[] = {
		{ "name", 0, "NAME", .text = &name, .values = "<layer>", .help = "which layer" },
		{ "all", 0, NULL, .flag = &all, .help = "all layers of this user" },
		{ "if-up", 0, NULL, .flag = &if_up, .help = "succeed if the layer is not up" },
		{ "timeout", 0, "TIME", .text = &timeout,
		  .help = "how long to wait for its nodes to finish (30s)" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "down [--name NAME | --all] [--if-up] [--timeout TIME]",
		.about = "Stops a layer. Requests already sent are served; programs that continue "
			 "to send wait for the next 'sluice up', as long as their --timeout "
			 "says.",
		.more = "Manual: sluice-down(1).",
		.options = options,
		.arguments = -1,
	};
	int status = cli_next(&command, argc, argv);

	if (status)
		return cli_end(status);
	if (timeout && sl_parse_time(timeout, &timeout_ns))
		return cli_usage(cmd, "--timeout: '%s' is not a time; write 30s or 2m.", timeout);
	if (optind < argc)
		return cli_usage(cmd, "unexpected argument '%s'; a layer is chosen with --name.",
				 argv[optind]);
	if (all && name)
		return cli_usage(cmd, "--all and --name exclude each other.");
	if (all)
		return dn_all(if_up, timeout_ns / 1000000);
	return dn_layer(name, if_up, timeout_ns / 1000000);
}
