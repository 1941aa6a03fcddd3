/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice dashboard`: start the HTTP server of a layer, print its address, or stop it. */
#include "cli/dashboard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/json.h"
#include "base/listen.h"
#include "cli/cli.h"
#include "layer/listen.h"

static const char cmd[] = "dashboard";

#define LOCK_MS 1000
#define STOP_MS 3000 /* it has nothing to finish */

int dashboard_check_port(const char *who, const char *text)
{
	char err[CHECK_TEXT];

	return check_port(text, err) ? cli_usage(who, "%s.", err) : CLI_OK;
}

/* ---- finding it ---- */

static int da_known(const char *who, const struct layer *l, struct dashboard *d)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.200s/dashboard-token", l->dir);
	if (layer_read(l, "dashboard-address", d->address, sizeof(d->address)) ||
	    /* In a layer for all users the layer's account owns the file, and root reads it. */
	    (l->system ? layer_read(l, "dashboard-token", d->token, sizeof(d->token))
		       : sl_secret_read(path, d->token)))
		return cli_fail(
			who,
			"cannot read the address of the dashboard of layer '%s'; stop it with "
			"'sluice dashboard --stop' and start it again.",
			l->name);
	return CLI_OK;
}

/* ---- starting ---- */

/* HOST:PORT; an IPv6 address gets its brackets. */
static void da_where(const char *host, const char *port, char out[300])
{
	bool bare = strchr(host, ':') && host[0] != '[';

	snprintf(out, 300, bare ? "[%s]:%s" : "%s:%s", host, port);
}

/*
 * One dashboard at a time: the server gets the lock and keeps it. A server that was killed still
 * holds it for a moment.
 */
static int da_lock(const struct layer *l)
{
	char path[PATH_MAX];
	struct layer_member m;
	int fd, rc;

	snprintf(path, sizeof(path), "%.200s/dashboard-lock", l->dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	for (int ms = 0;; ms += 20) {
		rc = flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;
		layer_dashboard(l, &m);
		if (rc != -EWOULDBLOCK || m.pid || ms >= LOCK_MS)
			break;
		usleep(20000);
	}
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* Do not follow links: the account can write here, and could have linked to a file of root. */
static int da_give(const struct layer *l, const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		rc = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		rc = -EPERM;
	else if (fchown(fd, l->account, l->group))
		rc = -errno;
	close(fd);
	return rc;
}

static int da_token(const char *who, const struct layer *l)
{
	char path[PATH_MAX];
	int status, rc;

	snprintf(path, sizeof(path), "%.200s/dashboard-token", l->dir);
	/* Keep the token of a server that was stopped or died: open pages still use it. */
	status = access(path, R_OK) == 0 ? CLI_OK : cli_layer(who, layer_make_secret(path));
	/* The server runs as the account of the layer. */
	if (!status && l->system && (rc = da_give(l, path)))
		return cli_fail(who, "cannot give %s to the layer's account: %s.", path,
				strerror(-rc));
	return status;
}

static int da_launch(const char *who, const struct layer *l, const char *program, const char *where,
		     bool any)
{
	const char *args[] = { program, "--name",     l->name,	      "--listen",
			       where,	"--ready-fd", LAYER_READY_FD, any ? "--any-port" : NULL,
			       NULL };
	struct layer as = *l; /* the same layer, with another lock */
	struct layer_member m;
	struct layer_start s;
	char runtime[PATH_MAX], self[PATH_MAX];
	ssize_t length;
	int status;

	as.lock = da_lock(l);
	if (as.lock == -EWOULDBLOCK)
		return cli_fail(who,
				"another command is starting the dashboard of layer '%s'; "
				"try again.",
				l->name);
	if (as.lock == -EACCES && l->system)
		return cli_fail(who,
				"layer '%s' is for all users: only root starts and stops its "
				"dashboard.",
				l->name);
	if (as.lock < 0)
		return cli_fail(who, "cannot lock %s/dashboard-lock: %s.", l->dir,
				strerror(-as.lock));
	/* It runs in another directory. */
	snprintf(runtime, sizeof(runtime), "%s", l->dir);
	*strrchr(runtime, '/') = 0;
	setenv("SLUICE_RUNTIME", runtime, 1);
	/* What-if runs this program. */
	length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (length > 0) {
		self[length] = 0;
		setenv("SLUICE_PROGRAM", self, 0);
	}
	layer_dashboard(l, &m);
	status = da_token(who, l);
	if (!status)
		status = cli_layer(who, layer_launch(&as, &m, args, &s));
	if (!status)
		status = cli_layer(who, layer_ready(&m, false, &s));
	close(as.lock);
	return status;
}

int dashboard_start(const char *who, const struct layer *l, const char *host, const char *port,
		    struct dashboard *out)
{
	struct layer_member m;
	char program[PATH_MAX], where[300], number[16], option[CHECK_LAYER_NAME + 16] = "";
	int status;

	*out = (struct dashboard){ 0 };
	if (strcmp(l->name, LAYER_DEFAULT) != 0)
		snprintf(option, sizeof(option), " --name %s", l->name);
	snprintf(number, sizeof(number), "%d", DASHBOARD_PORT);
	da_where(host ? host : "127.0.0.1", port ? port : number, where);
	layer_dashboard(l, &m);
	if (!m.pid) {
		if (port && listen_tcp_taken(where))
			return cli_fail(who,
					"the dashboard cannot listen at %s: port %s is taken by "
					"another program. Choose another with 'sluice dashboard%s "
					"--port PORT'; "
					"port 0: any free port.",
					where, port, option);
		if ((status = cli_layer(who, layer_httpd(program))) ||
		    (status = da_launch(who, l, program, where, !port))) {
			dashboard_forget(l); /* this one was never there */
			return status;
		}
		layer_dashboard(l, &m);
		out->started = true;
	}
	out->pid = m.pid;
	if ((status = da_known(who, l, out)))
		return status;
	if (!out->started && (host || port))
		cli_warn(who, "the dashboard is already running; stop it with 'sluice dashboard "
			      "--stop' to change "
			      "--port or --listen.");
	return CLI_OK;
}

/* ---- starting again ---- */

/* Whether it is dead; path: the file of its command line. */
static bool da_gone(const struct layer *l, char path[PATH_MAX])
{
	struct layer_member m;

	layer_dashboard(l, &m);
	snprintf(path, PATH_MAX, "%.200s/args%s", l->dir, m.suffix);
	return !m.pid;
}

bool dashboard_died(const struct layer *l)
{
	char path[PATH_MAX];

	return da_gone(l, path) && access(path, F_OK) == 0;
}

void dashboard_forget(const struct layer *l)
{
	char path[PATH_MAX];

	if (da_gone(l, path))
		unlink(path);
}

/*
 * The address where it listened, because open pages look for it there. If it listened at any free
 * port, another port is possible.
 */
static int da_where_again(const struct layer *l, const char *const *args, char where[300],
			  bool *any)
{
	const char *listen = NULL, *port, *had;
	char address[300] = "";

	*any = false;
	for (; *args; args++) {
		if (!strcmp(*args, "--listen"))
			listen = args[1];
		*any |= !strcmp(*args, "--any-port");
	}
	port = listen ? strrchr(listen, ':') : NULL;
	if (!port)
		return -EINVAL;
	*any |= !strcmp(port, ":0");
	snprintf(where, 300, "%.200s", listen);
	layer_read(l, "dashboard-address", address, sizeof(address));
	had = strrchr(address, ':');
	if (had)
		snprintf(where, 300, "%.*s%.6s", (int)(port - listen), listen, had);
	return 0;
}

int dashboard_revive(const char *who, const struct layer *l, struct dashboard *out)
{
	char program[PATH_MAX], where[300], *text;
	struct layer_member m;
	const char **args;
	bool any;
	int rc, status;

	*out = (struct dashboard){ 0 };
	layer_dashboard(l, &m);
	rc = layer_args(l, &m, &args, &text);
	if (!rc) {
		rc = da_where_again(l, args, where, &any);
		free(args);
		free(text);
	}
	if (rc)
		return cli_fail(who,
				"cannot read how the dashboard of layer '%s' was started: %s. "
				"Start it with 'sluice dashboard'.",
				l->name, strerror(-rc));
	if ((status = cli_layer(who, layer_httpd(program))) ||
	    (status = da_launch(who, l, program, where, any)))
		return status;
	layer_dashboard(l, &m);
	out->pid = m.pid;
	out->started = true;
	return da_known(who, l, out);
}

/* ---- telling ---- */

/* A token behind the # is not sent to the server. If reading needs the token, it must be sent. */
static void da_url(const struct layer *l, const struct dashboard *d, char out[600])
{
	bool here = !l->system && (!strncmp(d->address, "http://127.", 11) ||
				   !strncmp(d->address, "http://[::1]:", 13));

	if (here)
		snprintf(out, 600, "%s/#token=%s", d->address, d->token);
	else
		snprintf(out, 600, "%s/?token=%s#token=%s", d->address, d->token, d->token);
}

void dashboard_say(const struct layer *l, const struct dashboard *d)
{
	char url[600];

	da_url(l, d, url);
	printf("Dashboard of layer '%s':\n  %s\nMetrics: %s/metrics\n", l->name, url, d->address);
}

static void da_json(const struct layer *l, const struct dashboard *d)
{
	char url[600];
	struct json j;

	da_url(l, d, url);
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

bool dashboard_end(const struct layer *l, int64_t wait_ms)
{
	struct layer_member m, again;
	struct pollfd p = { .events = POLLIN };

	layer_dashboard(l, &m);
	if (!m.pid) {
		dashboard_forget(l);
		return false;
	}
	p.fd = (int)syscall(SYS_pidfd_open, m.pid, 0);
	layer_dashboard(l, &again); /* the number may have become another process' */
	if (p.fd >= 0 && again.pid == m.pid) {
		syscall(SYS_pidfd_send_signal, p.fd, SIGTERM, NULL, 0);
		if (poll(&p, 1, wait_ms < STOP_MS ? (int)wait_ms : STOP_MS) ==
		    0) { /* it is blocked by a stuck node */
			syscall(SYS_pidfd_send_signal, p.fd, SIGKILL, NULL, 0);
			poll(&p, 1, STOP_MS);
		}
	}
	if (p.fd >= 0)
		close(p.fd);
	dashboard_forget(l);
	return true;
}

static int da_stop(const struct layer *l)
{
	if (!dashboard_end(l, STOP_MS))
		return cli_fail(cmd, "layer '%s' has no dashboard.", l->name);
	printf("The dashboard of layer '%s' is stopped.\n", l->name);
	return CLI_OK;
}

int cmd_dashboard(int argc, char **argv)
{
	const char *name = NULL, *port = NULL, *host = NULL;
	bool json = false, stop = false;
	char err[CHECK_TEXT];
	struct dashboard d;
	struct layer l;
	const struct cli_option options[] = {
		CLI_LAYER(&name),
		{ "port", 0, "PORT", .text = &port,
		  .help = "port; 0: any (7480, or any if that is taken)" },
		{ "listen", 0, "HOST", .text = &host,
		  .help = "for other machines too: there all access needs the token, and nothing "
			  "is encrypted" },
		{ "stop", 0, NULL, .flag = &stop, .help = "stop it; 'sluice down' stops it too" },
		CLI_JSON(&json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "dashboard [--name NAME] [--port PORT] [--listen HOST] [--json]\n"
			 "dashboard --stop [--name NAME]",
		.about = "Starts the dashboard of a layer, if it is not running yet, and prints "
			 "its address: a page for a browser, a JSON API, and metrics for "
			 "Prometheus. Reading needs no token on this machine, unless the layer is "
			 "for "
			 "all users; changes need the token, which is in the address.",
		.more = "Manual: sluice-dashboard(1), sluice-api(7).",
		.options = options,
		.arguments = -1,
	};
	int status = cli_next(&command, argc, argv);

	if (status)
		return cli_end(status);
	if (optind < argc)
		return cli_usage(cmd, "unexpected argument '%s'; a layer is chosen with --name.",
				 argv[optind]);
	if (stop && (port || host || json))
		return cli_usage(cmd, "--stop goes with --name alone.");
	if (host && check_host(host, err))
		return cli_usage(cmd, "--listen: %s.", err);
	if ((port && (status = dashboard_check_port(cmd, port))) ||
	    (status = cli_layer(cmd, layer_choose(&l, name))))
		return status;
	if (stop)
		return da_stop(&l);
	if (layer_state(&l) == LAYER_DOWN)
		return cli_layer(cmd, layer_not_up(&l, true));
	if ((status = dashboard_start(cmd, &l, host, port, &d)))
		return status;
	if (json)
		da_json(&l, &d);
	else
		dashboard_say(&l, &d);
	return CLI_OK;
}
