/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations: metadata calls of a job, and limits other than that on all its bytes.
 *
 * A metadata call is an operation of one class:
 *
 *	create      open with O_CREAT, mkdir, mknod, link, symlink, mkstemp
 *	lookup      open, stat, access, readlink, realpath
 *	remove      unlink, rmdir, rename
 *	list        opendir, scandir; readdir counts once for about a system call's worth of entries
 *	attribute   chmod, chown, utime, truncate, xattr, statfs
 *
 * Two mechanisms can hold a job's operations, and both are in its segment (wire/turn.h):
 *
 *	meters   a max: of operations, of a class, of data calls, of bytes read, of bytes written.
 *	         The program enforces it itself, with a tag in time (GCRA). The node sets the rate.
 *	         `found` is one that the node changes ten times a second (sluiced/ionode/storm.h).
 *	credit   a share of the layer's `capacity_ops`. The node grants operations in leases, as it
 *	         does bytes.
 *
 * An operation is paid after the system call and before it returns to the program. By then the
 * kernel has read the path, so reading it is safe, and the result does not depend on the wait.
 *
 * A meter. `tag` is the time at which all charges so far are paid. A call adds its cost and waits
 * until the tag; a pause gives at most SL_METER_BURST_NS of credit.
 *
 *	max 500/s: a step of 2 ms. now 100 ms, tag 70 ms    tag = max(70, 100 - 20) + 2 = 82 ms: go
 *	…ten calls later, now 100.1 ms, tag 102 ms          wait until 102 ms
 *
 * Credit. `used` counts operations, `granted` is how many are allowed: operation number n (from 0)
 * waits until granted > n. The node adds a lease to `granted`, changes `grants` and wakes the
 * waiters whose numbers are now covered, by the bits SL_OPS_BIT(n). A class for which the job has a
 * min or a weight of its own has a queue of its own: it is served beside the other classes, as if
 * it were another job. They share the queue SL_METER_OPS.
 */
#ifndef SL_WIRE_OPS_H
#define SL_WIRE_OPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum sl_class { SL_CREATE, SL_LOOKUP, SL_REMOVE, SL_LIST, SL_ATTRIBUTE, SL_CLASSES };

/* The first are the classes: a limit on each. */
enum sl_meter {
	SL_METER_OPS = SL_CLASSES, /* all classes together */
	SL_METER_IOPS,		   /* data calls */
	SL_METER_READ,		   /* bytes */
	SL_METER_WRITE,
	SL_METERS
};
#define SL_QUEUES (SL_METER_OPS + 1) /* of credit: the classes, and what has none of its own */

#define SL_METER_BURST_NS INT64_C(20000000)
#define SL_METER_TICKS	  64 /* of a tag in a nanosecond */
#define SL_MAX_OPS	  UINT64_C(1000000000)
#define SL_OPS_BIT(n)	  (UINT32_C(1) << (n) % 32)

/* The settings of a job; 0: no limit, no guarantee. */
struct sl_ops_conf {
	uint64_t max[SL_METERS];     /* per second */
	uint64_t min[SL_QUEUES];     /* the last: of all classes that have none of their own */
	uint64_t weight[SL_CLASSES]; /* 0: that of the job */
};

struct sl_turn_meter {
	_Atomic int64_t tag;   /* CLOCK_MONOTONIC, in SL_METER_TICKS */
	_Atomic uint64_t step; /* time of one unit, in 2^-32 ns; 0: no limit */
};

/* Bits of `ops` in a job's segment: what an operation has to do besides counting. */
enum sl_ops_mode {
	SL_OPS_METERED = 1,  /* there is a max on operations or on a class */
	SL_OPS_LEASED = 2,   /* it needs credit */
	SL_OPS_TIMED = 4,    /* some calls are timed, in `timed` */
	SL_OPS_ALL = 8,	     /* with that: all of them */
	SL_OPS_OWN = 16,     /* shifted by a class: it has a queue of its own */
	SL_OPS_JOINT = 4096, /* a max is shared with other jobs: who waits for it rings */
};

struct sl_turn_credit {
	_Alignas(64) _Atomic uint64_t used;
	_Alignas(64) _Atomic uint64_t granted;
	_Atomic uint32_t grants; /* a futex */
	_Atomic uint32_t asked;	 /* since the node last looked */
};

struct sl_turn_ops {
	struct sl_turn_credit credit[SL_QUEUES];
	_Alignas(64) _Atomic uint64_t held_ns;
	_Atomic uint32_t limits; /* a futex: changes when the steps of meters do */
	_Alignas(64) struct sl_turn_meter meter[SL_METERS];
	struct sl_turn_meter found; /* as the others: what --capacity-ops auto leaves to the job */
	struct {
		_Atomic uint64_t ns, calls;
		_Atomic uint64_t most_ns; /* a time counts for this at most; 0: no bound */
	} timed[SL_CLASSES];
	_Atomic uint64_t locked[SL_CLASSES]; /* operations of threads without rseq */
	struct sl_ops_conf conf;	     /* for a node that starts again */
};

/* Operations counted on one CPU, by class; client/account.h adds to them in pairs. */
struct sl_turn_ops_cpu {
	_Alignas(64) uint64_t calls[8];
};

/* "create" and so on. */
extern const char *const sl_class_names[SL_CLASSES];
/* The key of `sluice set` for a meter: max_create … max_ops, max_iops, max_read, max_write. */
extern const char *const sl_meter_keys[SL_METERS];
/* The same for its mins and weights: min_create … min_ops, weight_create … */
extern const char *const sl_min_keys[SL_QUEUES];
extern const char *const sl_weight_keys[SL_CLASSES];

/* One key of a job: 0, -EINVAL for a bad value, -ENOENT if it is not one of these. */
int sl_ops_key(struct sl_ops_conf *c, const char *key, const char *value);
/* "500", "10k", "2M": operations per second, up to SL_MAX_OPS. 0 or -EINVAL. */
int sl_ops_parse(const char *text, uint64_t *out);
/* Whether the job has a queue of its own for this class. */
bool sl_ops_own(const struct sl_ops_conf *c, enum sl_class which);
/* All mins together. */
uint64_t sl_ops_min(const struct sl_ops_conf *c);
/* The step of a meter with this rate. */
uint64_t sl_meter_step(uint64_t per_second);

#endif
