/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves data in ways that the preloaded library cannot see, for gate.bats. Built in several ways:
 * static, with musl, dynamically.
 *
 *	gated write|raw|writev|sendfile|i386|aio FILE MEGABYTES    prints milliseconds
 *	gated read FILE MEGABYTES     so much of a file that is there
 *	gated map FILE MEGABYTES      by a mapping, of which a quarter is written
 *	gated mapwrite FILE MEGABYTES the same, then two writes
 *	gated window FILE MEGABYTES   by mappings of 1 MiB, one after the other
 *	gated windows FILE MEGABYTES  as many mappings of 256 KiB at the same time
 *	gated huge FILE               a write of more than the kernel takes; prints errno
 *	gated stuck FILE              other threads' calls have their vectors in memory that does not come; prints ms
 *	gated old WHAT COMMAND...     as on a kernel, or with a setting, that refuses what the gate can do without:
 *	                              killable, pidfd, yama
 *	gated uring                   prints errno of io_uring_setup
 *	gated beside FILE             rounds through a pipe while another thread waits for its turn
 *	gated load FILE THREADS       until SIGTERM; prints errors and the longest round in ms
 *	gated show ARGUMENT...        arguments and environment
 *	gated spawn|fexec|execlp PROGRAM    starts "PROGRAM show x"
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 65536
#ifdef __GLIBC__ /* musl-gcc does not find the kernel's headers */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#endif

extern char **environ;
static char block[BLOCK], other[BLOCK];
static volatile sig_atomic_t ended;

static long ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void fail(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static long raw(long number, long a, long b, long c, long d)
{
	long rc;
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return rc;
}

/* write() of i386: the buffer has to be below 4 GiB, as in programs that are not PIE. */
static long small_write(int fd, const void *buffer, long length)
{
	long rc;

	__asm__ volatile("int $0x80"
			 : "=a"(rc)
			 : "a"(4L), "b"((long)fd), "c"(buffer), "d"(length)
			 : "memory", "r8", "r9", "r10", "r11");
	return rc;
}

/* struct iocb, which musl's headers do not have */
struct control {
	uint64_t data;
	uint32_t key, flags;
	uint16_t opcode, priority;
	uint32_t fd;
	uint64_t buffer, bytes;
	int64_t offset;
	uint64_t more[2];
};

static long by_aio(int fd, off_t at)
{
	static unsigned long context;
	struct control c = { .opcode = 1,
			     .fd = (uint32_t)fd,
			     .buffer = (uintptr_t)block,
			     .bytes = BLOCK,
			     .offset = at },
		       *list[] = { &c };
	long event[4];

	if (!context && syscall(SYS_io_setup, 8, &context))
		return -1;
	if (syscall(SYS_io_submit, context, 1L, list) != 1 ||
	    syscall(SYS_io_getevents, context, 1L, 1L, event, NULL) != 1)
		return -1;
	return event[2];
}

static void move(const char *how, const char *file, long bytes)
{
	struct iovec iov[] = { { block, BLOCK / 2 }, { block, BLOCK / 2 } };
	int reads = !strcmp(how, "read"), source;
	int fd = open(file, reads ? O_RDONLY : O_RDWR | O_CREAT, 0600);
	char name[] = "/tmp/sluice-gated-XXXXXX";
	long begin = ms(), n;

	if (fd < 0)
		fail(file);
	source = mkstemp(name);
	unlink(name);
	if (source < 0 || ftruncate(source, BLOCK))
		fail(name);
	for (off_t at = 0; at < bytes; at += BLOCK) {
		off_t zero = 0;

		if (!strcmp(how, "raw"))
			n = raw(SYS_pwrite64, fd, (long)(uintptr_t)block, BLOCK, at);
		else if (!strcmp(how, "writev"))
			n = writev(fd, iov, 2);
		else if (!strcmp(how, "sendfile"))
			n = sendfile(fd, source, &zero, BLOCK);
		else if (!strcmp(how, "i386"))
			n = small_write(fd, block, BLOCK);
		else if (!strcmp(how, "aio"))
			n = by_aio(fd, at);
		else if (reads)
			n = read(fd, block, BLOCK);
		else
			n = write(fd, block, BLOCK);
		if (n != BLOCK)
			fail(how);
	}
	printf("%ld\n", ms() - begin);
}

static void map(const char *file, long bytes, int writes)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);
	char *at;

	if (fd < 0 || ftruncate(fd, bytes))
		fail(file);
	at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		fail("mmap");
	memset(at, 1, (size_t)bytes / 4);
	if (!writes)
		return;
	msync(at, (size_t)bytes, MS_ASYNC);
	for (int i = 0; i < 2; i++)
		if (pwrite(fd, block, BLOCK, 0) != BLOCK)
			fail("pwrite");
}

#define WINDOW (1 << 20)

static void window(const char *file, long bytes)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, bytes))
		fail(file);
	for (long at = 0; at < bytes; at += WINDOW) {
		char *w = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

		if (w == MAP_FAILED)
			fail("mmap");
		memset(w, 1, WINDOW);
		munmap(w, WINDOW);
	}
}

/* The supervisor looks several times. */
static void windows(const char *file, long bytes)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, bytes))
		fail(file);
	for (long at = 0; at < bytes; at += WINDOW) {
		/* Apart: neighbours would become one mapping. */
		char *w = mmap((void *)(0x200000000000 + at), WINDOW / 4, PROT_READ | PROT_WRITE,
			       MAP_SHARED, fd, at);

		if (w == MAP_FAILED)
			fail("mmap");
		memset(w, 1, WINDOW / 4);
	}
	sleep(2);
}

/* ---- what the kernel refuses, and what it waits for ---- */

static void huge(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);

	for (int i = 0; i < 4; i++)
		if (write(fd, block, (size_t)-4096) >= 0)
			errno = 0;
	printf("%d\n", errno);
}

#ifdef __GLIBC__
#define STUCK 8
static char *absent;

static void *write_stuck(void *fd)
{
	syscall(SYS_writev, (int)(intptr_t)fd, absent, 1);
	return NULL;
}

static int stuck(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600),
	    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = { .range.len = 4096, .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t thread;
	long begin;

	absent = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	all.range.start = (uintptr_t)absent;
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &all))
		return 77;
	for (int i = 0; i < STUCK; i++)
		pthread_create(&thread, NULL, write_stuck, (void *)(intptr_t)fd);
	usleep(100000); /* their calls are there */
	begin = ms();
	for (int i = 0; i < 10; i++)
		if (pwrite(fd, block, 1, 0) != 1)
			fail("pwrite");
	printf("%ld\n", ms() - begin);
	fflush(stdout);
	_exit(0);
}

/* ---- other kernels ---- */

#define LOW(argument) ((uint32_t)offsetof(struct seccomp_data, args[argument]))
#define LOAD(offset)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define IS(k)	      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(k), 0, 1)
#define FAIL(error)   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

static int old(const char *what, char **command)
{
	struct sock_filter killable[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 3),
		LOAD(LOW(1)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1 << 5 /* WAIT_KILLABLE_RECV */, 0, 1),
		FAIL(EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_filter pidfd[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		IS(SYS_pidfd_open),
		FAIL(ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_filter yama[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		IS(SYS_process_vm_readv),
		FAIL(EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, !strcmp(what, "pidfd") ? pidfd : yama };

	if (!strcmp(what, "killable"))
		program = (struct sock_fprog){ 6, killable };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		fail("seccomp");
	execvp(command[0], command);
	fail(command[0]);
	return 1;
}

#else
static int stuck(const char *file)
{
	(void)file;
	return 77;
}

static int old(const char *what, char **command)
{
	(void)what;
	(void)command;
	return 77;
}
#endif

/* ---- a call that waits ---- */

static volatile int wrote;

static void *write_for_long(void *file)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);

	for (int i = 0; i < 64 && !ended; i++)
		if (write(fd, block, BLOCK) != BLOCK)
			fail("write");
		else
			wrote++;
	return NULL;
}

/* With a max of 100 kB/s the other thread is at its second or third write for seconds. */
static void beside(char *file)
{
	pthread_t thread;
	int ends[2];
	char c;

	if (pipe(ends) || pthread_create(&thread, NULL, write_for_long, file))
		fail("beside");
	while (wrote < 2)
		usleep(1000);
	for (int i = 0; i < 200; i++)
		if (write(ends[1], "x", 1) != 1 || read(ends[0], &c, 1) != 1)
			fail("pipe");
	printf("%d\n", wrote);
	fflush(stdout);
	_exit(0);
}

/* ---- load ---- */

static _Atomic long errors, longest, calls;

static void on_term(int number)
{
	(void)number;
	ended = 1;
}

static void *load(void *argument)
{
	const char *file = argument;
	char *out = malloc(BLOCK), *in = malloc(BLOCK), c;
	int fd = open(file, O_RDWR | O_CREAT, 0600), ends[2];

	if (fd < 0 || pipe(ends))
		fail(file);
	for (int i = 0; !ended; i++) {
		struct iovec iov = { in, BLOCK };
		off_t at = (off_t)(i % 16) * BLOCK;
		long begin = ms();

		memset(out, i, BLOCK);
		if (pwrite(fd, out, BLOCK, at) != BLOCK || preadv(fd, &iov, 1, at) != BLOCK ||
		    memcmp(in, out, BLOCK) || write(ends[1], "x", 1) != 1 ||
		    read(ends[0], &c, 1) != 1)
			errors++;
		begin = ms() - begin;
		if (begin > longest)
			longest = begin;
		calls += 4;
	}
	return NULL;
}

static int run_load(const char *file, int threads)
{
	pthread_t thread[16];
	char name[16][256];

	signal(SIGTERM, on_term);
	for (int i = 0; i < threads; i++) {
		snprintf(name[i], sizeof(name[i]), "%s.%d", file, i);
		pthread_create(&thread[i], NULL, load, name[i]);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%ld %ld %ld\n", (long)errors, (long)longest, (long)calls);
	return errors != 0;
}

/* ---- exec ---- */

static int start(const char *how, const char *program)
{
	char *argv[] = { "zero", "show", "x", NULL }, *envp[] = { "ONLY=this", NULL };
	int fd, status;
	pid_t pid;

	if (!strcmp(how, "execlp"))
		execlp(program, "zero", "show", "x", (char *)NULL);
	if (!strcmp(how, "fexec")) {
		fd = open(program, O_RDONLY | O_CLOEXEC);
		fexecve(fd, argv, envp);
	}
	if (strcmp(how, "spawn") != 0)
		return errno;
	status = posix_spawn(&pid, program, NULL, NULL, argv, envp);
	if (status)
		return status;
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	long bytes = argc > 3 ? atol(argv[3]) << 20 : 0;

	if (!strcmp(how, "show")) {
		for (int i = 0; i < argc; i++)
			puts(argv[i]);
		for (char **e = environ; *e; e++)
			puts(*e);
		for (int fd = 3; fd < 64; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				printf("open: %d\n", fd);
		return 7;
	}
	if (!strcmp(how, "uring")) {
		char parameters[256] = { 0 };

		printf("%d\n", syscall(SYS_io_uring_setup, 4, parameters) < 0 ? errno : 0);
		return 0;
	}
	if (!strcmp(how, "spawn") || !strcmp(how, "fexec") || !strcmp(how, "execlp"))
		return start(how, argv[2]);
	if (!strcmp(how, "old"))
		return old(argv[2], argv + 3);
	if (!strcmp(how, "stuck"))
		return stuck(argv[2]);
	if (!strcmp(how, "beside"))
		beside(argv[2]);
	if (!strcmp(how, "load"))
		return run_load(argv[2], atoi(argv[3]));
	if (!strcmp(how, "map") || !strcmp(how, "mapwrite"))
		map(argv[2], bytes, !strcmp(how, "mapwrite"));
	else if (!strcmp(how, "windows"))
		windows(argv[2], bytes);
	else if (!strcmp(how, "huge"))
		huge(argv[2]);
	else if (!strcmp(how, "window"))
		window(argv[2], bytes);
	else
		move(how, argv[2], bytes);
	return 0;
}
