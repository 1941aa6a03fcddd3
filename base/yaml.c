/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read YAML along a schema: see yaml.h. libcyaml would do the walk, but it reports an error in
 * several lines of a log, without the possible values.
 */
#include "base/yaml.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guess.h"
#include "base/slurp.h"
#include "base/units.h"

#define FILE_MAX (16 << 20)

/* ---- messages ---- */

static void ym_text(const struct sl_yaml *y, size_t at, const char *format, va_list args)
{
	if (at < y->err_size)
		vsnprintf(y->err + at, y->err_size - at, format, args);
}

int sl_yaml_wrong(const struct sl_yaml *y, size_t line, const char *format, ...)
{
	va_list args;
	int at = snprintf(y->err, y->err_size, "%.200s:%zu: ", y->file, line);

	va_start(args, format);
	ym_text(y, (size_t)at, format, args);
	va_end(args);
	return -EINVAL;
}

int sl_yaml_bad(const struct sl_yaml *y, const yaml_node_t *node, const char *format, ...)
{
	va_list args;
	int at = snprintf(y->err, y->err_size, "%.200s:%zu: %s%s", y->file, sl_yaml_line(node),
			  y->path, *y->path ? ": " : "");

	va_start(args, format);
	ym_text(y, (size_t)at, format, args);
	va_end(args);
	return -EINVAL;
}

int sl_yaml_no_memory(const struct sl_yaml *y, const yaml_node_t *node)
{
	sl_yaml_wrong(y, sl_yaml_line(node), "no memory");
	return -ENOMEM;
}

size_t sl_yaml_line(const yaml_node_t *node)
{
	return node->start_mark.line + 1;
}

/* ---- scalars ---- */

const char *sl_yaml_text(const yaml_node_t *node)
{
	return (const char *)node->data.scalar.value;
}

int sl_yaml_scalar(const struct sl_yaml *y, const char *key, const yaml_node_t *node,
		   const char *what)
{
	static const char *const kinds[] = { "nothing", "text", "a list", "a mapping" };

	if (node->type != YAML_SCALAR_NODE)
		return sl_yaml_wrong(y, sl_yaml_line(node), "%s is %s, not %s", key, what,
				     kinds[node->type <= YAML_MAPPING_NODE ? node->type : 0]);
	if (node->data.scalar.length == 0)
		return sl_yaml_wrong(y, sl_yaml_line(node), "%s has no value; it is %s", key, what);
	if (strlen(sl_yaml_text(node)) != node->data.scalar.length)
		return sl_yaml_wrong(y, sl_yaml_line(node), "%s contains a zero byte", key);
	return 0;
}

int sl_yaml_copy(const struct sl_yaml *y, const yaml_node_t *node, char **out)
{
	*out = strdup(sl_yaml_text(node));
	return *out ? 0 : sl_yaml_no_memory(y, node);
}

/* The path of the value for messages; a value at the top has none. */
static const char *ym_where(const struct sl_yaml *y)
{
	return *y->path ? y->path : "the file";
}

int sl_yaml_count(const struct sl_yaml *y, const yaml_node_t *node, uint64_t low, uint64_t high,
		  uint64_t *out)
{
	unsigned long long value;
	char *end;
	int rc = sl_yaml_scalar(y, ym_where(y), node, "a number");

	if (rc)
		return rc;
	errno = 0;
	value = strtoull(sl_yaml_text(node), &end, 10);
	if (*sl_yaml_text(node) < '0' || *sl_yaml_text(node) > '9' || *end || errno ||
	    value < low || value > high)
		return sl_yaml_bad(y, node, "'%.64s' is not a number from %" PRIu64 " to %" PRIu64,
				   sl_yaml_text(node), low, high);
	*out = value;
	return 0;
}

int sl_yaml_count32(const struct sl_yaml *y, const yaml_node_t *node, uint32_t low, uint32_t high,
		    uint32_t *out)
{
	uint64_t value = 0;
	int rc = sl_yaml_count(y, node, low, high, &value);

	if (!rc)
		*out = (uint32_t)value;
	return rc;
}

int sl_yaml_bytes(const struct sl_yaml *y, const yaml_node_t *node, uint64_t low, uint64_t high,
		  uint64_t *out)
{
	char from[16], to[16];
	int rc = sl_yaml_scalar(y, ym_where(y), node, "a size like 64Ki or 1M");

	if (rc)
		return rc;
	if (sl_parse_bytes(sl_yaml_text(node), out))
		return sl_yaml_bad(y, node, "'%.64s' is not a size; write 4096, 64Ki or 1M",
				   sl_yaml_text(node));
	if (*out < low || *out > high)
		return sl_yaml_bad(y, node, "'%.64s' is not a size from %s to %s",
				   sl_yaml_text(node), sl_format_bytes(from, sizeof(from), low),
				   sl_format_bytes(to, sizeof(to), high));
	return 0;
}

int sl_yaml_rate(const struct sl_yaml *y, const yaml_node_t *node, uint64_t low, uint64_t high,
		 uint64_t *out_bps)
{
	char from[16], to[16];
	int rc = sl_yaml_scalar(y, ym_where(y), node, "a rate like 200M, 1.5Gi or 100MB/s");

	if (rc)
		return rc;
	if (sl_parse_rate(sl_yaml_text(node), out_bps))
		return sl_yaml_bad(y, node, "'%.64s' is not a rate; write 200M, 1.5Gi or 100MB/s",
				   sl_yaml_text(node));
	if (*out_bps < low || *out_bps > high)
		return sl_yaml_bad(y, node, "'%.64s' is not a rate from %s to %s",
				   sl_yaml_text(node), sl_format_rate(from, sizeof(from), low),
				   sl_format_rate(to, sizeof(to), high));
	return 0;
}

int sl_yaml_time(const struct sl_yaml *y, const yaml_node_t *node, int64_t low_ns, int64_t high_ns,
		 int64_t *out_ns)
{
	char from[16], to[16];
	int rc = sl_yaml_scalar(y, ym_where(y), node, "a time like 250us, 2ms or 1.5s");

	if (rc)
		return rc;
	if (sl_parse_time(sl_yaml_text(node), out_ns))
		return sl_yaml_bad(
			y, node,
			"'%.64s' is not a time; write 250us, 2ms or 1.5s (ns, us, ms, s, m, h, d)",
			sl_yaml_text(node));
	if (*out_ns < low_ns || *out_ns > high_ns)
		return sl_yaml_bad(y, node, "'%.64s' is not a time from %s to %s",
				   sl_yaml_text(node), sl_format_time(from, sizeof(from), low_ns),
				   sl_format_time(to, sizeof(to), high_ns));
	return 0;
}

int sl_yaml_word(const struct sl_yaml *y, const yaml_node_t *node, const char *const *words,
		 unsigned *out)
{
	struct sl_guess guess = { 0 };
	char all[200] = "";
	int rc = sl_yaml_scalar(y, ym_where(y), node, "a word");

	if (rc)
		return rc;
	guess.word = sl_yaml_text(node);
	for (unsigned i = 0; words[i]; i++) {
		size_t used = strlen(all);

		if (!strcmp(words[i], guess.word)) {
			*out = i;
			return 0;
		}
		sl_consider(&guess, words[i]);
		snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", words[i]);
	}
	return sl_yaml_bad(y, node, "'%.64s' is not known%s%s%s; there are %s", guess.word,
			   guess.best ? " (did you mean '" : "", guess.best ? guess.best : "",
			   guess.best ? "'?)" : "", all);
}

/* ---- mappings and lists ---- */

static int ym_unknown(const struct sl_yaml *y, const yaml_node_t *node,
		      const struct sl_yaml_key *keys, const char *where)
{
	struct sl_guess guess = { .word = sl_yaml_text(node) };
	char all[400] = "";

	for (const struct sl_yaml_key *k = keys; k->name; k++) {
		size_t used = strlen(all);

		sl_consider(&guess, k->name);
		snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", k->name);
	}
	return sl_yaml_wrong(y, sl_yaml_line(node), "%s has no key '%.32s'%s%s%s; there are %s",
			     where, sl_yaml_text(node), guess.best ? " (did you mean '" : "",
			     guess.best ? guess.best : "", guess.best ? "'?)" : "", all);
}

int sl_yaml_mapping(struct sl_yaml *y, const yaml_node_t *node, const struct sl_yaml_key *keys,
		    const char *where, void *into)
{
	size_t path = strlen(y->path);
	uint32_t seen = 0;
	int rc;

	if (node->type != YAML_MAPPING_NODE)
		return sl_yaml_wrong(y, sl_yaml_line(node),
				     "%s is a mapping: lines of 'key: value'", where);
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *key = yaml_document_get_node(y->doc, p->key);
		const yaml_node_t *value = yaml_document_get_node(y->doc, p->value);
		const struct sl_yaml_key *k = keys;

		if ((rc = sl_yaml_scalar(y, "a key", key, "a word")))
			return rc;
		while (k->name && strcmp(k->name, sl_yaml_text(key)) != 0)
			k++;
		if (!k->name)
			return ym_unknown(y, key, keys, where);
		assert(k - keys < 32);
		if (seen & UINT32_C(1) << (k - keys))
			return sl_yaml_wrong(y, sl_yaml_line(key), "%s is given twice", k->name);
		seen |= UINT32_C(1) << (k - keys);
		snprintf(y->path + path, sizeof(y->path) - path, "%s%s", path ? "." : "", k->name);
		if ((rc = k->take(y, k->name, value, into)))
			return rc;
		y->path[path] = 0;
	}
	return 0;
}

bool sl_yaml_has(const struct sl_yaml *y, const yaml_node_t *node, const char *name)
{
	if (node->type != YAML_MAPPING_NODE)
		return false;
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *key = yaml_document_get_node(y->doc, p->key);

		if (key->type == YAML_SCALAR_NODE && !strcmp(sl_yaml_text(key), name))
			return true;
	}
	return false;
}

int sl_yaml_list(struct sl_yaml *y, const char *key, const yaml_node_t *node, const char *what,
		 int (*each)(struct sl_yaml *y, const yaml_node_t *node, void *into), void *into)
{
	size_t path = strlen(y->path);
	int rc;

	if (node->type != YAML_SEQUENCE_NODE)
		return sl_yaml_wrong(y, sl_yaml_line(node), "%s is %s", key, what);
	for (yaml_node_item_t *i = node->data.sequence.items.start;
	     i < node->data.sequence.items.top; i++) {
		snprintf(y->path + path, sizeof(y->path) - path, "[%td]",
			 i - node->data.sequence.items.start);
		if ((rc = each(y, yaml_document_get_node(y->doc, *i), into)))
			return rc;
		y->path[path] = 0;
	}
	return 0;
}

/* ---- the text and the file ---- */

/* Whether the error is a tab; libyaml only reports an unexpected character. */
static bool ym_tab(const char *text, size_t length, size_t at)
{
	return at < length && text[at] == '\t';
}

static int ym_load(const struct sl_yaml *y, yaml_parser_t *parser, yaml_document_t *doc,
		   const char *text, size_t length)
{
	if (yaml_parser_load(parser, doc))
		return 0;
	if (parser->error == YAML_MEMORY_ERROR) {
		sl_yaml_wrong(y, 1, "no memory");
		return -ENOMEM;
	}
	return sl_yaml_wrong(y, parser->problem_mark.line + 1, "this is not YAML: %s%s",
			     parser->problem ? parser->problem : "cannot be read",
			     ym_tab(text, length, parser->problem_mark.index)
				     ? "; a tab is not allowed here, indent with spaces"
				     : "");
}

/* The time of libyaml grows with the square of the depth: 20 s for 100,000 brackets. */
#define DEPTH_MOST 64

static int ym_depth(const struct sl_yaml *y, const char *text, size_t length)
{
	yaml_parser_t parser;
	yaml_event_t event;
	unsigned depth = 0;
	bool more = true;
	int rc = 0;

	if (!yaml_parser_initialize(&parser)) {
		sl_yaml_wrong(y, 1, "no memory");
		return -ENOMEM;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	/* ym_load() reports text that is no YAML. */
	while (!rc && more && yaml_parser_parse(&parser, &event)) {
		more = event.type != YAML_STREAM_END_EVENT;
		if (event.type == YAML_SEQUENCE_START_EVENT ||
		    event.type == YAML_MAPPING_START_EVENT)
			depth++;
		else if (event.type == YAML_SEQUENCE_END_EVENT ||
			 event.type == YAML_MAPPING_END_EVENT)
			depth--;
		if (depth > DEPTH_MOST)
			rc = sl_yaml_wrong(y, event.start_mark.line + 1,
					   "lists and mappings are nested more than %d deep",
					   DEPTH_MOST);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return rc;
}

int sl_yaml_parse(const char *file, const char *text, size_t length,
		  int (*root)(struct sl_yaml *y, const yaml_node_t *node, void *into), void *into,
		  char *err, size_t err_size)
{
	yaml_document_t doc, more;
	struct sl_yaml y = { .doc = &doc, .file = file, .err = err, .err_size = err_size };
	const yaml_node_t *node;
	yaml_parser_t parser;
	int rc;

	if ((rc = ym_depth(&y, text, length)))
		return rc;
	if (!yaml_parser_initialize(&parser)) {
		sl_yaml_wrong(&y, 1, "no memory");
		return -ENOMEM;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	rc = ym_load(&y, &parser, &doc, text, length);
	if (!rc) {
		node = yaml_document_get_root_node(&doc);
		if (node)
			rc = root(&y, node, into);
		if (!rc && node && !(rc = ym_load(&y, &parser, &more, text, length))) {
			node = yaml_document_get_root_node(&more);
			if (node)
				rc = sl_yaml_wrong(&y, sl_yaml_line(node),
						   "a second document begins here; "
						   "there can be only one");
			yaml_document_delete(&more);
		}
		yaml_document_delete(&doc);
	}
	yaml_parser_delete(&parser);
	return rc;
}

int sl_yaml_read(const char *file,
		 int (*root)(struct sl_yaml *y, const yaml_node_t *node, void *into), void *into,
		 char *err, size_t err_size)
{
	char *text;
	size_t length;
	int rc = sl_slurp_file(file, FILE_MAX, &text, &length);

	if (rc == -EFBIG)
		snprintf(err, err_size, "%.200s is larger than %d bytes", file, FILE_MAX);
	else if (rc)
		snprintf(err, err_size, "cannot read %.200s: %s", file, strerror(-rc));
	else
		rc = sl_yaml_parse(file, text, length, root, into, err, err_size);
	free(text);
	return rc;
}
