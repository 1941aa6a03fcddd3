/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charge the I/O that passes the page cache: wire/turn.h says what is charged, turn.c has the
 * credit.
 *
 * Reads. Data in the page cache is free, whichever program read it. For local devices the kernel
 * counts what a thread has read, with read-ahead (getrusage: ru_inblock): this code looks at the
 * count after each LOOK bytes and debits the difference. Other file systems are not counted. There,
 * a read is a miss if it took longer than memory would and the thread slept in it. A miss is
 * charged, and so are the WINDOW bytes after it, which read-ahead has probably loaded.
 *
 * A thread whose last LOOK bytes were all cached is *quiet*: its reads need no credit and no
 * clock. Each further look comes after twice as many bytes, up to LOOK_MOST. The thread stops
 * being quiet when a look finds bytes of the device or, where they are not counted, that the
 * thread has slept. So a small cached read costs a few nanoseconds, and a thread that begins to
 * miss is charged LOOK_MOST bytes late, as a debt. A read of a thread that is not quiet, and
 * finds no credit, first looks whether its first and last byte are cached (RWF_NOWAIT), and need
 * not wait then.
 *
 * Writes. Each descriptor number below TURNFD_FIRST has an entry with how many bytes of its file
 * are dirty by this process, and between which offsets. A write adds to it and goes on:
 *
 *	below dirty_most / 2    nothing more: memory speed
 *	up to dirty_most        write-back of a step is started when there is credit for it anyhow
 *	above                   the writer pays for steps, and waits for that if need be, until the
 * job is below again or nothing of this file is dirty
 *
 * A step is paid for, then sync_file_range() starts its write-back, on the program's own
 * descriptor. No more than FLYING steps of a file are under way: then the thread waits for the
 * oldest one, so that a capacity that is set too high does not fill the device's queue. fsync and
 * the like pay for all that is dirty of the file, step by step, and leave the last step to the
 * call itself.
 *
 * Offsets are estimates if several threads write at one position, and byte counts are if several
 * processes write the same part of a file: then too much or too little write-back is started. The
 * data and the guarantees of fsync() do not depend on this.
 *
 * Where writes go through at once (FUSE), there is nothing to write back later, but a burst need
 * not wait either: a write that finds no credit goes while the job owes less than dirty_most, and
 * the node takes what is owed from the job's credit, a lease at a time.
 *
 * The table is wiped in a child of fork(); the parent pays. There are no locks: a signal handler
 * may interrupt at any place, and a thread that leaves by longjmp() leaves at most an entry whose
 * write-back the kernel will start itself.
 */
#include "client/conn/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "client/conn/turn.h"
#include "client/conn/turnfd.h"

#define LOOK	    (UINT64_C(128) << 10)
#define LOOK_MOST   (UINT64_C(1) << 20) /* of a quiet thread */
#define WINDOW	    (UINT64_C(4) << 20) /* what read-ahead may have brought, if nobody counts */
#define AHEAD	    (UINT64_C(64) << 20) /* the most that it can have brought before a read needs it */
#define MISS_NS	    50000 /* a read that takes longer than this and 1 ns a byte: not the cache's */
#define PUBLISH	    (UINT64_C(64) << 10) /* bytes of a file not reported yet */
#define PAGE	    UINT64_C(4096)
#define FLYING	    16
#define STEPS	    4 /* of a file, one after the other, that are waited for as one */
#define BLOCK_BYTES 512

struct range {
	uint64_t offset, length;
};

struct file {
	struct sl_turn_job *_Atomic job;   /* that has been told; NULL: none */
	struct sl_turn_proc *_Atomic proc; /* of this process; NULL: it has none */
	_Atomic uint64_t fresh;		   /* written since the job was told */
	_Atomic uint64_t dirty;		   /* as it was told */
	_Atomic uint64_t low, high;	   /* where: from low to high - 1 */
	_Atomic uint32_t here;		   /* there were writes at the position */
	_Atomic uint32_t busy;		   /* a thread is at the rest */
	uint32_t next;			   /* of flying */
	struct range flying[FLYING];
	uint64_t device, inode;
};

static struct file *_Atomic files;
static _Atomic uint32_t files_high; /* all that were used are below */

__thread struct wire_reads wire_reads __attribute__((tls_model("initial-exec")));
#define reads wire_reads

/* ---- reads ---- */

static void usage(uint64_t *bytes, long *slept)
{
	struct rusage u;

	if (syscall(SYS_getrusage, RUSAGE_THREAD, &u)) {
		*bytes = 0;
		*slept = 0;
		return;
	}
	*bytes = (uint64_t)u.ru_inblock * BLOCK_BYTES;
	*slept = u.ru_nvcsw;
}

/* Begin to look, or begin again after a time in which nothing had to be looked at. */
static void know(const struct sl_turn_job *job)
{
	uint32_t modes = atomic_load_explicit(&job->modes, memory_order_relaxed);

	if (reads.known && reads.modes == modes)
		return;
	usage(&reads.base, &reads.slept);
	reads.bytes = reads.window = reads.quiet = 0;
	reads.modes = modes;
	reads.known = true;
}

void wire_read_direct(const struct sl_turn_job *job, uint64_t moved)
{
	if (reads.known && reads.modes == atomic_load_explicit(&job->modes, memory_order_relaxed))
		reads.base += moved; /* charged by its length */
}

int64_t wire_read_begin(const struct sl_turn_job *job)
{
	know(job);
	return reads.quiet || wire_charge(job) & SL_TURN_BLOCKS ? 0 : turn_now_ns();
}

/* All of the last `bytes` were cached. */
static void was_cached(struct sl_turn_job *job, uint64_t bytes)
{
	atomic_fetch_add_explicit(&job->cached, bytes, memory_order_relaxed);
	reads.quiet = reads.quiet ? reads.quiet * 2 : LOOK;
	if (reads.quiet > LOOK_MOST)
		reads.quiet = LOOK_MOST;
}

static uint64_t counted(struct sl_turn_job *job)
{
	uint64_t total, wire, bytes = reads.bytes;
	long slept;

	usage(&total, &slept);
	/* A child's begin at 0; and a file with O_SYNC may have been read from the cache. */
	wire = total > reads.base ? total - reads.base : 0;
	reads.base = total;
	reads.bytes = 0;
	/* The thread may have read other files as well. */
	if (wire > bytes + AHEAD)
		wire = bytes + AHEAD;
	if (!wire && !reads.window && bytes >= LOOK) {
		was_cached(job, bytes);
		return 0;
	}
	reads.quiet = 0;
	reads.window += wire; /* charged, by this read or one ahead of it */
	if (reads.window < bytes)
		atomic_fetch_add_explicit(&job->cached, bytes - reads.window, memory_order_relaxed);
	reads.window -= reads.window < bytes ? reads.window : bytes;
	if (reads.window > AHEAD)
		reads.window = AHEAD;
	return wire;
}

/* How often the thread has slept since the last question. */
static long has_slept(void)
{
	uint64_t total;
	long slept, before = reads.slept;

	usage(&total, &slept);
	reads.slept = slept;
	return slept - before;
}

/* A quiet thread where nothing is counted: a read that left the cache has slept. */
static void look_again(struct sl_turn_job *job)
{
	uint64_t bytes = reads.bytes;

	reads.bytes = 0;
	if (has_slept()) {
		reads.quiet = 0;
		atomic_fetch_add_explicit(&job->cached, bytes, memory_order_relaxed);
	} else {
		was_cached(job, bytes);
	}
}

/* The same by the clock. A preempted thread has not slept. */
static uint64_t by_time(struct sl_turn_job *job, uint64_t moved, int64_t took_ns)
{
	if (took_ns > MISS_NS + (int64_t)moved && has_slept()) {
		reads.window = WINDOW;
		reads.bytes = 0;
		return moved;
	}
	if (reads.window) {
		reads.window -= reads.window < moved ? reads.window : moved;
		return moved;
	}
	reads.bytes += moved;
	if (reads.bytes >= LOOK) {
		has_slept(); /* whatever it slept for before it was quiet */
		was_cached(job, reads.bytes);
		reads.bytes = 0;
	}
	return 0;
}

uint64_t wire_read(struct sl_turn_job *job, uint64_t moved, int64_t since_ns, bool now)
{
	/*
	 * A read that was not timed has asked with its place: it bypasses the cache, or others were
	 * slow.
	 */
	if ((!reads.quiet || now) && !(wire_charge(job) & SL_TURN_BLOCKS))
		return since_ns ? by_time(job, moved, turn_now_ns() - since_ns) : moved;
	reads.bytes += moved;
	if (reads.bytes < (reads.quiet ? reads.quiet : LOOK) && !now)
		return 0;
	if (wire_charge(job) & SL_TURN_BLOCKS)
		return counted(job);
	look_again(job);
	return 0;
}

static ssize_t peek(int fd, const struct iovec *iov, uint64_t offset, int flags)
{
	return syscall(SYS_preadv2, fd, iov, 1, offset, 0, flags);
}

ssize_t (*wire_peek)(int fd, const struct iovec *iov, uint64_t offset, int flags) = peek;

/* 1: it is, or there is no such byte; 0: it is not; -1: this file system does not tell. */
static int is_cached_at(int fd, uint64_t offset)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	ssize_t n = wire_peek(fd, &iov, offset, RWF_NOWAIT);

	return n >= 0 ? 1 : errno == EAGAIN ? 0 : -1;
}

bool wire_cached(const struct sl_turn_job *job, int fd, uint64_t length, off_t offset)
{
	int first;

	if (offset < 0)
		offset = (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
	if (offset < 0)
		return false;
	first = is_cached_at(fd, (uint64_t)offset);
	/* The last reads of this thread were hits: this one is judged when it is over. */
	if (first < 0)
		return !(wire_charge(job) & SL_TURN_BLOCKS) && !reads.window;
	return first && (length < 2 || is_cached_at(fd, (uint64_t)offset + length - 1));
}

/* ---- the table ---- */

static struct file *table(void)
{
	struct file *new, *none = NULL, *old = atomic_load_explicit(&files, memory_order_acquire);

	if (__builtin_expect(old != NULL, 1))
		return old;
	new = mmap(NULL, TURNFD_FIRST * sizeof(*new), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (new == MAP_FAILED)
		return NULL;
	madvise(new, TURNFD_FIRST * sizeof(*new), MADV_WIPEONFORK);
	if (atomic_compare_exchange_strong(&files, &none, new))
		return new;
	munmap(new, TURNFD_FIRST * sizeof(*new));
	return none;
}

static struct file *entry(int fd)
{
	struct file *all = atomic_load_explicit(&files, memory_order_acquire);

	return all && (unsigned)fd < TURNFD_FIRST ? &all[fd] : NULL;
}

bool wire_tracks(const struct sl_turn_job *job, int fd)
{
	return wire_charge(job) & SL_TURN_WRITES && (unsigned)fd < TURNFD_FIRST &&
	       !turn_foreign() && table();
}

static uint64_t load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Never below 0: others may have subtracted meanwhile. What was subtracted. */
static uint64_t subtract(_Atomic uint64_t *word, uint64_t bytes)
{
	uint64_t was = load(word), less;

	do
		less = was < bytes ? was : bytes;
	while (less && !atomic_compare_exchange_weak(word, &was, was - less));
	return less;
}

/* So many bytes of it are not dirty any more. */
static uint64_t settle(struct file *f, uint64_t bytes)
{
	struct sl_turn_job *job = atomic_load(&f->job);
	struct sl_turn_proc *proc = atomic_load(&f->proc);
	uint64_t less = subtract(&f->dirty, bytes);

	if (!less || !job)
		return less;
	atomic_fetch_sub(&job->dirty, (int64_t)less);
	if (proc)
		subtract(&proc->dirty, less);
	return less;
}

static void extend(struct file *f, uint64_t offset, uint64_t bytes)
{
	uint64_t low = load(&f->low), high = load(&f->high);
	bool empty = low >= high;

	if (empty || offset < low)
		atomic_store_explicit(&f->low, offset, memory_order_relaxed);
	if (empty || offset + bytes > high)
		atomic_store_explicit(&f->high, offset + bytes, memory_order_relaxed);
}

/* What is dirty of it is the node's to charge. */
static void give(struct file *f)
{
	struct sl_turn_job *job = atomic_load(&f->job);
	struct sl_turn_proc *proc = atomic_load(&f->proc);
	uint64_t dirty = atomic_exchange(&f->dirty, 0);

	if (job && dirty) {
		atomic_fetch_add(&job->left, dirty);
		if (proc)
			subtract(&proc->dirty, dirty);
	}
}

/* Forget the file. */
static void leave(struct file *f)
{
	give(f);
	atomic_store(&f->fresh, 0);
	atomic_store(&f->low, 0);
	atomic_store(&f->high, 0);
	atomic_store(&f->here, 0);
	atomic_store(&f->job, NULL);
}

static bool identify(int fd, uint64_t *device, uint64_t *inode)
{
	struct statx sx;

	if (turnfd_statx(fd, "", STATX_INO, &sx))
		return false;
	*device = (uint64_t)sx.stx_dev_major << 32 | sx.stx_dev_minor;
	*inode = sx.stx_ino;
	return true;
}

static void adopt(struct file *f, int fd, struct sl_turn_job *job)
{
	uint32_t high = atomic_load(&files_high);

	give(f);
	f->next = 0;
	for (int i = 0; i < FLYING; i++)
		f->flying[i].length = 0;
	if (!identify(fd, &f->device, &f->inode))
		f->inode = 0;
	atomic_store(&f->proc, turn_proc(job));
	atomic_store(&f->job, job);
	while (high <= (uint32_t)fd &&
	       !atomic_compare_exchange_weak(&files_high, &high, (uint32_t)fd + 1))
		;
}

static _Atomic int32_t owner; /* the process whose dirty bytes are in the table; 0: not known */

/* Tell the job what was written. */
static void publish(struct file *f, int fd, struct sl_turn_job *job)
{
	uint64_t bytes, dirty, span;
	off_t end;

	if (!load(&f->fresh))
		return;
	atomic_store_explicit(&owner, (int32_t)syscall(SYS_getpid), memory_order_relaxed);
	if (atomic_load(&f->job) != job)
		adopt(f, fd, job);
	bytes = atomic_exchange(&f->fresh, 0);
	atomic_fetch_add_explicit(&job->buffered, bytes, memory_order_relaxed);
	end = atomic_load(&f->here) ? (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR) : 0;
	if (end > 0)
		extend(f, (uint64_t)end > bytes ? (uint64_t)end - bytes : 0,
		       (uint64_t)end > bytes ? bytes : (uint64_t)end);
	/* What is written over before it is written back is written back once. */
	dirty = load(&f->dirty);
	span = load(&f->high) - load(&f->low) + 2 * PAGE;
	if (load(&f->high) > load(&f->low) && dirty + bytes > span)
		bytes = dirty < span ? span - dirty : 0;
	if (!bytes)
		return;
	atomic_fetch_add(&f->dirty, bytes);
	atomic_fetch_add(&job->dirty, (int64_t)bytes);
	if (atomic_load(&f->proc))
		atomic_fetch_add(&atomic_load(&f->proc)->dirty, bytes);
}

/* ---- write-back ---- */

/* The part of the file that holds its next `bytes` dirty ones; and one that is to be waited for. */
static struct range take(struct file *f, uint64_t bytes, struct range *oldest)
{
	uint64_t low = load(&f->low), high = load(&f->high), dirty = load(&f->dirty);
	struct range r = { low, 0 }, *last;

	*oldest = (struct range){ 0, 0 };
	if (low >= high || atomic_exchange(&f->busy, 1))
		return r;
	r.length = high - low;
	if (dirty > bytes) /* wherever they are */
		r.length = (uint64_t)((unsigned __int128)r.length * bytes / dirty);
	if (low + r.length < high) /* a page that is not full yet would be written twice */
		r.length = ((low + r.length) | (PAGE - 1)) + 1 - low;
	if (low + r.length >= high)
		r.length = high - low;
	atomic_store_explicit(&f->low, low + r.length, memory_order_relaxed);
	last = &f->flying[f->next];
	if (last->offset + last->length == r.offset && last->length < STEPS * bytes) {
		last->length += r.length;
	} else {
		f->next = (f->next + 1) % FLYING;
		*oldest = f->flying[f->next];
		f->flying[f->next] = r;
	}
	atomic_store(&f->busy, 0);
	return r;
}

/* This thread begins to wait for the file system: since when. */
static int64_t writing(struct sl_turn_job *job, uint64_t bytes)
{
	int64_t now = turn_now_ns();

	atomic_store_explicit(&job->writing, bytes, memory_order_relaxed);
	atomic_store_explicit(&job->writing_ns, now, memory_order_relaxed);
	return now;
}

/* It has waited, unless another thread has begun since. */
static void written(struct sl_turn_job *job, int64_t since_ns)
{
	atomic_compare_exchange_strong(&job->writing_ns, &since_ns, 0);
}

static void start(struct file *f, int fd, struct sl_turn_job *job, uint64_t bytes, bool waits)
{
	struct range oldest, r = take(f, bytes, &oldest);
	int64_t since_ns;

	settle(f, bytes);
	atomic_fetch_add_explicit(&job->flushed, bytes, memory_order_relaxed);
	if (r.length)
		syscall(SYS_sync_file_range, fd, r.offset, r.length, SYNC_FILE_RANGE_WRITE);
	if (!waits || !oldest.length)
		return;
	since_ns = writing(job, FLYING * oldest.length);
	syscall(SYS_sync_file_range, fd, oldest.offset, oldest.length, SYNC_FILE_RANGE_WAIT_BEFORE);
	written(job, since_ns);
}

uint64_t wire_step(const struct sl_turn_job *job)
{
	uint64_t step = load(&job->step);

	return step ? step : PUBLISH;
}

/* Pay for so many dirty bytes of the file. flush: the caller writes back what is left of it. */
static void drain(struct file *f, int fd, struct sl_turn_job *job, uint64_t want, bool flush)
{
	uint64_t step = wire_step(job);

	while (want) {
		uint64_t dirty = load(&f->dirty), bytes = want < step ? want : step;

		if (bytes > dirty)
			bytes = dirty;
		if (!bytes)
			return;
		if (!turn_pay(job, bytes)) { /* the job need not pay any more */
			settle(f, UINT64_MAX);
			return;
		}
		if (flush && want <= step) {
			atomic_fetch_add_explicit(&job->flushed, bytes, memory_order_relaxed);
			settle(f, bytes);
			return;
		}
		start(f, fd, job, bytes, true);
		want -= bytes;
	}
}

/* Start steps for which there is credit already; ask for one more without waiting. */
static void drain_idle(struct file *f, int fd, struct sl_turn_job *job)
{
	uint64_t step = wire_step(job);

	for (int i = 0; i < 2 && load(&f->dirty) >= step; i++) {
		if (!turn_debit(job, step)) {
			turn_want(job, SL_WRITE);
			return;
		}
		start(f, fd, job, step, false);
	}
}

void wire_wrote(struct sl_turn_job *job, int fd, uint64_t bytes, off_t offset)
{
	struct file *f = entry(fd);
	uint64_t most;
	int64_t dirty;
	int saved;

	if (!f)
		return;
	if (offset >= 0)
		extend(f, (uint64_t)offset, bytes);
	else if (!atomic_load_explicit(&f->here, memory_order_relaxed))
		atomic_store_explicit(&f->here, 1, memory_order_relaxed);
	if (atomic_fetch_add_explicit(&f->fresh, bytes, memory_order_relaxed) + bytes < PUBLISH)
		return;
	saved = errno;
	publish(f, fd, job);
	most = load(&job->dirty_most);
	dirty = atomic_load(&job->dirty);
	if (dirty > 0 && (uint64_t)dirty > most)
		drain(f, fd, job, (uint64_t)dirty - most, false);
	else if (dirty > 0 && (uint64_t)dirty > most / 2)
		drain_idle(f, fd, job);
	errno = saved;
}

void wire_owe(struct sl_turn_job *job, uint64_t bytes)
{
	atomic_fetch_add(&job->dirty, (int64_t)bytes);
	atomic_fetch_add(&job->left, bytes);
	turn_want(job, SL_WRITE);
}

/* ---- flushing and closing ---- */

/* The job of the descriptor, if there is a table and the job pays for write-back; else NULL. */
static struct sl_turn_job *paying(int fd)
{
	struct sl_turn_job *job = turn_job_for(fd);

	if (!job || !atomic_load_explicit(&files, memory_order_relaxed) || turn_sealed() ||
	    !(wire_charge(job) & SL_TURN_WRITES) || sl_turn_mode_of(job) != SL_TURN_LEASED)
		return NULL;
	return job;
}

static void flush(struct file *f, int fd, struct sl_turn_job *job)
{
	publish(f, fd, job);
	if (atomic_load(&f->job) == job)
		drain(f, fd, job, load(&f->dirty), true); /* not what others write meanwhile */
}

/* The same file may have been written by another number. */
static void flush_same(const struct file *f, int fd, struct sl_turn_job *job)
{
	uint64_t device = f->device, inode = f->inode;
	uint32_t high = atomic_load(&files_high);

	if (!atomic_load(&f->job) && !identify(fd, &device, &inode))
		return;
	for (uint32_t i = 0; i < high; i++) {
		struct file *other = entry((int)i);

		if (other != f && atomic_load(&other->job) == job && other->inode == inode &&
		    other->device == device)
			flush(other, (int)i, job);
	}
}

int64_t wire_flush(int fd)
{
	struct sl_turn_job *job = fd == WIRE_ALL ? NULL : paying(fd);
	struct file *f = job ? entry(fd) : NULL;
	int64_t since_ns = 0;
	int saved = errno;
	uint64_t bytes;

	if (f) {
		bytes = load(&f->dirty) + load(&f->fresh);
		flush(f, fd, job);
		flush_same(f, fd, job);
		since_ns = bytes ? writing(job, bytes) : 0;
	}
	for (uint32_t i = 0; fd == WIRE_ALL && i < atomic_load(&files_high); i++)
		if ((job = paying((int)i)))
			flush(entry((int)i), (int)i, job);
	errno = saved;
	return since_ns;
}

void wire_flushed(int fd, int64_t since_ns)
{
	struct sl_turn_job *job = since_ns ? turn_job_for(fd) : NULL;

	if (job)
		written(job, since_ns);
}

void wire_flush_range(int fd, uint64_t bytes)
{
	uint64_t dirty;
	struct sl_turn_job *job = paying(fd);
	struct file *f = job ? entry(fd) : NULL;
	int saved = errno;

	if (f) {
		publish(f, fd, job);
		dirty = load(&f->dirty);
		if (atomic_load(&f->job) == job)
			drain(f, fd, job, bytes && bytes < dirty ? bytes : dirty, true);
	}
	errno = saved;
}

void wire_close(int fd, bool waits)
{
	struct file *f = entry(fd);
	struct sl_turn_job *job;
	int saved = errno;

	if (!f || (!load(&f->fresh) && !atomic_load_explicit(&f->job, memory_order_relaxed)))
		return;
	if (atomic_load(&owner) && atomic_load(&owner) != (int32_t)syscall(SYS_getpid))
		return; /* a child of vfork(): the table is its parent's */
	job = waits ? paying(fd) : NULL;
	if (job) {
		publish(f, fd, job);
		if (wire_charge(job) & SL_TURN_CLOSES ||
		    atomic_load(&job->dirty) > (int64_t)load(&job->dirty_most))
			drain(f, fd, job, load(&f->dirty), false);
	}
	leave(f);
	errno = saved;
}

void wire_close_range(unsigned first, unsigned last)
{
	uint32_t high = atomic_load(&files_high);

	for (unsigned fd = first; fd < high && fd <= last; fd++)
		wire_close((int)fd, false);
}
