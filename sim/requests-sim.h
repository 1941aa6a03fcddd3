/* SPDX-License-Identifier: Apache-2.0 */
/* State of a request-level simulation, for requests.c (events) and requests-run.c (memory). */
#ifndef SL_SIM_REQUESTS_SIM_H
#define SL_SIM_REQUESTS_SIM_H

#include "base/ds/heap.h"
#include "sim/requests.h"

#define NONE UINT32_MAX

struct call {
	uint32_t proc;
	uint32_t next;	      /* in the sending queue of its process */
	uint32_t used;	      /* of its requests */
	uint32_t first;	      /* server of the file's first stripe */
	uint64_t round;	      /* for chance */
	uint64_t file;	      /* as the schedulers know it */
	uint64_t offset, end; /* what is still to be sent */
	uint64_t missing;     /* bytes not answered */
	sl_time issued;
	struct sl_request *request;
};

struct proc {
	uint32_t app, index;
	uint32_t server, place; /* with a controller: where it is; of its job there */
	bool gone;		/* its server has died */
	uint32_t head, tail;	/* calls that have something to send */
	uint64_t planned, begun, ended;
	sl_time out_free, in_free; /* its link */
	struct sl_piece piece;	   /* that arrives next */
};

struct app {
	const struct sl_requests_app *is;
	struct sl_pattern pattern;
	uint32_t call0, file; /* its first ones */
	uint64_t quota;	      /* calls of a process until the end of this phase */
	uint64_t phase;
	uint32_t running; /* processes not through with the phase */
	uint32_t alive;	  /* processes whose server has not died */
	uint32_t proc0;	  /* its first one */
	uint32_t pieces;  /* of a call, at most */
	bool in_phase;
	sl_time begun, end, io_ns;   /* of the phase; the last return so far; of phases so far */
	sl_time piece_ns, header_ns; /* on the link: a whole piece, a header */
	uint64_t bytes, batches;
	struct sl_histogram call, request;
};

struct flight {
	const struct sl_batch *batch;
	sl_time done;
};

struct server {
	struct sl_sched *sched;
	struct sl_device device;
	sl_time cpu_free;      /* its processor is busy until then */
	struct flight *flight; /* a ring: devices are first in first out */
	uint32_t head, count;
	uint64_t bytes;
	bool dirty; /* something has changed */
	bool dead;
};

struct sim {
	const struct sl_requests *s;
	const struct sl_requests_sink *sink;
	struct app *app;
	struct proc *proc;
	struct call *call;
	struct server *server;
	struct sl_request *request;
	struct flight *flight;
	struct sl_heap heap;
	void *heap_memory;
	uint32_t procs, calls, requests, files;
	/* Numbers of events: processes come first. */
	uint32_t at_call, at_server, at_report, at_control, at_app;
	struct control *control;  /* NULL: servers are on their own */
	uint32_t *dirty, n_dirty; /* servers to ask */
	uint32_t unfinished;
	sl_time now;
	uint64_t events;
	const char *error; /* why it could not go on */
};

/* ---- requests-control.c: servers that are I/O nodes with a controller ---- */

/* 0 or -errno with a message. */
int sl_control_create(struct sim *m, const struct sl_requests_policy *policy, char *err,
		      size_t err_size);
void sl_control_destroy(struct sim *m);
struct sl_limits sl_control_limits(const struct sim *m, uint32_t server);
/* The jobs of the server into its scheduler. */
int sl_control_jobs(struct sim *m, uint32_t server);
/* A phase of the process's job begins; a request of it came to its server; one was answered. */
void sl_control_begins(struct sim *m, const struct proc *p);
void sl_control_added(struct sim *m, const struct proc *p);
void sl_control_answered(struct sim *m, const struct proc *p, uint32_t op, uint64_t bytes);
/* Not before this time may the server send; it has sent. */
sl_time sl_control_pace(const struct sim *m, uint32_t server);
void sl_control_sent(struct sim *m, uint32_t server, uint64_t bytes);
int sl_control_event(struct sim *m, uint32_t id);
void sl_control_result(struct sim *m, struct sl_requests_result *out);
/* requests.c: the server has died, and the processes that use it with it. */
void sl_requests_kill(struct sim *m, uint32_t server);
void sl_requests_ask(struct sim *m, uint32_t server);

/* Time of so many bytes on a link. */
sl_time sl_requests_link_ns(const struct sl_requests *s, uint64_t bytes);
/* All events, until no application is unfinished. 0 or -errno. */
int sl_requests_loop(struct sim *m);

#endif
