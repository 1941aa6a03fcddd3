/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read a file as one text. Pipes and growing files have no fixed size, so the buffer starts with
 * FIRST bytes and doubles. It is at most twice the size of a text that is longer than FIRST.
 */
#include "base/slurp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST ((size_t)1 << 14)

int sl_slurp(FILE *f, size_t most, char **text, size_t *size)
{
	size_t room = 0, n = 0;
	char *have = NULL;
	int rc = 0;

	while (!rc && !feof(f)) {
		if (n + 1 >= room) {
			char *more = realloc(have, room = room ? 2 * room : FIRST);

			if (!more) {
				rc = -ENOMEM;
				break;
			}
			have = more;
		}
		errno = 0;
		n += fread(have + n, 1, room - n - 1, f);
		if (ferror(f))
			rc = errno ? -errno : -EIO;
		else if (n > most)
			rc = -EFBIG;
	}
	if (rc) {
		free(have);
		have = NULL;
		n = 0;
	}
	if (have)
		have[n] = 0;
	*text = have;
	*size = n;
	return rc;
}

int sl_slurp_file(const char *path, size_t most, char **text, size_t *size)
{
	FILE *f = fopen(path, "re");
	int rc;

	*text = NULL;
	*size = 0;
	if (!f)
		return -errno;
	rc = sl_slurp(f, most, text, size);
	fclose(f);
	return rc;
}

int sl_slurp_or_say(const char *path, size_t most, char **text, size_t *size, char *err,
		    size_t err_size)
{
	int rc = sl_slurp_file(path, most, text, size);

	if (rc)
		snprintf(err, err_size, "%s: %s.", path, strerror(-rc));
	return rc;
}
