/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice explore`: measure the bandwidth of I/O kernels with several numbers of I/O nodes and
 * order policies, live or on device models. It follows FORGE (Bez et al. 2021, section 2) and the
 * experiments of AGIOS (Boito et al. 2015, section 3).
 *
 *	spec.c    the specification, in YAML; its kernels: kernels.c, and from a log: darshan.c
 *	cells.c   the cells of the exploration, their runs, and when to stop
 *	sim.c     runs on device models
 *	live.c    runs in a layer of our own, which layer.c starts and stops
 *	kernel.c  the processes of a kernel, live
 *	csv.c     runs kept in a file
 *	tables.c  tables for `sluice train` and `sluice allocate`
 *	print.c   the table and JSON, html.c the page
 *
 * cli/explore.c is the command. Functions that return int return CLI_OK or an exit status after
 * printing the error.
 */
#ifndef SL_LAB_EXPLORE_EXPLORE_H
#define SL_LAB_EXPLORE_EXPLORE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/yaml.h"
#include "sim/requests.h"

#define EXPLORE_CMD    "explore"
#define EXPLORE_NAME   64
#define EXPLORE_LIST   64 /* values of a key */
#define EXPLORE_TEXT   700
#define EXPLORE_RUNS   10000
#define EXPLORE_META   2U	  /* an operation beside enum sl_op: create, stat, unlink */
#define EXPLORE_DIRECT UINT32_MAX /* for an order: no I/O node, so none orders */
/* In place of an order: programs make their calls themselves, in turns. */
#define EXPLORE_TURN "turn"

/* One situation: a number of equal applications. */
struct explore_kernel {
	char name[EXPLORE_NAME];
	uint32_t apps, procs, nodes; /* procs, nodes: of each application */
	bool per_process;
	enum sl_spatial spatial;
	uint32_t op; /* enum sl_op, or EXPLORE_META: then a byte stands for a call */
	uint64_t request_bytes, data_bytes; /* data: of each process */
	sl_time limit_ns;		    /* 0: none */
	bool fsync, direct;
	size_t line; /* of the specification; 0: not from there */
};

struct explore_device {
	char name[EXPLORE_NAME]; /* as written; "": none, live */
	struct sl_device_model model;
};

struct explore_spec {
	char *path;
	uint64_t seed;
	uint32_t least, most;	  /* runs of a cell */
	double confidence, error; /* fractions of 1 */
	char *directory, *share, *admit, *capacity;
	uint32_t ionodes[EXPLORE_LIST], n_ionodes;
	char *order[EXPLORE_LIST];
	uint32_t n_orders;
	struct explore_device device[EXPLORE_LIST];
	uint32_t n_devices; /* not 0 after explore_check() */
	double ratio[2];    /* by enum sl_op, of a real directory; 0: not known */
	uint32_t servers;   /* devices, when access is direct */
	uint64_t stripe_bytes;
	struct sl_requests platform; /* for simulations: transfer, link, latency, window */
	sl_time jitter_ns;
	struct explore_kernel *kernel;
	uint32_t n_kernels;
};

/* ---- the specification ---- */

void explore_init(struct explore_spec *s);
/* 0, or -errno with a message (EXPLORE_TEXT bytes) that names file, line and key. */
int explore_load(const char *path, struct explore_spec *s, char *err, size_t err_size);
int explore_parse(const char *file, const char *text, size_t length, struct explore_spec *s,
		  char *err, size_t err_size);
/*
 * After all kernels were read: check that the specification is complete, and possible live or
 * simulated. As above.
 */
int explore_check(struct explore_spec *s, bool simulate, char *err, size_t err_size);
void explore_free(struct explore_spec *s);
/* The list of kernels, for sl_yaml_mapping(). */
int explore_take_kernels(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into);
/* Another kernel, which is copied. 0 or -ENOMEM. */
int explore_add_kernel(struct explore_spec *s, const struct explore_kernel *k);
/* A kernel from what darshan-parser printed. */
int explore_darshan(struct explore_spec *s, const char *path);

bool explore_is_meta(const struct explore_kernel *k);
/* Whether the order is EXPLORE_TURN. */
bool explore_in_turn(const struct explore_spec *s, uint32_t order);
const char *explore_op(const struct explore_kernel *k);	    /* "read" */
const char *explore_layout(const struct explore_kernel *k); /* "shared-strided" */
const char *explore_spatiality(const struct explore_kernel *k);
uint32_t explore_files(const struct explore_kernel *k); /* of all applications */
uint64_t explore_file_bytes(const struct explore_kernel *k);
uint64_t explore_bytes(const struct explore_kernel *k); /* of all applications */

/* ---- cells ---- */

struct explore_run {
	double seconds;
	uint64_t bytes;
};

struct explore_cell {
	const struct explore_kernel *kernel;
	const struct explore_device *device;
	uint32_t ionodes;
	uint32_t order; /* of the specification's, or EXPLORE_DIRECT */
	struct explore_run *run;
	uint32_t runs, room;
};

struct explore {
	const struct explore_spec *spec;
	bool simulate;
	struct explore_cell *cell; /* by device, kernel, ionodes, order */
	uint32_t n_cells;
	uint32_t threads;
	struct explore_csv *csv; /* NULL: runs are kept in memory only */
	uint64_t kept;		 /* runs that were in the file already */
};

/* The result of a cell's runs: the mean, and half the width of its interval (NAN with one run). */
struct explore_estimate {
	double mean, half;
};

int explore_cells(struct explore *e, const struct explore_spec *spec, bool simulate);
void explore_cells_free(struct explore *e);
/* Keep a run, in the file too. */
int explore_add(struct explore *e, struct explore_cell *c, const struct explore_run *run);
/* Add a run without writing the file. 0 or -ENOMEM. */
int explore_add_known(struct explore_cell *c, const struct explore_run *run);
bool explore_needs_run(const struct explore_spec *s, const struct explore_cell *c);
const char *explore_policy(const struct explore_spec *s, const struct explore_cell *c);
struct explore_estimate explore_seconds(const struct explore_spec *s, const struct explore_cell *c);
struct explore_estimate explore_mb_s(const struct explore_spec *s, const struct explore_cell *c);
/*
 * The numbers of all cells that need another run, in random order by the seed; returns their count.
 */
uint32_t explore_round(const struct explore *e, uint64_t round, uint32_t *numbers);
/* Sequential over random throughput; 0: not known. */
double explore_ratio(const struct explore *e, const struct explore_cell *c);
/* The cell of the same situation with another order; NULL: there is none. */
const struct explore_cell *explore_sibling(const struct explore *e, const struct explore_cell *c,
					   uint32_t order);

int explore_simulate(struct explore *e);
int explore_live(struct explore *e, const char *directory);

/* A progress line on a terminal: `done` of `total` runs; more may become necessary. */
struct explore_progress {
	bool terminal, shown;
	double begin_s, last_s;
	uint64_t first;
};
void explore_progress_begin(struct explore_progress *p);
void explore_progress(struct explore_progress *p, uint64_t done, uint64_t total, const char *what);
void explore_progress_end(struct explore_progress *p);

/* ---- files ---- */

/* Open or create the file, and add its runs to the cells. directory: of live runs, else NULL. */
int explore_csv_open(struct explore *e, const char *path, const char *directory);
int explore_csv_add(struct explore *e, const struct explore_cell *c, uint32_t run);
int explore_csv_close(struct explore *e, int status);
/* Write a cell of CSV, quoted if necessary. before: written first. */
void explore_quoted(FILE *f, const char *before, const char *text);
/* Write the first columns, which describe the situation without order and time. */
void explore_situation(FILE *f, const struct explore *e, const struct explore_cell *c);
int explore_train_table(const struct explore *e, const char *path);
int explore_curves(const struct explore *e, const char *path);

/* ---- output ---- */

void explore_print(const struct explore *e);
void explore_json(struct json *j, const struct explore *e); /* members of an object */
int explore_page(const struct explore *e, const char *path);

/* ---- a process of a kernel, live ---- */

/* `sluice explore --kernel FD`. */
int explore_kernel_main(const char *fd);

#endif
