/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with units, and quantities that vary, in the YAML of scenarios.
 *
 * A number may have a fraction, an exponent and a unit: K M G T P and Ki Mi Gi Ti Pi for bytes,
 * with or without B, and /s or ps for rates; ns us ms s m (or min) h d for times. It becomes the
 * double nearest to the digits, times the unit: 1.5Gi is 1.5 * 2^30. base/units.h reads integers,
 * for which there is no 0.3 of a byte; here there may be, and an average of a second is not a whole
 * number of nanoseconds.
 *
 * A quantity of every iteration is a number, a list (which begins again after its end),
 * {uniform: [from, to]}, {normal: [mean, deviation]} or {exponential: mean}.
 */
#include "sim/quantity.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers with units ---- */

struct sl_quantity_unit {
	const char *name;
	double size; /* negative: one over; 5ms is 5 / 1000, which is exact where 5 * 0.001 is not
		      */
};

static const struct sl_quantity_unit byte_units[] = {
	{ "", 1 },	  { "K", 1e3 },	    { "M", 1e6 },     { "G", 1e9 },
	{ "T", 1e12 },	  { "P", 1e15 },    { "Ki", 0x1p10 }, { "Mi", 0x1p20 },
	{ "Gi", 0x1p30 }, { "Ti", 0x1p40 }, { "Pi", 0x1p50 }, { 0 },
};
static const struct sl_quantity_unit time_units[] = {
	{ "", 1 },   { "s", 1 },    { "ms", -1e3 }, { "us", -1e6 }, { "ns", -1e9 },
	{ "m", 60 }, { "min", 60 }, { "h", 3600 },  { "d", 86400 }, { 0 },
};

const struct sl_quantity sl_a_rate = { "a rate like 200M, 1.5Gi or 100MB/s", byte_units,
				       SL_SIM_BYTES, true, false };
const struct sl_quantity sl_a_size = { "a size like 200M or 1.5Gi", byte_units, SL_SIM_BYTES, false,
				       false };
const struct sl_quantity sl_a_volume = { "a size like 200M or 1.5Gi", byte_units, SL_SIM_BYTES,
					 false, true };
const struct sl_quantity sl_a_time = { "a time like 18, 20ms or 6m (units: ns, us, ms, s, m, h, d)",
				       time_units, SL_SIM_SECONDS, false, true };

static bool qu_ends(const char *text, size_t *length, const char *end)
{
	size_t n = strlen(end);

	if (*length < n || memcmp(text + *length - n, end, n) != 0)
		return false;
	*length -= n;
	return true;
}

/* DIGITS[.DIGITS][eEXPONENT]; NULL: it is none. strtod() would take "inf" and "0x1p4" too. */
static const char *qu_number_end(const char *s)
{
	const char *digits = s;

	s += strspn(s, "0123456789");
	if (s == digits)
		return NULL;
	if (*s == '.') {
		digits = ++s;
		s += strspn(s, "0123456789");
		if (s == digits)
			return NULL;
	}
	if (*s == 'e' || *s == 'E') {
		digits = s + 1 + (s[1] == '+' || s[1] == '-');
		s = digits + strspn(digits, "0123456789");
		if (s == digits)
			return NULL;
	}
	return s;
}

int sl_quantity_take(const struct sl_yaml *y, const yaml_node_t *node, const struct sl_quantity *q,
		     double *out)
{
	int rc = sl_yaml_scalar(y, y->path, node, q->what);
	const char *text, *unit;
	size_t length;
	double value;

	if (rc)
		return rc;
	text = sl_yaml_text(node);
	unit = qu_number_end(text + (*text == '-'));
	if (!unit)
		return sl_yaml_bad(y, node, "'%.40s' is not %s", text, q->what);
	length = strlen(unit);
	if (q->rate && !qu_ends(unit, &length, "/s"))
		qu_ends(unit, &length, "ps");
	if (q->units == byte_units)
		qu_ends(unit, &length, "B");
	for (const struct sl_quantity_unit *u = q->units;; u++) {
		if (!u->name)
			return sl_yaml_bad(y, node, "'%.40s' is not %s", text, q->what);
		if (strlen(u->name) == length && !memcmp(u->name, unit, length)) {
			value = strtod(text, NULL);
			value = u->size > 0 ? value * u->size : value / -u->size;
			break;
		}
	}
	if (*text == '-')
		return sl_yaml_bad(y, node, "'%.40s' is negative", text);
	if (!(value < q->max))
		return sl_yaml_bad(y, node, "'%.40s' is too much; it must be less than %g", text,
				   q->max);
	if (!q->zero && !(value > 0))
		return sl_yaml_bad(y, node, "'%.40s' is zero; it must be more", text);
	*out = value;
	return 0;
}

/* ---- quantities that vary ---- */

struct taken_vary {
	struct sl_vary *v;
	const struct sl_quantity *q;
	unsigned given; /* distributions */
};

static int qu_pair(struct sl_yaml *y, const yaml_node_t *node, const struct sl_quantity *q,
		   const char *what, double *a, double *b)
{
	const yaml_node_item_t *item = node->data.sequence.items.start;
	int rc;

	if (node->type != YAML_SEQUENCE_NODE || node->data.sequence.items.top - item != 2)
		return sl_yaml_bad(y, node, "this is a list of two: %s", what);
	rc = sl_quantity_take(y, yaml_document_get_node(y->doc, item[0]), q, a);
	return rc ? rc : sl_quantity_take(y, yaml_document_get_node(y->doc, item[1]), q, b);
}

static int qu_uniform(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct taken_vary *t = into;
	int rc = qu_pair(y, value, t->q, "[from, to]", &t->v->a, &t->v->b);

	(void)key;
	t->v->kind = SL_VARY_UNIFORM;
	t->given++;
	if (!rc && t->v->a > t->v->b)
		rc = sl_yaml_bad(y, value, "the smaller one comes first");
	return rc;
}

static int qu_normal(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct taken_vary *t = into;

	(void)key;
	t->v->kind = SL_VARY_NORMAL;
	t->given++;
	return qu_pair(y, value, t->q, "[mean, standard deviation]", &t->v->a, &t->v->b);
}

static int qu_exponential(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into)
{
	struct taken_vary *t = into;

	(void)key;
	t->v->kind = SL_VARY_EXPONENTIAL;
	t->given++;
	return sl_quantity_take(y, value, t->q, &t->v->a);
}

static int qu_item(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	struct taken_vary *t = into;

	return sl_quantity_take(y, node, t->q, &t->v->list[t->v->count++]);
}

int sl_vary_take(struct sl_yaml *y, const yaml_node_t *node, const struct sl_quantity *q,
		 struct sl_vary *v)
{
	static const struct sl_yaml_key keys[] = {
		{ "uniform", qu_uniform },
		{ "normal", qu_normal },
		{ "exponential", qu_exponential },
		{ 0 },
	};
	struct taken_vary t = { .v = v, .q = q };
	ptrdiff_t items;
	int rc;

	if (node->type == YAML_MAPPING_NODE) {
		rc = sl_yaml_mapping(y, node, keys, "a quantity", &t);
		if (!rc && t.given != 1)
			rc = sl_yaml_bad(y, node, "there must be one distribution, not %u",
					 t.given);
		return rc;
	}
	if (node->type != YAML_SEQUENCE_NODE)
		return sl_quantity_take(y, node, q, &v->a);
	items = node->data.sequence.items.top - node->data.sequence.items.start;
	if (!items)
		return sl_yaml_bad(y, node, "the list is empty");
	v->kind = SL_VARY_LIST;
	v->list = calloc((size_t)items, sizeof(*v->list));
	if (!v->list)
		return sl_yaml_no_memory(y, node);
	return sl_yaml_list(y, "a quantity", node, q->what, qu_item, &t);
}
