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

/* The owner of the max, and of the weight. */
enum sl_rule_per { SL_PER_JOB, SL_PER_USER, SL_PER_GROUP, SL_PER_ACCOUNT, SL_PER_RULE, SL_PERS };
extern const char *const sl_rule_pers[SL_PERS + 1];

/* What a rule gives; what it does not say anything about is the job's own affair. */
enum sl_rule_says { SL_SAYS_MIN = 1, SL_SAYS_MAX = 2, SL_SAYS_BURST = 4, SL_SAYS_WEIGHT = 8 };

#define SL_RULE_NAME 48
#define SL_RULE_METERS \
	9 /* limits on operations, calls, and bytes of one direction: enum sl_meter */

struct sl_rule {
	char name[SL_RULE_NAME];
	unsigned line;		   /* in its file */
	char *match[SL_RULE_KEYS]; /* patterns, by commas; NULL: any */
	unsigned says;		   /* enum sl_rule_says */
	enum sl_rule_per per;
	uint64_t min_bps, max_bps, burst_bytes;
	uint32_t weight;
	uint64_t meter[SL_RULE_METERS]; /* of each job; 0: none */
};

/* A job as rules see it. NULL or "": not known, which only "*" matches. */
struct sl_rule_job {
	const char *value[SL_RULE_KEYS]; /* of groups: all, by commas */
	const char *title;		 /* SL_RULE_JOB matches this, too */
};

/* `*` is any text, `?` any character, commas separate alternatives. */
bool sl_rule_glob(const char *pattern, const char *text);
/* The first key that keeps the rule from matching; SL_RULE_KEYS: it matches. */
enum sl_rule_key sl_rule_differs(const struct sl_rule *rule, const struct sl_rule_job *job);
/* Index of the first that matches, or -1. */
int sl_rules_match(const struct sl_rule *rules, size_t n, const struct sl_rule_job *job);
/* The part of its request that the job is entitled to; rule may be NULL. */
void sl_rule_clamp(const struct sl_rule *rule, struct sl_job_conf *conf);
/* A meter: what the job asks for, as far as the rule allows it; 0: no limit. */
uint64_t sl_rule_meter(const struct sl_rule *rule, unsigned meter, uint64_t asked);
/*
 * The bucket that its max is out of, if the rule has one for several jobs together; 0: none. The
 * same number on all nodes.
 */
uint64_t sl_rule_bucket(const struct sl_rule *rule, const struct sl_rule_job *job);

#endif
