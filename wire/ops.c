/* SPDX-License-Identifier: Apache-2.0 */
/* Names and keys of operations: see ops.h. */
#include "wire/ops.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "sluice.h"

const char *const sl_class_names[SL_CLASSES] = { "create", "lookup", "remove", "list",
						 "attribute" };

const char *const sl_meter_keys[SL_METERS] = {
	"max_create", "max_lookup", "max_remove", "max_list",  "max_attribute",
	"max_ops",    "max_iops",   "max_read",	  "max_write",
};

const char *const sl_min_keys[SL_QUEUES] = { "min_create", "min_lookup",    "min_remove",
					     "min_list",   "min_attribute", "min_ops" };

const char *const sl_weight_keys[SL_CLASSES] = { "weight_create", "weight_lookup", "weight_remove",
						 "weight_list", "weight_attribute" };

int sl_ops_parse(const char *text, uint64_t *out)
{
	const char *at = text;
	uint64_t value = 0;

	for (; *at >= '0' && *at <= '9' && value <= SL_MAX_OPS; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	if (at == text)
		return -EINVAL;
	if (*at == 'k' || *at == 'K')
		value *= 1000, at++;
	else if (*at == 'M')
		value *= 1000000, at++;
	if (*at || value > SL_MAX_OPS)
		return -EINVAL;
	*out = value;
	return 0;
}

static int parse_weight(const char *value, uint64_t *out)
{
	uint64_t weight;

	if (sl_ops_parse(value, &weight) || weight > SL_MAX_WEIGHT)
		return -EINVAL;
	*out = weight;
	return 0;
}

int sl_ops_key(struct sl_ops_conf *c, const char *key, const char *value)
{
	for (unsigned q = 0; q < SL_QUEUES; q++)
		if (!strcmp(key, sl_min_keys[q]))
			return sl_ops_parse(value, &c->min[q]);
	for (unsigned i = 0; i < SL_CLASSES; i++)
		if (!strcmp(key, sl_weight_keys[i]))
			return parse_weight(value, &c->weight[i]);
	for (unsigned m = 0; m < SL_METERS; m++)
		if (!strcmp(key, sl_meter_keys[m]))
			return m >= SL_METER_READ ? (sl_parse_rate(value, &c->max[m]) ? -EINVAL : 0)
						  : sl_ops_parse(value, &c->max[m]);
	return -ENOENT;
}

bool sl_ops_own(const struct sl_ops_conf *c, enum sl_class which)
{
	return c->min[which] || c->weight[which];
}

uint64_t sl_ops_min(const struct sl_ops_conf *c)
{
	uint64_t sum = 0;

	for (unsigned q = 0; q < SL_QUEUES; q++)
		sum += c->min[q];
	return sum;
}

uint64_t sl_meter_step(uint64_t per_second)
{
	return per_second ? (uint64_t)(((unsigned __int128)1000000000 << 32) / per_second) : 0;
}
