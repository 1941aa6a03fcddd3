/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases of I/O from the text that darshan-parser and darshan-dxt-parser print of a log.
 *
 * The first record tells which of the two it is. darshan-dxt-parser has a line for each access,
 *
 *	X_POSIX       0  write        0            2048          262144      0.0300      0.0331  ...
 *	module     rank     op  segment          offset          length       start         end
 *
 * with times since the run began, to 0.1 ms. darshan-parser has, for each file and rank (-1: all
 * of them together), lines of tab-separated fields
 *
 *	POSIX  -1  10384774853006289996  POSIX_BYTES_READ  4202504  /a/test123.h5  /a  lustre
 *
 * of which we take bytes and the times of the first and the last access: all bytes that a file
 * saw in one direction count as one access between these. Lines of a record follow each other.
 *
 * MPI-IO uses POSIX, so the same bytes appear twice: MPI-IO counts only if there is no POSIX
 * record. STDIO has separate bytes and counts too, except for the terminal (<STDIN> and so on).
 *
 * Accesses are sorted by start. One that starts more than `gap_s` after all before it have ended
 * begins a new phase. The time between phases is computing, the bytes of a phase are the volume of
 * its iteration, the mean time between starts is the period (w_iter of Barthélemy et al. 2024,
 * section 2.2). Example, gap 1 s: 10 bytes in [2, 3], 20 bytes in [3.5, 4] and 30 bytes in [9, 10]
 * are two phases, (2 s, 30 bytes) and (5 s, 30 bytes), period 7 s.
 *
 * Sums for a file cannot show phases inside it: a file written several times during the run is one
 * long phase. For such logs `iterations` does the same as Gainaru et al. 2014, section 4.4: the run
 * is divided into that number of equal iterations of computing and I/O.
 *
 * A scenario cannot hold the computing after the last phase; the caller reports that.
 *
 * O(n log n) in accesses; 32 bytes for each.
 */
#include "sim/darshan.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/where.h"

#define FIELDS	  8
#define MAX_TIME  1e9 /* s: 31 years */
#define MAX_BYTES 1e18

enum module { DN_POSIX, DN_MPIIO, DN_STDIO, DN_MODULES };

struct access {
	double start_s, end_s;
	double bytes;
	uint8_t module, write;
};

/* The record of darshan-parser whose lines are being read. */
struct record {
	char module[16], rank[24], id[24];
	int terminal;
	double bytes[2], start_s[2], end_s[2]; /* by op; -1: not seen */
};

struct parser {
	const char *path;
	unsigned long line;
	char *err;
	size_t err_size;
	struct sl_darshan *out;
	struct access *a;
	size_t count, room;
	int kind; /* 0: not known yet, 1: counters, 2: DXT */
	const struct sl_darshan_options *options;
	char file[24]; /* of DXT: whose accesses follow */
	struct record record;
};

__attribute__((format(printf, 2, 3))) static int dn_error(struct parser *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sl_where(p->err, p->err_size, p->path, p->line, format, args);
	va_end(args);
	return -EINVAL;
}

static int dn_number(struct parser *p, const char *text, double max, const char *what, double *out)
{
	char *end;
	double x = strtod(text, &end);

	/* strtod() takes hexadecimal, infinity and NaN too; Darshan prints none of them. */
	if (end == text || *end || strspn(text, "0123456789.eE+-") != strlen(text))
		return dn_error(p, "'%.40s' is not a %s", text, what);
	if (!(x >= 0 && x <= max))
		return dn_error(p, "a %s of %.40s is not between 0 and %g", what, text, max);
	*out = x;
	return 0;
}

static int dn_add(struct parser *p, struct access a)
{
	if (a.end_s < a.start_s)
		return dn_error(p, "an access ends at %g s, before it starts at %g s", a.end_s,
				a.start_s);
	if (p->count == p->room) {
		size_t room = p->room ? 2 * p->room : 256;
		struct access *more = realloc(p->a, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		p->a = more;
		p->room = room;
	}
	p->a[p->count++] = a;
	return 0;
}

/* ---- lines ---- */

/* Splits in place; how many there were, up to FIELDS. */
static int dn_split(char *line, const char *separators, char **field)
{
	char *save = NULL;
	int n = 0;

	for (char *f = strtok_r(line, separators, &save); f && n < FIELDS;
	     f = strtok_r(NULL, separators, &save))
		field[n++] = f;
	return n;
}

static int dn_header(struct parser *p, char *line)
{
	char *value = strchr(line, ':');
	double x = 0;
	int rc = 0;

	if (!value)
		return 0;
	*value++ = 0;
	value += strspn(value, " \t");
	line += strspn(line, "# \t");
	if (!strcmp(line, "DXT, file_id")) {
		snprintf(p->file, sizeof(p->file), "%.*s", (int)strcspn(value, ", "), value);
	} else if (!strcmp(line, "nprocs")) {
		rc = dn_number(p, value, SL_SIM_PROCS, "number of processes", &x);
		if (!rc && x < 1)
			return dn_error(p, "a run has at least one process");
		if (!rc)
			p->out->procs = (uint32_t)x;
	} else if (!strcmp(line, "run time")) {
		rc = dn_number(p, value, MAX_TIME, "run time in seconds", &p->out->run_s);
	} else if (!strcmp(line, "exe")) {
		size_t n = strcspn(value, " \t"), from = n, to = 0;

		while (from && value[from - 1] != '/')
			from--;
		/* Names of a scenario are plain words. */
		for (; from < n && to < sizeof(p->out->name) - 1; from++) {
			unsigned char c = (unsigned char)value[from];

			p->out->name[to++] = isalnum(c) || strchr("_.-", c) ? (char)c : '_';
		}
		p->out->name[to] = 0;
	}
	return rc;
}

static int dn_dxt(struct parser *p, char *line)
{
	struct access a = { 0 };
	char *f[FIELDS] = { 0 };
	int rc, n = dn_split(line, " \t", f);

	if (n && strcmp(f[0], "X_MPIIO") == 0)
		a.module = DN_MPIIO;
	else if (!n || strcmp(f[0], "X_POSIX") != 0)
		return 0; /* a module of another version */
	if (n < FIELDS)
		return dn_error(p, "an access has %d fields, not %d", n, FIELDS);
	a.write = strcmp(f[2], "write") == 0;
	if (!a.write && strcmp(f[2], "read") != 0)
		return dn_error(p, "'%.40s' is neither read nor write", f[2]);
	rc = dn_number(p, f[5], MAX_BYTES, "number of bytes", &a.bytes);
	if (!rc)
		rc = dn_number(p, f[6], MAX_TIME, "time in seconds", &a.start_s);
	if (!rc)
		rc = dn_number(p, f[7], MAX_TIME, "time in seconds", &a.end_s);
	if (!rc && p->options->access && a.module == DN_POSIX && p->file[0])
		rc = p->options->access(p->options->arg, f[1], p->file, a.write,
					strtoull(f[4], NULL, 10), strtoull(f[5], NULL, 10));
	return rc ? rc : dn_add(p, a);
}

static int dn_end_record(struct parser *p)
{
	struct record *r = &p->record;
	int rc = 0;

	for (int op = 0; op < 2 && !rc && *r->module && !r->terminal; op++) {
		struct access a = { .start_s = r->start_s[op],
				    .end_s = r->end_s[op],
				    .bytes = r->bytes[op],
				    .write = (uint8_t)op };

		a.module = strcmp(r->module, "MPI-IO") == 0  ? DN_MPIIO
			   : strcmp(r->module, "STDIO") == 0 ? DN_STDIO
							     : DN_POSIX;
		if (a.bytes <= 0)
			continue;
		if (a.start_s < 0 || a.end_s < 0)
			rc = dn_error(p, "the record of %s before this line has bytes and no times",
				      r->id);
		else
			rc = dn_add(p, a);
	}
	memset(r, 0, sizeof(*r));
	return rc;
}

static int dn_counter(struct parser *p, char *line)
{
	static const char *const name[][3] = {
		{ "_BYTES_READ", "_F_READ_START_TIMESTAMP", "_F_READ_END_TIMESTAMP" },
		{ "_BYTES_WRITTEN", "_F_WRITE_START_TIMESTAMP", "_F_WRITE_END_TIMESTAMP" },
	};
	struct record *r = &p->record;
	char *f[FIELDS] = { 0 };
	int n = dn_split(line, "\t", f);

	if (!n || (strcmp(f[0], "POSIX") != 0 && strcmp(f[0], "MPI-IO") != 0 &&
		   strcmp(f[0], "STDIO") != 0))
		return 0;
	if (n < 6)
		return dn_error(p, "a counter has %d fields, not 6 or more", n);
	if (strcmp(r->module, f[0]) != 0 || strcmp(r->rank, f[1]) != 0 ||
	    strcmp(r->id, f[2]) != 0) {
		int rc = dn_end_record(p);

		if (rc)
			return rc;
		if (strlen(f[1]) >= sizeof(r->rank) || strlen(f[2]) >= sizeof(r->id))
			return dn_error(p, "'%.40s' and '%.40s' are no rank and record", f[1],
					f[2]);
		snprintf(r->module, sizeof(r->module), "%s", f[0]);
		snprintf(r->rank, sizeof(r->rank), "%s", f[1]);
		snprintf(r->id, sizeof(r->id), "%s", f[2]);
		r->terminal = !strcmp(f[5], "<STDIN>") || !strcmp(f[5], "<STDOUT>") ||
			      !strcmp(f[5], "<STDERR>");
		for (int op = 0; op < 2; op++)
			r->bytes[op] = r->start_s[op] = r->end_s[op] = -1;
	}
	if (p->options->counter && !strcmp(f[0], "POSIX")) {
		int rc = p->options->counter(p->options->arg, f[1], f[2], f[3], f[4]);

		if (rc)
			return rc;
	}
	if (!strcmp(f[4], "-1")) /* Darshan could not tell */
		return 0;
	for (int op = 0; op < 2; op++) {
		double *to[] = { &r->bytes[op], &r->start_s[op], &r->end_s[op] };

		for (int k = 0; k < 3; k++) {
			const char *end = strstr(f[3], name[op][k]);

			if (end && !end[strlen(name[op][k])])
				return dn_number(p, f[4], k ? MAX_TIME : MAX_BYTES,
						 k ? "time in seconds" : "number of bytes", to[k]);
		}
	}
	return 0;
}

static int dn_line(struct parser *p, char *line)
{
	size_t n = strlen(line);

	if (n && line[n - 1] == '\r')
		line[--n] = 0;
	if (line[strspn(line, " \t")] == 0)
		return 0;
	if (*line == '#')
		return dn_header(p, line);
	if (!p->kind)
		p->kind = line[strspn(line, " ")] == 'X' ? 2 : strchr(line, '\t') ? 1 : 0;
	if (p->kind == 2)
		return dn_dxt(p, line);
	if (p->kind == 1)
		return dn_counter(p, line);
	return dn_error(p, "this is no output of darshan-parser or darshan-dxt-parser, which make "
			   "text of a log");
}

/* ---- phases ---- */

static int dn_by_start(const void *a, const void *b)
{
	const struct access *x = a, *y = b;

	return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

static int dn_phases(struct parser *p, const struct sl_darshan_options *o)
{
	struct sl_darshan *d = p->out;
	size_t of[DN_MODULES] = { 0 };
	struct sl_darshan_phase *last = NULL;

	for (size_t i = 0; i < p->count; i++)
		if (p->a[i].bytes > 0)
			of[p->a[i].module]++;
	if (of[DN_POSIX] + of[DN_MPIIO] + of[DN_STDIO] == 0)
		return dn_error(p, "there is no read or write in it%s",
				d->procs ? ""
					 : "; is it the output of darshan-parser or "
					   "darshan-dxt-parser?");
	if (p->count)
		qsort(p->a, p->count, sizeof(*p->a), dn_by_start);
	d->phases = calloc(p->count, sizeof(*d->phases));
	if (!d->phases)
		return -ENOMEM;
	for (size_t i = 0; i < p->count; i++) {
		const struct access *a = &p->a[i];

		if (a->bytes <= 0 || (a->module == DN_MPIIO && of[DN_POSIX]))
			continue;
		if (!last || a->start_s > last->end_s + o->gap_s) {
			last = &d->phases[d->n_phases++];
			*last = (struct sl_darshan_phase){ a->start_s, a->end_s, 0 };
		}
		last->end_s = fmax(last->end_s, a->end_s);
		last->bytes += a->bytes;
		*(a->write ? &d->written_bytes : &d->read_bytes) += (uint64_t)a->bytes;
		d->accesses++;
	}
	return 0;
}

/* Equal iterations that take as long and have as much in them. */
static int dn_equal(struct sl_darshan *d, uint32_t n)
{
	struct sl_darshan_phase *phase = calloc(n, sizeof(*phase));
	double io_s = 0, bytes = 0;

	if (!phase)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->n_phases; i++) {
		io_s += d->phases[i].end_s - d->phases[i].start_s;
		bytes += d->phases[i].bytes;
	}
	for (uint32_t i = 0; i < n; i++) {
		phase[i].end_s = d->run_s * (i + 1) / n;
		phase[i].start_s = phase[i].end_s - io_s / n;
		phase[i].bytes = bytes / n;
	}
	free(d->phases);
	d->phases = phase;
	d->n_phases = n;
	return 0;
}

int sl_darshan_parse(const char *path, const char *text, size_t size,
		     const struct sl_darshan_options *options, struct sl_darshan *out, char *err,
		     size_t err_size)
{
	struct parser p = {
		.path = path, .err = err, .err_size = err_size, .out = out, .options = options
	};
	const char *at = text, *end = text + size;
	int rc = 0;

	*out = (struct sl_darshan){ 0 };
	while (at < end && !rc) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((stop ? stop : end) - at);
		char *line = strndup(at, n);

		p.line++;
		if (!line)
			rc = -ENOMEM;
		else if (strlen(line) != n)
			rc = dn_error(&p, "a zero byte: this is no text; darshan-parser and "
					  "darshan-dxt-parser make text of a log");
		else
			rc = dn_line(&p, line);
		free(line);
		at += n + 1;
	}
	p.line += !p.line;
	if (!rc)
		rc = dn_end_record(&p);
	if (!rc && p.kind && !out->procs)
		rc = dn_error(&p, "there is no line '# nprocs: N' before the end");
	if (!rc)
		rc = dn_phases(&p, options);
	out->dxt = p.kind == 2;
	if (!rc) /* Darshan rounds it, and its clocks differ */
		out->run_s = fmax(out->run_s, out->phases[out->n_phases - 1].end_s);
	if (!rc && options->iterations)
		rc = dn_equal(out, options->iterations);
	if (rc == -ENOMEM)
		snprintf(err, err_size, "%s: out of memory", path);
	if (rc)
		sl_darshan_free(out);
	free(p.a);
	return rc;
}

void sl_darshan_free(struct sl_darshan *d)
{
	free(d->phases);
	*d = (struct sl_darshan){ 0 };
}
