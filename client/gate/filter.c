/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter has one part for each ABI that a process can use on this machine. In a part the
 * number of the call is searched for by halves, so that any other call leaves the filter after
 * six or seven comparisons. (Since Linux 5.11 the kernel remembers numbers that always pass, and
 * does not run the filter for them.)
 *
 *	a data or metadata call, from GATE_STUB     goes, unless the gate is strict
 *	what glibc's loader reads of a library      goes, if the library is in the programs
 *	any other call of calls.c                   the supervisor is asked
 *	mmap without a file                         goes
 *	mmap by the loader (MAP_DENYWRITE)          goes, unless the gate is strict
 *	munmap of less than GATE_LOOK_BYTES         goes
 *	io_uring_setup                              ENOSYS: a filter cannot see what a ring does
 *	prctl(GATE_PRCTL)                           GATE_ERRNO + 1 or more: "there is a gate"
 *	any other                                   goes
 *
 * glibc's loader reads 832 bytes of each library it maps, and of libc also the program headers,
 * which begin at byte 64: 23 of the 38 calls of a compiler run that would be caught. A filter
 * cannot tell the loader from the program, so exactly these lengths and places pass, and only
 * behind a gate before a program that has the library: that one sees all other reads of the
 * program.
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
#include <sys/syscall.h>
#include <unistd.h>

#include "client/gate/calls.h"
#include "client/gate/mapped.h"
#include "client/gate/stub.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   SECCOMP_IOW(4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#endif
#define FLAGS (SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW)

#define GATE_PRCTL 0x534c4754 /* "SLGT": no such option exists */
#define GATE_ERRNO 3417U      /* no such error either; + enum gate_state */

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#else
#error "the gate does not know this machine"
#endif

/* ---- writing it ---- */

#define MOST  2048
#define RULES 128 /* of an ABI */

/* What glibc's loader reads of a library with 64 bits. */
#define LOADER_READ	  832U
#define LOADER_HEADERS_AT 64U	/* where program headers begin */
#define LOADER_HEADERS	  1024U /* less than that */

/* Action for a number that is in the filter. */
enum end { END_DATA, END_READ, END_PREAD, END_ASK, END_MAP, END_UNMAP, END_RING, END_PRCTL, ENDS };

struct rule {
	uint32_t number;
	enum end end;
};

struct program {
	struct sock_filter code[MOST];
	unsigned short length;
	bool too_long;
	struct rule rule[RULES];
	size_t rules;
	unsigned options;
};

/* Where the instruction is. */
static unsigned short emit(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	if (p->length == MOST) {
		p->too_long = true;
		return 0;
	}
	p->code[p->length] = (struct sock_filter){ code, yes, no, k };
	return p->length++;
}

static void load(struct program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct program *p, uint32_t what)
{
	emit(p, BPF_RET | BPF_K, what, 0, 0);
}

/* If the word that was loaded last is k, or has bits of k, then `what`. */
static void answer_if(struct program *p, uint16_t test, uint32_t k, uint32_t what)
{
	emit(p, (uint16_t)(BPF_JMP | test | BPF_K), k, 0, 1);
	answer(p, what);
}

static unsigned short jump(struct program *p)
{
	return emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
}

/* The jump goes to what is written next. */
static void land(struct program *p, unsigned short from)
{
	p->code[from].k = (uint32_t)(p->length - from - 1);
}

static size_t low_word(unsigned argument) /* from 1 */
{
	return offsetof(struct seccomp_data, args) + 8 * (argument - 1); /* little endian */
}

static size_t high_word(unsigned argument)
{
	return low_word(argument) + 4;
}

/* ---- a part ---- */

static void add_rule(struct program *p, uint32_t number, enum end end)
{
	size_t at = p->rules;

	if (at == RULES) {
		p->too_long = true;
		return;
	}
	for (; at && p->rule[at - 1].number > number; at--)
		p->rule[at] = p->rule[at - 1];
	p->rule[at] = (struct rule){ number, end };
	p->rules++;
}

static enum end end_of(const struct gate_call *c)
{
	switch ((enum gate_class)c->class) {
	case GATE_DATA:
		if (c->number[GATE_NATIVE] == SYS_read)
			return END_READ;
		return c->number[GATE_NATIVE] == SYS_pread64 ? END_PREAD : END_DATA;
	case GATE_META:
		return END_DATA;
	case GATE_MAP:
		return END_MAP;
	case GATE_UNMAP:
		return END_UNMAP;
	default:
		return END_ASK;
	}
}

static void collect(struct program *p, enum gate_abi abi)
{
	uint32_t bit = abi == GATE_X32 ? X32_BIT : 0;

	p->rules = 0;
	for (size_t i = 0; i < gate_calls_count; i++)
		if (gate_calls[i].number[abi] != GATE_NONE_SUCH &&
		    (gate_calls[i].class != GATE_META || p->options & (GATE_OPS | GATE_STRICT)))
			add_rule(p, (uint32_t)gate_calls[i].number[abi] | bit,
				 end_of(&gate_calls[i]));
	/* io_uring_setup has one number for all. */
	if (!(p->options & GATE_URING))
		add_rule(p, SYS_io_uring_setup | bit, END_RING);
	if (abi == GATE_NATIVE)
		add_rule(p, SYS_prctl, END_PRCTL);
}

/* Jumps to `ends`, by rule, for the numbers of rules from..to - 1. */
static void search(struct program *p, size_t from, size_t to, unsigned short *jumps)
{
	size_t middle = from + (to - from) / 2;
	unsigned short right;

	if (to - from <= 2) {
		for (size_t i = from; i < to; i++) {
			emit(p, BPF_JMP | BPF_JEQ | BPF_K, p->rule[i].number, 0, 1);
			jumps[i] = jump(p);
		}
		answer(p, SECCOMP_RET_ALLOW);
		return;
	}
	emit(p, BPF_JMP | BPF_JGE | BPF_K, p->rule[middle].number, 0, 1);
	right = jump(p);
	search(p, from, middle, jumps);
	land(p, right);
	search(p, middle, to, jumps);
}

static void let_stub_pass(struct program *p, enum gate_abi abi)
{
	const uint64_t stub = gate_stub_ip();

	if (p->options & GATE_STRICT || abi != GATE_NATIVE)
		return;
	load(p, offsetof(struct seccomp_data, instruction_pointer));
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)stub, 0, 3);
	load(p, offsetof(struct seccomp_data, instruction_pointer) + 4);
	answer_if(p, BPF_JEQ, (uint32_t)(stub >> 32), SECCOMP_RET_ALLOW);
}

static bool loader_passes(const struct program *p, enum gate_abi abi)
{
	return !(p->options & (GATE_STRICT | GATE_OPS)) && abi == GATE_NATIVE;
}

/* Conditions that a call of this kind must meet to be stopped. */
static void conditions(struct program *p, enum end end, enum gate_abi abi)
{
	const bool strict = p->options & GATE_STRICT;

	switch (end) {
	case END_READ:
		if (loader_passes(p, abi)) {
			load(p, high_word(3));
			emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
			load(p, low_word(3));
			answer_if(p, BPF_JEQ, LOADER_READ, SECCOMP_RET_ALLOW);
		}
		let_stub_pass(p, abi);
		break;
	case END_PREAD:
		if (loader_passes(p, abi)) {
			load(p, high_word(4));
			emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 7);
			load(p, low_word(4));
			emit(p, BPF_JMP | BPF_JEQ | BPF_K, LOADER_HEADERS_AT, 0, 5);
			load(p, high_word(3));
			emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
			load(p, low_word(3));
			emit(p, BPF_JMP | BPF_JGE | BPF_K, LOADER_HEADERS, 1, 0);
			answer(p, SECCOMP_RET_ALLOW);
		}
		let_stub_pass(p, abi);
		break;
	case END_DATA:
		let_stub_pass(p, abi);
		break;
	case END_MAP:
		load(p, low_word(4));
		answer_if(p, BPF_JSET, MAP_ANONYMOUS | (strict ? 0 : MAP_DENYWRITE),
			  SECCOMP_RET_ALLOW);
		break;
	case END_UNMAP:
		load(p, high_word(2));
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
		load(p, low_word(2));
		emit(p, BPF_JMP | BPF_JGE | BPF_K, GATE_LOOK_BYTES, 1, 0);
		answer(p, SECCOMP_RET_ALLOW);
		break;
	case END_RING:
		answer(p, SECCOMP_RET_ERRNO | ENOSYS);
		break;
	case END_PRCTL:
		load(p, low_word(1));
		answer_if(p, BPF_JEQ, GATE_PRCTL,
			  SECCOMP_RET_ERRNO | (GATE_ERRNO + (strict ? GATE_ON_STRICT
							     : p->options & GATE_OPS ? GATE_ON_OPS
										     : GATE_ON)));
		answer(p, SECCOMP_RET_ALLOW);
		break;
	default:
		break;
	}
}

/* The number has been loaded. */
static void write_part(struct program *p, enum gate_abi abi)
{
	unsigned short jumps[RULES] = { 0 };

	collect(p, abi);
	search(p, 0, p->rules, jumps);
	for (enum end end = 0; end < ENDS; end++) {
		for (size_t i = 0; i < p->rules; i++)
			if (p->rule[i].end == end)
				land(p, jumps[i]);
		conditions(p, end, abi);
		if (end < END_RING)
			answer(p, SECCOMP_RET_USER_NOTIF);
	}
}

static void write_program(struct program *p)
{
	unsigned short other;

	load(p, offsetof(struct seccomp_data, arch));
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0);
	other = jump(p);
	load(p, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
	unsigned short x32;

	emit(p, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	x32 = jump(p);
	write_part(p, GATE_NATIVE);
	land(p, x32);
	write_part(p, GATE_X32);
	land(p, other);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_I386, 1, 0);
	answer(p, SECCOMP_RET_ALLOW);
	load(p, offsetof(struct seccomp_data, nr));
	write_part(p, GATE_I386);
#else
	write_part(p, GATE_NATIVE);
	land(p, other);
	answer(p, SECCOMP_RET_ALLOW);
#endif
}

/* ---- the kernel ---- */

static long call_seccomp(unsigned operation, unsigned long flags, void *argument)
{
	return syscall(SYS_seccomp, operation, flags, argument);
}

/* Without a program, a known flag gives EFAULT and an unknown one EINVAL. */
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
	struct program p = { .options = options };
	struct sock_fprog program = { .filter = p.code };
	struct gate_kernel k;
	int listener;

	gate_kernel(&k);
	if (!k.notify)
		return -ENOSYS;
	write_program(&p);
	if (p.too_long)
		return -E2BIG;
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

int gate_spread(void)
{
	/* The kernel hands filters on only together with one more, which lets everything go. */
	struct sock_filter go = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &go };
	long rc =
		call_seccomp(SECCOMP_SET_MODE_FILTER,
			     SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);

	if (rc < 0)
		return -errno;
	return rc ? -EBUSY : 0; /* the thread that has other filters */
}

enum gate_state gate_state(void)
{
	enum gate_state state = GATE_OFF;
	int saved = errno;

	if (syscall(SYS_prctl, GATE_PRCTL, 0, 0, 0, 0) < 0 && errno > (int)GATE_ERRNO &&
	    errno <= (int)GATE_ERRNO + GATE_ON_STRICT)
		state = (enum gate_state)(errno - (int)GATE_ERRNO);
	errno = saved;
	return state;
}

bool gate_sync_wake_up(int listener)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) ==
	       0;
}
