/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy specs, against the tables as they are: what the text means, what is refused and in which
 * words. Cases that go over all tables hold for a new policy without being changed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/spec.h"

static char message[256];

static int64_t value_of(const struct sl_spec *spec, const char *name)
{
	for (unsigned i = 0; spec->policy->params[i].name; i++)
		if (!strcmp(spec->policy->params[i].name, name))
			return spec->values[i];
	fail_msg("%s has no parameter %s", spec->policy->name, name);
	return 0;
}

static void accepts(enum sl_stage stage, const char *text, struct sl_spec *spec)
{
	int err = sl_spec_parse(stage, text, spec, message, sizeof(message));

	if (err)
		fail_msg("'%s' gave %d: %s", text ? text : "", err, message);
}

/* The error, the message when one is named, and that the result was left alone. */
static void refuses(enum sl_stage stage, const char *text, int expected, const char *words)
{
	struct sl_spec spec, before;
	int err;

	memset(&spec, 0x5a, sizeof(spec));
	memset(&before, 0x5a, sizeof(before));
	memset(message, 'x', sizeof(message));
	err = sl_spec_parse(stage, text, &spec, message, sizeof(message));
	if (err != expected)
		fail_msg("'%s' gave %d instead of %d", text, err, expected);
	assert_memory_equal(&spec, &before, sizeof(spec));
	assert_non_null(memchr(message, '\0', sizeof(message)));
	if (words)
		assert_string_equal(message, words);
}

static void no_text_is_the_default_policy_with_its_defaults(void **state)
{
	struct sl_spec spec;

	accepts(SL_ADMIT, NULL, &spec);
	assert_string_equal(spec.policy->name, "token-bucket");
	accepts(SL_SHARE, NULL, &spec);
	assert_string_equal(spec.policy->name, "wfq");
	accepts(SL_ORDER, NULL, &spec);
	assert_string_equal(spec.policy->name, "to-agg");
	assert_int_equal(value_of(&spec, "batch_bytes"), 4 << 20);
}

static void parameters_not_named_keep_their_defaults(void **state)
{
	struct sl_spec spec;

	accepts(SL_ORDER, "aioli,wait_us=250,batch_bytes=1Mi", &spec);
	assert_string_equal(spec.policy->name, "aioli");
	assert_int_equal(value_of(&spec, "wait_us"), 250);
	assert_int_equal(value_of(&spec, "batch_bytes"), 1 << 20);
	assert_int_equal(value_of(&spec, "batch_requests"), 256);
	assert_int_equal(value_of(&spec, "max_age_ms"), 1000);
}

static void the_order_of_parameters_does_not_matter(void **state)
{
	struct sl_spec a, b;

	accepts(SL_ORDER, "aioli,wait_us=7,batch_requests=3", &a);
	accepts(SL_ORDER, "aioli,batch_requests=3,wait_us=7", &b);
	assert_memory_equal(&a, &b, sizeof(a));
}

static void an_unknown_policy_is_answered_with_those_of_the_stage(void **state)
{
	refuses(SL_ORDER, "aiol", -ENOENT,
		"order: no policy 'aiol'; there are to-agg, to, sjf, mlf, aioli, auto");
	refuses(SL_ORDER, "aioli ", -ENOENT, NULL);
	refuses(SL_ORDER, "AIOLI", -ENOENT, NULL);
	refuses(SL_ORDER, "wfq", -ENOENT, NULL);
	refuses(SL_ORDER, "aioli=1", -ENOENT, NULL);
}

static void a_missing_name_is_malformed(void **state)
{
	refuses(SL_ORDER, "", -EINVAL,
		"order: the name of a policy is missing; "
		"there are to-agg, to, sjf, mlf, aioli, auto");
	refuses(SL_ORDER, ",wait_us=5", -EINVAL, NULL);
}

static void an_unknown_parameter_is_answered_with_those_of_the_policy(void **state)
{
	refuses(SL_ORDER, "aioli,wait=5", -ENOENT,
		"order/aioli: no parameter 'wait'; there are batch_bytes, batch_requests, "
		"max_age_ms, wait_us, quantum_bytes");
	refuses(SL_ORDER, "aioli,wait_us2=5", -ENOENT, NULL);
	refuses(SL_ADMIT, "open,x=1", -ENOENT, "admit/open: no parameter 'x'; it takes none");
}

static void a_value_out_of_range_is_answered_with_the_range(void **state)
{
	refuses(SL_ORDER, "aioli,wait_us=-1", -ERANGE,
		"order/aioli: wait_us=-1 is out of range; it takes 0 to 1000000 us");
	refuses(SL_ORDER, "aioli,wait_us=99999999999999999999", -ERANGE, NULL);
	refuses(SL_ORDER, "aioli,wait_us=-99999999999999999999", -ERANGE, NULL);
	refuses(SL_ORDER, "sjf,batch_bytes=2Gi", -ERANGE,
		"order/sjf: batch_bytes=2Gi is out of range; it takes 1 to 1Gi");
	refuses(SL_ORDER, "sjf,batch_bytes=10000000Ti", -ERANGE, NULL);
	refuses(SL_ORDER, "sjf,batch_bytes=99999999Ti", -ERANGE, NULL);
}

static void a_value_that_is_no_number_is_malformed(void **state)
{
	refuses(SL_ORDER, "aioli,wait_us=5us", -EINVAL,
		"order/aioli: wait_us=5us is not a whole number; it takes 0 to 1000000 us");
	refuses(SL_ORDER, "sjf,batch_bytes=-1", -EINVAL,
		"order/sjf: batch_bytes=-1 is not a size like 65536, 64Ki or 1.5MiB; "
		"it takes 1 to 1Gi");
	refuses(SL_ORDER, "aioli,wait_us=", -EINVAL,
		"order/aioli: wait_us has no value; it takes 0 to 1000000 us");
	refuses(SL_ORDER, "aioli,wait_us", -EINVAL,
		"order/aioli: wait_us has no value; it takes 0 to 1000000 us");
	refuses(SL_ORDER, "aioli,wait_us=+5", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,wait_us= 5", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,wait_us=5 ", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,wait_us=-", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,wait_us=--1", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,wait_us=1K", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,wait_us=1.5", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,wait_us=0x10", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,wait_us=5=6", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,wait_us=99999999999999999999x", -EINVAL, NULL);
}

static void a_choice_is_made_by_name(void **state)
{
	struct sl_spec spec;

	accepts(SL_SHARE, "io-sets,hold=idle", &spec);
	assert_int_equal(value_of(&spec, "hold"), 1);
	refuses(SL_SHARE, "io-sets,hold=both", -EINVAL,
		"share/io-sets: hold=both is not possible; it takes lend, idle");
	refuses(SL_SHARE, "io-sets,hold=idl", -EINVAL, NULL);
	refuses(SL_SHARE, "io-sets,hold=1", -EINVAL, NULL);
}

static void a_value_longer_than_any_number_is_malformed(void **state)
{
	char text[512];

	/* 64 digits are read, one more is not, even if they are zeros. */
	snprintf(text, sizeof(text), "aioli,wait_us=%0*d", 64, 5);
	accepts(SL_ORDER, text, &(struct sl_spec){ 0 });
	snprintf(text, sizeof(text), "aioli,wait_us=%0*d", 65, 5);
	refuses(SL_ORDER, text, -EINVAL, NULL);
	snprintf(text, sizeof(text), "aioli,wait_us=%0*d", 400, 5);
	refuses(SL_ORDER, text, -EINVAL, NULL);
}

static void empty_pieces_are_malformed(void **state)
{
	refuses(SL_ADMIT, "open,", -EINVAL,
		"admit/open: the name of a parameter is missing; it takes none");
	refuses(SL_ORDER, "aioli,", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,,wait_us=5", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,wait_us=5,", -EINVAL, NULL);
	refuses(SL_ORDER, "aioli,=5", -EINVAL, NULL);
}

static void a_parameter_given_twice_is_refused_even_with_the_same_value(void **state)
{
	refuses(SL_ORDER, "aioli,wait_us=5,wait_us=5", -EINVAL,
		"order/aioli: wait_us is given twice; it takes 0 to 1000000 us");
}

static void strange_bytes_and_long_words_do_not_reach_the_terminal(void **state)
{
	refuses(SL_ORDER, "a\033[2J\xff", -ENOENT,
		"order: no policy 'a?[2J?'; there are to-agg, to, sjf, mlf, aioli, auto");
	refuses(SL_ORDER, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", -ENOENT,
		"order: no policy 'abcdefghijklmnopqrstuvwxyzabcdefghijklmn...'; "
		"there are to-agg, to, sjf, mlf, aioli, auto");
}

static void a_message_is_cut_to_the_room_it_has(void **state)
{
	struct sl_spec spec;
	char small[8] = "1234567";

	assert_int_equal(sl_spec_parse(SL_ORDER, "x", &spec, small, 7), -ENOENT);
	assert_string_equal(small, "order:");
	assert_int_equal(sl_spec_parse(SL_ORDER, "x", &spec, small, 1), -ENOENT);
	assert_string_equal(small, "");
	small[0] = 'k';
	assert_int_equal(sl_spec_parse(SL_ORDER, "x", &spec, small, 0), -ENOENT);
	assert_int_equal(small[0], 'k');
}

/* ---- over all tables ---- */

static void each_parameter(void (*check)(enum sl_stage, const struct sl_policy *, unsigned))
{
	for (int s = 0; s < SL_STAGES; s++) {
		const struct sl_policy *p;

		for (unsigned k = 0; (p = sl_policy_at((enum sl_stage)s, k)); k++)
			for (unsigned i = 0; p->params && p->params[i].name; i++)
				check((enum sl_stage)s, p, i);
	}
}

/* A value as it is typed. */
static void give(char *text, size_t size, const struct sl_policy *policy, unsigned i, int64_t value)
{
	const struct sl_param *p = &policy->params[i];

	if (p->unit == SL_CHOICE)
		snprintf(text, size, "%s,%s=%s", policy->name, p->name, p->choices[value]);
	else
		snprintf(text, size, "%s,%s=%" PRId64, policy->name, p->name, value);
}

static void check_table(enum sl_stage stage, const struct sl_policy *policy, unsigned i)
{
	const struct sl_param *p = &policy->params[i];

	(void)stage;
	assert_true(i < SL_MAX_PARAMS);
	assert_true(p->min <= p->def && p->def <= p->max);
	assert_non_null(p->help);
	assert_int_equal(strcspn(p->name, ",= "), strlen(p->name));
	assert_int_equal(p->unit == SL_CHOICE, p->choices != NULL);
	if (p->unit == SL_CHOICE)
		assert_int_equal(p->min, 0);
	if (p->unit != SL_COUNT)
		assert_true(p->min >= 0);
	for (unsigned k = 0; k < i; k++)
		assert_string_not_equal(policy->params[k].name, p->name);
}

static void every_table_is_sound(void **state)
{
	each_parameter(check_table);
}

static void check_range(enum sl_stage stage, const struct sl_policy *policy, unsigned i)
{
	const struct sl_param *p = &policy->params[i];
	const int64_t inside[] = { p->min, p->def, p->max };
	struct sl_spec spec;
	char text[128];

	if (p->unit == SL_FILE)
		return; /* any name will do */
	for (size_t k = 0; k < 3; k++) {
		give(text, sizeof(text), policy, i, inside[k]);
		accepts(stage, text, &spec);
		assert_ptr_equal(spec.policy, policy);
		assert_int_equal(spec.values[i], inside[k]);
	}
	if (p->unit == SL_CHOICE) {
		snprintf(text, sizeof(text), "%s,%s=neither", policy->name, p->name);
		refuses(stage, text, -EINVAL, NULL);
		for (int64_t k = 0; k <= p->max; k++)
			assert_non_null(strstr(message, p->choices[k]));
		snprintf(text, sizeof(text), "%s,%s=0", policy->name, p->name);
		refuses(stage, text, -EINVAL, NULL);
		return;
	}
	if (p->max < INT64_MAX) {
		give(text, sizeof(text), policy, i, p->max + 1);
		refuses(stage, text, -ERANGE, NULL);
		assert_non_null(strstr(message, "it takes"));
	}
	if (p->min > (p->unit == SL_BYTES ? 0 : INT64_MIN)) {
		give(text, sizeof(text), policy, i, p->min - 1);
		refuses(stage, text, -ERANGE, NULL);
	}
}

static void every_parameter_takes_its_range_and_nothing_else(void **state)
{
	each_parameter(check_range);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_text_is_the_default_policy_with_its_defaults),
		cmocka_unit_test(parameters_not_named_keep_their_defaults),
		cmocka_unit_test(the_order_of_parameters_does_not_matter),
		cmocka_unit_test(an_unknown_policy_is_answered_with_those_of_the_stage),
		cmocka_unit_test(a_missing_name_is_malformed),
		cmocka_unit_test(an_unknown_parameter_is_answered_with_those_of_the_policy),
		cmocka_unit_test(a_value_out_of_range_is_answered_with_the_range),
		cmocka_unit_test(a_value_that_is_no_number_is_malformed),
		cmocka_unit_test(a_choice_is_made_by_name),
		cmocka_unit_test(a_value_longer_than_any_number_is_malformed),
		cmocka_unit_test(empty_pieces_are_malformed),
		cmocka_unit_test(a_parameter_given_twice_is_refused_even_with_the_same_value),
		cmocka_unit_test(strange_bytes_and_long_words_do_not_reach_the_terminal),
		cmocka_unit_test(a_message_is_cut_to_the_room_it_has),
		cmocka_unit_test(every_table_is_sound),
		cmocka_unit_test(every_parameter_takes_its_range_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
