/* SPDX-License-Identifier: Apache-2.0 */
/* The table of descriptors: who may hold, settle and forget an entry, over close, fork and vfork.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/preload/fdtable.h"

#define THREADS 4
#define ROUNDS	20000

/* The node, as far as the table knows it. */
static _Atomic unsigned closes;
static _Atomic uint64_t last_closed;

void sl_client_close(struct sl_remote *r)
{
	atomic_fetch_add(&closes, 1);
	atomic_store(&last_closed, r->ino);
	r->ino = 0; /* whoever still used it would see this */
}

static struct sl_fd *manage(int fd, uint64_t ino)
{
	struct sl_remote r = { .ino = ino };
	struct sl_fd *e;
	uint64_t ticket;

	assert_true(sl_fd_claim(fd, &e, &ticket));
	assert_true(sl_fd_settle(e, ticket, SL_FD_MANAGED, &r));
	return e;
}

static int setup(void **state)
{
	sl_fd_forget_range(0, UINT32_MAX);
	atomic_store(&closes, 0);
	return 0;
}

static void a_number_never_seen_is_unknown_and_beyond_the_table_passes(void **state)
{
	struct sl_fd *e;
	uint64_t ticket;

	assert_int_equal(sl_fd_hold(5, &e), SL_FD_UNKNOWN);
	assert_false(sl_fd_passes(5));
	assert_int_equal(sl_fd_hold(-1, &e), SL_FD_PASS);
	assert_int_equal(sl_fd_hold(1 << 30, &e), SL_FD_PASS);
	assert_true(sl_fd_passes(1 << 20));
	assert_false(sl_fd_claim(-1, &e, &ticket));
	assert_false(sl_fd_claim(1 << 20, &e, &ticket));
	sl_fd_forget(-1);
	sl_fd_forget(1 << 30);
}

static void what_was_settled_is_found_until_it_is_forgotten(void **state)
{
	struct sl_fd *e = manage(5, 77), *again;
	uint64_t ticket;

	sl_fd_release(e);
	assert_int_equal(sl_fd_hold(5, &again), SL_FD_MANAGED);
	assert_ptr_equal(again, e);
	assert_int_equal(again->remote.ino, 77);
	sl_fd_release(again);
	assert_int_equal(closes, 0);
	sl_fd_forget(5);
	assert_int_equal(closes, 1);
	assert_int_equal(last_closed, 77);
	assert_int_equal(sl_fd_hold(5, &e), SL_FD_UNKNOWN);

	assert_true(sl_fd_claim(5, &e, &ticket));
	assert_true(sl_fd_settle(e, ticket, SL_FD_PASS, NULL));
	assert_true(sl_fd_passes(5));
	sl_fd_forget(5);
	assert_int_equal(sl_fd_hold(5, &e), SL_FD_UNKNOWN);
	assert_int_equal(closes, 1);
}

static void who_holds_an_entry_can_see_that_its_number_was_closed(void **state)
{
	struct sl_fd *e = manage(5, 77);

	assert_true(e->remote.still(&e->remote));
	sl_fd_forget(6);
	assert_true(e->remote.still(&e->remote));
	sl_fd_forget(5);
	assert_false(e->remote.still(&e->remote));
	assert_int_equal(closes, 0); /* it is still held */
	sl_fd_release(e);
	assert_int_equal(closes, 1);
}

static void only_what_was_settled_as_such_passes(void **state)
{
	struct sl_fd *e;
	uint64_t ticket;

	assert_true(sl_fd_claim(5, &e, &ticket));
	assert_false(sl_fd_passes(5));
	assert_true(sl_fd_settle(e, ticket, SL_FD_PASS, NULL));
	assert_true(sl_fd_passes(5));
	sl_fd_forget(5);
	assert_false(sl_fd_passes(5));
}

static void a_number_is_claimed_by_one_at_a_time(void **state)
{
	struct sl_fd *e, *other;
	uint64_t ticket, ticket2;

	assert_true(sl_fd_claim(5, &e, &ticket));
	assert_false(sl_fd_claim(5, &other, &ticket2));
	assert_int_equal(sl_fd_hold(5, &other), SL_FD_BUSY);
	assert_true(sl_fd_settle(e, ticket, SL_FD_UNKNOWN, NULL));
	assert_true(sl_fd_claim(5, &e, &ticket));
	assert_true(sl_fd_settle(e, ticket, SL_FD_PASS, NULL));
}

static void a_number_closed_while_it_was_looked_at_is_unknown(void **state)
{
	struct sl_remote r = { .ino = 7 };
	struct sl_fd *e;
	uint64_t ticket;

	assert_true(sl_fd_claim(5, &e, &ticket));
	sl_fd_forget(5);
	assert_false(sl_fd_settle(e, ticket, SL_FD_MANAGED, &r));
	assert_int_equal(sl_fd_hold(5, &e), SL_FD_UNKNOWN);
	assert_int_equal(closes, 0); /* the node never heard of it */
}

static void a_close_during_calls_reaches_the_node_after_the_last_of_them(void **state)
{
	struct sl_fd *e = manage(5, 9), *other;
	uint64_t ticket;

	assert_int_equal(sl_fd_hold(5, &other), SL_FD_MANAGED);
	sl_fd_forget(5);
	sl_fd_forget(5);
	assert_int_equal(closes, 0);
	assert_int_equal(sl_fd_hold(5, &other), SL_FD_DOOMED);
	assert_false(sl_fd_claim(5, &other, &ticket));
	sl_fd_release(e);
	assert_int_equal(closes, 0);
	assert_int_equal(e->remote.ino, 9);
	sl_fd_release(e);
	assert_int_equal(closes, 1);
	assert_int_equal(sl_fd_hold(5, &other), SL_FD_UNKNOWN);
}

static void a_range_is_forgotten_across_chunks_that_do_not_exist(void **state)
{
	struct sl_fd *e;

	sl_fd_release(manage(3, 1));
	sl_fd_release(manage(4, 2));
	sl_fd_release(manage(1023, 3));
	sl_fd_release(manage(70000, 4));
	sl_fd_forget_range(4, 69999);
	assert_int_equal(closes, 2);
	assert_int_equal(sl_fd_hold(4, &e), SL_FD_UNKNOWN);
	assert_int_equal(sl_fd_hold(1023, &e), SL_FD_UNKNOWN);
	assert_int_equal(sl_fd_hold(3, &e), SL_FD_MANAGED);
	sl_fd_release(e);
	sl_fd_forget_range(0, UINT32_MAX);
	assert_int_equal(closes, 4);
}

/* Runs in a child; its status says which line was wrong. */
#define CHILD_CHECK(condition)                 \
	do {                                   \
		if (!(condition))              \
			_exit(__LINE__ & 127); \
	} while (0)

static int status_of(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void a_forked_child_knows_nothing_and_is_not_hindered_by_what_was_under_way(void **state)
{
	struct sl_fd *held = manage(5, 1), *claimed, *e;
	uint64_t ticket, ticket2;
	pid_t pid;

	assert_true(sl_fd_claim(6, &claimed, &ticket));
	pid = fork();
	if (pid == 0) {
		CHILD_CHECK(sl_fd_hold(5, &e) == SL_FD_UNKNOWN);
		CHILD_CHECK(sl_fd_hold(6, &e) == SL_FD_UNKNOWN);
		CHILD_CHECK(sl_fd_own_process());
		sl_fd_forget(5);
		sl_fd_release(held); /* as after a handler that forked */
		CHILD_CHECK(closes == 0);
		CHILD_CHECK(sl_fd_claim(6, &e, &ticket2));
		CHILD_CHECK(sl_fd_settle(e, ticket2, SL_FD_PASS, NULL));
		CHILD_CHECK(sl_fd_claim(5, &e, &ticket2));
		CHILD_CHECK(sl_fd_settle(e, ticket2, SL_FD_MANAGED, &(struct sl_remote){ 0 }));
		if (fork() == 0) /* and so on */
			_exit(sl_fd_hold(5, &e) != SL_FD_UNKNOWN || sl_fd_passes(6) ? 1 : 0);
		int status;
		wait(&status);
		CHILD_CHECK(status == 0);
		sl_fd_release(e);
		sl_fd_forget(5);
		CHILD_CHECK(closes == 1);
		_exit(0);
	}
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(sl_fd_hold(5, &e), SL_FD_MANAGED);
	sl_fd_release(e);
	sl_fd_release(held);
	assert_true(sl_fd_settle(claimed, ticket, SL_FD_PASS, NULL));
}

static int vforked(void *arg)
{
	struct sl_fd *e;
	uint64_t ticket;

	(void)arg;
	CHILD_CHECK(!sl_fd_own_process());
	sl_fd_forget(5);
	sl_fd_forget_range(0, UINT32_MAX);
	CHILD_CHECK(!sl_fd_claim(6, &e, &ticket));
	_exit(0);
}

static void a_vforked_child_changes_nothing_for_its_parent(void **state)
{
	static _Alignas(64) char stack[65536];
	struct sl_fd *e;
	pid_t pid;

	sl_fd_release(manage(5, 1));
	/* Not vfork() itself: the thread sanitizer makes a fork of that. */
	pid = clone(vforked, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	assert_int_equal(status_of(pid), 0);
	assert_int_equal(closes, 0);
	assert_int_equal(sl_fd_hold(5, &e), SL_FD_MANAGED);
	sl_fd_release(e);
	assert_int_equal(sl_fd_hold(6, &e), SL_FD_UNKNOWN);
}

/* Each thread uses, resolves and closes the same number; an entry that is held is never retired. */
static _Atomic unsigned settled, wrong;

static void *contender(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		struct sl_remote r = { .ino = 42, .open_flags = i };
		struct sl_fd *e;
		uint64_t ticket;

		if (sl_fd_hold(9, &e) != SL_FD_MANAGED) {
			if (!sl_fd_claim(9, &e, &ticket) ||
			    !sl_fd_settle(e, ticket, SL_FD_MANAGED, &r))
				continue;
			atomic_fetch_add(&settled, 1);
		}
		if (e->remote.ino != 42)
			atomic_fetch_add(&wrong, 1);
		if (i % 3 == 0)
			sl_fd_forget(9);
		if (e->remote.ino != 42)
			atomic_fetch_add(&wrong, 1);
		sl_fd_release(e);
	}
	return NULL;
}

static void threads_that_use_and_close_one_number_do_not_disturb_each_other(void **state)
{
	pthread_t threads[THREADS];
	struct sl_fd *e;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, contender, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	sl_fd_forget(9);
	assert_int_equal(wrong, 0);
	assert_true(settled > 0);
	assert_int_equal(closes, settled); /* each is given up once */
	assert_int_equal(sl_fd_hold(9, &e), SL_FD_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup(name, setup)
		CASE(a_number_never_seen_is_unknown_and_beyond_the_table_passes),
		CASE(what_was_settled_is_found_until_it_is_forgotten),
		CASE(who_holds_an_entry_can_see_that_its_number_was_closed),
		CASE(only_what_was_settled_as_such_passes),
		CASE(a_number_is_claimed_by_one_at_a_time),
		CASE(a_number_closed_while_it_was_looked_at_is_unknown),
		CASE(a_close_during_calls_reaches_the_node_after_the_last_of_them),
		CASE(a_range_is_forgotten_across_chunks_that_do_not_exist),
		CASE(a_forked_child_knows_nothing_and_is_not_hindered_by_what_was_under_way),
		CASE(a_vforked_child_changes_nothing_for_its_parent),
		CASE(threads_that_use_and_close_one_number_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
