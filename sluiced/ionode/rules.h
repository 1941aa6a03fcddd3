/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file of a node: the rules in it, and what is taken from it when it is read
 * again. See rules.c. The lock is held, unless it says otherwise.
 */
#ifndef SL_IONODE_RULES_H
#define SL_IONODE_RULES_H

#include "base/json.h"
#include "layer/config.h"
#include "sluiced/ionode/node.h"
#include "wire/turn.h"
#include "wire/status.h"

/* At the start, no lock is held: read the file, if there is one. 0 or -ENOMEM. */
int rules_start(struct node *n);
void rules_stop(struct node *n);

/*
 * Read the file again, no lock is held: 0, or -errno with a message; then nothing has changed.
 * Changes that are impossible while a node runs are refused too. Pass *out to rules_take(), or free
 * it.
 */
int rules_read(const struct node *n, struct config *out, char err[CONFIG_TEXT]);
/* The configuration in force, of the last file that was accepted. */
const struct config *rules_config(const struct node *n);
/* These rules hold from now on, for all jobs. */
void rules_take(struct node *n, struct config *fresh, sl_time now);
/* The file was refused: shown in the status until one is accepted. */
void rules_refused(struct node *n, const char *why);

/* No lock is held: look up the name and the groups of a user, which may take some time. */
void rules_know(struct node *n, uint32_t uid);
void rules_again(struct node *n); /* the same for all users that are known */
/* The settings of a tag in the file, for a part of a job without its own; NULL: none. */
const struct config_job *rules_tag(const struct node *n, const char *job);
/* Patterns of tags and of rules that may apply to files of the job, as lines of its segment. */
void rules_patterns(const struct node *n, const struct node_job *j, char out[SL_TURN_TAGS]);
/* Compute j->rights, j->rule and the buckets from the job's requested settings. */
void rules_job(struct node *n, struct node_job *j);
/* Divide buckets among the jobs of this node, unless a controller does it for all nodes. */
void rules_divide(struct node *n, sl_time now);
/* The controller has ordered the job's part of its bucket, valid until then. */
void rules_order(struct node *n, struct node_job *j, uint64_t bps, sl_time until, sl_time now);
/* What a job has done since the last time, once a second, and how long its limits held it. */
struct rules_done {
	uint64_t moved[2]; /* bytes, by enum sl_op */
	uint64_t ops, ops_held_ns;
	sl_time held_ns;
};
void rules_count(struct node *n, const struct node_job *j, const struct rules_done *done);
/* The operations a second that the job is guaranteed, of those that it asks for; 0: none. */
uint64_t rules_min_ops(const struct node *n, const struct node_job *j, uint64_t asked);
/* The limit on a meter of the job (enum sl_meter), by what it asks for and its rule; 0: none. */
uint64_t rules_meter(const struct node *n, const struct node_job *j, unsigned meter);
/* The same, with limits that it shares (joint.h): the most that it can have by itself. */
uint64_t rules_allowed(const struct node *n, const struct node_job *j, unsigned meter);

/* For status: file, error. */
void rules_status(const struct node *n, struct status *s);
const char *rules_name(const struct node *n, const struct node_job *j); /* NULL: no rule */
/* All rules with their counters, as JSON, malloc'ed. 0 or a positive errno. */
int rules_json(struct node *n, char **out);

#endif
