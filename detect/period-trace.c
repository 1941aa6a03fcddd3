/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces: intervals of I/O from CSV, and the bandwidth signal that they make.
 *
 *	t_start,t_end,bytes
 *	0,2,100
 *	1,2,30
 *
 * has, in two bins, 50 and 80 bytes a second: an interval's bytes are spread over its time, what
 * overlaps adds up, and a bin has the mean over its time. (Samples of the bandwidth at points in
 * time would see a burst between two points not at all.) An interval without length has its bytes
 * where it is.
 *
 * Binning is O(intervals + bins) however long the intervals are: the bins that an interval only
 * touches get their share, and of those that it covers the first and the one after the last are
 * noted, to be summed up at the end.
 */
#include "detect/period.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/slurp.h"
#include "detect/period-fft.h"

#define MAX_TIME  1e12 /* s; times since 1970 are 2e9 */
#define MIN_TIME  1e-6
#define MAX_VALUE 1e24
#define MAX_BPS	  1e30 /* of a bin; what a float can hold, and its square a double */
#define MAX_BINS  (1 << 20)
#define MIN_BINS  16
#define USUAL_HZ  10.0

enum { START, END, BYTES, BANDWIDTH, KNOWN };
static const char *const names[KNOWN] = { "t_start", "t_end", "bytes", "bandwidth" };

struct parser {
	struct sl_csv csv;
	int64_t column[KNOWN]; /* -1: not there */
	size_t room;
	struct sl_trace *out;
};

static int tr_header(struct parser *p)
{
	const struct sl_csv *v = &p->csv;
	int rc = sl_csv_row(&p->csv);

	if (rc < 0)
		return rc;
	if (!rc)
		return sl_csv_fail(&p->csv, -EINVAL,
				   "empty. The first line is: t_start,t_end,bytes");
	for (int k = 0; k < KNOWN; k++) {
		p->column[k] = -1;
		for (uint32_t i = 0; i < v->fields; i++) {
			if (strcmp(v->field[i].text, names[k]) != 0)
				continue;
			if (p->column[k] >= 0)
				return sl_csv_fail(&p->csv, -EINVAL, "column %s is there twice",
						   names[k]);
			p->column[k] = i;
		}
	}
	for (int k = START; k <= END; k++)
		if (p->column[k] < 0)
			return sl_csv_fail(&p->csv, -EINVAL,
					   "no column %s. The first line names the columns: "
					   "t_start,t_end,bytes",
					   names[k]);
	if (p->column[BYTES] < 0 && p->column[BANDWIDTH] < 0)
		return sl_csv_fail(&p->csv, -EINVAL, "no column bytes or bandwidth");
	if (p->column[BYTES] >= 0 && p->column[BANDWIDTH] >= 0)
		p->column[BANDWIDTH] = -1; /* says the same, less exactly */
	return 0;
}

static int tr_number(struct parser *p, int which, double low, double high, double *out)
{
	int64_t column = p->column[which];
	const char *text;
	char *end;

	if (column >= p->csv.fields)
		return sl_csv_fail(&p->csv, -EINVAL,
				   "%u columns, but %s is column %u of the first line",
				   p->csv.fields, names[which], (unsigned)column + 1);
	text = p->csv.field[column].text;
	if (!*text)
		return sl_csv_fail(&p->csv, -EINVAL, "%s is empty", names[which]);
	*out = strtod(text, &end);
	if (*end || end == text || !isfinite(*out))
		return sl_csv_fail(&p->csv, -EINVAL, "%s '%.40s' is not a number", names[which],
				   text);
	if (*out < low || *out > high)
		return sl_csv_fail(&p->csv, -EINVAL, "%s %.40s is not between %g and %g",
				   names[which], text, low, high);
	return 0;
}

static int tr_append(struct parser *p, const struct sl_interval *i)
{
	struct sl_trace *t = p->out;

	if (t->n == p->room) {
		size_t room = p->room ? 2 * p->room : 256;
		struct sl_interval *more = reallocarray(t->intervals, room, sizeof(*more));

		if (!more)
			return sl_csv_fail(&p->csv, -ENOMEM, "out of memory");
		t->intervals = more;
		p->room = room;
	}
	t->start_s = t->n ? fmin(t->start_s, i->start_s) : i->start_s;
	t->end_s = t->n ? fmax(t->end_s, i->end_s) : i->end_s;
	t->bytes += i->bytes;
	t->intervals[t->n++] = *i;
	return 0;
}

static int tr_parse(struct parser *p)
{
	int rc = tr_header(p);

	if (rc)
		return rc;
	while ((rc = sl_csv_row(&p->csv)) > 0) {
		int amount = p->column[BYTES] >= 0 ? BYTES : BANDWIDTH;
		struct sl_interval i = { 0 };
		double value = 0;

		rc = tr_number(p, START, -MAX_TIME, MAX_TIME, &i.start_s);
		if (!rc)
			rc = tr_number(p, END, -MAX_TIME, MAX_TIME, &i.end_s);
		if (!rc)
			rc = tr_number(p, amount, 0, MAX_VALUE, &value);
		if (rc)
			return rc;
		if (i.end_s < i.start_s)
			return sl_csv_fail(&p->csv, -EINVAL, "t_end %g is before t_start %g",
					   i.end_s, i.start_s);
		i.bytes = amount == BYTES ? value : value * (i.end_s - i.start_s);
		rc = tr_append(p, &i);
		if (rc)
			return rc;
	}
	if (rc)
		return rc;
	if (!p->out->n)
		return sl_csv_fail(&p->csv, -EINVAL, "no intervals after the first line");
	if (!(p->out->end_s - p->out->start_s >= MIN_TIME))
		return sl_csv_fail(&p->csv, -EINVAL, "all intervals are at the same time, %g s",
				   p->out->start_s);
	return 0;
}

int sl_trace_parse(const char *path, const char *text, size_t size, struct sl_trace *out, char *err,
		   size_t err_size)
{
	struct parser p = { .csv = { .file = path,
				     .at = text,
				     .end = text + size,
				     .quotes = "\"",
				     .separator = ',',
				     .comment = '#',
				     .err = err,
				     .err_size = err_size },
			    .out = out };
	int rc;

	memset(out, 0, sizeof(*out));
	rc = tr_parse(&p);
	sl_csv_end(&p.csv);
	if (rc)
		sl_trace_free(out);
	return rc;
}

int sl_trace_load(const char *path, struct sl_trace *out, char *err, size_t err_size)
{
	char *text;
	size_t size;
	int rc = strcmp(path, "-") == 0 ? sl_slurp(stdin, SIZE_MAX, &text, &size)
					: sl_slurp_file(path, SIZE_MAX, &text, &size);

	memset(out, 0, sizeof(*out));
	if (rc)
		snprintf(err, err_size, "%s: %s.", path, strerror(-rc));
	else
		rc = sl_trace_parse(path, text, size, out, err, err_size);
	free(text);
	return rc;
}

void sl_trace_free(struct sl_trace *t)
{
	free(t->intervals);
	memset(t, 0, sizeof(*t));
}

size_t sl_trace_bins(const struct sl_trace *t, double fs_hz)
{
	double bins = (t->end_s - t->start_s) * (fs_hz > 0 ? fs_hz : USUAL_HZ);

	if (!(fs_hz > 0)) /* 10 Hz, unless that is far too few or too many */
		bins = fmin(fmax(bins, MIN_BINS), MAX_BINS);
	return sl_fft_size((size_t)fmin(fmax(ceil(bins), MIN_BINS), 1 << 26));
}

void sl_trace_bin(const struct sl_trace *t, size_t n, double *sum, float *bandwidth)
{
	double bin_s = (t->end_s - t->start_s) / (double)n, covered = 0;
	double *edge = sum + n; /* what begins (+) or ends (-) to cover bins here, bytes a bin */

	memset(sum, 0, 2 * n * sizeof(*sum));
	for (size_t i = 0; i < t->n; i++) {
		const struct sl_interval *v = &t->intervals[i];
		double from = fmin((v->start_s - t->start_s) / bin_s, (double)n);
		double to = fmin((v->end_s - t->start_s) / bin_s, (double)n);
		double rate = v->bytes / (to - from); /* a bin; not used if it is infinite */
		size_t a = from < (double)n ? (size_t)from : n - 1;
		size_t b = to < (double)n ? (size_t)to : n - 1;

		if (a == b) {
			sum[a] += v->bytes;
			continue;
		}
		sum[a] += rate * ((double)(a + 1) - from);
		sum[b] += rate * (to - (double)b);
		if (b > a + 1) {
			edge[a + 1] += rate;
			edge[b] -= rate;
		}
	}
	for (size_t i = 0; i < n; i++) {
		covered += edge[i];
		bandwidth[i] = (float)fmin(fmax(sum[i] + covered, 0) / bin_s, MAX_BPS);
	}
}
