/* SPDX-License-Identifier: Apache-2.0 */
/* A lock around the positions of descriptors: see position.c. */
#ifndef SL_CLIENT_PRELOAD_POSITION_H
#define SL_CLIENT_PRELOAD_POSITION_H

#include <stdint.h>

/*
 * Around looking at the position of a file and moving it. The place, for position_unlock(). With
 * `file`, other processes that use the same file for this are kept out, too.
 */
unsigned position_lock(uint64_t inode, const char *file);
void position_unlock(unsigned place);

#endif
