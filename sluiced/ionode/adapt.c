/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The external inputs of order=auto: the ratios of the device, from its profile (`sluice profile`)
 * or its model, and trees in files. Both are read before the lock is taken, and are recorded with
 * all other calls of the scheduler.
 */
#include "sluiced/ionode/adapt.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "detect/profile.h"
#include "sluiced/ionode/scheduler.h"

#define SMALLEST UINT64_C(1024)
#define LARGEST	 (UINT64_C(16) << 20)

/* ---- trees ---- */

void adapt_forget(struct adapt *a)
{
	free(a->text);
	*a = (struct adapt){ 0 };
}

void adapt_read(struct adapt *a, const char *spec)
{
	adapt_forget(a);
	if (!sl_spec_file(spec, "tree", a->name))
		return;
	/* The daemon has left the directory that it was started in. */
	a->error = a->name[0] == '/' ? sl_spec_read(a->name, &a->text, &a->length) : -EXDEV;
}

void adapt_read_words(struct adapt *a, const char *line)
{
	char word[SL_SPEC_FILE_MAX + 300];

	while (*line) {
		size_t length = strcspn(line, " "), equals = strcspn(line, "= ");

		if (equals < length && length - equals <= sizeof(word)) {
			memcpy(word, line + equals + 1, length - equals - 1);
			word[length - equals - 1] = 0;
			if (strstr(word, ",tree="))
				adapt_read(a, word);
		}
		line += length + (line[length] == ' ');
	}
}

int adapt_get(void *arg, const char *name, char **text, size_t *length)
{
	struct node *n = arg;
	const struct adapt *a = n->adapt;

	if (!a || strcmp(a->name, name) != 0)
		return -ENOENT;
	if (a->error)
		return a->error;
	node_file(n, name, a->text, a->length, node_now());
	*text = malloc(a->length + 1);
	if (!*text)
		return -ENOMEM;
	memcpy(*text, a->text, a->length);
	*length = a->length;
	return 0;
}

/* ---- the device ---- */

static void tell(struct node *n, uint32_t op, uint64_t bytes, double ratio)
{
	if (isfinite(ratio) && ratio > 0 && ratio < 1e6)
		node_ratio(n, op, bytes, (uint32_t)lround(ratio * 1000), node_now());
}

static double of_model(const struct sl_device_model *m, uint32_t op, uint64_t bytes)
{
	return (double)sl_device_cost_ns(m, op, bytes, 1) /
	       (double)sl_device_cost_ns(m, op, bytes, 0);
}

void adapt_ratios(struct node *n)
{
	const struct sl_device_model *model = &n->config->device;
	struct sl_profile *p = calloc(1, sizeof(*p));
	char path[PATH_MAX], err[500] = "";
	int rc = p ? sl_profile_path(n->config->root, path) : -ENOMEM;

	if (!rc && !model->bps[0])
		rc = sl_profile_load(path, p, err, sizeof(err));
	if (!model->bps[0] && rc && rc != -ENOENT)
		log_warn("profile: %s", *err ? err : strerror(-rc));
	pthread_mutex_lock(&n->lock);
	for (uint32_t op = SL_READ; op <= SL_WRITE && (model->bps[0] || !rc); op++)
		for (uint64_t bytes = SMALLEST; bytes <= LARGEST; bytes *= 2)
			tell(n, op, bytes,
			     model->bps[0] ? of_model(model, op, bytes)
					   : sl_profile_ratio(p, op, bytes));
	node_unlock(n);
	free(p);
}
