/* SPDX-License-Identifier: Apache-2.0 */
/* A status: written and read again, and merged over nodes and a controller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/status.h"

static char *written(const struct status *s, enum status_kind kind)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);
	struct json j;

	assert_non_null(f);
	json_begin_line(&j, f);
	json_object(&j, NULL);
	status_put(&j, s, kind);
	json_end(&j);
	fclose(f);
	return text;
}

static const char *const node[] = {
	"{\"root\":\"/data\",\"uptime_s\":5,\"capacity_bps\":100,\"bandwidth_bps\":80,"
	"\"draw_bps\":7,\"capacity_auto\":null,\"trace\":{\"state\":\"recording\"},\"jobs\":["
	"{\"job\":\"a\",\"clients\":2,\"bandwidth_bps\":60,\"requests\":300,\"batches\":10,"
	"\"merge_ratio\":2,\"min_bps\":5,\"asked_min_bps\":20,\"throttled_s\":1,"
	"\"latency_us\":{\"p99\":2000},\"pattern\":{\"files\":1,\"op\":\"read\"},"
	"\"queued_requests\":1,\"reason\":\"granted 0\",\"set\":null},"
	"{\"job\":\"b\",\"clients\":1,\"bandwidth_bps\":20,\"set\":-1,\"reason\":\"at max\"}]}",
	"{\"root\":\"/data\",\"uptime_s\":9,\"capacity_bps\":100,\"bandwidth_bps\":20,"
	"\"jobs\":[{\"job\":\"c\",\"clients\":0},"
	"{\"job\":\"a\",\"clients\":1,\"bandwidth_bps\":20,\"requests\":100,\"batches\":30,"
	"\"merge_ratio\":4,\"min_bps\":15,\"asked_min_bps\":20,\"throttled_s\":3,"
	"\"latency_us\":{\"p99\":6000},\"pattern\":{\"files\":9,\"op\":\"write\"},"
	"\"reason\":\"computing\"}]}",
};
static const char controller[] =
	"{\"pid\":7,\"uptime_s\":4,\"epoch\":3,\"capacity_bps\":300,\"role\":\"leads\",\"grant\":"
	"\"fcfs\",\"jobs\":["
	"{\"job\":\"a\",\"in_io\":true,\"grant_bps\":0,\"map_epoch\":1,"
	"\"reason\":\"granted 0 until job b is done\",\"ionodes\":[\"1\",\"0\"]}]}";

static struct status *merged(bool with_controller)
{
	struct status_member nodes[3] = {
		{ .name = "0", .socket = "s0", .log = "l0", .pid = 10 },
		{ .name = "1", .socket = "s1", .log = "l1", .pid = 11 },
		{ .name = "2", .socket = "s2", .log = "l2", .pid = 0 },
	};
	struct status_member one = { .name = "controller", .socket = "s", .log = "l", .pid = 7 };
	struct status *s;

	nodes[0].said = status_decode(node[0]);
	nodes[1].said = status_decode(node[1]);
	one.said = with_controller ? status_decode(controller) : NULL;
	s = status_merge(nodes, 3, with_controller ? &one : NULL, NULL);
	assert_non_null(s);
	return s;
}

static void jobs_are_added_up_by_the_rule_of_each_field(void **state)
{
	struct status *s = merged(false);
	const struct status_job *a = status_job_find(s, "a");

	assert_int_equal(s->jobs_count, 3);
	assert_float_equal(a->bandwidth_bps, 80, 0);
	assert_float_equal(a->share, 0.8, 1e-9);
	assert_float_equal(a->latency_us_p99, 3000, 1e-9);
	assert_float_equal(a->merge_ratio, 3.5, 1e-9);
	assert_float_equal(a->throttled_s, 3, 0);
	assert_float_equal(a->min_bps, 20, 0);
	assert_float_equal(a->pattern_files, 1, 0); /* node 0 has more requests */
	assert_string_equal(a->pattern_op, "read");
	assert_string_equal(a->reason, "granted 0"); /* most waits there */
	assert_true(isnan(a->in_io) && isnan(a->grant_bps) && isnan(a->set));
	assert_float_equal(status_job_find(s, "b")->set, -1, 0);
	assert_int_equal(a->served_by_count, 2);
	assert_int_equal(status_job_find(s, "c")->served_by_count, 0);
	assert_string_equal(a->parts->ionode, "0");
	assert_float_equal(a->parts->next_part->bandwidth_bps, 20, 0);
	assert_null(a->parts->next_part->next_part);
	status_free(s);
}

static void nodes_stand_beside_the_layer(void **state)
{
	struct status *s = merged(false);

	assert_float_equal(s->capacity_bps, 200, 0);
	assert_float_equal(s->uptime_s, 9, 0);
	assert_float_equal(s->floors_bps, 20, 0); /* what jobs have asked for */
	assert_int_equal(s->ionodes_count, 3);
	assert_string_equal(s->ionodes[0].state, "up");
	assert_string_equal(s->ionodes[2].state, "died");
	assert_float_equal(s->ionodes[0].jobs, 2, 0);
	assert_float_equal(s->ionodes[1].clients, 1, 0);
	assert_float_equal(s->ionodes[0].draw_bps, 7, 0);
	assert_string_equal(s->ionodes[0].trace_state, "recording");
	assert_null(s->controller.state);
	status_free(s);
}

static void the_controller_adds_what_it_decides(void **state)
{
	struct status *s = merged(true);
	const struct status_job *a = status_job_find(s, "a");

	assert_string_equal(s->controller.state, "up");
	assert_string_equal(s->controller.grant, "fcfs");
	assert_float_equal(s->controller.epoch, 3, 0);
	assert_float_equal(s->capacity_bps, 300, 0); /* a node of 100 does not answer */
	assert_float_equal(a->in_io, 1, 0);
	assert_float_equal(a->grant_bps, 0, 0);
	assert_string_equal(a->reason, "granted 0 until job b is done");
	assert_string_equal(a->served_by[0], "1");
	assert_true(isnan(status_job_find(s, "b")->in_io));
	status_free(s);
}

static void what_is_written_reads_the_same(void **state)
{
	struct status *s = merged(true), *again;
	char *text = written(s, STATUS_OF_LAYER), *other;

	again = status_decode(text);
	assert_non_null(again);
	other = written(again, STATUS_OF_LAYER);
	assert_string_equal(text, other);
	assert_non_null(strstr(text, "\"capacity_auto\":null,"));
	assert_non_null(strstr(text, "\"grant_bps\":0,"));
	assert_non_null(strstr(text, "\"in_io\":true,"));
	assert_null(strchr(text, '\n'));
	free(text);
	free(other);
	/* a node writes less */
	text = written(s, STATUS_OF_NODE);
	assert_null(strstr(text, "parts"));
	assert_null(strstr(text, "in_io"));
	assert_non_null(strstr(text, "\"trace\":{\"state\":\"recording\","));
	free(text);
	status_free(again);
	status_free(s);
}

static void without_a_node_there_is_no_layer(void **state)
{
	struct status_member none = { .name = "0", .socket = "", .log = "" };
	struct status_member one = { .name = "c", .socket = "", .log = "" };

	one.said = status_decode(controller);
	assert_null(status_merge(&none, 1, &one, NULL));
	assert_null(status_decode("[]"));
	assert_null(status_decode("{"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_added_up_by_the_rule_of_each_field),
		cmocka_unit_test(nodes_stand_beside_the_layer),
		cmocka_unit_test(the_controller_adds_what_it_decides),
		cmocka_unit_test(what_is_written_reads_the_same),
		cmocka_unit_test(without_a_node_there_is_no_layer),
	};

	return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
