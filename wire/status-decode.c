/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a status: see status.h. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "wire/status.h"

/* ---- fields ---- */

/* False: out of memory. */
static bool get_text(struct status *s, const cJSON *item, const char **out)
{
	const char *text = cJSON_GetStringValue(item);
	char *copy;

	*out = NULL;
	if (!text)
		return true;
	copy = status_alloc(s, strlen(text) + 1);
	if (!copy)
		return false;
	strcpy(copy, text);
	*out = copy;
	return true;
}

static double get_number(const cJSON *item, enum status_field_kind kind)
{
	if (cJSON_IsNumber(item))
		return item->valuedouble;
	if (cJSON_IsBool(item))
		return cJSON_IsTrue(item);
	return kind == STATUS_MAYBE || kind == STATUS_MAYBE_FLAG ? (double)NAN : 0.0;
}

/*
 * cJSON searches a key from the first one. Fields are written in the order of the table, so here
 * the search continues behind the last key found.
 */
static const cJSON *find(const cJSON *object, const char *key, const cJSON **last)
{
	const cJSON *begin = *last && (*last)->next ? (*last)->next : object ? object->child : NULL;
	const cJSON *item = begin;

	while (item) {
		if (item->string && !strcmp(item->string, key)) {
			*last = item;
			return item;
		}
		item = item->next ? item->next : object->child;
		if (item == begin)
			break;
	}
	return NULL;
}

static bool get_fields(struct status *s, const struct status_field *f, void *of,
		       const cJSON *object)
{
	const cJSON *last = NULL, *inside = NULL, *last_inside = NULL;
	const char *open = NULL;

	for (; f->key; f++) {
		const cJSON *item;

		if (f->object && (!open || strcmp(f->object, open) != 0)) {
			inside = find(object, f->object, &last);
			last_inside = NULL;
		}
		open = f->object;
		item = f->object ? find(inside, f->key, &last_inside) : find(object, f->key, &last);
		if (f->kind != STATUS_TEXT)
			*status_double(of, f) = get_number(item, f->kind);
		else if (!get_text(s, item, status_text(of, f)))
			return false;
	}
	return true;
}

/* ---- lists ---- */

static const cJSON *get(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/*
 * Allocate an array with `size` bytes per item. NULL: out of memory, or no such list; then *count
 * is 0.
 */
static void *get_list(struct status *s, const cJSON *list, size_t size, size_t *count)
{
	size_t n = (size_t)cJSON_GetArraySize(list);
	void *array = cJSON_IsArray(list) ? status_alloc(s, (n + 1) * size) : NULL;

	*count = array ? n : 0;
	return array;
}

static bool get_served_by(struct status *s, struct status_job *job, const cJSON *list)
{
	const char **name = get_list(s, list, sizeof(*name), &job->served_by_count);
	const cJSON *item;
	size_t n = 0;

	job->served_by = name;
	cJSON_ArrayForEach(item, list)
	{
		if (!name || !get_text(s, item, &name[n]))
			return false;
		n += name[n] != NULL;
	}
	job->served_by_count = n;
	return true;
}

static bool get_job(struct status *s, struct status_job *job, const cJSON *from)
{
	struct status_job **end = &job->parts;
	const cJSON *item;

	*job = (struct status_job){ 0 };
	if (!get_fields(s, status_job_fields, job, from) ||
	    !get_served_by(s, job, get(from, "ionodes")))
		return false;
	cJSON_ArrayForEach(item, get(from, "parts"))
	{
		struct status_job *part = status_alloc(s, sizeof(*part));

		if (!part || !get_fields(s, status_job_fields, part, item))
			return false;
		*end = part;
		end = &part->next_part;
	}
	return true;
}

static bool get_jobs(struct status *s, const cJSON *list)
{
	const cJSON *item;
	size_t n = 0;

	s->jobs = get_list(s, list, sizeof(*s->jobs), &s->jobs_count);
	cJSON_ArrayForEach(item, list)
	{
		if (!s->jobs || !get_job(s, &s->jobs[n], item))
			return false;
		n += s->jobs[n].job != NULL; /* one without a name is left out */
	}
	s->jobs_count = n;
	return true;
}

static bool get_ionodes(struct status *s, const cJSON *list)
{
	const cJSON *item;
	size_t n = 0;

	s->ionodes = get_list(s, list, sizeof(*s->ionodes), &s->ionodes_count);
	cJSON_ArrayForEach(item, list) if (!s->ionodes ||
					   !get_fields(s, status_ionode_fields, &s->ionodes[n++],
						       item)) return false;
	return true;
}

struct status *status_decode(const char *text)
{
	cJSON *tree = cJSON_Parse(text);
	struct status *s = cJSON_IsObject(tree) ? calloc(1, sizeof(*s)) : NULL;

	if (s &&
	    (!get_fields(s, status_layer_fields, s, tree) || !get_jobs(s, get(tree, "jobs")) ||
	     !get_ionodes(s, get(tree, "ionodes")) ||
	     !get_fields(s, status_controller_fields, &s->controller, get(tree, "controller")) ||
	     !get_fields(s, status_controller_fields, &s->standby, get(tree, "standby")))) {
		status_free(s);
		s = NULL;
	}
	cJSON_Delete(tree);
	return s;
}
