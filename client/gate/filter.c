/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter is a list of comparisons, one part for each ABI that a process can use on this
 * machine. A 64-bit program may call the kernel by the numbers of i386 or x32 at any time, so these
 * are caught, too.
 *
 *	number of a data call                       the supervisor is asked
 *	mmap of a file                              the same: it is counted
 *	io_uring_setup                              ENOSYS: what a ring does, no filter sees
 *	prctl(GATE_PRCTL)                           GATE_ERRNO: "there is a gate"
 *	any other                                   goes
 */
#include "client/gate/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   SECCOMP_IOW(4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#endif
#define FLAGS (SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW)

#define GATE_PRCTL 0x534c4754 /* "SLGT": no such option exists */
#define GATE_ERRNO 3417	      /* no such error either */

#define X32_BIT 0x40000000

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "the gate does not know this machine"
#endif

static const struct gate_call calls[] = {
	{ SYS_read, 0, 3, GATE_ONE, SL_READ },
	{ SYS_write, 1, 4, GATE_ONE, SL_WRITE },
	{ SYS_pread64, 17, 180, GATE_ONE_AT, SL_READ },
	{ SYS_pwrite64, 18, 181, GATE_ONE_AT, SL_WRITE },
	{ SYS_readv, 515, 145, GATE_MANY, SL_READ },
	{ SYS_writev, 516, 146, GATE_MANY, SL_WRITE },
	{ SYS_preadv, 534, 333, GATE_MANY_AT, SL_READ },
	{ SYS_pwritev, 535, 334, GATE_MANY_AT, SL_WRITE },
	{ SYS_preadv2, 546, 378, GATE_MANY_AT2, SL_READ },
	{ SYS_pwritev2, 547, 379, GATE_MANY_AT2, SL_WRITE },
	{ SYS_sendfile, 40, 187, GATE_SENDFILE, SL_READ },
	{ -1, -1, 239, GATE_SENDFILE, SL_READ }, /* sendfile64 */
	{ SYS_splice, 275, 313, GATE_COPY, SL_READ },
	{ SYS_copy_file_range, 326, 377, GATE_COPY, SL_READ },
	{ SYS_io_submit, 544, 248, GATE_SUBMIT, SL_READ },
	{ SYS_mmap, 9, 192, GATE_MAP, SL_READ }, /* i386: mmap2 */
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

enum abi { ABI_NATIVE, ABI_X32, ABI_I386 };

static int number_in(const struct gate_call *c, enum abi abi)
{
	return abi == ABI_NATIVE ? c->native : abi == ABI_X32 ? c->x32 : c->i386;
}

const struct gate_call *gate_call_of(uint32_t arch, int number, bool *small)
{
	enum abi abi = ABI_NATIVE;

#ifdef __x86_64__
	if (arch == AUDIT_ARCH_I386)
		abi = ABI_I386;
	else if (number & X32_BIT)
		abi = ABI_X32;
#endif
	if (abi == ABI_NATIVE && arch != NATIVE)
		return NULL;
	*small = abi != ABI_NATIVE;
	if (abi == ABI_X32)
		number &= ~X32_BIT;
	for (size_t i = 0; i < CALLS; i++)
		if (number_in(&calls[i], abi) == number)
			return &calls[i];
	return NULL;
}

/* ---- writing it ---- */

#define MOST 160

struct program {
	struct sock_filter code[MOST];
	unsigned short length;
};

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	if (p->length < MOST)
		p->code[p->length++] = (struct sock_filter){ code, yes, no, k };
}

static void load(struct program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct program *p, uint32_t what)
{
	emit(p, BPF_RET | BPF_K, what, 0, 0);
}

/* If the word that was loaded last is k, then `what`. */
static void answer_if(struct program *p, uint32_t k, uint32_t what)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
	answer(p, what);
}

static size_t low_word(unsigned argument)
{
	return offsetof(struct seccomp_data, args) + 8 * argument; /* little endian */
}

/* The number has been loaded. */
static void write_part(struct program *p, enum abi abi, unsigned options)
{
	uint32_t bit = abi == ABI_X32 ? X32_BIT : 0;

	for (size_t i = 0; i < CALLS; i++) {
		int number = number_in(&calls[i], abi);

		if (number < 0)
			continue;
		if (calls[i].shape != GATE_MAP) {
			answer_if(p, (uint32_t)number | bit, SECCOMP_RET_USER_NOTIF);
			continue;
		}
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number | bit, 0, 4);
		load(p, low_word(3));
		emit(p, BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1);
		answer(p, SECCOMP_RET_ALLOW);
		answer(p, SECCOMP_RET_USER_NOTIF);
	}
	/* io_uring_setup has one number for all. */
	if (!(options & GATE_URING))
		answer_if(p, SYS_io_uring_setup | bit, SECCOMP_RET_ERRNO | ENOSYS);
	if (abi == ABI_NATIVE) {
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3);
		load(p, low_word(0));
		answer_if(p, GATE_PRCTL, SECCOMP_RET_ERRNO | GATE_ERRNO);
	}
	answer(p, SECCOMP_RET_ALLOW);
}

static void write_program(struct program *p, unsigned options)
{
	unsigned short jump;

	p->length = 0;
	load(p, offsetof(struct seccomp_data, arch));
	jump = p->length;
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0);
	emit(p, BPF_JMP | BPF_JA, 0, 0, 0); /* to the next ABI: set below */
	load(p, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
	unsigned short to_x32 = p->length;

	emit(p, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
	write_part(p, ABI_NATIVE, options);
	p->code[to_x32 + 1].k = (uint32_t)(p->length - to_x32 - 2);
	write_part(p, ABI_X32, options);
	p->code[jump + 1].k = (uint32_t)(p->length - jump - 2);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_I386, 1, 0);
	answer(p, SECCOMP_RET_ALLOW);
	load(p, offsetof(struct seccomp_data, nr));
	write_part(p, ABI_I386, options);
#else
	write_part(p, ABI_NATIVE, options);
	p->code[jump + 1].k = (uint32_t)(p->length - jump - 2);
	answer(p, SECCOMP_RET_ALLOW);
#endif
}

/* ---- the kernel ---- */

static long call_seccomp(unsigned operation, unsigned long flags, void *argument)
{
	return syscall(SYS_seccomp, operation, flags, argument);
}

/* A flag that the kernel knows is EFAULT with no program, one that it does not know EINVAL. */
static bool is_known(unsigned long flags)
{
	return call_seccomp(SECCOMP_SET_MODE_FILTER, flags, NULL) < 0 && errno == EFAULT;
}

void gate_kernel(struct gate_kernel *k)
{
	uint32_t action = SECCOMP_RET_USER_NOTIF;

	/* TSYNC_ESRCH is of Linux 5.7: close to the 5.9 that reports the end of the last process.
	 */
	k->notify = call_seccomp(SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 &&
		    is_known(FLAGS | SECCOMP_FILTER_FLAG_TSYNC_ESRCH | SECCOMP_FILTER_FLAG_TSYNC);
	k->killable = is_known(FLAGS | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
}

static int set_filter(struct sock_fprog *program, bool killable)
{
	unsigned long flags = FLAGS | (killable ? SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0);
	int listener = (int)call_seccomp(SECCOMP_SET_MODE_FILTER, flags, program);

	return listener < 0 ? -errno : listener;
}

int gate_install(unsigned options)
{
	struct program p;
	struct sock_fprog program = { .filter = p.code };
	struct gate_kernel k;
	int listener;

	gate_kernel(&k);
	if (!k.notify)
		return -ENOSYS;
	write_program(&p, options);
	program.len = p.length;
	/* With CAP_SYS_ADMIN programs that change their user id keep working. */
	listener = set_filter(&program, k.killable);
	if (listener == -EACCES) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
			return -errno;
		listener = set_filter(&program, k.killable);
	}
	return listener;
}

bool gate_is_on(void)
{
	int saved = errno;
	bool is = syscall(SYS_prctl, GATE_PRCTL, 0, 0, 0, 0) < 0 && errno == GATE_ERRNO;

	errno = saved;
	return is;
}

bool gate_sync_wake_up(int listener)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) ==
	       0;
}
