/* SPDX-License-Identifier: Apache-2.0 */
/* sluiced/ionode/pipe: what a pipe brings from a file to a socket is what pread() would have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sluiced/ionode/pipe.h"
#include "wire/proto.h"

#define MOST	   SL_TCP_DATA_BYTES
#define FILE_BYTES (3 * MOST + 1234)

static unsigned char data[FILE_BYTES], got[FILE_BYTES];
static int file;

static int make_file(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (size_t i = 0; i < FILE_BYTES; i++)
		data[i] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
	file = memfd_create("file", MFD_CLOEXEC);
	return file < 0 || write(file, data, FILE_BYTES) != FILE_BYTES;
}

/* What is in the pipe, through a socket whose other end takes it as it comes. */
static void receive_all(struct node_pipe *p, size_t length, bool may_sleep)
{
	size_t sent = 0, received = 0;
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	while (received < length) {
		size_t left = length - sent;
		ssize_t n = 0;

		/* One that may sleep would: nobody else reads. */
		if (left && may_sleep)
			left = left < 4096 ? left : 4096;
		if (left)
			n = pipe_send(p, s[0], left, false, may_sleep);
		assert_true(n >= 0 || n == -EAGAIN);
		sent += n > 0 ? (size_t)n : 0;
		n = recv(s[1], got + received, length - received, MSG_DONTWAIT);
		assert_true(n > 0 || errno == EAGAIN);
		received += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(sent, length);
	assert_int_equal(fcntl(s[0], F_GETFL) & O_NONBLOCK, 0);
	close(s[0]);
	close(s[1]);
}

static void what_is_received_is_what_the_file_has(void **state)
{
	static const struct {
		uint64_t offset;
		size_t length, want;
	} reads[] = {
		{ 0, MOST, MOST },	     { 4096, PIPE_LEAST, PIPE_LEAST },
		{ 1, MOST, MOST },				       /* a page more */
		{ MOST + 4095, MOST, MOST }, { 3 * MOST, MOST, 1234 }, /* the end of the file */
		{ FILE_BYTES - 1, MOST, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
		for (int sleeps = 0; sleeps < 2; sleeps++) {
			struct node_pipe *p = NULL;

			memset(got, 0, sizeof(got));
			assert_int_equal(pipe_fill(file, reads[i].offset, reads[i].length, &p),
					 reads[i].want);
			receive_all(p, reads[i].want, sleeps);
			assert_memory_equal(got, data + reads[i].offset, reads[i].want);
			pipe_give(p, 0);
		}
}

static void behind_the_end_there_is_nothing_and_no_pipe(void **state)
{
	struct node_pipe *p = NULL;

	(void)state;
	assert_int_equal(pipe_fill(file, FILE_BYTES, MOST, &p), 0);
	assert_null(p);
}

static void what_is_no_file_is_refused(void **state)
{
	struct node_pipe *p = NULL;
	int writes_only = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(pipe_fill(writes_only, 0, MOST, &p), -EBADF);
	assert_null(p);
	close(writes_only);
}

/* One that is given back full must not give its bytes to the next. */
static void what_was_not_sent_is_not_sent_later(void **state)
{
	struct node_pipe *p = NULL;

	(void)state;
	assert_int_equal(pipe_fill(file, 0, MOST, &p), MOST);
	pipe_give(p, MOST);
	assert_int_equal(pipe_fill(file, MOST, MOST, &p), MOST);
	receive_all(p, MOST, false);
	assert_memory_equal(got, data + MOST, MOST);
	pipe_give(p, 0);
}

static void there_is_an_end_to_them_and_they_come_back(void **state)
{
	struct node_pipe *p[100] = { NULL };
	size_t n = 0;

	(void)state;
	while (n < 100 && pipe_fill(file, 0, PIPE_LEAST, &p[n]) == (ssize_t)PIPE_LEAST)
		n++;
	assert_in_range(n, 1, 99);
	assert_int_equal(pipe_fill(file, 0, PIPE_LEAST, &p[n]), -EBUSY);
	for (size_t i = 0; i < n; i++)
		pipe_give(p[i], PIPE_LEAST);
	assert_int_equal(pipe_fill(file, 0, PIPE_LEAST, &p[0]), PIPE_LEAST);
	pipe_give(p[0], PIPE_LEAST);
	pipe_give(NULL, 1);
}

static void a_socket_that_is_closed_is_an_error(void **state)
{
	struct node_pipe *p = NULL;
	int s[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	close(s[1]);
	assert_int_equal(pipe_fill(file, 0, MOST, &p), MOST);
	assert_int_equal(pipe_send(p, s[0], MOST, false, false), -EPIPE);
	pipe_give(p, MOST);
	close(s[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_received_is_what_the_file_has),
		cmocka_unit_test(behind_the_end_there_is_nothing_and_no_pipe),
		cmocka_unit_test(what_is_no_file_is_refused),
		cmocka_unit_test(what_was_not_sent_is_not_sent_later),
		cmocka_unit_test(there_is_an_end_to_them_and_they_come_back),
		cmocka_unit_test(a_socket_that_is_closed_is_an_error),
	};

	signal(SIGPIPE, SIG_IGN); /* as the node does */
	return cmocka_run_group_tests_name("ionode/pipe", tests, make_file, NULL);
}
