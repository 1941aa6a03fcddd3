/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of a phase-level simulation: a platform, applications that alternate between computing
 * and I/O, the window in which they are measured, and the policies to compare.
 *
 * Plain data in SI units (seconds, bytes, bytes per second), as doubles: everything here comes
 * from people or from distributions. scenario.c reads and writes it as YAML; generate.c and
 * darshan.c make it; phase.c runs it.
 */
#ifndef SL_SIM_SCENARIO_H
#define SL_SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SL_SIM_NAME	  64
#define SL_SIM_APPS	  1000000U
#define SL_SIM_PROCS	  (1U << 31) /* of one application */
#define SL_SIM_SERVERS	  100000U
#define SL_SIM_ITERATIONS UINT64_C(1000000000000)
/* Upper limit of times, volumes and bandwidths. */
#define SL_SIM_SECONDS 1e9
#define SL_SIM_BYTES   1e18
/* Upper limit of a run: sl_time has nanoseconds up to 4.6e9 s. */
#define SL_SIM_LATEST_S 4e9

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
	uint32_t count; /* of the list */
	double a, b;
	double *list; /* owned by the scenario; the next application may have the same */
};

struct sl_app {
	char name[SL_SIM_NAME];
	uint32_t procs;
	double release_s;
	uint64_t iterations; /* 0: until the window ends */
	struct sl_vary compute_s, volume_bytes;
	double period_hint_s; /* w_iter as the policies are told; 0: what the means give */
	uint32_t line;	      /* of its file; 0: none */
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
/* The same from `length` bytes; file: for messages and as name. */
int sl_scenario_parse(const char *file, const char *text, size_t length, struct sl_scenario *out,
		      char *err, size_t err_size);
/*
 * Whether all is in range: for scenarios that programs make, and that nothing has read. 0, or
 * -EINVAL with a message that names the key.
 */
int sl_scenario_check(const struct sl_scenario *s, char *err, size_t err_size);
/*
 * Whether it makes sense as a whole, for one that is in range (scenario-sense.c): names differ, the
 * processors suffice if each job were alone, and each then ends. 0, or -errno and what is wrong.
 * A scenario that was read has been checked.
 */
#define SL_SCENARIO_PLATFORM UINT32_MAX
struct sl_scenario_fault {
	uint32_t app, other; /* with which application, and which it does not get on with */
	char text[300];
};
int sl_scenario_sense(const struct sl_scenario *s, struct sl_scenario_fault *f);
/*
 * Bytes per second that all together would move if none had to wait for another, without a burst
 * buffer: the load is that over the bandwidth.
 */
double sl_scenario_asks_bps(const struct sl_scenario *s);
uint64_t sl_scenario_procs(const struct sl_scenario *s); /* of all jobs together */
/*
 * Writes what sl_scenario_load() reads, equal to the last bit but for its own name. 0 or -errno;
 * -EINVAL: sl_scenario_check() says why.
 */
int sl_scenario_save(FILE *file, const struct sl_scenario *s);
void sl_scenario_free(struct sl_scenario *s);
/* The time of one iteration alone on the platform, by the means of its distributions: alone.c. */
double sl_app_alone_s(const struct sl_platform *p, const struct sl_app *a);
/* The bandwidth of its I/O server's disks that it can use: min(b * beta, B / servers). */
double sl_app_cap_bps(const struct sl_platform *p, const struct sl_app *a);
/* A name is something printable that fits; an iteration takes some time. */
bool sl_app_name_ok(const char *name);
bool sl_app_does_something(const struct sl_app *a);

#endif
