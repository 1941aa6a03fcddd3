/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read YAML along a schema, with messages that name the place and the possible values:
 *
 *	static const struct sl_yaml_key keys[] = { { "name", take_name }, { "jobs", take_jobs },
 *						   { 0 } };
 *
 *	static int root(struct sl_yaml *y, const yaml_node_t *node, void *into)
 *	{
 *		return sl_yaml_mapping(y, node, keys, "the file", into);
 *	}
 *	rc = sl_yaml_read("mix.yaml", root, &config, err, sizeof(err));
 *
 * libyaml makes a tree whose nodes have line numbers. The walk goes only as deep as the schema, so
 * aliases, even to a node's own parent, are harmless.
 *
 * Functions return 0, or -EINVAL or -ENOMEM with a message: "FILE:LINE: what is wrong".
 * sl_yaml_bad() adds the path of the current value, "jobs[1].volume".
 */
#ifndef SL_BASE_YAML_H
#define SL_BASE_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

#define SL_YAML_PATH 120

struct sl_yaml {
	yaml_document_t *doc;
	const char *file; /* for messages */
	char *err;
	size_t err_size;
	char path[SL_YAML_PATH]; /* of the value that is being taken; too long: cut off */
};

/* take() checks a value and stores it in the caller's structure. */
struct sl_yaml_key {
	const char *name;
	int (*take)(struct sl_yaml *y, const char *key, const yaml_node_t *value, void *into);
};

/*
 * Walk the one document of the text; if it has none, nothing is called. A file may have at most 16
 * MiB. If it cannot be read, the message has no line, and rc is its errno.
 */
int sl_yaml_parse(const char *file, const char *text, size_t length,
		  int (*root)(struct sl_yaml *y, const yaml_node_t *node, void *into), void *into,
		  char *err, size_t err_size);
int sl_yaml_read(const char *file,
		 int (*root)(struct sl_yaml *y, const yaml_node_t *node, void *into), void *into,
		 char *err, size_t err_size);

/* ---- for take() functions ---- */

/* "FILE:LINE: ..." into err; returns -EINVAL. */
int sl_yaml_wrong(const struct sl_yaml *y, size_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "FILE:LINE: PATH: ..."; returns -EINVAL. */
int sl_yaml_bad(const struct sl_yaml *y, const yaml_node_t *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int sl_yaml_no_memory(const struct sl_yaml *y, const yaml_node_t *node); /* -ENOMEM */

size_t sl_yaml_line(const yaml_node_t *node);
const char *sl_yaml_text(const yaml_node_t *node); /* of a scalar; borrowed until the end */

/* Check that it is a non-empty scalar; what: for the message, "a rate like 200M". */
int sl_yaml_scalar(const struct sl_yaml *y, const char *key, const yaml_node_t *node,
		   const char *what);
/* A copy of a scalar's text, to be freed. */
int sl_yaml_copy(const struct sl_yaml *y, const yaml_node_t *node, char **out);
/* keys: up to 32, ends with name NULL; where: for the message, "a job". */
int sl_yaml_mapping(struct sl_yaml *y, const yaml_node_t *node, const struct sl_yaml_key *keys,
		    const char *where, void *into);
/* Each item of a list, in order; what: for the message, "a list: '- job: NAME' and its keys". */
int sl_yaml_list(struct sl_yaml *y, const char *key, const yaml_node_t *node, const char *what,
		 int (*each)(struct sl_yaml *y, const yaml_node_t *node, void *into), void *into);

/* Scalars with their range; messages by sl_yaml_bad(). */
int sl_yaml_count(const struct sl_yaml *y, const yaml_node_t *node, uint64_t low, uint64_t high,
		  uint64_t *out);
int sl_yaml_count32(const struct sl_yaml *y, const yaml_node_t *node, uint32_t low, uint32_t high,
		    uint32_t *out);
int sl_yaml_bytes(const struct sl_yaml *y, const yaml_node_t *node, uint64_t low, uint64_t high,
		  uint64_t *out);
int sl_yaml_rate(const struct sl_yaml *y, const yaml_node_t *node, uint64_t low, uint64_t high,
		 uint64_t *out_bps);
int sl_yaml_time(const struct sl_yaml *y, const yaml_node_t *node, int64_t low_ns, int64_t high_ns,
		 int64_t *out_ns);
/* Whether it is a mapping with that key. */
bool sl_yaml_has(const struct sl_yaml *y, const yaml_node_t *node, const char *name);
/* One of the words; *out is its index. words ends with NULL. */
int sl_yaml_word(const struct sl_yaml *y, const yaml_node_t *node, const char *const *words,
		 unsigned *out);

#endif
