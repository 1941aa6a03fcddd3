/* SPDX-License-Identifier: Apache-2.0 */
/* Phases from the text of Darshan's parsers: samples with known totals, rules, and bad text. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/darshan.h"
#include "tests/unit/near.h"

#define HEAD "# exe: /home/me/bin/my prog\n# nprocs: 8\n# run time: 20.0000\n"

static const struct sl_darshan_options one_second = { .gap_s = 1 };
static char err[400];

static struct sl_darshan sample(const char *name, const struct sl_darshan_options *options)
{
	const char *dir = getenv("SL_DATA");
	struct sl_darshan d;
	char path[512];

	assert_non_null(dir);
	snprintf(path, sizeof(path), "%s/darshan/%s", dir, name);
	if (sl_darshan_load(path, options, &d, err, sizeof(err)))
		fail_msg("%s", err);
	return d;
}

static int parse(const char *text, const struct sl_darshan_options *options, struct sl_darshan *d)
{
	strcpy(err, "");
	return sl_darshan_parse("f", text, strlen(text), options, d, err, sizeof(err));
}

static struct sl_darshan good(const char *text, const struct sl_darshan_options *options)
{
	struct sl_darshan d;

	if (parse(text, options, &d))
		fail_msg("%s", err);
	return d;
}

static void phase_is(const struct sl_darshan *d, uint32_t i, double start_s, double end_s,
		     double bytes)
{
	assert_true(i < d->n_phases);
	near_to(d->phases[i].start_s, start_s, 1e-9);
	near_to(d->phases[i].end_s, end_s, 1e-9);
	near_to(d->phases[i].bytes, bytes, 1e-3);
}

/* ---- samples ---- */

static void a_trace_and_the_counters_of_a_run_have_the_same_bytes(void **state)
{
	struct sl_darshan trace = sample("ior_hdf5_example.dxt.txt", &one_second);
	struct sl_darshan counters = sample("ior_hdf5_example.parser.txt", &one_second);

	assert_true(trace.dxt);
	assert_false(counters.dxt);
	assert_int_equal(trace.read_bytes, 4202504);
	assert_int_equal(trace.written_bytes, 4195800);
	assert_int_equal(trace.accesses, 59); /* POSIX_READS 36, POSIX_WRITES 23 */
	assert_int_equal(counters.read_bytes, 4202504);
	assert_int_equal(counters.written_bytes, 4195800);
	assert_int_equal(trace.procs, 4);
	assert_int_equal(counters.procs, 4);
	assert_string_equal(trace.name, "ior");
	assert_string_equal(counters.name, "ior");
	assert_int_equal(trace.n_phases, 1);
	phase_is(&trace, 0, 0.0300, 0.2866, 8398304);
	assert_int_equal(counters.n_phases, 1);
	phase_is(&counters, 0, 0.029974, 0.286569, 8398304);
	sl_darshan_free(&trace);
	sl_darshan_free(&counters);
}

static void writing_and_reading_are_two_phases_when_the_gap_is_small(void **state)
{
	const struct sl_darshan_options o = { .gap_s = 0.002 };
	struct sl_darshan d = sample("ior_hdf5_example.parser.txt", &o);

	assert_int_equal(d.n_phases, 2);
	phase_is(&d, 0, 0.029974, 0.232174, 4195800);
	phase_is(&d, 1, 0.238386, 0.286569, 4202504);
	sl_darshan_free(&d);
}

static void small_accesses_of_a_few_processes_are_counted(void **state)
{
	struct sl_darshan d = sample("sample-dxt-simple.dxt.txt", &one_second);

	assert_int_equal(d.written_bytes, 4040);
	assert_int_equal(d.read_bytes, 0);
	assert_int_equal(d.procs, 16);
	assert_true(sl_darshan_peak_bps(&d) == 0); /* all within 1 ms */
	sl_darshan_free(&d);
}

static void phases_of_a_long_run_become_iterations(void **state)
{
	struct sl_darshan d = sample("worker.dxt.txt", &one_second);
	struct sl_app app;

	assert_int_equal(d.n_phases, 4);
	assert_int_equal(d.read_bytes, 2075621);
	assert_int_equal(d.written_bytes, 1202);
	phase_is(&d, 1, 943.9334, 943.9963, 879646);
	phase_is(&d, 2, 948.7614, 949.5567, 1196334);
	near_to(sl_darshan_period_s(&d), (1466.6218 - 0.0054) / 3, 1e-9);
	assert_int_equal(sl_darshan_app(&d, &app), 0);
	assert_int_equal(app.iterations, 4);
	assert_int_equal(app.compute_s.count, 4);
	near_to(app.compute_s.list[0], 0.0054, 1e-9);
	near_to(app.compute_s.list[2], 948.7614 - 943.9963, 1e-9);
	near_to(app.volume_bytes.list[2], 1196334, 1e-9);
	near_to(app.period_hint_s, sl_darshan_period_s(&d), 1e-6);
	free(app.compute_s.list);
	free(app.volume_bytes.list);
	sl_darshan_free(&d);
}

/* ---- rules ---- */

static void the_example_in_the_head_of_the_file_holds(void **state)
{
	struct sl_darshan d = good(HEAD " X_POSIX 0 write 0 0 30 9.0 10.0 N/A\n"
					" X_POSIX 1 read 0 0 10 2.0 3.0 N/A\n"
					" X_POSIX 1 write 0 0 20 3.5 4.0 N/A\n",
				   &one_second);

	assert_int_equal(d.n_phases, 2);
	phase_is(&d, 0, 2, 4, 30);
	phase_is(&d, 1, 9, 10, 30);
	near_to(sl_darshan_period_s(&d), 7, 1e-12);
	near_to(sl_darshan_peak_bps(&d), 30, 1e-12);
	assert_string_equal(d.name, "my");
	near_to(d.run_s, 20, 0);
	sl_darshan_free(&d);
}

static void a_short_access_inside_a_long_one_does_not_end_the_phase(void **state)
{
	struct sl_darshan d =
		good(HEAD " X_POSIX 0 write 0 0 1 0.0 10.0\n X_POSIX 0 write 0 0 1 1 2\n"
			  " X_POSIX 0 write 0 0 1 10.5 11\n",
		     &one_second);

	assert_int_equal(d.n_phases, 1);
	phase_is(&d, 0, 0, 11, 3);
	sl_darshan_free(&d);
}

static void mpi_io_counts_only_where_there_is_no_posix(void **state)
{
	struct sl_darshan d =
		good(HEAD " X_MPIIO 0 write 0 0 5 1 2\n X_POSIX 0 write 0 0 7 1 2\n", &one_second);

	assert_int_equal(d.written_bytes, 7);
	sl_darshan_free(&d);
	d = good(HEAD " X_MPIIO 0 write 0 0 5 1 2\n", &one_second);
	assert_int_equal(d.written_bytes, 5);
	sl_darshan_free(&d);
}

static void what_goes_to_the_terminal_is_no_io(void **state)
{
	static const char text[] =
		HEAD "STDIO\t0\t1\tSTDIO_BYTES_WRITTEN\t9\t<STDOUT>\t-\t-\n"
		     "STDIO\t0\t1\tSTDIO_F_WRITE_START_TIMESTAMP\t1\t<STDOUT>\t-\t-\n"
		     "STDIO\t0\t1\tSTDIO_F_WRITE_END_TIMESTAMP\t2\t<STDOUT>\t-\t-\n"
		     "STDIO\t0\t2\tSTDIO_BYTES_WRITTEN\t4\t/a/log\t-\t-\n"
		     "STDIO\t0\t2\tSTDIO_F_WRITE_START_TIMESTAMP\t3\t/a/log\t-\t-\n"
		     "STDIO\t0\t2\tSTDIO_F_WRITE_END_TIMESTAMP\t5\t/a/log\t-\t-\n";
	struct sl_darshan d = good(text, &one_second);

	assert_int_equal(d.written_bytes, 4);
	phase_is(&d, 0, 3, 5, 4);
	sl_darshan_free(&d);
}

static void equal_iterations_keep_bytes_and_time(void **state)
{
	const struct sl_darshan_options o = { .gap_s = 1, .iterations = 5 };
	struct sl_darshan d = good(HEAD " X_POSIX 0 write 0 0 100 2.0 7.0\n", &o);
	struct sl_app app;

	assert_int_equal(sl_darshan_app(&d, &app), 0);
	assert_int_equal(app.iterations, 5);
	assert_int_equal(app.compute_s.kind, SL_VARY_CONSTANT);
	assert_int_equal(app.volume_bytes.kind, SL_VARY_CONSTANT);
	near_to(5 * app.compute_s.a, 15, 1e-9); /* 20 s, 5 of them I/O */
	near_to(5 * app.volume_bytes.a, 100, 1e-9);
	near_to(app.period_hint_s, 4, 1e-9);
	free(app.compute_s.list);
	free(app.volume_bytes.list);
	sl_darshan_free(&d);
}

/* ---- bad text ---- */

static void bad_text_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "", "f:1: there is no read or write in it; is it the output of" },
		{ "hello\n", "f:1: this is no output of darshan-parser" },
		{ HEAD, "f:3: there is no read or write in it" },
		{ "# nprocs: 0\n", "f:1: a run has at least one process" },
		{ "# nprocs: four\n", "f:1: 'four' is not a number of processes" },
		{ "# run time: -3\n", "f:1: a run time in seconds of -3 is not between 0 and" },
		{ " X_POSIX 0 read 0 0 1 1 2\n", "f:1: there is no line '# nprocs: N'" },
		{ HEAD " X_POSIX 0 read 0 0 1 1\n", "f:4: an access has 7 fields, not 8" },
		{ HEAD " X_POSIX 0 seek 0 0 1 1 2\n", "f:4: 'seek' is neither read nor write" },
		{ HEAD " X_POSIX 0 read 0 0 x 1 2\n", "f:4: 'x' is not a number of bytes" },
		{ HEAD " X_POSIX 0 read 0 0 -9 1 2\n", "f:4: a number of bytes of -9 is not" },
		{ HEAD " X_POSIX 0 read 0 0 9 nan 2\n", "f:4: 'nan' is not a time in seconds" },
		{ HEAD " X_POSIX 0 read 0 0 9 1 inf\n", "f:4: 'inf' is not a time in seconds" },
		{ HEAD "\n X_POSIX 0 read 0 0 9 3 2\n", "f:5: an access ends at 2 s, before" },
		{ HEAD " X_POSIX 0 read 0 0 9e99 1 2\n", "f:4: a number of bytes of 9e99 is not" },
		{ HEAD "POSIX\t0\t7\tPOSIX_BYTES_READ\n", "f:4: a counter has 4 fields" },
		{ HEAD "POSIX\t0\t7\tPOSIX_BYTES_READ\t9\t/a\t/\text4\n",
		  "f:4: the record of 7 before this line has bytes and no times" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sl_darshan d;

		assert_int_equal(parse(bad[i].text, &one_second, &d), -EINVAL);
		if (strncmp(err, bad[i].message, strlen(bad[i].message)) != 0)
			fail_msg("'%s' is not '%s'", err, bad[i].message);
		assert_null(d.phases);
	}
}

static void a_log_itself_is_no_text(void **state)
{
	static const char log[] = "\x05\0\0\0abc";
	struct sl_darshan d;

	assert_int_equal(sl_darshan_parse("f", log, sizeof(log), &one_second, &d, err, sizeof(err)),
			 -EINVAL);
	assert_non_null(strstr(err, "f:1: a zero byte"));
	assert_int_equal(sl_darshan_load("/none/such", &one_second, &d, err, sizeof(err)), -ENOENT);
	assert_string_equal(err, "/none/such: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_and_the_counters_of_a_run_have_the_same_bytes),
		cmocka_unit_test(writing_and_reading_are_two_phases_when_the_gap_is_small),
		cmocka_unit_test(small_accesses_of_a_few_processes_are_counted),
		cmocka_unit_test(phases_of_a_long_run_become_iterations),
		cmocka_unit_test(the_example_in_the_head_of_the_file_holds),
		cmocka_unit_test(a_short_access_inside_a_long_one_does_not_end_the_phase),
		cmocka_unit_test(mpi_io_counts_only_where_there_is_no_posix),
		cmocka_unit_test(what_goes_to_the_terminal_is_no_io),
		cmocka_unit_test(equal_iterations_keep_bytes_and_time),
		cmocka_unit_test(bad_text_is_refused_with_its_line),
		cmocka_unit_test(a_log_itself_is_no_text),
	};

	return cmocka_run_group_tests_name("darshan", tests, NULL, NULL);
}
