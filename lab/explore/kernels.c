/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of an exploration, in YAML: the aspects that the papers' experiments vary. A list
 * makes a kernel for each of its values; several lists make a kernel for each combination.
 *
 *	kernels:
 *	  - name: shared                     # needed, as are request, and data or total
 *	    applications: [1, 4]             # alike and at the same time; default 1
 *	    processes: [8, 16]               # of each; default 1
 *	    nodes: 4                         # compute nodes of each; default: one for a process
 *	    files: shared                    # or per-process
 *	    pattern: [contiguous, strided]   # or random
 *	    operation: [read, write]         # default write
 *	    request: [16Ki, 256Ki]
 *	    data: 4Mi                        # of each process; or total: of each application
 *	    time: 5s                         # live: no call begins after it
 *	    fsync: yes                       # live: at the end
 *	    direct: yes                      # live: O_DIRECT
 *	  - name: storm
 *	    operation: metadata              # live: mdtest's: create, stat, unlink
 *	    items: 1000                      # of each process; with these, no request and no data
 *
 * are 2 x 2 x 2 x 2 x 2 = 32 kernels: shared-x1-8p-contiguous-read-16KiB and so on.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/units.h"
#include "base/yaml.h"
#include "lab/explore/explore.h"

#define MAX_KERNELS 10000
#define NAME_CHOSEN 30 /* the rest of the name describes the combination */
#define MAX_ITEMS   10000000
#define PHASES	    3 /* create, stat, unlink */
#define MAX_TIME    (INT64_C(86400) * 1000000000)

static const char *const files_words[] = { "shared", "per-process", NULL };
static const char *const pattern_words[] = { "contiguous", "strided", "random", NULL };
static const char *const operation_words[] = { "read", "write", "metadata", NULL };

/* In the order in which combinations are enumerated; the last one changes fastest. */
enum { K_APPS, K_FILES, K_PATTERN, K_REQUEST, K_OP, K_PROCS, K_LISTS };

struct kn_list {
	uint64_t value[EXPLORE_LIST];
	uint32_t n;
};

struct kn_kernel {
	char name[NAME_CHOSEN + 1];
	struct kn_list list[K_LISTS];
	uint32_t nodes;
	uint64_t data_bytes, total_bytes, items;
	sl_time limit_ns;
	bool fsync, direct;
	int which; /* of the list whose values are being taken */
};

/* ---- keys ---- */

static int kn_value(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	struct kn_kernel *k = into;
	struct kn_list *l = &k->list[k->which];
	unsigned word = 0;
	uint64_t value = 0;
	int rc;

	switch (k->which) {
	case K_APPS:
		rc = sl_yaml_count(y, node, 1, SL_REQUESTS_APPS, &value);
		break;
	case K_PROCS:
		rc = sl_yaml_count(y, node, 1, SL_REQUESTS_PROCS, &value);
		break;
	case K_REQUEST:
		rc = sl_yaml_bytes(y, node, 1, UINT64_C(1) << 30, &value);
		break;
	default:
		rc = sl_yaml_word(y, node,
				  k->which == K_FILES	  ? files_words
				  : k->which == K_PATTERN ? pattern_words
							  : operation_words,
				  &word);
		value = word;
	}
	if (rc)
		return rc;
	for (uint32_t i = 0; i < l->n; i++)
		if (l->value[i] == value)
			return sl_yaml_bad(y, node, "'%.64s' is given twice", sl_yaml_text(node));
	if (l->n == EXPLORE_LIST)
		return sl_yaml_bad(y, node, "more than %d", EXPLORE_LIST);
	l->value[l->n++] = value;
	return 0;
}

static int kn_list(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	static const char *const keys[K_LISTS] = {
		[K_APPS] = "applications", [K_FILES] = "files",	 [K_PATTERN] = "pattern",
		[K_REQUEST] = "request",   [K_OP] = "operation", [K_PROCS] = "processes",
	};
	struct kn_kernel *k = into;

	for (k->which = 0; strcmp(keys[k->which], key) != 0; k->which++)
		;
	if (node->type == YAML_SCALAR_NODE)
		return kn_value(y, node, into);
	return sl_yaml_list(y, key, node, "a value, or a list like [a, b]", kn_value, into);
}

static int kn_name(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-_.+";
	struct kn_kernel *k = into;
	int rc = sl_yaml_scalar(y, key, node, "the name of a kernel");

	if (rc)
		return rc;
	if (strlen(sl_yaml_text(node)) > NAME_CHOSEN ||
	    strspn(sl_yaml_text(node), good) != strlen(sl_yaml_text(node)))
		return sl_yaml_bad(y, node,
				   "'%.64s': a name has up to %d letters, digits and - _ . +",
				   sl_yaml_text(node), NAME_CHOSEN);
	strcpy(k->name, sl_yaml_text(node));
	return 0;
}

static int kn_rest(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	static const char *const yes_no[] = { "no", "yes", "false", "true", NULL };
	struct kn_kernel *k = into;
	unsigned word = 0;
	int rc;

	if (!strcmp(key, "nodes"))
		return sl_yaml_count32(y, node, 1, 1000000, &k->nodes);
	if (!strcmp(key, "data"))
		return sl_yaml_bytes(y, node, 1, UINT64_C(1) << 50, &k->data_bytes);
	if (!strcmp(key, "total"))
		return sl_yaml_bytes(y, node, 1, UINT64_C(1) << 50, &k->total_bytes);
	if (!strcmp(key, "items"))
		return sl_yaml_count(y, node, 1, MAX_ITEMS, &k->items);
	if (!strcmp(key, "time"))
		return sl_yaml_time(y, node, 1000000, MAX_TIME, &k->limit_ns);
	if (!(rc = sl_yaml_word(y, node, yes_no, &word)))
		*(!strcmp(key, "fsync") ? &k->fsync : &k->direct) = word % 2;
	return rc;
}

/* ---- combinations ---- */

/* Append the varying values to the chosen name. False: too long. */
static bool kn_call(const struct kn_kernel *k, struct explore_kernel *out)
{
	char size[16], text[EXPLORE_NAME * 2];
	int n = snprintf(text, sizeof(text), "%s", k->name);

	for (int i = 0; i < K_LISTS; i++) {
		char *to = text + n;
		size_t room = sizeof(text) - (size_t)n;

		if (k->list[i].n < 2)
			continue;
		if (i == K_APPS)
			n += snprintf(to, room, "-x%u", out->apps);
		else if (i == K_FILES)
			n += snprintf(to, room, "-%s", files_words[out->per_process]);
		else if (i == K_PATTERN)
			n += snprintf(to, room, "-%s", pattern_words[out->spatial]);
		else if (i == K_REQUEST)
			n += snprintf(to, room, "-%s",
				      sl_format_bytes(size, sizeof(size), out->request_bytes));
		else if (i == K_OP)
			n += snprintf(to, room, "-%s", operation_words[out->op]);
		else
			n += snprintf(to, room, "-%up", out->procs);
	}
	snprintf(out->name, sizeof(out->name), "%.*s", EXPLORE_NAME - 1, text);
	return n < EXPLORE_NAME;
}

static int kn_check(const struct sl_yaml *y, const yaml_node_t *node, const struct kn_kernel *k,
		    const struct explore_kernel *e)
{
	uint64_t calls = e->data_bytes / e->request_bytes;

	if (k->total_bytes && k->total_bytes % e->procs)
		return sl_yaml_bad(y, node, "total %" PRIu64 " is not a multiple of %u processes",
				   k->total_bytes, e->procs);
	if (!calls || e->data_bytes % e->request_bytes)
		return sl_yaml_bad(y, node,
				   "the data of a process, %" PRIu64 ", is not a multiple of "
				   "request %" PRIu64 "; the next is %" PRIu64,
				   e->data_bytes, e->request_bytes, (calls + 1) * e->request_bytes);
	if ((uint64_t)e->apps * e->procs > SL_REQUESTS_PROCS)
		return sl_yaml_bad(y, node, "more than %d processes", SL_REQUESTS_PROCS);
	if (e->data_bytes > (UINT64_C(1) << 60) / e->procs / e->apps)
		return sl_yaml_bad(y, node, "more than an exbibyte");
	return 0;
}

static int kn_combine(const struct sl_yaml *y, const yaml_node_t *node, const struct kn_kernel *k,
		      struct explore_spec *s)
{
	uint64_t all = 1;

	for (int i = 0; i < K_LISTS; i++)
		all *= k->list[i].n;
	if (all > MAX_KERNELS || s->n_kernels + all > MAX_KERNELS)
		return sl_yaml_bad(y, node, "more than %d kernels", MAX_KERNELS);
	for (uint64_t c = 0; c < all; c++) {
		uint64_t v[K_LISTS], rest = c;
		struct explore_kernel e;
		int rc;

		for (int i = K_LISTS - 1; i >= 0; i--) {
			v[i] = k->list[i].value[rest % k->list[i].n];
			rest /= k->list[i].n;
		}
		e = (struct explore_kernel){ .apps = (uint32_t)v[K_APPS],
					     .procs = (uint32_t)v[K_PROCS],
					     .nodes = k->nodes ? k->nodes : (uint32_t)v[K_PROCS],
					     .per_process = v[K_FILES],
					     .spatial = (enum sl_spatial)v[K_PATTERN],
					     .op = (uint32_t)v[K_OP],
					     .request_bytes = v[K_REQUEST],
					     .data_bytes = k->data_bytes,
					     .limit_ns = k->limit_ns,
					     .fsync = k->fsync,
					     .direct = k->direct,
					     .line = sl_yaml_line(node) };
		if (k->total_bytes)
			e.data_bytes = k->total_bytes / e.procs;
		if (!kn_call(k, &e))
			return sl_yaml_bad(y, node,
					   "'%s...', the name of a combination, is longer than %d "
					   "letters; give a shorter name",
					   e.name, EXPLORE_NAME - 1);
		if ((rc = kn_check(y, node, k, &e)))
			return rc;
		for (uint32_t i = 0; i < s->n_kernels; i++)
			if (!strcmp(s->kernel[i].name, e.name))
				return sl_yaml_bad(y, node, "a kernel '%s' exists already", e.name);
		if (explore_add_kernel(s, &e))
			return sl_yaml_no_memory(y, node);
	}
	return 0;
}

/* The missing key; NULL: none. A metadata kernel has items instead of bytes. */
static const char *kn_missing(struct kn_kernel *k)
{
	const struct kn_list *op = &k->list[K_OP];

	if (!k->name[0])
		return "its name, as in 'name: checkpoint'";
	if (!k->items && op->n && op->value[op->n - 1] == EXPLORE_META)
		return "the files of each process, as in 'items: 1000'";
	if (k->items && (op->n != 1 || op->value[0] != EXPLORE_META))
		return "'operation: metadata', since it has items";
	if (k->items && (k->list[K_REQUEST].n || k->data_bytes || k->total_bytes || k->direct ||
			 k->fsync || k->list[K_PATTERN].n || k->list[K_FILES].n))
		return "only applications, processes, nodes, items and time, since "
		       "'operation: metadata' moves no data";
	if (k->items) {
		k->list[K_REQUEST] = (struct kn_list){ .value = { 1 }, .n = 1 };
		k->data_bytes = PHASES * k->items;
	}
	if (!k->list[K_REQUEST].n)
		return "the size of its calls, as in 'request: 256Ki'";
	if (!k->data_bytes && !k->total_bytes)
		return "the bytes of each process, as in 'data: 64Mi', or of all, in total";
	return NULL;
}

static int kn_kernel(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "name", kn_name },	  { "applications", kn_list }, { "processes", kn_list },
		{ "nodes", kn_rest },	  { "files", kn_list },	       { "pattern", kn_list },
		{ "operation", kn_list }, { "request", kn_list },      { "data", kn_rest },
		{ "total", kn_rest },	  { "time", kn_rest },	       { "fsync", kn_rest },
		{ "direct", kn_rest },	  { "items", kn_rest },	       { 0 },
	};
	static const uint64_t defaults[K_LISTS] = {
		[K_APPS] = 1, [K_PROCS] = 1, [K_OP] = SL_WRITE
	};
	struct kn_kernel *k = calloc(1, sizeof(*k));
	const char *missing;
	int rc;

	if (!k)
		return sl_yaml_no_memory(y, node);
	rc = sl_yaml_mapping(y, node, keys, "a kernel", k);
	missing = rc ? NULL : kn_missing(k);
	if (missing)
		rc = sl_yaml_bad(y, node, "needs %s", missing);
	if (!rc && k->data_bytes && k->total_bytes)
		rc = sl_yaml_bad(y, node,
				 "give either data (of each process) or total (of all), not both");
	for (int i = 0; i < K_LISTS; i++)
		if (!k->list[i].n) {
			k->list[i].value[0] = defaults[i];
			k->list[i].n = 1;
		}
	if (!rc)
		rc = kn_combine(y, node, k, into);
	free(k);
	return rc;
}

int explore_take_kernels(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	return sl_yaml_list(y, key, node, "a list: '- name: NAME' and its keys", kn_kernel, into);
}

/* ---- what a kernel is ---- */

int explore_add_kernel(struct explore_spec *s, const struct explore_kernel *k)
{
	struct explore_kernel *more = reallocarray(s->kernel, s->n_kernels + 1, sizeof(*s->kernel));

	if (!more)
		return -ENOMEM;
	s->kernel = more;
	more[s->n_kernels++] = *k;
	return 0;
}

bool explore_is_meta(const struct explore_kernel *k)
{
	return k->op == EXPLORE_META;
}

const char *explore_op(const struct explore_kernel *k)
{
	return operation_words[k->op];
}

const char *explore_spatiality(const struct explore_kernel *k)
{
	return pattern_words[k->spatial];
}

const char *explore_layout(const struct explore_kernel *k)
{
	static const char *const shared[] = { "shared-contiguous", "shared-strided",
					      "shared-random" };

	return k->per_process ? "per-process" : shared[k->spatial];
}

uint32_t explore_files(const struct explore_kernel *k)
{
	return k->per_process ? k->apps * k->procs : k->apps;
}

uint64_t explore_file_bytes(const struct explore_kernel *k)
{
	return k->per_process ? k->data_bytes : k->data_bytes * k->procs;
}

uint64_t explore_bytes(const struct explore_kernel *k)
{
	return k->data_bytes * k->procs * k->apps;
}
