/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find the part of the job that a call belongs to: see part.h.
 *
 * Tags are in a table that only grows. A descriptor's part is found by its path in /proc at the
 * first call that needs it, and cached for numbers below KNOWN. The path of a metadata call is
 * matched as text, from the root or the working directory, without resolving ".." or symbolic
 * links.
 *
 *	tags:                              of sluice.yaml
 *	  - {tag: ckpt, path: ckpt-*, max: 100MB/s}
 *	open("/scratch/ckpt-17/a")         matches: writes to it are of JOB:ckpt
 *
 * A rule with a path has a tag that begins with '@', which no thread can set.
 */
#include "client/conn/part.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ds/glob.h"
#include "client/conn/settings.h"
#include "client/conn/turn.h"

#define KNOWN  1024 /* descriptors whose part is remembered */
#define YIELDS 100
#define SHORT  512 /* bytes of a path that the stack has room for */

_Atomic uint32_t part_kinds, part_asked;
__thread struct part_thread part_thread __attribute__((tls_model("initial-exec")));

static struct {
	_Atomic uint32_t state; /* 0: free, 1: being filled, 2: there */
	char tag[SL_TAG_MAX];
	const char *pattern; /* NULL: it is found by its tag only */
} parts[TURN_PARTS];

static _Atomic uint8_t known[KNOWN]; /* part + 1; 0: not looked at */

const char *part_tag(unsigned part)
{
	return parts[part].tag;
}

/*
 * Wait for an entry that is being filled, but not for ever: this may run in a signal handler that
 * interrupted the thread that fills it, or in a child of fork(), where that thread does not exist.
 * At worst a tag then has two entries for the same job.
 */
static uint32_t state_of(unsigned i)
{
	uint32_t state = atomic_load(&parts[i].state);

	for (int yields = 0; state == 1 && yields < YIELDS; yields++) {
		sched_yield();
		state = atomic_load(&parts[i].state);
	}
	return state;
}

static unsigned find(const char *tag, size_t length)
{
	uint32_t state;

	for (unsigned i = 1; i < TURN_PARTS && (state = state_of(i)); i++)
		if (state == 2 && strlen(parts[i].tag) == length &&
		    !memcmp(parts[i].tag, tag, length))
			return i;
	return 0;
}

/* 0: there is no room. */
static unsigned make(const char *tag, size_t length, const char *pattern)
{
	for (unsigned i = 1; i < TURN_PARTS; i++) {
		uint32_t none = 0;

		if (!atomic_compare_exchange_strong(&parts[i].state, &none, 1))
			continue;
		memcpy(parts[i].tag, tag, length);
		parts[i].pattern = pattern;
		atomic_store(&parts[i].state, 2);
		return i;
	}
	return 0;
}

static void begin(uint32_t kind)
{
	if (atomic_fetch_or(&part_kinds, kind) == 0)
		turn_slow();
}

/* ---- tags ---- */

int sl_client_tag(const char *tag)
{
	const struct settings *s = client_settings();
	size_t length = tag ? strlen(tag) : 0;
	unsigned part;

	if (!s->enabled)
		return -ENOTCONN;
	if (s->forward || s->gated)
		return -EOPNOTSUPP;
	if (!length) {
		part_thread.tag = 0;
		return 0;
	}
	if (!atomic_load(&part_asked))
		turn_attach(); /* paths have their places before tags of programs */
	if (!sl_tag_is_good(tag) || strlen(s->hello.job) + 1 + length >= sizeof(s->hello.job))
		return -EINVAL;
	part = find(tag, length);
	if (!part)
		part = make(tag, length, NULL);
	if (!part)
		part = find(tag, length); /* other threads have made it meanwhile */
	if (!part)
		return -ENOSPC;
	begin(PART_TAGS);
	part_thread.tag = (uint8_t)part;
	return 0;
}

/* ---- patterns ---- */

void part_patterns(const char *from)
{
	static char text[SL_TURN_TAGS];
	static _Atomic uint32_t once;
	uint32_t kinds = 0;

	if (atomic_exchange(&once, 1))
		return;
	for (int again = 0; again < YIELDS; again++) { /* twice the same: it was whole */
		memcpy(text, from, sizeof(text) - 1);
		atomic_signal_fence(memory_order_seq_cst);
		if (!memcmp(text, from, sizeof(text) - 1))
			break;
	}
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		char *space = strchr(line, ' ');

		*end = 0;
		if (!space || space > end || (size_t)(space - line) >= SL_TAG_MAX)
			continue;
		if (make(line, (size_t)(space - line), space + 1))
			kinds |= *line == SL_TAG_RULE ? PART_PATHS | PART_RULES : PART_PATHS;
	}
	if (kinds)
		begin(kinds);
	atomic_store(&part_asked, 1);
}

/* Whether the path of this call says which part it is of. */
static bool by_path(void)
{
	const struct settings *s = client_settings();
	int saved = errno;

	if (!s->enabled || s->forward || s->gated)
		return false;
	if (!atomic_load(&part_asked))
		turn_attach();
	errno = saved;
	return atomic_load(&part_kinds) & (part_thread.tag ? PART_RULES : PART_PATHS);
}

static void set_call(unsigned part)
{
	part_thread.call = (uint8_t)part;
	part_thread.rule = part && parts[part].tag[0] == SL_TAG_RULE;
}

/* The part of an absolute path, which is `below` the root. */
static unsigned match(const char *path, const char *below)
{
	uint32_t state;

	for (unsigned i = 1; i < TURN_PARTS && (state = atomic_load(&parts[i].state)); i++) {
		const char *pattern = state == 2 ? parts[i].pattern : NULL;

		if (pattern && sl_glob_path(pattern, path, below))
			return i;
	}
	return 0;
}

/* The part of an absolute path. */
static unsigned match_whole(const char *path)
{
	const char *root = client_settings()->root;
	size_t length = root[1] ? strlen(root) : 0;

	if (strncmp(path, root, length) != 0 || path[length] != '/')
		return 0;
	return match(path, path + length + strspn(path + length, "/"));
}

unsigned part_of_path(const char *path)
{
	return by_path() ? match_whole(path) : 0;
}

/* Where a link of /proc points to, and then `rest`: as match_whole(). */
static unsigned match_link(const char *link, const char *rest)
{
	char own[SHORT], *path = own;
	size_t size = sizeof(own), more = rest ? strlen(rest) + 2 : 1;
	unsigned part = 0;
	ssize_t n = -1;

	if (more < size)
		n = syscall(SYS_readlinkat, AT_FDCWD, link, path, size - more);
	if (more >= size || (size_t)n == size - more) {
		size = PATH_MAX + more;
		path = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (path == MAP_FAILED)
			return 0;
		n = syscall(SYS_readlinkat, AT_FDCWD, link, path, size - more);
	}
	if (n > 0) {
		path[n] = 0;
		if (rest) {
			path[n++] = '/';
			memcpy(path + n, rest, more - 1);
		}
		part = match_whole(path);
	}
	if (path != own)
		munmap(path, size);
	return part;
}

/* "/proc/self/fd/N", without printf(), which takes a lot of stack. */
static unsigned match_fd(int fd, const char *rest)
{
	char link[32] = "/proc/self/fd/", digits[12];
	size_t at = strlen(link), n = 0;

	for (unsigned left = (unsigned)fd; left || !n; left /= 10)
		digits[n++] = (char)('0' + left % 10);
	while (n)
		link[at++] = digits[--n];
	link[at] = 0;
	return match_link(link, rest);
}

void part_look_fd(int fd)
{
	unsigned number = (unsigned)fd, part;
	int saved = errno;

	if (!by_path())
		return;
	if (number < KNOWN && (part = atomic_load(&known[number]))) {
		set_call(part - 1);
		return;
	}
	part = turn_sealed() ? 0 : match_fd(fd, NULL);
	if (number < KNOWN)
		atomic_store(&known[number], (uint8_t)(part + 1));
	set_call(part);
	errno = saved;
}

void part_look_path(int dir, const char *path)
{
	int saved = errno;

	if (!by_path())
		return;
	if (!path || !*path) {
		if (dir >= 0)
			part_look_fd(dir);
	} else if (path[0] == '/') {
		set_call(match_whole(path));
	} else if (!turn_sealed()) {
		if (!strncmp(path, "./", 2))
			path += 2;
		set_call(dir == AT_FDCWD ? match_link("/proc/self/cwd", path)
					 : match_fd(dir, path));
	}
	errno = saved;
}

void part_forget_fd(int fd)
{
	if ((unsigned)fd < KNOWN && atomic_load_explicit(&part_kinds, memory_order_relaxed))
		atomic_store_explicit(&known[fd], 0, memory_order_relaxed);
}
