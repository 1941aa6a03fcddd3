/* SPDX-License-Identifier: Apache-2.0 */
/* The word that was probably meant: see guess.h. */
#include "base/guess.h"

#include <string.h>

static unsigned gs_min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Edits that turn a into b: a letter more, less or changed, or two neighbours swapped (optimal
 * string alignment). Three rows of the usual table: swaps look two rows back.
 */
static unsigned gs_distance(const char *a, const char *b)
{
	unsigned row[3][SL_GUESS_WORD + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > SL_GUESS_WORD || lb > SL_GUESS_WORD)
		return SL_GUESS_WORD;
	for (size_t j = 0; j <= lb; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *now = row[i % 3];
		const unsigned *last = row[(i - 1) % 3], *before = row[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			now[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
			now[j] = gs_min(now[j], gs_min(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = gs_min(now[j], before[j - 2] + 1);
		}
	}
	return row[la % 3][lb];
}

void sl_consider(struct sl_guess *guess, const char *candidate)
{
	size_t length = strlen(guess->word);
	unsigned distance = gs_distance(guess->word, candidate);

	/* A beginning is taken for the word, at least as well as one typing error. */
	if (length > 1 && strncmp(guess->word, candidate, length) == 0)
		distance = gs_min(distance, 1);
	/* With half of the letters or more changed it is another word, not a slip. */
	if (distance > 2 || 2 * (size_t)distance >= strlen(candidate))
		return;
	if (!guess->best || distance < guess->distance) {
		guess->best = candidate;
		guess->distance = distance;
	}
}
