/* SPDX-License-Identifier: Apache-2.0 */
/* policy/rules: which rule a job gets, and what it leaves of what the job asks for. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

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
		   [SL_RULE_JOB] = "4711",
		   [SL_RULE_PATH] = "/scratch" },
	.title = "climate-17",
};

static char *text(const char *s)
{
	return (char *)(uintptr_t)s;
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

	assert_int_equal(sl_rules_match(rules, 4, &alice), 2);
	assert_int_equal(sl_rules_match(rules, 2, &alice), -1);
	assert_int_equal(sl_rule_differs(&rules[0], &alice), SL_RULE_USER);
	assert_int_equal(sl_rule_differs(&rules[1], &alice), SL_RULE_QOS);
	assert_int_equal(sl_rule_differs(&rules[3], &alice), SL_RULE_KEYS);
}

static void a_job_is_matched_by_number_and_by_name(void **state)
{
	const struct sl_rule number = { .match = { [SL_RULE_JOB] = text("4711") } };
	const struct sl_rule name = { .match = { [SL_RULE_JOB] = text("climate-*") } };
	const struct sl_rule other = { .match = { [SL_RULE_JOB] = text("47") } };

	assert_int_equal(sl_rules_match(&number, 1, &alice), 0);
	assert_int_equal(sl_rules_match(&name, 1, &alice), 0);
	assert_int_equal(sl_rules_match(&other, 1, &alice), -1);
}

static void what_is_not_known_matches_only_a_star(void **state)
{
	const struct sl_rule star = { .match = { [SL_RULE_PARTITION] = text("*") } };
	const struct sl_rule batch = { .match = { [SL_RULE_PARTITION] = text("batch") } };

	assert_int_equal(sl_rules_match(&star, 1, &alice), 0);
	assert_int_equal(sl_rules_match(&batch, 1, &alice), -1);
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

	sl_rule_clamp(&rule, &nothing);
	assert_int_equal(nothing.min_bps, 10 * M);
	assert_int_equal(nothing.max_bps, 50 * M);
	assert_int_equal(nothing.weight, 4);
	assert_int_equal(nothing.best_effort, 1);
	sl_rule_clamp(&rule, &more);
	assert_int_equal(more.min_bps, 10 * M);
	assert_int_equal(more.max_bps, 50 * M);
	assert_int_equal(more.weight, 4);
	sl_rule_clamp(&rule, &less);
	assert_int_equal(less.min_bps, 5 * M);
	assert_int_equal(less.max_bps, 8 * M);
	assert_int_equal(less.weight, 2);
}

/* "min: 0" forbids guarantees; no rule, and a rule that says nothing, change nothing. */
static void what_a_rule_does_not_say_is_the_jobs_own_affair(void **state)
{
	const struct sl_rule none = { .says = SL_SAYS_MIN }, silent = { .name = "silent" };
	struct sl_job_conf c = { .min_bps = 20 * M, .max_bps = 90 * M, .weight = 9 };

	sl_rule_clamp(NULL, &c);
	sl_rule_clamp(&silent, &c);
	assert_int_equal(c.min_bps, 20 * M);
	assert_int_equal(c.max_bps, 90 * M);
	sl_rule_clamp(&none, &c);
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
	sl_rule_clamp(&rule, &c);
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

	sl_rule_clamp(&rule, &c);
	assert_int_equal(c.user_weight, 3);
	rule.per = SL_PER_ACCOUNT;
	sl_rule_clamp(&rule, &c);
	assert_int_equal(c.account_weight, 3);
	assert_int_equal(c.weight, 0);
}

static void a_meter_is_the_smaller_of_what_is_asked_and_what_the_rule_says(void **state)
{
	const struct sl_rule rule = { .meter = { [5] = 400 }, .per = SL_PER_USER };

	assert_int_equal(sl_rule_meter(&rule, 5, 0), 400);
	assert_int_equal(sl_rule_meter(&rule, 5, 1000), 400);
	assert_int_equal(sl_rule_meter(&rule, 5, 100), 100);
	assert_int_equal(sl_rule_meter(&rule, 4, 100), 100);
	assert_int_equal(sl_rule_meter(&rule, 4, 0), 0);
	assert_int_equal(sl_rule_meter(NULL, 5, 0), 0);
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
		cmocka_unit_test(a_meter_is_the_smaller_of_what_is_asked_and_what_the_rule_says),
		cmocka_unit_test(weights_are_those_of_the_job_the_user_or_the_account),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
