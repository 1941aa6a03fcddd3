/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 64-bit program on x86-64 may call the kernel by the numbers of i386 or x32 at any time, so the
 * calls have three numbers.
 */
#include "client/gate/calls.h"

#include <linux/audit.h>
#include <sys/syscall.h>

#define NO GATE_NONE_SUCH

/* Old calls that newer ABIs do not have. */
#ifdef __x86_64__
#define OLD(name) SYS_##name, SYS_##name
#else
#define OLD(name) NO, NO
#endif
#define BOTH(name)  SYS_##name, SYS_##name
#define ALL(number) number, number, number /* all ABIs have had the same since 2019 */

#define META(which)  .class = GATE_META, .op = (which)
#define PATH(at)     .path = (at)
#define IN(at)	     .fd = (at), .path = (at) + 1
#define TWO(a, b)    .path = (a), .to_path = (b)
#define TWO_IN(a, b) IN(a), .to = (b), .to_path = (b) + 1

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
	{ { NO, NO, 90 },                .class = GATE_MAP_OLD },
	{ { SYS_munmap, 11, 91 },        .class = GATE_UNMAP },
	{ { SYS_msync, 26, 144 },        .class = GATE_LOOK },
	{ { SYS_exit_group, 231, 252 },  .class = GATE_LOOK },

	{ { OLD(open), 5 },              META(SL_LOOKUP), PATH(1), .create = 2 },
	{ { BOTH(openat), 295 },         META(SL_LOOKUP), IN(1), .create = 3 },
	{ { ALL(437) },                  META(SL_LOOKUP), IN(1), .create_at = 3 }, /* openat2 */
	{ { OLD(creat), 8 },             META(SL_CREATE), PATH(1) },
	{ { OLD(mkdir), 39 },            META(SL_CREATE), PATH(1) },
	{ { BOTH(mkdirat), 296 },        META(SL_CREATE), IN(1) },
	{ { OLD(mknod), 14 },            META(SL_CREATE), PATH(1) },
	{ { BOTH(mknodat), 297 },        META(SL_CREATE), IN(1) },
	{ { OLD(symlink), 83 },          META(SL_CREATE), PATH(2) },
	{ { BOTH(symlinkat), 304 },      META(SL_CREATE), IN(2) },
	{ { OLD(link), 9 },              META(SL_CREATE), TWO(1, 2) },
	{ { BOTH(linkat), 303 },         META(SL_CREATE), TWO_IN(1, 3) },
	{ { OLD(stat), 106 },            META(SL_LOOKUP), PATH(1) },
	{ { OLD(lstat), 107 },           META(SL_LOOKUP), PATH(1) },
	{ { BOTH(fstat), 108 },          META(SL_LOOKUP), .fd = 1 },
	{ { NO, NO, 195 },               META(SL_LOOKUP), PATH(1) }, /* stat64 and so on */
	{ { NO, NO, 196 },               META(SL_LOOKUP), PATH(1) },
	{ { NO, NO, 197 },               META(SL_LOOKUP), .fd = 1 },
	{ { NO, NO, 18 },                META(SL_LOOKUP), PATH(1) }, /* the first ones */
	{ { NO, NO, 84 },                META(SL_LOOKUP), PATH(1) },
	{ { NO, NO, 28 },                META(SL_LOOKUP), .fd = 1 },
	{ { BOTH(newfstatat), 300 },     META(SL_LOOKUP), IN(1) },
	{ { BOTH(statx), 383 },          META(SL_LOOKUP), IN(1) },
	{ { OLD(access), 33 },           META(SL_LOOKUP), PATH(1) },
	{ { BOTH(faccessat), 307 },      META(SL_LOOKUP), IN(1) },
	{ { ALL(439) },                  META(SL_LOOKUP), IN(1) }, /* faccessat2 */
	{ { OLD(readlink), 85 },         META(SL_LOOKUP), PATH(1) },
	{ { BOTH(readlinkat), 305 },     META(SL_LOOKUP), IN(1) },
	{ { OLD(unlink), 10 },           META(SL_REMOVE), PATH(1) },
	{ { BOTH(unlinkat), 301 },       META(SL_REMOVE), IN(1) },
	{ { OLD(rmdir), 40 },            META(SL_REMOVE), PATH(1) },
	{ { OLD(rename), 38 },           META(SL_REMOVE), TWO(1, 2) },
	{ { BOTH(renameat), 302 },       META(SL_REMOVE), TWO_IN(1, 3) },
	{ { BOTH(renameat2), 353 },      META(SL_REMOVE), TWO_IN(1, 3) },
	{ { OLD(getdents), 141 },        META(SL_LIST), .fd = 1 },
	{ { BOTH(getdents64), 220 },     META(SL_LIST), .fd = 1 },
	{ { NO, NO, 89 },                META(SL_LIST), .fd = 1 }, /* readdir */
	{ { OLD(chmod), 15 },            META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(fchmod), 94 },          META(SL_ATTRIBUTE), .fd = 1 },
	{ { BOTH(fchmodat), 306 },       META(SL_ATTRIBUTE), IN(1) },
	{ { ALL(452) },                  META(SL_ATTRIBUTE), IN(1) }, /* fchmodat2 */
	{ { OLD(chown), 212 },           META(SL_ATTRIBUTE), PATH(1) },
	{ { OLD(lchown), 198 },          META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(fchown), 207 },         META(SL_ATTRIBUTE), .fd = 1 },
	{ { NO, NO, 182 },               META(SL_ATTRIBUTE), PATH(1) }, /* with 16 bits */
	{ { NO, NO, 16 },                META(SL_ATTRIBUTE), PATH(1) },
	{ { NO, NO, 95 },                META(SL_ATTRIBUTE), .fd = 1 },
	{ { BOTH(fchownat), 298 },       META(SL_ATTRIBUTE), IN(1) },
	{ { OLD(utime), 30 },            META(SL_ATTRIBUTE), PATH(1) },
	{ { OLD(utimes), 271 },          META(SL_ATTRIBUTE), PATH(1) },
	{ { OLD(futimesat), 299 },       META(SL_ATTRIBUTE), IN(1) },
	{ { BOTH(utimensat), 320 },      META(SL_ATTRIBUTE), IN(1) },
	{ { NO, NO, 412 },               META(SL_ATTRIBUTE), IN(1) }, /* with 64 bits */
	{ { BOTH(truncate), 92 },        META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(ftruncate), 93 },       META(SL_ATTRIBUTE), .fd = 1 },
	{ { NO, NO, 193 },               META(SL_ATTRIBUTE), PATH(1) },
	{ { NO, NO, 194 },               META(SL_ATTRIBUTE), .fd = 1 },
	{ { BOTH(statfs), 99 },          META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(fstatfs), 100 },        META(SL_ATTRIBUTE), .fd = 1 },
	{ { NO, NO, 268 },               META(SL_ATTRIBUTE), PATH(1) },
	{ { NO, NO, 269 },               META(SL_ATTRIBUTE), .fd = 1 },
	{ { BOTH(setxattr), 226 },       META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(lsetxattr), 227 },      META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(fsetxattr), 228 },      META(SL_ATTRIBUTE), .fd = 1 },
	{ { BOTH(getxattr), 229 },       META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(lgetxattr), 230 },      META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(fgetxattr), 231 },      META(SL_ATTRIBUTE), .fd = 1 },
	{ { BOTH(listxattr), 232 },      META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(llistxattr), 233 },     META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(flistxattr), 234 },     META(SL_ATTRIBUTE), .fd = 1 },
	{ { BOTH(removexattr), 235 },    META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(lremovexattr), 236 },   META(SL_ATTRIBUTE), PATH(1) },
	{ { BOTH(fremovexattr), 237 },   META(SL_ATTRIBUTE), .fd = 1 },
	{ { ALL(463) },                  META(SL_ATTRIBUTE), IN(1) }, /* setxattrat … removexattrat */
	{ { ALL(464) },                  META(SL_ATTRIBUTE), IN(1) },
	{ { ALL(465) },                  META(SL_ATTRIBUTE), IN(1) },
	{ { ALL(466) },                  META(SL_ATTRIBUTE), IN(1) },
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
