/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metadata operations of this process, and limits on data calls: the client's side of wire/ops.h.
 */
#ifndef SL_CLIENT_OPS_H
#define SL_CLIENT_OPS_H

#include "client/conn/turn.h"

/* The rest of ops_made(): first contact, limits, credit. Keeps errno. Not a cancellation point. */
void ops_pay(enum sl_class which, int64_t since_ns);

/* A metadata call in the layer is over: count it, and wait if a limit requires it. since_ns: from
 * ops_since(). */
static inline void ops_made(enum sl_class which, int64_t since_ns)
{
	struct sl_turn_job *job = atomic_load_explicit(&turn_own.job, memory_order_acquire);

	if (__builtin_expect(
		    job &&
			    turn_word_of(job) ==
				    atomic_load_explicit(&turn_own.open, memory_order_relaxed) &&
			    !atomic_load_explicit(&job->ops, memory_order_relaxed),
		    1))
		account_operation(job, which);
	else
		ops_pay(which, since_ns);
}

int64_t ops_sample(uint32_t ops);

/* Before a metadata call: the time, if it is one of those that are timed; else 0. */
static inline int64_t ops_since(void)
{
	struct sl_turn_job *job = atomic_load_explicit(&turn_own.job, memory_order_relaxed);
	uint32_t ops = job ? atomic_load_explicit(&job->ops, memory_order_relaxed) : 0;

	return __builtin_expect(ops & SL_OPS_TIMED, 0) ? ops_sample(ops) : 0;
}

/*
 * The same for a call of another process, before it is made: see client/gate/. False: it has to
 * wait, which ops_wait_other() does.
 */
struct ops_other {
	struct sl_turn_job *job;
	int64_t until_ns; /* of meters */
	uint64_t number;
	uint32_t limits;
	uint8_t queue;
	bool leased; /* no credit covers its number yet */
};
bool ops_begin_other(struct ops_other *o, enum sl_class which);
void ops_wait_other(const struct ops_other *o);

/*
 * A data call has moved `bytes`, in a job with SL_TURN_METERED. wait: until its meters are paid
 * off.
 */
void ops_moved(struct sl_turn_job *job, enum sl_op op, uint64_t bytes, bool wait);
/* Whether a data call of this direction need not wait for a meter; else, if `wait`, wait. */
bool ops_may_move(struct sl_turn_job *job, enum sl_op op, bool wait);

#endif
