/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of the kernel and system: each feature is tried. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/doctor/doctor.h"
#include "client/gate/filter.h"
#include "client/gate/stub.h"
#include "wire/shm.h"

/* ---- features ---- */

static void ds_version(struct doctor *d)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) < 2)
		doctor_say(d, DOCTOR_WARN, "kernel", NULL, "cannot read its version");
	else if (major < 5 || (major == 5 && minor < 6))
		doctor_say(d, DOCTOR_WARN, "kernel", "Sluice is tested on Linux 5.10 and later.",
			   "%s %s is old", u.sysname, u.release);
	else
		doctor_say(d, DOCTOR_OK, "kernel", NULL, "%s %s %s", u.sysname, u.release,
			   u.machine);
}

/* Without io_uring each worker makes O_DIRECT transfers one at a time. */
static void ds_io_uring(struct doctor *d)
{
	struct io_uring_params p = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 4, &p);

	if (fd >= 0) {
		close(fd);
		doctor_say(d, DOCTOR_OK, "io_uring", NULL, "works");
	} else {
		doctor_say(d, DOCTOR_WARN, "io_uring",
			   errno == EPERM ? "Allow it: sysctl kernel.io_uring_disabled=0, or the "
					    "seccomp profile of this container."
			   : errno == ENOMEM ? "Allow more locked memory: 'ulimit -l unlimited'."
					     : NULL,
			   "%s; nodes work without it, but O_DIRECT is slower", strerror(errno));
	}
}

static void ds_openat2(struct doctor *d)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
	int root = open("/", O_PATH | O_CLOEXEC);
	int fd = (int)syscall(SYS_openat2, root, ".", &how, sizeof(how)), error = errno;

	if (root >= 0)
		close(root);
	if (fd >= 0) {
		close(fd);
		doctor_say(d, DOCTOR_OK, "openat2", NULL, "works");
	} else {
		doctor_say(d, DOCTOR_WARN, "openat2",
			   "It needs Linux 5.6, and a seccomp profile that allows it.",
			   "%s; layers cannot serve programs over TCP ('sluice up --listen')",
			   strerror(error));
	}
}

/* Set the size that a node would set, under the same limit. 0 or errno. */
static int ds_seal(int fd)
{
	struct rlimit before, l;
	int error = getrlimit(RLIMIT_FSIZE, &before) ? errno : 0;

	l = before;
	l.rlim_cur = l.rlim_max;
	if (!error && (setrlimit(RLIMIT_FSIZE, &l) || ftruncate(fd, SL_SEGMENT_BYTES) ||
		       fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)))
		error = errno;
	setrlimit(RLIMIT_FSIZE, &before);
	return error;
}

/* Clients and a node share a sealed memfd, sent over a socket. */
static void ds_shared(struct doctor *d)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 1;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	int fd = memfd_create("sluice-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int pair[2] = { -1, -1 }, error;

	error = fd < 0 ? errno : ds_seal(fd);
	if (error) {
		doctor_say(d, DOCTOR_FAIL, "memfd",
			   error == EFBIG ? "Raise 'fsize' in /etc/security/limits.conf: shared "
					    "memory counts as a file."
					  : "A seccomp profile may forbid it.",
			   "no sealed shared memory: %s", strerror(error));
		if (fd >= 0)
			close(fd);
		return;
	}
	doctor_say(d, DOCTOR_OK, "memfd", NULL, "shared memory can be created and sealed");
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ||
	    sendmsg(pair[0], &m, 0) != 1 || recvmsg(pair[1], &m, MSG_CMSG_CLOEXEC) != 1)
		error = errno;
	h = CMSG_FIRSTHDR(&m);
	if (!error && h && h->cmsg_type == SCM_RIGHTS) {
		int got;

		memcpy(&got, CMSG_DATA(h), sizeof(got));
		close(got);
		doctor_say(d, DOCTOR_OK, "SCM_RIGHTS", NULL,
			   "files can be passed between processes");
	} else {
		doctor_say(d, DOCTOR_FAIL, "SCM_RIGHTS", NULL,
			   "files cannot be passed between processes: %s",
			   error ? strerror(error) : "they do not arrive");
	}
	for (int i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
	close(fd);
}

static void ds_pidfd(struct doctor *d)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd >= 0) {
		close(fd);
		doctor_say(d, DOCTOR_OK, "pidfd", NULL, "works");
	} else {
		doctor_say(d, DOCTOR_FAIL, "pidfd", "It needs Linux 5.3.",
			   "%s; 'sluice down' cannot stop a layer", strerror(errno));
	}
}

/* The result of the trial. */
enum { GATE_WORKS = 1, GATE_KILLABLE = 2, GATE_SYNC = 4, GATE_STUBS = 8 };

/*
 * In a child, because a filter cannot be removed. No supervisor answers, so the child has to be
 * killed.
 */
static _Noreturn void ds_try_gate(_Atomic int *found)
{
	struct gate_kernel k;
	int listener;

	gate_kernel(&k);
	listener = gate_install(0);
	if (listener >= 0)
		*found = GATE_WORKS | (k.killable ? GATE_KILLABLE : 0) |
			 (gate_sync_wake_up(listener) ? GATE_SYNC : 0) |
			 (gate_stub_map() ? GATE_STUBS : 0);
	for (;;)
		kill(getpid(), SIGKILL);
}

static int ds_gate_features(void)
{
	_Atomic int *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int found;
	pid_t pid;

	if (shared == MAP_FAILED)
		return 0;
	pid = fork();
	if (pid == 0)
		ds_try_gate(shared);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	found = *shared;
	munmap((void *)shared, sizeof(*shared));
	return found;
}

/* The supervisor of a gate may not read the memory of the program. */
static bool ds_restricted(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	return scope > 0 && geteuid() != 0;
}

static void ds_gate(struct doctor *d)
{
	enum gate_state state = gate_state();
	int features = state ? 0 : ds_gate_features();

	if (state)
		doctor_say(d, DOCTOR_OK, "gate", NULL, "this program is behind one%s",
			   state == GATE_ON_STRICT ? " that is strict" : "");
	else if (!(features & GATE_WORKS))
		doctor_say(
			d, DOCTOR_WARN, "gate",
			"It needs Linux 5.9, and that no container or debugger supervises system "
			"calls by seccomp.",
			"cannot start programs behind a gate; static programs are not scheduled");
	else if (!(features & GATE_KILLABLE))
		doctor_say(d, DOCTOR_WARN, "gate", "It needs Linux 5.19.",
			   "programs can run behind a gate, but signals end the wait for a turn");
	else if (ds_restricted())
		doctor_say(
			d, DOCTOR_WARN, "gate",
			"sysctl kernel.yama.ptrace_scope=0 lets it read them.",
			"programs can run behind a gate, but calls with vectors and libaio are not "
			"charged");
	else
		doctor_say(d, DOCTOR_OK, "gate", NULL,
			   "programs can run behind a gate (seccomp user notification%s)%s",
			   features & GATE_SYNC ? ", fast" : "; Linux 6.6 makes it faster",
			   features & GATE_STUBS ? "" : "; preloaded programs are slow behind it");
}

void doctor_kernel(struct doctor *d)
{
	ds_version(d);
	ds_io_uring(d);
	ds_openat2(d);
	ds_shared(d);
	ds_pidfd(d);
	ds_gate(d);
}

/* ---- limits ---- */

static const char *ds_amount(rlim_t value, char *out, size_t size)
{
	if (value == RLIM_INFINITY)
		snprintf(out, size, "unlimited");
	else
		snprintf(out, size, "%llu", (unsigned long long)value);
	return out;
}

/* hard: a node raises the soft limit to the hard one itself. */
static void ds_limit(struct doctor *d, const char *name, int which, bool hard, rlim_t fail,
		     rlim_t warn, const char *what, const char *advice)
{
	struct rlimit l;
	char text[32];
	rlim_t value;

	if (getrlimit((__rlimit_resource_t)which, &l))
		return;
	value = hard ? l.rlim_max : l.rlim_cur;
	ds_amount(value, text, sizeof(text));
	if (value < fail)
		doctor_say(d, DOCTOR_FAIL, name, advice, "only %s %s", text, what);
	else if (value < warn)
		doctor_say(d, DOCTOR_WARN, name, advice, "only %s %s", text, what);
	else
		doctor_say(d, DOCTOR_OK, name, NULL, "%s %s", text, what);
}

static void ds_shm(struct doctor *d)
{
	struct statvfs v;
	char text[32];

	if (statvfs("/dev/shm", &v) || access("/dev/shm", W_OK)) {
		doctor_say(d, DOCTOR_WARN, "/dev/shm",
			   "Mount a tmpfs there to use 'sluice bench path'.",
			   "missing, or not writable");
		return;
	}
	sl_format_bytes(text, sizeof(text), (uint64_t)v.f_bavail * v.f_frsize);
	if ((uint64_t)v.f_bavail * v.f_frsize < 64U << 20)
		doctor_say(d, DOCTOR_WARN, "/dev/shm",
			   "Remove unneeded files there, or give the container more: "
			   "--shm-size=1g.",
			   "only %s free; benchmarks and MPI programs need more", text);
	else
		doctor_say(d, DOCTOR_OK, "/dev/shm", NULL, "%s free", text);
}

void doctor_limits(struct doctor *d)
{
	struct rlimit l;
	char text[32];

	ds_limit(d, "open files", RLIMIT_NOFILE, true, 256, 4096, "files may be open at a time",
		 "Raise 'nofile' in /etc/security/limits.conf; a node keeps every file open that "
		 "its "
		 "programs have open.");
	ds_limit(d, "processes", RLIMIT_NPROC, false, 32, 256,
		 "processes and threads for this user",
		 "'ulimit -u', or raise 'nproc' in /etc/security/limits.conf.");
	ds_limit(d, "memlock", RLIMIT_MEMLOCK, false, 0, 64U << 10,
		 "bytes may be locked (older kernels count io_uring)",
		 "'ulimit -l', or raise 'memlock' in /etc/security/limits.conf.");
	if (getrlimit(RLIMIT_FSIZE, &l) == 0 && l.rlim_max != RLIM_INFINITY)
		doctor_say(d, DOCTOR_WARN, "file size",
			   "Raise 'fsize' in /etc/security/limits.conf: the writes of a node for "
			   "programs are subject to its own limit.",
			   "files end at %s bytes", ds_amount(l.rlim_max, text, sizeof(text)));
	else if (l.rlim_cur != RLIM_INFINITY)
		doctor_say(d, DOCTOR_WARN, "file size",
			   "'ulimit -f unlimited': programs with such a limit bypass the layer.",
			   "files of this shell end at %s bytes",
			   ds_amount(l.rlim_cur, text, sizeof(text)));
	else
		doctor_say(d, DOCTOR_OK, "file size", NULL, "unlimited");
	ds_shm(d);
}

/* ---- what layers can use ---- */

/* Report two features that Sluice does not need, because users ask for them. */
static void ds_not_needed(struct doctor *d, const char *name, const char *path, const char *why)
{
	doctor_say(d, DOCTOR_OK, name, NULL, "%s, and not needed: %s",
		   access(path, F_OK) ? "not there" : "there", why);
}

static void ds_loopback(struct doctor *d)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);
	int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (one < 0 || other < 0 || bind(one, (struct sockaddr *)&a, sizeof(a)) || listen(one, 1) ||
	    getsockname(one, (struct sockaddr *)&a, &size) ||
	    connect(other, (struct sockaddr *)&a, sizeof(a)))
		doctor_say(d, DOCTOR_WARN, "loopback",
			   "'ip link set lo up'; a network namespace may lack it.",
			   "no connection to 127.0.0.1: %s; --listen and the dashboard need it",
			   strerror(errno));
	else
		doctor_say(d, DOCTOR_OK, "loopback", NULL, "ports of 127.0.0.1 can be used");
	if (one >= 0)
		close(one);
	if (other >= 0)
		close(other);
}

void doctor_helpers(struct doctor *d)
{
	ds_loopback(d);
	ds_not_needed(d, "FUSE", "/dev/fuse", "programs use LD_PRELOAD");
	ds_not_needed(
		d, "MUNGE", "/run/munge/munge.socket.2",
		"only 'sluiced --munge' uses it, for a controller with nodes on several machines");
}
