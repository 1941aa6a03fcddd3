/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as a table and as JSON. */
#include "lab/profile/profile.h"

#include "base/cli.h"
#include "base/json.h"
#include "base/units.h"
#include "sluice.h"

static const char *const ops[] = { "read", "write" };

static double ratio(const struct sl_profile_point *pt)
{
	return pt->sequential_bps / pt->random_bps;
}

/*
 * A capacity for a layer: nine tenths of the slower of sequential reading and writing, with the
 * largest requests, rounded down to two digits. 0: the figures are not valid.
 */
static uint64_t capacity(const struct sl_profile *p)
{
	double least = 0;
	uint64_t bps, unit = 1;

	for (uint32_t op = 0; op < 2 && !p->why[0]; op++) {
		double bps_of = p->points[op] ? p->point[op][p->points[op] - 1].sequential_bps : 0;

		if (bps_of > 0 && (least <= 0 || bps_of < least))
			least = bps_of;
	}
	bps = (uint64_t)(least * 0.9);
	while (bps / unit >= 100)
		unit *= 10;
	return bps / unit * unit;
}

/* Three significant digits. */
static const char *number(char *buf, size_t size, double value)
{
	snprintf(buf, size, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
	return buf;
}

void profile_table(const struct sl_profile *p, const struct profile_facts *facts)
{
	char line[4 * SL_PROFILE_WORDS + 20], b[5][32];

	snprintf(line, sizeof(line), "%s%s%s%s%s%s%s", p->directory, p->directory[0] ? ": " : "",
		 p->device, p->how[0] ? ", " : "", p->how, p->made[0] ? ", " : "", p->made);
	cli_wrap(stdout, line, 0, 0);
	printf("\n%-6s %8s %12s %12s %7s   %-15s %s\n", "op", "size", "sequential", "random",
	       "ratio", "interval", "pairs");
	for (uint32_t op = 0; op < 2; op++) {
		for (uint32_t i = 0; i < p->points[op]; i++) {
			const struct sl_profile_point *pt = &p->point[op][i];

			printf("%-6s %8s %12s %12s %7s   ", ops[op],
			       sl_format_bytes(b[0], sizeof(b[0]), pt->size_bytes),
			       sl_format_rate(b[1], sizeof(b[1]), (uint64_t)pt->sequential_bps),
			       sl_format_rate(b[2], sizeof(b[2]), (uint64_t)pt->random_bps),
			       number(b[3], sizeof(b[3]), ratio(pt)));
			snprintf(line, sizeof(line), "%s..%s", number(b[3], sizeof(b[3]), pt->low),
				 number(b[4], sizeof(b[4]), pt->high));
			printf("%-15s ", line);
			if (pt->runs)
				printf("%u\n", pt->runs);
			else
				puts("estimated");
		}
	}
	if (p->why[0]) {
		putchar('\n');
		snprintf(line, sizeof(line), "NOT TO BE TRUSTED: %s.", p->why);
		cli_wrap(stdout, line, 0, 0);
	}
	if (facts->kept) {
		putchar('\n');
		printf("Stored in %s.\n", facts->kept);
	}
	if (capacity(p))
		printf("\nFor a layer: use --capacity %s, nine tenths of the slower sequential "
		       "rate.\n",
		       sl_format_rate(b[0], sizeof(b[0]), capacity(p)));
}

void profile_json(const struct sl_profile *p, const struct profile_facts *facts)
{
	struct json j;

	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "device", p->device);
	json_string(&j, "directory", p->directory[0] ? p->directory : NULL);
	json_string(&j, "made", p->made[0] ? p->made : NULL);
	json_string(&j, "how", p->how[0] ? p->how : NULL);
	json_bool(&j, "trusted", !p->why[0]);
	json_string(&j, "why", p->why[0] ? p->why : NULL);
	json_double(&j, "confidence", p->confidence / 100);
	if (capacity(p))
		json_uint(&j, "capacity_bps", capacity(p));
	if (facts->file_bytes) {
		json_uint(&j, "file_bytes", facts->file_bytes);
		json_double(&j, "seconds", facts->seconds);
	}
	json_string(&j, "kept", facts->kept);
	json_array(&j, "points");
	for (uint32_t op = 0; op < 2; op++) {
		for (uint32_t i = 0; i < p->points[op]; i++) {
			const struct sl_profile_point *pt = &p->point[op][i];

			json_object(&j, NULL);
			json_string(&j, "op", ops[op]);
			json_uint(&j, "size_bytes", pt->size_bytes);
			json_double(&j, "sequential_bps", pt->sequential_bps);
			json_double(&j, "random_bps", pt->random_bps);
			json_double(&j, "ratio", ratio(pt));
			json_double(&j, "low", pt->low);
			json_double(&j, "high", pt->high);
			json_bool(&j, "measured", pt->runs > 0);
			json_uint(&j, "pairs", pt->runs);
			json_end(&j);
		}
	}
	json_end(&j);
	json_end(&j);
}
