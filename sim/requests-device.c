/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device of a scenario of requests, in YAML: the name of a preset, or what differs from one,
 *
 *	{ like: hdd, read: 200MB/s, write: 200MB/s, read_seek: 4ms, write_seek: 4ms,
 *	  operation: 50us, streams: 4, depth: 1 }
 *
 * in any order. Without `like`, what is left out is as it was.
 */
#include "sim/requests-device.h"

#include <stdbool.h>
#include <string.h>

#define MAX_TIME (INT64_C(1000000) * 1000000000)

static int rd_like(const struct sl_yaml *y, const yaml_node_t *node, struct sl_device_model *out)
{
	const char *names[32] = { NULL };
	const struct sl_device_model *m;
	unsigned i;
	int rc;

	for (i = 0; i < 31 && (m = sl_device_preset(i)); i++)
		names[i] = m->name;
	if ((rc = sl_yaml_word(y, node, names, &i)))
		return rc;
	*out = *sl_device_preset(i);
	return 0;
}

/* "like" has been taken before, wherever it stands. */
static int rd_skip(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	(void)y, (void)key, (void)node, (void)into;
	return 0;
}

static int rd_key(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct sl_device_model *m = into;
	int op = !strncmp(key, "write", 5);

	if (!strcmp(key, "read") || !strcmp(key, "write"))
		return sl_yaml_rate(y, node, 1000000, SL_MAX_RATE, &m->bps[op]);
	if (!strcmp(key, "read_seek") || !strcmp(key, "write_seek"))
		return sl_yaml_time(y, node, 0, MAX_TIME, &m->seek_ns[op]);
	if (!strcmp(key, "operation"))
		return sl_yaml_time(y, node, 0, MAX_TIME, &m->op_ns);
	if (!strcmp(key, "streams"))
		return sl_yaml_count32(y, node, 1, SL_DEVICE_STREAMS, &m->streams);
	return sl_yaml_count32(y, node, 1, SL_DEVICE_DEPTH, &m->depth);
}

int sl_requests_device(struct sl_yaml *y, const yaml_node_t *node, struct sl_device_model *out)
{
	static const struct sl_yaml_key keys[] = {
		{ "like", rd_skip },	 { "read", rd_key },	   { "write", rd_key },
		{ "read_seek", rd_key }, { "write_seek", rd_key }, { "operation", rd_key },
		{ "streams", rd_key },	 { "depth", rd_key },	   { 0 },
	};
	int rc;

	if (node->type != YAML_MAPPING_NODE)
		return rd_like(y, node, out);
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *k = yaml_document_get_node(y->doc, p->key);

		if (k->type == YAML_SCALAR_NODE && !strcmp(sl_yaml_text(k), "like") &&
		    (rc = rd_like(y, yaml_document_get_node(y->doc, p->value), out)))
			return rc;
	}
	if ((rc = sl_yaml_mapping(y, node, keys, "a device", out)))
		return rc;
	/* A preset may have a seek below 0, which a shorter operation must not outrun. */
	for (int op = 0; op < 2; op++)
		if (out->seek_ns[op] < -out->op_ns)
			out->seek_ns[op] = -out->op_ns;
	out->name = "given";
	return 0;
}
