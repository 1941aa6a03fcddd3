/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decide what is charged: calls, or I/O that passes the page cache. wire/turn.h explains the bits
 * for programs, client/conn/wire.c is the client's side.
 *
 * The file system beneath the root decides what can be told apart:
 *
 *	tmpfs, ramfs, 9p        each call is the file system's: calls are charged
 *	FUSE                    writes go through, a burst is charged after it; reads may be cached
 *	ext4, xfs, btrfs, …     the kernel counts what a thread has read from the device, if it does
 *	NFS                     closing a file writes it back
 *	others                  whether a read was cached is told by its time
 *
 * A job with a max pays at the call, as the user of a max expects; its cached reads are free.
 *
 * The allowance of dirty bytes is what the capacity moves in DIRTY_NS (in THROUGH_NS, where writes
 * go through), no less than DIRTY_LEAST, and an eighth of what the kernel begins to write back at:
 * beyond that the kernel would choose.
 */
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sluiced/ionode/turn.h"

#define DIRTY_NS    INT64_C(500000000)
#define THROUGH_NS  INT64_C(90000000)
#define DIRTY_LEAST (UINT64_C(8) << 20)
#define DIRTY_MOST  (UINT64_C(1) << 30)
#define STEP_LEAST  (UINT64_C(64) << 10)
#define STEP_MOST   (UINT64_C(4) << 20)

static const struct {
	uint32_t magic, charge;
} systems[] = {
	{ 0x01021994, 0 },						 /* tmpfs */
	{ 0x858458f6, 0 },						 /* ramfs */
	{ 0x958458f6, 0 },						 /* hugetlbfs */
	{ 0x01021997, 0 },						 /* 9p */
	{ 0x65735546, SL_TURN_READS | SL_TURN_THROUGH },		 /* FUSE */
	{ 0x0000ef53, SL_TURN_READS | SL_TURN_WRITES | SL_TURN_BLOCKS }, /* ext2, 3, 4 */
	{ 0x58465342, SL_TURN_READS | SL_TURN_WRITES | SL_TURN_BLOCKS }, /* xfs */
	{ 0x9123683e, SL_TURN_READS | SL_TURN_WRITES | SL_TURN_BLOCKS }, /* btrfs */
	{ 0xf2f52010, SL_TURN_READS | SL_TURN_WRITES | SL_TURN_BLOCKS }, /* f2fs */
	{ 0x794c7630, SL_TURN_READS | SL_TURN_WRITES | SL_TURN_BLOCKS }, /* overlayfs */
	{ 0x00006969, SL_TURN_READS | SL_TURN_WRITES | SL_TURN_CLOSES }, /* NFS */
};

static uint32_t charge_of(const char *root)
{
	struct statfs fs;

	if (statfs(root, &fs))
		return 0;
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		if ((uint32_t)fs.f_type == systems[i].magic)
			return systems[i].charge;
	return SL_TURN_READS | SL_TURN_WRITES;
}

/* The number in the first line of a file that begins with these words. 0: there is none. */
static uint64_t number_in(const char *path, const char *words)
{
	char line[128];
	unsigned long long number = 0;
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, words, strlen(words)) &&
		    sscanf(line + strlen(words), "%llu", &number) == 1)
			break;
	if (f)
		fclose(f);
	return number;
}

void turn_wire_start(struct node *n)
{
	uint64_t available = number_in("/proc/meminfo", "MemAvailable:") * 1024;

	n->background_bytes = number_in("/proc/sys/vm/dirty_background_bytes", "");
	if (!n->background_bytes)
		n->background_bytes =
			available / 100 * number_in("/proc/sys/vm/dirty_background_ratio", "");
	n->charge = n->config->charge_calls ? 0 : charge_of(n->config->root);
	if (access("/proc/self/io", F_OK)) /* a kernel without accounting of I/O */
		n->charge &= ~(uint32_t)SL_TURN_BLOCKS;
	if (!n->config->dirty)
		n->charge &= ~(uint32_t)(SL_TURN_WRITES | SL_TURN_THROUGH);
}

static uint64_t allowance(const struct node *n)
{
	uint64_t most = n->background_bytes / 8, bytes;
	int64_t ns;

	if (n->config->dirty != NODE_DIRTY_AUTO)
		return n->config->dirty;
	/* What goes through is at the server at once, before what other jobs wait with. */
	ns = n->charge & SL_TURN_THROUGH ? THROUGH_NS : DIRTY_NS;
	bytes = n->capacity_bps
			? (uint64_t)((unsigned __int128)n->capacity_bps * (uint64_t)ns / 1000000000)
			: DIRTY_MOST;
	if (bytes > most)
		bytes = most;
	if (bytes > DIRTY_MOST)
		bytes = DIRTY_MOST;
	return bytes < DIRTY_LEAST ? DIRTY_LEAST : bytes;
}

void turn_wire_set(const struct node *n, struct node_turn *t)
{
	uint64_t step = turn_lease(n, t);
	uint32_t charge = n->charge;

	if (turn_sees_all(n)) /* calls, that is */
		charge = 0;
	if (t->job->rights.max_bps || t->job->bucket)
		charge &= ~(uint32_t)(SL_TURN_WRITES | SL_TURN_THROUGH);
	step = step < STEP_LEAST ? STEP_LEAST : step > STEP_MOST ? STEP_MOST : step;
	atomic_store_explicit(&t->shm->step, step, memory_order_relaxed);
	atomic_store_explicit(&t->shm->dirty_most, allowance(n), memory_order_relaxed);
	atomic_store_explicit(&t->shm->charge, charge, memory_order_relaxed);
}

static uint64_t take_left(struct sl_turn_job *shm, uint64_t most)
{
	uint64_t left = atomic_load(&shm->left), bytes;

	do
		bytes = left < most ? left : most;
	while (bytes && !atomic_compare_exchange_weak(&shm->left, &left, left - bytes));
	if (bytes)
		atomic_fetch_sub(&shm->dirty, (int64_t)bytes);
	return bytes;
}

/* A write that waits for credit may go if it owes less now. */
static void wake_owing(struct node *n, struct node_turn *t)
{
	const struct sl_turn_job *shm = t->shm;

	if (atomic_load(&shm->waiting) && atomic_load(&shm->left) < atomic_load(&shm->dirty_most))
		turn_signal(n, t, SL_TURN_CREDIT_BIT);
}

bool turn_wire_left(struct node *n, struct node_turn *t)
{
	struct sl_turn_job *shm = t->shm;
	uint32_t charge = atomic_load(&shm->charge);
	uint64_t bytes;

	if (!atomic_load_explicit(&shm->left, memory_order_relaxed))
		return false;
	if (!(charge & (SL_TURN_WRITES | SL_TURN_THROUGH))) {
		turn_wire_drop(t);
		return false;
	}
	if (atomic_load(&shm->credit) >= 0) {
		bytes = take_left(shm, turn_lease(n, t));
		atomic_fetch_sub(&shm->credit, (int64_t)bytes);
		if (charge & SL_TURN_THROUGH)
			wake_owing(n, t);
		else
			atomic_fetch_add(&shm->flushed, bytes);
	}
	return atomic_load(&shm->left);
}

void turn_wire_drop(struct node_turn *t)
{
	take_left(t->shm, UINT64_MAX);
}

void turn_wire_over(struct node_turn *t)
{
	int64_t more = atomic_load(&t->shm->dirty) - (int64_t)atomic_load(&t->shm->left);

	if (more > 0)
		atomic_fetch_add(&t->shm->left, (uint64_t)more);
	else if (more < 0)
		atomic_fetch_sub(&t->shm->dirty, more);
}

/* A count of the segment, which is the program's own word. */
static void count(uint64_t *sum, const _Atomic uint64_t *word, uint64_t *counted, bool first)
{
	uint64_t now = atomic_load_explicit(word, memory_order_relaxed);

	*sum += first ? 0 : now - *counted;
	*counted = now;
}

void turn_wire_account(struct node_turn *t, bool first)
{
	struct node_wire *sum = &t->job->wire, *counted = &t->counted_wire;
	const struct sl_turn_job *shm = t->shm;

	count(&sum->cached, &shm->cached, &counted->cached, first);
	count(&sum->buffered, &shm->buffered, &counted->buffered, first);
	count(&sum->flushed, &shm->flushed, &counted->flushed, first);
	count(&sum->held_ns, &shm->held_ns, &counted->held_ns, first);
}

void turn_wire_bytes(const struct node_job *j, uint64_t *dirty, uint64_t *cached, uint64_t *wire)
{
	int64_t now = j->turn ? atomic_load(&j->turn->shm->dirty) : 0;
	uint64_t without = j->wire.cached + j->wire.buffered;

	*dirty = now > 0 ? (uint64_t)now : 0;
	*cached = j->wire.cached;
	*wire = j->moved[SL_READ] + j->moved[SL_WRITE] + j->wire.flushed;
	*wire -= *wire > without ? without : *wire;
}

const char *turn_wire_charge(const struct node *n)
{
	return n->charge ? "wire" : "calls";
}
