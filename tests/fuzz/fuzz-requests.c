/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a scenario of requests. Checked: a message names the file and a line; what is
 * accepted is within the limits that the simulator relies on.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/requests.h"
#include "tests/fuzz/fuzz.h"

static void app_is_sound(const struct sl_requests_app *a)
{
	CHECK(a->name[0] && memchr(a->name, 0, sizeof(a->name)));
	CHECK(a->procs >= 1 && a->procs <= SL_REQUESTS_PROCS && a->op <= SL_WRITE);
	CHECK(a->spatial <= SL_RANDOM && a->depth >= 1 && a->depth <= SL_REQUESTS_DEPTH);
	CHECK(a->call_bytes >= 1 && a->call_bytes <= SL_MAX_LENGTH && a->calls && a->phases);
	CHECK(a->calls <= (UINT64_C(1) << 40) / a->phases / a->procs);
	CHECK(a->start_ns >= 0 && a->think_ns >= 0 && a->jitter_ns >= 0 && a->compute_ns >= 0);
	CHECK(!a->background || a->phases == 1);
	CHECK(a->on_first + a->on_count <= SL_REQUESTS_PLACES);
}

static void device_is_sound(const struct sl_device_model *m)
{
	for (int op = 0; op < 2; op++) {
		CHECK(m->bps[op] >= 1000000 && m->bps[op] <= SL_MAX_RATE);
		CHECK(m->seek_ns[op] >= -m->op_ns);
	}
	CHECK(m->op_ns >= 0 && m->streams >= 1 && m->streams <= SL_DEVICE_STREAMS);
	CHECK(m->depth <= SL_DEVICE_DEPTH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[SL_REQUESTS_TEXT] = "";
	struct sl_requests s;
	int rc = sl_requests_parse("f.yaml", (const char *)data, size, &s, err, sizeof(err));
	uint32_t foreground = 0;

	CHECK(rc == 0 || rc == -EINVAL || rc == -ENOMEM);
	if (rc) {
		CHECK(!strncmp(err, "f.yaml:", 7) && strtoul(err + 7, NULL, 10) >= 1);
		CHECK(!s.apps && !s.policies && !s.name);
		return 0;
	}
	CHECK(s.n_apps >= 1 && s.n_apps <= SL_REQUESTS_APPS);
	CHECK(s.striping.servers >= 1 && s.striping.servers <= SL_REQUESTS_SERVERS);
	CHECK(s.striping.stripe_bytes >= 512 && s.latency_ns >= 0);
	CHECK(s.window_batches >= 1 && s.window_batches <= SL_REQUESTS_WINDOW);
	device_is_sound(&s.device);
	for (uint32_t i = 0; i < s.n_apps; i++) {
		app_is_sound(&s.apps[i]);
		foreground += !s.apps[i].background;
	}
	CHECK(foreground || s.until_ns > 0);
	CHECK(s.control.there || (!s.n_on && !s.n_events));
	CHECK(!s.control.there || s.capacity_bps >= s.striping.servers);
	for (uint32_t i = 0; i < s.n_on; i++)
		CHECK(s.on[i] < s.striping.servers);
	for (uint32_t i = 0; i < s.n_events; i++) {
		CHECK(s.events[i].server == SL_REQUESTS_CONTROLLER ||
		      s.events[i].server < s.striping.servers);
		CHECK(!i || s.events[i].at >= s.events[i - 1].at);
	}
	for (uint32_t i = 0; i < s.n_policies; i++)
		CHECK(s.policies[i].text);
	sl_requests_free(&s);
	return 0;
}
