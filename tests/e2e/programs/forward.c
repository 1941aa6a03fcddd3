/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of a program whose I/O a node carries out. Exits with 1 and names the check that failed.
 *
 *	kinds FILE                          prints what unusual calls return and leave
 *	append FILE BYTES PROCESSES TIMES [unknown]
 *	                                    appends of several processes are whole
 *	vectors FILE COUNT                  writev() of so many vectors to an O_APPEND file is whole
 *	shared FILE RECORDS                 reads of four processes at one position: each record
 *					    once, and the position is the end
 *	signals FILE BYTES COUNT            writes while many signals arrive: no error, nothing
 *					    written twice
 *	handler FILE BYTES                  prints for how many ms a handler had to wait in one
 *					    write
 *	old-new FILE                        writes 'o' then 'n' over each other, prints what is done
 *	two DIRECTORY BLOCKS                blocks of a and b in turns, from two threads
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RECORD 100

static void need(bool what, const char *text)
{
	if (what)
		return;
	fprintf(stderr, "%s (%s)\n", text, strerror(errno));
	exit(1);
}

static char *buffer(size_t bytes, int c)
{
	char *b = malloc(bytes);

	need(b, "no memory");
	memset(b, c, bytes);
	return b;
}

static void reap(int processes)
{
	for (int status; processes; processes--) {
		need(wait(&status) > 0, "wait");
		if (WIFSIGNALED(status))
			fprintf(stderr, "signal %d: ", WTERMSIG(status));
		need(status == 0, "a process has failed");
	}
}

/*
 * unknown: it may fail with EIO, if its node was killed. Then it is there, or not, or in part: SIGKILL
 * ends a write in the middle, as it would have ended the program's own.
 */
static void do_append(const char *path, size_t bytes, int processes, int times, bool unknown)
{
	struct counts {
		int made, failed;
	} *n = mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int whole = 0, parts = 0, fd;
	struct stat st;
	char *all;

	for (int p = 0; p < processes; p++)
		if (fork() == 0) {
			char *b = buffer(bytes, 'A' + p);

			fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
			for (int i = 0; i < times; i++)
				if (write(fd, b, bytes) == (ssize_t)bytes) {
					__atomic_fetch_add(&n->made, 1, __ATOMIC_SEQ_CST);
				} else {
					need(unknown && errno == EIO, "append");
					__atomic_fetch_add(&n->failed, 1, __ATOMIC_SEQ_CST);
				}
			exit(0);
		}
	reap(processes);
	fd = open(path, O_RDONLY);
	need(fstat(fd, &st) == 0, path);
	all = mmap(NULL, (size_t)st.st_size + 1, PROT_READ, MAP_PRIVATE, fd, 0);
	need(all != MAP_FAILED, "mmap");
	for (off_t at = 0, end; at < st.st_size; at = end) {
		for (end = at + 1; end < st.st_size && all[end] == all[at];)
			end++;
		whole += (int)((size_t)(end - at) / bytes);
		parts += (size_t)(end - at) % bytes != 0;
	}
	need(whole >= n->made, "an append is lost or torn");
	need(whole - n->made + parts <= n->failed, "an append is there twice, or torn");
}

static void do_vectors(const char *path, int count)
{
	struct iovec *iov = calloc((size_t)count, sizeof(*iov));
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	struct stat st;

	for (int i = 0; i < count; i++)
		iov[i] = (struct iovec){ buffer(1000, 'a' + i % 26), 1000 };
	need(writev(fd, iov, count) == 1000 * count, "short writev");
	need(fstat(fd, &st) == 0 && st.st_size == 1000 * count, "the file has another size");
}

static void do_shared(const char *path, int records)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	int *seen = mmap(NULL, sizeof(int) * (size_t)records, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < records; i++) {
		char record[RECORD] = "";

		memcpy(record, &i, sizeof(i));
		need(write(fd, record, RECORD) == RECORD, "write");
	}
	lseek(fd, 0, SEEK_SET);
	for (int p = 0; p < 4; p++)
		if (fork() == 0) {
			char b[37 * RECORD];
			ssize_t n;

			while ((n = read(fd, b, p % 2 ? RECORD : sizeof(b))) > 0) {
				need(n % RECORD == 0, "part of a record");
				for (ssize_t at = 0; at < n; at += RECORD) {
					int i;

					memcpy(&i, b + at, sizeof(i));
					need(i >= 0 && i < records, "no record");
					__atomic_fetch_add(&seen[i], 1, __ATOMIC_SEQ_CST);
				}
			}
			need(n == 0, "read");
			exit(0);
		}
	reap(4);
	for (int i = 0; i < records; i++)
		need(seen[i] == 1, "a record was not read, or twice");
	need(lseek(fd, 0, SEEK_CUR) == (off_t)records * RECORD, "the position is not the end");
}

/* ---- signals ---- */

static pthread_t target;
static volatile bool over;
static volatile sig_atomic_t handled;

static void on_signal(int signal)
{
	handled = signal;
}

static void *hail(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while (!over) {
		pthread_kill(target, SIGUSR1);
		nanosleep(&(struct timespec){ 0, 20000 }, NULL);
	}
	return arg;
}

static void do_signals(const char *path, size_t bytes, int count)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	struct sigaction a = { .sa_handler = on_signal };
	char *b = buffer(bytes, 'x');
	struct stat st;
	pthread_t thread;

	sigaction(SIGUSR1, &a, NULL);
	target = pthread_self();
	pthread_create(&thread, NULL, hail, NULL);
	for (int i = 0; i < count; i++)
		need(write(fd, b, bytes) == (ssize_t)bytes, "write");
	over = true;
	pthread_join(thread, NULL);
	need(handled, "no signal came");
	need(fstat(fd, &st) == 0 && (size_t)st.st_size == bytes * (size_t)count,
	     "the file has another size");
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t began, came;

static void on_alarm(int signal)
{
	(void)signal;
	came = now_ms();
}

static void do_handler(const char *path, size_t bytes)
{
	struct sigaction a = { .sa_handler = on_alarm };
	const struct itimerval soon = { .it_value = { 0, 200000 } };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char *b = buffer(bytes, 'x');

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	began = now_ms();
	need(write(fd, b, bytes) == (ssize_t)bytes, "write");
	need(came, "the handler did not run");
	printf("%lld %lld\n", (long long)(came - began), (long long)(now_ms() - began));
}

static void do_old_new(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	const size_t bytes = 65536;

	need(pwrite(fd, buffer(bytes, 'x'), bytes, 1 << 20) == (ssize_t)bytes, "x"); /* the burst */
	for (const char *c = "on"; *c; c++) {
		int64_t at = now_ms();

		need(pwrite(fd, buffer(bytes, *c), bytes, 0) == (ssize_t)bytes, "write");
		printf("%c %lld\n", *c, (long long)(now_ms() - at));
		fflush(stdout);
	}
}

/* ---- a load that knows what must be there ---- */

#define BLOCKS	64
#define LONG_MS 5000

struct known {
	uint32_t block[BLOCKS]; /* how often each was written */
	uint32_t appended, unknown;
	int64_t longest_ms;
};

static size_t size_of(int block)
{
	return 1000 + (size_t)block * block * 80; /* up to 318 KB */
}

static off_t place_of(int block)
{
	off_t at = 0;

	for (int i = 0; i < block; i++)
		at += (off_t)size_of(i);
	return at;
}

static void fill(uint32_t *words, int block, uint32_t times)
{
	for (size_t i = 0; i < size_of(block) / 4; i++)
		words[i] = times * BLOCKS + (uint32_t)block;
}

static void compare(int fd, int block, uint32_t times)
{
	size_t bytes = size_of(block) / 4 * 4;
	uint32_t *got = malloc(bytes);

	need(pread(fd, got, bytes, place_of(block)) == (ssize_t)bytes, "a block cannot be read");
	for (size_t i = 0; i < bytes / 4; i++)
		if (got[i] != times * BLOCKS + (uint32_t)block) {
			fprintf(stderr, "block %d, word %zu of %zu: write %u of block %u, not %u\n",
				block, i, bytes / 4, got[i] / BLOCKS, got[i] % BLOCKS, times);
			exit(1);
		}
	free(got);
}

/* A call that began at `since`. Long ones are told, with the time of day of begin and end. */
static void note_wait(struct known *k, int64_t since)
{
	int64_t waited = now_ms() - since;
	struct timespec ts;
	long long end;

	if (waited > k->longest_ms)
		k->longest_ms = waited;
	if (waited < LONG_MS)
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	end = (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
	printf("wait %lld %lld\n", end - (long long)waited, end);
}

/* Lines "number\n" of one length: each once, but those whose outcome is unknown. */
static void append_line(int fd, struct known *k, int *unknown)
{
	int64_t since = now_ms();
	char line[33];
	ssize_t n;

	snprintf(line, sizeof(line), "%31u\n", k->appended);
	n = write(fd, line, 32);
	need(n == 32 || (n < 0 && errno == EIO), "append");
	if (n < 0 && k->unknown < 1000)
		unknown[k->unknown++] = (int)k->appended;
	k->appended++;
	note_wait(k, since);
}

static void do_load(const char *path, const char *stop, const char *list)
{
	static uint32_t words[BLOCKS * 80 * BLOCKS / 4 + 1000];
	static struct known k;
	static int unknown[1000];
	char log[4096];
	unsigned seed = (unsigned)getpid();
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), log_fd;
	FILE *out;

	snprintf(log, sizeof(log), "%s.log", path);
	log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	need(fd >= 0 && log_fd >= 0, path);
	for (int i = 0; i < BLOCKS || access(stop, F_OK); i++) {
		int block = i < BLOCKS ? i : rand_r(&seed) % BLOCKS;
		int64_t at = now_ms();
		size_t bytes = size_of(block) / 4 * 4;

		fill(words, block, ++k.block[block]);
		need(pwrite(fd, words, bytes, place_of(block)) == (ssize_t)bytes, "pwrite");
		note_wait(&k, at);
		if (i % 4 == 0)
			append_line(log_fd, &k, unknown);
		if (i >= BLOCKS) {
			block = rand_r(&seed) % BLOCKS;
			at = now_ms();
			compare(fd, block, k.block[block]);
			note_wait(&k, at);
		}
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	out = fopen(list, "w");
	need(out && fwrite(&k, sizeof(k), 1, out) == 1 &&
		     fwrite(unknown, sizeof(unknown), 1, out) == 1 && !fclose(out),
	     list);
	printf("longest %lld ms, %u appends, %u unknown\n", (long long)k.longest_ms, k.appended,
	       k.unknown);
}

static void do_check(const char *path, const char *list)
{
	static struct known k;
	static int unknown[1000];
	int fd = open(path, O_RDONLY);
	FILE *in = fopen(list, "r");
	char log[4096], line[33] = "";
	uint32_t next = 0, at = 0;

	need(fd >= 0 && in && fread(&k, sizeof(k), 1, in) == 1 &&
		     fread(unknown, sizeof(unknown), 1, in) == 1,
	     list);
	fclose(in);
	for (int i = 0; i < BLOCKS; i++)
		compare(fd, i, k.block[i]);
	snprintf(log, sizeof(log), "%s.log", path);
	in = fopen(log, "r");
	need(in, log);
	while (fread(line, 32, 1, in) == 1) {
		uint32_t got = (uint32_t)strtoul(line, NULL, 10);

		/* Those before it that are not there must be unknown. */
		for (; next < got; next++, at++)
			need(at < k.unknown && unknown[at] == (int)next, "an append is lost");
		need(got == next && line[31] == '\n', "an append is there twice, or torn");
		if (at < k.unknown && unknown[at] == (int)got)
			at++;
		next++;
	}
	for (; next < k.appended; next++, at++)
		need(at < k.unknown && unknown[at] == (int)next, "an append is lost");
	fclose(in);
}

/* ---- two files ---- */

static pthread_barrier_t both;
static int blocks;

struct half {
	int fd, which;
};

static void *half(void *arg)
{
	const struct half *h = arg;
	char *b = buffer(4096, 'a' + h->which);

	for (int i = 0; i < blocks; i++) {
		pthread_barrier_wait(&both);
		need(pwrite(h->fd, b, 4096, (off_t)i * 8192 + h->which * 4096) == 4096, "pwrite");
	}
	return NULL;
}

static void do_two(const char *directory)
{
	struct half h[2];
	pthread_t thread[2];
	char path[4096], b[4096];

	pthread_barrier_init(&both, NULL, 2);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%c", directory, 'a' + i);
		h[i] = (struct half){ open(path, O_RDWR | O_TRUNC), i };
		need(h[i].fd >= 0, path);
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, half, &h[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 2 * blocks; i++)
		for (int k = 0; k < 2; k++) {
			ssize_t n = pread(h[k].fd, b, sizeof(b), (off_t)i * 4096);

			if (i % 2 == k)
				need(n == 4096 && b[0] == 'a' + k, "a block is missing");
			else
				need(n == 0 || b[0] == 0, "a block is in the wrong file");
		}
}

/* ---- what is not plain reading and writing ---- */

static void show(const char *what, ssize_t n)
{
	printf("%s: %zd %s\n", what, n, n < 0 ? strerror(errno) : "");
}

static void show_file(int fd)
{
	char b[9000];
	ssize_t n = pread(fd, b, sizeof(b), 0);
	uint32_t sum = 0;

	for (ssize_t i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)b[i];
	printf("%zd bytes, %08x, position %lld\n", n, sum, (long long)lseek(fd, 0, SEEK_CUR));
}

/* Prints the same with a node as without. */
static void do_kinds(const char *path)
{
	char b[5000], dir[4096], *slash;
	struct iovec iov[1025] = { { b, 10 }, { b + 10, 0 }, { b + 20, 4000 } };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), other, own;
	struct stat st;
	char *far = mmap(NULL, (size_t)3 << 30, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	need(fd >= 0 && far != MAP_FAILED, path);
	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = (char)i;
	show("writev", writev(fd, iov, 3));
	show("pwritev", pwritev(fd, iov, 3, 100));
	show("no vectors", writev(fd, iov, 0));
	show("too many", writev(fd, iov, 1025));
	show_file(fd);
	show("RWF_APPEND", pwritev2(fd, iov, 3, 0, RWF_APPEND));
	show("RWF_DSYNC", pwritev2(fd, iov, 3, -1, RWF_DSYNC));
	show("RWF_HIPRI", preadv2(fd, iov, 1, 0, RWF_HIPRI));
	show("unknown flag", pwritev2(fd, iov, 3, 0, 1 << 30));
	show_file(fd);
	/* Others cut the file, and make it longer again. */
	other = open(path, O_RDWR);
	show("cut", ftruncate(other, 50));
	show("read at the end", pread(fd, b, 100, 40));
	show("read behind it", pread(fd, b, 100, 60));
	show("write behind it", pwrite(fd, b, 100, 3000));
	show_file(fd);
	show("cut to nothing", truncate(path, 0));
	show("read", read(fd, b, 10));
	show("write at the position", write(fd, b, 10));
	show_file(fd);
	/* Sparse, and calls that are longer than any may be. */
	show("far away", pwrite(fd, b, 10, (off_t)5 << 30));
	show("a hole", pread(fd, b, 10, (off_t)4 << 30));
	show("3 GiB, at the end", pread(fd, far, (size_t)3 << 30, ((off_t)5 << 30) - 1000));
	need(fstat(fd, &st) == 0, "fstat");
	printf("size %lld, sparse %d\n", (long long)st.st_size, st.st_blocks < 1000);
	/* Without a name. */
	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	need(slash, dir);
	*slash = 0;
	own = open(dir, O_TMPFILE | O_RDWR, 0600);
	printf("O_TMPFILE: %s\n", own < 0 ? strerror(errno) : "open");
	if (own >= 0) {
		show("write", write(own, b, 1000));
		show_file(own);
	}
	show("unlink", unlink(path));
	show("write", pwrite(fd, b, 1000, 0));
	show("cut", ftruncate(fd, 2000));
	show_file(fd);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	const char *path = argv[2];
	int n[3] = { 0 };

	for (int i = 3; i < argc && i < 6; i++)
		n[i - 3] = atoi(argv[i]);
	if (!strcmp(what, "append"))
		do_append(path, (size_t)n[0], n[1], n[2], argc > 6);
	else if (!strcmp(what, "vectors"))
		do_vectors(path, n[0]);
	else if (!strcmp(what, "shared"))
		do_shared(path, n[0]);
	else if (!strcmp(what, "signals"))
		do_signals(path, (size_t)n[0], n[1]);
	else if (!strcmp(what, "handler"))
		do_handler(path, (size_t)n[0]);
	else if (!strcmp(what, "old-new"))
		do_old_new(path);
	else if (!strcmp(what, "load") && argc == 5)
		do_load(path, argv[3], argv[4]);
	else if (!strcmp(what, "check") && argc == 4)
		do_check(path, argv[3]);
	else if (!strcmp(what, "kinds"))
		do_kinds(path);
	else if (!strcmp(what, "two") && (blocks = n[0]))
		do_two(path);
	else
		return 2;
	return 0;
}
