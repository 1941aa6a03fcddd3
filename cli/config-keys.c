/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a layer is made of, but for policies and jobs: each key of one value, with what it may be.
 * The options of `sluice up` and the keys of sluice.yaml are these, checked by the same words.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/config.h"
#include "sim/device-spec.h"

static int ck_wrong(char *err, const char *value, const char *what)
{
	snprintf(err, CHECK_TEXT, "'%.64s' is %s", value, what);
	return -EINVAL;
}

static int ck_capacity(const char *value, char *err)
{
	uint64_t bps;

	if (!sl_parse_rate(value, &bps) && bps && bps <= SL_MAX_RATE)
		return 0;
	return ck_wrong(err, value, "not a rate; write 200M, 1.5Gi or 100MB/s");
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
	char what[CHECK_TEXT] = "no device; there are ";

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
	static const char *const levels[] = { "error", "warn", "info", "debug" };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strcmp(levels[i], value))
			return 0;
	return ck_wrong(err, value, "no log level; there are error, warn, info and debug");
}

int check_address(const char *value, bool any_host, char *err)
{
	const char *colon = strrchr(value, ':');
	unsigned long port;

	/* SLUICE_SOCKET has room for as much as the path of a socket. */
	if (colon && strlen(value) < 100 && (any_host || colon > value) &&
	    !check_count(colon + 1, any_host ? 0 : 1, 65535, &port))
		return 0;
	return ck_wrong(err, value,
			any_host ? "not HOST:PORT, like 192.0.2.7:4444, node7:4444 or :4444"
				 : "not HOST:PORT, like 192.0.2.7:4444 or node7:4444");
}

static int ck_listen(const char *value, char *err)
{
	return check_address(value, true, err);
}

const struct config_key config_keys[CONFIG_KEYS] = {
	[CONFIG_NAME] = { "name", NULL, "the name of the layer", check_layer_name, false },
	[CONFIG_DIRECTORY] = { "directory", NULL, "a path", NULL, true },
	[CONFIG_CAPACITY] = { "capacity", "--capacity", "a rate like 200M, 1.5Gi or 100MB/s",
			      ck_capacity, false },
	[CONFIG_WORKERS] = { "workers", "--workers", "a number", ck_workers, false },
	[CONFIG_LISTEN] = { "listen", "--listen", "HOST:PORT", ck_listen, false },
	[CONFIG_SECRET_FILE] = { "secret_file", "--secret-file", "a path", NULL, true },
	[CONFIG_DEVICE_MODEL] = { "device_model", "--device-model", "a device like hdd", ck_device,
				  false },
	[CONFIG_TRACE] = { "trace", "--trace", "a path", NULL, true },
	[CONFIG_LOG_LEVEL] = { "log_level", "--log", "error, warn, info or debug", ck_log_level,
			       false },
};

int config_check(enum config_which which, const char *value, char *err)
{
	const struct config_key *k = &config_keys[which];

	return k->check ? k->check(value, err) : 0;
}
