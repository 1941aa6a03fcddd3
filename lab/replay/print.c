/* SPDX-License-Identifier: Apache-2.0 */
/* The results of `sluice replay --name`, as text and as JSON. */
#include <inttypes.h>

#include "base/json.h"
#include "base/units.h"
#include "lab/replay/live.h"

static double rl_mb_s(uint64_t bytes, sl_time ns)
{
	return ns > 0 ? (double)bytes * 1e3 / (double)ns : 0;
}

static uint64_t rl_recorded_bytes(const struct rl *l, const struct rl_job *j)
{
	uint64_t bytes = 0;

	for (uint32_t i = j->first; i != UINT32_MAX; i = l->op[i].next)
		bytes += l->op[i].length;
	return bytes;
}

static void rl_print_json(const struct rl *l)
{
	struct json j;

	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "layer", l->layer->name);
	json_double(&j, "speed", l->speed);
	json_double(&j, "recorded_s", (double)l->end_ns / 1e9);
	json_array(&j, "jobs");
	for (uint32_t i = 0; i < l->jobs; i++) {
		const struct rl_job *job = &l->job[i];
		const struct rl_report *r = &job->report;
		sl_time took = r->last_ns - r->first_ns;
		char number[24];

		if (!job->count)
			continue;
		snprintf(number, sizeof(number), "%016" PRIx64, job->number);
		json_object(&j, NULL);
		json_string(&j, "job", job->name);
		json_string(&j, "recorded_job", number);
		json_uint(&j, "requests", r->requests);
		json_uint(&j, "failed", r->failed);
		json_uint(&j, "read_bytes", r->bytes[SL_READ]);
		json_uint(&j, "write_bytes", r->bytes[SL_WRITE]);
		json_double(&j, "took_s", (double)took / 1e9);
		json_double(&j, "recorded_s", (double)job->end_ns / 1e9);
		json_double(&j, "mean_us", (double)r->busy_ns / 1e3 / (double)r->requests);
		json_double(&j, "late_us", (double)r->late_ns / 1e3 / (double)r->requests);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
}

static void rl_print_text(const struct rl *l)
{
	printf("job          requests      MiB   MB/s    recorded     mean     late    took\n");
	for (uint32_t i = 0; i < l->jobs; i++) {
		const struct rl_job *j = &l->job[i];
		const struct rl_report *r = &j->report;
		uint64_t bytes = r->bytes[SL_READ] + r->bytes[SL_WRITE];
		sl_time took = r->last_ns - r->first_ns, n = (sl_time)r->requests;
		char mean[16], late[16], all[16];

		if (!j->count)
			continue;
		printf("%-11s %9" PRIu64 " %8.1f %6.1f %11.1f %8s %8s %7s\n", j->name, r->requests,
		       (double)bytes / 1048576, rl_mb_s(bytes, took),
		       rl_mb_s(rl_recorded_bytes(l, j), j->end_ns),
		       sl_format_time(mean, sizeof(mean), n ? r->busy_ns / n : 0),
		       sl_format_time(late, sizeof(late), n ? r->late_ns / n : 0),
		       sl_format_time(all, sizeof(all), took));
	}
}

void replay_print(const struct rl *l, bool json)
{
	if (json)
		rl_print_json(l);
	else
		rl_print_text(l);
}
