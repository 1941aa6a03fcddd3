/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns against texts and paths: `*` is any number of characters, `?` is one. */
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

/*
 * Patterns, separated by commas, against a path. A pattern that begins with '/' is for the whole
 * path, others for what is below a root, which is the path from `below` on. One that matches a
 * directory matches all that is in it.
 */
static inline bool sl_glob_path(const char *patterns, const char *path, const char *below)
{
	for (const char *at = patterns, *end; *at; at = end + (*end == ',')) {
		const char *text = *at == '/' ? path : below;

		end = at;
		while (*end && *end != ',')
			end++;
		for (size_t t = *text != 0; t; t = text[t] ? t + 1 : 0)
			if ((!text[t] || text[t] == '/') &&
			    sl_glob(at, (size_t)(end - at), text, t))
				return true;
	}
	return false;
}

#endif
