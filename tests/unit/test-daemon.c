/* SPDX-License-Identifier: Apache-2.0 */
/* What both daemons do at their start: options, signals, and telling that they are ready. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/daemon.h"
#include "base/log.h"

static void options_are_taken(void **state)
{
	struct sl_daemon d = { .ready_fd = -1 };
	const struct cli_option options[] = { SL_DAEMON_OPTIONS(&d), { 0 } };
	const struct cli_command command = { .name = "sluiced", .options = options };
	char *words[] = { "sluiced", "--socket=/s", "--listen", ":1",	 "--secret-file", "/secret",
			  "--munge", "--ready-fd",  "7",	"--log", "debug",	  NULL };
	int o;

	while ((o = cli_next(&command, 11, words)) > CLI_USAGE)
		assert_null(sl_daemon_option(&d, o, optarg));
	assert_int_equal(o, CLI_OK);
	assert_string_equal(d.munge, "");
	assert_string_equal(d.socket, "/s");
	assert_string_equal(d.listen, ":1");
	assert_string_equal(d.secret_file, "/secret");
	assert_int_equal(d.ready_fd, 7);
	assert_int_equal(sl_log_level, SL_LOG_DEBUG);
	assert_non_null(strstr(sl_daemon_option(&d, SL_DAEMON_LOG, "loud"), "log levels are"));
	assert_int_equal(sl_log_level, SL_LOG_DEBUG);
}

static void a_socket_is_needed_and_a_secret_with_an_address(void **state)
{
	static const struct {
		struct sl_daemon d;
		const char *missing;
	} rows[] = {
		{ { .socket = NULL }, "--socket" },
		{ { .listen = ":1", .secret_file = "/f" }, "--socket" },
		{ { .socket = "/s", .listen = ":1" }, "--secret-file" },
		{ { .socket = "/s", .secret_file = "/f" }, "--listen" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(sl_daemon_missing(&rows[i].d), rows[i].missing);
	assert_null(sl_daemon_missing(&(struct sl_daemon){ .socket = "/s" }));
	assert_null(sl_daemon_missing(
		&(struct sl_daemon){ .socket = "/s", .listen = ":1", .secret_file = "/f" }));
}

static void who_waits_is_told_once_that_it_is_ready(void **state)
{
	struct sl_daemon d;
	char got[4];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	d.ready_fd = fds[1];
	sl_daemon_ready(&d);
	sl_daemon_ready(&d);
	assert_int_equal(read(fds[0], got, sizeof(got)), 1); /* and the end: it is closed */
	assert_int_equal(read(fds[0], got, sizeof(got)), 0);
	close(fds[0]);
}

static void a_signal_to_end_is_something_to_read(void **state)
{
	struct pollfd p = { .events = POLLIN };

	p.fd = sl_daemon_signals();
	assert_true(p.fd >= 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	raise(SIGPIPE);
	assert_int_equal(poll(&p, 1, 0), 0);
	raise(SIGTERM);
	assert_int_equal(poll(&p, 1, 0), 1);
	close(p.fd);
}

static void a_secret_that_others_may_read_is_not_used(void **state)
{
	char path[] = "/tmp/sluice-test-XXXXXX", secret[SL_SECRET_BYTES];
	struct sl_daemon d = { .secret_file = path };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcde\n", 16), 16);
	assert_int_equal(sl_daemon_secret(&d, secret), -EINVAL); /* it could be guessed */
	assert_int_equal(pwrite(fd, "0123456789abcdef\n", 17, 0), 17);
	assert_int_equal(sl_daemon_secret(&d, secret), 0);
	assert_string_equal(secret, "0123456789abcdef");
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(sl_daemon_secret(&d, secret), -EPERM);
	close(fd);
	unlink(path);
	assert_int_equal(sl_daemon_secret(&d, secret), -ENOENT);
}

/* As systemd starts a daemon whose socket it has made: see sd_listen_fds(3). */
static void a_socket_that_was_passed_is_taken_and_left(void **state)
{
	char dir[] = "/tmp/sluice-test-XXXXXX", path[64], other[64], number[16];
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct sl_daemon d = { .socket = path, .open = true };
	int sock, kept = dup(3); /* whatever it is */

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	snprintf(other, sizeof(other), "%s/t", dir);
	strcpy(at.sun_path, path);
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(sock, 1), 0);
	assert_int_equal(dup2(sock, 3), 3);
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("LISTEN_PID", number, 1);
	setenv("LISTEN_FDS", "1", 1);
	d.socket = other; /* segments are beside the socket: another path is wrong */
	assert_int_equal(sl_daemon_listen(&d), -EADDRNOTAVAIL);
	setenv("LISTEN_PID", number, 1);
	setenv("LISTEN_FDS", "1", 1);
	d.socket = path;
	assert_int_equal(sl_daemon_listen(&d), 3);
	assert_true(d.activated);
	assert_null(getenv("LISTEN_FDS"));
	sl_daemon_unlisten(&d);
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
	setenv("LISTEN_PID", "1", 1); /* for another process */
	setenv("LISTEN_FDS", "1", 1);
	close(sock);
	sock = sl_daemon_listen(&d);
	assert_true(sock >= 0 && !d.activated);
	sl_daemon_unlisten(&d);
	assert_int_equal(access(path, F_OK), -1);
	close(sock);
	if (kept >= 0)
		dup2(kept, 3);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_taken),
		cmocka_unit_test(a_socket_is_needed_and_a_secret_with_an_address),
		cmocka_unit_test(who_waits_is_told_once_that_it_is_ready),
		cmocka_unit_test(a_signal_to_end_is_something_to_read),
		cmocka_unit_test(a_secret_that_others_may_read_is_not_used),
		cmocka_unit_test(a_socket_that_was_passed_is_taken_and_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
