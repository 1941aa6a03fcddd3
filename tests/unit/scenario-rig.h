/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios as text, for tests. */
#ifndef SL_TEST_SCENARIO_RIG_H
#define SL_TEST_SCENARIO_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "sim/scenario.h"

/* As sl_scenario_save() writes it; to be freed. */
static inline char *saved(const struct sl_scenario *s)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(sl_scenario_save(f, s), 0);
	fclose(f);
	return text;
}

#endif
