/* SPDX-License-Identifier: Apache-2.0 */
/* sluice-httpd: options, life and end of the HTTP server of a layer. See server.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/listen.h"
#include "base/log.h"
#include "httpd/server.h"

#define GONE_S 5 /* exit when the layer has been down for this long */

static const char cmd[] = "sluice-httpd";

/* Whether name, as listen_tcp() tells it, is an address that no other machine reaches. */
static bool is_loopback(const char *name)
{
	return !strncmp(name, "127.", 4) || !strncmp(name, "[::1]:", 6);
}

static int make_guard(struct server *s, const char *listen, const char *name)
{
	unsigned char random[24];
	uint32_t number;
	char path[PATH_MAX];
	const char *colon = strrchr(listen, ':');
	int rc;

	snprintf(path, sizeof(path), "%.200s/dashboard-token", s->layer.dir);
	rc = sl_secret_read(path, s->guard.token);
	if (rc) {
		fprintf(stderr, "sluice-httpd: cannot use the token in %s: %s\n", path,
			strerror(-rc));
		return rc;
	}
	if (getrandom(random, sizeof(random), 0) != sizeof(random) ||
	    getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(s->guard.cookie + 2 * i, 3, "%02x", random[i]);
	snprintf(s->guard.cookie_name, sizeof(s->guard.cookie_name), "sluice_reader_%08x", number);
	s->guard.loopback = is_loopback(name);
	/* In a layer for all users, users see their own jobs alone. */
	s->guard.open = s->guard.loopback && !s->layer.system;
	snprintf(s->guard.host, sizeof(s->guard.host), "%.*s", (int)(colon - listen), listen);
	if (gethostname(s->guard.machine, sizeof(s->guard.machine) - 1))
		s->guard.machine[0] = 0;
	return 0;
}

/* Write the address, for `sluice dashboard`. */
static int note_address(const struct server *s, const char *name)
{
	char text[400], host[256];
	const char *port = strrchr(name, ':') + 1;

	snprintf(host, sizeof(host), "%.*s", (int)(port - 1 - name), name);
	if (!strcmp(host, "0.0.0.0") || !strcmp(host, "[::]"))
		snprintf(host, sizeof(host), "%s",
			 s->guard.machine[0] ? s->guard.machine : "localhost");
	snprintf(text, sizeof(text), "http://%s:%s\n", host, port);
	return layer_write(&s->layer, "dashboard-address", text);
}

/* Run until a signal, or until the layer is down. */
static void keep_time(struct server *s, const sigset_t *set)
{
	const struct timespec second = { .tv_sec = 1 };
	int down_s = 0;

	while (down_s < GONE_S) {
		int signal_number = sigtimedwait(set, NULL, &second);

		if (signal_number == SIGTERM || signal_number == SIGINT)
			return;
		if (signal_number == SIGHUP)
			log_info("SIGHUP: nothing to reload");
		events_wake(s);
		http_hurry(s);
		down_s = layer_state(&s->layer) == LAYER_DOWN ? down_s + 1 : 0;
	}
	log_info("layer=%s is down", s->layer.name);
}

static int open_socket(const char *listen, bool any_port, char name[64])
{
	int sock = listen_tcp(listen, name);
	char other[300];

	if (sock == -EADDRINUSE && any_port) {
		snprintf(other, sizeof(other), "%.*s:0", (int)(strrchr(listen, ':') - listen),
			 listen);
		sock = listen_tcp(other, name);
	}
	if (sock < 0)
		fprintf(stderr, "sluice-httpd: cannot listen at %s: %s\n", listen, strerror(-sock));
	return sock;
}

static int serve(struct server *s, const char *listen, bool any_port, int ready_fd)
{
	char name[64];
	sigset_t set;
	int sock, rc;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL); /* before there are threads, which inherit it */
	signal(SIGPIPE, SIG_IGN);
	sock = open_socket(listen, any_port, name);
	if (sock < 0)
		return sock;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->history_lock, NULL);
	pthread_cond_init(&s->errand_done, NULL);
	if ((rc = make_guard(s, listen, name)) || (rc = sample_start(s)))
		return rc;
	rc = http_start(s, sock);
	if (!rc)
		rc = note_address(s, name);
	if (!rc) {
		log_info("layer=%s http=%s ready", s->layer.name, name);
		if (ready_fd >= 0 && write(ready_fd, "1", 1) == 1)
			close(ready_fd);
		keep_time(s, &set);
	} else {
		fprintf(stderr, "sluice-httpd: cannot serve: %s\n", strerror(-rc));
	}
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_mutex_unlock(&s->lock);
	if (s->daemon) {
		events_wake(s);
		errand_wait(s);
		http_stop(s);
	}
	sample_stop(s);
	log_info("layer=%s stopped", s->layer.name);
	return rc;
}

int main(int argc, char **argv)
{
	static struct server server;
	const char *name = NULL, *listen = "127.0.0.1:0", *log = "info", *ready = "-1";
	bool any_port = false;
	const struct cli_option options[] = {
		{ "name", 0, "NAME", .text = &name, .help = "of the layer" },
		{ "listen", 0, "HOST:PORT", .text = &listen,
		  .help = "address to listen at; default 127.0.0.1:0, any free port" },
		{ "any-port", .flag = &any_port, .help = "if that port is taken, use any other" },
		{ "log", 0, "LEVEL", .values = "=error warn info debug", .text = &log,
		  .help = "error, warn, info (default) or debug" },
		{ "ready-fd", 0, "N", .text = &ready,
		  .help = "write a byte to this descriptor when it serves" },
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "sluice-httpd --name NAME [OPTION]...",
		.about = "The HTTP server of a layer: its page, its JSON API and its metrics. "
			 "'sluice dashboard' starts it.",
		.more = "Manual: sluice-dashboard(1), sluice-api(7).",
		.options = options,
	};
	int status = cli_next(&command, argc, argv);
	char err[CHECK_TEXT];

	if (status)
		return cli_end(status);
	if (check_address(listen, true, err))
		return cli_usage(cmd, "--listen: %s.", err);
	if (!name)
		return cli_usage(cmd, "missing option '--name'.");
	sl_log_level = (enum sl_log_level)sl_log_level_find(log);
	if (cli_result("dashboard", layer_open(&server.layer, name, false), layer_error()))
		return 1;
	return serve(&server, listen, any_port, (int)strtol(ready, NULL, 10)) ? 1 : 0;
}
