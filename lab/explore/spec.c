/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The specification of an exploration, in YAML. A list may be a single value. The keys and their
 * defaults:
 *
 *	explore:
 *	  ionodes: [0, 1, 2, 4]      # numbers of I/O nodes; 0: direct access; default 1
 *	  orders: [to, aioli]        # order policies, with or without parameters, or turn; default to
 *	  share: fifo                # and admit: of all nodes; not given: the layer's default
 *	  devices: [pastel, edel]    # models: each node has one; live, not needed
 *	  ratio: {read: 39, write: 21}  # of a real device, from 'sluice profile': for training
 *	  runs: {least: 8, most: 30, confidence: 90, error: 10}   # percents
 *	  seed: 1
 *	  directory: /scratch        # live: where files go; not given: --directory
 *	  capacity: 500MB/s          # of all nodes together
 *	  servers: 1                 # devices behind direct access, if there is a model
 *	  stripe: 32Ki               # of files over devices; calls below it are small
 *	  transfer: 0                # these as in 'sluice sim --requests'; not live
 *	  link: 100MB/s
 *	  latency: 50us
 *	  window: 1
 *	  jitter: 0
 *	  kernels: ...               # kernels.c
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "lab/explore/explore.h"
#include "lab/private.h"
#include "layer/check.h"
#include "layer/config.h"
#include "model/device-spec.h"
#include "sim/requests-device.h"

#define MAX_TIME  (INT64_C(3600) * 1000000000)
#define TEXT(x)	  #x
#define STRING(x) TEXT(x)

/* ---- lists ---- */

static int sp_ionodes(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	struct explore_spec *s = into;
	uint32_t count = 0;
	int rc = sl_yaml_count32(y, node, 0, CONFIG_MAX_IONODES, &count);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < s->n_ionodes; i++)
		if (s->ionodes[i] == count)
			return sl_yaml_bad(y, node, "%u is given twice", count);
	if (s->n_ionodes == EXPLORE_LIST)
		return sl_yaml_bad(y, node, "more than %d", EXPLORE_LIST);
	s->ionodes[s->n_ionodes++] = count;
	return 0;
}

/* Check that a value is new in the list, fits, and can be written to a table. */
static int sp_fits(struct sl_yaml *y, const yaml_node_t *node, bool twice, uint32_t n)
{
	const char *text = sl_yaml_text(node);

	if (twice)
		return sl_yaml_bad(y, node, "'%.64s' is given twice", text);
	if (n == EXPLORE_LIST)
		return sl_yaml_bad(y, node, "more than %d", EXPLORE_LIST);
	if (strlen(text) >= EXPLORE_NAME)
		return sl_yaml_bad(y, node, "'%.64s...' is longer than %d bytes", text,
				   EXPLORE_NAME - 1);
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return sl_yaml_bad(y, node, "has a control character in it");
	return 0;
}

static int sp_order(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	struct explore_spec *s = into;
	char err[CHECK_TEXT];
	int rc = sl_yaml_scalar(y, "an order", node, "a policy like aioli");
	bool twice = false;

	if (rc)
		return rc;
	if (strcmp(sl_yaml_text(node), EXPLORE_TURN) != 0 &&
	    check_policy("order", sl_yaml_text(node), err))
		return sl_yaml_bad(y, node, "%s", err);
	for (uint32_t i = 0; i < s->n_orders; i++)
		twice |= !strcmp(s->order[i], sl_yaml_text(node));
	if ((rc = sp_fits(y, node, twice, s->n_orders)))
		return rc;
	if (!(rc = sl_yaml_copy(y, node, &s->order[s->n_orders])))
		s->n_orders++;
	return rc;
}

static int sp_device(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	struct explore_spec *s = into;
	struct explore_device *d = &s->device[s->n_devices];
	char err[CHECK_TEXT];
	int rc = sl_yaml_scalar(y, "a device", node, "a device like hdd");
	bool twice = false;

	if (rc)
		return rc;
	if (config_check(CONFIG_DEVICE_MODEL, sl_yaml_text(node), err))
		return sl_yaml_bad(y, node, "%s", err);
	for (uint32_t i = 0; i < s->n_devices; i++)
		twice |= !strcmp(s->device[i].name, sl_yaml_text(node));
	if ((rc = sp_fits(y, node, twice, s->n_devices)))
		return rc;
	strcpy(d->name, sl_yaml_text(node));
	sl_device_parse(d->name, &d->model);
	s->n_devices++;
	return 0;
}

static int sp_list(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	int (*each)(struct sl_yaml *, const yaml_node_t *, void *) =
		!strcmp(key, "ionodes")	 ? sp_ionodes
		: !strcmp(key, "orders") ? sp_order
					 : sp_device;

	if (node->type == YAML_SCALAR_NODE)
		return each(y, node, into);
	return sl_yaml_list(y, key, node, "a list like [a, b]", each, into);
}

/* ---- the rest ---- */

static int sp_percent(struct sl_yaml *y, const yaml_node_t *node, uint32_t low, uint32_t high,
		      double *out)
{
	uint32_t percent = 0;
	int rc = sl_yaml_count32(y, node, low, high, &percent);

	if (!rc)
		*out = percent / 100.0;
	return rc;
}

static int sp_run_key(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct explore_spec *s = into;

	if (!strcmp(key, "least"))
		return sl_yaml_count32(y, node, 1, EXPLORE_RUNS, &s->least);
	if (!strcmp(key, "most"))
		return sl_yaml_count32(y, node, 1, EXPLORE_RUNS, &s->most);
	if (!strcmp(key, "confidence"))
		return sp_percent(y, node, 50, 99, &s->confidence);
	return sp_percent(y, node, 1, 100, &s->error);
}

static int sp_runs(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = { { "least", sp_run_key },
						   { "most", sp_run_key },
						   { "confidence", sp_run_key },
						   { "error", sp_run_key },
						   { 0 } };
	struct explore_spec *s = into;
	int rc = sl_yaml_mapping(y, node, keys, key, into);

	if (!rc && s->most < s->least) {
		if (sl_yaml_has(y, node, "most"))
			return sl_yaml_bad(y, node, "most, %u, is less than least, %u", s->most,
					   s->least);
		s->most = s->least;
	}
	return rc;
}

static int sp_ratio_key(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct explore_spec *s = into;
	int rc = sl_yaml_scalar(y, key, node, "a number like 21.3");
	char *end;
	double ratio;

	if (rc)
		return rc;
	ratio = strtod(sl_yaml_text(node), &end);
	if (*end || !(ratio > 0 && ratio < 1e6))
		return sl_yaml_bad(y, node, "'%.64s' is not a number above 0", sl_yaml_text(node));
	s->ratio[!strcmp(key, "write")] = ratio;
	return 0;
}

static int sp_ratio(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = { { "read", sp_ratio_key },
						   { "write", sp_ratio_key },
						   { 0 } };

	return sl_yaml_mapping(y, node, keys, key, into);
}

static int sp_policy(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct explore_spec *s = into;
	char err[CHECK_TEXT];
	int rc = sl_yaml_scalar(y, key, node, "a policy like pool");

	if (!rc && check_policy(key, sl_yaml_text(node), err))
		return sl_yaml_bad(y, node, "%s", err);
	return rc ? rc : sl_yaml_copy(y, node, !strcmp(key, "share") ? &s->share : &s->admit);
}

static int sp_directory(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct explore_spec *s = into;
	int rc = sl_yaml_scalar(y, key, node, "the path of a directory");

	return rc ? rc : sl_yaml_copy(y, node, &s->directory);
}

/* What a simulation of requests has, too. */
static int sp_platform(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct explore_spec *s = into;
	int rc = sl_requests_platform(y, key, node, &s->platform);

	s->stripe_bytes = s->platform.striping.stripe_bytes;
	if (!rc && !strcmp(key, "capacity"))
		rc = sl_yaml_copy(y, node, &s->capacity);
	return rc;
}

static int sp_number(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct explore_spec *s = into;

	if (!strcmp(key, "seed"))
		return sl_yaml_count(y, node, 0, UINT32_MAX, &s->seed);
	if (!strcmp(key, "servers"))
		return sl_yaml_count32(y, node, 1, CONFIG_MAX_IONODES, &s->servers);
	return sl_yaml_time(y, node, 0, MAX_TIME, &s->jitter_ns);
}

static int sp_explore(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = {
		{ "ionodes", sp_list },
		{ "orders", sp_list },
		{ "share", sp_policy },
		{ "admit", sp_policy },
		{ "devices", sp_list },
		{ "ratio", sp_ratio },
		{ "runs", sp_runs },
		{ "seed", sp_number },
		{ "directory", sp_directory },
		{ "capacity", sp_platform },
		{ "servers", sp_number },
		{ "stripe", sp_platform },
		{ "link", sp_platform },
		{ "transfer", sp_platform },
		{ "latency", sp_platform },
		{ "request_time", sp_platform },
		{ "batch_time", sp_platform },
		{ "window", sp_platform },
		{ "jitter", sp_number },
		{ "kernels", explore_take_kernels },
		{ 0 },
	};

	return sl_yaml_mapping(y, node, keys, key, into);
}

static int sp_root(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = { { "explore", sp_explore }, { 0 } };

	if (sl_yaml_has(y, node, "platform") || sl_yaml_has(y, node, "requests"))
		return sl_yaml_wrong(y, sl_yaml_line(node),
				     "this is a scenario for 'sluice sim'; a specification "
				     "begins with 'explore:'");
	return sl_yaml_mapping(y, node, keys, "a specification with 'explore:'", into);
}

/* ---- all of it ---- */

void explore_init(struct explore_spec *s)
{
	*s = (struct explore_spec){ .seed = 1,
				    .least = 8,
				    .most = 30,
				    .confidence = 0.9,
				    .error = 0.1,
				    .servers = 1,
				    .stripe_bytes = 32768 };
	sl_requests_init(&s->platform);
}

static int sp_end(struct explore_spec *s, const char *path, int rc, char *err, size_t err_size)
{
	if (!rc && !(s->path = strdup(path))) {
		snprintf(err, err_size, "no memory");
		rc = -ENOMEM;
	}
	if (rc)
		explore_free(s);
	return rc;
}

int explore_parse(const char *file, const char *text, size_t length, struct explore_spec *s,
		  char *err, size_t err_size)
{
	explore_init(s);
	return sp_end(s, file, sl_yaml_parse(file, text, length, sp_root, s, err, err_size), err,
		      err_size);
}

int explore_load(const char *path, struct explore_spec *s, char *err, size_t err_size)
{
	explore_init(s);
	return sp_end(s, path, sl_yaml_read(path, sp_root, s, err, err_size), err, err_size);
}

static int sp_wrong(const struct explore_spec *s, size_t line, char *err, size_t err_size,
		    const char *what)
{
	if (line)
		snprintf(err, err_size, "%.200s:%zu: %s", s->path, line, what);
	else
		snprintf(err, err_size, "%.200s: %s", s->path, what);
	return -EINVAL;
}

static const char *sp_impossible(const struct explore_kernel *k, bool simulate)
{
	if (simulate && explore_is_meta(k))
		return "operation: there are no models of metadata calls, which are measured live";
	if (simulate)
		return k->limit_ns ? "time: a simulated kernel ends with its data, not by time"
				   : NULL;
	if ((uint64_t)k->apps * k->procs > PRIVATE_PROCS)
		return "processes: live, there are at most " STRING(PRIVATE_PROCS) " at a time";
	if (!explore_is_meta(k) && k->request_bytes % 8)
		return "request: must be a multiple of 8 bytes, so that the contents can be "
		       "checked";
	if (k->direct && k->request_bytes % 4096)
		return "direct: its requests must be a multiple of 4Ki";
	return NULL;
}

bool explore_in_turn(const struct explore_spec *s, uint32_t order)
{
	return order < s->n_orders && !strcmp(s->order[order], EXPLORE_TURN);
}

static bool any_in_turn(const struct explore_spec *s)
{
	for (uint32_t i = 0; i < s->n_orders; i++)
		if (explore_in_turn(s, i))
			return true;
	return false;
}

static bool several_ionodes(const struct explore_spec *s)
{
	for (uint32_t i = 0; i < s->n_ionodes; i++)
		if (s->ionodes[i] > 1)
			return true;
	return false;
}

int explore_check(struct explore_spec *s, bool simulate, char *err, size_t err_size)
{
	if (!s->n_kernels)
		return sp_wrong(s, 1, err, err_size,
				"needs kernels, as in '- {name: checkpoint, request: 1Mi, data: "
				"64Mi}'");
	if (simulate && !s->n_devices)
		return sp_wrong(s, 1, err, err_size,
				"a simulation needs devices, as in 'devices: [hdd, ssd]'");
	if (any_in_turn(s) && (simulate || several_ionodes(s)))
		return sp_wrong(s, 1, err, err_size,
				"orders: 'turn' is for live runs with one I/O node");
	for (uint32_t i = 0; i < s->n_kernels; i++) {
		const char *what = sp_impossible(&s->kernel[i], simulate);

		if (!what && explore_is_meta(&s->kernel[i]) && several_ionodes(s))
			what = "ionodes: metadata calls are not forwarded; write [0, 1]";
		if (what)
			return sp_wrong(s, s->kernel[i].line, err, err_size, what);
	}
	if (!s->n_devices)
		s->n_devices = 1; /* what there is, by no name */
	if (!s->n_ionodes)
		s->ionodes[s->n_ionodes++] = 1;
	if (!s->n_orders && (s->order[0] = strdup("to")))
		s->n_orders = 1;
	if (s->n_orders)
		return 0;
	snprintf(err, err_size, "no memory");
	return -ENOMEM;
}

void explore_free(struct explore_spec *s)
{
	for (uint32_t i = 0; i < s->n_orders; i++)
		free(s->order[i]);
	free(s->path);
	free(s->directory);
	free(s->share);
	free(s->admit);
	free(s->capacity);
	free(s->kernel);
	*s = (struct explore_spec){ 0 };
}
