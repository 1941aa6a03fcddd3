/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements of `sluice bench`; each gets its own name in argv[0]. */
#ifndef SL_LAB_BENCH_BENCH_H
#define SL_LAB_BENCH_BENCH_H

int bench_control(int argc, char **argv);
int bench_path(int argc, char **argv);
int bench_sched(int argc, char **argv);
int bench_share(int argc, char **argv);
int bench_sim(int argc, char **argv);
int bench_wire(int argc, char **argv);

#endif
