/* SPDX-License-Identifier: Apache-2.0 */
/* Names and keys of operations: see ops.h. */
#include "wire/ops.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"

const char *const sl_class_names[SL_CLASSES] = { "create", "lookup", "remove", "list",
						 "attribute" };

const char *const sl_meter_keys[SL_METERS] = {
	"max_create", "max_lookup", "max_remove", "max_list",  "max_attribute",
	"max_ops",    "max_iops",   "max_read",	  "max_write",
};

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

int sl_ops_key(struct sl_ops_conf *c, const char *key, const char *value)
{
	if (!strcmp(key, "min_ops"))
		return sl_ops_parse(value, &c->min_ops);
	for (unsigned m = 0; m < SL_METERS; m++)
		if (!strcmp(key, sl_meter_keys[m]))
			return m >= SL_METER_READ ? (sl_parse_rate(value, &c->max[m]) ? -EINVAL : 0)
						  : sl_ops_parse(value, &c->max[m]);
	return -ENOENT;
}

uint64_t sl_meter_step(uint64_t per_second)
{
	return per_second ? (uint64_t)(((unsigned __int128)1000000000 << 32) / per_second) : 0;
}
