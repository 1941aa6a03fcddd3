/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a status's fields, and writing one as JSON: see status.h. */
#include "wire/status.h"

#include <stdlib.h>
#include <string.h>

enum { N = 1, C = 2, L = 4, P = 8, O = 16, M = 32 };

/* clang-format off */
#define JOB_F(kind, key, merge, in) \
	{ NULL, #key, offsetof(struct status_job, key), STATUS_##kind, STATUS_##merge, in },
#define JOB_G(kind, object, key, merge, in) \
	{ #object, #key, offsetof(struct status_job, object##_##key), STATUS_##kind, STATUS_##merge, in },
#define LAYER_F(kind, key, merge, in) \
	{ NULL, #key, offsetof(struct status, key), STATUS_##kind, STATUS_##merge, in },
#define LAYER_G(kind, object, key, merge, in) \
	{ #object, #key, offsetof(struct status, object##_##key), STATUS_##kind, STATUS_##merge, in },
#define IONODE_F(kind, key, merge, in) \
	{ NULL, #key, offsetof(struct status_ionode, key), STATUS_##kind, STATUS_##merge, in },
#define IONODE_G(kind, object, key, merge, in) \
	{ #object, #key, offsetof(struct status_ionode, object##_##key), STATUS_##kind, STATUS_##merge, in },
#define CONTROLLER_F(kind, key, merge, in) \
	{ NULL, #key, offsetof(struct status_controller, key), STATUS_##kind, STATUS_##merge, in },
#define CONTROLLER_G(kind, object, key, merge, in) \
	{ #object, #key, offsetof(struct status_controller, object##_##key), STATUS_##kind, STATUS_##merge, in },

const struct status_field status_job_fields[] = { STATUS_JOB_FIELDS(JOB_F, JOB_G) { 0 } };
const struct status_field status_layer_fields[] = { STATUS_LAYER_FIELDS(LAYER_F, LAYER_G) { 0 } };
const struct status_field status_ionode_fields[] = { STATUS_IONODE_FIELDS(IONODE_F, IONODE_G) { 0 } };
const struct status_field status_controller_fields[] = { STATUS_CONTROLLER_FIELDS(CONTROLLER_F, CONTROLLER_G) { 0 } };
/* clang-format on */

static bool is_null(const void *of, const struct status_field *f)
{
	switch (f->kind) {
	case STATUS_TEXT:
		return !*status_text(of, f);
	case STATUS_MAYBE:
	case STATUS_MAYBE_FLAG:
		return isnan(*status_double(of, f));
	default:
		return false;
	}
}

static void put_field(struct json *j, const void *of, const struct status_field *f)
{
	double value;

	if (f->kind == STATUS_TEXT || is_null(of, f)) {
		json_string(j, f->key, f->kind == STATUS_TEXT ? *status_text(of, f) : NULL);
		return;
	}
	value = *status_double(of, f);
	if (f->kind == STATUS_FLAG || f->kind == STATUS_MAYBE_FLAG)
		json_bool(j, f->key, value != 0);
	else if (fabs(value) < 0x1p53 && value == (double)(int64_t)value)
		json_int(j, f->key, (int64_t)value);
	else
		json_double(j, f->key, value);
}

static void put_fields(struct json *j, const struct status_field *f, unsigned in, const void *of)
{
	const char *open = NULL, *left_out = NULL;

	for (; f->key; f++) {
		if (!(f->in & in))
			continue;
		if (open && (!f->object || strcmp(f->object, open) != 0)) {
			json_end(j);
			open = NULL;
		}
		if (f->object && left_out && !strcmp(f->object, left_out))
			continue;
		if (f->object && !open) {
			if (is_null(of, f)) {
				json_string(j, f->object, NULL);
				left_out = f->object;
				continue;
			}
			json_object(j, f->object);
			open = f->object;
		}
		put_field(j, of, f);
	}
	if (open)
		json_end(j);
}

static unsigned fields_in(enum status_kind kind)
{
	return kind == STATUS_OF_NODE ? N : kind == STATUS_OF_CONTROLLER ? C : L;
}

static void put_controller(struct json *j, const char *key, const struct status_controller *c)
{
	if (!c->state) {
		json_string(j, key, NULL);
		return;
	}
	json_object(j, key);
	put_fields(j, status_controller_fields, M, c);
	json_end(j);
}

void status_put_begin(struct json *j, const struct status *s, enum status_kind kind)
{
	put_fields(j, status_layer_fields, fields_in(kind), s);
	if (kind == STATUS_OF_LAYER) {
		put_controller(j, "controller", &s->controller);
		if (s->standby.state)
			put_controller(j, "standby", &s->standby);
	}
	if (kind != STATUS_OF_NODE) {
		json_array(j, "ionodes");
		for (size_t i = 0; i < s->ionodes_count; i++) {
			json_object(j, NULL);
			put_fields(j, status_ionode_fields, kind == STATUS_OF_LAYER ? M : C,
				   &s->ionodes[i]);
			json_end(j);
		}
		json_end(j);
	}
	json_array(j, "jobs");
}

void status_put_job(struct json *j, const struct status_job *job, enum status_kind kind)
{
	json_object(j, NULL);
	put_fields(j, status_job_fields, fields_in(kind), job);
	if (kind != STATUS_OF_NODE) {
		json_array(j, "ionodes");
		for (size_t i = 0; i < job->served_by_count; i++)
			json_string(j, NULL, job->served_by[i]);
		json_end(j);
		json_array(j, "parts");
		for (const struct status_job *p = job->parts; p; p = p->next_part) {
			json_object(j, NULL);
			put_fields(j, status_job_fields, kind == STATUS_OF_LAYER ? P : O, p);
			json_end(j);
		}
		json_end(j);
	}
	json_end(j);
}

void status_put_end(struct json *j)
{
	json_end(j);
}

void status_put(struct json *j, const struct status *s, enum status_kind kind)
{
	status_put_begin(j, s, kind);
	for (size_t i = 0; i < s->jobs_count; i++)
		status_put_job(j, &s->jobs[i], kind);
	status_put_end(j);
}

/* ---- memory ---- */

#define MEMORY_BYTES 16384

struct status_memory {
	struct status_memory *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

void *status_alloc(struct status *s, size_t size)
{
	struct status_memory *m = s->memory;
	size_t most;
	char *at;

	size = (size + 15) & ~(size_t)15;
	if (!m || m->size - m->used < size) {
		most = size > MEMORY_BYTES ? size : MEMORY_BYTES;
		m = calloc(1, sizeof(*m) + most);
		if (!m)
			return NULL;
		*m = (struct status_memory){ .next = s->memory, .size = most };
		s->memory = m;
	}
	at = m->bytes + m->used;
	m->used += size;
	return at;
}

void status_clear(struct status *s)
{
	for (struct status_memory *m = s->memory, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	*s = (struct status){ 0 };
}

void status_free(struct status *s)
{
	if (s)
		status_clear(s);
	free(s);
}

void status_take_memory(struct status *s, struct status *from)
{
	struct status_memory **end = &from->memory;

	while (*end)
		end = &(*end)->next;
	*end = s->memory;
	s->memory = from->memory;
	free(from);
}

const struct status_job *status_job_find(const struct status *s, const char *name)
{
	for (size_t i = 0; i < s->jobs_count; i++)
		if (s->jobs[i].job && !strcmp(s->jobs[i].job, name))
			return &s->jobs[i];
	return NULL;
}
