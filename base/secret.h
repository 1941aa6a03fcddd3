/* SPDX-License-Identifier: Apache-2.0 */
/* The secret of a layer, which a client over TCP must know. See secret.c. */
#ifndef SL_BASE_SECRET_H
#define SL_BASE_SECRET_H

#include <stdbool.h>

#define SL_SECRET_BYTES 64 /* with the zero byte at its end */
#define SL_SECRET_LEAST 16 /* a shorter one can be guessed from a recorded greeting */

/*
 * Read it from a file: 0 or negative errno, -EPERM if others than this user could have read or
 * written the file, -EINVAL if it is too short, too long or has a zero byte in it.
 */
int sl_secret_read(const char *path, char secret[SL_SECRET_BYTES]);
/* Whether they are the same, in a time that does not depend on where they differ. */
bool sl_secret_equal(const char a[SL_SECRET_BYTES], const char b[SL_SECRET_BYTES]);

#endif
