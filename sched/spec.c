/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy and its parameters from text.
 *
 *	SPEC  = NAME [ "," KEY "=" VALUE ]...
 *	VALUE = a size (64Ki, 1.5MiB) for bytes, a whole number for counts, us and ms, one of
 *	        the names for a choice, or the name of a file, which has no comma
 *
 * Parameters that are not given keep their defaults. Each message says what was wrong and what is
 * possible:
 *
 *	order: no policy 'aiol'; there are to-agg, to, sjf, mlf, aioli, auto
 *	order/aioli: wait_us=-1 is out of range; it takes 0 to 1000000 us
 *
 * Text comes from users and over the network: unprintable bytes are shown as '?' and long words
 * are cut. Nothing is allocated. O(length + parameters^2).
 */
#include "sched/spec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/ds/fnv.h"
#include "base/units.h"

#define SP_MAX_SHOWN 40 /* bytes of a wrong word that are repeated in a message */
#define SP_MAX_VALUE 64 /* a value with more digits than this is no reasonable one */

/* A piece of the text, not terminated. */
struct sp_word {
	const char *text;
	size_t length;
};

/* ---- messages ---- */

struct sp_message {
	char *text;
	size_t size, length;
	enum sl_stage stage;
	const struct sl_policy *policy; /* NULL until it is known */
};

static void sp_char(struct sp_message *m, char c)
{
	if (m->length + 1 >= m->size)
		return;
	m->text[m->length++] = c;
	m->text[m->length] = '\0';
}

static void sp_puts(struct sp_message *m, const char *s)
{
	while (*s)
		sp_char(m, *s++);
}

static void sp_put_word(struct sp_message *m, struct sp_word w)
{
	for (size_t i = 0; i < w.length && i < SP_MAX_SHOWN; i++)
		sp_char(m, w.text[i] >= ' ' && w.text[i] <= '~' ? w.text[i] : '?');
	if (w.length > SP_MAX_SHOWN)
		sp_puts(m, "...");
}

static void sp_put_int(struct sp_message *m, int64_t n)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, n);
	sp_puts(m, digits);
}

/* Write a size exactly, as a user can type it: 64Ki, 1000. */
static void sp_put_bytes(struct sp_message *m, int64_t bytes)
{
	static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti" };
	unsigned u = 0;

	while (u < 4 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		u++;
	}
	sp_put_int(m, bytes);
	sp_puts(m, units[u]);
}

static void sp_put_one_of(struct sp_message *m, unsigned i, const char *name)
{
	sp_puts(m, i ? ", " : "");
	sp_puts(m, name);
}

/* "it takes ..." */
static void sp_put_range(struct sp_message *m, const struct sl_param *p)
{
	sp_puts(m, "; it takes ");
	switch (p->unit) {
	case SL_CHOICE:
		for (unsigned i = 0; i <= (uint64_t)p->max; i++)
			sp_put_one_of(m, i, p->choices[i]);
		break;
	case SL_BYTES:
		sp_put_bytes(m, p->min);
		sp_puts(m, " to ");
		sp_put_bytes(m, p->max);
		break;
	case SL_FILE:
		sp_puts(m, "the name of a file, of at most 255 bytes");
		break;
	case SL_COUNT:
	case SL_US:
	case SL_MS:
		sp_put_int(m, p->min);
		sp_puts(m, " to ");
		sp_put_int(m, p->max);
		sp_puts(m, p->unit == SL_US ? " us" : p->unit == SL_MS ? " ms" : "");
		break;
	}
}

/* "order/aioli: " */
static void sp_where(struct sp_message *m)
{
	if (m->size)
		m->text[0] = '\0';
	sp_puts(m, sl_stage_name(m->stage));
	if (m->policy) {
		sp_char(m, '/');
		sp_puts(m, m->policy->name);
	}
	sp_puts(m, ": ");
}

static int sp_no_policy(struct sp_message *m, struct sp_word name)
{
	const struct sl_policy *p;

	sp_where(m);
	if (name.length) {
		sp_puts(m, "no policy '");
		sp_put_word(m, name);
		sp_puts(m, "'");
	} else {
		sp_puts(m, "the name of a policy is missing");
	}
	sp_puts(m, "; there are ");
	for (unsigned i = 0; (p = sl_policy_at(m->stage, i)); i++)
		sp_put_one_of(m, i, p->name);
	return name.length ? -ENOENT : -EINVAL;
}

static void sp_put_parameters(struct sp_message *m)
{
	const struct sl_param *p = m->policy->params;

	if (!p || !p->name) {
		sp_puts(m, "; it takes none");
		return;
	}
	sp_puts(m, "; there are ");
	for (unsigned i = 0; p[i].name; i++)
		sp_put_one_of(m, i, p[i].name);
}

static int sp_no_parameter(struct sp_message *m, struct sp_word key)
{
	sp_where(m);
	if (key.length) {
		sp_puts(m, "no parameter '");
		sp_put_word(m, key);
		sp_puts(m, "'");
	} else {
		sp_puts(m, "the name of a parameter is missing");
	}
	sp_put_parameters(m);
	return key.length ? -ENOENT : -EINVAL;
}

static int sp_bad_parameter(struct sp_message *m, const struct sl_param *p, const char *what)
{
	sp_where(m);
	sp_puts(m, p->name);
	sp_puts(m, what);
	sp_put_range(m, p);
	return -EINVAL;
}

static const char *sp_kind(enum sl_unit unit)
{
	switch (unit) {
	case SL_CHOICE:
		return " is not possible";
	case SL_BYTES:
		return " is not a size like 65536, 64Ki or 1.5MiB";
	case SL_FILE:
		return " is too long";
	case SL_COUNT:
	case SL_US:
	case SL_MS:
		break;
	}
	return " is not a whole number";
}

static int sp_bad_value(struct sp_message *m, const struct sl_param *p, struct sp_word value,
			int why)
{
	sp_where(m);
	sp_puts(m, p->name);
	sp_char(m, '=');
	sp_put_word(m, value);
	sp_puts(m, why == -ERANGE ? " is out of range" : sp_kind(p->unit));
	sp_put_range(m, p);
	return why;
}

/* ---- values ---- */

/* Digits with an optional minus, so that -1 is reported as out of range and not as malformed. */
static int sp_integer(const char *s, int64_t *out)
{
	bool negative = *s == '-';
	int64_t n = 0;

	s += negative;
	if (!*s)
		return -EINVAL;
	for (const char *c = s; *c; c++)
		if (*c < '0' || *c > '9')
			return -EINVAL;
	for (; *s; s++) {
		int digit = *s - '0';

		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, negative ? -digit : digit, &n))
			return -ERANGE;
	}
	*out = n;
	return 0;
}

static int sp_value(const struct sl_param *p, struct sp_word w, int64_t *out)
{
	char text[SP_MAX_VALUE + 1];
	uint64_t bytes = 0;
	int64_t n = 0;
	int err = -EINVAL;

	if (p->unit == SL_FILE) {
		if (w.length > SL_SPEC_FILE_MAX)
			return -EINVAL;
		*out = sl_spec_hash(w.text, w.length);
		return 0;
	}
	if (w.length > SP_MAX_VALUE)
		return -EINVAL;
	memcpy(text, w.text, w.length);
	text[w.length] = '\0';
	switch (p->unit) {
	case SL_CHOICE:
		for (n = 0; n <= p->max; n++) {
			if (!strcmp(text, p->choices[n])) {
				err = 0;
				break;
			}
		}
		break;
	case SL_BYTES:
		err = sl_parse_bytes(text, &bytes);
		if (!err && bytes > INT64_MAX)
			err = -ERANGE;
		n = (int64_t)bytes;
		break;
	case SL_FILE:
		break;
	case SL_COUNT:
	case SL_US:
	case SL_MS:
		err = sp_integer(text, &n);
		break;
	}
	if (!err && (n < p->min || n > p->max))
		err = -ERANGE;
	if (!err)
		*out = n;
	return err;
}

int64_t sl_spec_hash(const char *name, size_t length)
{
	return (int64_t)(sl_fnv(SL_FNV, name, length) >> 1 | 1);
}

/* ---- the text ---- */

/*
 * Returns the next piece up to a comma. *text then points behind the comma, or is NULL at the end.
 */
static struct sp_word sp_piece(const char **text)
{
	struct sp_word w = { *text, strcspn(*text, ",") };

	*text = w.text[w.length] ? w.text + w.length + 1 : NULL;
	return w;
}

static int sp_parameter(struct sl_spec *spec, unsigned *given, struct sp_word piece,
			struct sp_message *m)
{
	const struct sl_param *p = spec->policy->params;
	const char *equals = memchr(piece.text, '=', piece.length);
	struct sp_word key = piece, value = { 0 };
	unsigned i = 0;
	int err;

	if (equals) {
		key.length = (size_t)(equals - piece.text);
		value.text = equals + 1;
		value.length = piece.length - key.length - 1;
	}
	while (p && p[i].name &&
	       (strlen(p[i].name) != key.length || memcmp(p[i].name, key.text, key.length) != 0))
		i++;
	if (!p || !p[i].name)
		return sp_no_parameter(m, key);
	if (value.length == 0)
		return sp_bad_parameter(m, &p[i], " has no value");
	if (*given & 1U << i)
		return sp_bad_parameter(m, &p[i], " is given twice");
	*given |= 1U << i;
	err = sp_value(&p[i], value, &spec->values[i]);
	return err ? sp_bad_value(m, &p[i], value, err) : 0;
}

int sl_spec_parse(enum sl_stage stage, const char *text, struct sl_spec *out, char *err,
		  size_t err_size)
{
	struct sp_message m = { .text = err, .size = err_size, .stage = stage };
	struct sl_spec spec = { .policy = sl_policy_at(stage, 0) };
	unsigned given = 0;

	if (text) {
		struct sp_word name = sp_piece(&text);

		spec.policy = sl_policy_find(stage, name.text, name.length);
		if (!spec.policy)
			return sp_no_policy(&m, name);
	}
	m.policy = spec.policy;
	for (unsigned i = 0; m.policy->params && m.policy->params[i].name; i++)
		spec.values[i] = m.policy->params[i].def;
	while (text) {
		int result = sp_parameter(&spec, &given, sp_piece(&text), &m);

		if (result)
			return result;
	}
	*out = spec;
	return 0;
}

bool sl_spec_file(const char *text, const char *param, char name[SL_SPEC_FILE_MAX + 1])
{
	size_t n = strlen(param);

	sp_piece(&text);
	while (text) {
		struct sp_word piece = sp_piece(&text);

		if (piece.length <= n + 1 || piece.length > n + 1 + SL_SPEC_FILE_MAX ||
		    memcmp(piece.text, param, n) != 0 || piece.text[n] != '=')
			continue;
		memcpy(name, piece.text + n + 1, piece.length - n - 1);
		name[piece.length - n - 1] = '\0';
		return true;
	}
	return false;
}
