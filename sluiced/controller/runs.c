/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Periods of earlier runs, by user and title of the job (--title, with Slurm the name of the job).
 * The detector needs three periods to find one, which is hours for a job that writes a checkpoint
 * each hour. Until then a job that has declared nothing is taken to have the period of its last
 * run:
 *
 *	1000/4711, title climate: 3600 s found      1000 3600.000 climate
 *	1000/4890, title climate: begins            3600 s, from its last run; then what is found
 *
 * The table is bounded; the entry that was not used for longest is replaced. O(runs) a call.
 */
#include "sluiced/controller/runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/replace.h"

#define NEWS	 20 /* a change by less than a 20th is not written down */
#define LONGEST	 1e9
#define FROM_ONE 1e9 /* ns of a second */

int runs_begin(struct runs *r)
{
	*r = (struct runs){ .run = calloc(RUNS_MAX, sizeof(*r->run)) };
	return r->run ? 0 : -ENOMEM;
}

void runs_end(struct runs *r)
{
	free(r->run);
	*r = (struct runs){ 0 };
}

static struct run *find(const struct runs *r, uint32_t uid, const char *title)
{
	for (uint32_t i = 0; r->run && i < r->count; i++)
		if (r->run[i].uid == uid && !strcmp(r->run[i].title, title))
			return &r->run[i];
	return NULL;
}

sl_time runs_find(const struct runs *r, uint32_t uid, const char *title)
{
	const struct run *v = find(r, uid, title);

	return v ? v->period_ns : 0;
}

void runs_add(struct runs *r, uint32_t uid, const char *title, sl_time period_ns)
{
	struct run *v = find(r, uid, title);

	if (!r->run || !*title || period_ns <= 0)
		return;
	if (!v) {
		v = &r->run[0];
		if (r->count < RUNS_MAX)
			v = &r->run[r->count++];
		else
			for (uint32_t i = 1; i < r->count; i++)
				if (r->run[i].used < v->used)
					v = &r->run[i];
		*v = (struct run){ .uid = uid };
		snprintf(v->title, sizeof(v->title), "%s", title);
	}
	v->used = ++r->clock;
	if (period_ns > v->period_ns - v->period_ns / NEWS &&
	    period_ns < v->period_ns + v->period_ns / NEWS)
		return;
	v->period_ns = period_ns;
	r->changed = true;
}

/* ---- the file ---- */

int runs_load(struct runs *r, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[SL_JOB_NAME_MAX + 64];

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		unsigned uid;
		double s;
		int at = 0;

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%u %lf %n", &uid, &s, &at) >= 2 && at && s > 0 && s < LONGEST &&
		    strlen(line + at) < SL_JOB_NAME_MAX)
			runs_add(r, uid, line + at, (sl_time)(s * FROM_ONE));
	}
	r->changed = false;
	fclose(f);
	return 0;
}

static int write_to(FILE *f, const void *runs)
{
	const struct runs *r = runs;

	for (uint32_t i = 0; i < r->count; i++)
		fprintf(f, "%u %.3f %s\n", r->run[i].uid, (double)r->run[i].period_ns / FROM_ONE,
			r->run[i].title);
	return 0;
}

int runs_save(struct runs *r, const char *path)
{
	int rc = sl_replace(path, 0666, write_to, r);

	r->changed = rc && r->changed;
	return rc;
}
