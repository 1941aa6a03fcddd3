/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of a site: which jobs get what. The first rule that matches a job holds; see rules.c. They
 * are read from sluice.yaml (config-rules.c) and applied by the node (ionode/rules.c).
 */
#ifndef SL_POLICY_RULES_H
#define SL_POLICY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

enum sl_rule_key {
	SL_RULE_USER,
	SL_RULE_GROUP,
	SL_RULE_ACCOUNT,
	SL_RULE_QOS,
	SL_RULE_PARTITION,
	SL_RULE_JOB,
	SL_RULE_PATH,
	SL_RULE_KEYS
};
extern const char *const sl_rule_keys[SL_RULE_KEYS + 1]; /* their names, and NULL */

/* What a rule is about: `op` of a rule names some of these; else it is about all. */
enum sl_rule_op { SL_RULE_READS, SL_RULE_WRITES, SL_RULE_METADATA, SL_RULE_OPS };
extern const char *const sl_rule_ops[SL_RULE_OPS + 1];
#define SL_RULE_ALL ((1U << SL_RULE_OPS) - 1)

/* The owner of the max, and of the weight. */
enum sl_rule_per { SL_PER_JOB, SL_PER_USER, SL_PER_GROUP, SL_PER_ACCOUNT, SL_PER_RULE, SL_PERS };
extern const char *const sl_rule_pers[SL_PERS + 1];

/* What a rule gives; what it does not say anything about is the job's own affair. */
enum sl_rule_says {
	SL_SAYS_MIN = 1,
	SL_SAYS_MAX = 2,
	SL_SAYS_BURST = 4,
	SL_SAYS_WEIGHT = 8,
	SL_SAYS_MIN_OPS = 16
};

#define SL_RULE_NAME 48
/* Limits on operations, calls, and bytes of one direction: enum sl_meter. */
#define SL_RULE_METER_CALLS 6
#define SL_RULE_METER_READ  7
#define SL_RULE_METER_WRITE 8
#define SL_RULE_METERS	    9

struct sl_rule {
	char name[SL_RULE_NAME];
	unsigned line;		   /* in its file */
	char *match[SL_RULE_KEYS]; /* patterns, by commas; NULL: any */
	unsigned ops;		   /* bits of enum sl_rule_op; 0: all */
	unsigned says;		   /* enum sl_rule_says */
	enum sl_rule_per per;
	uint64_t min_bps, max_bps, burst_bytes;
	uint32_t weight;
	uint64_t min_ops;
	uint64_t meter[SL_RULE_METERS]; /* 0: none */
};

/* A job as rules see it. NULL or "": not known, which only "*" matches. */
struct sl_rule_job {
	/*
	 * Of groups: all, by commas. Of the path: the `path` of a rule, for the part of a job that
	 * its files are; NULL: the rest of the job.
	 */
	const char *value[SL_RULE_KEYS];
	const char *title; /* SL_RULE_JOB matches this, too */
};

/* The rules that hold for a job, by index; -1: none. */
struct sl_rules_held {
	int rule[SL_RULE_OPS]; /* the first that matches, of each */
	int whole;	       /* the first without `op`: min, burst and weight are its */
};

/* `*` is any text, `?` any character, commas separate alternatives. */
bool sl_rule_glob(const char *pattern, const char *text);
/* The first key that keeps the rule from matching; SL_RULE_KEYS: it matches. */
enum sl_rule_key sl_rule_differs(const struct sl_rule *rule, const struct sl_rule_job *job);
void sl_rules_match(const struct sl_rule *rules, size_t n, const struct sl_rule_job *job,
		    struct sl_rules_held *out);
/*
 * Rules with a path that may hold for files of the job, in their order: the next from index `from`
 * on, or -1. job->value[SL_RULE_PATH] is not looked at. One with the path of an earlier one is left
 * out.
 */
int sl_rules_path(const struct sl_rule *rules, size_t n, const struct sl_rule_job *job, int from);
/*
 * The path of the rule that makes a part of the job for a file, or NULL. below: its path below the
 * layer's directory.
 */
const char *sl_rules_file(const struct sl_rule *rules, size_t n, const struct sl_rule_job *job,
			  const char *file, const char *below);
/* The part of its request that the job is entitled to. */
void sl_rules_clamp(const struct sl_rule *rules, const struct sl_rules_held *held,
		    struct sl_job_conf *conf);
/* What it asks for is the guarantee of operations; 0: none. */
uint64_t sl_rules_min_ops(const struct sl_rule *rules, const struct sl_rules_held *held,
			  uint64_t asked);
/* The rule whose max is that of all bytes of the job; NULL: none. */
const struct sl_rule *sl_rules_bytes(const struct sl_rule *rules, const struct sl_rules_held *held);
/* The rule that limits a meter (wire/ops.h) and how much it leaves, or NULL. */
const struct sl_rule *sl_rules_meter(const struct sl_rule *rules, const struct sl_rules_held *held,
				     unsigned meter, uint64_t *limit);
/*
 * The bucket of a rule that limits several jobs together; 0: each by itself. The same number on all
 * nodes.
 */
uint64_t sl_rule_bucket(const struct sl_rule *rule, const struct sl_rule_job *job);

#endif
