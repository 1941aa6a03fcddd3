/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 64-bit program on x86-64 may call the kernel by the numbers of i386 or x32 at any time, so the
 * calls have three numbers.
 */
#include "client/gate/calls.h"

#include <linux/audit.h>
#include <sys/syscall.h>

#define NO GATE_NONE_SUCH

/* clang-format off */
const struct gate_call gate_calls[] = {
	/* native, x32, i386 */
	{ { SYS_read, 0, 3 },            .class = GATE_DATA, .op = SL_READ,  .fd = 1, .length = 3 },
	{ { SYS_write, 1, 4 },           .class = GATE_DATA, .op = SL_WRITE, .fd = 1, .length = 3 },
	{ { SYS_pread64, 17, 180 },      .class = GATE_DATA, .op = SL_READ,  .fd = 1, .length = 3, .offset = 4 },
	{ { SYS_pwrite64, 18, 181 },     .class = GATE_DATA, .op = SL_WRITE, .fd = 1, .length = 3, .offset = 4 },
	{ { SYS_readv, 515, 145 },       .class = GATE_DATA, .op = SL_READ,  .fd = 1, .vectors = 2 },
	{ { SYS_writev, 516, 146 },      .class = GATE_DATA, .op = SL_WRITE, .fd = 1, .vectors = 2 },
	{ { SYS_preadv, 534, 333 },      .class = GATE_DATA, .op = SL_READ,  .fd = 1, .vectors = 2, .offset = 4 },
	{ { SYS_pwritev, 535, 334 },     .class = GATE_DATA, .op = SL_WRITE, .fd = 1, .vectors = 2, .offset = 4 },
	{ { SYS_preadv2, 546, 378 },     .class = GATE_DATA, .op = SL_READ,  .fd = 1, .vectors = 2, .offset = 4, .flags = 6 },
	{ { SYS_pwritev2, 547, 379 },    .class = GATE_DATA, .op = SL_WRITE, .fd = 1, .vectors = 2, .offset = 4, .flags = 6 },
	{ { SYS_sendfile, 40, 187 },     .class = GATE_DATA, .op = SL_READ,  .fd = 2, .offset_at = 3, .length = 4, .to = 1 },
	{ { NO, NO, 239 },               .class = GATE_DATA, .op = SL_READ,  .fd = 2, .offset_at = 3, .length = 4, .to = 1 },
	{ { SYS_splice, 275, 313 },      .class = GATE_DATA, .op = SL_READ,  .fd = 1, .offset_at = 2, .length = 5, .to = 3, .to_offset_at = 4 },
	{ { SYS_copy_file_range, 326, 377 },
	                                 .class = GATE_DATA, .op = SL_READ,  .fd = 1, .offset_at = 2, .length = 5, .to = 3, .to_offset_at = 4 },
	{ { SYS_io_submit, 544, 248 },   .class = GATE_SUBMIT },
	{ { SYS_mmap, 9, 192 },          .class = GATE_MAP },   /* i386: mmap2 */
	{ { SYS_munmap, 11, 91 },        .class = GATE_UNMAP },
	{ { SYS_msync, 26, 144 },        .class = GATE_LOOK },
	{ { SYS_exit_group, 231, 252 },  .class = GATE_LOOK },
};
/* clang-format on */
const size_t gate_calls_count = sizeof(gate_calls) / sizeof(gate_calls[0]);

const struct gate_call *gate_call_of(uint32_t arch, int number, bool *small)
{
	enum gate_abi abi;

	switch (arch) {
#if defined(__x86_64__)
	case AUDIT_ARCH_X86_64:
		abi = number & X32_BIT ? GATE_X32 : GATE_NATIVE;
		number &= ~X32_BIT;
		break;
	case AUDIT_ARCH_I386:
		abi = GATE_I386;
		break;
#elif defined(__aarch64__)
	case AUDIT_ARCH_AARCH64:
		abi = GATE_NATIVE;
		break;
#endif
	default:
		return NULL;
	}
	*small = abi != GATE_NATIVE;
	for (size_t i = 0; i < gate_calls_count; i++)
		if (gate_calls[i].number[abi] == number)
			return &gate_calls[i];
	return NULL;
}
