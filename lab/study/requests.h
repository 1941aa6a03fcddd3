/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice sim --requests SCENARIO` and `sluice sim --requests --trace FILE`. */
#ifndef SL_LAB_STUDY_REQUESTS_H
#define SL_LAB_STUDY_REQUESTS_H

/*
 * The whole command line of `sluice sim`, argv[0] "sim", as main() gave it: with its own options
 * and --help. cli/sim.c calls it when --requests or --trace is among them.
 */
int sim_requests_main(int argc, char **argv);

#endif
