/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a job, inside one process. A part is a job of its own, by the name JOB:TAG, with a
 * segment of its own: its limits, weight and figures are those of a job. Which part a call belongs
 * to is decided for each call:
 *
 *	the first rule with a path that the file matches, JOB:@RULE
 *	else the tag that the thread has set      sl_tag_set() of sluice.h
 *	else the first tag with a path that the file matches
 *	else none: the job itself, part 0
 *
 * Paths are in the node's configuration, and the job's segment brings them.
 *
 * A process without tags and patterns pays for reading one variable in the slow path of a call.
 * With them, no call takes the fast path (TURN_SLOW).
 */
#ifndef SL_CLIENT_CONN_PART_H
#define SL_CLIENT_CONN_PART_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/turn.h"

#define TURN_PARTS 16 /* of a process; the first is the job itself */

enum { PART_TAGS = 1, PART_PATHS = 2, PART_RULES = 4 /* some of the paths are those of rules */ };
extern _Atomic uint32_t part_kinds __attribute__((visibility("hidden"))); /* that there are */
extern _Atomic uint32_t part_asked __attribute__((visibility("hidden"))); /* patterns are known */

/* Of this thread: the tag of sl_tag_set(), and the part by the path of this call. */
struct part_thread {
	uint8_t tag, call;
	bool rule; /* `call` is by a rule */
};
extern __thread struct part_thread part_thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Of the call that this thread is about to make. */
static inline unsigned part_now(void)
{
	if (!atomic_load_explicit(&part_kinds, memory_order_relaxed))
		return 0;
	return part_thread.tag && !part_thread.rule ? part_thread.tag : part_thread.call;
}

void part_look_fd(int fd);
void part_look_path(int dir, const char *path);

/* Also before the first contact, which brings the patterns. */
static inline bool part_may_match(void)
{
	return atomic_load_explicit(&part_kinds, memory_order_relaxed) & PART_PATHS ||
	       !atomic_load_explicit(&part_asked, memory_order_relaxed);
}

/* Of a path as /proc has it. For calls of other processes; client/gate/ makes them with part_set(). */
unsigned part_of_path(const char *path);
static inline void part_set(unsigned part)
{
	part_thread.call = (uint8_t)part;
}

/* The call that follows is on this descriptor. */
static inline void part_by_fd(int fd)
{
	if (__builtin_expect(part_may_match(), 0))
		part_look_fd(fd);
}

/*
 * The call that follows is on this path, as a metadata call has it; NULL or "": of `dir`. The path
 * must be readable. Keeps errno.
 */
static inline void part_by_path(int dir, const char *path)
{
	if (__builtin_expect(part_may_match(), 0))
		part_look_path(dir, path);
}

/* The number is another file from now on. */
void part_forget_fd(int fd);
/* Patterns of the job: as they are in its segment, which the node may be changing. Once. */
void part_patterns(const char *text);
/* The tag of a part; part 0 has none. */
const char *part_tag(unsigned part);
/* sl_tag_set(): 0, -EINVAL, -ENOSPC, -ENOTCONN or -EOPNOTSUPP. */
int sl_client_tag(const char *tag);

#endif
