/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice down`: let the node of a layer finish what it has, and stop it. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/layer.h"

static const char cmd[] = "down";

enum { O_NAME = 256, O_ALL, O_IF_UP, O_TIMEOUT };

static int dn_help(void)
{
	puts("usage: sluice down [--name NAME | --all] [--if-up] [--timeout TIME]\n"
	     "\n"
	     "Stops a layer. What programs have sent is still served; programs that go on\n"
	     "sending wait for the next 'sluice up', as long as their --timeout says.\n"
	     "\n"
	     "Options:\n"
	     "      --name NAME     which layer\n"
	     "      --all           all layers of this user\n"
	     "      --if-up         it is no failure if the layer is not up\n"
	     "      --timeout TIME  how long to wait for the node to finish (30s)\n"
	     "  -h, --help          this text\n"
	     "\n"
	     "Manual: sluice-down(1).");
	return CLI_OK;
}

static int64_t dn_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Until the process has ended; every 2 s a sign of life. */
static bool dn_wait(int pidfd, const struct layer *l, int64_t timeout_ms)
{
	int64_t begin = dn_now_ms(), told = begin;

	for (;;) {
		struct pollfd p = { .fd = pidfd, .events = POLLIN };
		int64_t now = dn_now_ms(), left = begin + timeout_ms - now;

		if (poll(&p, 1, (int)(left < 0 ? 0 : left < 500 ? left : 500)) > 0)
			return true;
		if (left <= 0)
			return false;
		if (now - told >= 2000) {
			fprintf(stderr, "sluice %s: layer '%s' finishes what it has (%d s) ...\n",
				cmd, l->name, (int)((now - begin) / 1000));
			told = now;
		}
	}
}

/* The node is gone: take the lock, which the kernel has let go of, and remove its files. */
static void dn_clean(struct layer *l)
{
	for (int i = 0; i < 100; i++) {
		int rc = layer_lock(l, false);

		if (rc == 0)
			layer_clean(l, true);
		layer_close(l);
		if (rc != -EWOULDBLOCK || layer_pid(l)) /* done, or the next one is up already */
			return;
		usleep(1000);
	}
}

static int dn_stop(struct layer *l, pid_t pid, int64_t timeout_ms)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool ended;

	if (pidfd < 0 && errno != ESRCH)
		return cli_fail(cmd, "cannot reach the node (pid %d): %s.", (int)pid,
				strerror(errno));
	/* The number may have become another process' before it was opened. */
	if (pidfd >= 0 && layer_pid(l) == pid) {
		if (syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) && errno != ESRCH) {
			close(pidfd);
			return cli_fail(cmd, "cannot stop the node (pid %d): %s.", (int)pid,
					strerror(errno));
		}
		ended = dn_wait(pidfd, l, timeout_ms);
		if (!ended) {
			close(pidfd);
			return cli_fail(cmd,
					"the node of layer '%s' (pid %d) has not ended yet. "
					"Look into %s/log; 'kill -KILL %d' ends it at once.",
					l->name, (int)pid, l->dir, (int)pid);
		}
	}
	if (pidfd >= 0)
		close(pidfd);
	dn_clean(l);
	printf("Layer '%s' is down.\n", l->name);
	return CLI_OK;
}

static int dn_layer(const char *name, bool if_up, int64_t timeout_ms)
{
	struct layer l;
	int rc, status = layer_choose(&l, cmd, name);
	bool died = !status && layer_state(&l) == LAYER_DIED;
	pid_t pid;

	if (status)
		return status;
	rc = layer_lock(&l, false);
	if (rc == -EWOULDBLOCK && (pid = layer_pid(&l)))
		return dn_stop(&l, pid, timeout_ms);
	if (rc == -EWOULDBLOCK)
		return cli_fail(cmd,
				"layer '%s' is just being started or stopped by another "
				"command. Try again.",
				l.name);
	if (rc && rc != -ENOENT)
		return cli_fail(cmd, "cannot lock %s/lock: %s.", l.dir, strerror(-rc));
	if (rc == 0) { /* a node died: remove what it left, but for what it said */
		layer_clean(&l, !died);
		layer_close(&l);
	}
	if (if_up)
		return CLI_OK;
	if (died)
		return cli_fail(cmd,
				"the node of layer '%s' had died before. What it left is "
				"removed, but for its log, %s/log.",
				l.name, l.dir);
	return layer_not_up(&l, false);
}

static int dn_all(bool if_up, int64_t timeout_ms)
{
	struct layer_seen *all;
	size_t count = layer_all(cmd, &all), up = 0;
	int status = CLI_OK;

	for (size_t i = 0; i < count; i++) {
		up += all[i].state == LAYER_UP;
		if (dn_layer(all[i].layer.name, true, timeout_ms))
			status = CLI_FAILED;
	}
	free(all);
	if (!up && !if_up)
		return cli_fail(cmd, "no layer is up.");
	return status;
}

int cmd_down(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "name", required_argument, NULL, O_NAME },
		{ "all", no_argument, NULL, O_ALL },
		{ "if-up", no_argument, NULL, O_IF_UP },
		{ "timeout", required_argument, NULL, O_TIMEOUT },
		{ 0 },
	};
	int64_t timeout_ns = INT64_C(30000000000);
	bool all = false, if_up = false;
	const char *name = NULL;
	int opt;

	while ((opt = cli_getopt(cmd, argc, argv, "h", longs)) != -1) {
		switch (opt) {
		case 'h':
			return dn_help();
		case O_NAME:
			name = optarg;
			break;
		case O_ALL:
			all = true;
			break;
		case O_IF_UP:
			if_up = true;
			break;
		case O_TIMEOUT:
			if (sl_parse_time(optarg, &timeout_ns))
				return cli_usage(cmd,
						 "--timeout: '%s' is not a time; write 30s or "
						 "2m.",
						 optarg);
			break;
		default:
			return CLI_USAGE;
		}
	}
	if (optind < argc)
		return cli_usage(cmd, "unexpected argument '%s'; a layer is chosen with --name.",
				 argv[optind]);
	if (all && name)
		return cli_usage(cmd, "--all and --name exclude each other.");
	if (all)
		return dn_all(if_up, timeout_ns / 1000000);
	return dn_layer(name, if_up, timeout_ns / 1000000);
}
