/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of caught calls: number by ABI, class, and where in its arguments a call says what it
 * is going to do. filter.c makes the filter of it, call.c reads a caught call by it.
 *
 * To catch another call, add a line to the table in calls.c. To add a class, add a value here,
 * the filter's conditions for it to conditions() in filter.c, and its cost to gate_work_of() in
 * call.c.
 */
#ifndef SL_GATE_CALLS_H
#define SL_GATE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"
#include "wire/ops.h"

enum gate_abi { GATE_NATIVE, GATE_X32, GATE_I386, GATE_ABIS };

enum gate_class {
	GATE_DATA,    /* moves data of one file, or from one file to another */
	GATE_SUBMIT,  /* io_submit: context, number, control blocks */
	GATE_MAP,     /* mmap: address, length, protection, flags, fd, offset */
	GATE_MAP_OLD, /* the first mmap of i386: a pointer to its arguments */
	GATE_UNMAP,   /* address, length */
	GATE_LOOK,    /* a mapping may change or end: count what it has moved */
	GATE_META,    /* an operation on what a path or a descriptor names */
};

/* Positions of arguments, from 1; 0: the call has none. */
struct gate_call {
	int number[GATE_ABIS]; /* x32 without its bit; GATE_NONE_SUCH: the ABI has no such call */
	uint8_t class;	       /* enum gate_class */
	uint8_t op;	       /* enum sl_op; of a copy, SL_READ; of GATE_META, enum sl_class */
	uint8_t fd;	 /* a copy: the file that is read; a path: the directory it begins at */
	uint8_t length;	 /* bytes */
	uint8_t vectors; /* instead: vectors, and behind them their number */
	uint8_t offset;
	uint8_t offset_at; /* pointer to an offset */
	uint8_t flags;	   /* RWF_… */
	uint8_t to,
		to_offset_at;  /* a copy: the file that is written; the second path's directory */
	uint8_t path, to_path; /* without fd or to: from the working directory */
	uint8_t create,
		create_at; /* flags of open(), or a pointer to them: O_CREAT changes the class */
};
#define GATE_NONE_SUCH (-1)
#define X32_BIT	       0x40000000

extern const struct gate_call gate_calls[];
extern const size_t gate_calls_count;

/* The caught call; NULL: it is none. small: the program's pointers have 32 bits. */
const struct gate_call *gate_call_of(uint32_t arch, int number, bool *small);

#endif
