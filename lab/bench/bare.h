/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A minimal file server over TCP: receive a request, make the system call, answer. It is the
 * baseline for a layer over TCP. No policy, no authentication, one thread for each connection.
 */
#ifndef SL_LAB_BENCH_BARE_H
#define SL_LAB_BENCH_BARE_H

#include "lab/private.h"

/* A server on 127.0.0.1 for the files DIR/0, DIR/1, …, as a process of p. Its port, or 0. */
unsigned bare_start(struct private *p);
/* CPU time that the server has used so far. */
int64_t bare_cpu_ns(void);

/* In a worker: a socket or -1, errno; then one call at a time, as pwrite() or pread(). */
int bare_connect(unsigned port);
ssize_t bare_call(int sock, bool write, unsigned file, void *buffer, uint32_t size, uint64_t at);

#endif
