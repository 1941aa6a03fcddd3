/* SPDX-License-Identifier: Apache-2.0 */
/* sluice.yaml: what is taken, what is refused, and that messages have the right line. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layer/config.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int parse(struct config *c, const char *text, char *err)
{
	return config_parse(c, "s.yaml", text, strlen(text), err);
}

struct wrong {
	const char *text, *where, *what;
};

/* The message begins with `where` and contains `what`. */
static void refused(const char *text, const char *where, const char *what)
{
	struct config c;
	char err[CONFIG_TEXT] = "";
	static const struct config empty;

	assert_int_equal(parse(&c, text, err), -EINVAL);
	if (strncmp(err, where, strlen(where)) != 0 || !strstr(err, what))
		fail_msg("'%s' gave \"%s\", not \"%s…%s…\"", text, err, where, what);
	assert_memory_equal(&c, &empty, sizeof(c));
}

static void all_refused(const struct wrong *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		refused(w[i].text, w[i].where, w[i].what);
}

static void taken(struct config *c, const char *text)
{
	char err[CONFIG_TEXT] = "";

	if (parse(c, text, err))
		fail_msg("'%s' was refused: %s", text, err);
}

static void a_dashboard_is_a_flag_or_a_place(void **state)
{
	static const struct wrong rows[] = {
		{ "dashboard: 7480", "s.yaml:1: dashboard: '7480' is neither true nor false", "" },
		{ "dashboard: [1]", "s.yaml:1: dashboard is true, false, or", "not a list" },
		{ "dashboard:\n  port: 1\n  port: 2", "s.yaml:3:", "given twice" },
		{ "dashboard:\n  port: -1", "s.yaml:2: dashboard.port: '-1' is not a port", "" },
		{ "dashboard: {listen: 'a b'}", "s.yaml:1: dashboard.listen: 'a b' is not a name",
		  "" },
		{ "dashboard: {listen: '1.2.3.4:5'}",
		  "s.yaml:1: dashboard.listen:", "separate key" },
		{ "dashboard: {listen: '[::1]:5'}", "s.yaml:1: dashboard.listen:", "separate key" },
		{ "dashboard: {listen: '['}", "s.yaml:1: dashboard.listen: '[' is not a name", "" },
	};
	struct config c;

	taken(&c, "dashboard: yes");
	assert_true(c.dashboard && !c.dashboard_port && !c.dashboard_host);
	config_free(&c);
	taken(&c, "dashboard: off");
	assert_false(c.dashboard);
	config_free(&c);
	taken(&c, "dashboard: {}");
	assert_true(c.dashboard);
	config_free(&c);
	taken(&c, "dashboard: {listen: '[fe80::1%eth0]', port: 0}");
	assert_true(c.dashboard);
	assert_string_equal(c.dashboard_host, "[fe80::1%eth0]");
	assert_string_equal(c.dashboard_port, "0");
	config_free(&c);
	all_refused(rows, COUNT(rows));
}

static void every_key_is_taken(void **state)
{
	static const char *const wanted[CONFIG_KEYS] = {
		[CONFIG_NAME] = "scratch",
		[CONFIG_DIRECTORY] = "/mnt/my scratch",
		[CONFIG_CAPACITY] = "2GB/s",
		[CONFIG_CAPACITY_OPS] = "20k",
		[CONFIG_WORKERS] = "4",
		[CONFIG_LISTEN] = "[::1]:4444",
		[CONFIG_SECRET_FILE] = "/home/me/secret",
		[CONFIG_DEVICE_MODEL] = "bandwidth=200M,seek=5ms,op=50us,streams=2",
		[CONFIG_TRACE] = "/tmp/t",
		[CONFIG_LOG_LEVEL] = "debug",
		[CONFIG_IONODES] = "12",
		[CONFIG_GAP] = "200ms",
		[CONFIG_CURVES] = "/var/c",
		[CONFIG_PER_PROC] = "1.5Gi",
		[CONFIG_COMPUTE_NODES] = "1024",
		[CONFIG_CONTROLLER_LOSS] = "divide",
		[CONFIG_STANDBY] = "true",
		[CONFIG_DIRECT] = "true",
		[CONFIG_ASK_ALWAYS] = "true",
		[CONFIG_CHARGE] = "calls",
		[CONFIG_DIRTY] = "64Mi",
		[CONFIG_MODE] = "observe",
		[CONFIG_INTERCEPT] = "strict",
	};
	struct config c;

	taken(&c, "# a layer\n"
		  "name: scratch\n"
		  "directory: /mnt/my scratch\n"
		  "capacity: 2GB/s\n"
		  "capacity_ops: 20k\n"
		  "workers: 4\n"
		  "listen: '[::1]:4444'\n"
		  "secret_file: /home/me/secret\n"
		  "device_model: bandwidth=200M,seek=5ms,op=50us,streams=2\n"
		  "trace: /tmp/t\n"
		  "log_level: debug\n"
		  "ionodes: 12\n"
		  "gap: 200ms\n"
		  "curves: /var/c\n"
		  "per_proc_bandwidth: 1.5Gi\n"
		  "compute_nodes: 1024\n"
		  "controller_loss: divide\n"
		  "standby: true\n"
		  "direct: true\n"
		  "ask_always: true\n"
		  "charge: calls\n"
		  "dirty: 64Mi\n"
		  "mode: observe\n"
		  "intercept: strict\n"
		  "policy:\n"
		  "  admit: open\n"
		  "  share: io-sets,quantum_bytes=2Mi\n"
		  "  order: aioli,wait_us=500\n"
		  "  grant: fcfs\n"
		  "  allocate: static\n"
		  "jobs:\n"
		  "  - job: climate\n"
		  "    min: 300MB/s\n"
		  "    max: 1.5Gi\n"
		  "    burst: 64Mi\n"
		  "    weight: 4\n"
		  "    period: 20m\n"
		  "    best_effort: true\n"
		  "    order: sjf\n"
		  "  - {job: '17'}\n");
	for (int k = 0; k < CONFIG_KEYS; k++)
		assert_string_equal(c.value[k], wanted[k]);
	assert_string_equal(c.policy[0], "open");
	assert_string_equal(c.policy[1], "io-sets,quantum_bytes=2Mi");
	assert_string_equal(c.policy[2], "aioli,wait_us=500");
	assert_string_equal(c.policy[3], "fcfs");
	assert_string_equal(c.policy[4], "static");
	assert_int_equal(c.jobs_count, 2);
	assert_string_equal(c.jobs[0].name, "climate");
	assert_string_equal(c.jobs[0].words,
			    "min=300MB/s max=1.5Gi burst=64Mi weight=4 period=20m best_effort=1 "
			    "order=sjf");
	assert_int_equal(c.jobs[0].conf.min_bps, 300000000);
	assert_int_equal(c.jobs[0].conf.max_bps, UINT64_C(3) << 29);
	assert_int_equal(c.jobs[0].conf.burst_bytes, 64 << 20);
	assert_int_equal(c.jobs[0].conf.weight, 4);
	assert_int_equal(c.jobs[0].conf.period_ns, INT64_C(1200000000000));
	assert_int_equal(c.jobs[0].conf.best_effort, 1);
	assert_int_equal(c.jobs[0].line, 32);
	assert_string_equal(c.jobs[1].name, "17");
	assert_null(c.jobs[1].words);
	assert_int_equal(c.jobs[1].line, 40);
	config_free(&c);
	assert_null(c.jobs);
}

static void nothing_is_a_configuration(void **state)
{
	static const char *const texts[] = { "",     "\n",	   "# only this\n", "---\n...\n",
					     "{}\n", "jobs: []\n", "policy: {}\n" };
	struct config c;

	for (size_t i = 0; i < COUNT(texts); i++) {
		taken(&c, texts[i]);
		assert_null(c.value[CONFIG_NAME]);
		assert_int_equal(c.jobs_count, 0);
		config_free(&c);
	}
}

static void an_unknown_key_is_answered_with_those_there_are(void **state)
{
	static const struct wrong rows[] = {
		{ "name: a\n\ncapcity: 2G\n", "s.yaml:3: ",
		  "the file has no key 'capcity' (did you mean 'capacity'?); there are name, "
		  "directory, capacity, capacity_ops, workers, listen, secret_file, device_model, "
		  "trace, "
		  "log_level, ionodes, gap, curves, per_proc_bandwidth, compute_nodes, "
		  "controller_loss, standby, direct, ask_always, charge, dirty, mode, intercept, "
		  "dashboard, "
		  "policy, "
		  "jobs" },
		{ "policy:\n  shaer: wfq\n",
		  "s.yaml:2: ", "(did you mean 'share'?); there are admit, share, order" },
		{ "policy:\n  xyzzy: wfq\n",
		  "s.yaml:2: ", "policy has no key 'xyzzy'; there are admit" },
		{ "jobs:\n- job: a\n  mn: 1M\n",
		  "s.yaml:3: ", "a job has no key 'mn' (did you mean 'min'?)" },
	};

	all_refused(rows, COUNT(rows));
}

static void a_wrong_type_is_named(void **state)
{
	static const struct wrong rows[] = {
		{ "- a\n- b\n", "s.yaml:1: ", "the file is a mapping" },
		{ "just text\n", "s.yaml:1: ", "the file is a mapping" },
		{ "name: [a, b]\n", "s.yaml:1: ", "name is the name of the layer, not a list" },
		{ "\ncapacity: {a: 1}\n", "s.yaml:2: ", "capacity is a rate like 200M" },
		{ "capacity:\n", "s.yaml:1: ", "capacity has no value" },
		{ "policy: wfq\n", "s.yaml:1: ", "policy is a mapping" },
		{ "jobs: a\n", "s.yaml:1: ", "jobs is a list" },
		{ "jobs:\n- a\n", "s.yaml:2: ", "a job is a mapping" },
		{ "jobs:\n- job: a\n  min: [1]\n", "s.yaml:3: ", "min is one value, not a list" },
		{ "[a]: b\n", "s.yaml:1: ", "a key is a word, not a list" },
	};

	all_refused(rows, COUNT(rows));
}

static void a_wrong_value_is_answered_with_what_is_possible(void **state)
{
	static const struct wrong rows[] = {
		{ "name: ../x\n", "s.yaml:1: ", "is not a valid name of a layer" },
		{ "name: a\ncapacity: fast\n", "s.yaml:2: ", "'fast' is not a rate; write 200M" },
		{ "capacity: 0\n", "s.yaml:1: ", "is not a rate" },
		{ "capacity: 2P\n", "s.yaml:1: ", "is not a rate" },
		{ "workers: 0\n", "s.yaml:1: ", "not a number from 1 to 64" },
		{ "workers: 65\n", "s.yaml:1: ", "not a number from 1 to 64" },
		{ "workers: 4 cores\n", "s.yaml:1: ", "not a number from 1 to 64" },
		{ "name: a\ndevice_model: paper\n", "s.yaml:2: ",
		  "device_model: 'paper' is not a device; there are hdd, raid, ssd, "
		  "pastel, graphene, suno, edel, or write bandwidth=" },
		{ "device_model: seek=5ms\n", "s.yaml:1: ", "is not a device" },
		{ "device_model: bandwidth=999K\n", "s.yaml:1: ", "is not a device" },
		{ "device_model: bandwidth=1G,streams=17\n", "s.yaml:1: ", "is not a device" },
		{ "log_level: loud\n", "s.yaml:1: ",
		  "log_level: 'loud' is not a log level; write error, warn, info or debug" },
		{ "listen: here\n", "s.yaml:1: ", "listen: 'here' is not HOST:PORT" },
		{ "listen: here:65536\n", "s.yaml:1: ", "is not HOST:PORT" },
		{ "policy:\n  share: wfqq\n", "s.yaml:2: ", "share: no policy 'wfqq'; there are" },
		{ "policy:\n  grant: fcsf\n", "s.yaml:2: ", "grant: no policy 'fcsf'" },
		{ "policy:\n  allocate: x\n", "s.yaml:2: ", "allocate: no policy 'x'; there are" },
		{ "ionodes: 0\n", "s.yaml:1: ", "'0' is not a number from 1 to 64" },
		{ "ionodes: 65\n", "s.yaml:1: ", "'65' is not a number from 1 to 64" },
		{ "gap: 0s\n", "s.yaml:1: ", "'0s' is not a time; write 1s or 200ms" },
		{ "direct: maybe\n", "s.yaml:1: ", "'maybe' is neither true nor false" },
		{ "per_proc_bandwidth: fast\n", "s.yaml:1: ", "'fast' is not a rate" },
		{ "compute_nodes: -1\n", "s.yaml:1: ", "'-1' is not a whole number of at least 1" },
		{ "policy:\n  order: aioli, wait_us=5\n", "s.yaml:2: ", "written without spaces" },
		{ "jobs:\n- job: a b\n", "s.yaml:2: ", "without spaces" },
		{ "jobs:\n- min: 1M\n", "s.yaml:2: ", "a job needs its name" },
		{ "jobs:\n- job: a\n  weight: -1\n", "s.yaml:3: ", "weight: '-1' is not a number" },
		{ "jobs:\n- job: a\n  period: soon\n", "s.yaml:3: ", "'soon' is not a time" },
		{ "jobs:\n- job: a\n  burst: x\n", "s.yaml:3: ", "'x' is not a size" },
		{ "jobs:\n- job: a\n  best_effort: maybe\n", "s.yaml:3: ", "neither 0 nor 1" },
		{ "jobs:\n- job: a\n  order: x\n", "s.yaml:3: ", "order: no policy 'x'" },
		{ "name: \"a\\0b\"\n", "s.yaml:1: ", "zero byte" },
	};

	all_refused(rows, COUNT(rows));
}

static void what_is_given_twice_is_refused(void **state)
{
	static const struct wrong rows[] = {
		{ "name: a\nname: b\n", "s.yaml:2: ", "name is given twice" },
		{ "policy:\n  share: wfq\n  share: fifo\n", "s.yaml:3: ", "share is given twice" },
		{ "jobs:\n- job: a\n- job: b\n- job: a\n",
		  "s.yaml:4: ", "'a' exists already, in line 2" },
		{ "jobs:\n- job: a\n  min: 1\n  min: 2\n", "s.yaml:4: ", "min is given twice" },
		{ "name: a\n---\nname: b\n", "s.yaml:3: ", "a second document" },
		{ "name: a\njobs: "
		  "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
		  "s.yaml:2: ", "nested more than 64 deep" },
	};

	all_refused(rows, COUNT(rows));
}

static void what_is_not_yaml_is_refused_with_its_line(void **state)
{
	static const struct wrong rows[] = {
		{ "name: a\n  b: [\n", "s.yaml:2: ", "this is not YAML" },
		{ "name: a\nworkers: \"4\n", "s.yaml:", "this is not YAML" },
		{ "\tname: a\n", "s.yaml:1: ", "this is not YAML" },
		{ "name: *nobody\n", "s.yaml:1: ", "this is not YAML" },
		{ "name: \xff\n", "s.yaml:", "this is not YAML" },
	};

	all_refused(rows, COUNT(rows));
}

static void aliases_are_followed_and_circles_do_no_harm(void **state)
{
	struct config c;

	taken(&c, "capacity: &r 2G\njobs:\n- job: a\n  max: *r\n- job: b\n  max: *r\n");
	assert_int_equal(c.jobs[1].conf.max_bps, 2000000000);
	config_free(&c);
	refused("jobs: &j\n- *j\n", "s.yaml:", "a job is a mapping");
	refused("policy: &p\n  share: *p\n", "s.yaml:", "share is a policy like");
}

static void paths_are_beneath_that_of_the_file(void **state)
{
	char dir[] = "/tmp/sluice-test-XXXXXX", path[64], expected[64], err[CONFIG_TEXT];
	struct config c;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s.yaml", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("directory: data\ntrace: t\nsecret_file: /s\n", f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(config_read(&c, path, err), 0);
	snprintf(expected, sizeof(expected), "%s/data", dir);
	assert_string_equal(c.value[CONFIG_DIRECTORY], expected);
	snprintf(expected, sizeof(expected), "%s/t", dir);
	assert_string_equal(c.value[CONFIG_TRACE], expected);
	assert_string_equal(c.value[CONFIG_SECRET_FILE], "/s");
	config_free(&c);
	unlink(path);
	assert_int_equal(config_read(&c, path, err), -ENOENT);
	assert_non_null(strstr(err, "No such file"));
	assert_int_equal(config_read(&c, dir, err), -EISDIR);
	rmdir(dir);
}

static void rules_are_taken_in_their_order(void **state)
{
	struct config c;

	taken(&c, "rules:\n"
		  "  - name: backup\n"
		  "    user: backup\n"
		  "    job: 'rsync*,tar'\n"
		  "    max: 100MB/s\n"
		  "    burst: 4M\n"
		  "  - {user: '*', max: 50M, per: user}\n"
		  "  - {account: cern, weight: 3, per: account}\n"
		  "  - {}\n");
	assert_int_equal(c.rules_count, 4);
	assert_string_equal(c.rules[0].name, "backup");
	assert_int_equal(c.rules[0].line, 2);
	assert_string_equal(c.rules[0].match[SL_RULE_JOB], "rsync*,tar");
	assert_null(c.rules[0].match[SL_RULE_GROUP]);
	assert_int_equal(c.rules[0].says, SL_SAYS_MAX | SL_SAYS_BURST);
	assert_int_equal(c.rules[0].max_bps, 100000000);
	assert_int_equal(c.rules[0].per, SL_PER_JOB);
	assert_string_equal(c.rules[1].name, "2");
	assert_int_equal(c.rules[1].per, SL_PER_USER);
	assert_int_equal(c.rules[2].weight, 3);
	assert_int_equal(c.rules[3].says, 0);
	config_free(&c);
}

static void a_rule_with_a_mistake_is_refused_with_its_line(void **state)
{
	static const struct wrong rows[] = {
		{ "rules: fast", "s.yaml:1:", "a list" },
		{ "rules:\n  - user: a\n    max: fast", "s.yaml:3: rules[0].max: 'fast'", "rate" },
		{ "rules:\n  - user: a\n  - max: 0", "s.yaml:3: rules[1].max:", "" },
		{ "rules:\n  - usr: a", "s.yaml:2:", "user" },
		{ "rules:\n  - per: everybody", "s.yaml:2: rules[0].per:", "account" },
		{ "rules:\n  - {min: 5M, max: 4M}", "s.yaml:2:", "min is more than max" },
		{ "rules:\n  - {min: 5M, per: user}", "s.yaml:2:", "apply to each job" },
		{ "rules:\n  - {weight: 5, per: rule}", "s.yaml:2:", "per job, user or account" },
		{ "rules:\n  - {weight: 0}", "s.yaml:2: rules[0].weight:", "" },
		{ "rules:\n  - {name: a}\n  - {name: a}", "s.yaml:3:", "in line 2" },
		{ "rules:\n  - {name: '2'}\n  - {max: 1M}", "s.yaml:3:", "in line 2" },
		{ "rules:\n  - {user: [a, b]}", "s.yaml:2:", "" },
	};

	all_refused(rows, COUNT(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_taken),
		cmocka_unit_test(a_dashboard_is_a_flag_or_a_place),
		cmocka_unit_test(nothing_is_a_configuration),
		cmocka_unit_test(an_unknown_key_is_answered_with_those_there_are),
		cmocka_unit_test(a_wrong_type_is_named),
		cmocka_unit_test(a_wrong_value_is_answered_with_what_is_possible),
		cmocka_unit_test(what_is_given_twice_is_refused),
		cmocka_unit_test(what_is_not_yaml_is_refused_with_its_line),
		cmocka_unit_test(aliases_are_followed_and_circles_do_no_harm),
		cmocka_unit_test(paths_are_beneath_that_of_the_file),
		cmocka_unit_test(rules_are_taken_in_their_order),
		cmocka_unit_test(a_rule_with_a_mistake_is_refused_with_its_line),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
