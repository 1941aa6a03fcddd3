/* SPDX-License-Identifier: Apache-2.0 */
/* Counting calls in the line of a CPU: see account.h. */
#include "client/conn/account.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

_Static_assert(sizeof(struct sl_turn_cpu) == 64, "the sequence shifts a CPU's number by 6");
_Static_assert(sizeof(struct sl_turn_count) == 16, "the sequence stores bytes and calls at once");
_Static_assert(sizeof(struct sl_turn_ops_cpu) == 64, "the same");
_Static_assert((SL_TURN_CPUS & (SL_TURN_CPUS - 1)) == 0, "the sequence masks the CPU's number");

static void account_locked(struct sl_turn_job *job, enum sl_op op, uint64_t bytes)
{
	int cpu = sched_getcpu();
	struct sl_turn_count *count = job->cpu[(unsigned)cpu % SL_TURN_CPUS].locked;

	__atomic_fetch_add(&count[op].bytes, bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&count[op].calls, 1, __ATOMIC_RELAXED);
}

static void operation_locked(struct sl_turn_job *job, enum sl_class which)
{
	atomic_fetch_add_explicit(&job->operations.locked[which], 1, memory_order_relaxed);
}

#ifdef __x86_64__

#include <emmintrin.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): glibc's names, which an older one does not have */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));
/* NOLINTEND(bugprone-reserved-identifier) */

/* The kernel's struct rseq, as far as the sequence uses it. */
struct area {
	uint32_t cpu_id_start;
	int32_t cpu_id; /* negative: this thread is not registered */
	uint64_t rseq_cs;
};
_Static_assert(offsetof(struct area, cpu_id) == 4 && offsetof(struct area, rseq_cs) == 8,
	       "the sequence has these offsets in it");

static ptrdiff_t offset; /* of the area from the thread pointer, which is never 0; 0: no rseq */

void account_start(void)
{
	if (&__rseq_size && &__rseq_offset && __rseq_size)
		offset = __rseq_offset;
}

/*
 * Add a pair of numbers to the pair in the line of this CPU; base: that of CPU 0. False: no rseq.
 */
static inline __attribute__((always_inline)) bool add_pair(void *base, __m128i add)
{
	struct area *area;
	__m128i sum;
	uint64_t at;

	__asm__("movq %%fs:0, %0" : "=r"(area)); /* the thread pointer */
	area = (struct area *)((char *)area + offset);
	if (__builtin_expect(!offset || *(volatile int32_t *)&area->cpu_id < 0, 0))
		return false;
	__asm__ volatile(
		/* struct rseq_cs: version, flags, start, length up to the commit, abort */
		".pushsection __rseq_cs, \"aw\"\n\t"
		".balign 32\n"
		"1:\n\t"
		".long 0, 0\n\t"
		".quad 3f, 4f - 3f, 5f\n\t"
		".popsection\n"
		"2:\n\t"
		"leaq 1b(%%rip), %[at]\n\t"
		"movq %[at], 8(%[area])\n" /* rseq_cs */
		"3:\n\t"
		"movl 4(%[area]), %k[at]\n\t" /* cpu_id */
		"andl %[mask], %k[at]\n\t"
		"shlq $6, %[at]\n\t"
		"movdqu (%[base], %[at]), %[sum]\n\t"
		"paddq %[add], %[sum]\n\t"
		"movdqu %[sum], (%[base], %[at])\n" /* the commit */
		"4:\n\t"
		".pushsection .text.unlikely, \"ax\"\n\t"
		/* The signature, as the operand of an undefined instruction, is in front of the
		 * address that the kernel continues at: RSEQ_SIG. */
		".byte 0x0f, 0xb9, 0x3d\n\t"
		".long 0x53053053\n"
		"5:\n\t"
		"jmp 2b\n\t"
		".popsection\n"
		: [at] "=&r"(at), [sum] "=&x"(sum)
		: [area] "r"(area), [base] "r"(base), [add] "x"(add), [mask] "i"(SL_TURN_CPUS - 1)
		: "memory", "cc");
	return true;
}

void account(struct sl_turn_job *job, enum sl_op op, uint64_t bytes)
{
	if (!add_pair(&job->cpu[0].moved[op], _mm_set_epi64x(1, (long long)bytes)))
		account_locked(job, op, bytes);
}

void account_operation(struct sl_turn_job *job, enum sl_class which)
{
	__m128i one = which % 2 ? _mm_set_epi64x(1, 0) : _mm_set_epi64x(0, 1);

	if (!add_pair(&job->ops_cpu[0].calls[which & ~1U], one))
		operation_locked(job, which);
}

#else

void account_start(void)
{
}

void account(struct sl_turn_job *job, enum sl_op op, uint64_t bytes)
{
	account_locked(job, op, bytes);
}

void account_operation(struct sl_turn_job *job, enum sl_class which)
{
	operation_locked(job, which);
}

#endif
