/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be explored, and when a cell has runs enough: lab/explore/{spec,kernels,cells}.c; and
 * the files of a kernel: lab/explore/kernel.c. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cli.h"
#include "lab/explore/kernel.h"
#include "lab/private.h"
#include "lab/statistics.h"
#include "tests/unit/near.h"

volatile sig_atomic_t private_interrupted;

/* Files are tested end to end. */
int explore_csv_add(struct explore *e, const struct explore_cell *c, uint32_t run)
{
	(void)e, (void)c, (void)run;
	return CLI_OK;
}

static void parse(const char *text, struct explore_spec *s)
{
	char err[EXPLORE_TEXT] = "";

	if (explore_parse("a.yaml", text, strlen(text), s, err, sizeof(err)))
		fail_msg("%s", err);
	if (explore_check(s, true, err, sizeof(err)))
		fail_msg("%s", err);
}

static void the_quantiles_are_those_of_student(void **state)
{
	near_to(stat_student(1, 0.90), 6.3138, 0.0001);
	near_to(stat_student(2, 0.95), 4.3027, 0.0001);
	near_to(stat_student(7, 0.90), 1.8946, 0.0001);
	near_to(stat_student(8, 0.99), 3.3554, 0.0001);
	near_to(stat_student(29, 0.95), 2.0452, 0.0001);
	near_to(stat_student(1000, 0.50), 0.6747, 0.0001);
}

static void add(struct explore_cell *c, double seconds, uint64_t bytes)
{
	assert_int_equal(explore_add_known(c, &(struct explore_run){ seconds, bytes }), 0);
}

static void a_cell_is_run_until_its_mean_is_known(void **state)
{
	struct explore_kernel k = { .apps = 1, .procs = 1, .data_bytes = 1000 };
	struct explore_spec s;
	struct explore_cell c = { .kernel = &k };

	explore_init(&s);
	/* Half the interval is 1.8946 * 0.3 / sqrt(8): 10.05 % of the mean. */
	for (int i = 0; i < 8; i++) {
		assert_true(explore_needs_run(&s, &c));
		add(&c, i % 2 ? 2 + 0.3 * sqrt(7.0 / 8) : 2 - 0.3 * sqrt(7.0 / 8), 1000);
	}
	near_to(explore_seconds(&s, &c).mean, 2, 1e-9);
	near_to(explore_seconds(&s, &c).half, 0.20096, 0.0001);
	assert_true(explore_needs_run(&s, &c));
	s.error = 0.101;
	assert_false(explore_needs_run(&s, &c));
	s.error = 0.01;
	s.most = 8;
	assert_false(explore_needs_run(&s, &c));
	free(c.run);
}

static void a_run_that_was_cut_off_counts_by_its_bytes(void **state)
{
	struct explore_kernel k = { .apps = 2, .procs = 1, .data_bytes = 1000 };
	struct explore_spec s;
	struct explore_cell c = { .kernel = &k };

	explore_init(&s);
	add(&c, 1, 1000); /* half of all */
	add(&c, 3, 2000);
	near_to(explore_seconds(&s, &c).mean, 2.5, 1e-9);
	near_to(explore_mb_s(&s, &c).mean, (1e-3 + 2e-3 / 3) / 2, 1e-12);
	free(c.run);
}

static const char four[] = "explore:\n"
			   "  devices: [hdd, ssd]\n"
			   "  ionodes: [0, 2]\n"
			   "  orders: [to, sjf, 'aioli,wait_us=100']\n"
			   "  kernels:\n"
			   "    - {name: a, processes: [1, 2], operation: [read, write],\n"
			   "       request: 4Ki, total: 64Ki}\n";

static void lists_of_a_kernel_are_combined(void **state)
{
	static const char *const names[] = { "a-read-1p", "a-read-2p", "a-write-1p", "a-write-2p" };
	struct explore_spec s;

	parse(four, &s);
	assert_int_equal(s.n_kernels, 4);
	for (int i = 0; i < 4; i++) {
		const struct explore_kernel *k = &s.kernel[i];

		assert_string_equal(k->name, names[i]);
		assert_int_equal(k->procs, 1 + i % 2);
		assert_int_equal(k->nodes, k->procs);
		assert_int_equal(k->op, i / 2);
		assert_int_equal(explore_bytes(k), 65536);
		assert_int_equal(k->line, 6);
	}
	explore_free(&s);
}

static void direct_access_has_one_cell_and_nodes_one_for_each_order(void **state)
{
	struct explore_spec s;
	struct explore e;
	uint32_t numbers[64], seen = 0;

	parse(four, &s);
	assert_int_equal(explore_cells(&e, &s, true), CLI_OK);
	assert_int_equal(e.n_cells, 2 * 4 * (1 + 3));
	for (uint32_t i = 0; i < e.n_cells; i++) {
		const struct explore_cell *c = &e.cell[i];

		assert_int_equal(c->order == EXPLORE_DIRECT, c->ionodes == 0);
		if (!c->ionodes) {
			assert_null(explore_sibling(&e, c, 0));
			assert_string_equal(explore_policy(&s, c), "direct");
			continue;
		}
		assert_ptr_equal(explore_sibling(&e, c, 1)->kernel, c->kernel);
		assert_ptr_equal(explore_sibling(&e, c, 1)->device, c->device);
		assert_string_equal(explore_policy(&s, explore_sibling(&e, c, 1)), "sjf");
	}
	/* A round has each that needs a run once, the order is the seed's. */
	assert_int_equal(explore_round(&e, 0, numbers), e.n_cells);
	for (uint32_t i = 0; i < e.n_cells; i++)
		seen |= 1U << numbers[i];
	assert_int_equal(seen, UINT32_MAX);
	for (uint32_t i = 0; i < s.least; i++)
		add(&e.cell[5], 1, 65536);
	assert_int_equal(explore_round(&e, 1, numbers), e.n_cells - 1);
	for (uint32_t i = 0; i < e.n_cells - 1; i++)
		assert_int_not_equal(numbers[i], 5);
	explore_cells_free(&e);
	explore_free(&s);
}

static void the_ratio_is_of_the_requests_that_a_device_gets(void **state)
{
	static const char text[] = "explore:\n"
				   "  devices: [pastel]\n"
				   "  ionodes: [1, 4]\n"
				   "  transfer: 8Ki\n"
				   "  kernels: [{name: a, request: 1Mi, data: 1Mi}]\n";
	struct explore_spec s;
	struct explore e;

	parse(text, &s);
	assert_int_equal(explore_cells(&e, &s, true), CLI_OK);
	near_to(explore_ratio(&e, &e.cell[0]), 21.29, 0.005);
	s.platform.transfer_bytes = 0;
	/* 50 us + 3389.018 us + 1048576 / 70 MB/s over the same without the seek. */
	near_to(explore_ratio(&e, &e.cell[0]), 18418.674 / 15029.657, 0.001);
	/* With four, calls are cut at each stripe. */
	near_to(explore_ratio(&e, &e.cell[1]), 3907.132 / 518.114, 0.001);
	explore_cells_free(&e);
	explore_free(&s);
}

static void files_are_not_written_on_after_an_interruption(void **state)
{
	struct kernel_task *t = calloc(1, sizeof(*t));
	char path[PATH_MAX + 64];
	struct stat st;

	assert_non_null(t);
	strcpy(t->dir, "/tmp/test-explore-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	t->kernel = (struct explore_kernel){
		.apps = 1, .procs = 2, .op = SL_READ, .request_bytes = 4096, .data_bytes = 8 * 4096
	};
	kernel_path(t->dir, 0, 0, path);
	assert_int_equal(kernel_prepare(t), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 16 * 4096);
	assert_true(kernel_verify(t, 8));
	private_interrupted = 1;
	assert_int_equal(kernel_prepare(t), -EINTR);
	private_interrupted = 0;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_false(kernel_verify(t, 8));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(t->dir), 0);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_quantiles_are_those_of_student),
		cmocka_unit_test(a_cell_is_run_until_its_mean_is_known),
		cmocka_unit_test(a_run_that_was_cut_off_counts_by_its_bytes),
		cmocka_unit_test(lists_of_a_kernel_are_combined),
		cmocka_unit_test(direct_access_has_one_cell_and_nodes_one_for_each_order),
		cmocka_unit_test(the_ratio_is_of_the_requests_that_a_device_gets),
		cmocka_unit_test(files_are_not_written_on_after_an_interruption),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
