/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode an intercepted call.
 *
 * Lengths are in the registers that the kernel passes on; those of vectors and of io_submit() are
 * in the program's memory, which process_vm_readv() reads. Which file a descriptor means is asked
 * of /proc/THREAD/fd/N each time: programs reuse the numbers. That needs no more than the same
 * user id, and, unlike a duplicate of the descriptor, does not keep the file open.
 *
 *	/proc/812/fd/3 ── statx ────► device, inode, size    each call, 1.5 us
 *	               ── readlink ─► /scratch/a/b           each call: inodes are used again
 *	/scratch/a/b   ─────────────► in the layer, its part once a second, then cached
 *
 * The program may change its memory or its descriptors before the kernel executes the call. Then
 * the charge is wrong, but the data is not affected. If its thread dies meanwhile and another
 * process gets its id, we read the state of that process; then the answer fails, and nothing is
 * counted.
 *
 * A call is charged by its length, because the supervisor does not see how much it moves. Large
 * reads are charged for at most the size of the file.
 */
#include "client/gate/call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/ds/fnv.h"
#include "client/conn/settings.h"
#include "client/gate/calls.h"
#include "client/gate/mapped.h"

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0U
#endif

#define CACHE	 256U
#define VALID_NS INT64_C(1000000000)
#define LARGE	 16384U		      /* reads from here on are cut to what the file has */
#define BLOCKS	 128		      /* control blocks of one io_submit() that are looked at */
#define HERE	 (-1)		      /* at the position */
#define MOST	 UINT64_C(0x7ffff000) /* the kernel moves no more in a call */

/* ---- files ---- */

struct known {
	uint64_t device, inode, mount, path; /* path: a hash of it */
	int64_t until_ns;
	bool ours;
	uint8_t part;
};
static __thread struct known cache[CACHE];

bool gate_is_beneath(const char *path)
{
	const char *root = client_settings()->root;
	size_t length = strlen(root);

	if (length == 1)
		return path[0] == '/';
	return !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

static void look_at_path(struct known *k, uint32_t tid, const char *path, const struct statx *sx)
{
	k->ours = gate_is_beneath(path);
	if (k->ours)
		k->part = (uint8_t)part_of_path(path);
	else
		k->ours = gate_mount_leads_beneath(tid, path, sx);
}

static uint64_t mount_of(const struct statx *sx)
{
#if STATX_MNT_ID
	return sx->stx_mnt_id;
#else
	(void)sx;
	return 0;
#endif
}

void gate_file_look(uint32_t tid, int fd, struct gate_file *f)
{
	char link[40], path[PATH_MAX];
	struct known *k, found;
	ssize_t n;

	*f = (struct gate_file){ 0 };
	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/%u/fd/%d", tid, fd);
	if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MNT_ID, &f->sx)) {
		f->hidden = errno == EACCES || errno == EPERM;
		return;
	}
	if (!S_ISREG(f->sx.stx_mode) && !S_ISDIR(f->sx.stx_mode))
		return;
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0) {
		f->ours = errno == ENAMETOOLONG && gate_mount_leads_beneath(tid, NULL, &f->sx);
		return;
	}
	path[n] = 0;
	found = (struct known){ .device = (uint64_t)f->sx.stx_dev_major << 32 | f->sx.stx_dev_minor,
				.inode = f->sx.stx_ino,
				.mount = mount_of(&f->sx),
				.path = sl_fnv(SL_FNV, path, (size_t)n),
				.until_ns = turn_now_ns() + VALID_NS };
	k = &cache[(found.inode * 31 + f->sx.stx_dev_minor) % CACHE];
	if (k->inode != found.inode || k->device != found.device || k->mount != found.mount ||
	    k->path != found.path || found.until_ns - VALID_NS > k->until_ns) {
		*k = found;
		look_at_path(k, tid, path, &f->sx);
	}
	f->ours = k->ours;
	f->part = k->part;
}

/* HERE: not known. */
static int64_t position(uint32_t tid, int fd)
{
	char path[48], text[64];
	ssize_t n;
	int info;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%d", tid, fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return HERE;
	n = read(info, text, sizeof(text) - 1);
	close(info);
	text[n > 0 ? n : 0] = 0;
	return strncmp(text, "pos:", 4) ? HERE : strtoll(text + 4, NULL, 10);
}

/* What is there to be read, of what is asked for. */
static uint64_t there(uint32_t tid, int fd, const struct gate_file *f, uint64_t length,
		      int64_t offset)
{
	if (length < LARGE)
		return length;
	if (offset < 0)
		offset = position(tid, fd);
	if (offset < 0)
		return length;
	if ((uint64_t)offset >= f->sx.stx_size)
		return 0;
	return length < f->sx.stx_size - (uint64_t)offset ? length
							  : f->sx.stx_size - (uint64_t)offset;
}

/* The call moves data of this descriptor. What it will move, for the other one of a copy. */
static uint64_t add(struct gate_work *w, uint32_t tid, int fd, enum sl_op op, uint64_t length,
		    int64_t offset)
{
	struct gate_file f;

	if (!length || length > INT64_MAX) /* which the kernel refuses */
		return 0;
	if (length > MOST)
		length = MOST;
	gate_file_look(tid, fd, &f);
	if (f.hidden)
		w->unseen += length;
	if (!f.ours || !S_ISREG(f.sx.stx_mode))
		return length;
	if (op == SL_READ)
		length = there(tid, fd, &f, length, offset);
	if (!w->bytes[SL_READ] && !w->bytes[SL_WRITE]) {
		w->place = (struct turn_place){ turn_file_number(&f.sx),
						offset < 0 ? 0 : (uint64_t)offset };
		w->part = f.part;
	}
	w->bytes[op] += length;
	return length;
}

/* ---- memory ---- */

bool gate_copy_in(uint32_t tid, uint64_t from, void *to, size_t bytes)
{
	struct iovec here = { to, bytes }, remote = { (void *)(uintptr_t)from, bytes };

	return process_vm_readv((pid_t)tid, &here, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* Sum of the lengths of vectors; 0: they cannot be read. */
static uint64_t vectors(uint32_t tid, uint64_t at, uint64_t count, bool small)
{
	size_t size = small ? 8 : 16;
	uint64_t sum = 0;
	union {
		uint64_t wide[128];
		uint32_t narrow[256];
	} part;
	const size_t most = sizeof(part) / size;

	if (count > IOV_MAX)
		return 0;
	while (count) {
		size_t n = count < most ? (size_t)count : most;

		if (!gate_copy_in(tid, at, &part, n * size))
			return sum;
		for (size_t i = 0; i < n; i++) {
			uint64_t length = small ? part.narrow[2 * i + 1] : part.wide[2 * i + 1];

			if (length > INT64_MAX)
				return 0;
			sum += length < MOST ? length : MOST;
		}
		count -= n;
		at += n * size;
	}
	return sum;
}

/* Where an offset is given by address; 0: at the position. */
static int64_t offset_at(uint32_t tid, uint64_t at)
{
	int64_t offset = HERE;

	return at && gate_copy_in(tid, at, &offset, sizeof(offset)) ? offset : HERE;
}

static void submitted(struct gate_work *w, uint32_t tid, const uint64_t *arg, bool small)
{
	uint64_t count = arg[1] < BLOCKS ? arg[1] : BLOCKS;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = 0;
		struct iocb b = { 0 };

		if (!gate_copy_in(tid, arg[2] + i * (small ? 4 : 8), &at, small ? 4 : 8) ||
		    !gate_copy_in(tid, at, &b, sizeof(b)))
			return;
		switch (b.aio_lio_opcode) {
		case IOCB_CMD_PREAD:
		case IOCB_CMD_PWRITE:
			add(w, tid, (int)b.aio_fildes,
			    b.aio_lio_opcode == IOCB_CMD_PREAD ? SL_READ : SL_WRITE, b.aio_nbytes,
			    b.aio_offset);
			break;
		case IOCB_CMD_PREADV:
		case IOCB_CMD_PWRITEV:
			add(w, tid, (int)b.aio_fildes,
			    b.aio_lio_opcode == IOCB_CMD_PREADV ? SL_READ : SL_WRITE,
			    vectors(tid, b.aio_buf, b.aio_nbytes, small), b.aio_offset);
			break;
		default:
			break;
		}
	}
}

static void mapped(struct gate_work *w, uint32_t tid, int fd, uint64_t length, uint64_t offset)
{
	uint64_t has;
	struct gate_file f;

	gate_file_look(tid, fd, &f);
	if (!f.ours)
		return;
	has = there(tid, fd, &f, length < LARGE ? LARGE : length, (int64_t)offset);
	if (length < GATE_LOOK_BYTES)
		w->mapped += has < length ? has : length;
	else
		mapped_add(tid);
}

static void mapped_old(struct gate_work *w, uint32_t tid, uint64_t at)
{
	uint32_t arg[6];

	if (gate_copy_in(tid, at, arg, sizeof(arg)) && !(arg[3] & MAP_ANONYMOUS))
		mapped(w, tid, (int)arg[4], arg[1], arg[5]);
}

/* Arguments by their positions, from 1. */

static int fd_of(const uint64_t *arg, uint8_t at)
{
	return (int)arg[at - 1];
}

static uint64_t length_of(const uint64_t *arg, uint8_t at, bool small)
{
	return small ? arg[at - 1] & UINT32_MAX : arg[at - 1];
}

static int64_t offset_of(uint32_t tid, const uint64_t *arg, uint8_t at, uint8_t pointer, bool small)
{
	if (pointer)
		return offset_at(tid, arg[pointer - 1]);
	if (!at)
		return HERE;
	return small ? (int64_t)((arg[at] & UINT32_MAX) << 32 | (arg[at - 1] & UINT32_MAX))
		     : (int64_t)arg[at - 1];
}

static void data(struct gate_work *w, const struct gate_call *c, uint32_t tid, const uint64_t *arg,
		 bool small)
{
	uint64_t length = c->vectors ? vectors(tid, arg[c->vectors - 1], arg[c->vectors], small)
				     : length_of(arg, c->length, small);

	w->nowait = c->flags && arg[c->flags - 1] & RWF_NOWAIT;
	length = add(w, tid, fd_of(arg, c->fd), c->op, length,
		     offset_of(tid, arg, c->offset, c->offset_at, small));
	if (c->to)
		add(w, tid, fd_of(arg, c->to), SL_WRITE, length,
		    offset_of(tid, arg, 0, c->to_offset_at, small));
}

void gate_work_of(const struct seccomp_notif *n, struct gate_work *w)
{
	const uint64_t *arg = (const uint64_t *)n->data.args;
	const struct gate_call *c;
	bool small = false;

	*w = (struct gate_work){ 0 };
	c = gate_call_of(n->data.arch, n->data.nr, &small);
	if (!c)
		return;
	switch ((enum gate_class)c->class) {
	case GATE_DATA:
		w->mapped = mapped_moved(n->pid, false, 0, 0);
		data(w, c, n->pid, arg, small);
		break;
	case GATE_SUBMIT:
		w->mapped = mapped_moved(n->pid, false, 0, 0);
		submitted(w, n->pid, arg, small);
		break;
	case GATE_MAP:
		/* i386 gives the offset in units of 4 KiB. */
		mapped(w, n->pid, (int)arg[4], length_of(arg, 2, small),
		       n->data.arch == AUDIT_ARCH_I386 ? arg[5] << 12 : arg[5]);
		break;
	case GATE_MAP_OLD:
		mapped_old(w, n->pid, arg[0]);
		break;
	case GATE_UNMAP:
		w->mapped = mapped_moved(n->pid, true, arg[0], arg[1]);
		break;
	case GATE_LOOK:
		w->mapped = mapped_moved(n->pid, true, 0, 0);
		break;
	case GATE_META:
		gate_names(w, c, n->pid, arg);
		break;
	}
}
