/* SPDX-License-Identifier: Apache-2.0 */
/* Code that the measurements share: see common.h. */
#include "lab/bench/common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cli.h"

const char *const bench_modes[BENCH_MODES + 1] = { "turn", "forward", NULL };

double bench_rounded(double value, double parts)
{
	return round(value * parts) / parts;
}

int64_t bench_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

bool bench_holds(const char *label, const char *filter)
{
	char word[64];

	while (*(filter += strspn(filter, " "))) {
		size_t n = strcspn(filter, " ");
		bool whole = memchr(filter, '=', n);

		if (n > sizeof(word) - 3)
			return false;
		snprintf(word, sizeof(word), "%s%.*s%s", whole ? " " : "", (int)n, filter,
			 whole ? " " : "");
		if (!strstr(label, word))
			return false;
		filter += n;
	}
	return true;
}

int bench_rows(const char *cmd, const char *list, const char *const *names, unsigned *bits)
{
	char word[32];

	*bits = list ? 0 : ~0U;
	while (list && *list) {
		size_t n = strcspn(list, ",");
		struct sl_guess guess = { .word = word };
		unsigned i = 0;

		snprintf(word, sizeof(word), "%.*s", (int)n, list);
		for (; names[i] && strcmp(names[i], word) != 0; i++)
			sl_consider(&guess, names[i]);
		if (!names[i])
			return cli_unknown(cmd, "group of rows", &guess);
		*bits |= 1U << i;
		list += n;
		list += *list == ',';
	}
	return *bits ? CLI_OK : cli_usage(cmd, "--rows needs the name of a group of rows.");
}

void bench_json_begin(struct json *j, const char *name)
{
	json_begin(j, stdout);
	json_object(j, NULL);
	json_string(j, "bench", name);
	json_array(j, "rows");
}
