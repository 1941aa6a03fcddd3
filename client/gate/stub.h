/* SPDX-License-Identifier: Apache-2.0 */
/* System calls from the one address whose data calls pass a gate that is not strict. */
#ifndef SL_GATE_STUB_H
#define SL_GATE_STUB_H

#include <stdbool.h>
#include <stdint.h>

/* Arguments of the call, then its number; the kernel's answer, errors negative. */
typedef long gate_stub(long a, long b, long c, long d, long e, long f, long number);

/* Map it at its address. NULL: something else is there, or this process may not have code of its
 * own making. */
gate_stub *gate_stub_map(void);
/* The address that a filter sees of its calls: behind the instruction. */
uint64_t gate_stub_ip(void);

#endif
