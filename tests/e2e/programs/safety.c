/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program may rely on in the turn route: one sub-command for each promise.
 *
 *	safety overwrite FILE N        N threads write their block of 'O' for ever; "ready" once all have
 *	safety leave FILE ROUNDS       a child makes a program, locks it and ends; is it free at once?
 *	safety vectors FILE            writev with 64 to 1024 vectors, appended
 *	safety stack FILE              bytes of an alternate stack that a handler with a write needs
 *	safety signals FILE restart|interrupt
 *	                               2,000 appends under a timer of 1 ms
 *	safety filter FILE socket|strict|kill
 *	                               writes after the program has limited its own system calls
 *	safety locked FILE             a write after mlockall(), with little left to lock
 *	safety address FILE OTHER      addresses that are not mapped are EFAULT
 *	safety pipe FIFO               a signal ends the read of a pipe that has nothing
 *	safety threads FILE N          N threads append 100 records each, all are there and whole
 *	safety equal A B N             two threads fill every other block of two files
 *	safety verify FILE SECONDS     write and read back; "MS" of the longest call
 *
 * It prints what is wrong and ends with status 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK	4096
#define RECORDS 4096 /* of `verify`: then it starts over */

static int fd, wrong;
static char block[BLOCK];

static void check(int right, const char *what, long got)
{
	if (right)
		return;
	printf("%s: %ld, %s\n", what, got, strerror(errno));
	wrong = 1;
}

static int open_new(const char *path, int flags)
{
	int new = open(path, O_RDWR | O_CREAT | flags, 0644);

	if (new < 0) {
		perror(path);
		exit(2);
	}
	return new;
}

/* ---- overwrite ---- */

static atomic_int writing;

static void *overwrite_thread(void *arg)
{
	off_t at = (off_t)(intptr_t)arg * BLOCK;
	char old[BLOCK];

	memset(old, 'O', BLOCK);
	for (int first = 1;; first = 0) {
		if (pwrite(fd, old, BLOCK, at) != BLOCK)
			perror("pwrite");
		if (first)
			atomic_fetch_add(&writing, 1);
	}
	return NULL;
}

static void overwrite(const char *path, int threads)
{
	pthread_t thread;

	fd = open_new(path, O_SYNC);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread, NULL, overwrite_thread, (void *)(intptr_t)i);
	while (atomic_load(&writing) < threads)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	pause();
}

/* ---- leave ---- */

static void make_program(const char *path)
{
	static const char text[] = "#!/bin/sh\nexit 0\n";
	int new = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);

	flock(new, LOCK_EX);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		if (write(new, text + i, 1) != 1)
			_exit(2);
	_exit(0);
}

static void leave(const char *path, int rounds)
{
	long locked = 0, busy = 0, failed = 0;

	for (int i = 0; i < rounds; i++) {
		int status, old;
		pid_t pid;

		unlink(path);
		pid = fork();
		if (pid == 0)
			make_program(path);
		waitpid(pid, &status, 0);
		failed += status != 0;
		old = open(path, O_RDONLY);
		locked += flock(old, LOCK_EX | LOCK_NB) != 0;
		close(old);
		pid = fork();
		if (pid == 0) {
			execl(path, path, (char *)NULL);
			_exit(errno == ETXTBSY ? 77 : 78);
		}
		waitpid(pid, &status, 0);
		busy += WIFEXITED(status) && WEXITSTATUS(status) == 77;
		failed += status != 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 77);
	}
	errno = 0;
	check(!locked, "files that stayed locked", locked);
	check(!busy, "programs that stayed busy", busy);
	check(!failed, "other failures", failed);
}

/* ---- vectors ---- */

static void vectors(const char *path)
{
	static struct iovec iov[1024];
	static char part[1024][100];

	fd = open_new(path, O_APPEND | O_TRUNC);
	for (int i = 0; i < 1024; i++) {
		memset(part[i], 'a' + i % 26, 100);
		iov[i] = (struct iovec){ part[i], 100 };
	}
	for (int count = 64; count <= 1024; count *= 2) {
		ssize_t n = writev(fd, iov, count);

		check(n == count * 100, "writev", n);
	}
}

/* ---- stack ---- */

static void handler(int number)
{
	(void)number;
	check(write(fd, block, BLOCK) == BLOCK, "write in a handler", 0);
}

static void stack(const char *path)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	size_t size = 1 << 18, at = 0;
	unsigned char *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t alternate = { .ss_sp = memory, .ss_size = size };

	fd = open_new(path, O_TRUNC);
	memset(memory, 0xa5, size);
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &act, NULL);
	for (int i = 0; i < 200; i++) /* some of them wait */
		raise(SIGUSR1);
	while (at < size && memory[at] == 0xa5)
		at++;
	printf("%zu\n", size - at);
}

/* ---- signals ---- */

static volatile sig_atomic_t ticks;

static void tick(int number)
{
	(void)number;
	ticks++;
}

static void signals(const char *path, int flags)
{
	struct sigaction act = { .sa_handler = tick, .sa_flags = flags };
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	struct stat st;

	fd = open_new(path, O_APPEND | O_TRUNC);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 2000; i++) {
		ssize_t n = write(fd, block, BLOCK);

		check(n == BLOCK, "write", n);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	fstat(fd, &st);
	check(st.st_size == 2000 * BLOCK, "size", st.st_size);
	check(ticks > 0, "signals", ticks);
}

/* ---- filter ---- */

static void say(int right, const char *what)
{
	const char *text = right ? "" : what;

	syscall(SYS_write, STDOUT_FILENO, text, strlen(text));
	syscall(SYS_exit, right ? 0 : 1);
}

static void filter(const char *path, const char *kind)
{
	int kills = !strcmp(kind, "kill");
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kills ? SYS_write : SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, kills ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	int right = 1;

	fd = open_new(path, O_TRUNC);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!strcmp(kind, "strict"))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (kills) /* as libseccomp does it */
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	else
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	for (int i = 0; i < 500; i++)
		right &= write(fd, block, BLOCK) == BLOCK;
	say(right, "a write failed\n");
}

/* ---- locked ---- */

static void locked(const char *path)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct cap[2];
	FILE *statm = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;
	struct rlimit limit;

	if (!statm || fscanf(statm, "%lu", &pages) != 1)
		exit(2);
	fclose(statm);
	/* What is there now and a little more. Root may lock all it likes, unless it gives that up.
	 */
	limit.rlim_cur = limit.rlim_max = (pages + 4) * 4096;
	/* Past the library, which would map the job's segment for an open() of its. */
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (syscall(SYS_capget, &header, cap))
		exit(2);
	cap[0].effective &= ~(1U << CAP_IPC_LOCK);
	cap[0].permitted &= ~(1U << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &header, cap))
		exit(2);
	check(mlockall(MCL_CURRENT | MCL_FUTURE) == 0, "mlockall", 0);
	check(write(fd, block, BLOCK) == BLOCK, "write", 0);
}

/* ---- address ---- */

static void address(const char *path, const char *other)
{
	void *bad = (void *)0x10000; /* below what mmap() gives */
	struct iovec inside = { bad, 5 };
	int out = open_new(other, O_TRUNC);
	ssize_t n;

	fd = open_new(path, O_TRUNC);
	check(write(fd, block, BLOCK) == BLOCK, "write", 0);
	n = writev(fd, bad, 3);
	check(n == -1 && errno == EFAULT, "writev", n);
	n = readv(fd, bad, 3);
	check(n == -1 && errno == EFAULT, "readv", n);
	n = pwritev(fd, &inside, 1, 0);
	check(n == -1 && errno == EFAULT, "pwritev", n);
	n = write(fd, bad, 5);
	check(n == -1 && errno == EFAULT, "write", n);
	n = copy_file_range(fd, bad, out, NULL, 3, 0);
	check(n == -1 && errno == EFAULT, "copy_file_range", n);
	n = sendfile(out, fd, bad, 3);
	check(n == -1 && errno == EFAULT, "sendfile", n);
}

/* ---- pipe ---- */

static void pipe_read(const char *path)
{
	struct sigaction act = { .sa_handler = tick };
	ssize_t n;

	fd = open(path, O_RDWR); /* so that open() does not wait */
	sigaction(SIGALRM, &act, NULL);
	alarm(1);
	n = read(fd, block, BLOCK);
	check(n == -1 && errno == EINTR, "read", n);
}

/* ---- threads ---- */

static void *append_thread(void *arg)
{
	char record[100];

	memset(record, 'A' + (int)(intptr_t)arg % 26, sizeof(record));
	for (int i = 0; i < 100; i++)
		if (write(fd, record, sizeof(record)) != sizeof(record))
			perror("write");
	return NULL;
}

static void threads(const char *path, int count)
{
	pthread_t thread[256];
	char record[100];
	long whole = 0;

	fd = open_new(path, O_TRUNC | O_APPEND);
	for (int i = 0; i < count; i++)
		pthread_create(&thread[i], NULL, append_thread, (void *)(intptr_t)i);
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	lseek(fd, 0, SEEK_SET);
	while (read(fd, record, sizeof(record)) == sizeof(record))
		whole += !memcmp(record, record + 1, sizeof(record) - 1);
	check(whole == count * 100, "whole records", whole);
}

/* ---- equal ---- */

struct side {
	int fd, count, phase;
	pthread_barrier_t *together;
};

static void *side_thread(void *arg)
{
	struct side *s = arg;
	char mine[BLOCK];

	memset(mine, 'a' + s->phase, BLOCK);
	for (int i = 0; i < s->count; i++) {
		pthread_barrier_wait(s->together);
		if (pwrite(s->fd, mine, BLOCK, (2 * i + s->phase) * (off_t)BLOCK) != BLOCK)
			perror("pwrite");
	}
	return NULL;
}

static void equal(const char *a, const char *b, int count)
{
	pthread_barrier_t together;
	struct side side[2];
	pthread_t thread[2];
	struct stat st[2];

	pthread_barrier_init(&together, NULL, 2);
	for (int i = 0; i < 2; i++) {
		side[i] = (struct side){ open_new(i ? b : a, O_TRUNC), count, i, &together };
		fstat(side[i].fd, &st[i]);
		pthread_create(&thread[i], NULL, side_thread, &side[i]);
	}
	check(st[0].st_ino == st[1].st_ino, "inode numbers differ", 0);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < count; k++) {
			off_t at = (2 * k + i) * (off_t)BLOCK;
			char byte = 0;

			check(pread(side[i].fd, &byte, 1, at) == 1 && byte == 'a' + i, "block", k);
			at = (2 * k + 1 - i) * (off_t)BLOCK;
			byte = 0;
			check(pread(side[i].fd, &byte, 1, at) >= 0 && byte == 0, "strange block",
			      k);
		}
}

/* ---- verify ---- */

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void read_all(uint64_t from, uint64_t to)
{
	for (uint64_t k = from; k < to && !wrong; k++) {
		uint64_t back[2] = { 0 };
		ssize_t n = pread(fd, back, sizeof(back), (off_t)(k % RECORDS) * BLOCK);

		check(n == sizeof(back) && back[1] == k * 1000003 + 1, "record in the end",
		      (long)k);
	}
}

static void verify(const char *path, int seconds)
{
	long end = now_ms() + seconds * 1000L, longest = 0, before, took;
	uint64_t record[512], back[512];
	uint64_t count = 0;

	fd = open_new(path, O_TRUNC);
	do {
		if (count % RECORDS == 0)
			lseek(fd, 0, SEEK_SET);
		for (size_t i = 0; i < 512; i++)
			record[i] = count * 1000003 + i;
		before = now_ms();
		check(write(fd, record, BLOCK) == BLOCK, "write", (long)count);
		took = now_ms() - before;
		longest = took > longest ? took : longest;
		before = now_ms();
		check(pread(fd, back, BLOCK, (off_t)(count % RECORDS) * BLOCK) == BLOCK, "pread",
		      (long)count);
		took = now_ms() - before;
		longest = took > longest ? took : longest;
		check(!memcmp(record, back, BLOCK), "record", (long)count);
		count++;
	} while (!wrong && now_ms() < end);
	read_all(count > RECORDS ? count - RECORDS : 0, count);
	printf("%ld\n", longest);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "", *path = argc > 2 ? argv[2] : "";
	const char *more = argc > 3 ? argv[3] : "";

	if (!strcmp(what, "overwrite"))
		overwrite(path, atoi(more));
	else if (!strcmp(what, "leave"))
		leave(path, atoi(more));
	else if (!strcmp(what, "vectors"))
		vectors(path);
	else if (!strcmp(what, "stack"))
		stack(path);
	else if (!strcmp(what, "signals"))
		signals(path, !strcmp(more, "restart") ? SA_RESTART : 0);
	else if (!strcmp(what, "filter"))
		filter(path, more);
	else if (!strcmp(what, "locked"))
		locked(path);
	else if (!strcmp(what, "address"))
		address(path, more);
	else if (!strcmp(what, "pipe"))
		pipe_read(path);
	else if (!strcmp(what, "threads"))
		threads(path, atoi(more));
	else if (!strcmp(what, "equal") && argc > 4)
		equal(path, more, atoi(argv[4]));
	else if (!strcmp(what, "verify"))
		verify(path, atoi(more));
	else
		return 2;
	return wrong;
}
