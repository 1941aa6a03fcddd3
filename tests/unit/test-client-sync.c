/* SPDX-License-Identifier: Apache-2.0 */
/* What a client remembers of data that a node on another machine has not synced: client/conn/sync.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* cmocka needs those above */
#include <cmocka.h>

#include "client/conn/tcp.h"

/* ---- a connection that always works ---- */

static struct conn conn = { .epoch = 1 };
static int synced;

bool sl_client_far(void)
{
	return true;
}

int conn_with(int (*f)(struct conn *c, int error, void *arg), void *arg)
{
	return f(&conn, 0, arg);
}

void conn_lock(sigset_t *old)
{
	sigemptyset(old);
}

void conn_unlock(const sigset_t *old)
{
	(void)old;
}

int conn_open(struct conn *c, struct sl_remote *r, int fd, uint64_t *file)
{
	(void)c;
	(void)r;
	(void)fd;
	*file = 1;
	return 0;
}

int tcp_sync(struct conn *c, uint64_t file, bool data_only)
{
	(void)c;
	(void)file;
	(void)data_only;
	synced++;
	return 0;
}

/* ---- cases ---- */

static bool note(uint64_t ino)
{
	const struct sl_remote r = { .dev = 1, .ino = ino };

	return sync_note_write(&r, conn.epoch);
}

static int sync_of(uint64_t ino)
{
	struct sl_remote r = { .dev = 1, .ino = ino };

	return sl_client_fsync(&r, 3, false);
}

static void a_file_written_under_an_epoch_that_is_over_fails_once(void **state)
{
	synced = 0;
	assert_true(note(7));
	conn.epoch++;
	assert_int_equal(sync_of(7), -EIO);
	assert_int_equal(sync_of(7), 0);
	assert_true(note(7));
	assert_int_equal(sync_of(7), 0);
	assert_int_equal(synced, 2);
}

static void a_file_written_under_both_epochs_fails_once(void **state)
{
	assert_true(note(7));
	conn.epoch++;
	assert_true(note(7));
	assert_int_equal(sync_of(7), -EIO);
	assert_int_equal(sync_of(7), 0);
}

/* More than one table has room for: each of them fails once, and none of them for ever. */
static void ten_thousand_files_fail_once_each(void **state)
{
	for (uint64_t i = 0; i < 10000; i++)
		assert_true(note(i));
	conn.epoch++;
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(sync_of(i), -EIO);
	for (uint64_t i = 0; i < 10000; i++) {
		assert_true(note(i));
		assert_int_equal(sync_of(i), 0);
	}
	assert_int_equal(sync_of(20000), 0); /* was never written */
}

static void who_finds_no_place_is_told_so_and_none_of_the_others_is_forgotten(void **state)
{
	uint64_t last = 0;

	while (note(last))
		assert_true(last++ < 1000000);
	assert_true(last > 100000);
	conn.epoch++;
	assert_int_equal(sync_of(last), 0);
	assert_int_equal(sync_of(0), -EIO);
	assert_int_equal(sync_of(last - 1), -EIO);
	for (uint64_t i = 0; i < last; i++)
		sync_of(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_written_under_an_epoch_that_is_over_fails_once),
		cmocka_unit_test(a_file_written_under_both_epochs_fails_once),
		cmocka_unit_test(ten_thousand_files_fail_once_each),
		cmocka_unit_test(who_finds_no_place_is_told_so_and_none_of_the_others_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
