/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that is blocked in a system call, and one that only waits for a CPU or a lock. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/thread.h"

static _Atomic pid_t tid;
static atomic_bool over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static void *reads(void *arg)
{
	char byte;

	tid = gettid();
	assert_int_equal(read(ends[0], &byte, 1), 1);
	return arg;
}

static void *runs(void *arg)
{
	tid = gettid();
	while (!over)
		;
	return arg;
}

static void *locks(void *arg)
{
	tid = gettid();
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static pthread_t start(void *(*f)(void *))
{
	pthread_t t;

	tid = 0;
	assert_int_equal(pthread_create(&t, NULL, f, NULL), 0);
	while (!tid)
		sched_yield();
	return t;
}

static void test_blocked_in_a_call(void **state)
{
	pthread_t t;

	assert_int_equal(pipe(ends), 0);
	t = start(reads);
	while (!sl_thread_blocked(tid)) /* until it gets there */
		sched_yield();
	assert_int_equal(write(ends[1], "x", 1), 1);
	pthread_join(t, NULL);
	assert_false(sl_thread_blocked(tid)); /* it has ended */
}

static void test_runnable(void **state)
{
	pthread_t t = start(runs);

	for (int i = 0; i < 100; i++)
		assert_false(sl_thread_blocked(tid));
	over = true;
	pthread_join(t, NULL);
}

static void test_waits_for_a_lock(void **state)
{
	pthread_t t;

	pthread_mutex_lock(&lock);
	t = start(locks);
	for (int i = 0; i < 100; i++) {
		assert_false(sl_thread_blocked(tid));
		sched_yield();
	}
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocked_in_a_call),
		cmocka_unit_test(test_runnable),
		cmocka_unit_test(test_waits_for_a_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
