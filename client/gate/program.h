/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of program a file is: can the library be preloaded into it, and does that suffice? */
#ifndef SL_GATE_PROGRAM_H
#define SL_GATE_PROGRAM_H

#include <stdbool.h>

enum gate_need {
	GATE_ABSENT,	 /* no program, or it cannot be read: exec says what is wrong */
	GATE_NONE,	 /* the preloaded library sees its calls */
	GATE_STATIC,	 /* has no loader that could preload anything */
	GATE_FOREIGN,	 /* another libc or machine */
	GATE_GO,	 /* makes its system calls itself, though linked dynamically */
	GATE_ENGINE,	 /* uses libaio or liburing */
	GATE_PRIVILEGED, /* changes its user id or has capabilities: a gate would break it */
};

/*
 * Follows "#!" to the interpreter. Little stack, no memory, no lock: for a child of vfork(). Unless
 * `all` is set a program that the library suffices for is GATE_NONE, even if it has privileges or
 * exec would fail.
 */
enum gate_need gate_look(const char *path, bool all);
enum gate_need gate_look_fd(int fd, bool all);

#endif
