/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live runs, in a directory and a layer created for them. A round has a run of each cell that needs
 * one, in random order (cells.c). Cells that need the same layer run one after the other while it
 * is up (a randomised block design).
 *
 * A run: files are written if they are to be read; the processes are started with `sluice run`, or
 * alone if access is direct; they open their files and connect. With several I/O nodes, the
 * controller maps the job to all of them, and the run waits until each process is at its node:
 * process p of P, on compute node p * nodes / P, uses I/O node (compute node) * ionodes / nodes, as
 * in the paper on GekkoFWD. Then all begin at the same time. The time of a run ends with its last
 * process. The files are checked, then removed. Metadata calls are never forwarded: the processes
 * of such a kernel make them themselves, in turns.
 */
#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "base/units.h"
#include "lab/explore/kernel.h"
#include "lab/explore/layer.h"
#include "lab/private-layer.h"

#define START_NS  50000000 /* time for all processes to get the order */
#define PLACED_MS 10000
#define ROOM_PART 20 /* a file system needs a part (1/20) for itself */

struct lv {
	struct explore *e;
	struct private p;
	int devices_fd;
	struct kernel_devices *devices; /* for direct access; NULL: no device model */
	size_t devices_size;
	struct explore_progress progress;
	uint64_t done, total;
};

/* ---- processes ---- */

struct lv_spawn {
	const struct lv *v;
	const struct explore_cell *cell;
	uint32_t app, proc;
};

static void lv_number(const char *name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	setenv(name, text, 1);
}

/* In the child: execute the kernel's process. */
static int lv_become(void *arg, int sock)
{
	const struct lv_spawn *s = arg;
	const struct explore_kernel *k = s->cell->kernel;
	char job[32], procs[16], nodes[16], fd[16];
	const char *args[] = { "sluice", "run", "--job",  job,	     "--procs",	 procs, "--nodes",
			       nodes,	 "--",	"sluice", "explore", "--kernel", fd,	NULL };
	const char **from = s->cell->ionodes ? args : args + 9;
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return CLI_FAILED;
	self[n] = 0;
	args[9] = self; /* for `sluice run` to find */
	snprintf(job, sizeof(job), "app-%u", s->app);
	snprintf(procs, sizeof(procs), "%u", k->procs);
	snprintf(nodes, sizeof(nodes), "%u", k->nodes);
	snprintf(fd, sizeof(fd), "%d", sock);
	fcntl(sock, F_SETFD, 0);
	if (s->v->devices)
		fcntl(s->v->devices_fd, F_SETFD, 0);
	unsetenv("SLUICE_TIMEOUT");
	if (!explore_is_meta(k) && !explore_in_turn(s->v->e->spec, s->cell->order))
		/* The exploration is about I/O nodes, so forward. */
		setenv("SLUICE_MODE", "forward", 1);
	unsetenv("PBS_NODENUM");
	lv_number("SLURM_NODEID", (uint32_t)((uint64_t)s->proc * k->nodes / k->procs));
	signal(SIGPIPE, SIG_DFL);
	execv("/proc/self/exe", (char *const *)(uintptr_t)from);
	return CLI_FAILED;
}

static void lv_task(const struct lv *v, const struct explore_cell *c, uint32_t app, uint32_t proc,
		    struct kernel_task *t)
{
	const struct explore_spec *s = v->e->spec;
	bool modelled = !c->ionodes && v->devices;

	memset(t, 0, sizeof(*t));
	strcpy(t->dir, v->p.dir);
	t->app = app;
	t->proc = proc;
	t->kernel = *c->kernel;
	t->seed = s->seed + ((uint64_t)c->runs << 32) + (uint64_t)(c - v->e->cell);
	t->devices_fd = modelled ? v->devices_fd : -1;
	t->striping = (struct sl_striping){ s->servers, s->stripe_bytes };
	t->model = c->device->model;
	t->model.name = t->model.summary = NULL;
}

static int lv_failed(const struct lv *v, const struct explore_cell *c,
		     const struct kernel_result *r)
{
	const char *name = c->kernel->name, *dir = v->p.dir;

	if (private_interrupted)
		return CLI_FAILED;
	switch (r->step) {
	case KERNEL_OPEN:
		if (c->kernel->direct && r->error == EINVAL)
			return cli_fail(EXPLORE_CMD,
					"%s: files in %s cannot be opened with O_DIRECT. Leave out "
					"'direct', or choose another --directory.",
					name, dir);
		return cli_fail(EXPLORE_CMD, "%s: cannot open a file in %s: %s.", name, dir,
				strerror(r->error));
	case KERNEL_CALL:
		return cli_fail(EXPLORE_CMD, "%s: call %" PRIu64 " of a process, a %s: %s.", name,
				r->calls + 1, explore_op(c->kernel),
				r->error < 0 ? "the file is too short" : strerror(r->error));
	case KERNEL_SYNC:
		return cli_fail(EXPLORE_CMD, "%s: fsync: %s.", name, strerror(r->error));
	case KERNEL_MEMORY:
		return cli_fail(EXPLORE_CMD, "%s: out of memory.", name);
	default:
		return cli_fail(EXPLORE_CMD,
				"%s: what was read is not what was written. This is a bug.", name);
	}
}

/* From all processes. */
static int lv_results(struct lv *v, const struct explore_cell *c, struct kernel_result *result)
{
	for (unsigned i = 0; i < v->p.procs; i++) {
		if (!private_receive(v->p.proc[i].sock, &result[i], sizeof(*result)))
			return private_interrupted
				       ? CLI_FAILED
				       : cli_fail(EXPLORE_CMD, "%s: a process has ended early.",
						  c->kernel->name);
		if (result[i].step != KERNEL_FINE)
			return lv_failed(v, c, &result[i]);
	}
	return CLI_OK;
}

static int lv_order(struct lv *v, const struct explore_cell *c, const struct kernel_order *order,
		    struct kernel_result *result)
{
	for (unsigned i = 0; i < v->p.procs; i++)
		private_send(v->p.proc[i].sock, order, sizeof(*order));
	return lv_results(v, c, result);
}

static int lv_start(struct lv *v, const struct explore_cell *c, struct kernel_result *result)
{
	const struct explore_kernel *k = c->kernel;
	struct kernel_task *task = malloc(sizeof(*task));
	int status = task ? CLI_OK : cli_fail(EXPLORE_CMD, "out of memory.");

	for (uint32_t i = 0; !status && i < k->apps * k->procs; i++) {
		struct lv_spawn s = { v, c, i / k->procs, i % k->procs };
		int number = private_spawn(&v->p, "explore", NULL, lv_become, &s);

		lv_task(v, c, s.app, s.proc, task);
		if (number < 0 || !private_send(v->p.proc[number].sock, task, sizeof(*task)))
			status = CLI_FAILED;
	}
	free(task);
	return status ? status : lv_results(v, c, result);
}

/* ---- where they are ---- */

static bool lv_placed(const struct explore_cell *c)
{
	const struct explore_kernel *k = c->kernel;

	for (uint32_t node = 0; node < c->ionodes; node++) {
		int64_t expected = 0;

		for (uint32_t proc = 0; proc < k->procs; proc++) {
			uint64_t unit = (uint64_t)proc * k->nodes / k->procs;

			expected += unit * c->ionodes / k->nodes == node ? k->apps : 0;
		}
		if (explore_layer_clients(node) != expected)
			return false;
	}
	return true;
}

static int lv_place(struct lv *v, const struct explore_cell *c, struct kernel_result *result)
{
	const struct kernel_order warm = { .what = 'w' };
	int status = lv_order(v, c, &warm, result);
	char job[32];

	for (uint32_t app = 0; !status && c->ionodes > 1 && app < c->kernel->apps; app++) {
		snprintf(job, sizeof(job), "app-%u", app);
		status = explore_layer_map(job, c->ionodes);
	}
	if (status || c->ionodes < 2)
		return status;
	for (int ms = 0; ms < PLACED_MS; ms += 20) {
		if ((status = lv_order(v, c, &warm, result)) || lv_placed(c))
			return status;
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	}
	return cli_fail(EXPLORE_CMD, "%s: its processes did not move to their I/O nodes.",
			c->kernel->name);
}

/* ---- a run ---- */

static int lv_files(struct lv *v, const struct explore_cell *c)
{
	struct kernel_task *task = malloc(sizeof(*task));
	int rc = task ? 0 : -ENOMEM;

	for (uint32_t app = 0; !rc && app < c->kernel->apps && !private_interrupted; app++) {
		lv_task(v, c, app, 0, task);
		rc = kernel_prepare(task);
	}
	free(task);
	if (private_interrupted)
		return CLI_FAILED;
	return rc ? cli_fail(EXPLORE_CMD, "%s: cannot write files in %s: %s.", c->kernel->name,
			     v->p.dir, strerror(-rc))
		  : CLI_OK;
}

static void lv_remove(struct lv *v, const struct explore_cell *c)
{
	bool own = c->kernel->per_process || explore_is_meta(c->kernel);
	uint32_t files = own ? c->kernel->procs : 1;
	char path[PATH_MAX + 64];

	for (uint32_t app = 0; app < c->kernel->apps; app++)
		for (uint32_t file = 0; file < files; file++) {
			kernel_path(v->p.dir, app, file, path);
			remove(path); /* of a metadata kernel, its directory */
		}
}

static int lv_judge(struct lv *v, const struct explore_cell *c, const struct kernel_result *result,
		    sl_time start, struct explore_run *run)
{
	const struct explore_kernel *k = c->kernel;
	struct kernel_task *task = malloc(sizeof(*task));
	sl_time end = start;
	bool right = task;

	*run = (struct explore_run){ 0 };
	for (unsigned i = 0; i < v->p.procs; i++) {
		run->bytes += result[i].calls * k->request_bytes;
		end = result[i].end_ns > end ? result[i].end_ns : end;
	}
	run->seconds = (double)(end - start) / 1e9;
	for (unsigned i = 0; right && k->op == SL_WRITE && i < v->p.procs; i++) {
		lv_task(v, c, i / k->procs, i % k->procs, task);
		right = kernel_verify(task, result[i].calls);
	}
	free(task);
	if (private_interrupted) /* and the check was incomplete */
		return CLI_FAILED;
	if (!right)
		return lv_failed(v, c, &(struct kernel_result){ .step = KERNEL_WRONG });
	if (!run->bytes)
		return cli_fail(EXPLORE_CMD, "%s: no call was made in its time.", k->name);
	return CLI_OK;
}

static int lv_run(struct lv *v, struct explore_cell *c)
{
	struct kernel_order go = { .what = 'g' };
	struct kernel_result *result = calloc(PRIVATE_PROCS, sizeof(*result));
	struct explore_run run;
	int status = CLI_OK;

	if (!result)
		return cli_fail(EXPLORE_CMD, "out of memory.");
	for (uint32_t i = 0; v->devices && i < v->e->spec->servers; i++)
		sl_device_init(&v->devices->device[i], NULL);
	if (c->kernel->op == SL_READ)
		status = lv_files(v, c);
	if (!status)
		status = lv_start(v, c, result);
	if (!status)
		status = lv_place(v, c, result);
	go.start_ns = sl_clock_ns() + START_NS;
	if (!status)
		status = lv_order(v, c, &go, result);
	if (!status)
		status = lv_judge(v, c, result, go.start_ns, &run);
	private_stop_procs(&v->p, 0);
	lv_remove(v, c);
	free(result);
	return status ? status : explore_add(v->e, c, &run);
}

/* ---- rounds ---- */

static bool lv_same_layer(const struct explore_cell *a, const struct explore_cell *b)
{
	return a->ionodes == b->ionodes && a->order == b->order && a->device == b->device;
}

/*
 * Run the first cell of the list and all that need the same layer; marks them as done with
 * UINT32_MAX.
 */
static int lv_block(struct lv *v, uint32_t *number, uint32_t n)
{
	const struct explore_cell *first = &v->e->cell[number[0]];
	int status = CLI_OK;

	if (first->ionodes)
		status = explore_layer_up(&v->p, v->e->spec, first);
	for (uint32_t i = 0; !status && i < n; i++) {
		struct explore_cell *c = number[i] == UINT32_MAX ? NULL : &v->e->cell[number[i]];

		if (!c || !lv_same_layer(c, first))
			continue;
		explore_progress(&v->progress, v->done, v->total, c->kernel->name);
		status = lv_run(v, c);
		number[i] = UINT32_MAX;
		v->done++;
	}
	if (first->ionodes)
		private_layer_down(&v->p);
	return status;
}

static int lv_rounds(struct lv *v)
{
	struct explore *e = v->e;
	uint32_t *number = malloc((e->n_cells + 1) * sizeof(*number)), n;
	int status = CLI_OK;

	if (!number)
		return cli_fail(EXPLORE_CMD, "out of memory.");
	for (uint64_t round = 0; !status && (n = explore_round(e, round, number)); round++) {
		v->done = v->total = 0;
		for (uint32_t i = 0; i < e->n_cells; i++) {
			uint32_t runs = e->cell[i].runs;

			v->done += runs;
			v->total += runs < e->spec->least		      ? e->spec->least
				    : explore_needs_run(e->spec, &e->cell[i]) ? runs + 1
									      : runs;
		}
		for (uint32_t i = 0; !status && i < n; i++)
			if (number[i] != UINT32_MAX)
				status = lv_block(v, number + i, n - i);
	}
	free(number);
	return status;
}

/* ---- all of it ---- */

static int lv_room(const struct lv *v)
{
	const struct explore_spec *s = v->e->spec;
	char need[16], have[16];
	struct statvfs fs;

	if (statvfs(v->p.dir, &fs))
		return cli_fail(EXPLORE_CMD, "cannot use %s: %s.", v->p.dir, strerror(errno));
	for (uint32_t i = 0; i < s->n_kernels; i++) {
		uint64_t bytes = explore_bytes(&s->kernel[i]);
		uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;

		if (bytes + bytes / ROOM_PART > room)
			return cli_fail(EXPLORE_CMD,
					"%s needs %s, but only %s are free below %s. Choose "
					"another --directory, or less data.",
					s->kernel[i].name,
					sl_format_bytes(need, sizeof(need), bytes),
					sl_format_bytes(have, sizeof(have), room), v->p.dir);
	}
	return CLI_OK;
}

static int lv_devices(struct lv *v)
{
	pthread_mutexattr_t attr;

	v->devices_size = sizeof(*v->devices) + v->e->spec->servers * sizeof(struct sl_device);
	v->devices_fd = memfd_create("sluice-explore", MFD_CLOEXEC);
	if (v->devices_fd < 0 || ftruncate(v->devices_fd, (off_t)v->devices_size))
		return cli_fail(EXPLORE_CMD, "cannot make shared memory: %s.", strerror(errno));
	v->devices =
		mmap(NULL, v->devices_size, PROT_READ | PROT_WRITE, MAP_SHARED, v->devices_fd, 0);
	if (v->devices == MAP_FAILED) {
		v->devices = NULL;
		return cli_fail(EXPLORE_CMD, "out of memory.");
	}
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&v->devices->lock, &attr);
	return CLI_OK;
}

int explore_live(struct explore *e, const char *directory)
{
	static struct lv v;
	int status;

	v = (struct lv){ .e = e, .devices_fd = -1 };
	status = private_begin(&v.p, EXPLORE_CMD, directory);
	if (!status)
		status = lv_room(&v);
	if (!status && e->spec->device[0].name[0])
		status = lv_devices(&v);
	if (!status)
		status = private_layer_begin(&v.p);
	explore_progress_begin(&v.progress);
	if (!status)
		status = lv_rounds(&v);
	explore_progress_end(&v.progress);
	private_stop_procs(&v.p, 0);
	private_layer_end(&v.p);
	if (v.devices)
		munmap(v.devices, v.devices_size);
	if (v.devices_fd >= 0)
		close(v.devices_fd);
	status = private_end(&v.p, status);
	return status;
}
