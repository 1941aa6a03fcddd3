/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the curves of jobs: see curves.h for the format.
 *
 * The format is tolerant. Separators are commas, semicolons or tabs, whichever comes first in the
 * first line; fields may be quoted; empty lines and those that begin with # are skipped. The first
 * line may name the columns, in any order, with other columns between, and by usual synonyms:
 * forwarders for ionodes, clients for nodes, and so on. Without names there are five columns in the
 * order above, or four: then there is one process on each compute node.
 *
 * Several bandwidths for the same job and number are repetitions: their median is taken. All rows
 * of a job must have the same compute nodes and processes.
 *
 * Rows are sorted by name, number and bandwidth, and the jobs then by their first line:
 * O(n log n) for n rows.
 */
#include "lab/allocate/curves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/csv.h"
#include "base/slurp.h"

enum { JOB, IONODES, BANDWIDTH, NODES, PROCS, COLUMNS };

static const char *const words[COLUMNS] = {
	[JOB] = "job,scenario,application,app,name,label",
	[IONODES] = "ionodes,io_nodes,forwarders,fwd",
	[BANDWIDTH] = "bandwidth,bw,mb/s,mbps,mb_per_s",
	[NODES] = "nodes,compute_nodes,clients",
	[PROCS] = "procs,processes,ranks",
};
static const char *const titles[COLUMNS] = { "job", "ionodes", "bandwidth", "nodes", "procs" };

struct row {
	char name[CURVES_MAX_NAME + 1];
	bool point; /* it has a number and a bandwidth */
	uint32_t ionodes, nodes, procs, line;
	double bandwidth;
};

struct reader {
	struct sl_csv csv;
	int64_t column[COLUMNS]; /* field of each; -1: there is none */
	struct row *row;
	uint32_t rows, room;
};

/* ---- the first line ---- */

static int cv_title(const char *field)
{
	size_t length = strlen(field);

	for (int c = 0; length && c < COLUMNS; c++) {
		const char *at = words[c];

		while (*at) {
			size_t n = strcspn(at, ",");

			if (n == length && !strncasecmp(at, field, n))
				return c;
			at += n + (at[n] == ',');
		}
	}
	return -1;
}

/* *header: the line names columns; without that it is a row. */
static int cv_header(struct reader *r, bool *header)
{
	const struct sl_csv *v = &r->csv;

	*header = false;
	for (int c = 0; c < COLUMNS; c++)
		r->column[c] = -1;
	for (uint32_t i = 0; i < v->fields; i++) {
		int c = cv_title(v->field[i].text);

		if (c < 0)
			continue;
		if (r->column[c] >= 0)
			return sl_csv_fail(&r->csv, -EINVAL, "two columns for %s", titles[c]);
		r->column[c] = i;
		*header = true;
	}
	if (!*header) {
		if (v->fields != PROCS && v->fields != COLUMNS)
			return sl_csv_fail(
				&r->csv, -EINVAL,
				"%u column%s without names; there should be job, ionodes, "
				"bandwidth, nodes and procs",
				v->fields, v->fields == 1 ? "" : "s");
		for (uint32_t c = 0; c < v->fields; c++)
			r->column[c] = c;
	}
	for (int c = 0; c < PROCS; c++)
		if (r->column[c] < 0)
			return sl_csv_fail(&r->csv, -EINVAL, "no column '%s'", titles[c]);
	return 0;
}

/* ---- the others ---- */

static int cv_number(struct reader *r, const char *field, int column, unsigned long low,
		     unsigned long high, uint32_t *out)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(field, &end, 10);
	if (*field < '0' || *field > '9' || *end || errno || value < low || value > high)
		return sl_csv_fail(&r->csv, -EINVAL,
				   "%s: '%.40s' is not a whole number from %lu to %lu",
				   titles[column], field, low, high);
	*out = (uint32_t)value;
	return 0;
}

static int cv_bandwidth(struct reader *r, const char *field, double *out)
{
	size_t length = strlen(field);
	char *end;

	*out = strtod(field, &end);
	/* No "inf", "nan" or hexadecimal. */
	if (length && strspn(field, "0123456789.eE+-") == length && !*end && field[0] != '-' &&
	    *out <= 1e30)
		return 0;
	return sl_csv_fail(&r->csv, -EINVAL, "bandwidth: '%.40s' is not a number of at least 0",
			   field);
}

static int cv_name(struct reader *r, const char *field, char *out)
{
	if (!*field)
		return sl_csv_fail(&r->csv, -EINVAL, "the job has no name");
	if (strlen(field) > CURVES_MAX_NAME)
		return sl_csv_fail(&r->csv, -EINVAL, "job: '%.40s...' is longer than %d characters",
				   field, CURVES_MAX_NAME);
	for (const char *c = field; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			return sl_csv_fail(&r->csv, -EINVAL,
					   "job: a name must have printable characters only");
	strcpy(out, field);
	return 0;
}

static int cv_row(struct reader *r)
{
	const struct sl_csv *v = &r->csv;
	struct row *row;
	const char *of[COLUMNS];
	int64_t need = 0;
	int rc;

	for (int c = 0; c < COLUMNS; c++)
		need = r->column[c] >= need ? r->column[c] + 1 : need;
	if (v->fields < need)
		return sl_csv_fail(&r->csv, -EINVAL, "%u column%s, and there should be %u",
				   v->fields, v->fields == 1 ? "" : "s", (unsigned)need);
	for (int c = 0; c < COLUMNS; c++)
		of[c] = r->column[c] < 0 ? "" : v->field[r->column[c]].text;
	if (r->rows == CURVES_MAX_ROWS)
		return sl_csv_fail(&r->csv, -EINVAL, "more than %d rows", CURVES_MAX_ROWS);
	if (r->rows == r->room) {
		uint32_t room = r->room ? 2 * r->room : 64;
		struct row *grown = realloc(r->row, room * sizeof(*grown));

		if (!grown)
			return sl_csv_fail(&r->csv, -ENOMEM, "out of memory");
		r->row = grown;
		r->room = room;
	}
	row = &r->row[r->rows];
	*row = (struct row){ .line = (uint32_t)v->line, .point = *of[IONODES] || *of[BANDWIDTH] };
	if ((rc = cv_name(r, of[JOB], row->name)) ||
	    (rc = cv_number(r, of[NODES], NODES, 1, CURVES_MAX_NUMBER, &row->nodes)))
		return rc;
	row->procs = row->nodes;
	if (*of[PROCS] &&
	    (rc = cv_number(r, of[PROCS], PROCS, 1, CURVES_MAX_NUMBER * 1000UL, &row->procs)))
		return rc;
	if (row->point &&
	    ((rc = cv_number(r, of[IONODES], IONODES, 0, CURVES_MAX_NUMBER, &row->ionodes)) ||
	     (rc = cv_bandwidth(r, of[BANDWIDTH], &row->bandwidth))))
		return rc;
	r->rows++;
	return 0;
}

/* ---- jobs of rows ---- */

static int cv_order(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int names = strcmp(x->name, y->name);

	if (names)
		return names;
	if (x->point != y->point)
		return x->point ? 1 : -1;
	if (x->ionodes != y->ionodes)
		return x->ionodes < y->ionodes ? -1 : 1;
	if (x->bandwidth != y->bandwidth)
		return x->bandwidth < y->bandwidth ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Make the points from rows [from, to), all of one job; returns their number. */
static uint32_t cv_points(const struct row *row, uint32_t from, uint32_t to,
			  struct sl_curve_point *point)
{
	uint32_t n = 0, end;

	for (; from < to; from = end) {
		for (end = from; end < to && row[end].ionodes == row[from].ionodes &&
				 row[end].point == row[from].point;
		     end++)
			;
		if (!row[from].point)
			continue;
		point[n].ionodes = row[from].ionodes;
		point[n++].bps = (row[from + (end - from) / 2].bandwidth +
				  row[from + (end - from - 1) / 2].bandwidth) /
				 2;
	}
	return n;
}

struct placed {
	struct curves_job job;
	uint32_t line;
};

static int cv_by_line(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

static int cv_jobs(struct reader *r, struct curves *out)
{
	struct placed *placed = calloc(r->rows, sizeof(*placed));
	struct sl_curve_point *point = calloc(r->rows, sizeof(*point));
	uint32_t n = 0, points = 0, end;
	int rc = -ENOMEM;

	if (!placed || !point || !(out->job = calloc(r->rows, sizeof(out->job[0])))) {
		sl_csv_fail(&r->csv, -ENOMEM, "out of memory");
		goto out;
	}
	out->point = point;
	qsort(r->row, r->rows, sizeof(r->row[0]), cv_order);
	for (uint32_t from = 0; from < r->rows; from = end, n++) {
		const struct row *first = &r->row[from];
		struct curves_job *j = &placed[n].job;

		placed[n].line = first->line;
		for (end = from; end < r->rows && !strcmp(r->row[end].name, first->name); end++) {
			const struct row *row = &r->row[end];

			placed[n].line = row->line < placed[n].line ? row->line : placed[n].line;
			if (row->nodes == first->nodes && row->procs == first->procs)
				continue;
			r->csv.line = row->line > first->line ? row->line : first->line;
			rc = sl_csv_fail(&r->csv, -EINVAL,
					 "job '%s' has %u compute nodes and %u processes, but %u "
					 "and %u in line %u",
					 row->name, row->nodes, row->procs, first->nodes,
					 first->procs,
					 row->line > first->line ? first->line : row->line);
			goto out;
		}
		memcpy(j->name, first->name, sizeof(j->name));
		j->nodes = first->nodes;
		j->procs = first->procs;
		j->curve = point + points;
		j->points = cv_points(r->row, from, end, point + points);
		points += j->points;
	}
	qsort(placed, n, sizeof(*placed), cv_by_line);
	for (uint32_t i = 0; i < n; i++)
		out->job[i] = placed[i].job;
	out->n = n;
	point = NULL;
	rc = 0;
out:
	free(placed);
	if (rc) {
		free(out->job);
		free(point);
		*out = (struct curves){ 0 };
	}
	return rc;
}

int curves_read(FILE *f, const char *name, struct curves *out, char *err)
{
	struct reader r = { .csv = { .file = name,
				     .quotes = "\"",
				     .comment = '#',
				     .err = err,
				     .err_size = CURVES_TEXT } };
	char *text;
	size_t size;
	bool header = false;
	int rc = sl_slurp(f, SIZE_MAX, &text, &size);

	*out = (struct curves){ 0 };
	if (rc) {
		snprintf(err, CURVES_TEXT, "%s: %s.", name, strerror(-rc));
		return rc;
	}
	r.csv.at = text;
	r.csv.end = text + size;
	if ((rc = sl_csv_row(&r.csv)) > 0)
		rc = cv_header(&r, &header);
	if (!rc && !header && r.csv.fields)
		rc = cv_row(&r);
	while (!rc && (rc = sl_csv_row(&r.csv)) > 0)
		rc = cv_row(&r);
	if (!rc && !r.rows) {
		snprintf(err, CURVES_TEXT, "%s: there are no jobs in it.", name);
		rc = -EINVAL;
	}
	if (!rc)
		rc = cv_jobs(&r, out);
	sl_csv_end(&r.csv);
	free(text);
	free(r.row);
	return rc;
}

void curves_free(struct curves *c)
{
	free(c->job);
	free(c->point);
	*c = (struct curves){ 0 };
}
