/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter can identify the caller only by the instruction pointer, and it is written before the
 * program is loaded. So the address is a constant, and each process with the preloaded library maps
 * this page there when it starts.
 *
 * This is not a protection: a program can map its own page there, or jump into this one. A strict
 * gate ignores addresses.
 */
#include "client/gate/stub.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "client/gate/filter.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define PAGE 65536 /* the largest page size */

#if defined(__x86_64__)
static const unsigned char code[] = {
	0xf3, 0x0f, 0x1e, 0xfa,	      /* endbr64 */
	0x48, 0x8b, 0x44, 0x24, 0x08, /* mov 8(%rsp), %rax: the seventh argument */
	0x49, 0x89, 0xca,	      /* mov %rcx, %r10 */
	0x0f, 0x05,		      /* syscall */
	0xc3,			      /* ret */
};
#define BEHIND 14
#elif defined(__aarch64__)
static const uint32_t code[] = {
	0xd503245f, /* bti c */
	0xaa0603e8, /* mov x8, x6 */
	0xd4000001, /* svc #0 */
	0xd65f03c0, /* ret */
};
#define BEHIND 12
#else
static const unsigned char code[] = { 0 };
#define BEHIND 0
#endif

gate_stub *gate_stub_map(void)
{
	void *at = (void *)(uintptr_t)GATE_STUB; /* NOLINT(performance-no-int-to-ptr) */
	void *got;
	int saved = errno;

	if (!BEHIND)
		return NULL;
	got = mmap(at, PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (got == at) {
		memcpy(at, code, sizeof(code));
		if (mprotect(at, PAGE, PROT_READ | PROT_EXEC) == 0) {
			gate_stub *stub;

			__builtin___clear_cache((char *)at, (char *)at + sizeof(code));
			memcpy(&stub, &at, sizeof(stub));
			errno = saved;
			return stub; // cppcheck-suppress memleak
		}
	}
	if (got != MAP_FAILED)
		munmap(got, PAGE); /* before Linux 4.17 the flag is not known */
	errno = saved;
	return NULL;
}

uint64_t gate_stub_ip(void)
{
	return GATE_STUB + BEHIND;
}
