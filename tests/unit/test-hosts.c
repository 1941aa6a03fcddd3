/* SPDX-License-Identifier: Apache-2.0 */
/* base/hosts: lists of machines, as Slurm writes them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/hosts.h"

static void is(const char *list, const char *names)
{
	struct sl_hosts h;
	char text[512] = "";

	assert_int_equal(sl_hosts_parse(&h, list), 0);
	for (size_t i = 0; i < h.count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 h.name[i]);
	assert_string_equal(text, names);
	sl_hosts_free(&h);
	assert_int_equal(h.count, 0);
}

static void lists(void **state)
{
	is("n1", "n1");
	is("n1,io-2.site,n3", "n1 io-2.site n3");
	is("n[1-3]", "n1 n2 n3");
	is("n[1-3,7],login", "n1 n2 n3 n7 login");
	is("n[08-11]", "n08 n09 n10 n11");
	is("r[1-2]n[1,3]-ib", "r1n1-ib r1n3-ib r2n1-ib r2n3-ib");
	is("n[5]", "n5");
}

static void mistakes(void **state)
{
	static const char *const wrong[] = { "",       "n1,",	  ",n1",   "n[1-3",  "n[]",
					     "n[3-1]", "n[a]",	  "n[1-]", "n[1,]",  "n 1",
					     "-w",     "n;ls",	  "n1]",   "n[[1]]", "$(date)",
					     "a/b",    "n[1-2x]", "n[-2]" };
	struct sl_hosts h;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (sl_hosts_parse(&h, wrong[i]) != -EINVAL)
			fail_msg("'%s' was understood", wrong[i]);
	assert_int_equal(sl_hosts_parse(&h, "n[1-3],n2"), -EEXIST);
	assert_int_equal(sl_hosts_parse(&h, "n[1-5000]"), -E2BIG);
	assert_int_equal(sl_hosts_parse(&h, "n[1-999999999]"), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lists), cmocka_unit_test(mistakes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
