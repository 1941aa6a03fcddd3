/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a layer that have one value each, and their valid values; policies and jobs are
 * elsewhere. The options of `sluice up` and the keys of sluice.yaml are these keys, checked by the
 * same functions.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "layer/config.h"
#include "model/device-spec.h"
#include "wire/ops.h"

static int ck_wrong(char *err, const char *value, const char *what)
{
	snprintf(err, CHECK_TEXT, "'%.64s' is %s", value, what);
	return -EINVAL;
}

static int ck_rate(const char *value, char *err)
{
	uint64_t bps;

	if (!sl_parse_rate(value, &bps) && bps && bps <= SL_MAX_RATE)
		return 0;
	return ck_wrong(err, value, "not a rate; write 200M, 1.5Gi or 100MB/s");
}

/* A rate, auto, or auto,SENSOR; the node checks the sensor. */
static int ck_capacity(const char *value, char *err)
{
	if (check_auto(value))
		return 0;
	if (ck_rate(value, err))
		return ck_wrong(err, value, "not a rate; write 200M, 1.5Gi, 100MB/s or auto");
	return 0;
}

static int ck_capacity_ops(const char *value, char *err)
{
	uint64_t count;

	if (!strcmp(value, "auto") || (!sl_ops_parse(value, &count) && count))
		return 0;
	return ck_wrong(err, value,
			"not a number of operations per second; write 5000, 20k or auto");
}

static int ck_mode(const char *value, char *err)
{
	if (!strcmp(value, "schedule") || !strcmp(value, "observe"))
		return 0;
	return ck_wrong(err, value, "not a mode; write schedule or observe");
}

static int ck_workers(const char *value, char *err)
{
	unsigned long count;

	if (!check_count(value, 1, CONFIG_MAX_WORKERS, &count))
		return 0;
	return ck_wrong(err, value, "not a number from 1 to 64");
}

_Static_assert(CONFIG_MAX_WORKERS == 64, "the message above");

static int ck_device(const char *value, char *err)
{
	struct sl_device_model model;
	char what[CHECK_TEXT] = "not a device; there are ";

	if (!sl_device_parse(value, &model))
		return 0;
	for (unsigned i = 0; sl_device_preset(i); i++) {
		strncat(what, sl_device_preset(i)->name, sizeof(what) - strlen(what) - 1);
		strncat(what, ", ", sizeof(what) - strlen(what) - 1);
	}
	strncat(what, "or write bandwidth=200M,seek=5ms,op=50us,streams=1",
		sizeof(what) - strlen(what) - 1);
	return ck_wrong(err, value, what);
}

static int ck_log_level(const char *value, char *err)
{
	if (sl_log_level_find(value) >= 0)
		return 0;
	return ck_wrong(err, value, "not a log level; write error, warn, info or debug");
}

int check_address(const char *value, bool any_host, char *err)
{
	const char *colon = strrchr(value, ':');
	unsigned long port;

	/* SLUICE_SOCKET has room for the length of a socket's path. */
	if (colon && strlen(value) < 100 && (any_host || colon > value) &&
	    !check_count(colon + 1, any_host ? 0 : 1, 65535, &port))
		return 0;
	return ck_wrong(err, value,
			any_host ? "not HOST:PORT, like 192.0.2.7:4444, node7:4444 or :4444"
				 : "not HOST:PORT, like 192.0.2.7:4444 or node7:4444");
}

int check_host(const char *value, char *err)
{
	size_t length = strlen(value);
	bool brackets = value[0] == '[' && value[length - 1] == ']';
	unsigned char bytes[16];
	char bare[80];

	if (!strchr(value, ':') && length > 0 && length < 90 && !strpbrk(value, " []/"))
		return 0;
	snprintf(bare, sizeof(bare), "%.*s", (int)(length - 2 * brackets), value + brackets);
	bare[strcspn(bare, "%")] = 0; /* fe80::1%eth0 */
	if (length < 80 && inet_pton(AF_INET6, bare, bytes) == 1)
		return 0;
	return ck_wrong(err, value, "not a name or address of a host; the port is a separate key");
}

int check_port(const char *value, char *err)
{
	unsigned long port;

	if (!check_count(value, 0, 65535, &port))
		return 0;
	return ck_wrong(err, value, "not a port, which is a number from 0 to 65535");
}

static int ck_listen(const char *value, char *err)
{
	return check_address(value, true, err);
}

static int ck_ionodes(const char *value, char *err)
{
	unsigned long count;

	if (!check_count(value, 1, CONFIG_MAX_IONODES, &count))
		return 0;
	return ck_wrong(err, value, "not a number from 1 to 64");
}

_Static_assert(CONFIG_MAX_IONODES == 64, "the message above");

static int ck_compute_nodes(const char *value, char *err)
{
	unsigned long count;

	if (!check_count(value, 1, UINT32_MAX, &count))
		return 0;
	return ck_wrong(err, value, "not a whole number of at least 1");
}

static int ck_gap(const char *value, char *err)
{
	int64_t ns;

	if (!sl_parse_time(value, &ns) && ns > 0)
		return 0;
	return ck_wrong(err, value, "not a time; write 1s or 200ms");
}

static const char *const flags[] = { "true", "yes", "on", "1", "false", "no", "off", "0" };

bool config_flag(const char *value)
{
	for (size_t i = 0; value && i < 4; i++)
		if (!strcmp(flags[i], value))
			return true;
	return false;
}

bool config_is_flag(const char *value)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (!strcmp(flags[i], value))
			return true;
	return false;
}

static int ck_flag(const char *value, char *err)
{
	if (config_is_flag(value))
		return 0;
	return ck_wrong(err, value, "neither true nor false");
}

static int ck_charge(const char *value, char *err)
{
	if (!strcmp(value, "wire") || !strcmp(value, "calls"))
		return 0;
	return ck_wrong(err, value, "neither wire nor calls");
}

static int ck_intercept(const char *value, char *err)
{
	if (!strcmp(value, "auto") || !strcmp(value, "strict"))
		return 0;
	return ck_wrong(err, value, "neither auto nor strict");
}

static int ck_size(const char *value, char *err)
{
	uint64_t bytes;

	if (!sl_parse_bytes(value, &bytes) && bytes <= INT64_MAX)
		return 0;
	return ck_wrong(err, value, "not a size; write 64M, 1.5Gi or 0");
}

static int ck_loss(const char *value, char *err)
{
	if (!strcmp(value, "grow") || !strcmp(value, "divide"))
		return 0;
	return ck_wrong(err, value, "neither grow nor divide");
}

#define KEY(key, node, controller, what, check, is_path)    \
	{                                                   \
		key, node, controller, what, check, is_path \
	}

const struct config_key config_keys[CONFIG_KEYS] = {
	[CONFIG_NAME] = KEY("name", NULL, NULL, "the name of the layer", check_layer_name, false),
	[CONFIG_DIRECTORY] = KEY("directory", NULL, NULL, "a path", NULL, true),
	/* Not passed on unchanged: each node gets its part. */
	[CONFIG_CAPACITY] = KEY("capacity", NULL, NULL,
				"a rate like 200M, 1.5Gi or 100MB/s, or auto", ck_capacity, false),
	[CONFIG_CAPACITY_OPS] = KEY("capacity_ops", NULL, NULL,
				    "a number like 5000 or 20k, or auto", ck_capacity_ops, false),
	[CONFIG_WORKERS] = KEY("workers", "--workers", NULL, "a number", ck_workers, false),
	[CONFIG_LISTEN] = KEY("listen", NULL, NULL, "HOST:PORT", ck_listen, false),
	[CONFIG_SECRET_FILE] = KEY("secret_file", NULL, NULL, "a path", NULL, true),
	[CONFIG_DEVICE_MODEL] =
		KEY("device_model", "--device-model", NULL, "a device like hdd", ck_device, false),
	[CONFIG_TRACE] = KEY("trace", NULL, NULL, "a path", NULL, true),
	[CONFIG_LOG_LEVEL] = KEY("log_level", "--log", "--log", "error, warn, info or debug",
				 ck_log_level, false),
	[CONFIG_IONODES] = KEY("ionodes", NULL, NULL, "a number", ck_ionodes, false),
	[CONFIG_GAP] = KEY("gap", NULL, "--gap", "a time like 1s", ck_gap, false),
	[CONFIG_CURVES] = KEY("curves", NULL, "--curves", "a path", NULL, true),
	[CONFIG_PER_PROC] =
		KEY("per_proc_bandwidth", NULL, "--per-proc", "a rate like 200M", ck_rate, false),
	[CONFIG_COMPUTE_NODES] =
		KEY("compute_nodes", NULL, "--compute-nodes", "a number", ck_compute_nodes, false),
	[CONFIG_CONTROLLER_LOSS] =
		KEY("controller_loss", "--controller-loss", NULL, "grow or divide", ck_loss, false),
	/* Switches: the option that is passed on depends on the value. */
	[CONFIG_STANDBY] = KEY("standby", NULL, NULL, "true or false", ck_flag, false),
	[CONFIG_DIRECT] = KEY("direct", NULL, NULL, "true or false", ck_flag, false),
	[CONFIG_ASK_ALWAYS] = KEY("ask_always", NULL, NULL, "true or false", ck_flag, false),
	[CONFIG_CHARGE] = KEY("charge", "--charge", NULL, "wire or calls", ck_charge, false),
	[CONFIG_DIRTY] = KEY("dirty", "--dirty", NULL, "a size like 64M or 0", ck_size, false),
	[CONFIG_MODE] = KEY("mode", NULL, NULL, "schedule or observe", ck_mode, false),
	/* `sluice run` obeys it. */
	[CONFIG_INTERCEPT] = KEY("intercept", NULL, NULL, "auto or strict", ck_intercept, false),
};

int config_check(enum config_which which, const char *value, char *err)
{
	const struct config_key *k = &config_keys[which];

	return k->check ? k->check(value, err) : 0;
}
