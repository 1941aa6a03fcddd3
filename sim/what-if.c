/* SPDX-License-Identifier: Apache-2.0 */
/* See what-if.h. */
#include "sim/what-if.h"

#include <cjson/cJSON.h>
#include <math.h>

#define ITERATIONS 200000.0 /* of all jobs together: a second or so of simulation */
#define PERIODS	   20.0	    /* of the slowest job */

double what_if_period_s(const struct what_if_job *job, double bandwidth_bps)
{
	return job->compute_s + job->bytes / bandwidth_bps;
}

char *what_if_scenario(const struct what_if_job *job, size_t jobs, double bandwidth_bps)
{
	cJSON *scenario = cJSON_CreateObject(), *list, *window;
	double longest_s = 0, rate = 0, window_s;
	char *text;

	cJSON_AddNumberToObject(cJSON_AddObjectToObject(scenario, "platform"), "bandwidth",
				floor(bandwidth_bps));
	for (size_t i = 0; i < jobs; i++) {
		double period_s = what_if_period_s(&job[i], bandwidth_bps);

		longest_s = fmax(longest_s, period_s);
		rate += 1 / fmax(period_s, 1e-6);
	}
	/* After two periods the common start is forgotten. Short periods beside long ones: less. */
	window_s = fmin(PERIODS * longest_s, fmax(2 * longest_s, ITERATIONS / rate));
	window = cJSON_AddArrayToObject(scenario, "window");
	cJSON_AddItemToArray(window, cJSON_CreateNumber(2 * longest_s));
	cJSON_AddItemToArray(window, cJSON_CreateNumber(2 * longest_s + window_s));
	list = cJSON_AddArrayToObject(scenario, "jobs");
	for (size_t i = 0; i < jobs; i++) {
		cJSON *to = cJSON_CreateObject();

		cJSON_AddStringToObject(to, "name", job[i].name);
		cJSON_AddNumberToObject(to, "procs", job[i].procs);
		cJSON_AddNumberToObject(to, "compute", job[i].compute_s);
		cJSON_AddNumberToObject(to, "volume", floor(job[i].bytes));
		cJSON_AddItemToArray(list, to);
	}
	text = cJSON_PrintUnformatted(scenario);
	cJSON_Delete(scenario);
	return text;
}
