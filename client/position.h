/* SPDX-License-Identifier: Apache-2.0 */
/* Taking turns at the positions of descriptors: see position.c. */
#ifndef SL_CLIENT_POSITION_H
#define SL_CLIENT_POSITION_H

#include <stdint.h>

/* Around looking at the position of a file and moving it. The place, for position_unlock(). */
unsigned position_lock(uint64_t inode);
void position_unlock(unsigned place);
/* Around a call at the position that the kernel makes: the place, for position_leave(). */
unsigned position_use(uint64_t inode);
void position_leave(unsigned place);

#endif
