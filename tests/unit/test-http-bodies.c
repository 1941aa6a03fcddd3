/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of requests to the dashboard, what-if scenarios, and metrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "httpd/change.h"
#include "httpd/metrics.h"
#include "httpd/plan.h"
#include "sim/scenario.h"

static char line[CHANGE_LINE], err[CHANGE_TEXT];

static int job(const char *name, const char *body)
{
	return change_job(name, body, strlen(body), line, err);
}

static int policy(const char *body)
{
	return change_policy(body, strlen(body), line, err);
}

static void a_body_becomes_a_control_line(void **state)
{
	assert_int_equal(job("a", "{\"max\":\"100M\",\"weight\":2,\"best_effort\":true,"
				  "\"period\":1.5}\n"),
			 0);
	assert_string_equal(line, "set a max=100M weight=2 best_effort=1 period=1.500000000");
	assert_int_equal(policy("{\"share\":\"io-sets\",\"order\":\"aioli,wait_us=500\"}"), 0);
	assert_string_equal(line, "policy share=io-sets order=aioli,wait_us=500");
	assert_int_equal(policy("{\"share\":\"wfq\",\"grant\":\"set-10\"}"), 0);
	assert_string_equal(line, "policy share=wfq grant=set-10");
}

static void what_is_wrong_is_told(void **state)
{
	static const struct {
		const char *body, *says;
	} wrong[] = {
		{ "", "not a JSON object" },
		{ "[]", "not a JSON object" },
		{ "{\"max\":1} x", "not a JSON object" },
		{ "{\"max\":1", "not a JSON object" },
		{ "{}", "nothing to set" },
		{ "{\"max\":null}", "a string or a number" },
		{ "{\"max\":[1]}", "a string or a number" },
		{ "{\"max\":1e300}", "a string or a number" },
		{ "{\"max\":-1}", "is not a rate" },
		{ "{\"max\":\"\"}", "1 to" },
		{ "{\"max\":\"1 weight=9\"}", "no spaces" },
		{ "{\"max\":\"1\\nset b max=1\"}", "no spaces" },
		{ "{\"size\":\"1\"}", "there are min, max" },
		{ "{\"weight\":\"1.5\"}", "is not a number" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(job("a", wrong[i].body), -EINVAL);
		if (!strstr(err, wrong[i].says))
			fail_msg("%s: %s", wrong[i].body, err);
	}
	assert_int_equal(job("a b", "{\"max\":1}"), -EINVAL);
	assert_int_equal(job("", "{\"max\":1}"), -EINVAL);
	assert_int_equal(policy("{\"speed\":\"fast\"}"), -EINVAL);
	assert_int_equal(policy("{\"share\":\"io-set\"}"), -EINVAL);
}

static void policies_to_simulate_are_checked(void **state)
{
	static const char good[] = "{\"policies\":[\"fair-share\",\"min-max,gamma=50\"]}",
			  bad[] = "{\"policies\":[\"fair-share\",\"best\"]}";
	char *p[CHANGE_POLICIES + 1];

	assert_int_equal(change_what_if(good, strlen(good), p, err), 0);
	assert_string_equal(p[0], "fair-share");
	assert_string_equal(p[1], "min-max,gamma=50");
	assert_null(p[2]);
	change_what_if_free(p);
	assert_int_equal(change_what_if(bad, strlen(bad), p, err), -EINVAL);
	assert_null(p[0]);
	assert_int_equal(change_what_if(NULL, 0, p, err), 0);
	assert_null(p[0]);
}

/* ---- what-if ---- */

static struct history h;

static const char status[] =
	"{\"capacity_bps\":100000000,\"controller\":{\"grant\":\"fair-share\"},\"jobs\":["
	"{\"job\":\"a\\\"b\",\"clients\":4,\"procs\":0,\"phases\":3,\"mean_compute_s\":8,"
	"\"mean_bytes\":200000000},"
	"{\"job\":\"seen\",\"clients\":1,\"procs\":2,\"phases\":0,\"mean_compute_s\":0,"
	"\"mean_bytes\":0},"
	"{\"job\":\"new\",\"clients\":1,\"procs\":1,\"phases\":0},"
	"{\"job\":\"gone\",\"clients\":0,\"procs\":1,\"phases\":9,\"mean_compute_s\":1,"
	"\"mean_bytes\":1000}]}";

static void remember(void)
{
	double mb = 0;

	assert_int_equal(history_init(&h), 0);
	for (int64_t s = 0; s <= 100; s++) { /* 40 of 100 s in I/O, 2 GB: 20 s alone */
		mb += s && (s - 1) % 10 < 4 ? 50 : 0;
		history_begin(&h, s * 1000, 0);
		history_job(&h, "seen", mb * 1e6, HISTORY_UNKNOWN);
		history_end(&h);
	}
}

static void jobs_as_they_are_become_a_scenario(void **state)
{
	struct sl_scenario s;
	struct plan p;
	struct status *jobs = status_decode(status);
	char text[300];

	remember();
	assert_int_equal(plan_make(jobs, &h, &p, err), 0);
	if (sl_scenario_parse("plan", p.scenario, strlen(p.scenario), &s, text, sizeof(text)))
		fail_msg("%s: %s", p.scenario, text);
	assert_int_equal(s.n_apps, 2);
	assert_string_equal(s.apps[0].name, "a\"b");
	assert_int_equal(s.apps[0].procs, 4);
	assert_float_equal(s.apps[0].compute_s.a, 8, 1e-9);
	assert_float_equal(s.apps[0].volume_bytes.a, 2e8, 1);
	assert_string_equal(s.apps[1].name, "seen");
	assert_float_equal(s.apps[1].compute_s.a, 6, 0.01);
	assert_float_equal(s.apps[1].volume_bytes.a, 2e8, 10);
	assert_float_equal(s.platform.bandwidth_bps, 1e8, 1);
	assert_true(s.from_s > 0 && s.to_s > s.from_s);
	sl_scenario_free(&s);
	/* of "seen" alone something was seen: the worked example of plan.c */
	assert_float_equal(cJSON_GetObjectItem(p.now, "max_stretch")->valuedouble, 1.25, 0.01);
	assert_float_equal(cJSON_GetObjectItem(p.now, "io_slowdown")->valuedouble, 2, 0.02);
	assert_float_equal(cJSON_GetObjectItem(p.now, "utilization")->valuedouble, 0.6, 0.01);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(p.now, "left_out")), 2);
	plan_free(&p);
	status_free(jobs);
	history_free(&h);
}

static void without_a_phase_or_a_bandwidth_there_is_no_scenario(void **state)
{
	struct status *nothing = status_decode("{\"jobs\":[]}");
	struct status *idle =
		status_decode("{\"capacity_bps\":1,\"jobs\":[{\"job\":\"x\",\"clients\":1}]}");
	struct plan p;

	assert_int_equal(history_init(&h), 0);
	assert_int_equal(plan_make(nothing, &h, &p, err), -ENODATA);
	assert_non_null(strstr(err, "no capacity"));
	assert_int_equal(plan_make(idle, &h, &p, err), -ENODATA);
	assert_non_null(strstr(err, "I/O phase"));
	status_free(nothing);
	status_free(idle);
	history_free(&h);
}

static void the_answer_is_what_the_simulator_says_beside_now(void **state)
{
	struct plan p = { .now = cJSON_Parse("{\"grant\":\"none\"}") };
	size_t length;
	char *text = plan_answer(
		&p, "{\"policies\":[{\"name\":\"fcfs\",\"max_stretch\":2,\"events\":7}]}", &length);
	cJSON *tree = cJSON_Parse(text), *one;

	one = cJSON_GetArrayItem(cJSON_GetObjectItem(tree, "policies"), 0);
	assert_string_equal(cJSON_GetObjectItem(one, "name")->valuestring, "fcfs");
	assert_float_equal(cJSON_GetObjectItem(one, "max_stretch")->valuedouble, 2, 0);
	assert_null(cJSON_GetObjectItem(one, "events"));
	assert_non_null(cJSON_GetObjectItem(tree, "now"));
	cJSON_Delete(tree);
	cJSON_free(text);
	assert_null(plan_answer(&p, "sluice sim: no.", &length));
	plan_free(&p);
}

/* ---- metrics ---- */

static char *metrics(const char *json)
{
	struct status *s = json ? status_decode(json) : NULL;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	metrics_write(f, "x", s, 0.25);
	fclose(f);
	status_free(s);
	return text;
}

static void metrics_are_one_family_after_the_other(void **state)
{
	char *text = metrics(
		"{\"capacity_bps\":1e8,\"controller\":{\"state\":\"died\"},"
		"\"ionodes\":[{\"name\":\"0\",\"state\":\"up\",\"jobs\":1},"
		"{\"name\":\"1\",\"state\":\"died\",\"jobs\":0}],"
		"\"jobs\":[{\"job\":\"a\\\"\\\\\",\"read_bytes\":1,\"write_bytes\":2,"
		"\"in_io\":true,\"grant_bps\":null,\"latency_us\":{\"p50\":1500},\"parts\":["
		"{\"ionode\":\"0\",\"requests\":1,\"read_bytes\":1,\"write_bytes\":2}]},"
		"{\"job\":\"b\",\"read_bytes\":3,\"write_bytes\":4,\"parts\":["
		"{\"ionode\":\"0\",\"clients\":1,\"read_bytes\":0,\"write_bytes\":1},"
		"{\"ionode\":\"1\",\"clients\":0,\"requests\":0,\"read_bytes\":0},"
		"{\"ionode\":\"2\",\"requests\":7,\"read_bytes\":3,"
		"\"write_bytes\":1234567890123457}]}]}");

	/* for each node that serves it; to the byte */
	assert_non_null(strstr(
		text, "# TYPE sluice_job_bytes_total counter\n"
		      "sluice_job_bytes_total{job=\"a\\\"\\\\\",ionode=\"0\",op=\"read\"} 1\n"
		      "sluice_job_bytes_total{job=\"a\\\"\\\\\",ionode=\"0\",op=\"write\"} 2\n"
		      "sluice_job_bytes_total{job=\"b\",ionode=\"0\",op=\"read\"} 0\n"
		      "sluice_job_bytes_total{job=\"b\",ionode=\"0\",op=\"write\"} 1\n"
		      "sluice_job_bytes_total{job=\"b\",ionode=\"2\",op=\"read\"} 3\n"
		      "sluice_job_bytes_total{job=\"b\",ionode=\"2\",op=\"write\"} "
		      "1234567890123457\n# HELP"));
	assert_non_null(strstr(text, "\nsluice_controller_up 0\n"));
	assert_non_null(strstr(text, "\nsluice_ionode_up{ionode=\"1\"} 0\n"));
	assert_non_null(strstr(text, "\nsluice_ionode_jobs{ionode=\"0\"} 1\n# HELP"));
	assert_non_null(strstr(text, "\nsluice_capacity_bytes_per_second 100000000\n"));
	assert_non_null(strstr(text, "\nsluice_job_in_io{job=\"a\\\"\\\\\"} 1\n"));
	assert_non_null(
		strstr(text, "\nsluice_job_latency_p50_seconds{job=\"a\\\"\\\\\"} 0.0015\n"));
	assert_null(strstr(text, "\nsluice_job_grant_bytes_per_second{"));
	free(text);
}

static void of_a_layer_that_does_not_answer_only_that_is_told(void **state)
{
	char *text = metrics(NULL);

	assert_non_null(strstr(text, "sluice_up 0\n"));
	assert_non_null(strstr(text, "sluice_status_age_seconds 0.250\n"));
	assert_null(strstr(text, "sluice_info"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_becomes_a_control_line),
		cmocka_unit_test(what_is_wrong_is_told),
		cmocka_unit_test(policies_to_simulate_are_checked),
		cmocka_unit_test(jobs_as_they_are_become_a_scenario),
		cmocka_unit_test(without_a_phase_or_a_bandwidth_there_is_no_scenario),
		cmocka_unit_test(the_answer_is_what_the_simulator_says_beside_now),
		cmocka_unit_test(metrics_are_one_family_after_the_other),
		cmocka_unit_test(of_a_layer_that_does_not_answer_only_that_is_told),
	};

	return cmocka_run_group_tests_name("http-bodies", tests, NULL, NULL);
}
