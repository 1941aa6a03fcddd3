/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory accesses cannot be held, so they are counted afterwards. For each mapping, /proc/PID/smaps
 * has the number of pages that the process has touched (Rss) and changed (…_Dirty, for shared
 * mappings). A page counts as moved when it is touched for the first time, or changed again after
 * its write-back:
 *
 *	last look   Rss 12 MB  Dirty  4 MB
 *	this look   Rss 20 MB  Dirty 14 MB     10 MB: the larger of the two differences
 *
 * The supervisor looks before munmap() of such a mapping, msync() and exit() of a process that has
 * mapped a file of the layer, at its other calls if the last look is some time ago, and every half
 * second. A look costs about 10 ns a page, and at most a twentieth of the time.
 *
 * Not seen: what a process does between the last look and its death by a signal; mappings that a
 * child of fork() has inherited; a page that is changed, written back by the kernel and changed
 * again between two looks. The kernel maps up to 15 neighbours of a page that is only read, if they
 * are cached: these are counted, too.
 */
#include "client/gate/mapped.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/gate/call.h"
#include "client/conn/turn.h"

#define PROCESSES 4096
#define MAPPINGS  4096		     /* of a process; further ones are not counted */
#define PART	  20		     /* of the time may be spent on looking */
#define LEAST_NS  INT64_C(100000000) /* between two looks that nothing calls for */

struct mapping {
	uint64_t begin, end, offset, inode;
	uint64_t touched, changed; /* bytes, at the last look */
	bool seen;
};

/*
 * Its smaps cannot be read while the kernel changes the process's memory, which may take long on a
 * file system that hangs: so each has its own lock, and other processes go on. The memory is used
 * again, never freed.
 */
struct process {
	pthread_mutex_t lock;
	_Atomic uint32_t pid; /* 0: free */
	atomic_bool fresh;    /* it has made a mapping since the last look */
	int64_t next_ns;
	unsigned count, room;
	struct mapping *mapping;
};

static pthread_mutex_t lock; /* of the table */
static struct process *all[PROCESSES];
static unsigned used;		   /* of the table; some may be free again */
static _Atomic unsigned processes; /* that are not free */

void mapped_start(void)
{
	pthread_mutex_init(&lock, NULL);
	used = 0; /* that of another supervisor stays as it was */
	atomic_store(&processes, 0);
}

static FILE *open_proc(uint32_t id, const char *name)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%u/%s", id, name);
	return fopen(path, "re");
}

/* The process of a thread; 0: it has ended. */
static uint32_t process_of(uint32_t tid)
{
	FILE *f = open_proc(tid, "status");
	char line[256];
	uint32_t pid = 0;

	while (f && !pid && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Tgid:", 5))
			pid = (uint32_t)strtoul(line + 5, NULL, 10);
	if (f)
		fclose(f);
	return pid;
}

/* With the table's lock. */
static struct process *find(uint32_t pid)
{
	for (unsigned i = 0; i < used; i++)
		if (atomic_load(&all[i]->pid) == pid)
			return all[i];
	return NULL;
}

static void drop(struct process *p)
{
	p->count = 0;
	atomic_store(&p->pid, 0);
	atomic_fetch_sub(&processes, 1);
}

/* With the table's lock: a place in it. NULL: it is full. */
static struct process *make(void)
{
	struct process *p = find(0);

	if (p || used == PROCESSES)
		return p;
	p = calloc(1, sizeof(*p));
	if (p) {
		pthread_mutex_init(&p->lock, NULL);
		all[used++] = p;
	}
	return p;
}

void mapped_add(uint32_t tid)
{
	uint32_t pid = process_of(tid);
	struct process *p;

	if (!pid)
		return;
	pthread_mutex_lock(&lock);
	p = find(pid);
	if (!p && (p = make())) {
		p->next_ns = 0;
		atomic_store(&p->pid, pid);
		atomic_fetch_add(&processes, 1);
	}
	if (p)
		atomic_store(&p->fresh, true);
	pthread_mutex_unlock(&lock);
}

/* ---- a look ---- */

/* "7f0000000000-7f0000100000 rw-s 00000000 08:01 1234    /scratch/a" */
static bool parse_mapping(const char *line, struct mapping *m, bool *shared)
{
	unsigned long long begin, end, offset, inode;
	char flags[8];
	int path = 0;

	if (sscanf(line, "%llx-%llx %7s %llx %*x:%*x %llu %n", &begin, &end, flags, &offset, &inode,
		   &path) != 5 ||
	    !path || end - begin < GATE_LOOK_BYTES || !gate_is_beneath(line + path))
		return false;
	*m = (struct mapping){ .begin = begin, .end = end, .offset = offset, .inode = inode };
	*shared = flags[3] == 's';
	return true;
}

static uint64_t more(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static bool grow(struct process *p)
{
	unsigned room = p->room ? 2 * p->room : 16;
	struct mapping *mapping =
		p->room < MAPPINGS ? realloc(p->mapping, room * sizeof(*mapping)) : NULL;

	if (!mapping)
		return false;
	p->mapping = mapping;
	p->room = room;
	return true;
}

/*
 * A mapping as it is now; what it has moved. One that cannot be remembered would be counted at each
 * look.
 */
static uint64_t compare(struct process *p, const struct mapping *now)
{
	uint64_t moved;

	for (unsigned i = 0; i < p->count; i++) {
		struct mapping *m = &p->mapping[i];

		if (m->begin != now->begin || m->offset != now->offset || m->inode != now->inode)
			continue;
		moved = more(now->touched, m->touched);
		if (more(now->changed, m->changed) > moved)
			moved = more(now->changed, m->changed);
		*m = *now;
		m->seen = true;
		return moved;
	}
	if (p->count == p->room && !grow(p))
		return 0;
	p->mapping[p->count] = *now;
	p->mapping[p->count++].seen = true;
	return now->touched > now->changed ? now->touched : now->changed;
}

static void forget(struct process *p, uint64_t gone, uint64_t length)
{
	for (unsigned i = 0; i < p->count;) {
		struct mapping *m = &p->mapping[i];

		if (!m->seen || (length && m->begin >= gone && m->end <= gone + length))
			*m = p->mapping[--p->count];
		else
			i++;
	}
}

static uint64_t look(struct process *p, uint64_t gone, uint64_t length)
{
	int64_t begin_ns = turn_now_ns(), end_ns;
	FILE *f = open_proc(atomic_load(&p->pid), "smaps");
	bool ours = false, shared = false;
	struct mapping now = { 0 };
	uint64_t moved = 0;
	char line[1024];

	if (!f) {
		drop(p);
		return 0;
	}
	atomic_store(&p->fresh, false);
	for (unsigned i = 0; i < p->count; i++)
		p->mapping[i].seen = false;
	while (fgets(line, sizeof(line), f)) {
		uint64_t kib;
		char key[24];

		if (line[0] < 'A' || line[0] > 'Z') {
			if (ours)
				moved += compare(p, &now);
			line[strcspn(line, "\n")] = 0;
			ours = parse_mapping(line, &now, &shared);
		} else if (ours && sscanf(line, "%23[^:]: %lu kB", key, &kib) == 2) {
			if (!strcmp(key, "Rss"))
				now.touched = kib << 10;
			else if (!strcmp(key, "Anonymous")) /* copies of its own */
				now.touched -= kib << 10;
			else if (shared &&
				 (!strcmp(key, "Shared_Dirty") || !strcmp(key, "Private_Dirty")))
				now.changed += kib << 10;
		}
	}
	if (ours)
		moved += compare(p, &now);
	fclose(f);
	forget(p, gone, length);
	end_ns = turn_now_ns();
	p->next_ns = end_ns + PART * (end_ns - begin_ns);
	if (p->next_ns < end_ns + LEAST_NS)
		p->next_ns = end_ns + LEAST_NS;
	return moved;
}

/*
 * Whether the kernel should be asked: a program frees memory far more often than it unmaps files.
 */
static bool may_end(const struct process *p, uint64_t gone, uint64_t length)
{
	bool may = !length || atomic_load(&p->fresh);

	for (unsigned i = 0; !may && i < p->count; i++)
		may = p->mapping[i].begin < gone + length && gone < p->mapping[i].end;
	return may;
}

uint64_t mapped_moved(uint32_t tid, bool soon, uint64_t gone, uint64_t length)
{
	struct process *p;
	uint64_t moved = 0;
	uint32_t pid;

	if (!atomic_load_explicit(&processes, memory_order_relaxed))
		return 0;
	pid = process_of(tid);
	pthread_mutex_lock(&lock);
	p = pid ? find(pid) : NULL;
	pthread_mutex_unlock(&lock);
	if (!p || (soon ? pthread_mutex_lock(&p->lock) : pthread_mutex_trylock(&p->lock)))
		return 0;
	if (atomic_load(&p->pid) == pid &&
	    ((soon && may_end(p, gone, length)) || turn_now_ns() >= p->next_ns))
		moved = look(p, gone, length);
	pthread_mutex_unlock(&p->lock);
	return moved;
}

uint64_t mapped_moved_all(void)
{
	uint64_t moved = 0;
	unsigned count;

	pthread_mutex_lock(&lock);
	count = used;
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; i < count; i++) {
		struct process *p = all[i];

		if (pthread_mutex_trylock(&p->lock))
			continue;
		if (atomic_load(&p->pid) && turn_now_ns() >= p->next_ns)
			moved += look(p, 0, 0);
		pthread_mutex_unlock(&p->lock);
	}
	return moved;
}
