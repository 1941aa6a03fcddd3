/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": pass every possible word to sl_consider(), and take the nearest. */
#ifndef SL_BASE_GUESS_H
#define SL_BASE_GUESS_H

#define SL_GUESS_WORD 32 /* longer words are not guessed at */

struct sl_guess {
	const char *word; /* what was typed */
	const char *best; /* borrowed from sl_consider(); NULL: nothing is near */
	unsigned distance;
};

void sl_consider(struct sl_guess *guess, const char *candidate);

#endif
