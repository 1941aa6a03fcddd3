/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice policy set`: argv are STAGE=SPEC words; layer NULL: the default. An exit status. */
#ifndef SL_CLI_SET_H
#define SL_CLI_SET_H

int policy_set(const char *layer, int argc, char **argv);

#endif
