/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors of the layer's files, for the turn route.
 *
 * The program makes its own calls on its own descriptors. A wrong entry in this table only charges
 * a call that does not concern the layer, or lets one pass uncharged; it never misplaces data. So
 * an entry is one byte, accessed without a lock and never checked against the kernel.
 *
 * If the path tells whether the file is in the layer, open() enters the state without a system
 * call:
 *
 *	/scratch/a/b         beneath the root /scratch, no "..": ours
 *	a/b                  and the working directory is beneath the root: ours
 *	a/b, openat(d, …)    and d was opened as a directory of the layer: ours
 *	/home/x, ../x        may be a symbolic link into the root: UNKNOWN
 *
 * UNKNOWN, and descriptors that libc or others open by themselves, are looked at by the first data
 * call: not a regular file: PASS; else /proc/self/fd has the path. A file system that is mounted
 * below the root is part of the layer.
 *
 * close() and dup() set UNKNOWN. dup() does not copy the state: a child of vfork() shares this
 * memory but not the descriptors, so its calls must not change its parent's entries.
 *
 * While a call waits for its turn, the program may close its descriptor and open another file under
 * the number. So the file is identified before and after a wait. If it has changed, the call fails
 * with EBADF, as after close(), and the other file is not touched. dup2() replaces a file in one
 * step, as programs do with their logs: then the call goes to the new file.
 */
#include "client/conn/turnfd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/conn/part.h"
#include "client/conn/settings.h"

#define CHUNK	4096U
#define CHUNKS	256U
#define NUMBERS (CHUNK * CHUNKS)
#define SHORT	256 /* roots below this length need no memory of their own to compare with */

_Atomic unsigned char turnfd_first[TURNFD_FIRST];
static _Atomic unsigned char *_Atomic chunks[CHUNKS];

static SL_AT_START const char *root;
static SL_AT_START size_t root_length;
static atomic_bool sealed;

/*
 * The working directory: a state in the low two bits, then how many levels it is below the root,
 * or, of one above the root (CWD_ABOVE), below "/"; and above that a number that each change of the
 * directory increments.
 */
enum { CWD_UNKNOWN, CWD_IN, CWD_OUT, CWD_ABOVE, CWD_LEVEL = 4, CWD_STEP = 256 };
#define LEVELS (CWD_STEP / CWD_LEVEL - 1)
static _Atomic uint32_t cwd;

void turnfd_start(const char *directory)
{
	root = directory;
	root_length = strlen(directory);
	if (root_length == 1)
		root_length = 0; /* "/" and then a slash */
}

/* ---- the table ---- */

unsigned turnfd_high(int fd)
{
	_Atomic unsigned char *chunk;

	if ((unsigned)fd >= NUMBERS)
		return TURNFD_PASS;
	chunk = atomic_load_explicit(&chunks[(unsigned)fd / CHUNK], memory_order_acquire);
	return chunk ? atomic_load_explicit(&chunk[(unsigned)fd % CHUNK], memory_order_relaxed)
		     : TURNFD_UNKNOWN;
}

static _Atomic unsigned char *make_chunk(unsigned which)
{
	_Atomic unsigned char *chunk, *none = NULL;

	chunk = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&chunks[which], &none, chunk))
		return chunk;
	munmap((void *)(uintptr_t)chunk, CHUNK);
	return none;
}

/* NULL: there is none, and it is not to be made or cannot be. */
static _Atomic unsigned char *entry_of(int fd, bool make)
{
	unsigned number = (unsigned)fd;
	_Atomic unsigned char *chunk;

	if (number < TURNFD_FIRST)
		return &turnfd_first[number];
	if (number >= NUMBERS)
		return NULL;
	chunk = atomic_load_explicit(&chunks[number / CHUNK], memory_order_acquire);
	if (!chunk && make)
		chunk = make_chunk(number / CHUNK);
	return chunk ? &chunk[number % CHUNK] : NULL;
}

static void enter(int fd, unsigned state)
{
	_Atomic unsigned char *e = entry_of(fd, state != TURNFD_UNKNOWN);
	unsigned old;

	part_forget_fd(fd);
	if (!e)
		return;
	old = atomic_load_explicit(e, memory_order_relaxed);
	atomic_store_explicit(e, (unsigned char)((old & ~TURNFD_STATE) | state),
			      memory_order_relaxed);
}

void turnfd_replace(int fd)
{
	_Atomic unsigned char *e = entry_of(fd, false);

	part_forget_fd(fd);
	if (e)
		atomic_fetch_add(e, TURNFD_STATE + 1);
}

void turnfd_forget(int fd)
{
	enter(fd, TURNFD_UNKNOWN);
}

void turnfd_forget_range(unsigned first, unsigned last)
{
	if (last >= NUMBERS)
		last = NUMBERS - 1;
	for (unsigned fd = first; fd <= last; fd++) {
		if (fd < TURNFD_FIRST || atomic_load(&chunks[fd / CHUNK]))
			enter((int)fd, TURNFD_UNKNOWN);
		else
			fd |= CHUNK - 1; /* nothing is known of this chunk */
	}
}

/* ---- paths ---- */

static bool has_dots(const char *path)
{
	return (path[0] == '.' && path[1] == '.') || strstr(path, "/..");
}

static bool beneath(const char *path, size_t length)
{
	return length >= root_length && !memcmp(path, root, root_length) &&
	       (length == root_length || path[root_length] == '/');
}

/* Names in a path, at most LEVELS. */
static uint32_t levels_in(const char *path, size_t length)
{
	uint32_t count = 0;

	for (size_t i = 0; i < length && count < LEVELS; i++)
		count += path[i] != '/' && (!i || path[i - 1] == '/');
	return count;
}

/* A directory that the root is below. */
static bool above(const char *path, size_t length)
{
	if (length == 1 && path[0] == '/')
		return true;
	return length < root_length && !memcmp(path, root, length) && root[length] == '/';
}

/*
 * Where the symbolic link of /proc points to. CWD_IN: beneath the root, or the root itself,
 * `levels` below it. CWD_ABOVE: to a directory that the root is below, itself `levels` below "/".
 */
static uint32_t link_place(const char *link, uint32_t *levels)
{
	size_t size = root_length + 2 > SHORT ? root_length + 2 : SHORT;
	char own[SHORT], *path = own;
	uint32_t place = CWD_OUT;
	ssize_t n;

	if (size > SHORT) {
		path = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (path == MAP_FAILED)
			return CWD_OUT;
	}
	/* Not readlink(), which is interposed. Cut to what is to be compared. */
	n = syscall(SYS_readlinkat, AT_FDCWD, link, path, size);
	if (n > 0 && beneath(path, (size_t)n)) {
		place = CWD_IN;
		*levels = levels_in(path + root_length, (size_t)n - root_length);
	} else if (n > 0 && above(path, (size_t)n)) {
		*levels = levels_in(path, (size_t)n);
		place = *levels < LEVELS ? CWD_ABOVE : CWD_OUT;
	}
	if (path != own)
		munmap(path, size);
	return place;
}

void turnfd_chdir(void)
{
	uint32_t seen = atomic_load(&cwd);

	while (!atomic_compare_exchange_weak(&cwd, &seen, (seen | (CWD_STEP - 1)) + 1))
		;
}

static uint32_t cwd_look(void)
{
	uint32_t seen = atomic_load_explicit(&cwd, memory_order_relaxed), now, levels = 0;

	if (seen % CWD_LEVEL == CWD_UNKNOWN) {
		now = seen + link_place("/proc/self/cwd", &levels);
		now += levels * CWD_LEVEL;
		if (atomic_compare_exchange_strong(&cwd, &seen, now))
			seen = now;
	}
	return seen;
}

static bool cwd_beneath(void)
{
	return cwd_look() % CWD_LEVEL == CWD_IN;
}

static bool path_beneath(int dir, const char *path)
{
	if (path[0] == '/')
		return !strncmp(path, root, root_length) && path[root_length] == '/' &&
		       !strstr(path + root_length, "/..");
	if (!path[0] || has_dots(path))
		return false;
	return dir == AT_FDCWD ? cwd_beneath() : turnfd_state(dir) == TURNFD_DIR;
}

/*
 * Whether a path that begins so many levels below the root stays in the layer, as far as its text
 * tells.
 */
static bool stays(const char *path, uint32_t levels)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.') {
			if (!levels)
				return false;
			levels--;
		} else if (n && !(n == 1 && path[0] == '.')) {
			levels++;
		}
		path += n + (path[n] == '/');
	}
	return true;
}

static unsigned by_flags(int flags)
{
	if (flags & O_PATH)
		return TURNFD_DIR;
	if (flags & O_DIRECTORY && (flags & O_TMPFILE) != O_TMPFILE)
		return TURNFD_DIR;
	return flags & (O_DIRECT | O_SYNC | O_DSYNC) ? TURNFD_SLOW : TURNFD_OURS;
}

void turnfd_opened(int fd, int dir, const char *path, int flags)
{
	int saved = errno;

	if (atomic_load_explicit(&sealed, memory_order_relaxed))
		enter(fd, TURNFD_UNKNOWN);
	else
		enter(fd, path_beneath(dir, path) ? by_flags(flags) : TURNFD_UNKNOWN);
	errno = saved;
}

/* ---- looking ---- */

static int plain_statx(int dir, const char *path, unsigned mask, struct statx *sx)
{
	return (int)syscall(SYS_statx, dir, path, TURNFD_STATX_FLAGS, mask, sx);
}

turnfd_statx_call *turnfd_statx = plain_statx;

void turnfd_seal(void)
{
	atomic_store(&sealed, true);
}

static bool is_sealed(void)
{
	return atomic_load_explicit(&sealed, memory_order_relaxed);
}

/* "/proc/self/fd/N", without printf(), which takes a lot of stack. */
static bool fd_beneath(int fd)
{
	char link[32] = "/proc/self/fd/", digits[12];
	uint32_t levels;
	size_t at = strlen(link), n = 0;

	for (unsigned rest = (unsigned)fd; rest || !n; rest /= 10)
		digits[n++] = (char)('0' + rest % 10);
	while (n)
		link[at++] = digits[--n];
	link[at] = 0;
	return link_place(link, &levels) == CWD_IN;
}

static unsigned look(int fd)
{
	struct statx sx;

	if (turnfd_statx(fd, "", STATX_TYPE,
			 &sx)) /* not open, or a kernel that does not let us look */
		return errno == EBADF ? TURNFD_UNKNOWN : TURNFD_PASS;
	if ((!S_ISREG(sx.stx_mode) && !S_ISDIR(sx.stx_mode)) || !fd_beneath(fd))
		return TURNFD_PASS;
	if (S_ISDIR(sx.stx_mode))
		return TURNFD_DIR;
	return by_flags((int)syscall(SYS_fcntl, fd, F_GETFL) & ~O_DIRECTORY);
}

unsigned turnfd_find(int fd)
{
	unsigned state;

	if (is_sealed())
		return TURNFD_PASS;
	state = look(fd);
	enter(fd, state);
	return state;
}

bool turnfd_within(int fd)
{
	int saved = errno;
	unsigned state = turnfd_state(fd);

	if (state == TURNFD_UNKNOWN)
		state = turnfd_find(fd);
	errno = saved;
	return turnfd_ours(state) || state == TURNFD_DIR;
}

/*
 * Whether a path, relative to a directory that is above the root and so many levels below "/",
 * leads into the layer: /home/a above /home/a/scratch, path scratch/x.
 */
static bool down(const char *path, uint32_t levels)
{
	const char *rest = root;
	size_t n;

	while (levels--)
		rest += 1 + strcspn(rest + 1, "/");
	n = strlen(++rest);
	while (path[0] == '.' && path[1] == '/')
		path += 1 + strspn(path + 1, "/");
	return !strncmp(path, rest, n) && (path[n] == '/' || !path[n]) &&
	       (!has_dots(path + n) || stays(path + n, 0));
}

bool turnfd_path(int dir, const char *path)
{
	uint32_t here;
	int saved;

	if (!path || !path[0])
		return dir >= 0 && turnfd_within(dir);
	if (path[0] == '/')
		return !strncmp(path, root, root_length) &&
		       (path[root_length] == '/' || !path[root_length]) &&
		       (!strstr(path + root_length, "/..") || stays(path + root_length, 0));
	if (dir != AT_FDCWD)
		return turnfd_within(dir) && (!has_dots(path) || stays(path, 0));
	here = atomic_load_explicit(&cwd, memory_order_relaxed);
	if (here % CWD_LEVEL == CWD_UNKNOWN || is_sealed()) {
		saved = errno;
		here = is_sealed() ? CWD_OUT : cwd_look();
		errno = saved;
	}
	if (here % CWD_LEVEL == CWD_ABOVE)
		return down(path, here % CWD_STEP / CWD_LEVEL);
	return here % CWD_LEVEL == CWD_IN &&
	       (!has_dots(path) || stays(path, here % CWD_STEP / CWD_LEVEL));
}

/* 0, or negative errno. */
static int identify(int fd, struct turnfd_file *f, bool *regular)
{
	struct statx sx;

	if (turnfd_statx(fd, "", STATX_TYPE | STATX_INO | STATX_BTIME, &sx))
		return -errno;
	*regular = S_ISREG(sx.stx_mode);
	*f = (struct turnfd_file){ .device = (uint64_t)sx.stx_dev_major << 32 | sx.stx_dev_minor,
				   .inode = sx.stx_ino };
	/* A file system may use the inode of a file that has gone for the next one. */
	if (sx.stx_mask & STATX_BTIME)
		f->born = (uint64_t)sx.stx_btime.tv_sec * 1000000000 + sx.stx_btime.tv_nsec;
	return 0;
}

bool turnfd_hold(int fd, struct turnfd_file *f)
{
	unsigned replaced = turnfd_entry(fd) & ~TURNFD_STATE;
	bool regular = true;
	int saved = errno;

	*f = (struct turnfd_file){ 0 };
	if (!is_sealed() && !identify(fd, f, &regular) && !regular)
		enter(fd, TURNFD_PASS);
	f->replaced = replaced;
	errno = saved;
	return regular;
}

/*
 * Unlike the kernel, we cannot hold the file during a call: a duplicate descriptor would have to be
 * closed again, and that drops the record locks of the process on the file.
 */
bool turnfd_holds(int fd, const struct turnfd_file *f)
{
	int saved = errno, rc = 0;
	struct turnfd_file now = { 0 };
	bool regular, holds;

	if (is_sealed() || !f->inode || (turnfd_entry(fd) & ~TURNFD_STATE) != f->replaced)
		return true;
	rc = identify(fd, &now, &regular);
	holds = rc ? rc != -EBADF
		   : now.device == f->device && now.inode == f->inode && now.born == f->born;
	errno = saved;
	return holds;
}
