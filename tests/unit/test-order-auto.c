/* SPDX-License-Identifier: Apache-2.0 */
/* Watching jobs, and choosing the order policy by what was seen. */
#include "sched-rig.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/request/order/auto.h"
#include "sched/sched.h"

static void strided_reads(struct box *b, uint64_t job, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct sl_request r = { .job = job,
					.client = i % 4,
					.file = A,
					.offset = i * 16 * K,
					.length = 16 * K,
					.op = SL_READ };

		assert_int_equal(sl_add(b->s, &r, b->now), 0);
		assert_int_equal(sl_done(b->s, sl_next(b->s, b->now, NULL), b->now), 0);
		b->now += MS;
	}
}

static void a_job_that_did_nothing_has_no_pattern(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .patterns = 1 });
	struct sl_job_pattern p;

	assert_int_equal(sl_job_pattern(b->s, 1, &p), -ENOENT);
	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	assert_int_equal(sl_job_pattern(b->s, 1, &p), 0);
	assert_string_equal(p.spatiality, "unknown");
	assert_string_equal(p.size, "unknown");
	assert_int_equal(p.requests, 0);
	box_close(b);
}

static void the_pattern_of_a_job_is_that_of_its_own_requests(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .patterns = 1, .share = "pool" });
	struct sl_job_pattern p;

	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	assert_int_equal(sl_job_add(b->s, 2, NULL, b->now), 0);
	strided_reads(b, 1, 40);
	assert_int_equal(sl_job_pattern(b->s, 1, &p), 0);
	assert_string_equal(p.spatiality, "strided");
	assert_string_equal(p.size, "small");
	assert_int_equal(p.op, SL_READ);
	assert_int_equal(p.files, 1);
	assert_int_equal(p.call_bytes, 16 * K);
	assert_int_equal(p.requests, 40);
	assert_int_equal(sl_job_pattern(b->s, 2, &p), 0);
	assert_int_equal(p.requests, 0);
	box_close(b);
}

static void a_new_job_in_an_old_place_begins_anew(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .patterns = 1, .limits = { 1, 8, 8 } });
	struct sl_job_pattern p;

	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	strided_reads(b, 1, 40);
	assert_int_equal(sl_job_remove(b->s, 1, b->now), 0);
	assert_int_equal(sl_job_add(b->s, 2, NULL, b->now), 0);
	assert_int_equal(sl_job_pattern(b->s, 2, &p), 0);
	assert_int_equal(p.requests, 0);
	strided_reads(b, 2, 8);
	assert_int_equal(sl_job_pattern(b->s, 2, &p), 0);
	assert_int_equal(p.requests, 8);
	box_close(b);
}

static void nothing_is_watched_unless_asked_for(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .patterns = 0 });
	struct sl_job_pattern p;

	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	strided_reads(b, 1, 40);
	assert_int_equal(sl_job_pattern(b->s, 1, &p), 0);
	assert_int_equal(p.requests, 0);
	box_close(b);
}

/* ---- the choice by itself ---- */

static const double even[SL_AUTO_ARMS] = { .2, .2, .2, .2, .2 };

/* Spans of the stream, at these rates (KB/ms) by policy. Requests of 4 KiB, one a batch. */
static void stream(struct sl_auto *a, unsigned spans, const double rate[SL_AUTO_ARMS], sl_time *now)
{
	for (unsigned i = 0; i < spans * 256; i++) {
		sl_auto_sent(a, true, *now);
		*now += (sl_time)(4096 / rate[a->running] * 1000);
		sl_auto_done(a, 4096, 1, 8, true, *now);
	}
}

static void a_tree_s_word_is_taken_at_once(void **state)
{
	struct sl_auto a = { 0 };

	assert_int_equal(a.running, SL_AUTO_TO_AGG);
	assert_true(sl_auto_advise(&a, SL_AUTO_AIOLI, even, 1));
	assert_int_equal(a.running, SL_AUTO_AIOLI);
	assert_false(sl_auto_advise(&a, SL_AUTO_AIOLI, even, 1));
}

static void another_pattern_counts_when_it_is_seen_twice(void **state)
{
	struct sl_auto a = { 0 };

	sl_auto_advise(&a, SL_AUTO_AIOLI, even, 1);
	assert_false(sl_auto_advise(&a, SL_AUTO_SJF, even, 2));
	assert_false(sl_auto_advise(&a, SL_AUTO_AIOLI, even, 1)); /* it was nothing */
	assert_false(sl_auto_advise(&a, SL_AUTO_SJF, even, 2));
	assert_false(sl_auto_advise(&a, SL_AUTO_MLF, even, 3));
	assert_int_equal(a.running, SL_AUTO_AIOLI);
	assert_true(sl_auto_advise(&a, SL_AUTO_MLF, even, 3));
	assert_int_equal(a.running, SL_AUTO_MLF);
}

/* What is found in a long stream, aioli (50) having been advised and mlf reaching 51. */
static struct sl_auto found_with(double to_agg, double to, double sjf)
{
	const double rate[SL_AUTO_ARMS] = { [SL_AUTO_TO_AGG] = to_agg,
					    [SL_AUTO_TO] = to,
					    [SL_AUTO_SJF] = sjf,
					    [SL_AUTO_AIOLI] = 50,
					    [SL_AUTO_MLF] = 51 };
	struct sl_auto a = { 0 };
	sl_time now = 0;

	sl_auto_advise(&a, SL_AUTO_AIOLI, even, 1);
	stream(&a, 400, rate, &now);
	return a;
}

static void a_faster_policy_takes_over(void **state)
{
	struct sl_auto a = found_with(40, 56, 40);

	assert_int_equal(a.best, SL_AUTO_TO);
	assert_true(a.measured);
	assert_int_equal(a.beaten, SL_AUTO_AIOLI);
	assert_int_equal(a.percent, 12);
}

static void a_little_faster_is_not_worth_a_change(void **state)
{
	struct sl_auto a = found_with(52, 52, 52);

	assert_int_equal(a.best, SL_AUTO_AIOLI);
	assert_false(a.measured);
}

/* All others are ten times slower: what does trying them cost? */
static void trials_cost_little(void **state)
{
	const double slow[SL_AUTO_ARMS] = { 5, 5, 5, 50, 5 },
		     same[SL_AUTO_ARMS] = { 50, 50, 50, 50, 50 };
	struct sl_auto a = { 0 }, b = { 0 };
	sl_time now = 0, alone = 0;

	sl_auto_advise(&a, SL_AUTO_AIOLI, even, 1);
	sl_auto_advise(&b, SL_AUTO_AIOLI, even, 1);
	for (unsigned i = 0; i < 40; i++) {
		stream(&a, 10, slow, &now);
		stream(&b, 10, same, &alone);
		assert_true((double)now < 1.05 * (double)alone);
	}
	assert_int_equal(a.best, SL_AUTO_AIOLI);
}

static void nothing_is_tried_unless_it_may_be(void **state)
{
	struct sl_auto a = { 0 };

	sl_auto_advise(&a, SL_AUTO_AIOLI, even, 1);
	for (sl_time now = 0; now < SEC; now += 10 * US) {
		sl_auto_sent(&a, true, now);
		assert_false(sl_auto_done(&a, 4096, 1, 8, false, now + 5 * US));
	}
	assert_int_equal(a.running, SL_AUTO_AIOLI);
}

/* ---- in a scheduler ---- */

static const char strided_is_sjf[] = "sluice-tree 1\n"
				     "attribute spatiality: contiguous strided random\n"
				     "attribute ratio: number\n"
				     "class: to sjf aioli\n"
				     "tree:\n"
				     "spatiality = contiguous: to\n"
				     "spatiality = strided\n"
				     "|   ratio <= 8: sjf\n"
				     "|   ratio > 8: aioli\n"
				     "spatiality = random: to\n";

static int give(void *arg, const char *name, char **text, size_t *length)
{
	if (strcmp(name, "/some.tree") != 0)
		return -ENOENT;
	*text = strdup(arg);
	*length = strlen(arg);
	return *text ? 0 : -ENOMEM;
}

static struct box *with_tree(const char *tree)
{
	struct box *b =
		box_open(&(struct sl_config){ .read = give, .read_arg = (void *)(uintptr_t)tree });

	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	return b;
}

static struct sl_job_pattern pattern(struct box *b)
{
	struct sl_job_pattern p;

	assert_int_equal(sl_job_pattern(b->s, 1, &p), 0);
	return p;
}

static void the_policy_is_the_tree_s_for_pattern_and_device(void **state)
{
	struct box *b = with_tree(strided_is_sjf);

	assert_int_equal(sl_policy_set(b->s, "order", "auto,tree=/some.tree", b->now), 0);
	assert_int_equal(sl_ratio_set(b->s, SL_READ, 16 * K, 25500), 0);
	assert_int_equal(sl_ratio_set(b->s, SL_WRITE, 16 * K, 700), 0);
	assert_string_equal(pattern(b).reason, "too few requests yet");
	strided_reads(b, 1, 70);
	assert_string_equal(pattern(b).order, "aioli");
	assert_string_equal(pattern(b).reason, "tree: strided small reads on 1 file, ratio 25.5");
	/* What is given by hand goes before what was profiled. */
	assert_int_equal(
		sl_policy_set(b->s, "order", "auto,tree=/some.tree,ratio_percent=800", b->now), 0);
	strided_reads(b, 1, 70);
	assert_string_equal(pattern(b).order, "sjf");
	assert_string_equal(pattern(b).reason, "tree: strided small reads on 1 file, ratio 8");
	assert_int_equal(sl_policy_set(b->s, "order", "to", b->now), 0);
	assert_string_equal(pattern(b).order, "to");
	assert_string_equal(pattern(b).reason, "");
	box_close(b);
}

/* Tables have two decimals: a tree that has learnt from this very device must know it again. */
static void a_ratio_is_as_exact_as_a_table_has_it(void **state)
{
	struct box *b = with_tree(strided_is_sjf);

	assert_int_equal(sl_policy_set(b->s, "order", "auto,tree=/some.tree", b->now), 0);
	assert_int_equal(sl_ratio_set(b->s, SL_READ, 16 * K, 8004), 0); /* 8.00 */
	strided_reads(b, 1, 70);
	assert_string_equal(pattern(b).order, "sjf");
	box_close(b);
}

static void each_job_has_its_own_choice(void **state)
{
	struct box *b = with_tree(strided_is_sjf);
	struct sl_job_pattern p;

	assert_int_equal(sl_job_add(b->s, 2, NULL, b->now), 0);
	assert_int_equal(sl_job_order(b->s, 1, "auto,tree=/some.tree,ratio_percent=100", b->now),
			 0);
	strided_reads(b, 1, 70);
	strided_reads(b, 2, 70);
	assert_string_equal(pattern(b).order, "sjf");
	assert_int_equal(sl_job_pattern(b->s, 2, &p), 0);
	assert_string_equal(p.order, "to-agg");
	/* Who comes after it begins anew. */
	assert_int_equal(sl_job_order(b->s, 1, NULL, b->now), 0);
	assert_int_equal(
		sl_policy_set(b->s, "order", "auto,tree=/some.tree,ratio_percent=100", b->now), 0);
	strided_reads(b, 1, 70);
	assert_string_equal(pattern(b).order, "sjf");
	assert_int_equal(sl_job_remove(b->s, 1, b->now), 0);
	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	assert_string_equal(pattern(b).order, "to-agg");
	assert_string_equal(pattern(b).reason, "too few requests yet");
	box_close(b);
}

static void the_built_in_tree_knows_what_to_say(void **state)
{
	struct box *b = box_open(&(struct sl_config){ .order = "auto", .share = "pool" });

	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	strided_reads(b, 1, 70); /* without a ratio, too */
	assert_string_equal(pattern(b).reason, "tree: strided small reads on 1 file");
	box_close(b);
}

static void refuse_tree(const char *tree, const char *why)
{
	struct box *b = with_tree(tree);

	assert_int_equal(sl_policy_set(b->s, "order", "auto,tree=/some.tree", b->now), -EINVAL);
	if (!strstr(sl_error(b->s), why))
		fail_msg("%s", sl_error(b->s));
	assert_int_equal(sl_job_order(b->s, 1, "auto,tree=/some.tree", b->now), -EINVAL);
	strided_reads(b, 1, 70);
	assert_string_equal(pattern(b).order, "to-agg");
	box_close(b);
}

static void trees_that_a_scheduler_cannot_ask_are_refused(void **state)
{
	struct box *b = with_tree(strided_is_sjf);

	refuse_tree("sluice-tree 1\nattribute procs: number\nclass: to\ntree:\n: to\n",
		    "order/auto: /some.tree: 'procs' is not an attribute");
	refuse_tree("sluice-tree 1\nattribute op: number\nclass: to\ntree:\n: to\n",
		    "'op' is not an attribute");
	refuse_tree("sluice-tree 1\nclass: to cfq\ntree:\n: to\n", "no order policy 'cfq'");
	refuse_tree("sluice-tree 1\nclass: to\ntree:\n", "/some.tree:");
	assert_int_equal(sl_policy_set(b->s, "order", "auto,tree=/none", b->now), -EINVAL);
	assert_string_equal(sl_error(b->s),
			    "order/auto: tree=/none cannot be read: No such file or directory");
	box_close(b);
}

static int give_any(void *arg, const char *name, char **text, size_t *length)
{
	(void)name;
	return give(arg, "/some.tree", text, length);
}

static unsigned trees(const struct box *b)
{
	unsigned n = 0;

	for (int i = 0; i < 100; i++) {
		char name[32];
		int length = snprintf(name, sizeof(name), "/%d", i);

		n += sl_advisor_find(b->s, sl_spec_hash(name, (size_t)length)) != NULL;
	}
	return n;
}

static void trees_that_nobody_asks_any_more_are_forgotten(void **state)
{
	struct box *b = box_open(&(struct sl_config){
		.read = give_any, .read_arg = (void *)(uintptr_t)strided_is_sjf });

	assert_int_equal(sl_job_add(b->s, 1, NULL, b->now), 0);
	assert_int_equal(sl_policy_set(b->s, "order", "auto,tree=/99", b->now), 0);
	for (int i = 0; i < 99; i++) {
		char spec[32];

		snprintf(spec, sizeof(spec), "auto,tree=/%d", i);
		assert_int_equal(sl_job_order(b->s, 1, spec, b->now), 0);
	}
	assert_int_equal(trees(b), 3); /* of all others, of the job now, and before that */
	/* That of the others is still there to be asked. */
	assert_int_equal(sl_job_order(b->s, 1, NULL, b->now), 0);
	assert_int_equal(sl_ratio_set(b->s, SL_READ, 16 * K, 1000), 0);
	strided_reads(b, 1, 70);
	assert_string_equal(pattern(b).order, "sjf");
	box_close(b);
}

/* A pipe or a terminal would be waited for without an end. */
static void trees_are_read_from_files_only(void **state)
{
	char dir[] = "/tmp/order-auto-XXXXXX", pipe[64], *text = NULL;
	size_t length;

	assert_non_null(mkdtemp(dir));
	snprintf(pipe, sizeof(pipe), "%s/pipe", dir);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_int_equal(sl_spec_read(pipe, &text, &length), -EINVAL);
	assert_int_equal(sl_spec_read(dir, &text, &length), -EISDIR);
	assert_int_equal(sl_spec_read("/dev/zero", &text, &length), -EINVAL);
	unlink(pipe);
	rmdir(dir);
}

/* Nothing is lost when the policy changes with requests inside. */
static void a_change_keeps_what_waits(void **state)
{
	struct box *b = with_tree(strided_is_sjf);
	const struct sl_batch *batch;
	unsigned got = 0;

	assert_int_equal(sl_policy_set(b->s, "order",
				       "auto,tree=/some.tree,ratio_percent=100,batch_requests=1",
				       b->now),
			 0);
	for (unsigned i = 0; i < 100; i++) {
		struct sl_request *r = make(b, 1, SL_READ, A, i * 16 * K, 16 * K);

		r->client = i % 4;
		assert_int_equal(sl_add(b->s, r, b->now), 0);
		b->now += US;
	}
	for (; (batch = sl_next(b->s, b->now, NULL)); got += batch->count) {
		assert_string_equal(pattern(b).order, got < 8 ? "to-agg" : "sjf");
		assert_int_equal(batch->offset, got * 16 * K);
		assert_int_equal(sl_done(b->s, batch, b->now), 0);
		b->now += US;
	}
	assert_int_equal(got, 100);
	box_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_that_did_nothing_has_no_pattern),
		cmocka_unit_test(the_pattern_of_a_job_is_that_of_its_own_requests),
		cmocka_unit_test(a_new_job_in_an_old_place_begins_anew),
		cmocka_unit_test(nothing_is_watched_unless_asked_for),
		cmocka_unit_test(a_tree_s_word_is_taken_at_once),
		cmocka_unit_test(another_pattern_counts_when_it_is_seen_twice),
		cmocka_unit_test(a_faster_policy_takes_over),
		cmocka_unit_test(a_little_faster_is_not_worth_a_change),
		cmocka_unit_test(trials_cost_little),
		cmocka_unit_test(nothing_is_tried_unless_it_may_be),
		cmocka_unit_test(the_policy_is_the_tree_s_for_pattern_and_device),
		cmocka_unit_test(a_ratio_is_as_exact_as_a_table_has_it),
		cmocka_unit_test(each_job_has_its_own_choice),
		cmocka_unit_test(the_built_in_tree_knows_what_to_say),
		cmocka_unit_test(trees_that_a_scheduler_cannot_ask_are_refused),
		cmocka_unit_test(trees_that_nobody_asks_any_more_are_forgotten),
		cmocka_unit_test(trees_are_read_from_files_only),
		cmocka_unit_test(a_change_keeps_what_waits),
	};

	return cmocka_run_group_tests_name("order auto", tests, NULL, NULL);
}
