/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a decision tree. Checked: a message names the file and a line that it has; what is
 * accepted is a tree, answers whatever it is asked, and is the same again after it was written and
 * read.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect/tree.h"
#include "tests/fuzz/fuzz.h"

static char *written(const struct sl_decision *t)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	CHECK(f);
	sl_decision_write(f, t);
	CHECK(fclose(f) == 0);
	return text;
}

static void asked(const struct sl_decision *t)
{
	static const double some[] = { 0, 1, NAN, -1, 1e300, 0.5, 3, -INFINITY };
	double value[SL_DECISION_ATTRIBUTES], share[SL_DECISION_CLASSES], sum = 0;

	for (unsigned k = 0; k < 8; k++) {
		for (uint32_t i = 0; i < t->attributes; i++)
			value[i] = some[(i + k) % 8];
		CHECK(sl_decision_choose(t, value, share) < t->classes);
		sum = 0;
		for (uint32_t i = 0; i < t->classes; i++)
			sum += share[i];
		CHECK(fabs(sum - 1) < 1e-6);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_decision t, u;
	char err[500] = "", *text, *again;
	int rc = sl_decision_parse("f", (const char *)data, size, &t, err, sizeof(err));

	CHECK(rc == 0 || rc == -EINVAL || rc == -ENOMEM);
	if (rc) {
		CHECK(!t.node && !t.attribute && !t.class_ && !t.count);
		names_a_line(err, data, size);
		return 0;
	}
	asked(&t);
	text = written(&t);
	CHECK(sl_decision_parse("g", text, strlen(text), &u, err, sizeof(err)) == 0);
	again = written(&u);
	CHECK(strcmp(text, again) == 0);
	CHECK(t.nodes == u.nodes);
	free(text);
	free(again);
	sl_decision_free(&t);
	sl_decision_free(&u);
	return 0;
}
