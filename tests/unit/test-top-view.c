/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice top` without a terminal: rows out of a status, what is drawn of them, what keys do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <locale.h>
#include <wchar.h>

#include "cli/top/top.h"

/* ---- a layer, and paper ---- */

#define LATENCY "\"latency_us\":{\"p50\":1000,\"p95\":2000,\"p99\":12000},"

static const char one_node[] =
	"{\"root\":\"/data\",\"uptime_s\":75,\"policy\":{\"admit\":\"token-bucket\","
	"\"share\":\"io-sets\",\"order\":\"to-agg\"},\"capacity_bps\":100000000,"
	"\"bandwidth_bps\":75000000,\"iops\":300,\"inflight_bytes\":131072,\"jobs\":["
	"{\"job\":\"b\",\"bandwidth_bps\":25000000,\"share\":0.3333,\"queued_requests\":4,"
	"\"throttled_s\":2.5,\"asked_max_bps\":25000000,\"weight\":2," LATENCY
	"\"period_s\":10,\"set\":1,\"reason\":\"at max\"},"
	"{\"job\":\"a\",\"bandwidth_bps\":50000000,\"share\":0.6667,\"queued_requests\":1,"
	"\"weight\":1," LATENCY "\"set\":null,\"reason\":\"not held back\"},"
	"{\"job\":\"10\",\"bandwidth_bps\":0,\"share\":0,\"weight\":1,\"queued_requests\":"
	"4," LATENCY "\"set\":null,\"reason\":\"waiting for job b\"},"
	"{\"job\":\"9\",\"bandwidth_bps\":0,\"share\":0,\"weight\":1," LATENCY
	"\"set\":-1,\"reason\":\"computing\"}]}";

static const char two_nodes[] =
	"{\"root\":\"/data\",\"uptime_s\":75,\"policy\":{},\"bandwidth_bps\":10000000,"
	"\"controller\":{\"state\":\"up\",\"grant\":\"set-10\",\"allocate\":\"mckp\"},"
	"\"ionodes\":[{\"name\":\"0\",\"state\":\"up\",\"jobs\":1,\"bandwidth_bps\":10000000},"
	"{\"name\":\"1\",\"state\":\"died\"}],"
	"\"jobs\":[{\"job\":\"a\",\"bandwidth_bps\":10000000,\"share\":1,\"weight\":1,"
	"\"ionodes\":[\"0\",\"1\"],\"period_s\":10,\"period_from\":\"detected\","
	"\"period_confidence\":0.87,\"set\":1,\"grant_bps\":0,"
	"\"reason\":\"granted 0 until job b is done\"}]}";

static void read_model(struct top_model *m, const char *text)
{
	struct status *s = status_decode(text);

	assert_non_null(s);
	assert_int_equal(top_model_read(m, s), 0);
	top_model_arrange(m, TOP_BY_NOW, false, "");
}

#define PAPER_ROWS 80
struct paper {
	struct top_canvas canvas;
	char row[PAPER_ROWS][4 * TOP_LINE_MOST];
	unsigned rows;
	int selected; /* row; -1: none */
};

static void paper_put(struct top_canvas *c, unsigned row, enum top_style style, bool selected,
		      const char *text)
{
	struct paper *p = (struct paper *)c;

	assert_true(row < PAPER_ROWS);
	assert_true(style < TOP_STYLES);
	if (selected)
		p->selected = (int)row;
	strcat(p->row[row], text);
	p->rows = row + 1 > p->rows ? row + 1 : p->rows;
}

static size_t width(const char *text)
{
	wchar_t wide[4 * TOP_LINE_MOST];
	size_t n = mbstowcs(wide, text, 4 * TOP_LINE_MOST);

	assert_true(n < 4 * TOP_LINE_MOST);
	return (size_t)wcswidth(wide, n);
}

static struct paper *draw(const struct top_model *m, struct top_view *v)
{
	static struct paper p;

	memset(&p, 0, sizeof(p));
	p.canvas.put = paper_put;
	p.selected = -1;
	top_draw(&p.canvas, m, v);
	for (unsigned i = 0; i < p.rows; i++)
		assert_int_equal(width(p.row[i]), v->columns);
	return &p;
}

static bool on(const struct paper *p, const char *text)
{
	for (unsigned i = 0; i < p->rows; i++)
		if (strstr(p->row[i], text))
			return true;
	return false;
}

static struct top_view window(unsigned columns, unsigned rows)
{
	return (struct top_view){ .columns = columns, .rows = rows, .layer = "default" };
}

static void type(struct top_view *v, struct top_model *m, const char *keys)
{
	char word[2 * TOP_NAME];

	for (; *keys; keys++)
		assert_int_equal(top_press(v, m, *keys, word), TOP_REDRAW);
}

/* ---- model ---- */

static void order_is(const struct top_model *m, const char *names)
{
	char got[100] = "";

	for (size_t i = 0; i < m->shown_count; i++) {
		strcat(got, m->s->jobs[m->shown[i]].job);
		strcat(got, " ");
	}
	assert_string_equal(got, names);
}

static void jobs_are_sorted_by_a_figure_and_then_by_name(void **state)
{
	struct top_model m;

	read_model(&m, one_node);
	order_is(&m, "a b 9 10 ");
	top_model_arrange(&m, TOP_BY_NOW, true, "");
	order_is(&m, "9 10 b a ");
	top_model_arrange(&m, TOP_BY_NAME, false, "");
	order_is(&m, "9 10 a b ");
	top_model_arrange(&m, TOP_BY_NAME, true, "");
	order_is(&m, "b a 10 9 ");
	top_model_arrange(&m, TOP_BY_QUEUE, false, "");
	order_is(&m, "10 b a 9 ");
	top_model_arrange(&m, TOP_BY_SET, false, ""); /* S-1, S1, then none */
	order_is(&m, "9 b 10 a ");
	top_model_free(&m);
}

static void a_filter_looks_at_names_and_reasons(void **state)
{
	struct top_model m;

	read_model(&m, one_node);
	top_model_arrange(&m, TOP_BY_NAME, false, "MAX");
	order_is(&m, "b ");
	top_model_arrange(&m, TOP_BY_NAME, false, "b");
	order_is(&m, "10 a b "); /* waiting for job b, not held back, b */
	top_model_arrange(&m, TOP_BY_NAME, false, "zzz");
	order_is(&m, "");
	top_model_free(&m);
}

static void every_sort_key_has_a_name_of_its_own(void **state)
{
	for (int i = 0; i < TOP_SORTS; i++)
		assert_int_equal(top_sort_find(top_sort_name((enum top_sort)i)), i);
	assert_int_equal(top_sort_find("x"), -ENOENT);
}

static void a_status_of_another_kind_does_no_harm(void **state)
{
	static const char *const odd[] = { "{}", "{\"jobs\":3,\"ionodes\":{}}",
					   "{\"jobs\":[1,{\"job\":4,\"ionodes\":[1,2]}]}" };

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct top_view v = window(80, 24);
		struct top_model m;

		read_model(&m, odd[i]);
		draw(&m, &v);
		top_model_free(&m);
	}
}

/* ---- drawing ---- */

static void the_window_has_the_layer_the_jobs_and_the_keys(void **state)
{
	struct top_view v = window(80, 24);
	struct top_model m;
	const struct paper *p;

	read_model(&m, one_node);
	p = draw(&m, &v);
	assert_int_equal(p->rows, 24);
	assert_non_null(strstr(p->row[0], "Layer 'default' for /data, up 75s"));
	assert_non_null(strstr(p->row[1], "Now 75.0MB/s of 100M ############     300 requests/s"));
	assert_non_null(strstr(p->row[2], "admit=token-bucket share=io-sets order=to-agg"));
	assert_non_null(strstr(p->row[3], "JOB          NOW            % QUEUE   P99  HELD SET"
					  "   P50 REASON"));
	assert_non_null(strstr(p->row[4], "a          50.0M ####      67     1  12ms     0   -"
					  " 1.0ms not held back"));
	assert_non_null(strstr(p->row[5], "b          25.0M ##        33     4  12ms  2.5s  S1"
					  " 1.0ms at max"));
	assert_int_equal(p->selected, 4);
	assert_non_null(strstr(p->row[22], "a: min - max - weight 1; not held back"));
	assert_non_null(strstr(p->row[23], "Sorted by now. ?:help q:quit"));
	top_model_free(&m);
}

static void utf8_bars_have_eighths(void **state)
{
	struct top_view v = window(80, 24);
	struct top_model m;
	const struct paper *p;

	v.utf8 = true;
	read_model(&m, one_node);
	m.s->jobs[m.shown[0]].bandwidth_bps = 53e6; /* 34 of 64 eighths */
	p = draw(&m, &v);
	assert_non_null(strstr(p->row[4], "53.0M ████▎ "));
	top_model_free(&m);
}

static void nodes_and_the_period_of_the_controller_are_shown(void **state)
{
	struct top_view v = window(120, 24);
	struct top_model m;
	const struct paper *p;

	read_model(&m, two_nodes);
	p = draw(&m, &v);
	assert_non_null(strstr(p->row[0], "1 of 2 nodes"));
	assert_non_null(strstr(p->row[2], "grant=set-10 allocate=mckp"));
	assert_non_null(strstr(p->row[3], "IONODES"));
	assert_non_null(strstr(p->row[4], " 0,1 "));
	assert_non_null(strstr(p->row[4], " 10s  87%     0 "));
	assert_non_null(strstr(p->row[4], "granted 0 until job b"));
	assert_true(on(p, "IONODE STATE"));
	assert_true(on(p, "1      died"));
	assert_true(on(p, "period 10s (87 % sure); granted 0 until job b is done"));
	top_model_free(&m);
}

static void every_size_of_window_is_filled_and_not_exceeded(void **state)
{
	static const char *const trees[] = { one_node, two_nodes };

	for (unsigned i = 0; i < 2; i++) {
		struct top_model m;

		read_model(&m, trees[i]);
		for (unsigned columns = 1; columns < 250; columns += columns < 90 ? 1 : 13)
			for (unsigned rows = 1; rows < 50; rows += rows < 30 ? 1 : 7) {
				struct top_view v = window(columns, rows);
				const struct paper *p = draw(&m, &v);

				assert_int_equal(p->rows, rows);
				if (columns >= 30 && (columns < TOP_COLUMNS || rows < TOP_ROWS))
					assert_non_null(strstr(p->row[0], "too small"));
				else if (columns >= TOP_COLUMNS)
					assert_true(on(p, "REASON"));
			}
		top_model_free(&m);
	}
}

static void the_selected_job_is_always_in_sight(void **state)
{
	struct top_view v = window(60, 10); /* four rows for jobs */
	char word[2 * TOP_NAME];
	struct top_model m;
	char text[1000] = "{\"jobs\":[";

	for (int i = 0; i < 20; i++)
		snprintf(text + strlen(text), 32, "%s{\"job\":\"j%d\"}", i ? "," : "", i);
	strcat(text, "]}");
	read_model(&m, text);
	top_model_arrange(&m, TOP_BY_NAME, false, "");
	for (int i = 0; i < 25; i++) {
		const struct paper *p = draw(&m, &v);
		char name[8];

		snprintf(name, sizeof(name), "j%d ", i < 20 ? i : 19);
		assert_true(p->selected >= 4 && p->selected < 8);
		assert_memory_equal(p->row[p->selected], name, strlen(name));
		top_press(&v, &m, TOP_KEY_DOWN, word);
	}
	top_press(&v, &m, TOP_KEY_PAGE_UP, word);
	draw(&m, &v);
	assert_string_equal(v.selected, "j15");
	top_press(&v, &m, TOP_KEY_HOME, word);
	assert_int_equal(draw(&m, &v)->selected, 4);
	top_press(&v, &m, TOP_KEY_END, word);
	assert_int_equal(draw(&m, &v)->selected, 7);
	top_model_free(&m);
}

static void a_layer_that_is_gone_is_said_to_be(void **state)
{
	struct top_view v = window(80, 24);
	struct top_model m;

	read_model(&m, one_node);
	v.gone = true;
	assert_true(on(draw(&m, &v), "Layer 'default' is gone; waiting for its return."));
	assert_true(on(draw(NULL, &v), "Asking the layer"));
	top_model_free(&m);
}

static void text_is_cut_padded_and_harmless(void **state)
{
	char out[64];

	top_fit(out, sizeof(out), "checkpoint-7", 10, false);
	assert_string_equal(out, "checkpoin~");
	top_fit(out, sizeof(out), "ab", 4, false);
	assert_string_equal(out, "ab  ");
	top_fit(out, sizeof(out), "\033[31mé\x9b\xff", 9, false);
	assert_string_equal(out, "?[31m????");
	top_fit(out, sizeof(out), "éé\xc2\x9b\xff\xe2\x82", 7, true);
	assert_string_equal(out, "éé???? ");
	top_fit(out, sizeof(out), "éééé", 3, true);
	assert_string_equal(out, "éé~");
	top_fit(out, 8, "a long text for so few bytes", 20, true);
	assert_true(strlen(out) < 8);
	assert_string_equal(top_cut(out, sizeof(out), "ab", 4, false), "ab");
	assert_string_equal(top_cut(out, sizeof(out), "abcde", 4, false), "abc~");
}

static void wide_letters_have_two_columns_and_accents_none(void **state)
{
	char out[64];

	top_fit(out, sizeof(out), "数据", 6, true);
	assert_string_equal(out, "数据  ");
	top_fit(out, sizeof(out), "数据库", 5, true);
	assert_string_equal(out, "数据~");
	top_fit(out, sizeof(out), "数据库", 4, true);
	assert_string_equal(out, "数~ ");
	top_fit(out, sizeof(out), "e\xcc\x81t", 2, true);
	assert_string_equal(out, "e\xcc\x81t");
	top_fit(out, sizeof(out), "数据", 1, true);
	assert_string_equal(out, "~");
}

/* What is typed, the limits and the reason are in sight beside names and paths of any length. */
static void long_names_leave_room_for_the_rest(void **state)
{
	static const char text[] =
		"{\"root\":\"/scratch/"
		"数据数据数据数据数据数据数据数据数据数据数据数据数据数据数据\","
		"\"uptime_s\":75,\"ionodes\":[{\"name\":\"0\",\"state\":\"died\"}],\"jobs\":["
		"{\"job\":\"a23456789-123456789-123456789-123456789-123456789-123456789-12\","
		"\"weight\":1,\"asked_max_bps\":4000000,\"reason\":\"at max\"}]}";
	struct top_view v = window(80, 24);
	struct top_model m;
	const struct paper *p;

	v.utf8 = true;
	read_model(&m, text);
	p = draw(&m, &v);
	assert_non_null(strstr(p->row[0], "~, up 75s, 0 of 1 nodes"));
	assert_non_null(strstr(p->row[22], "-12345~: min - max 4.00M weight 1; at max"));
	type(&v, &m, "M123");
	p = draw(&m, &v);
	assert_non_null(strstr(p->row[23], "~ (like 100M; 0: none): 123 "));
	assert_true(v.cursor < 79 && p->row[23][v.cursor - 1] == '3');
	v.columns = TOP_COLUMNS;
	p = draw(&m, &v);
	assert_non_null(
		strstr(p->row[23], "max of job a23456789-12345~ (like 100M; 0: none): 123"));
	/* where there is room the name is whole */
	v.columns = 260;
	p = draw(&m, &v);
	assert_non_null(strstr(p->row[4], "-123456789-12 "));
	assert_non_null(strstr(p->row[22], "-123456789-12: min"));
	top_model_free(&m);
}

static void a_long_message_takes_two_rows(void **state)
{
	struct top_view v = window(60, 12);
	struct top_model m;
	const struct paper *p;

	read_model(&m, one_node);
	snprintf(v.message, sizeof(v.message),
		 "b: max=zzz refused: max: 'zzz' is not a rate; write 200M, 1.5Gi or 100MB/s.");
	p = draw(&m, &v);
	assert_non_null(
		strstr(p->row[10], "b: max=zzz refused: max: 'zzz' is not a rate; write 200M, "));
	assert_memory_equal(p->row[11], "1.5Gi or 100MB/s. ", 18);
	v.columns = 80;
	p = draw(&m, &v);
	assert_non_null(strstr(p->row[10], "a: min - max -"));
	assert_non_null(strstr(p->row[11], "or 100MB/s."));
	top_model_free(&m);
}

static void counts_have_three_characters(void **state)
{
	static const struct {
		double value;
		const char *text;
	} is[] = { { 0, "0" },	     { 999, "999" },	{ 1000, "1K" },	  { 99499, "99K" },
		   { 99500, ".1M" }, { 949999, ".9M" }, { 1e6, "1M" },	  { 1e9, "1G" },
		   { 64e3, "64K" },  { 999999, "1M" },	{ 123456, ".1M" } };
	char out[STATUS_CELL];

	for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
		status_tiny(out, is[i].value);
		assert_string_equal(out, is[i].text);
	}
}

static void how_to_start_a_job_is_said_of_this_layer(void **state)
{
	struct top_view v = window(80, 24);
	struct top_model m;

	read_model(&m, "{}");
	assert_true(on(draw(&m, &v), "No jobs yet: 'sluice run -- COMMAND' starts one."));
	v.layer = "east";
	assert_true(on(draw(&m, &v), "No jobs yet: 'sluice run --name east -- COMMAND' starts"));
	top_model_free(&m);
	read_model(&m, one_node);
	top_model_arrange(&m, TOP_BY_NOW, false, "zzz");
	assert_true(on(draw(&m, &v), "No job matches the filter"));
	top_model_free(&m);
}

static void one_is_no_plural(void **state)
{
	struct top_view v = window(80, 24);
	struct top_model m;

	read_model(&m, "{\"iops\":1,\"jobs\":[{\"job\":\"a\",\"queued_requests\":1}]}");
	assert_true(on(draw(&m, &v), " 1 request/s, 1 waits, "));
	m.s->iops = m.queue = 2;
	assert_true(on(draw(&m, &v), " 2 requests/s, 2 wait, "));
	top_model_free(&m);
}

/* ---- keys ---- */

static void a_value_that_is_typed_becomes_a_change_of_the_selected_job(void **state)
{
	struct top_view v = window(80, 24);
	char word[2 * TOP_NAME];
	struct top_model m;

	read_model(&m, one_node);
	type(&v, &m, "jM50q");
	assert_true(on(draw(&m, &v), "max of job b (like 100M; 0: none): 50q"));
	assert_int_equal(v.cursor, 38);
	assert_int_equal(top_press(&v, &m, TOP_KEY_ERASE, word), TOP_REDRAW);
	type(&v, &m, "M");
	assert_int_equal(top_press(&v, &m, TOP_KEY_ENTER, word), TOP_CHANGE);
	assert_string_equal(word, "max=50M");
	assert_string_equal(v.selected, "b");
	type(&v, &m, "m1");
	assert_int_equal(top_press(&v, &m, TOP_KEY_ENTER, word), TOP_CHANGE);
	assert_string_equal(word, "min=1");
	type(&v, &m, "w7");
	assert_int_equal(top_press(&v, &m, TOP_KEY_ENTER, word), TOP_CHANGE);
	assert_string_equal(word, "weight=7");
	/* one key clears the field, also a filter that was there before */
	type(&v, &m, "w79");
	assert_int_equal(top_press(&v, &m, TOP_KEY_CLEAR, word), TOP_REDRAW);
	assert_string_equal(v.input, "");
	type(&v, &m, "8");
	assert_int_equal(top_press(&v, &m, TOP_KEY_ENTER, word), TOP_CHANGE);
	assert_string_equal(word, "weight=8");
	/* escape, and nothing typed, change nothing */
	type(&v, &m, "w7");
	assert_int_equal(top_press(&v, &m, TOP_KEY_ESCAPE, word), TOP_REDRAW);
	assert_int_equal(v.mode, TOP_LOOK);
	type(&v, &m, "w");
	assert_int_equal(top_press(&v, &m, TOP_KEY_ENTER, word), TOP_REDRAW);
	/* no more than there is room for */
	type(&v, &m, "M");
	for (int i = 0; i < 200; i++)
		type(&v, &m, "9");
	assert_true(v.cursor < 80);
	draw(&m, &v);
	assert_true(v.cursor < 80);
	assert_int_equal(top_press(&v, &m, TOP_KEY_ENTER, word), TOP_CHANGE);
	assert_int_equal(strlen(word), 4 + TOP_NAME - 1);
	top_model_free(&m);
}

static void nothing_is_changed_where_no_job_is(void **state)
{
	struct top_view v = window(80, 24);
	struct top_model m;

	read_model(&m, "{}");
	type(&v, &m, "M");
	assert_int_equal(v.mode, TOP_LOOK);
	assert_true(v.bad);
	assert_true(on(draw(&m, &v), "No job to change."));
	type(&v, &m, "x"); /* the message is gone with the next key */
	assert_false(on(draw(&m, &v), "No job to change."));
	top_model_free(&m);
}

static void keys_sort_and_filter(void **state)
{
	struct top_view v = window(80, 24);
	char word[2 * TOP_NAME];
	struct top_model m;

	read_model(&m, one_node);
	type(&v, &m, ">");
	order_is(&m, "9 10 a b ");
	type(&v, &m, "r");
	order_is(&m, "b a 10 9 ");
	type(&v, &m, "r<<");
	assert_int_equal(v.sort, TOP_BY_WEIGHT);
	order_is(&m, "b 9 10 a ");
	type(&v, &m, "squeue");
	top_press(&v, &m, TOP_KEY_ENTER, word);
	order_is(&m, "10 b a 9 ");
	type(&v, &m, "squeeu");
	top_press(&v, &m, TOP_KEY_ENTER, word);
	assert_true(v.bad);
	assert_int_equal(v.sort, TOP_BY_QUEUE);
	type(&v, &m, "/job b");
	top_press(&v, &m, TOP_KEY_ENTER, word);
	order_is(&m, "10 ");
	assert_true(on(draw(&m, &v), "Sorted by queue, only 'job b'."));
	top_model_free(&m);
}

static void keys_pause_help_and_quit(void **state)
{
	struct top_view v = window(80, 24);
	char word[2 * TOP_NAME];
	struct top_model m;

	read_model(&m, one_node);
	assert_int_equal(top_press(&v, &m, ' ', word), TOP_REDRAW);
	assert_true(on(draw(&m, &v), "PAUSED"));
	assert_int_equal(top_press(&v, &m, ' ', word), TOP_REFRESH);
	assert_false(on(draw(&m, &v), "PAUSED"));
	assert_int_equal(top_press(&v, &m, '?', word), TOP_REDRAW);
	assert_true(on(draw(&m, &v), "Keys of sluice top"));
	assert_int_equal(top_press(&v, &m, 'q', word), TOP_REDRAW); /* any key goes back */
	assert_false(on(draw(&m, &v), "Keys of sluice top"));
	assert_int_equal(top_press(&v, &m, TOP_KEY_ENTER, word), TOP_REFRESH);
	assert_int_equal(top_press(&v, &m, 'q', word), TOP_QUIT);
	top_model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_sorted_by_a_figure_and_then_by_name),
		cmocka_unit_test(a_filter_looks_at_names_and_reasons),
		cmocka_unit_test(every_sort_key_has_a_name_of_its_own),
		cmocka_unit_test(a_status_of_another_kind_does_no_harm),
		cmocka_unit_test(the_window_has_the_layer_the_jobs_and_the_keys),
		cmocka_unit_test(utf8_bars_have_eighths),
		cmocka_unit_test(nodes_and_the_period_of_the_controller_are_shown),
		cmocka_unit_test(every_size_of_window_is_filled_and_not_exceeded),
		cmocka_unit_test(the_selected_job_is_always_in_sight),
		cmocka_unit_test(a_layer_that_is_gone_is_said_to_be),
		cmocka_unit_test(counts_have_three_characters),
		cmocka_unit_test(one_is_no_plural),
		cmocka_unit_test(how_to_start_a_job_is_said_of_this_layer),
		cmocka_unit_test(text_is_cut_padded_and_harmless),
		cmocka_unit_test(wide_letters_have_two_columns_and_accents_none),
		cmocka_unit_test(long_names_leave_room_for_the_rest),
		cmocka_unit_test(a_long_message_takes_two_rows),
		cmocka_unit_test(a_value_that_is_typed_becomes_a_change_of_the_selected_job),
		cmocka_unit_test(nothing_is_changed_where_no_job_is),
		cmocka_unit_test(keys_sort_and_filter),
		cmocka_unit_test(keys_pause_help_and_quit),
	};

	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8")); /* how wide a letter is */
	return cmocka_run_group_tests_name("top-view", tests, NULL, NULL);
}
