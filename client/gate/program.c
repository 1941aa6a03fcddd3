/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads as little as necessary: the ELF header, the program headers, the loader's name, the names
 * of libraries. With one buffer for the file's first kilobyte and one for the rest, this takes four
 * system calls, and one more for each library. Only for programs that may need a gate, it checks
 * whether exec would succeed, and with which rights.
 *
 * Go programs are found by their note, which the Go linker writes also when it links with libc;
 * programs with libaio or liburing by DT_NEEDED. A program that opens such a library at run time,
 * or has "syscall" instructions of its own, cannot be found this way.
 */
#include "base/oldlibc.h"
#include "client/gate/program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define INTERPRETERS 4 /* of interpreters of interpreters; the kernel's limit */
#define HEADERS	     64
#define ENTRIES	     512
#define NAME	     256 /* of a loader */
#define LINE	     256 /* of "#!", as the kernel reads it */

#if defined(__x86_64__)
#define MACHINE	      EM_X86_64
#define SMALL_MACHINE EM_386
#elif defined(__aarch64__)
#define MACHINE	      EM_AARCH64
#define SMALL_MACHINE EM_ARM
#else
#define MACHINE	      EM_NONE
#define SMALL_MACHINE EM_NONE
#endif

/* Part of a file. Exec may be called on a small signal stack. */
struct window {
	uint64_t from;
	size_t have;
	unsigned char bytes[1024];
};

struct file {
	int fd;
	struct window head, behind;
};

static void slide(struct file *f, struct window *w, uint64_t from)
{
	long n = syscall(SYS_pread64, f->fd, w->bytes, sizeof(w->bytes), from);

	w->from = from;
	w->have = n > 0 ? (size_t)n : 0;
}

static bool holds(const struct window *w, size_t bytes, uint64_t offset)
{
	return offset >= w->from && offset - w->from <= w->have &&
	       bytes <= w->have - (offset - w->from);
}

static bool read_at(struct file *f, void *out, size_t bytes, uint64_t offset)
{
	const struct window *w = &f->head;

	if (!holds(w, bytes, offset)) {
		w = &f->behind;
		if (!holds(w, bytes, offset))
			slide(f, &f->behind, offset);
		if (!holds(w, bytes, offset))
			return false;
	}
	memcpy(out, w->bytes + (offset - w->from), bytes);
	return true;
}

static bool header(struct file *f, const Elf64_Ehdr *e, unsigned i, Elf64_Phdr *out)
{
	return i < e->e_phnum && i < HEADERS && e->e_phentsize == sizeof(*out) &&
	       read_at(f, out, sizeof(*out), e->e_phoff + i * sizeof(*out));
}

static bool find(struct file *f, const Elf64_Ehdr *e, uint32_t type, Elf64_Phdr *out)
{
	for (unsigned i = 0; header(f, e, i, out); i++)
		if (out->p_type == type)
			return true;
	return false;
}

static bool is_executable(const char *path)
{
	return !syscall(SYS_faccessat, AT_FDCWD, path, X_OK);
}

/* The name of the loader; if that is not there, exec fails. */
static bool loader(struct file *f, uint64_t offset, uint64_t size, char name[NAME])
{
	size_t bytes = size < NAME - 1 ? (size_t)size : NAME - 1;

	memset(name, 0, NAME);
	return read_at(f, name, bytes, offset);
}

/* The loader of glibc, which reads LD_PRELOAD as the library expects it. */
static bool is_glibc(const char *name)
{
	const char *slash = strrchr(name, '/');

	slash = slash ? slash + 1 : name;
	return !strncmp(slash, "ld-linux", 8) || !strncmp(slash, "ld64", 4) ||
	       !strncmp(slash, "ld-2.", 5);
}

static bool is_go(struct file *f, const Elf64_Ehdr *e)
{
	struct {
		Elf64_Nhdr head;
		char name[4];
	} note;
	Elf64_Phdr h;

	for (unsigned i = 0; header(f, e, i, &h); i++)
		if (h.p_type == PT_NOTE && read_at(f, &note, sizeof(note), h.p_offset) &&
		    note.head.n_namesz == 4 && !memcmp(note.name, "Go\0", 4))
			return true;
	return false;
}

/* Where in the file an address of the program is; 0: nowhere. */
static uint64_t in_file(struct file *f, const Elf64_Ehdr *e, uint64_t address)
{
	Elf64_Phdr h;

	for (unsigned i = 0; header(f, e, i, &h); i++)
		if (h.p_type == PT_LOAD && address >= h.p_vaddr && address - h.p_vaddr < h.p_filesz)
			return address - h.p_vaddr + h.p_offset;
	return 0;
}

static bool is_engine(struct file *f, uint64_t names, uint64_t name)
{
	char text[12] = "";

	/* Not through the window, which is on the list that these names are from. */
	return syscall(SYS_pread64, f->fd, text, sizeof(text) - 1, names + name) > 0 &&
	       (!strncmp(text, "libaio.so", 9) || !strncmp(text, "liburing.so", 11));
}

static bool uses_engine(struct file *f, const Elf64_Ehdr *e)
{
	uint64_t names = 0;
	Elf64_Phdr h;
	Elf64_Dyn d;

	if (!find(f, e, PT_DYNAMIC, &h))
		return false;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < ENTRIES; i++) {
			if (!read_at(f, &d, sizeof(d), h.p_offset + i * sizeof(d)) ||
			    d.d_tag == DT_NULL)
				break;
			if (d.d_tag == DT_STRTAB)
				names = in_file(f, e, d.d_un.d_ptr);
			if (pass && d.d_tag == DT_NEEDED && is_engine(f, names, d.d_un.d_val))
				return true;
		}
		if (!names)
			return false;
	}
	return false;
}

/* A program of i386 or x32, which x86-64 executes, too. */
static enum gate_need look_small(struct file *f)
{
	char name[NAME];
	Elf32_Ehdr e;
	Elf32_Phdr h;

	if (!read_at(f, &e, sizeof(e), 0) || e.e_phentsize != sizeof(h))
		return GATE_ABSENT;
	for (unsigned i = 0; i < e.e_phnum && i < HEADERS; i++)
		if (!read_at(f, &h, sizeof(h), e.e_phoff + i * sizeof(h)) ||
		    (h.p_type == PT_INTERP &&
		     (!loader(f, h.p_offset, h.p_filesz, name) || !is_executable(name))))
			return GATE_ABSENT;
	return GATE_FOREIGN;
}

/* Programs of other machines are executed by an emulator, if one is registered. */
static enum gate_need look_foreign(void)
{
	return syscall(SYS_faccessat, AT_FDCWD, "/proc/sys/fs/binfmt_misc/status", F_OK)
		       ? GATE_ABSENT
		       : GATE_FOREIGN;
}

/* The library sees all that this program does: no further check is needed. */
static bool suffices(enum gate_need need, bool all)
{
	return need == GATE_NONE && !all;
}

static enum gate_need look_elf(struct file *f, bool all)
{
	char name[NAME];
	enum gate_need need = GATE_NONE;
	Elf64_Phdr interp;
	Elf64_Ehdr e;

	if (!read_at(f, &e, sizeof(e), 0))
		return GATE_ABSENT;
	if (e.e_ident[EI_CLASS] == ELFCLASS32 &&
	    (e.e_machine == MACHINE || e.e_machine == SMALL_MACHINE))
		return look_small(f);
	if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_machine != MACHINE)
		return look_foreign();
	if (!find(f, &e, PT_INTERP, &interp))
		return GATE_STATIC;
	if (!loader(f, interp.p_offset, interp.p_filesz, name))
		return GATE_ABSENT;
	if (!is_glibc(name))
		need = GATE_FOREIGN;
	else if (is_go(f, &e))
		need = GATE_GO;
	else if (uses_engine(f, &e))
		need = GATE_ENGINE;
	return suffices(need, all) || is_executable(name) ? need : GATE_ABSENT;
}

/* Executing it gives no rights that the caller does not have. */
static bool is_privileged(int fd)
{
	struct stat st;

	if (syscall(SYS_fgetxattr, fd, "security.capability", NULL, 0UL) > 0 && geteuid() != 0)
		return true;
	return sl_fstat(fd, &st) == 0 && ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
					  (st.st_mode & S_ISGID && st.st_gid != getegid()));
}

/* The interpreter of a script. */
static bool interpreter(char line[LINE + 1])
{
	char *at = line + 2 + strspn(line + 2, " \t");
	size_t n = strcspn(at, " \t\n");

	at[n] = 0;
	memmove(line, at, n + 1);
	return n > 0;
}

static enum gate_need look(int fd, char line[LINE + 1], bool all)
{
	struct file f = { .fd = fd };
	enum gate_need need;
	size_t n;

	slide(&f, &f.head, 0);
	n = f.head.have < LINE ? f.head.have : LINE;
	memcpy(line, f.head.bytes, n);
	line[n] = 0;
	if (n < SELFMAG || memcmp(line, ELFMAG, SELFMAG))
		return GATE_ABSENT; /* a script, perhaps: then the interpreter is what counts */
	need = look_elf(&f, all);
	return need != GATE_ABSENT && !suffices(need, all) && is_privileged(fd) ? GATE_PRIVILEGED
										: need;
}

static int open_program(const char *path)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static enum gate_need look_on(int fd, char line[LINE + 1], bool all)
{
	enum gate_need need = look(fd, line, all);

	for (int i = 0; i < INTERPRETERS && !strncmp(line, "#!", 2) && interpreter(line); i++) {
		int next = open_program(line);

		if (next < 0 || !is_executable(line)) {
			if (next >= 0)
				syscall(SYS_close, next);
			return GATE_ABSENT;
		}
		need = look(next, line, all);
		syscall(SYS_close, next);
	}
	return need;
}

enum gate_need gate_look_fd(int fd, bool all)
{
	char line[LINE + 1];

	return look_on(fd, line, all);
}

enum gate_need gate_look(const char *path, bool all)
{
	int fd = open_program(path);
	enum gate_need need;

	if (fd < 0)
		return GATE_ABSENT;
	need = gate_look_fd(fd, all);
	syscall(SYS_close, fd);
	return suffices(need, all) || is_executable(path) ? need : GATE_ABSENT;
}
