/* SPDX-License-Identifier: Apache-2.0 */
/* policy/rules: which rule a job gets, and what it leaves of what the job asks for. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "base/ds/glob.h"
#include "policy/rules.h"

#define M UINT64_C(1000000)

static void globs(void **state)
{
	assert_true(sl_rule_glob("*", ""));
	assert_true(sl_rule_glob("*", "alice"));
	assert_true(sl_rule_glob("alice", "alice"));
	assert_false(sl_rule_glob("alice", "alic"));
	assert_false(sl_rule_glob("alice", "alices"));
	assert_true(sl_rule_glob("a*e", "alice"));
	assert_true(sl_rule_glob("*.ckpt.*", "run.ckpt.17"));
	assert_false(sl_rule_glob("*.ckpt.*", "run.ckpt"));
	assert_true(sl_rule_glob("a?ice", "alice"));
	assert_false(sl_rule_glob("a?ice", "aice"));
	assert_true(sl_rule_glob("bob,al*", "alice"));
	assert_false(sl_rule_glob("bob,carol", "alice"));
	assert_true(sl_rule_glob("a*a*a*b", "aaaaaaaaaaaaaaaaaaaaab"));
	assert_false(sl_rule_glob("a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaa"));
	assert_false(sl_rule_glob("", "alice"));
}

static const struct sl_rule_job alice = {
	.value = { [SL_RULE_USER] = "alice",
		   [SL_RULE_GROUP] = "users,physics",
		   [SL_RULE_ACCOUNT] = "cern",
		   [SL_RULE_JOB] = "4711" },
	.title = "climate-17",
};

static char *text(const char *s)
{
	return (char *)(uintptr_t)s;
}

static int match(const struct sl_rule *rules, size_t n, const struct sl_rule_job *job)
{
	struct sl_rules_held held;

	sl_rules_match(rules, n, job, &held);
	assert_int_equal(held.rule[SL_RULE_READS], held.whole);
	assert_int_equal(held.rule[SL_RULE_WRITES], held.whole);
	assert_int_equal(held.rule[SL_RULE_METADATA], held.whole);
	return held.whole;
}

/* One rule for everything. */
static void clamp(const struct sl_rule *rule, struct sl_job_conf *conf)
{
	const struct sl_rules_held held = { { 0, 0, 0 }, 0 }, none = { { -1, -1, -1 }, -1 };

	sl_rules_clamp(rule, rule ? &held : &none, conf);
}

static void the_first_that_matches_holds(void **state)
{
	const struct sl_rule rules[] = {
		{ .name = "bob", .match = { [SL_RULE_USER] = text("bob") } },
		{ .name = "both",
		  .match = { [SL_RULE_USER] = text("alice"), [SL_RULE_QOS] = text("high") } },
		{ .name = "group", .match = { [SL_RULE_GROUP] = text("phys*") } },
		{ .name = "all" },
	};

	assert_int_equal(match(rules, 4, &alice), 2);
	assert_int_equal(match(rules, 2, &alice), -1);
	assert_int_equal(sl_rule_differs(&rules[0], &alice), SL_RULE_USER);
	assert_int_equal(sl_rule_differs(&rules[1], &alice), SL_RULE_QOS);
	assert_int_equal(sl_rule_differs(&rules[3], &alice), SL_RULE_KEYS);
}

static void a_job_is_matched_by_number_and_by_name(void **state)
{
	const struct sl_rule number = { .match = { [SL_RULE_JOB] = text("4711") } };
	const struct sl_rule name = { .match = { [SL_RULE_JOB] = text("climate-*") } };
	const struct sl_rule other = { .match = { [SL_RULE_JOB] = text("47") } };

	assert_int_equal(match(&number, 1, &alice), 0);
	assert_int_equal(match(&name, 1, &alice), 0);
	assert_int_equal(match(&other, 1, &alice), -1);
}

static void what_is_not_known_matches_only_a_star(void **state)
{
	const struct sl_rule star = { .match = { [SL_RULE_PARTITION] = text("*") } };
	const struct sl_rule batch = { .match = { [SL_RULE_PARTITION] = text("batch") } };

	assert_int_equal(match(&star, 1, &alice), 0);
	assert_int_equal(match(&batch, 1, &alice), -1);
}

static void a_rule_limits_what_a_job_asks_for(void **state)
{
	const struct sl_rule rule = { .says = SL_SAYS_MIN | SL_SAYS_MAX | SL_SAYS_WEIGHT,
				      .min_bps = 10 * M,
				      .max_bps = 50 * M,
				      .weight = 4 };
	struct sl_job_conf nothing = { 0 };
	struct sl_job_conf more = { .min_bps = 20 * M, .max_bps = 90 * M, .weight = 9 };
	struct sl_job_conf less = { .min_bps = 5 * M, .max_bps = 8 * M, .weight = 2 };

	clamp(&rule, &nothing);
	assert_int_equal(nothing.min_bps, 10 * M);
	assert_int_equal(nothing.max_bps, 50 * M);
	assert_int_equal(nothing.weight, 4);
	assert_int_equal(nothing.best_effort, 1);
	clamp(&rule, &more);
	assert_int_equal(more.min_bps, 10 * M);
	assert_int_equal(more.max_bps, 50 * M);
	assert_int_equal(more.weight, 4);
	clamp(&rule, &less);
	assert_int_equal(less.min_bps, 5 * M);
	assert_int_equal(less.max_bps, 8 * M);
	assert_int_equal(less.weight, 2);
}

/* "min: 0" forbids guarantees; no rule, and a rule that says nothing, change nothing. */
static void what_a_rule_does_not_say_is_the_jobs_own_affair(void **state)
{
	const struct sl_rule none = { .says = SL_SAYS_MIN }, silent = { .name = "silent" };
	struct sl_job_conf c = { .min_bps = 20 * M, .max_bps = 90 * M, .weight = 9 };

	clamp(NULL, &c);
	clamp(&silent, &c);
	assert_int_equal(c.min_bps, 20 * M);
	assert_int_equal(c.max_bps, 90 * M);
	clamp(&none, &c);
	assert_int_equal(c.min_bps, 0);
	assert_int_equal(c.max_bps, 90 * M);
	assert_int_equal(c.weight, 9);
}

static void a_max_per_user_is_a_bucket_and_not_the_jobs_max(void **state)
{
	struct sl_rule rule = {
		.name = "r", .says = SL_SAYS_MAX, .max_bps = M, .per = SL_PER_USER
	};
	struct sl_rule_job bob = alice, second = alice;
	struct sl_job_conf c = { 0 };
	uint64_t id;

	bob.value[SL_RULE_USER] = "bob";
	second.value[SL_RULE_JOB] = "4712";
	clamp(&rule, &c);
	assert_int_equal(c.max_bps, 0);
	id = sl_rule_bucket(&rule, &alice);
	assert_true(id != 0);
	assert_int_equal(sl_rule_bucket(&rule, &second), id);
	assert_int_not_equal(sl_rule_bucket(&rule, &bob), id);
	rule.per = SL_PER_ACCOUNT;
	assert_int_equal(sl_rule_bucket(&rule, &bob), sl_rule_bucket(&rule, &alice));
	rule.per = SL_PER_RULE;
	bob.value[SL_RULE_ACCOUNT] = "dlr";
	assert_int_equal(sl_rule_bucket(&rule, &bob), sl_rule_bucket(&rule, &alice));
	rule.per = SL_PER_JOB;
	assert_int_equal(sl_rule_bucket(&rule, &alice), 0);
}

static void a_bucket_per_group_is_of_the_group_that_matched(void **state)
{
	struct sl_rule rule = { .name = "r",
				.says = SL_SAYS_MAX,
				.per = SL_PER_GROUP,
				.match = { [SL_RULE_GROUP] = text("physics") } };
	struct sl_rule_job bob = alice;

	bob.value[SL_RULE_GROUP] = "staff,physics";
	assert_int_equal(sl_rule_bucket(&rule, &bob), sl_rule_bucket(&rule, &alice));
	rule.match[SL_RULE_GROUP] = NULL;
	assert_int_not_equal(sl_rule_bucket(&rule, &bob), sl_rule_bucket(&rule, &alice));
}

static void weights_are_those_of_the_job_the_user_or_the_account(void **state)
{
	struct sl_rule rule = { .says = SL_SAYS_WEIGHT, .weight = 3, .per = SL_PER_USER };
	struct sl_job_conf c = { 0 };

	clamp(&rule, &c);
	assert_int_equal(c.user_weight, 3);
	rule.per = SL_PER_ACCOUNT;
	clamp(&rule, &c);
	assert_int_equal(c.account_weight, 3);
	assert_int_equal(c.weight, 0);
}

static void paths(void **state)
{
	const char *file = "/scratch/a/ckpt-1/x", *below = file + strlen("/scratch/");

	assert_true(sl_glob_path("a/ckpt-1/x", file, below));
	assert_true(sl_glob_path("a/ckpt-*", file, below));
	assert_true(sl_glob_path("a", file, below));
	assert_true(sl_glob_path("*/ckpt-?", file, below));
	assert_true(sl_glob_path("b,*/x", file, below));
	assert_true(sl_glob_path("/scratch/a", file, below));
	assert_true(sl_glob_path("b,/scr*", file, below));
	assert_false(sl_glob_path("ckpt-1", file, below));
	assert_false(sl_glob_path("a/ckpt", file, below));
	assert_false(sl_glob_path("/a", file, below));
	assert_false(sl_glob_path("scratch", file, below));
	assert_false(sl_glob_path("", file, below));
	assert_false(sl_glob_path("*", "/scratch/", "")); /* the root is no file of a part */
}

static void each_operation_has_the_first_rule_about_it(void **state)
{
	const struct sl_rule rules[] = {
		{ .name = "w",
		  .ops = 1U << SL_RULE_WRITES,
		  .says = SL_SAYS_MAX,
		  .max_bps = 10 * M },
		{ .name = "m",
		  .ops = 1U << SL_RULE_METADATA,
		  .meter = { [5] = 400 },
		  .per = SL_PER_USER },
		{ .name = "all",
		  .says = SL_SAYS_MAX | SL_SAYS_WEIGHT,
		  .max_bps = 90 * M,
		  .weight = 3,
		  .meter = { [5] = 100, [SL_RULE_METER_WRITE] = M, [SL_RULE_METER_CALLS] = 50 } },
		{ .name = "late" },
	};
	const struct sl_rule_job job = { .value = { [SL_RULE_USER] = "alice" } };
	struct sl_job_conf c = { 0 };
	struct sl_rules_held held;
	uint64_t limit;

	sl_rules_match(rules, 4, &job, &held);
	assert_int_equal(held.rule[SL_RULE_READS], 2);
	assert_int_equal(held.rule[SL_RULE_WRITES], 0);
	assert_int_equal(held.rule[SL_RULE_METADATA], 1);
	assert_int_equal(held.whole, 2);
	/* No max is that of all bytes: each is one of its direction. */
	assert_null(sl_rules_bytes(rules, &held));
	sl_rules_clamp(rules, &held, &c);
	assert_int_equal(c.max_bps, 0);
	assert_int_equal(c.weight, 3);
	assert_ptr_equal(sl_rules_meter(rules, &held, SL_RULE_METER_READ, &limit), &rules[2]);
	assert_int_equal(limit, 90 * M);
	assert_ptr_equal(sl_rules_meter(rules, &held, SL_RULE_METER_WRITE, &limit), &rules[0]);
	assert_int_equal(limit, 10 * M);
	assert_ptr_equal(sl_rules_meter(rules, &held, 5, &limit), &rules[1]);
	assert_int_equal(limit, 400);
	assert_ptr_equal(sl_rules_meter(rules, &held, SL_RULE_METER_CALLS, &limit), &rules[2]);
	assert_null(sl_rules_meter(rules, &held, 0, &limit));
	/* With the rule of all it is as if there were no other. */
	sl_rules_match(rules + 2, 2, &job, &held);
	assert_ptr_equal(sl_rules_bytes(rules + 2, &held), &rules[2]);
	assert_null(sl_rules_meter(rules + 2, &held, SL_RULE_METER_READ, &limit));
	assert_non_null(sl_rules_meter(rules + 2, &held, SL_RULE_METER_WRITE, &limit));
	assert_int_equal(limit, M);
	/* Buckets are of the user under `per: user`, and none under `per: job`. */
	assert_int_not_equal(sl_rule_bucket(&rules[1], &job), 0);
	assert_int_equal(sl_rule_bucket(&rules[2], &job), 0);
}

static void a_part_has_the_rules_of_its_path_and_those_without(void **state)
{
	const struct sl_rule rules[] = {
		{ .name = "bob",
		  .match = { [SL_RULE_USER] = text("bob"), [SL_RULE_PATH] = text("b/*") } },
		{ .name = "cw",
		  .match = { [SL_RULE_PATH] = text("c/*") },
		  .ops = 1U << SL_RULE_WRITES },
		{ .name = "cr",
		  .match = { [SL_RULE_PATH] = text("c/*") },
		  .ops = 1U << SL_RULE_READS },
		{ .name = "logs", .match = { [SL_RULE_PATH] = text("*.log") } },
		{ .name = "all" },
		{ .name = "late", .match = { [SL_RULE_PATH] = text("*") } },
	};
	struct sl_rule_job job = { .value = { [SL_RULE_USER] = "alice" } };
	struct sl_rules_held held;
	int at;

	at = sl_rules_path(rules, 6, &job, 0);
	assert_int_equal(at, 1);
	at = sl_rules_path(rules, 6, &job, at + 1); /* the second of one path is no further part */
	assert_int_equal(at, 3);
	assert_int_equal(sl_rules_path(rules, 6, &job, at + 1), -1); /* "late" is behind "all" */
	job.value[SL_RULE_PATH] = "c/*";
	sl_rules_match(rules, 6, &job, &held);
	assert_int_equal(held.rule[SL_RULE_WRITES], 1);
	assert_int_equal(held.rule[SL_RULE_READS], 2);
	assert_int_equal(held.rule[SL_RULE_METADATA], 4);
	assert_int_equal(held.whole, 4);
	job.value[SL_RULE_PATH] = NULL;
	assert_int_equal(match(rules, 6, &job), 4);
	job.value[SL_RULE_USER] = "bob";
	assert_int_equal(sl_rules_path(rules, 6, &job, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs),
		cmocka_unit_test(the_first_that_matches_holds),
		cmocka_unit_test(a_job_is_matched_by_number_and_by_name),
		cmocka_unit_test(what_is_not_known_matches_only_a_star),
		cmocka_unit_test(a_rule_limits_what_a_job_asks_for),
		cmocka_unit_test(what_a_rule_does_not_say_is_the_jobs_own_affair),
		cmocka_unit_test(a_max_per_user_is_a_bucket_and_not_the_jobs_max),
		cmocka_unit_test(a_bucket_per_group_is_of_the_group_that_matched),
		cmocka_unit_test(paths),
		cmocka_unit_test(each_operation_has_the_first_rule_about_it),
		cmocka_unit_test(a_part_has_the_rules_of_its_path_and_those_without),
		cmocka_unit_test(weights_are_those_of_the_job_the_user_or_the_account),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
