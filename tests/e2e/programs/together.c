/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, processes, signals and descriptors that change under way. `together CASE DIR` works in
 * DIR, checks what it finds there and says so; exit 1 with a line of what was wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

#define RECORD	64
#define WRITERS 8
#define EACH	500

extern char **environ;

static void record(char *out, int writer, int number)
{
	memset(out, '.', RECORD);
	snprintf(out, RECORD, "writer %d record %d", writer, number);
	out[strlen(out)] = ' ';
	out[RECORD - 1] = '\n';
}

static void write_records(int fd, int writer)
{
	char text[RECORD];

	for (int i = 0; i < EACH; i++) {
		record(text, writer, i);
		if (write(fd, text, RECORD) != RECORD)
			fail("write");
	}
}

/* Each record of each writer is there once, and nothing else. */
static void check_records(const char *name, int writers)
{
	static unsigned char seen[WRITERS][EACH];
	char text[RECORD], wanted[RECORD];
	int fd = make(name, O_RDONLY), count = 0, writer, number;

	memset(seen, 0, sizeof(seen));
	while (read(fd, text, RECORD) == RECORD) {
		if (sscanf(text, "writer %d record %d", &writer, &number) != 2 ||
		    writer >= writers || number >= EACH || seen[writer][number]++)
			fail("%s: record %d is wrong: %.63s", name, count, text);
		record(wanted, writer, number);
		if (memcmp(text, wanted, RECORD))
			fail("%s: record %d is torn: %.63s", name, count, text);
		count++;
	}
	if (count != writers * EACH)
		fail("%s: %d records", name, count);
	close(fd);
}

static void await(int children)
{
	int status;

	while (children--)
		if (wait(&status) < 0 || status)
			fail("a child ended with %x", status);
}

/* ---- one descriptor, many hands ---- */

static int shared_fd;

static void *record_thread(void *arg)
{
	write_records(shared_fd, (int)(intptr_t)arg);
	return NULL;
}

static void threads(void)
{
	pthread_t t[WRITERS];

	shared_fd = make("threads", O_WRONLY | O_CREAT | O_TRUNC);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&t[i], NULL, record_thread, (void *)(intptr_t)i);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL);
	check_records("threads", WRITERS);
}

/* Parent and children on an inherited descriptor, with a connection made before and after. */
static void forks(void)
{
	int fd = make("forks", O_WRONLY | O_CREAT | O_TRUNC);
	char text[RECORD];

	record(text, 0, 0);
	if (write(fd, text, RECORD) != RECORD)
		fail("write");
	for (int i = 1; i < 4; i++)
		if (fork() == 0) {
			write_records(fd, i);
			_exit(0);
		}
	for (int i = 1; i < EACH; i++) {
		record(text, 0, i);
		if (write(fd, text, RECORD) != RECORD)
			fail("write");
	}
	await(3);
	check_records("forks", 4);
}

static void appends(void)
{
	close(make("appends", O_WRONLY | O_CREAT | O_TRUNC));
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			int fd = make("appends", O_WRONLY | O_APPEND);

			write_records(fd, i);
			_exit(0);
		}
	await(4);
	check_records("appends", 4);
}

/* Threads that read one descriptor share its position: each byte is read by one of them. */
static _Atomic long long read_sum, read_bytes;

static void *reader(void *arg)
{
	unsigned char block[1000];
	ssize_t n;

	(void)arg;
	while ((n = read(shared_fd, block, sizeof(block))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			read_sum += block[i];
		read_bytes += n;
	}
	return NULL;
}

static void readers(void)
{
	static unsigned char data[1000000];
	long long wanted = 0;
	pthread_t t[4];

	for (size_t i = 0; i < sizeof(data); i++)
		wanted += data[i] = (unsigned char)(i * 7 ^ i >> 8);
	shared_fd = make("readers", O_RDWR | O_CREAT | O_TRUNC);
	if (write(shared_fd, data, sizeof(data)) != sizeof(data))
		fail("write");
	lseek(shared_fd, 0, SEEK_SET);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, reader, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	if (read_bytes != sizeof(data) || read_sum != wanted)
		fail("read %lld bytes, sum %lld instead of %lld", read_bytes, read_sum, wanted);
}

/* ---- close in another thread ---- */

static atomic_bool stop;

/* Writes 'A' to whatever is open as shared_fd; only files named a* may have any. */
static void *hammer(void *arg)
{
	static char block[300000];

	(void)arg;
	memset(block, 'A', sizeof(block));
	while (!stop)
		if (pwrite(shared_fd, block, sizeof(block), 0) < 0 && errno != EBADF)
			fail("pwrite");
	return NULL;
}

static void closes(void)
{
	char byte;
	pthread_t t;
	int other;

	shared_fd = make("a0", O_RDWR | O_CREAT | O_TRUNC);
	pthread_create(&t, NULL, hammer, NULL);
	for (int i = 0; i < 300; i++) {
		int fd = make("a1", O_RDWR | O_CREAT);

		/* Replaced under the hands of the thread, by another file that it may write. */
		if (dup2(fd, shared_fd) != shared_fd)
			fail("dup2");
		close(fd);
		/* Another one, opened and used meanwhile, gets none of it. */
		other = make("b", O_RDWR | O_CREAT | O_TRUNC);
		if (pwrite(other, "b", 1, 0) != 1 || pread(other, &byte, 1, 0) != 1 || byte != 'b')
			fail("b holds %c", byte);
		if (lseek(other, 0, SEEK_END) != 1)
			fail("b has %lld bytes", (long long)lseek(other, 0, SEEK_END));
		close(other);
	}
	stop = true;
	pthread_join(t, NULL);
}

/* ---- signals and cancellation ---- */

static int log_fd;
static volatile sig_atomic_t ticks;

static void on_tick(int signal)
{
	int saved = errno;

	(void)signal;
	if (write(log_fd, "tick\n", 5) != 5)
		_exit(3);
	ticks++;
	errno = saved;
}

static void signals(void)
{
	struct itimerval every = { { 0, 200 }, { 0, 200 } }, never = { 0 };
	struct stat st;
	char text[RECORD];
	int fd = make("signals", O_WRONLY | O_CREAT | O_TRUNC), n = 0;

	log_fd = make("ticks", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &every, NULL);
	for (; ticks < 500 && n < 1000000; n++) {
		record(text, 0, n);
		if (write(fd, text, RECORD) != RECORD)
			fail("write");
	}
	setitimer(ITIMER_REAL, &never, NULL);
	if (fstat(fd, &st) || st.st_size != (off_t)n * RECORD)
		fail("%d records, %lld bytes", n, (long long)st.st_size);
	if (fstat(log_fd, &st) || st.st_size != ticks * 5)
		fail("%d ticks, %lld bytes", (int)ticks, (long long)st.st_size);
}

static void *endless(void *arg)
{
	char block[20000] = { 0 };

	(void)arg;
	for (;;) {
		int fd = make("cancelled", O_WRONLY | O_CREAT);

		if (pwrite(fd, block, sizeof(block), 0) < 0 || close(fd))
			fail("pwrite");
	}
	return NULL;
}

static void cancels(void)
{
	for (int i = 0; i < 50; i++) {
		pthread_t t;
		void *result;

		pthread_create(&t, NULL, endless, NULL);
		usleep(1000 + i * 7);
		pthread_cancel(t);
		pthread_join(t, &result);
		if (result != PTHREAD_CANCELED)
			fail("it was not cancelled");
	}
	shared_fd = make("after", O_WRONLY | O_CREAT | O_TRUNC);
	write_records(shared_fd, 0);
	check_records("after", 1);
}

static void *anywhere(void *arg)
{
	static char block[20000];

	(void)arg;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	while (pwrite(shared_fd, block, sizeof(block), 0) == (ssize_t)sizeof(block))
		;
	fail("pwrite");
	return NULL;
}

/* Not that they should. What they were in the middle of must not stay so for the others. */
static void cancels_anywhere(void)
{
	static char block[4096];

	shared_fd = make("anywhere", O_WRONLY | O_CREAT);
	for (int i = 0; i < 50; i++) {
		pthread_t t;

		pthread_create(&t, NULL, anywhere, NULL);
		usleep(5000 + i * 7);
		pthread_cancel(t);
		pthread_join(t, NULL);
	}
	puts("cancelled");
	fflush(stdout);
	getchar();
	for (int i = 0; i < 20000; i++)
		if (pwrite(shared_fd, block, sizeof(block), i % 100 * 4096) != 4096)
			fail("pwrite");
}

/* ---- descriptors that a program thinks are its own ---- */

static void sweeps(void)
{
	char text[RECORD];
	int fd;

	closefrom(3); /* what we were started with */
	fd = make("sweeps", O_WRONLY | O_CREAT | O_TRUNC);
	for (int i = 0; i < EACH; i++) {
		record(text, 0, i);
		if (write(fd, text, RECORD) != RECORD)
			fail("write %d", i);
		switch (i % 5) {
		case 0: /* as daemons do */
			for (int j = 3; j < 1024; j++)
				if (j != fd && close(j) == 0)
					fail("there was a descriptor %d", j);
			break;
		case 1: /* whatever is in the way */
			for (int j = 3; j < 1024; j += 7)
				if (j != fd && (dup2(1, j) != j || close(j)))
					fail("dup2 %d", j);
			break;
		case 2:
			close_range((unsigned)fd + 1, ~0U, 0);
			break;
		case 3:
			closefrom(fd + 1);
			break;
		default:
			fd = dup2(fd, fd == 700 ? 3 : 700);
			close(fd == 700 ? 3 : 700);
		}
	}
	close(fd);
	check_records("sweeps", 1);
}

static void spawns(void)
{
	int fd = make("spawns", O_WRONLY | O_CREAT | O_TRUNC);
	char *const echo[] = { "/bin/sh", "-c", "echo $$ >&2; cat /dev/null; echo from the child",
			       NULL };
	posix_spawn_file_actions_t actions;
	struct stat st;
	pid_t pid;

	if (write(fd, "from the parent\n", 16) != 16)
		fail("write");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	for (volatile int i = 0; i < 20; i++) {
		if (i % 2 ? posix_spawn(&pid, echo[0], &actions, NULL, echo, environ)
			  : (pid = vfork()) < 0)
			fail("spawn");
		if (pid == 0) {
			dup2(fd, 1);
			close(fd); /* in the child alone */
			close(2);
			open("/dev/null", O_WRONLY);
			execv(echo[0], echo);
			_exit(127);
		}
		await(1);
		if (write(fd, "from the parent\n", 16) != 16)
			fail("write");
	}
	if (fstat(fd, &st) || st.st_size != 21 * 16 + 20 * 15)
		fail("%lld bytes", (long long)st.st_size);
}

/* A program that was just written can be executed: nobody holds it open for writing. */
static void busy(void)
{
	for (volatile int i = 0; i < 50; i++) {
		char name[32];
		char *const args[] = { name, NULL };
		int fd;
		pid_t pid;

		snprintf(name, sizeof(name), "./program-%d", i);
		fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);
		if (write(fd, "#!/bin/true\n", 12) != 12 || close(fd))
			fail("write %s", name);
		pid = vfork();
		if (pid == 0) {
			execv(name, args);
			_exit(errno);
		}
		await(1);
		unlink(name);
	}
}

int main(int argc, char **argv)
{
	static const struct program_case cases[] = {
		{ "threads", threads },
		{ "forks", forks },
		{ "appends", appends },
		{ "readers", readers },
		{ "closes", closes },
		{ "signals", signals },
		{ "cancels", cancels },
		{ "sweeps", sweeps },
		{ "spawns", spawns },
		{ "busy", busy },
		{ "cancels-anywhere", cancels_anywhere },
	};

	if (argc != 3 || chdir(argv[2]))
		return 2;
	if (RUN_CASE(argv[1], cases))
		return 2;
	puts("fine");
	return 0;
}
