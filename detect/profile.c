/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of file systems as text, and what they say:
 *
 *	sluice-profile 1                what this is
 *	# from # to the end of the line: for people
 *	device fs-3a1c88e05f9d2b47      whose it is; may be left out, as all but the first line
 *	directory /scratch              may have spaces in it, but no #
 *	made 2026-01-31T12:00:00Z
 *	how direct
 *	confidence 95
 *	untrusted the file system keeps everything in memory
 *	# op size  sequential B/s  random B/s  ratio from  to  runs
 *	read 8192 52000000 1300000 38.5 41.2 5
 *	read 16384 79000000 2550000 29 33 0     0 runs: estimated
 *	write 8192 …
 *
 * The ratio is sequential over random, here 40; low and high are its interval. Sizes of an
 * operation ascend.
 *
 * Between two sizes the time of a request, size / throughput, is taken as linear, as SeRRa does:
 * an operation costs something to begin and something for each byte. Example, between the lines
 * above: a request of 12 KiB takes (157.5 + 207.4) / 2 = 182.5 us sequentially and
 * (6302 + 6425) / 2 = 6363 us at random, so the ratio is 34.9. Beyond the ends nothing is known:
 * the nearest size counts, since a line that goes on may well cross zero.
 *
 * O(log points) a question.
 */
#include "detect/profile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/where.h"
#include "sluice.h"

#define HEAD	"sluice-profile"
#define VERSION "1"
#define COLUMNS 7
#define MAX_BPS 1e18

/* ---- asking ---- */

static double pf_ns(double size_bytes, double bps)
{
	return size_bytes * 1e9 / bps;
}

double sl_profile_ratio(const struct sl_profile *p, uint32_t op, uint64_t size_bytes)
{
	const struct sl_profile_point *at, *l, *r;
	uint32_t low = 0, high;
	double lb, rb, x, sequential, random;

	if (op > SL_WRITE || !p->points[op] || p->why[0])
		return NAN;
	at = p->point[op];
	high = p->points[op] - 1;
	if (size_bytes <= at[0].size_bytes)
		return at[0].sequential_bps / at[0].random_bps;
	if (size_bytes >= at[high].size_bytes)
		return at[high].sequential_bps / at[high].random_bps;
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (at[middle].size_bytes <= size_bytes)
			low = middle;
		else
			high = middle;
	}
	l = &at[low];
	r = &at[high];
	lb = (double)l->size_bytes;
	rb = (double)r->size_bytes;
	x = ((double)size_bytes - lb) / (rb - lb);
	sequential = (1 - x) * pf_ns(lb, l->sequential_bps) + x * pf_ns(rb, r->sequential_bps);
	random = (1 - x) * pf_ns(lb, l->random_bps) + x * pf_ns(rb, r->random_bps);
	return random / sequential;
}

/* ---- reading ---- */

struct reader {
	const char *file;
	unsigned line;
	struct sl_profile *p;
	char *err;
	size_t err_size;
};

static int pf_fail(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int pf_fail(struct reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sl_where(r->err, r->err_size, r->file, r->line, format, args);
	va_end(args);
	return -EINVAL;
}

/* A plain decimal number: no sign, no hexadecimal, no "inf". */
static int pf_number(struct reader *r, const char *what, const char *text, double least,
		     double most, double *out)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) || text[1] == 'x' || text[1] == 'X')
		return pf_fail(r, "'%s' is no number; %s must be one.", text, what);
	*out = strtod(text, &end);
	if (*end)
		return pf_fail(r, "'%s' is no number; %s must be one.", text, what);
	if (!(*out >= least && *out <= most))
		return pf_fail(r, "%s must be from %g to %g, not '%s'.", what, least, most, text);
	return 0;
}

static int pf_whole(struct reader *r, const char *what, const char *text, uint64_t least,
		    uint64_t most, uint64_t *out)
{
	double d;
	int rc = pf_number(r, what, text, (double)least, (double)most, &d);

	if (rc)
		return rc;
	if (strspn(text, "0123456789") != strlen(text))
		return pf_fail(r, "%s must be a whole number, not '%s'.", what, text);
	*out = strtoull(text, NULL, 10);
	return 0;
}

static int pf_point(struct reader *r, uint32_t op, char *rest)
{
	char *word[COLUMNS - 1], *save = NULL;
	struct sl_profile_point pt = { 0 };
	uint32_t n = 0, have = r->p->points[op];
	uint64_t runs;
	int rc;

	for (char *w = strtok_r(rest, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		if (n == COLUMNS - 1)
			return pf_fail(r, "unexpected '%s' after the runs.", w);
		word[n++] = w;
	}
	if (n < COLUMNS - 1)
		return pf_fail(r,
			       "%u columns; operation, size, sequential and random throughput, "
			       "the ratio's least and most, and runs are needed.",
			       n + 1);
	if ((rc = pf_whole(r, "the size", word[0], 1, SL_MAX_LENGTH, &pt.size_bytes)) ||
	    (rc = pf_number(r, "the sequential throughput", word[1], 1, MAX_BPS,
			    &pt.sequential_bps)) ||
	    (rc = pf_number(r, "the random throughput", word[2], 1, MAX_BPS, &pt.random_bps)) ||
	    (rc = pf_number(r, "the ratio's least", word[3], 0, MAX_BPS, &pt.low)) ||
	    (rc = pf_number(r, "the ratio's most", word[4], pt.low, MAX_BPS, &pt.high)) ||
	    (rc = pf_whole(r, "the runs", word[5], 0, UINT32_MAX, &runs)))
		return rc;
	pt.runs = (uint32_t)runs;
	if (have == SL_PROFILE_POINTS)
		return pf_fail(r, "more than %u sizes.", SL_PROFILE_POINTS);
	if (have && r->p->point[op][have - 1].size_bytes >= pt.size_bytes)
		return pf_fail(r, "sizes must ascend: %" PRIu64 " comes after %" PRIu64 ".",
			       pt.size_bytes, r->p->point[op][have - 1].size_bytes);
	r->p->point[op][have] = pt;
	r->p->points[op]++;
	return 0;
}

static int pf_words(struct reader *r, const char *key, const char *text, char *into)
{
	if (into[0])
		return pf_fail(r, "'%s' was there before.", key);
	if (!text[0])
		return pf_fail(r, "nothing stands after '%s'.", key);
	for (const char *c = text; *c; c++)
		if (iscntrl((unsigned char)*c))
			return pf_fail(r, "a control character stands after '%s'.", key);
	strcpy(into, text); /* a line is not longer */
	return 0;
}

static int pf_line(struct reader *r, char *line)
{
	const struct {
		const char *key;
		char *into;
	} words[] = {
		{ "device", r->p->device }, { "directory", r->p->directory },
		{ "made", r->p->made },	    { "how", r->p->how },
		{ "untrusted", r->p->why },
	};
	char *rest = line + strcspn(line, " \t");

	if (*rest)
		*rest++ = 0;
	rest += strspn(rest, " \t");
	if (!strcmp(line, "read"))
		return pf_point(r, SL_READ, rest);
	if (!strcmp(line, "write"))
		return pf_point(r, SL_WRITE, rest);
	if (!strcmp(line, "confidence"))
		return pf_number(r, "the confidence", rest, 0, 100, &r->p->confidence);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(line, words[i].key))
			return pf_words(r, line, rest, words[i].into);
	return pf_fail(r, "unknown word '%s'.", line);
}

static int pf_head(struct reader *r, const char *line)
{
	if (strncmp(line, HEAD " ", strlen(HEAD) + 1) != 0)
		return pf_fail(r, "this is no profile: its first line must be '" HEAD " " VERSION
				  "'.");
	if (strcmp(line + strlen(HEAD) + 1, VERSION) != 0)
		return pf_fail(r, "version %s of the format is not known.",
			       line + strlen(HEAD) + 1);
	return 0;
}

/* The next line, without comment and spaces around it. */
static int pf_next(struct reader *r, const char **at, const char *end, char line[])
{
	const char *stop = memchr(*at, '\n', (size_t)(end - *at)), *hash;

	r->line++;
	stop = stop ? stop : end;
	hash = memchr(*at, '#', (size_t)(stop - *at));
	hash = hash ? hash : stop;
	while (hash > *at && isspace((unsigned char)hash[-1]))
		hash--;
	while (*at < hash && isspace((unsigned char)**at))
		(*at)++;
	if (hash - *at > SL_PROFILE_WORDS)
		return pf_fail(r, "the line is longer than %u bytes.", SL_PROFILE_WORDS);
	if (memchr(*at, 0, (size_t)(hash - *at)))
		return pf_fail(r, "a byte 0 is in the line.");
	memcpy(line, *at, (size_t)(hash - *at));
	line[hash - *at] = 0;
	*at = stop < end ? stop + 1 : end;
	return 0;
}

int sl_profile_parse(const char *file, const char *text, size_t length, struct sl_profile *out,
		     char *err, size_t err_size)
{
	struct reader r = { .file = file, .p = out, .err = err, .err_size = err_size };
	const char *at = text, *end = text + length;
	char line[SL_PROFILE_WORDS + 1] = "";
	bool begun = false;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	while (at < end && !rc) {
		rc = pf_next(&r, &at, end, line);
		if (rc || !line[0])
			continue;
		rc = begun ? pf_line(&r, line) : pf_head(&r, line);
		begun = true;
	}
	r.line += !r.line;
	if (!rc && !begun)
		rc = pf_fail(&r, "this is no profile: the file is empty.");
	if (!rc && !out->points[SL_READ] && !out->points[SL_WRITE])
		rc = pf_fail(&r, "the profile has no size: a line like 'read 8192 52000000 1300000 "
				 "38.5 41.2 5' is needed.");
	if (rc)
		memset(out, 0, sizeof(*out));
	return rc;
}

/* ---- writing ---- */

/* A line may be no longer than what is read, key included. */
static void pf_put(FILE *f, const char *key, const char *text)
{
	size_t room = SL_PROFILE_WORDS - strlen(key) - 1;
	size_t n;

	text += strspn(text, " ");
	n = strnlen(text, room);
	while (n && text[n - 1] == ' ')
		n--;
	if (!n)
		return;
	fprintf(f, "%s ", key);
	for (size_t i = 0; i < n; i++)
		putc(iscntrl((unsigned char)text[i]) || text[i] == '#' ? '?' : text[i], f);
	putc('\n', f);
}

void sl_profile_write(FILE *f, const struct sl_profile *p)
{
	static const char *const ops[] = { "read", "write" };

	fputs(HEAD " " VERSION "\n"
		   "# How fast a file system is: made by sluice profile; see sluice-profile(1).\n",
	      f);
	pf_put(f, "device", p->device);
	pf_put(f, "directory", p->directory);
	pf_put(f, "made", p->made);
	pf_put(f, "how", p->how);
	fprintf(f, "confidence %.6g\n", p->confidence);
	pf_put(f, "untrusted", p->why);
	fputs("# op  size  sequential B/s  random B/s  ratio from  to  pairs of runs\n", f);
	for (uint32_t op = 0; op < 2; op++) {
		for (uint32_t i = 0; i < p->points[op]; i++) {
			const struct sl_profile_point *pt = &p->point[op][i];

			fprintf(f, "%s %" PRIu64 " %.10g %.10g %.6g %.6g %u\t# ratio %.3g%s\n",
				ops[op], pt->size_bytes, pt->sequential_bps, pt->random_bps,
				pt->low, pt->high, pt->runs, pt->sequential_bps / pt->random_bps,
				pt->runs ? "" : ", estimated");
		}
	}
}
