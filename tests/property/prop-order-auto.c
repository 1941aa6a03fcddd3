/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order=auto is never slower than `to` by more than 5 %, on the matrix of AGIOS (Boito et al.
 * 2015, section 3; examples/explore/agios-matrix.yaml): four devices, one or four applications,
 * three layouts, small or large calls, reads or writes, 8 or 16 processes; with any jitter. And
 * a tree that says sjf whatever there is, where that takes twice the time of to-agg (small strided
 * reads of four applications with 16 processes each on an SSD), is corrected soon enough to save a
 * tenth of the time at least.
 *
 * Each program run takes some situations of the 192, by chance.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/requests.h"
#include "tests/property/harness.h"

#define SITUATIONS	      192
#define STRIDED_READS_ON_EDEL 103

/* Number i of the matrix, with so many times the data; app: room for four. */
static void situation(unsigned i, unsigned times, uint64_t seed, struct sl_requests *s,
		      struct sl_requests_app *app)
{
	static const char *const devices[] = { "pastel", "graphene", "suno", "edel" };
	unsigned device = i % 4, apps = i / 4 % 2 ? 4 : 1, op = i / 8 % 2, large = i / 16 % 2;
	unsigned procs = i / 32 % 2 ? 16 : 8, layout = i / 64;
	uint64_t data = layout < 2 ? 4 * times * HX_MIB : apps == 1 ? 64 * HX_MIB : 32 * HX_MIB;

	sl_requests_init(s);
	s->name = strdup("matrix");
	s->striping = (struct sl_striping){ .servers = 4, .stripe_bytes = 32 * HX_KIB };
	s->transfer_bytes = 8 * HX_KIB;
	s->link_bps = 100000000;
	s->latency_ns = 50000;
	s->device = *sl_device_find(devices[device]);
	s->seed = seed;
	s->apps = app;
	s->n_apps = apps;
	for (unsigned k = 0; k < apps; k++)
		app[k] = (struct sl_requests_app){
			.name = "app",
			.procs = procs,
			.op = op,
			.spatial = layout == 1 ? SL_STRIDED : SL_CONTIGUOUS,
			.per_process = layout == 2,
			.call_bytes = large ? 256 * HX_KIB : 16 * HX_KIB,
			.calls = data / (large ? 256 * HX_KIB : 16 * HX_KIB),
			.phases = 1,
			.depth = 1,
			.jitter_ns = 100000,
		};
}

static double takes(const struct sl_requests *s, const char *order)
{
	struct sl_requests_policy p = { .share = "pool", .order = order };
	struct sl_requests_result out;
	char err[SL_REQUESTS_TEXT] = "";

	hx_check(!sl_requests_run(s, &p, NULL, &out, NULL, err, sizeof(err)), "%s", err);
	return (double)out.makespan_ns / 1e9;
}

static void compare(unsigned i, unsigned times, uint64_t seed, const char *with, const char *order,
		    double most)
{
	struct sl_requests_app app[4];
	struct sl_requests s;
	double base, other;

	situation(i, times, seed, &s, app);
	base = takes(&s, with);
	other = takes(&s, order);
	hx_check(other <= most * base, "situation %u with seed %" PRIu64 ": %s %.3f s, %s %.3f s",
		 i, seed, with, base, order, other);
	free(s.name);
}

static void wrong_tree(const char *path)
{
	FILE *f = fopen(path, "we");

	hx_check(f, "%s cannot be written", path);
	if (!f)
		return;
	fputs("sluice-tree 1\nclass: sjf\ntree:\n: sjf\n", f);
	fclose(f);
}

int main(void)
{
	struct hx_rng g = { hx_seed() };
	char path[] = "/tmp/sluice-prop-auto-XXXXXX", taken[100], corrected[100];
	int fd = mkstemp(path);

	hx_case("auto is never slower than to by 5 %%");
	for (uint64_t n = hx_scaled(24); n; n--)
		compare((unsigned)hx_below(&g, SITUATIONS), 1, hx_below(&g, 1000), "to", "auto",
			1.05);
	hx_end();
	hx_case("a tree that is wrong is corrected");
	wrong_tree(path);
	snprintf(taken, sizeof(taken), "auto,correct=no,tree=%s", path);
	snprintf(corrected, sizeof(corrected), "auto,tree=%s", path);
	for (uint64_t n = hx_scaled(4); n; n--)
		compare(STRIDED_READS_ON_EDEL, 8, hx_below(&g, 1000), taken, corrected, 0.9);
	hx_end();
	if (fd >= 0)
		close(fd);
	unlink(path);
	return hx_finish();
}
