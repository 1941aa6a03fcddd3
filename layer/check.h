/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of words that people type about layers and jobs, before anything is started or asked: names, the
 * keys of a job, policies. The same for options, sluice.yaml and key=value words.
 *
 * On failure a sentence without its end stands in err (CHECK_TEXT bytes): what is wrong and what
 * is possible.
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

/* Name of a layer: it becomes a directory. 0 or -EINVAL. */
int check_layer_name(const char *name, char *err);
/* Name of a job: what can stand in a control line. 0 or -EINVAL. */
int check_job_name(const char *name, char *err);
/* Name of an account, QoS or partition: the same, shorter. 0 or -EINVAL. */
int check_owner(const char *name, char *err);
/* One key of a job into *conf (order: checked only). 0, -ENOENT: no such key, -EINVAL. */
int check_job_key(const char *key, const char *value, struct sl_job_conf *conf, char *err);
/* "max=100M", a word of `sluice set JOB`. 0, or -EINVAL with whole sentences in err. */
int check_job_word(const char *word, char *err);
/* A tree (order=auto,tree=FILE) by its whole path, since nodes run in another directory; malloc'ed,
 * NULL: no memory, or the path is too long. */
char *check_absolute(const char *spec);
/* "share", "io-sets,quantum_bytes=1Mi". 0, -ENOENT: no such stage, -EINVAL. */
int check_policy(const char *stage, const char *spec, char *err);
/* "HOST:PORT"; any_host: also ":PORT", and port 0. 0 or -EINVAL. */
int check_address(const char *value, bool any_host, char *err);
/* Only the host, an IPv6 address with or without brackets; only the port, 0 being any. */
int check_host(const char *value, char *err);
int check_port(const char *value, char *err);
/*
 * Whether a rate is so low that it is likely a slip: less than `least_bps`, or than 1 MB/s if it
 * was written without a unit. text: as it was typed, or NULL; what: "--max", "capacity". The
 * sentence to warn with is put into warning (CHECK_TEXT bytes).
 */
#define CHECK_LOW_CAPACITY UINT64_C(1000000)
#define CHECK_LOW_JOB	   UINT64_C(100000)
bool check_low_rate(const char *what, const char *text, uint64_t least_bps, char *warning);
/* The same for "min=RATE" and "max=RATE" of a job; other words: false. whose: "", or what stands
 * before it in the message. */
bool check_low_word(const char *whose, const char *word, char *warning);
/* A number without sign or anything behind it, from low to high. 0 or -EINVAL. */
int check_count(const char *text, unsigned long low, unsigned long high, unsigned long *out);

/* A capacity that is to be found: "auto", or "auto," and a sensor (sluiced/ionode/sensor.h). */
bool check_auto(const char *capacity);

#endif
