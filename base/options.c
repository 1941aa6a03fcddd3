/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a command: the parser, the help and the rows for shell completion, all made from one
 * table. See cli.h.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/cli.h"

#define MAX_OPTIONS 40
#define WIDEST	    26 /* a longer option has its text on the next line */
#define HELP_OPTION 'h'

bool cli_describes;
const char *cli_nested[CLI_NESTED + 1];

static const struct cli_option help_option = { "help", HELP_OPTION, .help = "this text" };

static bool op_among(const char *word, const char *values)
{
	for (size_t n; *values; values += n + (values[n] == ' ')) {
		n = strcspn(values, " ");
		if (n == strlen(word) && !strncmp(word, values, n))
			return true;
	}
	return false;
}

/* ---- the help ---- */

/* "  -j, --json", or "      --name NAME", or "  min=RATE", or "  list": the number of columns. */
static int op_head(const struct cli_option *o, char *head, size_t size)
{
	const char *arg = o->arg ? o->arg : "";
	char letter[4] = "";

	if (o->key == CLI_WORD)
		return snprintf(head, size, "  %s%s", o->name, arg);
	if (o->key > 0 && o->key < 256)
		snprintf(letter, sizeof(letter), "-%c,", o->key);
	return snprintf(head, size, "  %3s --%s%s%s", letter, o->name,
			*arg && *arg != '[' ? " " : "", arg);
}

static void op_print(const struct cli_option *o, unsigned indent)
{
	char head[80];
	unsigned at = (unsigned)op_head(o, head, sizeof(head));

	fputs(head, stdout);
	if (at + 2 > indent) {
		putchar('\n');
		at = 0;
	}
	printf("%*s", (int)(indent - at), "");
	cli_wrap(stdout, o->help, indent, indent);
}

/* The column where texts begin: behind the widest head that is at most WIDEST. */
static unsigned op_indent(const struct cli_option *options)
{
	char head[80];
	unsigned widest = (unsigned)op_head(&help_option, head, sizeof(head)), width;

	for (const struct cli_option *o = options; o->name; o++) {
		if (o->key == CLI_HEADING || !o->help)
			continue;
		width = (unsigned)op_head(o, head, sizeof(head));
		if (width > widest && width <= WIDEST)
			widest = width;
	}
	return widest + 2;
}

/* Paragraphs, with an empty line between them; lines that begin with a space stay as they are. */
static void op_text(const char *text)
{
	char line[2000];
	size_t length;

	for (; *text; text += length + (text[length] == '\n')) {
		length = strcspn(text, "\n");
		assert(length < sizeof(line));
		memcpy(line, text, length);
		line[length] = '\0';
		if (*line == ' ' || !*line)
			puts(line);
		else
			cli_wrap(stdout, line, 0, 0);
	}
}

static void op_help(const struct cli_command *c)
{
	unsigned indent = op_indent(c->options);
	const char *line = c->usage;
	enum { NOTHING, WORDS, OPTIONS } section = NOTHING;

	for (size_t n; *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		printf("%s%s%.*s\n",
		       *line == ' '	  ? ""
		       : line == c->usage ? "usage: "
					  : "       ",
		       *line == ' ' || !strncmp(line, "sluice", 6) ? "" : "sluice ", (int)n, line);
	}
	putchar('\n');
	op_text(c->about);
	for (const struct cli_option *o = c->options; o->name; o++) {
		if (o->key == CLI_HEADING) {
			printf("\n%s:\n", o->name);
			section = o[1].key == CLI_WORD ? WORDS : OPTIONS;
			continue;
		}
		if (o->key == CLI_WORD ? section == NOTHING : section != OPTIONS) {
			fputs(o->key == CLI_WORD ? "\n" : "\nOptions:\n", stdout);
			section = o->key == CLI_WORD ? WORDS : OPTIONS;
		}
		if (o->help)
			op_print(o, indent);
	}
	if (section != OPTIONS)
		fputs("\nOptions:\n", stdout);
	op_print(&help_option, indent);
	if (c->more) {
		putchar('\n');
		op_text(c->more);
	}
}

/* ---- rows for completion ---- */

/* Print rows for the options of the command; word: a word after the command, or "". */
static void op_option_rows(const char *command, const char *word, const struct cli_option *o)
{
	const char *values = o->values ? o->values : "", *kind = *values == '<' ? values : "any";
	char letter[3] = "";

	if (o->key > 0 && o->key < 256)
		snprintf(letter, sizeof(letter), "-%c", o->key);
	printf("option\t%s%s\t%s\t--%s\t%s\t%s\n", command, word, letter, o->name,
	       o->arg && *o->arg != '[' ? kind : "", o->help);
	if (*values == '<')
		return;
	for (size_t n; *(values += strspn(values, " =")); values += n) {
		n = strcspn(values, " ");
		printf("value\t%s%s\t--%s\t%.*s\n", command, word, o->name, (int)n, values);
	}
}

static void op_all_option_rows(const struct cli_command *c, const char *word)
{
	char behind[40];

	snprintf(behind, sizeof(behind), "%s%s", *word ? " " : "", word);
	for (const struct cli_option *o = c->options; o->name; o++)
		if (o->help && o->key >= 0 && (!*word || !o->of || op_among(word, o->of)))
			op_option_rows(c->name, behind, o);
	op_option_rows(c->name, behind, &help_option);
}

/*
 * Rows with tabs between, for completion/:
 *
 *	option  NAME  -x  --long  KIND  what it does    -x and KIND may be empty; no KIND: no value
 *	value   NAME  --long  word			that an option takes
 *	sub     NAME  word				the first word after the command
 *	mode    NAME  --long				an option with options of its own
 *	key     NAME  word=				of KEY=VALUE arguments
 *	takes   NAME  kind				of other arguments
 *
 * NAME is a command, or a command and one of its words or modes.
 */
static void op_rows(const struct cli_command *c)
{
	size_t nested = 0;

	op_all_option_rows(c, "");
	for (const struct cli_option *o = c->options; o->name; o++) {
		if (o->key != CLI_WORD)
			continue;
		if (o->arg && *o->arg == '=') {
			printf("key\t%s\t%s=\n", c->name, o->name);
			continue;
		}
		if (*o->name == '-')
			printf("option\t%s\t\t%s\t%s\t%s\n", c->name, o->name, o->arg ? "any" : "",
			       o->help);
		printf("%s\t%s\t%s\n", *o->name == '-' ? "mode" : "sub", c->name, o->name);
		if (!c->nested)
			op_all_option_rows(c, o->name);
		else if (nested < CLI_NESTED)
			cli_nested[nested++] = o->name;
	}
	cli_nested[nested] = NULL;
	if (c->takes)
		printf("takes\t%s\t%s\n", c->name, c->takes);
}

/* ---- the parser ---- */

/* "'a', 'b' or 'c'" of "=a b c". */
static void op_choices(const char *values, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (size_t n; *values && used < size; values += n + (values[n] == ' ')) {
		const char *after = strchr(values, ' ');

		n = strcspn(values, " ");
		used += (size_t)snprintf(out + used, size - used, "%s'%.*s'",
					 !used	 ? ""
					 : after ? ", "
						 : " or ",
					 (int)n, values);
	}
}

/* Store the option as its entry says. 0: stored; else the result for cli_next(). */
static int op_take(const struct cli_command *c, const struct cli_option *o)
{
	char choices[200];

	if (o->values && *o->values == '=' && !op_among(optarg, o->values + 1)) {
		op_choices(o->values + 1, choices, sizeof(choices));
		return cli_usage(c->name, "--%s is %s, not '%s'.", o->name, choices, optarg);
	}
	if (o->text)
		*o->text = optarg;
	if (o->flag)
		*o->flag = true;
	return o->text || o->flag ? 0 : o->key;
}

/* Report an option that has no entry, or that is ambiguous. */
static int op_unknown(const char *cmd, const char *typed, const struct cli_option *options)
{
	char word[SL_GUESS_WORD + 1];
	struct sl_guess guess = { .word = word };
	size_t length = strcspn(typed, "=");
	unsigned begin_so = 0;

	if (length > SL_GUESS_WORD)
		return cli_usage(cmd, "unknown option '--%.*s'.",
				 (int)(length < 200 ? length : 200), typed);
	memcpy(word, typed, length);
	word[length] = '\0';
	sl_consider(&guess, help_option.name);
	for (const struct cli_option *o = options; o->name; o++) {
		if (o->key < 0)
			continue;
		sl_consider(&guess, o->name);
		begin_so += strncmp(word, o->name, length) == 0;
	}
	if (begin_so > 1)
		return cli_usage(cmd, "option '--%s' is ambiguous; write the full name.", word);
	if (guess.best)
		return cli_usage(cmd, "unknown option '--%s'. Did you mean '--%s'?", word,
				 guess.best);
	return cli_usage(cmd, "unknown option '--%s'.", word);
}

static int op_wrong(const struct cli_command *c, char **argv, const struct cli_option *o)
{
	char name[40];

	/* getopt tells apart what was wrong only by optopt: 0 is a long option not in the table. */
	if (optopt == 0)
		return op_unknown(c->name, argv[optind - 1] + 2, c->options);
	if (o && strncmp(argv[optind - 1], "--", 2) == 0)
		snprintf(name, sizeof(name), "--%s", o->name);
	else
		snprintf(name, sizeof(name), "-%c", optopt);
	return cli_usage(c->name,
			 !o	  ? "unknown option '%s'."
			 : o->arg ? "option '%s' needs a value."
				  : "option '%s' takes no value.",
			 name);
}

int cli_next(const struct cli_command *c, int argc, char **argv)
{
	struct option longs[MAX_OPTIONS + 2] = { { "help", no_argument, NULL, HELP_OPTION } };
	const struct cli_option *of[MAX_OPTIONS + 2] = { &help_option }, *found;
	char shorts[3 * MAX_OPTIONS + 4] = "+h", *s = shorts + 2;
	int n = 1, opt, end;

	for (const struct cli_option *o = c->options; o->name; o++) {
		if (o->key < 0)
			continue;
		assert(n <= MAX_OPTIONS);
		of[n] = o;
		longs[n] = (struct option){ .name = o->name,
					    .has_arg = !o->arg		? no_argument
						       : *o->arg == '[' ? optional_argument
									: required_argument,
					    .val = 1000 + n };
		if (o->key && o->key < 256) {
			longs[n].val = o->key;
			*s++ = (char)o->key;
			if (longs[n].has_arg == required_argument)
				*s++ = ':';
		}
		n++;
	}
	*s = '\0';
	opterr = 0;
	do {
		optopt = 0;
		opt = getopt_long(argc, argv, c->stops ? shorts : shorts + 1, longs, NULL);
		if (opt == -1)
			break;
		found = NULL;
		for (int i = 0; i < n && !found; i++)
			if (longs[i].val == (opt == '?' || opt == ':' ? optopt : opt))
				found = of[i];
		if (opt == '?' || opt == ':' || !found)
			return op_wrong(c, argv, found);
		if (found == &help_option) {
			(cli_describes ? op_rows : op_help)(c);
			return -1;
		}
		end = op_take(c, found);
		if (end)
			return end;
	} while (true);
	if (c->arguments >= 0 && argc - optind > c->arguments)
		return cli_usage(c->name, "unexpected argument '%s'.", argv[optind + c->arguments]);
	return CLI_OK;
}

const struct cli_option *cli_find(const struct cli_command *c, int key)
{
	const struct cli_option *o = c->options;

	while (o->name && o->key != key)
		o++;
	return o;
}
