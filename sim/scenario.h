/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a phase-level simulation runs: a platform, applications that alternate between computing
 * and I/O, the window in which they are judged, and the policies to compare.
 *
 * Plain data in SI units (seconds, bytes, bytes per second), as doubles: everything here comes
 * from people or from distributions. scenario.c reads and writes it as YAML; generate.c and
 * darshan.c make it; phase.c runs it.
 */
#ifndef SL_SIM_SCENARIO_H
#define SL_SIM_SCENARIO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SL_SIM_NAME 64

struct sl_platform {
	double bandwidth_bps; /* B: of the I/O system */
	double per_proc_bps;  /* b: of one processor; 0: no limit */
	uint64_t procs;	      /* N; 0: what the applications use together */
	uint32_t servers;     /* I/O servers; each application uses one, B/servers; 1: plain B */
	double buffer_bytes;  /* of a burst buffer; 0: there is none. It drains at B. */
	double buffer_bps;    /* at which it takes data from all applications; 0: no limit */
	double restart_s;     /* lost whenever an interrupted transfer goes on */
};

enum sl_vary_kind {
	SL_VARY_CONSTANT,    /* a */
	SL_VARY_UNIFORM,     /* a .. b */
	SL_VARY_NORMAL,	     /* mean a, standard deviation b, cut off at 0 */
	SL_VARY_EXPONENTIAL, /* mean a */
	SL_VARY_LIST,	     /* list[0], list[1], ..., and again from the start */
};

/* A quantity of every iteration. */
struct sl_vary {
	enum sl_vary_kind kind;
	double a, b;
	double *list; /* owned by the scenario */
	uint32_t count;
};

struct sl_app {
	char name[SL_SIM_NAME];
	uint32_t procs;
	double release_s;
	uint64_t iterations; /* 0: until the window ends */
	struct sl_vary compute_s, volume_bytes;
	double period_hint_s; /* w_iter as the policies are told; 0: what the means give */
};

struct sl_scenario {
	char *name; /* of its file, or what made it */
	struct sl_platform platform;
	double from_s, to_s; /* window; to_s 0: until the last application ends */
	struct sl_app *apps; /* `count:` in the file has been expanded */
	uint32_t n_apps;
	char **policies; /* specs, "min-max,gamma=50"; may be none */
	uint32_t n_policies;
};

/*
 * Reads YAML. 0, or -errno with a message for people in err that names file, line and key:
 *	mix.yaml:12: jobs[1].volume: '-3G' is negative
 */
int sl_scenario_load(const char *path, struct sl_scenario *out, char *err, size_t err_size);
/* Writes what sl_scenario_load() reads, equal to the last bit. 0 or -errno. */
int sl_scenario_save(FILE *file, const struct sl_scenario *s);
void sl_scenario_free(struct sl_scenario *s);
/* What one iteration takes alone on the platform, by the means of its distributions. */
double sl_app_alone_s(const struct sl_platform *p, const struct sl_app *a);

#endif
