/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metadata DIR: each metadata call answers as without Sluice: results, errors, bad addresses.
 * metadata DIR storm SECONDS FILES [PAUSE_US]: create, stat and unlink files; prints operations and
 * seconds.
 * metadata DIR create|lookup SECONDS: operations of one class only.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define IS(call, result, error)                                                              \
	do {                                                                                 \
		long got_;                                                                   \
		errno = ERANGE;                                                              \
		got_ = (long)(call);                                                         \
		if (got_ != (long)(result) || errno != (error)) {                            \
			printf("line %d: %s is %ld, errno %d (%s)\n", __LINE__, #call, got_, \
			       errno, strerror(errno));                                      \
			exit(1);                                                             \
		}                                                                            \
	} while (0)
#define OK(call)	   IS(call, 0, ERANGE)
#define FAILS(call, error) IS(call, -1, error)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int storm(double seconds, int files, unsigned pause_us)
{
	double begin = now();
	struct stat st;
	long made = 0;
	char name[64];

	do {
		for (int step = 0; step < 3; step++)
			for (int i = 0; i < files; i++, made++) {
				snprintf(name, sizeof(name), "f%d.%d", (int)getpid(), i);
				if (step == 0)
					close(open(name, O_CREAT | O_WRONLY, 0644));
				else if (step == 1 ? stat(name, &st) : unlink(name))
					return 1;
				if (pause_us)
					usleep(pause_us);
			}
	} while (now() - begin < seconds);
	printf("%ld %.3f\n", made, now() - begin);
	return 0;
}

static int one_class(bool create, double seconds)
{
	double begin = now();
	struct stat st;

	while (now() - begin < seconds)
		if (create)
			close(open("one", O_CREAT | O_WRONLY, 0644));
		else
			stat("one", &st);
	return 0;
}

static void handler(int signal)
{
	struct stat st;

	(void)signal;
	if (stat("a", &st))
		_exit(2);
}

int main(int argc, char **argv)
{
	char text[PATH_MAX], *volatile bad = (char *)8, *volatile none = NULL;
	struct stat st;
	struct statvfs vfs;
	struct timeval times[2] = { { 1, 0 }, { 2, 0 } };
	struct dirent *e;
	int fd, entries = 0;
	DIR *d;

	if (argc < 2 || chdir(argv[1]))
		return 1;
	if (argc == 4)
		return one_class(!strcmp(argv[2], "create"), atof(argv[3]));
	if (argc > 4)
		return storm(atof(argv[3]), atoi(argv[4]), argc > 5 ? (unsigned)atoi(argv[5]) : 0);
	umask(022);
	fd = open("a", O_CREAT | O_EXCL | O_RDWR, 0640);
	OK(fstat(fd, &st));
	if ((st.st_mode & 07777) != 0640)
		return 1;
	FAILS(open("a", O_CREAT | O_EXCL, 0600), EEXIST);
	FAILS(open("nothing", O_RDONLY), ENOENT);
	FAILS(stat("nothing", &st), ENOENT);
	FAILS(stat("a/b", &st), ENOTDIR);
	FAILS(stat(bad, &st), EFAULT);
	FAILS(stat(none, &st), EFAULT);
	FAILS(lstat((char *)-1, &st), EFAULT);
	FAILS(access(bad, R_OK), EFAULT);
	FAILS(unlink(none), EFAULT);
	FAILS(rename(bad, "b"), EFAULT);
	FAILS(rename("a", bad), EFAULT);
	FAILS(mkdir(bad, 0700), EFAULT);
	FAILS(open(bad, O_RDONLY), EFAULT);
	FAILS(truncate(bad, 0), EFAULT);
	IS(fopen(bad, "r"), 0, EFAULT);
	IS(closedir((DIR *)none), -1, EINVAL);
	FAILS(fstat(-1, &st), EBADF);
	FAILS(fstatat(fd, "x", &st, 0), ENOTDIR);
	FAILS(fstatat(AT_FDCWD, "a", &st, 0x40000000), EINVAL);
	OK(fstatat(fd, "", &st, AT_EMPTY_PATH));
	OK(lstat("a", &st));
	OK(access("a", F_OK));
	FAILS(readlink("a", text, sizeof(text)), EINVAL);
	OK(symlink("a", "s"));
	IS(readlink("s", text, sizeof(text)), 1, ERANGE);
	FAILS(symlink("a", "s"), EEXIST);
	OK(link("a", "h"));
	OK(mkdir("d", 0700));
	FAILS(mkdir("d", 0700), EEXIST);
	FAILS(unlink("d"), EISDIR);
	OK(rename("h", "d/h"));
	FAILS(rmdir("d"), ENOTEMPTY);
	OK(chmod("a", 0600));
	OK(chown("a", (uid_t)-1, (gid_t)-1));
	OK(utimes("a", times));
	OK(futimens(fd, NULL));
	OK(truncate("a", 4096));
	OK(ftruncate(fd, 100));
	OK(statvfs("a", &vfs));
	FAILS(getxattr("a", "user.none", text, 1), errno == ENODATA ? ENODATA : EOPNOTSUPP);
	d = opendir("d");
	if (!d)
		return 1;
	OK(fstatat(dirfd(d), "h", &st, 0));
	OK(unlinkat(dirfd(d), "h", 0));
	while ((e = readdir(d)))
		entries++;
	if (entries < 2 || entries > 3)
		return 1;
	OK(closedir(d));
	OK(rmdir("d"));
	if (!realpath("s", text) || strcmp(strrchr(text, '/'), "/a") != 0)
		return 1;
	strcpy(text, "tXXXXXX");
	fd = mkstemp(text);
	if (fd < 0)
		return 1;
	OK(unlink(text));
	OK(syscall(SYS_close, fd));
	fd = open(".", O_TMPFILE | O_RDWR, 0640);
	if (fd >= 0) {
		OK(fstat(fd, &st));
		if ((st.st_mode & 07777) != 0640)
			return 1;
	}
	signal(SIGALRM, handler);
	raise(SIGALRM);
	if (vfork() == 0) {
		static struct stat child;

		_exit(stat("a", &child) ? 3 : 0);
	}
	if (wait(&fd) < 0 || fd)
		return 1;
	OK(unlink("s"));
	OK(remove("a"));
	puts("fine");
	return 0;
}
