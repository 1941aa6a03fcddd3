/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice train RUNS`: learn from a table of runs which order policy suits which situation, as a
 * decision tree that people and the daemon can read, and estimate its accuracy (AGIOS, Boito et al.
 * 2015, sections 4 and 5). The learner is detect/c45.c.
 */
#include "lab/train/train.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "lab/page.h"

#define CMD TRAIN_CMD
/* Repetitions of cross-validation; a single one may be accidentally good. */
#define REPEATS 10
/* With more rows one is accurate enough, and repetition would take too long. */
#define REPEAT_ROWS 20000

struct asked {
	const char *tree, *attributes, *class_, *output, *folds, *seed, *train, *test;
	const char *confidence, *smallest, *margin, *leaves;
	bool unpruned, json;
	double confidence_of_1, margin_of_1;
	uint32_t smallest_rows;
};

/* ---- options ---- */

static int number(const char *name, const char *text, double low, double high, double *out)
{
	char *end;

	if (!text)
		return CLI_OK;
	*out = strtod(text, &end);
	if (*end || end == text || !(*out >= low && *out <= high))
		return cli_usage(CMD, "--%s must be a number from %g to %g, not '%s'.", name, low,
				 high, text);
	return CLI_OK;
}

static int whole(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
	char *end;

	if (!text)
		return CLI_OK;
	errno = 0;
	*out = strtoull(text, &end, 10);
	if (*end || end == text || text[0] == '-' || errno || *out < low || *out > high)
		return cli_usage(CMD,
				 "--%s must be a whole number from %" PRIu64 " to %" PRIu64
				 ", not '%s'.",
				 name, low, high, text);
	return CLI_OK;
}

static int read_numbers(struct asked *a, struct train *t)
{
	uint64_t folds = 10, smallest = 2;
	double margin = 1;
	int status;

	a->confidence_of_1 = 0.25;
	t->seed = 1;
	if ((status = whole("folds", a->folds, 2, SL_TABLE_ROWS, &folds)) ||
	    (status = whole("seed", a->seed, 0, UINT64_MAX, &t->seed)) ||
	    (status = whole("smallest", a->smallest, 1, SL_TABLE_ROWS, &smallest)) ||
	    (status = number("confidence", a->confidence, 1e-6, 0.5, &a->confidence_of_1)) ||
	    (status = number("margin", a->margin, 0, 1000, &margin)))
		return status;
	t->folds = (uint32_t)folds;
	a->smallest_rows = (uint32_t)smallest;
	a->margin_of_1 = margin / 100;
	if (a->tree && a->attributes)
		return cli_usage(CMD, "--tree and --attributes exclude each other.");
	if (a->test && !a->train)
		return cli_usage(CMD, "--test needs --train: without it the test rows would be "
				      "used for training.");
	return CLI_OK;
}

/* ---- learning ---- */

static int out_of_memory(void)
{
	return cli_fail(CMD, "no memory.");
}

static uint32_t judged(const struct train_tree *tree, const struct sl_decision *by,
		       const struct train_rows *rows, uint32_t *guess)
{
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < rows->n; i++) {
		uint32_t said = sl_c45_choose(&tree->task, by, rows->row[i]);

		wrong += said !=
			 (uint32_t)sl_table_cell(tree->task.table, rows->row[i], tree->task.class_);
		if (guess)
			guess[i] = said;
	}
	return wrong;
}

static int learn(struct train *t, struct train_tree *tree)
{
	uint32_t repeats = tree == &t->tree[t->chosen] ? t->repeats : 1;

	tree->guess = calloc(t->test.n, sizeof(tree->guess[0]));
	if (!tree->guess || sl_c45_learn(&tree->task, t->train.row, t->train.n, &tree->tree))
		return out_of_memory();
	tree->wrong_train = judged(tree, &tree->tree, &t->train, NULL);
	tree->wrong_test = judged(tree, &tree->tree, &t->test, tree->guess);
	if (t->held_out) {
		if (sl_c45_learn(&tree->task, t->test.row, t->test.n, &tree->other))
			return out_of_memory();
		tree->wrong_other = judged(tree, &tree->other, &t->train, NULL);
	}
	if (t->train.n < 2)
		return CLI_OK;
	tree->cross = calloc((size_t)repeats * t->train.n, sizeof(tree->cross[0]));
	for (uint32_t i = 0; i < repeats; i++)
		if (!tree->cross || sl_c45_cross(&tree->task, t->train.row, t->train.n, t->folds,
						 t->seed + i, tree->cross + (size_t)i * t->train.n))
			return out_of_memory();
	for (uint32_t i = 0; i < t->train.n; i++)
		tree->wrong_cross += tree->cross[i] !=
				     (uint32_t)sl_table_cell(&t->t, t->train.row[i], t->class_);
	return CLI_OK;
}

/* Test each device with a tree learned from the others, if the table has a column for devices. */
static int learn_devices(struct train *t)
{
	struct train_tree *tree = &t->tree[t->chosen];
	uint32_t device = sl_table_column(&t->t, "device");
	int rc;

	if (t->held_out || device == SL_DECISION_NONE || device == t->class_ ||
	    !t->t.column[device].values)
		return CLI_OK;
	tree->strange = calloc(t->train.n, sizeof(tree->strange[0]));
	if (!tree->strange)
		return out_of_memory();
	rc = sl_c45_cross_by(&tree->task, t->train.row, t->train.n, device, tree->strange);
	if (rc == -EINVAL) { /* only one */
		free(tree->strange);
		tree->strange = NULL;
		return CLI_OK;
	}
	return rc ? out_of_memory() : CLI_OK;
}

/* Leaves choose by time if requested, or if the table has times of all classes. */
static int read_leaves(struct train *t, const char *asked)
{
	const struct sl_decision_attribute *c = &t->t.column[t->class_];
	bool count = asked && !strcmp(asked, "count"), time = asked && !strcmp(asked, "time");
	uint32_t without = 0;

	if (asked && !count && !time)
		return cli_usage(CMD, "--leaves must be time or count, not '%s'.", asked);
	while (without < c->values && t->time_of[without] != SL_DECISION_NONE)
		without++;
	if (time && without < c->values)
		return cli_fail(CMD, "%s:1: --leaves time needs a column time_%s.", t->path,
				c->value[without]);
	t->by_time = without == c->values && !count;
	return CLI_OK;
}

static int some_to_choose(const struct train *t)
{
	uint32_t first = (uint32_t)sl_table_cell(&t->t, t->train.row[0], t->class_);

	for (uint32_t i = 1; i < t->train.n; i++)
		if ((uint32_t)sl_table_cell(&t->t, t->train.row[i], t->class_) != first)
			return CLI_OK;
	return cli_fail(CMD, "%s:%u: %s is '%s' in every row%s%s: there is only one choice.",
			t->path, t->t.line[t->train.row[0]], t->t.column[t->class_].name,
			t->t.column[t->class_].value[first], t->train.where ? " with " : "",
			t->train.where ? t->train.where : "");
}

static int put_tree(FILE *f, const void *what)
{
	const struct train *t = what;
	const struct train_tree *tree = &t->tree[t->chosen];
	struct train_verdict v[TRAIN_VERDICTS];
	uint32_t n = train_verdicts(t, v);

	fprintf(f, "# %s of sluice train, from %u rows; wrong in %u of them", train_name(tree),
		t->train.n, tree->wrong_train);
	if (tree->cross)
		fprintf(f, ", in %u by %u-fold cross-validation", tree->wrong_cross, t->folds);
	fputs(".\n", f);
	for (uint32_t i = 0; i < n; i++)
		if (train_is_worse(&v[i]))
			fprintf(f, "# Worse than always %s in rows %s.\n", v[i].constant,
				train_unseen(&v[i]));
	sl_decision_write(f, &tree->tree);
	return 0;
}

/*
 * Whether the table is the list of `sluice explore`, with a row for each run: times are in one
 * column.
 */
static bool is_list_of_runs(const struct sl_table *t)
{
	static const char *const columns[] = { "policy", "run", "seconds" };

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (sl_table_column(t, columns[i]) == SL_DECISION_NONE)
			return false;
	return true;
}

static int run(struct train *t, const struct asked *a)
{
	char err[1000];
	int status;

	if (sl_table_load(t->path, &t->t, err, sizeof(err)))
		return cli_fail(CMD, "%s", err);
	if (!a->class_ && is_list_of_runs(&t->t))
		return cli_fail(CMD,
				"%s is the list of runs of 'sluice explore --output'. Its option "
				"--train FILE writes a table to learn from, also of runs that are "
				"done.",
				t->path);
	t->train.where = a->train;
	t->test.where = a->test ? a->test : a->train;
	t->held_out = a->test != NULL;
	if ((status = train_classes(t, a->class_, a->margin_of_1)) ||
	    (status = read_leaves(t, a->leaves)) ||
	    (status = train_attributes(t, a->tree, a->attributes)) ||
	    (status = train_select(t, "--train", &t->train)) || (status = some_to_choose(t)))
		return status;
	if (t->held_out) {
		status = train_select(t, "--test", &t->test);
		if (status)
			return status;
	} else {
		t->test = t->train;
	}
	if (t->train.n >= 2 && t->folds > t->train.n)
		t->folds = t->train.n;
	t->repeats = t->train.n <= REPEAT_ROWS ? REPEATS : 1;
	train_contradictions(t);
	for (uint32_t i = 0; i < t->trees; i++) {
		t->tree[i].task.confidence = a->confidence_of_1;
		t->tree[i].task.smallest = a->smallest_rows;
		t->tree[i].task.unpruned = a->unpruned;
		t->tree[i].task.loss = t->by_time ? train_loss : NULL;
		t->tree[i].task.loss_arg = t;
		status = learn(t, &t->tree[i]);
		if (status)
			return status;
	}
	if ((status = learn_devices(t)) ||
	    (a->output && (status = page_write(CMD, a->output, put_tree, t))))
		return status;
	if (a->json)
		train_json(t);
	else
		train_report(t);
	return CLI_OK;
}

static void finish(struct train *t)
{
	for (uint32_t i = 0; i < t->trees; i++) {
		sl_decision_free(&t->tree[i].tree);
		sl_decision_free(&t->tree[i].other);
		free(t->tree[i].guess);
		free(t->tree[i].cross);
		free(t->tree[i].strange);
	}
	free(t->train.row);
	if (t->held_out)
		free(t->test.row);
	sl_table_free(&t->t);
	free(t);
}

int cmd_train(int argc, char **argv)
{
	struct asked a = { 0 };
	const struct cli_option options[] = {
		{ "tree", 't', "T1|T2|T3", .text = &a.tree,
		  .help = "attributes: T1 op, files, file_bytes, spatiality, size, ratio; T2 "
			  "without file_bytes (default); T3 also without files" },
		{ "attributes", 'a', "COLUMN,...", .text = &a.attributes,
		  .help = "use these columns as attributes instead" },
		{ "class", 'c', "COLUMN", .text = &a.class_,
		  .help = "column to predict; default: best, or the last column" },
		{ "output", 'o', "FILE", .values = "<file>", .text = &a.output,
		  .help = "write the tree" },
		{ "folds", 'f', "N", .text = &a.folds,
		  .help = "folds of cross-validation, 2 or more; default 10" },
		{ "seed", 's', "S", .text = &a.seed,
		  .help = "seed of cross-validation; default 1" },
		{ "train", 'T', "WHERE", .text = &a.train,
		  .help = "learn from these rows alone, as in procs=8,device!=edel" },
		{ "test", 'E', "WHERE", .text = &a.test,
		  .help = "test with these rows; needs --train" },
		{ "leaves", 'l', "time|count", .text = &a.leaves,
		  .help = "a leaf chooses the policy that loses least time (default, if there are "
			  "times), or "
			  "the one that is best most often" },
		{ "confidence", 'C', "C", .text = &a.confidence,
		  .help = "confidence of pruning, up to 0.5: less prunes more; default 0.25" },
		{ "smallest", 'm', "N", .text = &a.smallest,
		  .help = "minimum of rows in each of two branches of a test; default 2" },
		{ "unpruned", 'u', NULL, .flag = &a.unpruned, .help = "do not prune" },
		{ "margin", 'g', "PERCENT", .text = &a.margin,
		  .help = "without a column best: choose the simplest policy that takes at most "
			  "this much more time "
			  "than the fastest; default 1" },
		CLI_JSON(&a.json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = CMD,
		.usage = "train [OPTION]... RUNS.csv|RUNS.arff",
		.about = "Learns from a table of runs which order policy suits which access "
			 "pattern and device: a decision tree, by C4.5. Prints the tree, how often "
			 "it is "
			 "wrong, and how it compares with always using one policy, also on rows "
			 "that it "
			 "has not seen.",
		.more = "The table: sluice-train(1).",
		.options = options,
		.takes = "file",
		.arguments = 1,
	};
	int status = cli_next(&command, argc, argv);
	struct train *t;

	if (status)
		return cli_end(status);
	if (optind >= argc)
		return cli_usage(CMD, "no table given.");
	t = calloc(1, sizeof(*t));
	if (!t)
		return out_of_memory();
	t->path = argv[optind];
	status = read_numbers(&a, t);
	if (!status)
		status = run(t, &a);
	finish(t);
	return status;
}
