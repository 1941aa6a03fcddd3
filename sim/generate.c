/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workload makers: scenarios with the distributions of the papers, equal for equal seeds.
 *
 * Sources. RR-8519: Gainaru et al., "Scheduling the I/O of HPC applications under congestion",
 * 2014. RR-9537: Barthélemy et al., "Implementation of an unbalanced I/O bandwidth management
 * system in a parallel file system", 2024. TOPC: Aupy, Gainaru, Le Fèvre, "I/O scheduling strategy
 * for periodic applications", ACM TOPC 6(2), 2019, which gives the numbers that RR-8519 shows in
 * figures only. ALCF: the pages of the Argonne Leadership Computing Facility on the machines.
 *
 *			Intrepid		Mira			from
 *	B		64 GB/s			240 GB/s		TOPC Table 5
 *	b		12.5 MB/s		31.25 MB/s		TOPC Table 5
 *	N		40,960 nodes		49,152 nodes		TOPC Table 5
 *	burst buffer	640 x 2 GB		384 x 16 GB		ALCF: memory of I/O nodes
 *	small		64 .. 1,284 nodes	128 .. 1,284		RR-8519 4.1
 *	large		1,285 .. 4,584		the same		RR-8519 4.1
 *	very large	4,585 .. N		the same		RR-8519 4.1
 *	w		2 .. 7,500 s		0.5 .. 1,875 s		TOPC 4.4
 *	t_io / w	20 % .. 35 % on average	the same		RR-8519 4.2
 *
 * An application of these kinds is drawn as follows; what RR-8519 leaves open is our choice. Its
 * size is log-uniform in its class; then all sizes are scaled so that together they fill the
 * machine, as far as the classes' borders allow, and N is what they use together (RR-8519, 2.2).
 * w is uniform. t_io / w is uniform between 0 and twice the mean, so that there are
 * applications that compute and others that mostly write, as 4.2 says ("mix": between 20 % and
 * 35 % each). vol = (t_io / w) w min(beta b, B). It is released between 0 and w. It has as many
 * iterations as fit into the time that `iterations` of the longest take alone, so that all
 * would end together if there were no congestion.
 *
 * Example: 4,096 nodes of Intrepid, w = 1,000 s, t_io / w = 0.2: alone it writes at
 * 4,096 x 12.5 MB/s = 51.2 GB/s, so vol = 0.2 x 1,000 s x 51.2 GB/s = 10.24 TB. Ten of them ask
 * for 10 x 10.24 TB / 1,200 s = 85.3 GB/s of B = 64 GB/s: a load of 1.33.
 *
 * `load` asks for a load and finds B for it: the fixed point of
 * B = sum of vol / (w + t_io) / load, where vol and t_io depend on B if beta b > B. For moments of
 * congestion whose logs are not public: what was asked of the file system then is not known from
 * the machine's numbers.
 *
 * iosets is RR-9537, section 5: jobs of 18 s + 128 MiB and jobs of 360 s + 2560 MiB on
 * 110 MiB/s; nothing is drawn but the errors of the hints. persched is TOPC Tables 1 and 2 on the
 * platform of its section 4.1 (640 processors, b = 10 MB/s, B = 3 GB/s): sizes divided by 64 and
 * w multiplied by 64, as its 4.2 says; nothing is drawn.
 *
 * O(applications).
 */
#include "sim/generate.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/random.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MIB	 1048576.0
#define GB	 1e9

/* ---- the numbers ---- */

struct machine {
	double bandwidth_bps, per_proc_bps, buffer_bytes;
	double procs;
	double smallest; /* application, in nodes: what shares one I/O node */
	double compute_min_s, compute_max_s;
};

static const struct machine intrepid = { 64 * GB, 12.5e6, 640 * 2 * GB, 40960, 64, 2, 7500 };
static const struct machine mira = { 240 * GB, 31.25e6, 384 * 16 * GB, 49152, 128, 0.5, 1875 };

static const char *const class_name[SL_APP_CLASSES] = { "small", "large", "very-large" };

/* TOPC, Table 1. */
static const struct {
	const char *name;
	double compute_s, volume_bytes;
	uint32_t procs;
} persched_app[] = {
	{ "turbulence1", 70, 128.2 * GB, 32768 },
	{ "turbulence2", 1.2, 235.8 * GB, 4096 },
	{ "astrophysics", 240, 423.4 * GB, 8192 },
	{ "plasmaphysics", 7554, 34304 * GB, 32768 },
};

/* TOPC, Table 2: how many of each. */
static const uint32_t persched_set[][COUNT(persched_app)] = {
	{ 0, 10, 0, 0 }, { 0, 8, 1, 0 }, { 0, 6, 2, 0 }, { 0, 4, 3, 0 }, { 0, 2, 0, 1 },
	{ 0, 2, 4, 0 },	 { 1, 2, 0, 0 }, { 0, 0, 1, 1 }, { 0, 0, 5, 0 }, { 1, 0, 1, 0 },
};

static const struct {
	const char *name, *source;
} kinds[SL_GENERATE_KINDS] = {
	[SL_GENERATE_INTREPID] = { "intrepid", "Small and large applications on Intrepid, as in "
					       "RR-8519 (Gainaru et al. 2014), 4.1\n"
					       "and 4.2; its Figure 6a is ten large ones. B, b, N "
					       "and compute times: Aupy, Gainaru,\n"
					       "Le Fevre, ACM TOPC 6(2), 2019, Table 5 and 4.4. "
					       "Burst buffer: I/O nodes' memory.\n" },
	[SL_GENERATE_MIRA] = { "mira", "Small and large applications on Mira, as in RR-8519 "
				       "(Gainaru et al. 2014), 4.1 and\n"
				       "4.4. B, b, N and compute times: Aupy, Gainaru, Le Fevre, "
				       "ACM TOPC 6(2), 2019,\n"
				       "Table 5 and 4.4. Burst buffer: I/O nodes' memory.\n" },
	[SL_GENERATE_MIX] = { "mix", "Small, large and very large applications (RR-8519, Gainaru "
				     "et al. 2014, 4.1) side\n"
				     "by side on Intrepid, I/O 20 % to 35 % of the computing time "
				     "each (4.2).\n" },
	[SL_GENERATE_IOSETS] = { "iosets", "Jobs of high frequency (18 s + 128 MiB) and of low "
					   "(360 s + 2560 MiB) on 110 MiB/s,\n"
					   "judged from 400 s to 3200 s: RR-9537 (Barthelemy et "
					   "al. 2024), section 5, Figure 4.\n" },
	[SL_GENERATE_PERSCHED] = { "persched", "A set of Aupy, Gainaru, Le Fevre, ACM TOPC 6(2), "
					       "2019, Tables 1 and 2, on the\n"
					       "platform of its 4.1: 640 processors of 10 MB/s, B "
					       "= 3 GB/s.\n" },
};

const char *sl_generate_name(enum sl_generate_kind kind)
{
	return (unsigned)kind < SL_GENERATE_KINDS ? kinds[kind].name : NULL;
}

const char *sl_generate_source(enum sl_generate_kind kind)
{
	return kinds[kind].source;
}

void sl_generate_defaults(struct sl_generate *g, enum sl_generate_kind kind)
{
	*g = (struct sl_generate){ .kind = kind, .seed = 1, .iterations = 20 };
	switch (kind) {
	case SL_GENERATE_INTREPID:
	case SL_GENERATE_MIRA:
		g->apps[SL_APP_SMALL] = 50; /* RR-8519, Figure 6c */
		g->apps[SL_APP_LARGE] = 5;
		g->io_ratio = 0.2;
		break;
	case SL_GENERATE_MIX:
		g->apps[SL_APP_SMALL] = 10;
		g->apps[SL_APP_LARGE] = 3;
		g->apps[SL_APP_VERY_LARGE] = 2;
		break;
	case SL_GENERATE_IOSETS:
		g->high = 1;
		g->low = 15;
		g->iterations = 0;
		break;
	case SL_GENERATE_PERSCHED:
		g->set = 1;
		g->iterations = 0;
		break;
	case SL_GENERATE_KINDS:
		break;
	}
}

/* ---- drawing ---- */

static double gn_uniform(struct sl_random *r, double lo, double hi)
{
	return lo + (hi - lo) * sl_random_unit(r);
}

/* People read these numbers. */
static double gn_round(double x, double per_unit)
{
	return round(x * per_unit) / per_unit;
}

/* As RR-8519 4.3 has it, uniform between x and (1 + by) x, but with the mean where it was. */
static struct sl_vary gn_vary(double mean, double by)
{
	double least = mean / (1 + by / 2);

	if (by <= 0)
		return (struct sl_vary){ .kind = SL_VARY_CONSTANT, .a = mean };
	return (struct sl_vary){ .kind = SL_VARY_UNIFORM, .a = least, .b = least * (1 + by) };
}

__attribute__((format(printf, 3, 4))) static int gn_error(char *err, size_t size,
							  const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, size, format, args);
	va_end(args);
	return -EINVAL;
}

/* ---- intrepid, mira, mix ---- */

struct drawn {
	enum sl_app_class class;
	double size; /* nodes */
	double compute_s, ratio, release_s;
};

static void gn_borders(const struct machine *m, enum sl_app_class class, double *lo, double *hi)
{
	*lo = class == SL_APP_SMALL ? m->smallest : class == SL_APP_LARGE ? 1285 : 4585;
	*hi = class == SL_APP_SMALL ? 1284 : class == SL_APP_LARGE ? 4584 : m->procs;
}

/* Until nothing changes any more, or what is at a border holds the rest back. */
static void gn_fill(const struct machine *m, struct drawn *d, uint32_t n)
{
	for (int round = 0; round < 64; round++) {
		double sum = 0;

		for (uint32_t i = 0; i < n; i++)
			sum += d[i].size;
		for (uint32_t i = 0; i < n; i++) {
			double lo, hi;

			gn_borders(m, d[i].class, &lo, &hi);
			d[i].size = fmin(fmax(d[i].size * m->procs / sum, lo), hi);
		}
	}
	for (uint32_t i = 0; i < n; i++)
		d[i].size = floor(d[i].size);
}

/* B at which all together ask for `load` times B; 0: there is none. */
static double gn_bandwidth(const struct machine *m, const struct drawn *d, uint32_t n, double load)
{
	double b = m->procs * m->per_proc_bps;

	for (int round = 0; round < 1000; round++) {
		double asked = 0;

		for (uint32_t i = 0; i < n; i++)
			asked += d[i].ratio / (1 + d[i].ratio) *
				 fmin(d[i].size * m->per_proc_bps, b);
		b = asked / load;
	}
	return b < 1e6 ? 0 : round(b);
}

static uint32_t gn_draw(const struct sl_generate *g, const struct machine *m, struct drawn *d)
{
	uint32_t n = 0;

	for (int class = SL_APP_CLASSES - 1; class >= 0; class --) {
		double lo, hi;

		gn_borders(m, (enum sl_app_class) class, &lo, &hi);
		for (uint32_t i = 0; i < g->apps[class]; i++, n++) {
			/* Others of its class, or of another, change nothing in what is drawn. */
			struct sl_random rng =
				sl_random_stream(g->seed, (uint64_t) class << 32 | i);

			d[n].class = (enum sl_app_class) class;
			d[n].size = exp(gn_uniform(&rng, log(lo), log(hi)));
			d[n].compute_s = gn_round(
				gn_uniform(&rng, m->compute_min_s, m->compute_max_s), 1000);
			d[n].ratio = g->io_ratio > 0 ? gn_uniform(&rng, 0, 2 * g->io_ratio)
						     : gn_uniform(&rng, 0.2, 0.35);
			d[n].release_s = gn_round(gn_uniform(&rng, 0, d[n].compute_s), 1000);
		}
	}
	gn_fill(m, d, n);
	return n;
}

static int gn_check_machine(const struct sl_generate *g, const struct machine *m, char *err,
			    size_t size)
{
	double least = 0, lo, hi;

	for (int class = 0; class < SL_APP_CLASSES; class ++) {
		gn_borders(m, (enum sl_app_class) class, &lo, &hi);
		least += lo * g->apps[class];
	}
	if (least > m->procs)
		return gn_error(
			err, size,
			"so many applications need at least %.0f nodes, the machine has %.0f",
			least, m->procs);
	return 0;
}

static int gn_machine(const struct sl_generate *g, const struct machine *m, struct sl_scenario *s,
		      char *err, size_t size)
{
	uint32_t of_class[SL_APP_CLASSES] = { 0 };
	double longest_s = 0, b = m->bandwidth_bps;
	struct drawn *d;

	if (gn_check_machine(g, m, err, size))
		return -EINVAL;
	d = calloc(s->n_apps, sizeof(*d));
	if (!d)
		return -ENOMEM;
	gn_draw(g, m, d);
	if (g->load > 0)
		b = gn_bandwidth(m, d, s->n_apps, g->load);
	if (b <= 0) {
		free(d);
		return gn_error(err, size,
				"these applications cannot make a load of %g: each waits for its "
				"own I/O. Take more of them, or a larger I/O ratio",
				g->load);
	}
	s->platform.bandwidth_bps = b;
	s->platform.per_proc_bps = m->per_proc_bps;
	s->platform.buffer_bytes = g->buffer ? m->buffer_bytes : 0;
	for (uint32_t i = 0; i < s->n_apps; i++)
		longest_s = fmax(longest_s, d[i].compute_s * (1 + d[i].ratio));
	for (uint32_t i = 0; i < s->n_apps; i++) {
		struct sl_app *a = &s->apps[i];
		double rate = fmin(d[i].size * m->per_proc_bps, b);
		double volume = gn_round(d[i].ratio * d[i].compute_s * rate, 1e-6);

		snprintf(a->name, sizeof(a->name), "%s-%u", class_name[d[i].class],
			 ++of_class[d[i].class]);
		a->procs = (uint32_t)d[i].size;
		a->release_s = d[i].release_s;
		a->compute_s = gn_vary(d[i].compute_s, g->vary_compute);
		a->volume_bytes = gn_vary(fmax(volume, 1e6), g->vary_volume);
		a->iterations = (uint64_t)ceil((double)g->iterations * longest_s /
					       (d[i].compute_s * (1 + d[i].ratio)));
	}
	if (!g->iterations)
		s->to_s = ceil(20 * longest_s);
	free(d);
	return 0;
}

/* ---- iosets, persched ---- */

static void gn_iosets(const struct sl_generate *g, struct sl_scenario *s)
{
	s->platform.bandwidth_bps = 110 * MIB;
	s->from_s = 400;
	s->to_s = 3200;
	for (uint32_t i = 0; i < s->n_apps; i++) {
		struct sl_app *a = &s->apps[i];
		int high = i < g->high;
		double compute_s = high ? 18 : 360;
		double volume = high ? 128 * MIB : 2560 * MIB;
		struct sl_random rng = sl_random_stream(g->seed, i);

		if (g->io_ratio > 0)
			volume = round(g->io_ratio * compute_s * s->platform.bandwidth_bps);
		snprintf(a->name, sizeof(a->name), "%s-%u", high ? "high" : "low",
			 high ? i + 1 : i + 1 - g->high);
		a->procs = 8;
		a->compute_s = gn_vary(compute_s, g->vary_compute);
		a->volume_bytes = gn_vary(volume, g->vary_volume);
		a->iterations = g->iterations;
		a->period_hint_s = gn_round(compute_s + volume / s->platform.bandwidth_bps, 10);
		if (g->hint_error)
			a->period_hint_s = gn_round(
				a->period_hint_s * (sl_random_unit(&rng) < 0.5 ? 0.5 : 1.5), 1000);
	}
}

static void gn_persched(const struct sl_generate *g, struct sl_scenario *s)
{
	const uint32_t *of = persched_set[g->set - 1];
	double longest_s = 0;
	uint32_t n = 0;

	assert(g->set >= 1 && g->set <= COUNT(persched_set));
	s->platform.bandwidth_bps = 3 * GB;
	s->platform.per_proc_bps = 10e6;
	for (size_t k = 0; k < COUNT(persched_app); k++) {
		for (uint32_t i = 0; i < of[k]; i++) {
			struct sl_app *a = &s->apps[n++];

			snprintf(a->name, sizeof(a->name), "%s-%u", persched_app[k].name, i + 1);
			a->procs = persched_app[k].procs / 64;
			a->compute_s = gn_vary(persched_app[k].compute_s * 64, g->vary_compute);
			a->volume_bytes = gn_vary(persched_app[k].volume_bytes, g->vary_volume);
			longest_s = fmax(longest_s, sl_app_alone_s(&s->platform, a));
		}
	}
	s->n_apps = n;
	for (uint32_t i = 0; i < n && g->iterations; i++)
		s->apps[i].iterations = (uint64_t)ceil((double)g->iterations * longest_s /
						       sl_app_alone_s(&s->platform, &s->apps[i]));
	if (!g->iterations)
		s->to_s = ceil(200 * longest_s);
}

/* ---- all ---- */

static int gn_policies(struct sl_scenario *s, const char *const *names, uint32_t n)
{
	s->policies = calloc(n, sizeof(*s->policies));
	if (!s->policies)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		s->policies[i] = strdup(names[i]);
		if (!s->policies[i])
			return -ENOMEM;
		s->n_policies++;
	}
	return 0;
}

static int gn_check(const struct sl_generate *g, uint64_t apps, char *err, size_t size)
{
	if (g->kind == SL_GENERATE_PERSCHED && (g->set < 1 || g->set > COUNT(persched_set)))
		return gn_error(err, size, "there are sets 1 to %zu, no set %u",
				COUNT(persched_set), g->set);
	if (apps < 1 || apps > SL_GENERATE_MAX_APPS)
		return gn_error(err, size, "%llu applications are not between 1 and %d",
				(unsigned long long)apps, SL_GENERATE_MAX_APPS);
	if (!(g->io_ratio >= 0 && g->io_ratio <= 1000))
		return gn_error(err, size, "an I/O ratio of %g is not between 0 and 1000",
				g->io_ratio);
	if (!(g->load >= 0 && g->load <= 1000))
		return gn_error(err, size, "a load of %g is not between 0 and 1000", g->load);
	if (!(g->vary_compute >= 0 && g->vary_compute <= 100 && g->vary_volume >= 0 &&
	      g->vary_volume <= 100))
		return gn_error(err, size, "a variation is not between 0 and 100");
	if (g->iterations > 1000000)
		return gn_error(err, size, "iterations are at most 1000000");
	return 0;
}

int sl_generate(const struct sl_generate *g, struct sl_scenario *out, char *err, size_t err_size)
{
	static const char *const sets[] = { "fair-share", "fcfs", "set-10" };
	static const char *const online[] = { "fair-share",	"fcfs",	       "round-robin",
					      "min-dilation",	"max-sys-eff", "min-max,gamma=50",
					      "target-dilation" };
	uint64_t apps = 0;
	int rc;

	*out = (struct sl_scenario){ 0 };
	if (g->kind == SL_GENERATE_IOSETS)
		apps = (uint64_t)g->high + g->low;
	else if (g->kind == SL_GENERATE_PERSCHED)
		apps = 10; /* at most; 640 processors */
	else
		for (int i = 0; i < SL_APP_CLASSES; i++)
			apps += g->apps[i];
	rc = gn_check(g, apps, err, err_size);
	if (rc)
		return rc;
	out->name = strdup(kinds[g->kind].name);
	out->apps = calloc(apps, sizeof(*out->apps));
	out->n_apps = (uint32_t)apps;
	out->platform.servers = 1;
	rc = out->name && out->apps ? 0 : -ENOMEM;
	if (!rc && g->kind == SL_GENERATE_IOSETS)
		gn_iosets(g, out);
	else if (!rc && g->kind == SL_GENERATE_PERSCHED)
		gn_persched(g, out);
	else if (!rc)
		rc = gn_machine(g, g->kind == SL_GENERATE_MIRA ? &mira : &intrepid, out, err,
				err_size);
	if (!rc)
		rc = g->kind == SL_GENERATE_IOSETS ? gn_policies(out, sets, COUNT(sets))
						   : gn_policies(out, online, COUNT(online));
	if (rc == -ENOMEM)
		snprintf(err, err_size, "out of memory");
	if (rc) {
		sl_scenario_free(out);
		*out = (struct sl_scenario){ 0 };
	}
	return rc;
}
