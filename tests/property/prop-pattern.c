/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pattern detector makes of streams as they reach a server: processes that call at the
 * same time, calls cut into pieces, files striped over servers, other applications in between. The
 * requests are those of the simulator, with order=to, which sends them in the order they came in.
 *
 * The matrix is AGIOS's (section 3): shared or not, contiguous or strided (and random, which it has
 * not), calls of 16 and 256 KiB in pieces of 8 KiB, reads and writes, 8 and 16 processes, 1 and 4
 * applications, its four devices. At the end each server must say what the processes did; of the
 * files a tenth may be out of use by then.
 * Then streams made up by chance: any number of processes and size of calls, no striping, processes
 * that are served in any order, a part of the requests swapped with the next.
 *
 * The last lines say how long a request takes; no test fails on it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "detect/pattern.h"
#include "sim/requests.h"
#include "tests/property/harness.h"

#define SERVERS	 4
#define TRANSFER 8192
#define FILES	 128

static const enum sl_access_spatial meant[] = {
	[SL_CONTIGUOUS] = SL_ACCESS_CONTIGUOUS,
	[SL_STRIDED] = SL_ACCESS_STRIDED,
	[SL_RANDOM] = SL_ACCESS_RANDOM,
};

/* ---- the matrix, through the simulator ---- */

struct watch {
	struct sl_access *a[SERVERS];
	void *memory[SERVERS];
	uint64_t file[SERVERS][FILES]; /* that it really got requests for */
	uint32_t files[SERVERS];
};

static void really(struct watch *w, uint32_t server, uint64_t file)
{
	uint32_t n = w->files[server];

	for (uint32_t i = 0; i < n; i++)
		if (w->file[server][i] == file)
			return;
	if (n < FILES)
		w->file[server][w->files[server]++] = file;
}

static void saw(void *arg, uint32_t server, const struct sl_batch *b, sl_time now, sl_time done)
{
	struct watch *w = arg;

	(void)now;
	(void)done;
	for (const struct sl_request *r = b->first; r; r = r->next) {
		sl_access_add(w->a[server], r, r->arrival);
		really(w, server, r->file);
	}
}

struct situation {
	const char *device;
	enum sl_spatial spatial;
	bool per_process, large;
	uint32_t op, procs, apps;
};

struct score {
	unsigned asked, spatial, size, files;
};

static void ask(const struct situation *x, struct watch *w, struct score *score)
{
	for (unsigned i = 0; i < SERVERS; i++) {
		struct sl_access_pattern p;
		uint32_t files = w->files[i];
		bool ok;

		sl_access_get(w->a[i], &p);
		score->asked++;
		score->spatial += p.spatial == meant[x->spatial];
		score->size += p.size == (x->large ? SL_ACCESS_LARGE : SL_ACCESS_SMALL);
		score->files += p.files == files;
		ok = p.spatial == meant[x->spatial] &&
		     abs((int)p.files - (int)files) * 10 <= (int)files && p.op == x->op &&
		     p.size == (x->large ? SL_ACCESS_LARGE : SL_ACCESS_SMALL);
		hx_check(ok,
			 "%s, %u applications of %u processes, %s, %s, %s: server %u saw %s, %s "
			 "(%" PRIu64 " bytes), %u files for %u",
			 x->device, x->apps, x->procs, x->per_process ? "per process" : "shared",
			 sl_access_spatial_name(meant[x->spatial]), x->large ? "large" : "small", i,
			 sl_access_spatial_name(p.spatial), sl_access_size_name(p.size),
			 p.call_bytes, p.files, files);
	}
}

static void situation(const struct situation *x, struct score *score)
{
	static char name[] = "pattern";
	struct sl_requests_policy policy = { .order = "to", .share = "pool" };
	struct sl_requests_app app[4] = { 0 };
	struct sl_requests_result result;
	struct sl_requests s;
	struct watch w = { 0 };
	struct sl_requests_sink sink = { saw, &w };
	char err[SL_REQUESTS_TEXT];
	int rc;

	sl_requests_init(&s);
	s.name = name;
	s.striping = (struct sl_striping){ SERVERS, 32768 };
	s.transfer_bytes = TRANSFER;
	s.link_bps = 100000000;
	s.latency_ns = 50000;
	s.device = *sl_device_find(x->device);
	s.seed = hx_seed();
	s.apps = app;
	s.n_apps = x->apps;
	for (uint32_t i = 0; i < x->apps; i++)
		app[i] = (struct sl_requests_app){ .procs = x->procs,
						   .op = x->op,
						   .spatial = x->spatial,
						   .per_process = x->per_process,
						   .call_bytes = x->large ? 262144 : 16384,
						   .calls = x->large ? 16 : 160,
						   .phases = 1,
						   .depth = 1,
						   .jitter_ns = 100000 };
	for (unsigned i = 0; i < SERVERS; i++) {
		struct sl_access_conf conf = { .transfer_bytes = TRANSFER };

		w.memory[i] = malloc(sl_access_bytes(&conf));
		w.a[i] = sl_access_init(w.memory[i], &conf);
	}
	rc = sl_requests_run(&s, &policy, &sink, &result, NULL, err, sizeof(err));
	hx_check(rc == 0, "%s", err);
	ask(x, &w, score);
	for (unsigned i = 0; i < SERVERS; i++)
		free(w.memory[i]);
}

static void matrix(const char *device)
{
	struct score score = { 0 };

	hx_case("%s: every server sees what the processes of AGIOS's matrix do", device);
	for (unsigned n = 0; n < 96; n++) {
		struct situation x = { .device = device,
				       .spatial = (enum sl_spatial)(n % 3),
				       .per_process = n / 3 % 2,
				       .large = n / 6 % 2,
				       .op = n / 12 % 2,
				       .procs = n / 24 % 2 ? 16 : 8,
				       .apps = n / 48 ? 4 : 1 };

		situation(&x, &score);
	}
	printf("# of %u: spatiality %u, size %u, files %u\n", score.asked, score.spatial,
	       score.size, score.files);
	hx_end();
}

/* ---- streams made up by chance ---- */

struct maker {
	struct hx_rng g;
	struct sl_pattern p;
	uint64_t begun[256], at[256], end[256];
	sl_time now;
};

/* The next piece of some process: a call as a whole, or cut. */
static struct sl_request piece(struct maker *m, uint64_t cut)
{
	uint32_t proc = (uint32_t)hx_below(&m->g, m->p.procs);
	struct sl_request r = { .client = 1000 + proc, .op = SL_READ };
	struct sl_place place;

	if (m->at[proc] == m->end[proc]) {
		place = sl_pattern_place(&m->p, proc, m->begun[proc]++ % m->p.calls);
		m->at[proc] = place.offset;
		m->end[proc] = place.offset + m->p.call_bytes;
	}
	r.file = m->p.per_process ? proc : 0;
	r.offset = m->at[proc];
	r.length = m->end[proc] - r.offset;
	if (cut && r.length > cut)
		r.length = cut;
	m->at[proc] += r.length;
	return r;
}

static void chance(uint64_t seed)
{
	struct maker m = { .g = { seed } };
	struct sl_access_conf conf = { 0 };
	struct sl_access_pattern p;
	struct sl_request held = { 0 };
	bool holds = false;
	unsigned swapped = hx_chance(&m.g, 50) ? (unsigned)hx_below(&m.g, 10) : 0;
	uint64_t cut = hx_chance(&m.g, 50) ? hx_log_range(&m.g, 4096, 65536) : 0;
	uint64_t n;
	uint32_t files;
	void *memory;
	struct sl_access *a;

	m.p = (struct sl_pattern){ .spatial = (enum sl_spatial)hx_below(&m.g, 3),
				   .per_process = hx_chance(&m.g, 50),
				   .procs = (uint32_t)hx_log_range(&m.g, 2, 100),
				   .call_bytes = hx_log_range(&m.g, 512, 262144),
				   .calls = UINT64_C(1) << 30,
				   .seed = hx_rand(&m.g) };
	if (cut && m.p.call_bytes / cut > 16) /* more than 1 in 64 must be jumps */
		cut = m.p.call_bytes / 16 + 1;
	memory = malloc(sl_access_bytes(&conf));
	a = sl_access_init(memory, &conf);
	n = 400 * (uint64_t)m.p.procs;
	for (uint64_t i = 0; i < n; i++) {
		struct sl_request r = piece(&m, cut);

		/* One that is overtaken by the next of its process, or by another's. */
		if (!holds && hx_chance(&m.g, swapped)) {
			held = r;
			holds = true;
			continue;
		}
		sl_access_add(a, &r, m.now += 1000);
		if (holds)
			sl_access_add(a, &held, m.now);
		holds = false;
	}
	files = m.p.per_process ? m.p.procs : 1;
	sl_access_get(a, &p);
	hx_check(p.spatial == meant[m.p.spatial],
		 "seed %" PRIu64 ": %u processes, %s, %s, %" PRIu64 " bytes cut at %" PRIu64
		 ", %u%% swapped: seen %s",
		 seed, m.p.procs, m.p.per_process ? "per process" : "shared",
		 sl_access_spatial_name(meant[m.p.spatial]), m.p.call_bytes, cut, swapped,
		 sl_access_spatial_name(p.spatial));
	/* Exact while there is room for all; then one may be missed or seen twice. */
	hx_check(p.files + (m.p.procs > 64) >= files && p.files <= files + (m.p.procs > 64),
		 "seed %" PRIu64 ": %u files for %u", seed, p.files, files);
	free(memory);
}

static void made_up(void)
{
	struct hx_rng g = { hx_seed() };

	hx_case("any number of processes in any order, with requests overtaken, is seen through");
	for (uint64_t i = 0; i < hx_scaled(600); i++)
		chance(hx_rand(&g));
	hx_end();
}

/* More files and processes than are watched: some are watched, all files are counted. */
static void too_many(void)
{
	struct sl_access_conf conf = { .tracks = 32 };
	void *memory = malloc(sl_access_bytes(&conf));
	struct sl_access *a = sl_access_init(memory, &conf);
	struct sl_access_pattern p;

	hx_case("a thousand files in a table of 32 are counted within 5 percent");
	for (uint64_t i = 0; i < 20000; i++) {
		struct sl_request r = { .file = 77 + i % 1000 * 4096,
					.offset = i / 1000 * 4096,
					.length = 4096 };

		sl_access_add(a, &r, (sl_time)i * 1000);
	}
	sl_access_get(a, &p);
	hx_check(p.spatial == SL_ACCESS_CONTIGUOUS, "seen %s", sl_access_spatial_name(p.spatial));
	hx_check(p.files >= 950 && p.files <= 1050, "%u files", p.files);
	free(memory);
	hx_end();
}

/* ---- how long it takes ---- */

static void cost(uint32_t procs, bool per_process, bool random)
{
	enum { N = 1024 }; /* as a request that has just come, in the cache */
	static struct sl_request r[N];
	struct maker m = { .g = { 1 } };
	struct sl_access_conf conf = { 0 };
	void *memory = malloc(sl_access_bytes(&conf));
	struct sl_access *a = sl_access_init(memory, &conf);
	double best = 1e9;

	m.p = (struct sl_pattern){ .spatial = random ? SL_RANDOM : SL_STRIDED,
				   .per_process = per_process,
				   .procs = procs,
				   .call_bytes = 16384,
				   .calls = 1 << 20 };
	for (unsigned i = 0; i < N; i++)
		r[i] = piece(&m, 8192);
	for (unsigned k = 0; k < 2000; k++) {
		struct timespec from, to;
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (unsigned i = 0; i < N; i++)
			sl_access_add(a, &r[i], (sl_time)(k * N + i) * 1000);
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns = ((double)(to.tv_sec - from.tv_sec) * 1e9 +
		      (double)(to.tv_nsec - from.tv_nsec)) /
		     N;
		best = ns < best ? ns : best;
	}
	printf("# %u processes, %s, %s: %.1f ns a request\n", procs,
	       per_process ? "a file each" : "one file", random ? "random" : "strided", best);
	free(memory);
}

int main(void)
{
	static const char *const device[] = { "pastel", "graphene", "suno", "edel" };

	for (unsigned i = 0; i < 4; i++)
		matrix(device[i]);
	made_up();
	too_many();
	cost(1, false, false);
	cost(16, false, false);
	cost(64, true, false);
	cost(256, true, true);
	return hx_finish();
}
