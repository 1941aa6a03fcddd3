/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs need a gate, by made-up ELF files; which system calls a gate catches; and how one is put on. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/gate/call.h"
#include "client/gate/calls.h"
#include "client/gate/filter.h"
#include "client/gate/hand.h"
#include "client/gate/program.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define ARCH	AUDIT_ARCH_X86_64
#else
#define MACHINE EM_AARCH64
#define ARCH	AUDIT_ARCH_AARCH64
#endif

static char path[64];

static int make(void **state)
{
	snprintf(path, sizeof(path), "/tmp/sluice-test-gate-XXXXXX");
	close(mkstemp(path));
	return chmod(path, 0700);
}

static int end(void **state)
{
	return unlink(path);
}

static enum gate_need look_at(const void *bytes, size_t length)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, length, f), length);
	assert_int_equal(fclose(f), 0);
	return gate_look(path, true);
}

/* A program of a few headers, and what they point to. */
struct made {
	Elf64_Ehdr e;
	Elf64_Phdr p[4];
	char interp[32];
	struct {
		Elf64_Nhdr head;
		char name[4];
	} note;
	Elf64_Dyn dynamic[4];
	char names[64];
};

static struct made made_with(const char *interp)
{
	struct made m = { .e = { .e_ident = ELFMAG,
				 .e_machine = MACHINE,
				 .e_phoff = offsetof(struct made, p),
				 .e_phentsize = sizeof(Elf64_Phdr) } };

	m.e.e_ident[EI_CLASS] = ELFCLASS64;
	if (interp) {
		snprintf(m.interp, sizeof(m.interp), "%s", interp);
		m.p[m.e.e_phnum++] = (Elf64_Phdr){ .p_type = PT_INTERP,
						   .p_offset = offsetof(struct made, interp),
						   .p_filesz = strlen(interp) + 1 };
	}
	return m;
}

static void add_library(struct made *m, const char *name)
{
	const uint64_t base = 0x400000;

	m->p[m->e.e_phnum++] =
		(Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = base, .p_filesz = sizeof(*m) };
	m->p[m->e.e_phnum++] =
		(Elf64_Phdr){ .p_type = PT_DYNAMIC, .p_offset = offsetof(struct made, dynamic) };
	snprintf(m->names + 1, sizeof(m->names) - 1, "%s", name);
	m->dynamic[0] = (Elf64_Dyn){ .d_tag = DT_NEEDED, .d_un.d_val = 1 };
	m->dynamic[1] = (Elf64_Dyn){ .d_tag = DT_STRTAB,
				     .d_un.d_ptr = base + offsetof(struct made, names) };
}

#ifdef __x86_64__
#define GLIBC "/lib64/ld-linux-x86-64.so.2"
#else
#define GLIBC "/lib/ld-linux-aarch64.so.1"
#endif

static void ordinary_programs(void **state)
{
	struct made m = made_with(GLIBC);

	assert_int_equal(look_at(&m, sizeof(m)), GATE_NONE);
	add_library(&m, "libm.so.6");
	assert_int_equal(look_at(&m, sizeof(m)), GATE_NONE);
}

static void programs_that_need_one(void **state)
{
	struct made m = made_with(NULL);

	assert_int_equal(look_at(&m, sizeof(m)), GATE_STATIC);
	m = made_with("/bin/sh"); /* a loader that is not glibc's */
	assert_int_equal(look_at(&m, sizeof(m)), GATE_FOREIGN);
	m = made_with(GLIBC);
	add_library(&m, "libaio.so.1");
	assert_int_equal(look_at(&m, sizeof(m)), GATE_ENGINE);
	m = made_with(GLIBC);
	add_library(&m, "liburing.so.2");
	assert_int_equal(look_at(&m, sizeof(m)), GATE_ENGINE);
	m = made_with(GLIBC);
	m.note.head = (Elf64_Nhdr){ .n_namesz = 4, .n_type = 4 };
	memcpy(m.note.name, "Go\0", 4);
	m.p[m.e.e_phnum++] =
		(Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = offsetof(struct made, note) };
	assert_int_equal(look_at(&m, sizeof(m)), GATE_GO);
}

/* A program of 32 bits: without a loader, or with this one. */
static enum gate_need look_at_small(const char *interp)
{
	struct {
		Elf32_Ehdr e;
		Elf32_Phdr p;
		char interp[32];
	} m = { .e = { .e_ident = ELFMAG,
		       .e_machine = MACHINE,
		       .e_phoff = sizeof(Elf32_Ehdr),
		       .e_phentsize = sizeof(Elf32_Phdr),
		       .e_phnum = interp ? 1 : 0 },
		.p = { .p_type = PT_INTERP,
		       .p_offset = sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
		       .p_filesz = sizeof(m.interp) } };

	m.e.e_ident[EI_CLASS] = ELFCLASS32;
	snprintf(m.interp, sizeof(m.interp), "%s", interp ? interp : "");
	return look_at(&m, sizeof(m));
}

/* exec reports what is wrong only if it is not sluice-gate that finds it out. */
static void programs_that_exec_refuses(void **state)
{
	bool emulates = access("/proc/sys/fs/binfmt_misc/status", F_OK) == 0;
	struct made m = made_with("/nonexistent/loader");

	assert_int_equal(look_at(&m, sizeof(m)), GATE_ABSENT);
	m = made_with(GLIBC);
	m.e.e_machine = EM_RISCV;
	assert_int_equal(look_at(&m, sizeof(m)), emulates ? GATE_FOREIGN : GATE_ABSENT);
	assert_int_equal(look_at_small(NULL), GATE_FOREIGN);
	assert_int_equal(look_at_small("/bin/sh"), GATE_FOREIGN);
	assert_int_equal(look_at_small("/nonexistent/loader"), GATE_ABSENT);
}

/* Whatever is in a file, looking at it ends, and does no harm. */
static void broken_files(void **state)
{
	struct made m = made_with(GLIBC);
	unsigned seed = 1;

	assert_int_equal(gate_look("/nonexistent", true), GATE_ABSENT);
	assert_int_equal(gate_look("/", true), GATE_ABSENT);
	assert_int_equal(look_at("", 0), GATE_ABSENT);
	assert_int_equal(look_at("echo x\n", 7), GATE_ABSENT);
	assert_int_equal(look_at("\177ELF", 4), GATE_ABSENT);
	add_library(&m, "libaio.so.1");
	for (int i = 0; i < 2000; i++) {
		struct made bad = m;

		for (int k = 0; k < 4; k++) {
			seed = seed * 1103515245 + 12345;
			((unsigned char *)&bad)[4 + (seed >> 8) % (sizeof(bad) - 4)] =
				(unsigned char)(seed >> 24);
		}
		look_at(&bad, sizeof(bad) - (seed >> 16) % 64);
	}
}

static void scripts(void **state)
{
	char inner[] = "/tmp/sluice-test-gate-i-XXXXXX", line[80];
	struct made m = made_with(NULL);
	int fd = mkstemp(inner);

	assert_int_equal(write(fd, &m, sizeof(m)), sizeof(m));
	close(fd);
	assert_int_equal(chmod(inner, 0700), 0);
	snprintf(line, sizeof(line), "#! %s -x\n", inner);
	assert_int_equal(look_at(line, strlen(line)), GATE_STATIC);
	assert_int_equal(look_at("#!/bin/sh\n", 10), GATE_NONE);
	assert_int_equal(look_at("#!/nonexistent\n", 15), GATE_ABSENT);
	snprintf(line, sizeof(line), "#!%s\n", path); /* of itself */
	assert_int_equal(look_at(line, strlen(line)), GATE_ABSENT);
	unlink(inner);
}

static void privileged_programs(void **state)
{
	struct made m = made_with(NULL);

	look_at(&m, sizeof(m));
	if (chown(path, getuid() + 1, getgid()))
		skip(); /* not root */
	assert_int_equal(chmod(path, 04755), 0);
	assert_int_equal(gate_look(path, true), GATE_PRIVILEGED);
	assert_int_equal(chown(path, getuid(), getgid()), 0);
	assert_int_equal(chmod(path, 04755), 0);
	assert_int_equal(gate_look(path, true), GATE_STATIC);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(gate_look(path, true), GATE_ABSENT);
}

static void calls(void **state)
{
	bool small = true;

	assert_int_equal(gate_call_of(ARCH, SYS_pwrite64, &small)->class, GATE_DATA);
	assert_int_equal(gate_call_of(ARCH, SYS_pwrite64, &small)->offset, 4);
	assert_int_equal(gate_call_of(ARCH, SYS_pwrite64, &small)->op, SL_WRITE);
	assert_false(small);
	assert_null(gate_call_of(ARCH, SYS_getpid, &small));
	assert_int_equal(gate_call_of(ARCH, SYS_openat, &small)->class, GATE_META);
	assert_int_equal(gate_call_of(ARCH, SYS_openat, &small)->op, SL_LOOKUP);
	assert_int_equal(gate_call_of(ARCH, SYS_renameat2, &small)->to_path, 4);
	assert_int_equal(gate_call_of(ARCH, SYS_getdents64, &small)->path, 0);
#ifdef __x86_64__
	assert_int_equal(gate_call_of(AUDIT_ARCH_I386, 4, &small)->op, SL_WRITE);
	assert_int_equal(gate_call_of(AUDIT_ARCH_I386, 90, &small)->class, GATE_MAP_OLD);
	assert_true(small);
	assert_null(gate_call_of(AUDIT_ARCH_I386, SYS_write, &small));
	assert_int_equal(gate_call_of(ARCH, X32_BIT | 516, &small)->vectors, 2);
	assert_true(small);
	assert_null(gate_call_of(AUDIT_ARCH_AARCH64, 64, &small));
#endif
	assert_int_equal(gate_state(), GATE_OFF);
}

/* The state behind a gate with these options; -1: none can be put on. Nobody answers what it
 * catches. */
static int state_behind(unsigned options)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int listener = gate_install(options);

		if (listener < 0)
			kill(getpid(), SIGKILL);
		/* The exit is caught, too. */
		if (!options && access("/", F_OK))
			kill(getpid(), SIGABRT);
		kill(getpid(), SIGRTMIN + (int)gate_state());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) != SIGABRT);
	return WTERMSIG(status) == SIGKILL ? -1 : WTERMSIG(status) - SIGRTMIN;
}

static void states(void **state)
{
	if (state_behind(0) < 0)
		skip();
	assert_int_equal(state_behind(0), GATE_ON);
	assert_int_equal(state_behind(GATE_OPS), GATE_ON_OPS);
	assert_int_equal(state_behind(GATE_STRICT), GATE_ON_STRICT);
}

/* Whether a read of /dev/zero passes behind a gate with these options. A call that is caught waits until a
 * signal comes. */
static void read_behind(unsigned options, size_t bytes, off_t at, bool passes)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		static char buffer[2048];
		int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

		if (gate_install(options) < 0)
			kill(getpid(), SIGABRT);
		if (!passes)
			ualarm(50000, 0);
		if (at)
			syscall(SYS_pread64, fd, buffer, bytes, at);
		else
			syscall(SYS_read, fd, buffer, bytes);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), passes ? SIGKILL : SIGALRM);
}

/* Its reads pass where the library is in the program, and no others. */
static void reads_of_the_loader(void **state)
{
	const size_t more = (size_t)1 << 32;

	if (state_behind(0) < 0)
		skip();
	read_behind(0, 832, 0, true);
	read_behind(0, 784, 64, true);
	read_behind(0, 831, 0, false);
	read_behind(0, 832 + more, 0, false);
	read_behind(0, 784, 128, false);
	read_behind(0, 784, 64 + (off_t)more, false);
	read_behind(0, 1024, 64, false);
	read_behind(GATE_OPS, 832, 0, false);
	read_behind(GATE_STRICT, 832, 0, false);
	read_behind(GATE_STRICT, 784, 64, false);
}

/* Keeper and spare in one process. arg: how many of the two live long enough to be given the
 * listener. */
static void keepers_for_test(int keeper, int spare, void *arg)
{
	int socks[] = { keeper, spare }, living = *(const int *)arg;

	for (int i = 0; i < 2; i++)
		if (send(socks[i], "r", 1, 0) != 1)
			_exit(1);
	for (int i = 0; i < 2; i++) {
		if (i < 2 - living || gate_receive(socks[i]) < 0)
			close(socks[i]);
		else
			send(socks[i], "k", 1, 0);
	}
	_exit(0);
}

/* A process that puts a gate on: whether it is there, and what the process had of its own. */
static int put_on_with(int living)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int rc, death = 0;

		prctl(PR_SET_PDEATHSIG, SIGHUP);
		rc = gate_put_on(GATE_OPS, keepers_for_test, &living);
		if (prctl(PR_GET_PDEATHSIG, &death) || death != SIGHUP)
			kill(getpid(), SIGABRT);
		if (!living && (rc != -ECHILD || access("/", F_OK)))
			kill(getpid(), SIGABRT);
		if (living && rc)
			kill(getpid(), SIGABRT);
		kill(getpid(), SIGRTMIN + (int)gate_state());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) != SIGABRT);
	return WTERMSIG(status) - SIGRTMIN;
}

static void keepers_that_die(void **state)
{
	if (state_behind(0) < 0)
		skip();
	assert_int_equal(put_on_with(0), GATE_OFF);
	assert_int_equal(put_on_with(1), GATE_ON_OPS);
}

static void is_inside(const char *line, const char *file, const char *inside)
{
	char device[GATE_DEVICE], out[GATE_PATH];
	bool is = gate_mount_inside(line, 36, file, device, out);

	assert_int_equal(is, inside != NULL);
	if (!inside)
		return;
	assert_string_equal(device, "98:0");
	assert_string_equal(out, inside);
}

static void paths_inside_of_mounts(void **state)
{
	is_inside("36 35 98:0 / / rw - ext4 /dev/a rw\n", "/a/f", "/a/f");
	is_inside("36 35 98:0 /a /data rw - ext4 /dev/a rw\n", "/data/f", "/a/f");
	is_inside("36 35 98:0 /a /data rw - ext4 /dev/a rw\n", "/data", "/a");
	is_inside("36 35 98:0 / /my\\040data rw - ext4 /dev/a rw\n", "/my data/f", "/f");
	is_inside("36 35 98:0 /a /data rw - ext4 /dev/a rw\n", "/database/f", NULL);
	is_inside("37 35 98:0 /a /data rw - ext4 /dev/a rw\n", "/data/f", NULL);
	is_inside("36 35 0:4 net:[4026531840] /run/ns rw - nsfs nsfs rw\n", "/run/ns", NULL);
	is_inside("36\n", "/data/f", NULL);
	is_inside("", "/data/f", NULL);
}

static void is_path(const char *base, const char *text, const char *whole)
{
	char out[GATE_PATH];

	assert_true(gate_path_join(base, text, out));
	assert_string_equal(out, whole);
}

static void paths_of_metadata_calls(void **state)
{
	char out[GATE_PATH], base[4096], text[4097];

	is_path("/a/b", "c", "/a/b/c");
	is_path("/a/b", "../c//./d/", "/a/c/d");
	is_path("/a/b", "/c/..", "/");
	is_path("/a/b", "../../../../etc", "/etc");
	is_path("/a/b", "..c/...", "/a/b/..c/...");
	is_path("/a/b", "", "/a/b");
	memset(base, 'x', sizeof(base));
	base[0] = '/';
	base[sizeof(base) - 1] = 0;
	memset(text, 'y', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_false(gate_path_join(base, text, out));
	text[4000] = 0;
	assert_true(gate_path_join(base, text, out));
	assert_int_equal(strlen(out), 4095 + 1 + 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ordinary_programs, make, end),
		cmocka_unit_test_setup_teardown(programs_that_need_one, make, end),
		cmocka_unit_test_setup_teardown(programs_that_exec_refuses, make, end),
		cmocka_unit_test_setup_teardown(broken_files, make, end),
		cmocka_unit_test_setup_teardown(scripts, make, end),
		cmocka_unit_test_setup_teardown(privileged_programs, make, end),
		cmocka_unit_test(calls),
		cmocka_unit_test(states),
		cmocka_unit_test(reads_of_the_loader),
		cmocka_unit_test(keepers_that_die),
		cmocka_unit_test(paths_inside_of_mounts),
		cmocka_unit_test(paths_of_metadata_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
