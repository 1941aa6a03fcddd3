/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as curves of jobs. Checked: an error is one of those promised and has words; else every
 * job has a name of its own, sizes in range and a rising curve of finite bandwidths. Written out
 * again, it is read as the same.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/allocate/curves.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct curves *c)
{
	CHECK(c->n > 0);
	for (uint32_t i = 0; i < c->n; i++) {
		const struct curves_job *j = &c->job[i];

		CHECK(j->name[0] && memchr(j->name, 0, sizeof(j->name)));
		CHECK(j->nodes > 0 && j->nodes <= CURVES_MAX_NUMBER && j->procs > 0);
		for (uint32_t k = 0; k < j->points; k++) {
			CHECK(j->curve[k].bps >= 0 && isfinite(j->curve[k].bps));
			CHECK(!k || j->curve[k].ionodes > j->curve[k - 1].ionodes);
		}
		for (uint32_t k = 0; k < i && c->n < 100; k++)
			CHECK(strcmp(j->name, c->job[k].name) != 0);
	}
}

static void quoted(FILE *f, const char *name)
{
	putc('"', f);
	for (; *name; name++)
		fprintf(f, *name == '"' ? "\"\"" : "%c", *name);
	putc('"', f);
}

static void again(const struct curves *c)
{
	char *text = NULL, err[CURVES_TEXT];
	struct curves back;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	CHECK(f);
	fputs("job,ionodes,bandwidth,nodes,procs\n", f);
	for (uint32_t i = 0; i < c->n; i++) {
		const struct curves_job *j = &c->job[i];

		for (uint32_t k = 0; k < j->points || (!k && !j->points); k++) {
			quoted(f, j->name);
			if (j->points)
				fprintf(f, ",%u,%.17g,%u,%u\n", j->curve[k].ionodes,
					j->curve[k].bps, j->nodes, j->procs);
			else
				fprintf(f, ",,,%u,%u\n", j->nodes, j->procs);
		}
	}
	fclose(f);
	f = fmemopen(text, size, "r");
	CHECK(f && !curves_read(f, "again", &back, err));
	fclose(f);
	CHECK(back.n == c->n);
	for (uint32_t i = 0; i < c->n; i++) {
		const struct curves_job *a = &c->job[i], *b = &back.job[i];

		CHECK(!strcmp(a->name, b->name) && a->nodes == b->nodes && a->procs == b->procs &&
		      a->points == b->points);
		for (uint32_t k = 0; k < a->points; k++)
			CHECK(a->curve[k].ionodes == b->curve[k].ionodes &&
			      a->curve[k].bps == b->curve[k].bps);
	}
	curves_free(&back);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[CURVES_TEXT] = "";
	struct curves c;
	FILE *f;
	int rc;

	if (!size || !(f = fmemopen((void *)(uintptr_t)data, size, "r")))
		return 0;
	rc = curves_read(f, "text", &c, err);
	fclose(f);
	CHECK(!rc || rc == -EINVAL);
	if (rc) {
		CHECK(err[0] && !c.job && !c.point);
		return 0;
	}
	check(&c);
	again(&c);
	curves_free(&c);
	return 0;
}
