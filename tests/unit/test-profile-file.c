/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that `sluice profile` measures: how it is made where O_TMPFILE or O_DIRECT is missing,
 * that it has no name, and that it goes. open() and fcntl() are wrapped, to refuse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cli.h"
#include "lab/profile/profile.h"

#define SIZE 4096U

/* With 64 bits of offset glibc's names have them, too. */
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __real_fcntl64(int fd, int cmd, ...);
int __wrap_fcntl64(int fd, int cmd, ...);

static bool no_tmpfile, no_direct;
static unsigned named; /* files that were made with a name */

int __wrap_open64(const char *path, int flags, ...)
{
	if ((flags & O_TMPFILE) == O_TMPFILE && no_tmpfile) {
		errno = EOPNOTSUPP;
		return -1;
	}
	named += (flags & O_CREAT) != 0;
	assert_true(!(flags & O_CREAT) || (flags & O_EXCL));
	return __real_open64(path, flags, 0600);
}

int __wrap_fcntl64(int fd, int cmd, ...)
{
	va_list args;
	int flags;

	va_start(args, cmd);
	flags = va_arg(args, int);
	va_end(args);
	if (cmd == F_SETFL && (flags & O_DIRECT) && no_direct) {
		errno = EINVAL;
		return -1;
	}
	return __real_fcntl64(fd, cmd, flags);
}

static char dir[64];

static int begin(void **state)
{
	no_tmpfile = no_direct = false;
	named = 0;
	profile_stop = 0;
	strcpy(dir, "/tmp/test-profile-file.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

/* Fails if anything was left. */
static int finish(void **state)
{
	return rmdir(dir);
}

static int entries(void)
{
	struct dirent **list;
	int n = scandir(dir, &list, NULL, alphasort);

	assert_true(n >= 2);
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	return n - 2;
}

static const struct profile_room room = { .least_bytes = 16 * SIZE,
					  .most_bytes = 100 * SIZE,
					  .largest_bytes = SIZE,
					  .fill_ns = INT64_C(60000000000),
					  .time_ns = INT64_C(600000000000) };

static void runs_of_all_kinds(struct profile_file *f)
{
	struct profile_target t = profile_file(f);
	struct stat st;

	assert_int_equal(f->bytes, 100 * SIZE);
	assert_int_equal(fstat(f->fd, &st), 0);
	assert_int_equal(st.st_size, 100 * SIZE);
	assert_int_equal(st.st_nlink, 0);
	assert_int_equal(entries(), 0);
	for (uint32_t op = 0; op < 2; op++)
		for (int random = 0; random < 2; random++)
			assert_true(t.run(t.context, op, random, SIZE, 99) > 0);
	/* No run has made it longer. */
	assert_int_equal(fstat(f->fd, &st), 0);
	assert_int_equal(st.st_size, 100 * SIZE);
}

static void the_file_has_no_name_and_is_filled(void **state)
{
	struct profile_file f;

	assert_int_equal(profile_file_open(&f, dir, &room), CLI_OK);
	runs_of_all_kinds(&f);
	profile_file_close(&f);
}

static void without_o_tmpfile_its_name_is_removed_at_once(void **state)
{
	struct profile_file f;

	no_tmpfile = true;
	assert_int_equal(profile_file_open(&f, dir, &room), CLI_OK);
	assert_int_equal(named, 1);
	runs_of_all_kinds(&f);
	profile_file_close(&f);
}

static void a_file_of_that_name_is_not_touched(void **state)
{
	struct profile_file f;
	char name[120], text[8] = "";
	FILE *file;

	snprintf(name, sizeof(name), "%s/.sluice-profile-%ld-0", dir, (long)getpid());
	file = fopen(name, "w");
	assert_non_null(file);
	fputs("mine", file);
	assert_int_equal(fclose(file), 0);
	no_tmpfile = true;
	assert_int_equal(profile_file_open(&f, dir, &room), CLI_OK);
	profile_file_close(&f);
	assert_int_equal(entries(), 1);
	file = fopen(name, "r");
	assert_non_null(file);
	assert_int_equal(fread(text, 1, sizeof(text), file), 4);
	fclose(file);
	assert_string_equal(text, "mine");
	assert_int_equal(unlink(name), 0);
}

static void without_o_direct_it_goes_through_the_page_cache(void **state)
{
	struct profile_file f;

	no_direct = true;
	assert_int_equal(profile_file_open(&f, dir, &room), CLI_OK);
	assert_false(f.direct);
	runs_of_all_kinds(&f);
	profile_file_close(&f);
}

static void a_signal_ends_a_run(void **state)
{
	struct profile_file f;
	struct profile_target t;

	assert_int_equal(profile_file_open(&f, dir, &room), CLI_OK);
	t = profile_file(&f);
	profile_stop = 15;
	assert_int_equal(t.run(t.context, SL_READ, true, SIZE, 2), -EINTR);
	profile_file_close(&f);
	assert_int_equal(profile_file_open(&f, dir, &room), CLI_FAILED);
	profile_file_close(&f);
}

static void a_file_that_is_cut_short_is_an_error(void **state)
{
	struct profile_file f;
	struct profile_target t;

	assert_int_equal(profile_file_open(&f, dir, &room), CLI_OK);
	t = profile_file(&f);
	assert_int_equal(ftruncate(f.fd, 0), 0);
	assert_int_equal(t.run(t.context, SL_READ, true, SIZE, 2), -EIO);
	profile_file_close(&f);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_file_has_no_name_and_is_filled),
		CASE(without_o_tmpfile_its_name_is_removed_at_once),
		CASE(a_file_of_that_name_is_not_touched),
		CASE(without_o_direct_it_goes_through_the_page_cache),
		CASE(a_signal_ends_a_run),
		CASE(a_file_that_is_cut_short_is_an_error),
	};

	return cmocka_run_group_tests_name("profile-file", tests, NULL, NULL);
}
