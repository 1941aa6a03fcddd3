/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the curves of jobs: see curves.h for the format.
 *
 * Tolerant of where such tables come from. Separators are commas, semicolons or tabs, whichever
 * comes first in the first line; fields may be quoted; empty lines and those that begin with # are
 * skipped. The first line may name the columns, in any order and with others between, in words that
 * are used for them: forwarders for ionodes, clients for nodes, and so on. Without it there are
 * five columns in the order above, or four: without processes there is one on each compute node.
 *
 * Several bandwidths for one job and number are repetitions: their median is taken. A job has
 * always the same compute nodes and processes.
 *
 * Rows are sorted by name, number and bandwidth, and the jobs then by their first line:
 * O(n log n) for n rows.
 */
#include "lab/allocate/curves.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/where.h"

enum { JOB, IONODES, BANDWIDTH, NODES, PROCS, COLUMNS };
#define MAX_FIELDS 64

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
	const char *name; /* of the file */
	uint32_t line;
	char separator;
	bool begun;	     /* the first line was seen */
	int column[COLUMNS]; /* field of each; -1: there is none */
	struct row *row;
	uint32_t rows, room;
	char *err;
};

__attribute__((format(printf, 2, 3))) static int cv_wrong(struct reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sl_where(r->err, CURVES_TEXT, r->name, r->line, format, args);
	va_end(args);
	return -EINVAL;
}

/* ---- fields ---- */

static char *cv_trim(char *text)
{
	size_t n;

	text += strspn(text, " \t");
	for (n = strlen(text); n && strchr(" \t\r\n", text[n - 1]); n--)
		;
	text[n] = '\0';
	return text;
}

/* Splits the line in place. How many, or -EINVAL. */
static int cv_split(struct reader *r, char *line, char *fields[MAX_FIELDS])
{
	char *at = line, end = r->separator;
	int n = 0;

	while (end == r->separator) {
		char *to;

		if (n == MAX_FIELDS)
			return cv_wrong(r, "more than %d columns", MAX_FIELDS);
		at += strspn(at, r->separator == '\t' ? " " : " \t");
		if (*at != '"') {
			fields[n++] = to = at;
			to += strcspn(at, (char[]){ r->separator, '\0' });
			end = *to;
			*to = '\0';
			at = to + 1;
			cv_trim(fields[n - 1]);
			continue;
		}
		fields[n++] = to = ++at;
		while (*at && (*at != '"' || at[1] == '"')) {
			at += *at == '"';
			*to++ = *at++;
		}
		if (!*at)
			return cv_wrong(r, "a quoted field has no end");
		at++;
		at += strspn(at, r->separator == '\t' ? " " : " \t");
		end = *at++;
		*to = '\0';
		if (end && end != r->separator)
			return cv_wrong(r, "something follows a quoted field");
	}
	return n;
}

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

/* ---- the first line ---- */

static int cv_header(struct reader *r, char *const *fields, int n, bool *header)
{
	*header = false;
	for (int c = 0; c < COLUMNS; c++)
		r->column[c] = -1;
	for (int i = 0; i < n; i++) {
		int c = cv_title(fields[i]);

		if (c < 0)
			continue;
		if (r->column[c] >= 0)
			return cv_wrong(r, "two columns for %s", titles[c]);
		r->column[c] = i;
		*header = true;
	}
	if (!*header) {
		if (n != PROCS && n != COLUMNS)
			return cv_wrong(r,
					"%d column%s without names; there should be job, ionodes, "
					"bandwidth, nodes and procs",
					n, n == 1 ? "" : "s");
		for (int c = 0; c < n; c++)
			r->column[c] = c;
	}
	for (int c = 0; c < PROCS; c++)
		if (r->column[c] < 0)
			return cv_wrong(r, "no column '%s'", titles[c]);
	return 0;
}

static char cv_separator(const char *line)
{
	size_t n = strcspn(line, ",;\t");

	return line[n] ? line[n] : ',';
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
		return cv_wrong(r, "%s: '%.40s' is not a whole number from %lu to %lu",
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
	return cv_wrong(r, "bandwidth: '%.40s' is not a number from 0 on", field);
}

static int cv_name(struct reader *r, const char *field, char *out)
{
	if (!*field)
		return cv_wrong(r, "the job has no name");
	if (strlen(field) > CURVES_MAX_NAME)
		return cv_wrong(r, "job: '%.40s...' is longer than %d characters", field,
				CURVES_MAX_NAME);
	for (const char *c = field; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			return cv_wrong(r, "job: a name has printable characters only");
	strcpy(out, field);
	return 0;
}

static int cv_row(struct reader *r, char *const *fields, int n)
{
	struct row *row;
	const char *of[COLUMNS];
	int need = 0, rc;

	for (int c = 0; c < COLUMNS; c++)
		need = r->column[c] >= need ? r->column[c] + 1 : need;
	if (n < need)
		return cv_wrong(r, "%d column%s, and there should be %d", n, n == 1 ? "" : "s",
				need);
	for (int c = 0; c < COLUMNS; c++)
		of[c] = r->column[c] < 0 ? "" : fields[r->column[c]];
	if (r->rows == CURVES_MAX_ROWS)
		return cv_wrong(r, "more than %d rows", CURVES_MAX_ROWS);
	if (r->rows == r->room) {
		uint32_t room = r->room ? 2 * r->room : 64;
		struct row *grown = realloc(r->row, room * sizeof(*grown));

		if (!grown) {
			snprintf(r->err, CURVES_TEXT, "out of memory");
			return -ENOMEM;
		}
		r->row = grown;
		r->room = room;
	}
	row = &r->row[r->rows];
	*row = (struct row){ .line = r->line, .point = *of[IONODES] || *of[BANDWIDTH] };
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

static int cv_line(struct reader *r, char *line, size_t length)
{
	char *fields[MAX_FIELDS];
	bool header = false;
	int n, rc;

	r->line++;
	if (strlen(line) < length)
		return cv_wrong(r, "a byte 0: this is no text");
	if (r->line == 1 && !strncmp(line, "\xef\xbb\xbf", 3)) /* a byte order mark */
		line += 3;
	if (line[strspn(line, " \t\r\n")] == '\0' || line[strspn(line, " \t")] == '#')
		return 0;
	line[strcspn(line, "\r\n")] = '\0';
	if (!r->begun)
		r->separator = cv_separator(line);
	n = cv_split(r, line, fields);
	if (n < 0)
		return n;
	if (!r->begun) {
		r->begun = true;
		if ((rc = cv_header(r, fields, n, &header)) || header)
			return rc;
	}
	return cv_row(r, fields, n);
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

/* From rows [from, to), all of one job, the points; how many. */
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
		snprintf(r->err, CURVES_TEXT, "out of memory");
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
			r->line = row->line > first->line ? row->line : first->line;
			rc = cv_wrong(r,
				      "job '%s' has %u compute nodes and %u processes, but %u "
				      "and %u in line %u",
				      row->name, row->nodes, row->procs, first->nodes, first->procs,
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
	struct reader r = { .name = name, .err = err };
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	int rc = 0;

	*out = (struct curves){ 0 };
	while (!rc && (length = getline(&line, &size, f)) >= 0)
		rc = cv_line(&r, line, (size_t)length);
	if (!rc && !feof(f)) {
		rc = errno ? -errno : -EIO;
		snprintf(err, CURVES_TEXT, "%s: %s", name, strerror(-rc));
	}
	if (!rc && !r.rows) {
		snprintf(err, CURVES_TEXT, "%s: there are no jobs in it", name);
		rc = -EINVAL;
	}
	if (!rc)
		rc = cv_jobs(&r, out);
	free(line);
	free(r.row);
	return rc;
}

void curves_free(struct curves *c)
{
	free(c->job);
	free(c->point);
	*c = (struct curves){ 0 };
}
