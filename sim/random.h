/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of the simulator, and quantities that vary from one iteration to the next. */
#ifndef SL_SIM_RANDOM_H
#define SL_SIM_RANDOM_H

#include <stdint.h>

#include "sim/scenario.h"

struct sl_random {
	uint64_t state;
};

/* The stream of one of many: those of other numbers or seeds have nothing to do with it. */
struct sl_random sl_random_stream(uint64_t seed, uint64_t number);
uint64_t sl_random_next(struct sl_random *r);
double sl_random_unit(struct sl_random *r); /* 0 <= x < 1, in steps of 2^-53 */

double sl_vary_mean(const struct sl_vary *v);
/* Its value in an iteration (from 0); never negative. */
double sl_vary_draw(const struct sl_vary *v, uint64_t iteration, struct sl_random *r);

#endif
