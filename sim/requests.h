/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request-level simulator: processes that call read and write, servers with the daemon's own
 * scheduler and a model device each, in virtual time. See requests.c for the model,
 * requests-read.c for scenarios in YAML.
 *
 * Pure but for memory at the beginning of a run: equal scenarios, policies and seeds give equal
 * results to the bit. Many threads may run the same scenario.
 */
#ifndef SL_SIM_REQUESTS_H
#define SL_SIM_REQUESTS_H

#include <stdbool.h>

#include "model/device.h"
#include "sim/histogram.h"
#include "sim/pattern.h"
#include "sluice.h"

#define SL_REQUESTS_NAME    64
#define SL_REQUESTS_APPS    1024
#define SL_REQUESTS_PROCS   65536 /* of all applications together */
#define SL_REQUESTS_SERVERS 1024
#define SL_REQUESTS_DEPTH   256
#define SL_REQUESTS_WINDOW  1024
#define SL_REQUESTS_TEXT    700 /* of a message */
#define SL_REQUESTS_EVENTS  1024
#define SL_REQUESTS_PLACES  65536

/*
 * Each process makes `calls` calls in a phase, `depth` of them at a time; the next phase begins
 * `compute_ns` after the last process is through with this one.
 */
struct sl_requests_app {
	char name[SL_REQUESTS_NAME];
	uint32_t procs, op; /* op: enum sl_op */
	enum sl_spatial spatial;
	bool per_process;    /* a file each */
	bool background;     /* goes on until all others are through; phases is 1 then */
	uint64_t call_bytes; /* 1 .. SL_MAX_LENGTH */
	uint64_t calls, phases;
	uint32_t depth; /* 1: synchronous */
	sl_time start_ns, compute_ns;
	sl_time think_ns;  /* between the end of a call and the next */
	sl_time jitter_ns; /* before each call up to so much more, by chance */
	struct sl_job_conf conf;
	/* With a controller: its processes are at the servers on[on_first ...], in turn. */
	uint32_t on_first, on_count; /* 0: all at one, application k at server k mod servers */
};

/*
 * A controller that divides the capacity among the servers, as in a layer of several I/O nodes: see
 * requests-control.c.
 */
struct sl_requests_control {
	bool there;
	sl_time delay_ns;   /* of a report to it, and of an order to a server */
	sl_time gap_ns;	    /* a pause that ends a phase of I/O */
	sl_time standby_ns; /* after it has died, the second one leads; SL_NEVER: there is none */
};

/* Something dies. */
struct sl_requests_event {
	sl_time at;
	uint32_t server; /* with the processes that use it; or */
#define SL_REQUESTS_CONTROLLER UINT32_MAX
};

/* Texts may be NULL: the stage's default. */
struct sl_requests_policy {
	const char *text;  /* as people write it: "order=aioli,wait_us=500,share=pool" */
	const char *grant; /* for a scenario with a controller */
	const char *admit, *share, *order;
};

struct sl_requests {
	char *name; /* of its file, or what made it */
	struct sl_striping striping;
	uint64_t transfer_bytes; /* a call is sent in pieces of so much; 0: of any size */
	uint64_t link_bps;	 /* of each process, to and fro; 0: no limit */
	sl_time latency_ns;	 /* of a message */
	/* What the server's own processor takes: to receive, schedule and answer a request; to send
	 * a batch. */
	sl_time request_ns, batch_ns;
	uint32_t window_batches; /* in flight at a server's device; not 0 */
	uint64_t window_bytes;	 /* the same; 0: no limit; one batch always goes */
	/* Of a server, as its scheduler is told; with a controller: of all together, which they keep
	 * to. 0: not known. */
	uint64_t capacity_bps;
	struct sl_requests_control control;
	struct sl_requests_event *events; /* in order of time */
	uint32_t n_events;
	uint32_t *on; /* servers of applications */
	uint32_t n_on;
	sl_time until_ns; /* the run ends then; 0: when all applications are through */
	struct sl_device_model device;
	uint64_t seed;
	struct sl_requests_app *apps;
	uint32_t n_apps;
	struct sl_requests_policy *policies; /* to compare; may be none */
	uint32_t n_policies;
};

struct sl_requests_app_result {
	uint64_t bytes, calls, requests;
	sl_time io_ns;	/* sum of its phases, the computing left out */
	sl_time end_ns; /* of its last phase; background: of the run */
	struct sl_latency call, request;
	uint64_t batches; /* that began with a request of its own */
};

struct sl_requests_result {
	sl_time makespan_ns; /* until the last application that is not in the background is through
			      */
	uint64_t bytes, calls, requests;
	uint64_t device_ops, seeks;
	sl_time busy_ns; /* of all devices together */
	/* With a controller: the most that all servers sent within a second, and its decisions. */
	uint64_t peak_bytes, decisions;
	struct sl_latency call;	   /* from a process's call to its return */
	struct sl_latency request; /* from a request's arrival at its server to its end there */
	uint64_t events; /* arrivals, ends of device operations, starts of calls and phases */
	double wall_s;	 /* what it took to compute; the one figure that does not repeat */
};

/* Sees each batch as it goes to a server's device, which will be done with it at `done`. */
struct sl_requests_sink {
	void (*batch)(void *arg, uint32_t server, const struct sl_batch *b, sl_time now,
		      sl_time done);
	void *arg;
};

/*
 * Runs to the end. policy NULL: the defaults; sink and apps (n_apps entries) may be NULL. 0, or
 * -errno with a message in err.
 */
int sl_requests_run(const struct sl_requests *s, const struct sl_requests_policy *policy,
		    const struct sl_requests_sink *sink, struct sl_requests_result *out,
		    struct sl_requests_app_result *apps, char *err, size_t err_size);

/* The seed of an application's struct sl_pattern, so that others can tell where its calls go. */
uint64_t sl_requests_pattern_seed(const struct sl_requests *s, uint32_t app);

/*
 * Of requests-bench.c's load, about so many requests of 1 .. SL_REQUESTS_APPS applications; what it
 * took is in out->wall_s. 0, or -errno with a message in err.
 */
int sl_requests_bench(const char *policy, uint32_t apps, uint64_t requests,
		      struct sl_requests_result *out, char *err, size_t err_size);

/* Everything at its default, with no applications; nothing in it is owned yet. */
void sl_requests_init(struct sl_requests *s);
/* 0, or -errno with a message in err (SL_REQUESTS_TEXT bytes) that names file, line and key. */
int sl_requests_load(const char *path, struct sl_requests *out, char *err, size_t err_size);
int sl_requests_parse(const char *file, const char *text, size_t length, struct sl_requests *out,
		      char *err, size_t err_size);
void sl_requests_free(struct sl_requests *s);

/*
 * "order=aioli,wait_us=500,share=pool": stages in any order, what is left out is the default. 0,
 * or -errno with a message in err.
 */
int sl_requests_policy_parse(const char *text, struct sl_requests_policy *out, char *err,
			     size_t err_size);
void sl_requests_policy_free(struct sl_requests_policy *p);

#endif
