/* SPDX-License-Identifier: Apache-2.0 */
/* A file as one text. */
#ifndef SL_BASE_SLURP_H
#define SL_BASE_SLURP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Read the rest of f, or the file, into *text, to be freed. A 0 is appended, which *size does not
 * count. -EFBIG: it has more than `most` bytes; another -errno: it cannot be read. On failure *text
 * is NULL.
 */
int sl_slurp(FILE *f, size_t most, char **text, size_t *size);
int sl_slurp_file(const char *path, size_t most, char **text, size_t *size);
/* The same, with "PATH: why." in err when it fails. */
int sl_slurp_or_say(const char *path, size_t most, char **text, size_t *size, char *err,
		    size_t err_size);

#endif
