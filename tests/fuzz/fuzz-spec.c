/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a policy spec; the first byte chooses the stage and how much room the message has.
 * Checked: on success the policy is of that stage, every value is in its parameter's range, values
 * not in the text are the defaults, and the spec written out in full is read as the same. On error
 * nothing was written but a terminated message, within its room.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/spec.h"
#include "tests/fuzz/fuzz.h"

static void well_read(enum sl_stage stage, const char *text, const struct sl_spec *spec)
{
	const struct sl_param *p = spec->policy->params;
	struct sl_spec again;
	char full[1024], err[256];
	int at;

	CHECK(sl_policy_find(stage, spec->policy->name, strlen(spec->policy->name)) ==
	      spec->policy);
	CHECK(!strncmp(text, spec->policy->name, strlen(spec->policy->name)));
	at = snprintf(full, sizeof(full), "%s", spec->policy->name);
	for (unsigned i = 0; p && p[i].name; i++) {
		size_t room = sizeof(full) - (size_t)at;

		CHECK(spec->values[i] >= p[i].min && spec->values[i] <= p[i].max);
		CHECK(strstr(text, p[i].name) || spec->values[i] == p[i].def);
		if (p[i].unit == SL_FILE)
			continue;
		if (p[i].unit == SL_CHOICE)
			at += snprintf(full + at, room, ",%s=%s", p[i].name,
				       p[i].choices[spec->values[i]]);
		else
			at += snprintf(full + at, room, ",%s=%" PRId64, p[i].name, spec->values[i]);
		CHECK((size_t)at < sizeof(full));
	}
	memset(&again, 0, sizeof(again));
	CHECK(sl_spec_parse(stage, full, &again, err, sizeof(err)) == 0);
	CHECK(again.policy == spec->policy);
	for (unsigned i = 0; p && p[i].name; i++)
		CHECK(p[i].unit == SL_FILE || again.values[i] == spec->values[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_spec spec, before;
	enum sl_stage stage;
	char text[512], err[257];
	size_t room;
	int result;

	if (size == 0 || size >= sizeof(text))
		return 0;
	stage = (enum sl_stage)(data[0] % SL_STAGES);
	/* Mostly all of it: short room hides nothing but the end of the message. */
	room = data[0] & 0x80 ? data[0] & 0x7f : sizeof(err) - 1;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';

	memset(&spec, 0x5a, sizeof(spec));
	memset(&before, 0x5a, sizeof(before));
	memset(err, '#', sizeof(err));
	result = sl_spec_parse(stage, text, &spec, err, room);
	CHECK(err[room] == '#');
	if (result == 0) {
		well_read(stage, text, &spec);
		return 0;
	}
	CHECK(result == -ENOENT || result == -EINVAL || result == -ERANGE);
	CHECK(!memcmp(&spec, &before, sizeof(spec)));
	CHECK(room == 0 || memchr(err, '\0', room));
	if (room > 1) {
		size_t length = strnlen(err, room);

		CHECK(length > 0 && length < room);
		for (size_t i = 0; i < length; i++)
			CHECK(err[i] >= ' ' && err[i] <= '~');
		CHECK(!strncmp(err, sl_stage_name(stage), strlen(sl_stage_name(stage))) ||
		      room <= strlen(sl_stage_name(stage)));
	}
	return 0;
}
