/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file as a whole: readers find the old one or the new one, never a part. */
#ifndef SL_BASE_REPLACE_H
#define SL_BASE_REPLACE_H

#include <stdio.h>
#include <sys/types.h>

/*
 * Replaces the file, or makes it, with what write() puts into f; write() returns 0 or -errno. The
 * text is first written to PATH.PID.new, which is removed if anything fails. 0 or -errno. The umask
 * applies to `mode`.
 */
int sl_replace(const char *path, mode_t mode, int (*write)(FILE *f, const void *what),
	       const void *what);
/* Writes to something that is there and cannot be replaced: a device or a pipe. */
int sl_write_to(const char *path, int (*write)(FILE *f, const void *what), const void *what);

#endif
