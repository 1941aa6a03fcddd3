/* SPDX-License-Identifier: Apache-2.0 */
/* What programs behind a gate move by memory access to files that they have mapped. */
#ifndef SL_GATE_MAPPED_H
#define SL_GATE_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

/* Mappings of less are counted whole when they are made. */
#define GATE_LOOK_BYTES (256U << 10)

/* In a new supervisor: nothing is known of any process. */
void mapped_start(void);
/* The process of this thread maps so much of a file of the layer. */
void mapped_add(uint32_t tid);
/*
 * Bytes that its mappings have moved since the last look. soon: look again even after a moment.
 * gone..gone + length - 1 is about to be unmapped.
 */
uint64_t mapped_moved(uint32_t tid, bool soon, uint64_t gone, uint64_t length);
/* The same of all processes, from time to time. */
uint64_t mapped_moved_all(void);

#endif
