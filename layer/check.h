/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check what users type about layers and jobs before anything is started: names, the keys of a job,
 * policies. Options, sluice.yaml and key=value words use the same checks.
 *
 * On failure err (CHECK_TEXT bytes) gets a sentence without its final period: what is wrong and
 * what is possible.
 */
#ifndef SL_LAYER_CHECK_H
#define SL_LAYER_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

#define CHECK_TEXT	 400
#define CHECK_LAYER_NAME 32
#define CHECK_JOB_NAME	 63 /* longest name of a job; wire/proto.h has one more for the end */
#define CHECK_OWNER	 47 /* longest name of an account and the like */
#define CHECK_JOB_KEYS                                                                      \
	"min, max, burst, weight, period, best_effort, order, min_ops, max_ops, and these " \
	"with create, lookup, remove, list or attribute: min_create, max_create, "          \
	"weight_create; max_iops, max_read, max_write"

/* Name of a layer, which is also the name of its directory. 0 or -EINVAL. */
int check_layer_name(const char *name, char *err);
/* Name of a job: a word of a control line. 0 or -EINVAL. */
int check_job_name(const char *name, char *err);
/* Name of an account, QoS or partition: the same, shorter. 0 or -EINVAL. */
int check_owner(const char *name, char *err);
/* One key of a job into *conf (order: checked only). 0, -ENOENT: no such key, -EINVAL. */
int check_job_key(const char *key, const char *value, struct sl_job_conf *conf, char *err);
/* "max=100M", a word of `sluice set JOB`. 0, or -EINVAL with whole sentences in err. */
int check_job_word(const char *word, char *err);
/*
 * The spec with the file of a tree (order=auto,tree=FILE) as an absolute path, because nodes run in
 * another directory. malloc'ed; NULL: no memory, or the path is too long.
 */
char *check_absolute(const char *spec);
/* "share", "io-sets,quantum_bytes=1Mi". 0, -ENOENT: no such stage, -EINVAL. */
int check_policy(const char *stage, const char *spec, char *err);
/* "HOST:PORT"; any_host: also ":PORT", and port 0. 0 or -EINVAL. */
int check_address(const char *value, bool any_host, char *err);
/* Only the host, an IPv6 address with or without brackets; only the port, 0 being any. */
int check_host(const char *value, char *err);
int check_port(const char *value, char *err);
/*
 * Whether a rate is so low that it is probably a typing error: less than `least_bps`, or less than
 * 1 MB/s if it was written without a unit. text: as it was typed, or NULL; what: "--max",
 * "capacity". warning (CHECK_TEXT bytes) gets the sentence to print.
 */
#define CHECK_LOW_CAPACITY UINT64_C(1000000)
#define CHECK_LOW_JOB	   UINT64_C(100000)
bool check_low_rate(const char *what, const char *text, uint64_t least_bps, char *warning);
/*
 * The same for "min=RATE" and "max=RATE" of a job; false for other words. whose: a prefix of the
 * message, or "".
 */
bool check_low_word(const char *whose, const char *word, char *warning);
/* A number from low to high, without a sign or further characters. 0 or -EINVAL. */
int check_count(const char *text, unsigned long low, unsigned long high, unsigned long *out);

/*
 * Whether the node has to find the capacity: "auto", or "auto," and a sensor
 * (sluiced/ionode/sensor.h).
 */
bool check_auto(const char *capacity);

#endif
