/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice dashboard`: start the HTTP server of a layer, tell where it is, and stop it. */
#include "cli/dashboard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/listen.h"

static const char cmd[] = "dashboard";

#define STOP_MS 3000 /* it has nothing to finish */

enum { O_NAME = 256, O_PORT, O_LISTEN, O_STOP };

static int da_help(void)
{
	puts("usage: sluice dashboard [--name NAME] [--port PORT] [--listen HOST] [--json]\n"
	     "       sluice dashboard --stop [--name NAME]\n"
	     "\n"
	     "Starts the dashboard of a layer, if it is not there yet, and prints where it is:\n"
	     "a page for a browser, a JSON API, and metrics for Prometheus. Looking is free on\n"
	     "this machine; to change something one has to know the token in the address.\n"
	     "\n"
	     "Options:\n"
	     "      --name NAME    which layer; not needed if only one is up\n"
	     "      --port PORT    where; 0: any (7480, or any if that is taken)\n"
	     "      --listen HOST  for other machines too: there everything needs the token,\n"
	     "                     and nothing is encrypted\n"
	     "      --stop         stop it; 'sluice down' does so, too\n"
	     "  -j, --json         print JSON\n"
	     "  -h, --help         this text\n"
	     "\n"
	     "Manual: sluice-dashboard(1), sluice-api(7).");
	return CLI_OK;
}

int dashboard_check_port(const char *who, const char *text)
{
	unsigned long port;

	if (!check_count(text, 0, 65535, &port))
		return CLI_OK;
	return cli_usage(who, "'%s' is not a port, which is a number from 0 to 65535.", text);
}

/* ---- finding it ---- */

static int da_known(const struct layer *l, struct dashboard *d)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.200s/dashboard-token", l->dir);
	if (layer_read(l, "dashboard-address", d->address, sizeof(d->address)) ||
	    sl_secret_read(path, d->token))
		return cli_fail(cmd,
				"cannot read where the dashboard of layer '%s' is; stop it with "
				"'sluice dashboard --stop' and start it again.",
				l->name);
	return CLI_OK;
}

/* ---- starting ---- */

/* HOST:PORT; an IPv6 address gets its brackets. */
static int da_where(const char *host, const char *port, char out[300])
{
	char err[CHECK_TEXT];
	bool bare = strchr(host, ':') && host[0] != '[';

	if (strlen(host) > 255)
		return cli_usage(cmd, "--listen: that is no name of a host.");
	snprintf(out, 300, bare ? "[%s]:%s" : "%s:%s", host, port);
	return check_address(out, true, err) ? cli_usage(cmd, "--listen: %s.", err) : CLI_OK;
}

/* One at a time: the server gets the lock, and keeps it. */
static int da_lock(const struct layer *l)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%.200s/dashboard-lock", l->dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd < 0 ? -errno : fd;
}

static int da_token(const struct layer *l)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.200s/dashboard-token", l->dir);
	/* That of one which was stopped or died: pages that are open still know it. */
	return access(path, R_OK) == 0 ? CLI_OK : listen_make_secret(cmd, path);
}

static int da_launch(const struct layer *l, const char *program, const char *where, bool any)
{
	const char *args[] = { program, "--name",     l->name,	      "--listen",
			       where,	"--ready-fd", LAYER_READY_FD, any ? "--any-port" : NULL,
			       NULL };
	struct layer as = *l; /* the same, with another lock */
	struct layer_member m;
	struct layer_start s;
	char runtime[PATH_MAX], self[PATH_MAX];
	ssize_t length;
	int status;

	as.cmd = cmd;
	as.lock = da_lock(l);
	if (as.lock == -EWOULDBLOCK)
		return cli_fail(cmd,
				"the dashboard of layer '%s' is just being started by another "
				"command. Try again.",
				l->name);
	if (as.lock < 0)
		return cli_fail(cmd, "cannot lock %s/dashboard-lock: %s.", l->dir,
				strerror(-as.lock));
	/* It runs in another directory. */
	snprintf(runtime, sizeof(runtime), "%s", l->dir);
	*strrchr(runtime, '/') = 0;
	setenv("SLUICE_RUNTIME", runtime, 1);
	/* What-if is this very program. */
	length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (length > 0) {
		self[length] = 0;
		setenv("SLUICE_PROGRAM", self, 0);
	}
	layer_dashboard(l, &m);
	status = da_token(l);
	if (!status)
		status = layer_launch(&as, &m, args, &s);
	if (!status)
		status = layer_ready(&as, &m, false, &s);
	close(as.lock);
	return status;
}

int dashboard_start(const struct layer *l, const char *host, const char *port,
		    struct dashboard *out)
{
	struct layer_member m;
	char program[PATH_MAX], where[300], number[16];
	int status;

	*out = (struct dashboard){ 0 };
	snprintf(number, sizeof(number), "%d", DASHBOARD_PORT);
	if ((status = da_where(host ? host : "127.0.0.1", port ? port : number, where)))
		return status;
	layer_dashboard(l, &m);
	if (!m.pid) {
		if ((status = layer_httpd(cmd, program)) ||
		    (status = da_launch(l, program, where, !port)))
			return status;
		layer_dashboard(l, &m);
		out->started = true;
	}
	out->pid = m.pid;
	if ((status = da_known(l, out)))
		return status;
	if (!out->started && (host || port))
		cli_warn(cmd, "it is there already; 'sluice dashboard --stop' comes before another "
			      "--port or --listen.");
	return CLI_OK;
}

/* ---- telling ---- */

/* Behind the #, it is not sent to anybody; other machines have to send it to get the page. */
static void da_url(const struct dashboard *d, char out[600])
{
	bool here = !strncmp(d->address, "http://127.", 11) ||
		    !strncmp(d->address, "http://[::1]:", 13);

	if (here)
		snprintf(out, 600, "%s/#token=%s", d->address, d->token);
	else
		snprintf(out, 600, "%s/?token=%s#token=%s", d->address, d->token, d->token);
}

void dashboard_say(const struct layer *l, const struct dashboard *d)
{
	char url[600];

	da_url(d, url);
	printf("Dashboard of layer '%s', with metrics at %s/metrics:\n  %s\n", l->name, d->address,
	       url);
}

static void da_json(const struct layer *l, const struct dashboard *d)
{
	char url[600];
	struct json j;

	da_url(d, url);
	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "name", l->name);
	json_string(&j, "address", d->address);
	json_string(&j, "token", d->token);
	json_string(&j, "url", url);
	json_uint(&j, "pid", (uint64_t)d->pid);
	json_bool(&j, "started", d->started);
	json_end(&j);
}

/* ---- stopping ---- */

bool dashboard_end(const struct layer *l)
{
	struct layer_member m, again;
	struct pollfd p = { .events = POLLIN };

	layer_dashboard(l, &m);
	if (!m.pid)
		return false;
	p.fd = (int)syscall(SYS_pidfd_open, m.pid, 0);
	layer_dashboard(l, &again); /* the number may have become another process' */
	if (p.fd >= 0 && again.pid == m.pid) {
		syscall(SYS_pidfd_send_signal, p.fd, SIGTERM, NULL, 0);
		if (poll(&p, 1, STOP_MS) == 0) { /* it waits for a node that is stuck */
			syscall(SYS_pidfd_send_signal, p.fd, SIGKILL, NULL, 0);
			poll(&p, 1, STOP_MS);
		}
	}
	if (p.fd >= 0)
		close(p.fd);
	return true;
}

static int da_stop(const struct layer *l)
{
	if (!dashboard_end(l))
		return cli_fail(cmd, "layer '%s' has no dashboard.", l->name);
	printf("The dashboard of layer '%s' is stopped.\n", l->name);
	return CLI_OK;
}

int cmd_dashboard(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "name", required_argument, NULL, O_NAME },
		{ "port", required_argument, NULL, O_PORT },
		{ "listen", required_argument, NULL, O_LISTEN },
		{ "stop", no_argument, NULL, O_STOP },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	const char *name = NULL, *port = NULL, *host = NULL;
	bool json = false, stop = false;
	struct dashboard d;
	struct layer l;
	int opt, status;

	while ((opt = cli_getopt(cmd, argc, argv, "hj", longs)) != -1) {
		switch (opt) {
		case 'h':
			return da_help();
		case O_NAME:
			name = optarg;
			break;
		case O_PORT:
			port = optarg;
			break;
		case O_LISTEN:
			host = optarg;
			break;
		case O_STOP:
			stop = true;
			break;
		case 'j':
			json = true;
			break;
		default:
			return CLI_USAGE;
		}
	}
	if (optind < argc)
		return cli_usage(cmd, "unexpected argument '%s'; a layer is chosen with --name.",
				 argv[optind]);
	if (stop && (port || host || json))
		return cli_usage(cmd, "--stop goes with --name alone.");
	if ((port && (status = dashboard_check_port(cmd, port))) ||
	    (status = layer_choose(&l, cmd, name)))
		return status;
	if (stop)
		return da_stop(&l);
	if (layer_state(&l) == LAYER_DOWN)
		return layer_not_up(&l, true);
	if ((status = dashboard_start(&l, host, port, &d)))
		return status;
	if (json)
		da_json(&l, &d);
	else
		dashboard_say(&l, &d);
	return CLI_OK;
}
