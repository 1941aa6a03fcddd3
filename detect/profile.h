/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file system is: how fast it serves sequential and random requests, and their ratio, by
 * operation and request size. `sluice profile` measures it (SeRRa: Boito et al., "Towards fast
 * profiling of storage devices regarding access sequentiality", 2015) and keeps it in a file; who
 * must choose by it (the tree of AGIOS has the ratio among its attributes) asks here.
 *
 *	struct sl_profile p;
 *	char path[PATH_MAX], err[500];
 *
 *	if (!sl_profile_path(dir, path) && !sl_profile_load(path, &p, err, sizeof(err)))
 *		ratio = sl_profile_ratio(&p, SL_READ, 32768);      NAN: not known
 *
 * Parsing and asking are pure: no allocation, no clock; many threads may ask one profile.
 * profile.c has the format.
 */
#ifndef SL_DETECT_PROFILE_H
#define SL_DETECT_PROFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SL_PROFILE_POINTS 64  /* of an operation, at most */
#define SL_PROFILE_WORDS  255 /* longest text of a line, in bytes */
#define SL_PROFILE_SUFFIX ".profile"

struct sl_profile_point {
	uint64_t size_bytes;
	double sequential_bps, random_bps; /* above 0; their ratio is what counts */
	double low, high;		   /* of the ratio, with the confidence of the profile */
	uint32_t runs;			   /* pairs of runs; 0: estimated from its neighbours */
};

struct sl_profile {
	char device[SL_PROFILE_WORDS + 1];    /* what sl_profile_device() says, or a model */
	char directory[SL_PROFILE_WORDS + 1]; /* that was measured in; may be empty */
	char made[SL_PROFILE_WORDS + 1];      /* when; may be empty */
	char how[SL_PROFILE_WORDS + 1];	      /* direct, buffered, model; may be empty */
	char why[SL_PROFILE_WORDS + 1];	      /* empty: the figures can be trusted */
	double confidence;		      /* percent */
	uint32_t points[2];		      /* by enum sl_op; 0: that was not measured */
	struct sl_profile_point point[2][SL_PROFILE_POINTS]; /* ascending sizes */
};

/*
 * Sequential over random throughput. Between two sizes of the profile the time of a request is
 * linear; beyond them the nearest counts. NAN if the operation was not measured, or the profile
 * says that it is not to be trusted.
 */
double sl_profile_ratio(const struct sl_profile *p, uint32_t op, uint64_t size_bytes);

/* 0, or -errno with a message in err that names file and line; *out is empty then. */
int sl_profile_parse(const char *file, const char *text, size_t length, struct sl_profile *out,
		     char *err, size_t err_size);
/* As a file; what a line cannot hold becomes '?'. Write errors stay in f. */
void sl_profile_write(FILE *f, const struct sl_profile *p);

/* ---- where profiles are kept: profile-store.c ---- */

/*
 * The file for the file system of `dir`: $SLUICE_STATE, else $XDG_STATE_HOME/sluice, else
 * ~/.local/state/sluice, else /var/lib/sluice, and in it the name of the device. 0 or -errno.
 */
int sl_profile_path(const char *dir, char path[PATH_MAX]);
/* A name for the file system of `dir` that lasts as long as it does, if it has such a one. */
int sl_profile_device(const char *dir, char *name, size_t size);
/* As sl_profile_parse(); -ENOENT: nobody has profiled it. */
int sl_profile_load(const char *path, struct sl_profile *out, char *err, size_t err_size);
/* In place of what was there, all or nothing; makes the directory. 0, or -errno with a message. */
int sl_profile_save(const char *path, const struct sl_profile *p, char *err, size_t err_size);

#endif
