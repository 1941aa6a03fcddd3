/* SPDX-License-Identifier: Apache-2.0 */
/* The look at blocked threads has a budget, and everybody has a part of it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "sluiced/ionode/blocked.h"

static void test_budget(void **state)
{
	for (uint32_t all = 1; all <= 4096; all += all < 300 ? 1 : 97)
		for (uint32_t procs = 1; procs <= 256; procs += 5) {
			uint32_t stride = blocked_stride(all), jobs = (all + stride - 1) / stride;
			struct blocked_part p = blocked_part(jobs, procs, all * procs);

			assert_true(p.procs >= 1 && p.procs <= procs && p.first < procs);
			assert_true(p.threads >= 1);
			assert_true(jobs * p.procs * p.threads <= LOOK_THREADS);
		}
	assert_int_equal(blocked_stride(0), 1);
}

static void test_turns(void **state)
{
	bool seen[200] = { 0 };

	for (uint32_t serial = 0; serial < 4; serial++) { /* 64 of 200 in each look */
		struct blocked_part p = blocked_part(2, 200, serial);

		for (uint32_t i = 0; i < p.procs; i++)
			seen[(p.first + i) % 200] = true;
	}
	for (int i = 0; i < 200; i++)
		assert_true(seen[i]);
}

static void *blocks(void *arg)
{
	char byte;

	return read(*(int *)arg, &byte, 1) ? NULL : arg;
}

/* Threads that wait for a pipe are not blocked in a file system; those of nobody are none. */
static void test_threads(void **state)
{
	pthread_t thread[100];
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, blocks, &pipes[0]), 0);
	assert_true(blocked_threads((uint32_t)getpid(), 1000) < 50);
	assert_true(blocked_threads((uint32_t)getpid(), 4) < 101);
	assert_true(blocked_threads(UINT32_MAX >> 1, 4) <= 0);
	close(pipes[1]);
	for (int i = 0; i < 100; i++)
		pthread_join(thread[i], NULL);
	close(pipes[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("blocked threads", tests, NULL, NULL);
}
