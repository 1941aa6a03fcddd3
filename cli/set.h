/* SPDX-License-Identifier: Apache-2.0 */
/* What `sluice policy set` does. */
#ifndef SL_CLI_SET_H
#define SL_CLI_SET_H

/* `sluice policy set`: argv are STAGE=SPEC words; layer NULL: the default. An exit status. */
int policy_set_command(const char *layer, int argc, char **argv);

#endif
