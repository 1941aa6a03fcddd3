/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that have limited themselves, or are short of something: CASE FILE. They write to the
 * file, say "fine", and would do the same without Sluice.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS 2000

static char data[4096];
static int fd;

static int writes(int calls)
{
	for (int i = 0; i < calls; i++)
		if (write(fd, data, sizeof(data)) != (ssize_t)sizeof(data))
			return 1;
	return 0;
}

/* Nothing but read, write, exit and sigreturn from here on. */
static int strict(void)
{
	int bad;

	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	bad = writes(CALLS);
	(void)!write(1, bad ? "bad\n" : "fine\n", bad ? 4 : 5);
	return (int)syscall(SYS_exit, bad);
}

static int without(int call)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* Not prctl(): as libseccomp does it, unseen. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		return 1;
	return writes(CALLS);
}

static int no_sockets(void)
{
	return without(SYS_socket);
}

static int no_openat(void)
{
	return without(SYS_openat);
}

static int no_futex(void)
{
	return without(SYS_futex);
}

static int locked(void)
{
	const struct rlimit all = { 1 << 20, 1 << 20 };

	setrlimit(RLIMIT_MEMLOCK, &all);
	mlockall(MCL_FUTURE); /* mmap() may fail from now on */
	return writes(CALLS);
}

static int no_memory(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	struct rlimit little;

	if (!f || fscanf(f, "%ld", &pages) != 1)
		return 1;
	fclose(f);
	/* Some for the stack, and not enough for a segment. */
	little.rlim_cur = little.rlim_max = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + (40 << 10));
	setrlimit(RLIMIT_AS, &little);
	return writes(CALLS);
}

static int no_descriptors(void)
{
	const struct rlimit few = { (rlim_t)fd + 1, (rlim_t)fd + 1 };

	setrlimit(RLIMIT_NOFILE, &few);
	return writes(CALLS);
}

static int swept(void)
{
	for (int i = 0; i < CALLS; i++) {
		syscall(SYS_close_range, fd + 1, ~0U, 0);
		if (writes(1))
			return 1;
	}
	return 0;
}

static volatile sig_atomic_t handled;

static void handler(int signal)
{
	(void)signal;
	handled = !writes(1);
}

/* How deep a handler that writes goes, in bytes: the caller compares. */
static int stack(void)
{
	enum { AREA = 1 << 16 };
	unsigned char *area =
		mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t alternate = { .ss_sp = area, .ss_size = AREA };
	const struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	size_t low = 0;

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1); /* libc binds what it needs the first time */
	memset(area, 0xa5, AREA);
	raise(SIGUSR1);
	while (low < AREA && area[low] == 0xa5)
		low++;
	fprintf(stderr, "%zu\n", AREA - low);
	return !handled;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} cases[] = {
		{ "strict", strict },
		{ "no-sockets", no_sockets },
		{ "no-openat", no_openat },
		{ "no-futex", no_futex },
		{ "locked", locked },
		{ "no-memory", no_memory },
		{ "no-descriptors", no_descriptors },
		{ "swept", swept },
		{ "stack", stack },
	};

	if (argc != 3)
		return 2;
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (size_t i = 0; fd >= 0 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			int bad = cases[i].run();

			puts(bad ? "bad" : "fine");
			return bad;
		}
	return 2;
}
