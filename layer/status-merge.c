/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a layer with several members, out of what each of them says: the layer as one node
 * would describe it, and beside that its I/O nodes and its controller.
 *
 * Of a job, what is counted is added up over the nodes; of times the longest counts, since they
 * pass on all nodes at once; what was declared or asked for is the same everywhere. Percentiles
 * cannot be added: they are means over the nodes, weighted by requests.
 *
 *	node 0: a 60 MB/s, p99 2 ms of 300 requests     node 1: a 20 MB/s, p99 6 ms of 100
 *	layer:  a 80 MB/s, p99 3 ms of 400
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "client/conn/client.h"
#include "layer/status.h"

static const cJSON *mg_item(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static double mg_number(const cJSON *object, const char *key)
{
	const cJSON *item = mg_item(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0.0;
}

static void mg_set(cJSON *object, const char *key, double value)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (item)
		cJSON_SetNumberValue(item, value);
	else
		cJSON_AddNumberToObject(object, key, value);
}

static void mg_add(cJSON *to, const cJSON *from, const char *key)
{
	mg_set(to, key, mg_number(to, key) + mg_number(from, key));
}

static void mg_most(cJSON *to, const cJSON *from, const char *key)
{
	if (mg_number(from, key) > mg_number(to, key))
		mg_set(to, key, mg_number(from, key));
}

/*
 * A job of a list. Lists have most of their jobs in the same order: *next, NULL at first, is where
 * the one behind the last that was found is, and where the search begins.
 */
static cJSON *mg_find(const cJSON *array, const char *name, cJSON **next)
{
	cJSON *begin = *next ? *next : array ? array->child : NULL, *item = begin;

	while (item) {
		const char *text = cJSON_GetStringValue(mg_item(item, "job"));

		if (text && !strcmp(text, name)) {
			*next = item->next;
			return item;
		}
		item = item->next ? item->next : array->child;
		if (item == begin)
			break;
	}
	return NULL;
}

/* ---- jobs ---- */

static void mg_latency(cJSON *to, const cJSON *from)
{
	static const char *const keys[] = { "p50", "p95", "p99" };
	cJSON *a = cJSON_GetObjectItemCaseSensitive(to, "latency_us");
	const cJSON *b = mg_item(from, "latency_us");
	double have = mg_number(to, "requests"), more = mg_number(from, "requests");

	for (size_t i = 0; have + more > 0 && i < 3; i++)
		mg_set(a, keys[i],
		       (mg_number(a, keys[i]) * have + mg_number(b, keys[i]) * more) /
			       (have + more));
}

static void mg_ratio(cJSON *to, const cJSON *from)
{
	double have = mg_number(to, "batches"), more = mg_number(from, "batches");

	if (have + more > 0)
		mg_set(to, "merge_ratio",
		       (mg_number(to, "merge_ratio") * have +
			mg_number(from, "merge_ratio") * more) /
			       (have + more));
}

/* Of the node that knows it best. */
static void mg_pattern(cJSON *to, const cJSON *from)
{
	static const char *const keys[] = { "pattern", "order", "order_reason" };
	const cJSON *pattern = mg_item(from, "pattern");

	if (!pattern || mg_number(from, "requests") <= mg_number(to, "requests"))
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		cJSON_ReplaceItemInObjectCaseSensitive(
			to, keys[i], cJSON_Duplicate(mg_item(from, keys[i]), true));
}

/* Limits count where the job has processes: elsewhere none is used. */
static void mg_limits(cJSON *to, const cJSON *from)
{
	static const char *const keys[] = { "min_bps", "max_bps" };

	for (size_t i = 0; i < 2; i++) {
		if (mg_number(to, "clients") > 0 && mg_number(from, "clients") > 0)
			mg_add(to, from, keys[i]);
		else if (mg_number(from, "clients") > 0)
			mg_set(to, keys[i], mg_number(from, keys[i]));
	}
}

static void mg_job(cJSON *to, const cJSON *from)
{
	static const char *const sums[] = {
		"clients",	  "attached",	 "unscheduled_bytes", "bandwidth_bps",
		"average_bps",	  "iops",	 "read_bytes",	      "write_bytes",
		"requests",	  "batches",	 "queued_requests",   "queued_bytes",
		"inflight_bytes", "floor_bytes", "borrowed_bytes",    "dirty_bytes",
		"cached_bytes",	  "wire_bytes",
	};
	/* Times pass on all nodes at once. */
	static const char *const same[] = { "procs",	       "nodes",		"throttled_s",
					    "waiting_s",       "asked_min_bps", "asked_max_bps",
					    "allowed_max_bps", "asked_period_s" };

	/* First what is weighted by what is added up below. */
	mg_pattern(to, from);
	mg_latency(to, from);
	mg_ratio(to, from);
	mg_limits(to, from);
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		mg_add(to, from, sums[i]);
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		mg_most(to, from, same[i]);
}

/* Where it is, in its part of the merged job. */
static void mg_part(cJSON *to, const cJSON *job, const char *node)
{
	static const char *const keys[] = { "clients",		"bandwidth_bps", "iops",
					    "queued_requests",	"read_bytes",	 "write_bytes",
					    "requests",		"batches",	 "throttled_s",
					    "unscheduled_bytes" };
	cJSON *parts = cJSON_GetObjectItemCaseSensitive(to, "parts"), *part;

	if (!parts)
		parts = cJSON_AddArrayToObject(to, "parts");
	part = cJSON_CreateObject();
	cJSON_AddStringToObject(part, "ionode", node);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		cJSON_AddNumberToObject(part, keys[i], mg_number(job, keys[i]));
	if (mg_item(job, "reason"))
		cJSON_AddItemToObject(part, "reason",
				      cJSON_Duplicate(mg_item(job, "reason"), true));
	cJSON_AddItemToArray(parts, part);
}

static void mg_jobs(cJSON *all, const cJSON *jobs, const char *node)
{
	bool first = !all->child; /* a node has no name twice */
	cJSON *next = NULL;
	const cJSON *job;

	cJSON_ArrayForEach(job, jobs)
	{
		const char *name = cJSON_GetStringValue(mg_item(job, "job"));
		cJSON *to = name && !first ? mg_find(all, name, &next) : NULL;

		if (!name)
			continue;
		if (to) {
			mg_job(to, job);
		} else {
			to = cJSON_Duplicate(job, true);
			cJSON_AddItemToArray(all, to);
		}
		mg_part(to, job, node);
	}
}

/*
 * The reason of the part that matters most: where most waits, else most is moved, else most
 * processes are. Of a grant of 0 the controller knows until when it lasts: "granted 0 until job a
 * is done", or, if the job moves data nevertheless, "on spare bandwidth until job a is done".
 */
static void mg_reason(cJSON *job, const cJSON *known)
{
	static const char *const keys[] = { "queued_requests", "bandwidth_bps", "clients" };
	static const char granted_0[] = "granted 0";
	const char *decided = cJSON_GetStringValue(mg_item(known, "reason")), *text;
	const cJSON *part, *best = NULL;
	char until[200];

	cJSON_ArrayForEach(part, mg_item(job, "parts"))
	{
		size_t i = 0;

		while (best && i < 2 && mg_number(part, keys[i]) == mg_number(best, keys[i]))
			i++;
		if (!best || mg_number(part, keys[i]) > mg_number(best, keys[i]))
			best = part;
	}
	text = cJSON_GetStringValue(mg_item(best, "reason"));
	if (!text)
		return;
	if (decided && !strncmp(decided, granted_0, sizeof(granted_0) - 1) &&
	    (!strcmp(text, granted_0) || !strcmp(text, "on spare bandwidth"))) {
		snprintf(until, sizeof(until), "%s%s", text, decided + sizeof(granted_0) - 1);
		text = until;
	}
	cJSON_ReplaceItemInObjectCaseSensitive(job, "reason", cJSON_CreateString(text));
}

/* What the controller adds: phase, grant, and where the job belongs. */
static void mg_decided(cJSON *job, const cJSON *known)
{
	static const char *const keys[] = {
		"in_io",       "phase_declared",    "phases",	     "mean_compute_s",
		"mean_bytes",  "grant_bps",	    "rate_bps",	     "map_epoch",
		"period_from", "period_confidence", "period_found_s"
	};
	const cJSON *at = mg_item(known, "ionodes"), *part;
	cJSON *list;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		cJSON *copy = known ? cJSON_Duplicate(mg_item(known, keys[i]), true) : NULL;

		cJSON_AddItemToObject(job, keys[i], copy ? copy : cJSON_CreateNull());
	}
	if (at && mg_number(known, "map_epoch") > 0) {
		cJSON_AddItemToObject(job, "ionodes", cJSON_Duplicate(at, true));
		return;
	}
	list = cJSON_AddArrayToObject(job, "ionodes"); /* nothing was ordered: where it is */
	cJSON_ArrayForEach(part, mg_item(job, "parts")) if (mg_number(part, "clients") > 0)
		cJSON_AddItemToArray(list, cJSON_Duplicate(mg_item(part, "ionode"), true));
}

/* ---- nodes ---- */

static void mg_node(cJSON *ionodes, const struct layer *l, const struct layer_member *m,
		    const cJSON *tree)
{
	static const char *const keys[] = { "uptime_s",	       "capacity_bps",	 "draw_bps",
					    "floors_bps",      "bandwidth_bps",	 "iops",
					    "requests",	       "inflight_bytes", "decisions",
					    "decisions_per_s", "ops_per_s",	 "capacity_ops" };
	cJSON *node = cJSON_CreateObject();
	double jobs = 0, clients = 0;
	const cJSON *job;
	char log[PATH_MAX + 32];

	cJSON_ArrayForEach(job, mg_item(tree, "jobs"))
	{
		jobs += mg_number(job, "clients") > 0;
		clients += mg_number(job, "clients");
	}
	snprintf(log, sizeof(log), "%s/log%s", l->dir, m->suffix);
	cJSON_AddStringToObject(node, "name", m->name);
	cJSON_AddStringToObject(node, "state", tree ? "up" : m->pid ? "silent" : "died");
	cJSON_AddNumberToObject(node, "pid", m->pid);
	cJSON_AddStringToObject(node, "socket", m->socket);
	cJSON_AddStringToObject(node, "log", log);
	cJSON_AddNumberToObject(node, "jobs", jobs);
	cJSON_AddNumberToObject(node, "clients", clients);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		cJSON_AddNumberToObject(node, keys[i], mg_number(tree, keys[i]));
	if (mg_item(tree, "trace"))
		cJSON_AddItemToObject(node, "trace", cJSON_Duplicate(mg_item(tree, "trace"), true));
	cJSON_AddItemToArray(ionodes, node);
}

static void mg_layer(cJSON *to, const cJSON *from)
{
	static const char *const sums[] = {
		"capacity_bps",	    "floors_bps",     "workers",	"requests",
		"inflight_batches", "inflight_bytes", "window_batches", "decisions",
		"decisions_per_s",  "bandwidth_bps",  "iops",		"ops_per_s",
		"capacity_ops",
	};

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		mg_add(to, from, sums[i]);
	mg_most(to, from, "uptime_s");
}

/* ---- the controller ---- */

static void mg_controller(cJSON *all, const struct layer *l, const char *key,
			  const struct layer_member *m, const cJSON *tree)
{
	static const char *const keys[] = { "uptime_s", "epoch",  "term",	 "allocate",
					    "grant",	"policy", "capacity_bps" };
	cJSON *to;
	char log[PATH_MAX + 32];

	if (!m) {
		cJSON_AddNullToObject(all, key);
		return;
	}
	to = cJSON_AddObjectToObject(all, key);
	snprintf(log, sizeof(log), "%s/log%s", l->dir, m->suffix);
	cJSON_AddStringToObject(to, "state", tree ? "up" : m->pid ? "silent" : "died");
	cJSON_AddNumberToObject(to, "pid", m->pid);
	cJSON_AddStringToObject(to, "socket", m->socket);
	cJSON_AddStringToObject(to, "log", log);
	for (size_t i = 0; tree && i < sizeof(keys) / sizeof(keys[0]); i++)
		cJSON_AddItemToObject(to, keys[i], cJSON_Duplicate(mg_item(tree, keys[i]), true));
}

/* ---- together ---- */

/*
 * All members are asked before the first answer is read: so one that is silent costs the time that
 * there is for all, and the answers of the others are there when it is over.
 */
struct mg_asked {
	int64_t end_ms;
	int sock[LAYER_MEMBERS];
};

static void mg_begin(struct mg_asked *a, const struct layer_member *m, size_t n, int wait_ms)
{
	a->end_ms = sl_clock_ms() + wait_ms;
	for (size_t i = 0; i < n; i++)
		a->sock[i] = !m[i].pid ? -ENOTCONN
				       : sl_client_control_begin(m[i].socket, "status",
								 (int)(a->end_ms - sl_clock_ms()));
}

static cJSON *mg_end(const struct mg_asked *a, size_t i)
{
	char *answer = NULL;
	cJSON *tree = NULL;

	if (sl_client_control_end(a->sock[i], (int)(a->end_ms - sl_clock_ms()), &answer) == 0)
		tree = cJSON_Parse(answer);
	free(answer);
	return tree;
}

/* The keys of a node that the layer has too: jobs are merged, each node has its own trace. */
static cJSON *mg_first(const cJSON *tree)
{
	cJSON *all = cJSON_Duplicate(tree, true);

	cJSON_DeleteItemFromObjectCaseSensitive(all, "jobs");
	cJSON_DeleteItemFromObjectCaseSensitive(all, "trace");
	return all;
}

cJSON *status_merge(const struct layer *l, int wait_ms)
{
	struct layer_member m[LAYER_MEMBERS];
	size_t n = layer_members(l, m), nodes = layer_nodes(m, n);
	const struct layer_member *controller = nodes < n ? &m[n - 1] : NULL;
	const struct layer_member *standby = nodes + 1 < n ? &m[nodes] : NULL;
	cJSON *all = NULL, *known, *job, *next = NULL;
	const cJSON *decided;
	cJSON *jobs = cJSON_CreateArray(), *ionodes = cJSON_CreateArray();
	struct mg_asked asked = { 0 };
	double total;

	mg_begin(&asked, m, n, wait_ms);
	known = controller ? mg_end(&asked, n - 1) : NULL;
	for (size_t i = 0; i < nodes; i++) {
		cJSON *tree = mg_end(&asked, i);

		mg_node(ionodes, l, &m[i], tree);
		if (tree && !all)
			all = mg_first(tree);
		else if (tree)
			mg_layer(all, tree);
		mg_jobs(jobs, mg_item(tree, "jobs"), m[i].name);
		cJSON_Delete(tree);
	}
	if (!all) { /* no node answers */
		cJSON_Delete(jobs);
		cJSON_Delete(ionodes);
		cJSON_Delete(known);
		return NULL;
	}
	total = mg_number(all, "bandwidth_bps");
	mg_set(all, "floors_bps", 0); /* not what nodes give now, but what the layer has promised */
	cJSON_ArrayForEach(job, jobs)
	{
		const char *name = cJSON_GetStringValue(mg_item(job, "job"));

		mg_set(all, "floors_bps",
		       mg_number(all, "floors_bps") + mg_number(job, "asked_min_bps"));

		mg_set(job, "share", total > 0 ? mg_number(job, "bandwidth_bps") / total : 0);
		decided = mg_find(mg_item(known, "jobs"), name, &next);
		mg_decided(job, decided);
		mg_reason(job, decided);
	}
	mg_controller(all, l, "controller", controller, known);
	if (standby) {
		cJSON *other = mg_end(&asked, nodes);

		mg_controller(all, l, "standby", standby, other);
		cJSON_Delete(other);
	}
	cJSON_AddItemToObject(all, "ionodes", ionodes);
	cJSON_AddItemToObject(all, "jobs", jobs);
	cJSON_Delete(known);
	return all;
}

cJSON *status_ask(const struct layer *l, int wait_ms)
{
	struct layer_member m[LAYER_MEMBERS];
	struct mg_asked asked = { 0 };

	if (layer_members(l, m) > 1)
		return status_merge(l, wait_ms);
	mg_begin(&asked, m, 1, wait_ms);
	return mg_end(&asked, 0);
}
