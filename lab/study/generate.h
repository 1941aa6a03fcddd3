/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice sim --generate KIND` and `sluice sim --import-darshan FILE...`: see generate.c. */
#ifndef SL_LAB_STUDY_GENERATE_H
#define SL_LAB_STUDY_GENERATE_H

/*
 * The whole command line of `sluice sim`, as cmd_sim() got it, when it has one of these two
 * options anywhere. Reports and returns as a command does. Parses from the start: optind is set.
 */
int sim_generate_main(int argc, char **argv);

#endif
