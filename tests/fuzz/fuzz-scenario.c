/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a scenario. Checked: a message names the file and a line that it has; what is
 * accepted is in range, and is the same again after it was saved and read.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scenario.h"
#include "tests/fuzz/fuzz.h"

#define SAVED_APPS 1000U /* more would only be slow */

static char *saved(const struct sl_scenario *s)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	CHECK(f);
	CHECK(sl_scenario_save(f, s) == 0);
	CHECK(fclose(f) == 0);
	return text;
}

static void reads_back(const struct sl_scenario *s)
{
	char *text = saved(s), *again, err[500];
	struct sl_scenario t;

	CHECK(sl_scenario_parse("g.yaml", text, strlen(text), &t, err, sizeof(err)) == 0);
	again = saved(&t);
	CHECK(strcmp(text, again) == 0);
	CHECK(s->n_apps == t.n_apps && s->n_policies == t.n_policies);
	sl_scenario_free(&t);
	free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_scenario s;
	char err[500] = "";
	int rc = sl_scenario_parse("f.yaml", (const char *)data, size, &s, err, sizeof(err));

	CHECK(rc == 0 || rc == -EINVAL || rc == -ENOMEM);
	if (rc) {
		char *end;

		CHECK(!s.apps && !s.name && !s.policies && !s.n_apps);
		CHECK(!strncmp(err, "f.yaml:", 7));
		CHECK(strtoul(err + 7, &end, 10) >= 1 && !strncmp(end, ": ", 2) && end[2]);
		return 0;
	}
	CHECK(sl_scenario_check(&s, err, sizeof(err)) == 0);
	for (uint32_t i = 0; i < s.n_apps; i++)
		CHECK(sl_app_alone_s(&s.platform, &s.apps[i]) > 0);
	if (s.n_apps <= SAVED_APPS)
		reads_back(&s);
	sl_scenario_free(&s);
	return 0;
}
