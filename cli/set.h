/* SPDX-License-Identifier: Apache-2.0 */
/* Changing what runs: what `sluice set` and `sluice policy set` do, for others too. */
#ifndef SL_CLI_SET_H
#define SL_CLI_SET_H

struct layer;

/* `sluice set JOB KEY=VALUE...` for a layer. An exit status. */
int set_job(const struct layer *l, const char *job, int count, char *const *words);

/* `sluice policy set`: argv are STAGE=SPEC words; layer NULL: the default. An exit status. */
int policy_set_command(const char *layer, int argc, char **argv);

#endif
