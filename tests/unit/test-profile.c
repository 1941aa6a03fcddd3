/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of file systems as files, and what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "detect/profile.h"
#include "sluice.h"
#include "tests/unit/near.h"

#define HEAD  "sluice-profile 1\n"
#define POINT "read 8192 52000000 1300000 38.5 41.2 5\n"
#define PROFILE                                              \
	"# by hand\n" HEAD "device fs-1\n"                   \
	"directory /scratch/my data   # with a space\n"      \
	"made 2026-01-31T12:00:00Z\n"                        \
	"how direct\n"                                       \
	"confidence 95\n"                                    \
	"\n" POINT "\tread 16384 79000000 2550000 29 33 0\n" \
	"write 4096 1e6 2e6 0.4 0.6 12\n"

static struct sl_profile parsed(const char *text)
{
	struct sl_profile p;
	char err[500];

	if (sl_profile_parse("f", text, strlen(text), &p, err, sizeof(err)))
		fail_msg("%s", err);
	return p;
}

static void the_words_and_the_points_are_read(void **state)
{
	struct sl_profile p = parsed(PROFILE);

	assert_string_equal(p.device, "fs-1");
	assert_string_equal(p.directory, "/scratch/my data");
	assert_string_equal(p.made, "2026-01-31T12:00:00Z");
	assert_string_equal(p.how, "direct");
	assert_string_equal(p.why, "");
	near_to(p.confidence, 95, 0);
	assert_int_equal(p.points[SL_READ], 2);
	assert_int_equal(p.points[SL_WRITE], 1);
	assert_int_equal(p.point[SL_READ][0].runs, 5);
	near_to(p.point[SL_READ][0].low, 38.5, 0);
	near_to(p.point[SL_READ][0].high, 41.2, 0);
	assert_int_equal(p.point[SL_READ][1].size_bytes, 16384);
}

static void the_ratio_between_two_sizes_comes_from_times(void **state)
{
	struct sl_profile p = parsed(PROFILE);

	near_to(sl_profile_ratio(&p, SL_READ, 8192), 40, 1e-9);
	near_to(sl_profile_ratio(&p, SL_READ, 16384), 79.0 / 2.55, 1e-9);
	near_to(sl_profile_ratio(&p, SL_READ, 12288), 34.87, 0.01); /* the example of profile.c */
	near_to(sl_profile_ratio(&p, SL_READ, 8193), 40, 0.01);
}

static void beyond_the_ends_the_nearest_size_counts(void **state)
{
	struct sl_profile p = parsed(PROFILE);

	near_to(sl_profile_ratio(&p, SL_READ, 0), 40, 1e-9);
	near_to(sl_profile_ratio(&p, SL_READ, 1), 40, 1e-9);
	near_to(sl_profile_ratio(&p, SL_READ, UINT64_MAX), 79.0 / 2.55, 1e-9);
	near_to(sl_profile_ratio(&p, SL_WRITE, 1), 0.5, 1e-9);
	near_to(sl_profile_ratio(&p, SL_WRITE, 1 << 20), 0.5, 1e-9);
}

static void every_size_between_many_is_found(void **state)
{
	struct sl_profile p = { 0 };

	/* Sequential 1 us and 1 ns a byte; a random request takes 9 us more. */
	for (uint32_t i = 0; i < SL_PROFILE_POINTS; i++) {
		double b = 1000.0 * (i + 1) * (i + 1);

		p.point[SL_WRITE][i] =
			(struct sl_profile_point){ .size_bytes = (uint64_t)b,
						   .sequential_bps = b / (1e-6 + b * 1e-9),
						   .random_bps = b / (10e-6 + b * 1e-9) };
	}
	p.points[SL_WRITE] = SL_PROFILE_POINTS;
	for (uint64_t b = 1000; b <= 4096000; b += 337)
		near_to(sl_profile_ratio(&p, SL_WRITE, b),
			(10e-6 + (double)b * 1e-9) / (1e-6 + (double)b * 1e-9), 1e-9);
}

static void what_was_not_measured_or_is_not_trusted_is_not_known(void **state)
{
	struct sl_profile p = parsed(HEAD POINT), none = { 0 };

	assert_true(isnan(sl_profile_ratio(&p, SL_WRITE, 8192)));
	assert_true(isnan(sl_profile_ratio(&p, 2, 8192)));
	assert_true(isnan(sl_profile_ratio(&none, SL_READ, 8192)));
	near_to(sl_profile_ratio(&p, SL_READ, 8192), 40, 1e-9);
	p = parsed(HEAD "untrusted it is all in memory\n" POINT);
	assert_string_equal(p.why, "it is all in memory");
	assert_true(isnan(sl_profile_ratio(&p, SL_READ, 8192)));
}

static void bad(const char *text, const char *message)
{
	struct sl_profile p, none;
	char err[500] = "";

	memset(&none, 0, sizeof(none));
	assert_int_equal(sl_profile_parse("f", text, strlen(text), &p, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, message);
	assert_memory_equal(&p, &none, sizeof(p));
}

static void a_bad_profile_is_said_with_its_line(void **state)
{
	char line[400];

	bad("", "f:1: this is no profile: the file is empty.");
	bad("# so\n\n", "f:2: this is no profile: the file is empty.");
	bad("\nhello\n", "f:2: this is no profile: its first line must be 'sluice-profile 1'.");
	bad("sluice-profile 2\n", "f:1: version 2 of the format is not known.");
	bad(HEAD, "f:1: the profile has no size: a line like 'read 8192 52000000 1300000 38.5 41.2 "
		  "5' is needed.");
	bad(HEAD "erase 1 2 3 4 5 6\n", "f:2: unknown word 'erase'.");
	bad(HEAD "device\n" POINT, "f:2: nothing stands after 'device'.");
	bad(HEAD "how a\nhow b\n" POINT, "f:3: 'how' was there before.");
	bad(HEAD "how a\001b\n" POINT, "f:2: a control character stands after 'how'.");
	bad(HEAD "confidence high\n", "f:2: 'high' is no number; the confidence must be one.");
	bad(HEAD "read 8192 1\n",
	    "f:2: 3 columns; operation, size, sequential and random throughput, the ratio's least "
	    "and most, and runs are needed.");
	bad(HEAD "read 1 2 3 4 5 6 7\n", "f:2: unexpected '7' after the runs.");
	bad(HEAD POINT POINT, "f:3: sizes must ascend: 8192 comes after 8192.");
	bad(HEAD "read 0 1 1 1 1 1\n", "f:2: the size must be from 1 to 1.09951e+12, not '0'.");
	bad(HEAD "read 4096.5 1 1 1 1 1\n", "f:2: the size must be a whole number, not '4096.5'.");
	bad(HEAD "read 1 nan 1 1 1 1\n",
	    "f:2: 'nan' is no number; the sequential throughput must be one.");
	bad(HEAD "read 1 1 0 1 1 1\n",
	    "f:2: the random throughput must be from 1 to 1e+18, not '0'.");
	bad(HEAD "read 1 1 0x1p3 1 1 1\n",
	    "f:2: '0x1p3' is no number; the random throughput must be one.");
	bad(HEAD "read 1 1 1 2 1 1\n", "f:2: the ratio's most must be from 2 to 1e+18, not '1'.");
	bad(HEAD "read 1 1 1 1 1 -1\n", "f:2: '-1' is no number; the runs must be one.");
	snprintf(line, sizeof(line), HEAD "device %0300d\n" POINT, 1);
	bad(line, "f:2: the line is longer than 255 bytes.");
}

static char *written(const struct sl_profile *p)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	assert_non_null(f);
	sl_profile_write(f, p);
	assert_int_equal(fclose(f), 0);
	return text;
}

static void what_is_written_is_what_was_read(void **state)
{
	struct sl_profile p = parsed(PROFILE), q;
	char *text = written(&p);

	q = parsed(text);
	assert_memory_equal(&p, &q, sizeof(p));
	free(text);
}

static void what_a_line_cannot_hold_does_not_break_the_file(void **state)
{
	struct sl_profile p = parsed(HEAD POINT), q;
	char *text;

	strcpy(p.directory, " /a#b\nread 1 1 1 1 1 1 ");
	memset(p.why, ' ', SL_PROFILE_WORDS);
	memset(p.device, 'x', SL_PROFILE_WORDS);
	text = written(&p);
	q = parsed(text);
	assert_string_equal(q.directory, "/a?b?read 1 1 1 1 1 1");
	assert_string_equal(q.why, "");
	assert_int_equal(strlen(q.device), SL_PROFILE_WORDS - strlen("device "));
	assert_int_equal(q.points[SL_READ], 1);
	free(text);
}

static char dir[64];

static int make_dir(void **state)
{
	strcpy(dir, "/tmp/test-profile.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char name[PATH_MAX];

	if (!sl_profile_path(dir, name))
		unlink(name);
	snprintf(name, sizeof(name), "%s/state/sluice", dir);
	rmdir(name);
	snprintf(name, sizeof(name), "%s/state", dir);
	rmdir(name);
	return rmdir(dir);
}

static void a_profile_is_kept_for_its_file_system(void **state)
{
	struct sl_profile p = parsed(PROFILE), q;
	char path[PATH_MAX], same[PATH_MAX], home[80], err[PATH_MAX + 100], name[64];

	snprintf(home, sizeof(home), "%s/state", dir);
	unsetenv("SLUICE_STATE");
	setenv("XDG_STATE_HOME", home, 1);
	assert_int_equal(sl_profile_path(dir, path), 0);
	assert_int_equal(sl_profile_device(dir, name, sizeof(name)), 0);
	assert_non_null(strstr(path, name));
	assert_memory_equal(path, home, strlen(home));
	assert_int_equal(sl_profile_load(path, &q, err, sizeof(err)), -ENOENT);
	assert_int_equal(sl_profile_save(path, &p, err, sizeof(err)), 0);
	/* Another directory of the same file system has the same profile. */
	assert_int_equal(sl_profile_path(home, same), 0);
	assert_string_equal(same, path);
	assert_int_equal(sl_profile_load(same, &q, err, sizeof(err)), 0);
	assert_memory_equal(&p, &q, sizeof(p));
	/* Nothing is left beside it: remove_dir() could not remove the directory. */
}

static void the_environment_says_where_profiles_are(void **state)
{
	char path[PATH_MAX];

	setenv("SLUICE_STATE", "/a", 1);
	setenv("XDG_STATE_HOME", "/b", 1);
	setenv("HOME", "/c", 1);
	assert_int_equal(sl_profile_path("/", path), 0);
	assert_memory_equal(path, "/a/", 3);
	unsetenv("SLUICE_STATE");
	assert_int_equal(sl_profile_path("/", path), 0);
	assert_memory_equal(path, "/b/sluice/", 10);
	setenv("XDG_STATE_HOME", "not/absolute", 1);
	assert_int_equal(sl_profile_path("/", path), 0);
	assert_memory_equal(path, "/c/.local/state/sluice/", 23);
	unsetenv("HOME");
	assert_int_equal(sl_profile_path("/", path), 0);
	assert_memory_equal(path, "/var/lib/sluice/", 16);
	assert_int_equal(sl_profile_path("/none/at/all", path), -ENOENT);
}

static void what_is_no_file_is_not_replaced(void **state)
{
	struct sl_profile p = parsed(PROFILE);
	char err[PATH_MAX + 100], below[100];

	assert_int_equal(sl_profile_save("/dev/null", &p, err, sizeof(err)), -EINVAL);
	assert_string_equal(err, "/dev/null is no regular file.");
	snprintf(below, sizeof(below), "/dev/null/x");
	assert_int_equal(sl_profile_save(below, &p, err, sizeof(err)), -ENOTDIR);
	assert_string_equal(err, "cannot write /dev/null/x: Not a directory.");
	assert_int_equal(sl_profile_load("/", &p, err, sizeof(err)), -EISDIR);
	assert_string_equal(err, "/: Is a directory.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_words_and_the_points_are_read),
		cmocka_unit_test(the_ratio_between_two_sizes_comes_from_times),
		cmocka_unit_test(beyond_the_ends_the_nearest_size_counts),
		cmocka_unit_test(every_size_between_many_is_found),
		cmocka_unit_test(what_was_not_measured_or_is_not_trusted_is_not_known),
		cmocka_unit_test(a_bad_profile_is_said_with_its_line),
		cmocka_unit_test(what_is_written_is_what_was_read),
		cmocka_unit_test(what_a_line_cannot_hold_does_not_break_the_file),
		cmocka_unit_test_setup_teardown(a_profile_is_kept_for_its_file_system, make_dir,
						remove_dir),
		cmocka_unit_test(the_environment_says_where_profiles_are),
		cmocka_unit_test(what_is_no_file_is_not_replaced),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
