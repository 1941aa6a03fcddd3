/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of `sluice profile`: see profile.c. */
#ifndef SL_LAB_PROFILE_PROFILE_H
#define SL_LAB_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "detect/profile.h"
#include "model/device.h"
#include "sim/random.h"

#define PROFILE_CMD   "profile"
#define PROFILE_SLOTS 16 /* requests of the largest size that the file must hold */

/* What is measured. */
struct profile_target {
	void *context;
	/*
	 * Run this number of requests (2 or more), one after the other: sequential, each begins
	 * where the one before ended; random, none does. Returns their time in ns, above 0; or
	 * -errno.
	 */
	int64_t (*run)(void *context, uint32_t op, bool random, uint64_t size_bytes,
		       uint32_t requests);
	int64_t (*now_ns)(void *context);
	/* Size of the area of the requests: at least PROFILE_SLOTS of the largest. */
	uint64_t file_bytes;
};

/* ---- run.c: the choice of tests, and the results ---- */

struct profile_plan {
	struct profile_target target;
	bool op[2]; /* by enum sl_op */
	uint64_t size_bytes[SL_PROFILE_POINTS];
	uint32_t sizes;	 /* 1 or more, ascending */
	int64_t time_ns; /* for all, beginning at begin_ns of the target's clock */
	int64_t begin_ns;
	uint64_t seed;
	/* Before each test; may be NULL. */
	void (*progress)(const struct profile_plan *plan, uint32_t op, uint64_t size_bytes);
};

/*
 * Set the points and the confidence of *out, and nothing else. Returns 0; -ETIME: too little time
 * for the minimum of tests; or the error of the target.
 */
int profile_run(const struct profile_plan *plan, struct sl_profile *out);

/* ---- target.c: a file, or a model ---- */

struct profile_model {
	struct sl_device device;
	struct sl_random random;
	sl_time now_ns;
	uint64_t end; /* of the last request */
	uint64_t file_bytes;
};
struct profile_target profile_model(struct profile_model *m, const struct sl_device_model *model,
				    uint64_t file_bytes);

struct profile_file {
	int fd;
	bool direct;
	uint64_t bytes, end;
	void *buffer;
	uint64_t buffer_bytes;
	struct sl_random random;
	/* The reason why the figures are not valid; empty: they are. */
	char why[SL_PROFILE_WORDS + 1];
};
struct profile_room {
	uint64_t least_bytes, most_bytes; /* of the file */
	uint64_t largest_bytes;		  /* of a request */
	int64_t fill_ns;		  /* to fill more than least_bytes */
	int64_t time_ns;		  /* in all */
	bool buffered;			  /* do not even try O_DIRECT */
};
/*
 * Create and fill an unlinked file in dir. Errors are printed, except after profile_stop; returns
 * an exit status. Close *f in any case.
 */
int profile_file_open(struct profile_file *f, const char *dir, const struct profile_room *room);
void profile_file_close(struct profile_file *f);
struct profile_target profile_file(struct profile_file *f);

/* Set by a signal: every run ends with -EINTR then. */
extern volatile int profile_stop;

/* ---- print.c ---- */

struct profile_facts {
	uint64_t file_bytes; /* 0: not measured now */
	double seconds;
	const char *kept; /* path, or NULL */
};
void profile_table(const struct sl_profile *p, const struct profile_facts *facts);
void profile_json(const struct sl_profile *p, const struct profile_facts *facts);

#endif
