/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store runs in a file: a row for each, written when the run has ended, so that an interrupted
 * exploration can continue.
 *
 *	# sluice explore 1 simulated 8c2f60d1a5b9e374
 *	kernel,device,ratio,op,apps,nodes,procs,layout,spatiality,size,request,files,...
 *	shared,pastel,38.91,read,1,8,8,shared-contiguous,contiguous,small,16384,1,...
 *
 * The number in the first line is a hash of everything that determines the result of a run:
 * kernels, devices (live and without a model: the directory), platform and seed; but not the
 * requested number of runs, the numbers of I/O nodes and the orders. So these can be extended
 * later, and a file of another exploration is refused. An incomplete last line is cut off.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/csv.h"
#include "base/ds/fnv.h"
#include "lab/explore/explore.h"

#define ROW 1024

static const char cv_columns[] =
	"kernel,device,ratio,op,apps,nodes,procs,layout,spatiality,size,request,files,file_bytes,"
	"policy,ionodes,run,seconds,bytes,bandwidth";
enum {
	C_KERNEL = 0,
	C_DEVICE = 1,
	C_POLICY = 13,
	C_IONODES,
	C_RUN,
	C_SECONDS,
	C_BYTES,
	C_COLUMNS = 19
};

struct explore_csv {
	char *path;
	int fd;
};

/* ---- rows ---- */

int explore_csv_add(struct explore *e, const struct explore_cell *c, uint32_t run)
{
	const struct explore_run *r = &c->run[run];
	struct explore_csv *v = e->csv;
	char row[ROW];
	FILE *f = fmemopen(row, sizeof(row), "w");
	off_t end = lseek(v->fd, 0, SEEK_END);
	size_t length;
	ssize_t n;

	if (!f)
		return cli_fail(EXPLORE_CMD, "out of memory.");
	explore_situation(f, e, c);
	fputc(',', f);
	explore_quoted(f, "", explore_policy(e->spec, c));
	fprintf(f, ",%u,%u,%.9g,%" PRIu64 ",%.6g\n", c->ionodes, run + 1, r->seconds, r->bytes,
		(double)r->bytes / r->seconds / 1e6);
	length = (size_t)ftell(f);
	if (fclose(f) || length >= sizeof(row))
		return cli_fail(EXPLORE_CMD, "a row for %s is too long.", v->path);
	n = write(v->fd, row, length);
	if (n == (ssize_t)length)
		return CLI_OK;
	if (n >= 0)
		errno = ENOSPC;
	cli_fail(EXPLORE_CMD, "cannot write %s: %s.", v->path, strerror(errno));
	if (end >= 0 && ftruncate(v->fd, end))
		return CLI_FAILED; /* the next start cuts off the incomplete row */
	return CLI_FAILED;
}

/* ---- reading them again ---- */

static uint64_t cv_mark(const struct explore *e, const char *directory)
{
	const struct explore_spec *s = e->spec;
	uint64_t hash;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return 0;
	fprintf(f, "%" PRIu64 " %s %s %s %u %" PRIu64 "\n", s->seed, s->share ? s->share : "",
		s->admit ? s->admit : "", s->capacity ? s->capacity : "", s->servers,
		s->stripe_bytes);
	if (e->simulate)
		fprintf(f,
			"%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %u %" PRId64 " %" PRId64
			"\n",
			s->platform.transfer_bytes, s->platform.link_bps, s->platform.latency_ns,
			s->jitter_ns, s->platform.window_batches, s->platform.request_ns,
			s->platform.batch_ns);
	for (uint32_t i = 0; i < s->n_devices; i++)
		fprintf(f, "%s\n", s->device[i].name[0] ? s->device[i].name : directory);
	for (uint32_t i = 0; i < s->n_kernels; i++) {
		const struct explore_kernel *k = &s->kernel[i];

		fprintf(f, "%s %u %u %u %d %d %u %" PRIu64 " %" PRIu64 " %" PRId64 " %d %d\n",
			k->name, k->apps, k->procs, k->nodes, k->per_process, k->spatial, k->op,
			k->request_bytes, k->data_bytes, k->limit_ns, k->fsync, k->direct);
	}
	if (fclose(f)) {
		free(text);
		return 0;
	}
	hash = sl_fnv(SL_FNV, text, size);
	free(text);
	return hash;
}

static struct explore_cell *cv_find(const struct explore *e, const struct sl_csv_field *cell)
{
	/* Rows are mostly in the order of the cells. */
	for (uint32_t i = 0; i < e->n_cells; i++) {
		struct explore_cell *c = &e->cell[(i + e->kept) % e->n_cells];

		if (c->ionodes == strtoul(cell[C_IONODES].text, NULL, 10) &&
		    !strcmp(c->kernel->name, cell[C_KERNEL].text) &&
		    !strcmp(c->device->name, cell[C_DEVICE].text) &&
		    !strcmp(explore_policy(e->spec, c), cell[C_POLICY].text))
			return c;
	}
	return NULL;
}

static int cv_row(struct explore *e, const struct sl_csv *v)
{
	const struct sl_csv_field *cell = v->field;
	struct explore_run run = { 0 };
	struct explore_cell *c;
	char *end = NULL;

	if (v->fields != C_COLUMNS)
		return cli_fail(EXPLORE_CMD, "%s:%lu: this is no row of an exploration.", v->file,
				v->line);
	run.seconds = strtod(cell[C_SECONDS].text, &end);
	run.bytes = strtoull(cell[C_BYTES].text, NULL, 10);
	if (*end || !(run.seconds > 0 && run.seconds < 1e9) || !run.bytes)
		return cli_fail(EXPLORE_CMD, "%s:%lu: '%s' seconds for '%s' bytes is no run.",
				v->file, v->line, cell[C_SECONDS].text, cell[C_BYTES].text);
	c = cv_find(e, cell);
	if (!c)
		return CLI_OK; /* a number of nodes or an order that is no longer requested */
	if (strtoul(cell[C_RUN].text, NULL, 10) != c->runs + 1)
		return cli_fail(EXPLORE_CMD, "%s:%lu: run %s comes after run %u.", v->file, v->line,
				cell[C_RUN].text, c->runs);
	e->kept++;
	return explore_add_known(c, &run) ? cli_fail(EXPLORE_CMD, "out of memory.") : CLI_OK;
}

/* The next line is this one. */
static bool cv_is(struct sl_csv *v, const char *line)
{
	size_t n = strlen(line);

	return sl_csv_line(v) && (size_t)(v->to - v->from) == n && !memcmp(v->from, line, n);
}

static int cv_known(struct explore *e, const char *first, const char *text, size_t size)
{
	char err[200];
	struct sl_csv v = { .file = e->csv->path,
			    .at = text,
			    .end = text + size,
			    .quotes = "\"",
			    .separator = ',',
			    .err = err,
			    .err_size = sizeof(err) };
	int rc, status = CLI_OK;

	if (!cv_is(&v, first))
		return cli_usage(
			EXPLORE_CMD, "%s is %s. Give another --output, or remove it.", v.file,
			strncmp(text, "# sluice explore ", 17) ? "not the file of an exploration"
							       : "of another exploration");
	if (!cv_is(&v, cv_columns))
		return cli_fail(EXPLORE_CMD, "%s:2: wrong columns.", v.file);
	while (!status && (rc = sl_csv_row(&v)) != 0)
		status = rc > 0 ? cv_row(e, &v) : cli_fail(EXPLORE_CMD, "%s", err);
	sl_csv_end(&v);
	return status;
}

static int cv_begin(struct explore *e, const char *first)
{
	if (ftruncate(e->csv->fd, 0) && errno != EINVAL) /* a device or a pipe has no length */
		return cli_fail(EXPLORE_CMD, "cannot write %s: %s.", e->csv->path, strerror(errno));
	if (dprintf(e->csv->fd, "%s\n%s\n", first, cv_columns) < 0)
		return cli_fail(EXPLORE_CMD, "cannot write %s: %s.", e->csv->path, strerror(errno));
	return CLI_OK;
}

/*
 * Whether the file is empty or has only a part of its first two lines, because the disk was full
 * when it was created.
 */
static bool cv_is_empty(const char *text, const char *first)
{
	size_t n = strlen(text), head = strlen(first);

	if (n <= head)
		return !strncmp(text, first, n);
	return !strncmp(text, first, head) && text[head] == '\n' &&
	       n - head - 1 <= strlen(cv_columns) &&
	       !strncmp(text + head + 1, cv_columns, n - head - 1);
}

static int cv_read(struct explore *e, const char *first)
{
	struct stat st;
	char *text, *end;
	size_t size;
	ssize_t n;
	int status;

	if (fstat(e->csv->fd, &st) || !(text = malloc((size_t)st.st_size + 1)))
		return cli_fail(EXPLORE_CMD, "cannot read %s: %s.", e->csv->path, strerror(errno));
	n = pread(e->csv->fd, text, (size_t)st.st_size, 0);
	size = n < 0 ? 0 : (size_t)n;
	text[size] = 0;
	end = memrchr(text, '\n', size);
	if (cv_is_empty(text, first))
		status = cv_begin(e, first);
	else if (!end || memchr(text, 0, size))
		status = cli_usage(EXPLORE_CMD, "%s is not the file of an exploration.",
				   e->csv->path);
	else {
		size = (size_t)(end + 1 - text);
		status = cv_known(e, first, text, size);
		if (!status && size < (size_t)st.st_size && ftruncate(e->csv->fd, (off_t)size))
			status = cli_fail(EXPLORE_CMD, "cannot write %s: %s.", e->csv->path,
					  strerror(errno));
	}
	free(text);
	return status;
}

int explore_csv_open(struct explore *e, const char *path, const char *directory)
{
	struct explore_csv *v = calloc(1, sizeof(*v));
	char first[80], whole[PATH_MAX] = "";
	int status;

	if (!v || !(v->path = strdup(path))) {
		free(v);
		return cli_fail(EXPLORE_CMD, "out of memory.");
	}
	e->csv = v;
	v->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (v->fd < 0)
		return cli_fail(EXPLORE_CMD, "cannot write %s: %s.", path, strerror(errno));
	if (flock(v->fd, LOCK_EX | LOCK_NB))
		return cli_fail(EXPLORE_CMD, "another exploration writes %s.", path);
	/* A missing directory is reported later, when it is used. */
	if (directory && !realpath(directory, whole))
		snprintf(whole, sizeof(whole), "%s", directory);
	snprintf(first, sizeof(first), "# sluice explore 1 %s %016" PRIx64,
		 e->simulate ? "simulated" : "live", cv_mark(e, whole));
	status = cv_read(e, first);
	return status;
}

int explore_csv_close(struct explore *e, int status)
{
	uint64_t runs = 0;

	if (!e->csv)
		return status;
	for (uint32_t i = 0; i < e->n_cells; i++)
		runs += e->cell[i].runs;
	if (status == CLI_FAILED && runs > e->kept)
		cli_fail(EXPLORE_CMD, "the runs so far are in %s; repeat the command to continue.",
			 e->csv->path);
	if (e->csv->fd >= 0 && close(e->csv->fd) && !status)
		status = cli_fail(EXPLORE_CMD, "cannot write %s: %s.", e->csv->path,
				  strerror(errno));
	free(e->csv->path);
	free(e->csv);
	e->csv = NULL;
	return status;
}
