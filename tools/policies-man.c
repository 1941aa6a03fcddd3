/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints sluice-policies(7) in scdoc format from the tables of the policies. Run by the build:
 *
 *	policies-man | scdoc > sluice-policies.7
 *
 * A section for each stage, a subsection for each policy. A new policy needs nothing here.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "layer/param.h"
#include "sluice.h"

/* What scdoc gives a meaning to must be escaped; it does not mind if more is. */
static void pm_text(const char *s)
{
	for (; *s; s++) {
		if (strchr("\\*_#+-|<>[]~^`.:!", *s))
			putchar('\\');
		putchar(*s);
	}
}

static void pm_upper(const char *s)
{
	for (; *s; s++)
		putchar(toupper((unsigned char)*s));
}

/* Help texts are sentences, summaries are not: make them one. */
static void pm_sentence(const char *s)
{
	size_t length = strlen(s);
	char first[2] = { (char)toupper((unsigned char)s[0]), '\0' };

	pm_text(first);
	if (length)
		pm_text(s + 1);
	puts(length && s[length - 1] == '.' ? "" : ".");
}

static void pm_head(void)
{
	puts("sluice-policies(7)\n"
	     "\n"
	     "# NAME\n"
	     "\n"
	     "sluice-policies - the scheduling policies of Sluice and their parameters\n"
	     "\n"
	     "# DESCRIPTION\n"
	     "\n"
	     "Sluice decides in stages: allocate over the jobs and grant over the I/O phases of a\n"
	     "whole machine, in the controller of a layer; admit, share and order over requests,\n"
	     "in each of its I/O nodes. For each stage one policy is chosen, by its name and the\n"
	     "parameters that shall differ from their defaults:\n"
	     "\n"
	     "\tNAME[,PARAMETER=VALUE]...\n"
	     "\n"
	     "A value is, as the unit of the parameter says,\n"
	     "\n"
	     "- a size in bytes: 65536, 64Ki, 1.5MiB. K, M, G and T are powers of 1000, Ki, Mi,\n"
	     "  Gi and Ti powers of 1024, and a B may follow. What is not whole is rounded down;\n"
	     "- a number of microseconds (us), of milliseconds (ms), or of something counted: a\n"
	     "  whole number without unit;\n"
	     "- the path of a file;\n"
	     "- one of the names given.\n"
	     "\n"
	     "*sluice policy show* prints the same as this page.\n");
}

static void pm_policy(const struct sl_policy_info *info, int is_default)
{
	char buf[512];

	printf("## ");
	pm_text(info->name);
	printf("%s\n\n", is_default ? " (the default)" : "");
	pm_sentence(info->summary);
	printf("\nSource: ");
	pm_text(info->source);
	puts(".\n");
	if (info->simulator_only)
		puts("Simulator only: it plans for jobs that are all known in advance, so a "
		     "controller refuses it.\n");
	for (const struct sl_param *p = info->params; p && p->name; p++) {
		putchar('*');
		pm_text(p->name);
		printf("*=_%s_: ", p->unit == SL_BYTES	  ? "SIZE"
				   : p->unit == SL_CHOICE ? "NAME"
				   : p->unit == SL_FILE	  ? "FILE"
							  : "NUMBER");
		pm_text(param_range(p, buf, sizeof(buf)));
		printf("\n\t");
		pm_sentence(p->help);
		putchar('\n');
	}
	printf("Example: ");
	pm_text(param_example(info, buf, sizeof(buf)));
	puts("\n");
}

int main(void)
{
	struct sl_policy_info info;
	const char *stage = "", *name;

	pm_head();
	for (unsigned i = 0; sl_policy_info(i, &info) == 0; i++) {
		if (strcmp(stage, info.stage) != 0) {
			stage = info.stage;
			printf("# STAGE ");
			pm_upper(stage);
			printf("\n\n%s\n\n", param_stage_question(stage));
		}
		pm_policy(&info,
			  sl_policy_default(info.stage, &name) == 0 && !strcmp(name, info.name));
	}
	puts("# SEE ALSO\n"
	     "\n"
	     "*sluice*(1), *sluice-policy*(1), *sluice-sim*(1), *libsluice*(3)");
	if (fflush(stdout) != 0 || ferror(stdout)) {
		perror("policies-man: standard output");
		return 1;
	}
	return 0;
}
