/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as sluice.yaml. Checked: a message names the file and a line that it has; what is
 * accepted can be used as it is: names are names, rates are rates, and the words of each job make
 * a control line that means the same.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/config.h"
#include "tests/fuzz/fuzz.h"

static void has_place(const char *err, const uint8_t *data, size_t size)
{
	unsigned long line, lines = 2; /* one begun, and one behind the end */
	char *end;

	/* YAML ends lines with these too: CR, NEL, LS, PS; each has one of these bytes. */
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n' || data[i] == '\r' || data[i] == 0x85 || data[i] == 0xa8 ||
			 data[i] == 0xa9;
	/* In UTF-16 they are other bytes. */
	if (size >= 2 && (data[0] >= 0xfe || data[1] >= 0xfe))
		lines = size + 2;
	CHECK(!strncmp(err, "f.yaml:", 7));
	line = strtoul(err + 7, &end, 10);
	CHECK(line >= 1 && line <= lines);
	CHECK(!strncmp(end, ": ", 2) && end[2]);
	CHECK(strlen(err) < CONFIG_TEXT);
}

static void job_is_sound(const struct config_job *job)
{
	struct sl_job_conf again = { 0 };
	char err[CHECK_TEXT], *words, *save = NULL;

	CHECK(check_job_name(job->name, err) == 0);
	words = strdup(job->words ? job->words : "");
	CHECK(words);
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');

		CHECK(value);
		*value++ = 0;
		CHECK(check_job_key(word, value, &again, err) == 0);
	}
	free(words);
	CHECK(memcmp(&again, &job->conf, sizeof(again)) == 0);
}

/* Matching ends, and what a rule leaves of a request is within what it says. */
static void rule_is_sound(const struct sl_rule *rule)
{
	const struct sl_rule_job job = { .value = { "alice", "users,physics", "cern", "high",
						    "batch", "4711", rule->match[SL_RULE_PATH] },
					 .title = "climate" };
	struct sl_job_conf conf = { .min_bps = 1000, .max_bps = SL_MAX_RATE, .weight = 9 };
	struct sl_rules_held held;
	bool matches = sl_rule_differs(rule, &job) == SL_RULE_KEYS;
	uint64_t limit;

	CHECK(rule->name[0] && rule->line >= 1 && rule->ops <= SL_RULE_ALL);
	sl_rules_match(rule, 1, &job, &held);
	for (int op = 0; op < SL_RULE_OPS; op++)
		CHECK((held.rule[op] == 0) == (matches && (!rule->ops || rule->ops & 1U << op)));
	CHECK(!sl_rule_bucket(rule, &job) == (rule->per == SL_PER_JOB));
	held = (struct sl_rules_held){ { 0 }, 0 };
	sl_rules_clamp(rule, &held, &conf);
	CHECK(rule->per != SL_PER_JOB || !(rule->says & SL_SAYS_MAX) ||
	      conf.max_bps <= rule->max_bps);
	CHECK(!(rule->says & SL_SAYS_MIN) || conf.min_bps <= rule->min_bps);
	for (unsigned m = 0; m < SL_RULE_METERS; m++) {
		CHECK(!sl_rules_meter(rule, &held, m, &limit) == !rule->meter[m]);
		CHECK(limit == rule->meter[m]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[CONFIG_TEXT] = "", text[CHECK_TEXT];
	struct config c;
	int rc = config_parse(&c, "f.yaml", (const char *)data, size, err);

	CHECK(rc == 0 || rc == -EINVAL || rc == -ENOMEM);
	if (rc) {
		has_place(err, data, size);
		CHECK(!c.value[CONFIG_NAME] && !c.value[CONFIG_DIRECTORY] && !c.jobs);
		return 0;
	}
	for (int k = 0; k < CONFIG_KEYS; k++)
		CHECK(!c.value[k] ||
		      (*c.value[k] && config_check((enum config_which)k, c.value[k], text) == 0));
	for (int i = 0; i < CONFIG_STAGES; i++)
		CHECK(!c.policy[i] || check_policy(config_stages[i], c.policy[i], text) == 0);
	CHECK(c.jobs_count <= CONFIG_JOBS);
	for (size_t i = 0; i < c.jobs_count; i++)
		job_is_sound(&c.jobs[i]);
	for (size_t i = 0; i < c.rules_count; i++)
		rule_is_sound(&c.rules[i]);
	config_free(&c);
	return 0;
}
