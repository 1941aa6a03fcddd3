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
	uint32_t head, tail; /* calls that have something to send */
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
	struct flight *flight; /* a ring: devices are first in first out */
	uint32_t head, count;
	uint64_t bytes;
	bool dirty; /* something has changed */
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
	uint32_t at_call, at_server, at_app; /* numbers of events: processes come first */
	uint32_t *dirty, n_dirty;	     /* servers to ask */
	uint32_t unfinished;
	sl_time now;
	uint64_t events;
	const char *error; /* why it could not go on */
};

/* Time of so many bytes on a link. */
sl_time sl_requests_link_ns(const struct sl_requests *s, uint64_t bytes);
/* All events, until no application is unfinished. 0 or -errno. */
int sl_requests_loop(struct sim *m);

#endif
