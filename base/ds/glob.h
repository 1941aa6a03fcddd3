/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern against a text: `*` is any number of characters, `?` is one. */
#ifndef SL_BASE_DS_GLOB_H
#define SL_BASE_DS_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One pattern of p bytes against t bytes. Back to the last `*` on a mismatch: O(p t). */
static inline bool sl_glob(const char *pattern, size_t p, const char *text, size_t t)
{
	size_t i = 0, k = 0, star = SIZE_MAX, from = 0;

	while (k < t) {
		if (i < p && pattern[i] == '*') {
			star = i++;
			from = k;
		} else if (i < p && (pattern[i] == '?' || pattern[i] == text[k])) {
			i++;
			k++;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			k = ++from;
		} else {
			return false;
		}
	}
	while (i < p && pattern[i] == '*')
		i++;
	return i == p;
}

#endif
