/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of jobs: create, adopt and remove them, and keep the mode and the processes of each.
 *
 * A segment is a file, so that programs find it by its path and a node that starts again finds
 * the jobs whose programs still run. Everything in it that the node relies on after a restart
 * (name, what the job asks for) is written by nodes only; a program that changes it changes what
 * its own job asks for, which it may do by `sluice set` as well.
 *
 * A job whose programs have all ended keeps its segment as long as the node keeps the job, so that
 * the next program of a script finds it. Then the mode becomes GONE and the file is removed.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "sluiced/ionode/link.h"
#include "sluiced/ionode/site.h"
#include "sluiced/ionode/rules.h"
#include "sluiced/ionode/turn.h"

#define LEFT_NS	      INT64_C(5000000000) /* after this time no process will pay any more */
#define COUNT_NS      INT64_C(200000000)  /* time between two checks of which processes live */
#define COUNT_EACH_NS INT64_C(20000000)	  /* and more for each of them in a layer for all users */

static void segment_path(const struct turn_room *room, uint64_t local, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%016" PRIx64, room->dir, local);
}

/* The number that its programs use: in a layer for all users, that of its name without the UID. */
static uint64_t local_number(const struct node *n, const struct node_job *j)
{
	return n->site ? sl_job_number(site_short(j)) : j->number;
}

static struct sl_turn_job *segment_map(int fd)
{
	void *p = mmap(NULL, sizeof(struct sl_turn_job), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	/* cppcheck-suppress memleak ; it is the caller's */
	return p == MAP_FAILED ? NULL : p;
}

/* ---- processes ---- */

bool node_process_ended(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool ended;

	if (fd < 0)
		return errno == ESRCH || errno == EINVAL;
	ended = poll(&p, 1, 0) > 0;
	close(fd);
	return ended;
}

/*
 * Remove processes that have ended; returns how many are left, and how many of these are in a
 * phase.
 */
static uint32_t count_processes(struct sl_turn_job *shm, uint32_t *phases)
{
	uint32_t count = 0;

	*phases = 0;
	for (uint32_t i = 0; i < SL_TURN_PROCS; i++) {
		uint32_t pid = atomic_load_explicit(&shm->proc[i].pid, memory_order_relaxed);

		if (!pid)
			continue;
		if (node_process_ended((pid_t)pid)) {
			atomic_store(&shm->proc[i].phase, 0);
			atomic_fetch_add(&shm->left, atomic_exchange(&shm->proc[i].dirty, 0));
			atomic_compare_exchange_strong(&shm->proc[i].pid, &pid, 0);
			continue;
		}
		count++;
		*phases += atomic_load_explicit(&shm->proc[i].phase, memory_order_relaxed) != 0;
	}
	return count;
}

static void look_processes(struct node *n, struct node_turn *t, sl_time now)
{
	struct node_job *j = t->job;
	uint32_t phases, procs;

	/* No user can keep the node busy with this. */
	if (now - t->procs_ns < COUNT_NS + (n->site ? t->procs * COUNT_EACH_NS : 0))
		return;
	t->procs_ns = now;
	procs = count_processes(t->shm, &phases);
	if (!procs && now - j->last_io > LEFT_NS)
		turn_wire_over(t);
	if (procs != t->procs)
		node_job_clients(n, j, (int)procs - (int)t->procs);
	t->procs = procs;
	if (phases != t->phases)
		node_job_phases(n, j, (int)phases - (int)t->phases);
	t->phases = phases;
}

/* ---- counts ---- */

uint32_t turn_cpus(void)
{
	static _Atomic uint32_t known;
	unsigned last = SL_TURN_CPUS - 1, first;
	char text[128] = "";
	const char *at;
	FILE *f;

	if (known)
		return known;
	f = fopen("/sys/devices/system/cpu/possible", "re"); /* "0-63", "0,2-5" */
	if (f && fgets(text, sizeof(text), f)) {
		at = strrchr(text, ',');
		at = at ? at + 1 : text;
		if (sscanf(at, "%u-%u", &first, &last) == 1)
			last = first;
	}
	if (f)
		fclose(f);
	known = last < SL_TURN_CPUS ? last + 1 : SL_TURN_CPUS;
	return known;
}

static void sum_counts(const struct sl_turn_job *shm, uint64_t moved[2], uint64_t *calls)
{
	moved[SL_READ] = moved[SL_WRITE] = *calls = 0;
	for (uint32_t i = 0; i < turn_cpus(); i++)
		for (int op = SL_READ; op <= SL_WRITE; op++) {
			const struct sl_turn_count *c = &shm->cpu[i].moved[op];
			const struct sl_turn_count *locked = &shm->cpu[i].locked[op];

			moved[op] += __atomic_load_n(&c->bytes, __ATOMIC_RELAXED) +
				     __atomic_load_n(&locked->bytes, __ATOMIC_RELAXED);
			*calls += __atomic_load_n(&c->calls, __ATOMIC_RELAXED) +
				  __atomic_load_n(&locked->calls, __ATOMIC_RELAXED);
		}
}

static void account(struct node *n, struct node_turn *t, sl_time now)
{
	struct node_job *j = t->job;
	uint64_t moved[2], calls;

	sum_counts(t->shm, moved, &calls);
	if (calls != t->counted_calls) {
		if (now - j->last_io > NODE_PAUSE_NS)
			link_event(n);
		j->last_io = now;
	}
	for (int op = SL_READ; op <= SL_WRITE; op++) {
		j->moved[op] += moved[op] - t->counted[op]; /* the program's own word */
		t->counted[op] = moved[op];
	}
	j->calls += calls - t->counted_calls;
	t->counted_calls = calls;
	turn_wire_account(t, false);
	ops_account(n, j, now);
}

void turn_account(struct node *n, sl_time now)
{
	for (struct node_job *j = n->jobs; j; j = j->next) {
		if (!j->turn)
			continue;
		account(n, j->turn, now);
		look_processes(n, j->turn, now);
	}
}

void turn_recount(struct node *n, struct node_job *j, sl_time now)
{
	if (!j->turn)
		return;
	if (!n->site)
		j->turn->procs_ns = 0;
	look_processes(n, j->turn, now);
}

/* ---- modes ---- */

bool turn_sees_all(const struct node *n)
{
	return n->config->device.bps[SL_READ] || n->trace || n->config->window ||
	       n->config->ask_always;
}

static enum sl_turn_mode mode_of(const struct node *n, const struct node_job *j, sl_time now)
{
	if (n->passing)
		return SL_TURN_OPEN;
	if (j->map_epoch && j->map_count && !j->map_turns)
		return SL_TURN_FORWARD;
	if (turn_sees_all(n))
		return SL_TURN_PLACED;
	if (n->capacity_bps || j->rights.max_bps || j->bucket || now < j->granted_until)
		return SL_TURN_LEASED;
	return SL_TURN_OPEN;
}

/* The word in the segment: the mode, and whether a limit is kept by the program beside it. */
static uint32_t word_of(const struct node *n, const struct node_job *j, enum sl_turn_mode mode)
{
	bool metered = ops_meters_calls(n, j);

	return (uint32_t)mode |
	       (metered && !n->passing && mode != SL_TURN_GONE ? SL_TURN_METERED : 0);
}

static void set_mode(struct node *n, struct node_turn *t, enum sl_turn_mode mode, sl_time now)
{
	uint32_t word = word_of(n, t->job, mode);

	if (atomic_load(&t->shm->mode) == word)
		return;
	atomic_fetch_add(&t->shm->modes, 1);
	atomic_store(&t->shm->mode, word);
	turn_revoke(n, t, now);
	if (mode == SL_TURN_OPEN) { /* without charging there is no debt */
		atomic_store(&t->shm->credit, 0);
		t->credit = 0;
		t->spare_bytes = 0;
		turn_wire_drop(t);
	}
	turn_signal(n, t, TURN_ALL_BITS);
}

static void set_homes(struct node *n, struct node_turn *t)
{
	const struct node_job *j = t->job;
	struct sl_turn_job *shm = t->shm;
	uint32_t homes = 0;
	bool changed = false;

	assert(shm);
	for (uint32_t i = 0; j->map_epoch && j->map_turns && i < j->map_count; i++) {
		char at[sizeof(shm->home[0])] = "";

		if (homes >= SL_TURN_NODES || !link_socket(n, j->map[i], at))
			continue;
		changed |= memcmp(shm->home[homes], at, sizeof(at)) != 0;
		memcpy(shm->home[homes++], at, sizeof(at));
	}
	if (!changed && homes == atomic_load(&shm->homes))
		return;
	atomic_store(&shm->homes, homes);
	atomic_fetch_add(&shm->moved, 1);
	turn_signal(n, t, TURN_ALL_BITS); /* waiting calls continue to wait at the new home */
}

void turn_modes(struct node *n, sl_time now)
{
	for (struct node_job *j = n->jobs; j; j = j->next) {
		if (!j->turn)
			continue;
		set_homes(n, j->turn);
		turn_wire_set(n, j->turn);
		ops_mode(n, j->turn, now);
		set_mode(n, j->turn, mode_of(n, j, now), now);
	}
}

/* ---- life of a segment ---- */

void turn_job_keep(const struct node *n, struct node_job *j)
{
	struct sl_turn_job *shm = j->turn ? j->turn->shm : NULL;

	if (!shm)
		return;
	if (n->site) {
		struct turn_kept k = { .local = j->turn->local,
				       .asked = j->asked,
				       .ops = j->ops.asked,
				       .given = j->given,
				       .given_ops = j->given_ops,
				       .owner = j->owner,
				       .keep = j->keep,
				       .procs = j->procs,
				       .nodes = j->nodes,
				       .uid = j->uid };

		memcpy(k.name, j->name, sizeof(k.name));
		memcpy(k.title, j->title, sizeof(k.title));
		/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): at worst written once more */
		if (!memcmp(&k, &j->turn->kept, sizeof(k)))
			return;
		j->turn->kept = k;
		turn_kept_write(n, &k);
		return;
	}
	memcpy(shm->name, j->name, sizeof(shm->name));
	memcpy(shm->title, j->title, sizeof(shm->title));
	shm->asked_conf = j->asked;
	shm->operations.conf = j->ops.asked;
	shm->procs_declared = j->procs;
	shm->nodes_declared = j->nodes;
	shm->owner = j->owner;
}

static void write_patterns(const struct node *n, const struct node_job *j, struct sl_turn_job *shm)
{
	char text[SL_TURN_TAGS];

	rules_patterns(n, j, text);
	if (memcmp(shm->tags, text, sizeof(text)) != 0)
		memcpy(shm->tags, text,
		       sizeof(text)); /* who reads it looks twice: client/conn/part.c */
}

void turn_job_patterns(const struct node *n, const struct node_job *j)
{
	if (j->turn)
		write_patterns(n, j, j->turn->shm);
}

static int attach(struct node *n, struct node_job *j, struct turn_room *room,
		  struct sl_turn_job *shm)
{
	struct node_turn *t = calloc(1, sizeof(*t));
	uint32_t i = 0;

	while (i < SL_TURN_JOBS && n->turns->by_index[i])
		i++;
	if (!t || i == SL_TURN_JOBS) {
		free(t);
		return -ENOSPC;
	}
	t->shm = shm;
	t->room = room;
	t->local = local_number(n, j);
	t->job = j;
	sum_counts(shm, t->counted, &t->counted_calls);
	turn_wire_account(t, true);
	ops_attach(t);
	shm->job = t->local;
	shm->index = t->index = i;
	write_patterns(n, j, shm);
	shm->bytes = sizeof(*shm);
	shm->magic = SL_TURN_MAGIC;
	n->turns->by_index[i] = t;
	j->turn = t;
	turn_job_keep(n, j);
	set_homes(n, t);
	turn_wire_set(n, t);
	ops_mode(n, t, node_now());
	atomic_store(&shm->mode, word_of(n, j, mode_of(n, j, node_now())));
	turn_activate(n, t);
	return 0;
}

/* Create it under another name first, so that no program opens an incomplete file. */
int turn_job_make(struct node *n, struct node_job *j)
{
	char path[PATH_MAX], new[PATH_MAX + 8];
	struct sl_turn_job *shm = NULL;
	struct turn_room *room;
	int fd = -1, rc = 0;

	if (j->turn || !n->turns)
		return 0;
	room = turn_room(n, j->uid, &rc);
	if (!room) {
		log_warn("job=%s has no segment, its programs are not scheduled: %s", j->name,
			 strerror(-rc));
		return rc;
	}
	segment_path(room, local_number(n, j), path);
	snprintf(new, sizeof(new), "%s.new", path);
	fd = open(new, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		rc = -errno;
	/* With its blocks: a full file system must be found here, not when a page is touched. */
	if (!rc)
		rc = -posix_fallocate(fd, 0, sizeof(*shm));
	if (!rc && n->site && fchmod(fd, 0666)) /* in a directory that only its user may enter */
		rc = -errno;
	if (!rc && !(shm = segment_map(fd)))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (!rc)
		rc = attach(n, j, room, shm);
	if (!rc && rename(new, path))
		rc = -errno;
	if (!rc)
		return 0;
	log_warn("job=%s has no segment, its programs are not scheduled: %s", j->name,
		 strerror(-rc));
	unlink(new);
	if (shm && !j->turn)
		munmap(shm, sizeof(*shm));
	return rc;
}

/* Whether a process still pays for the dirty data that its programs have left. */
static bool is_charged(const struct node_turn *t)
{
	enum sl_turn_mode mode = sl_turn_mode_of(t->shm);

	return mode == SL_TURN_LEASED || mode == SL_TURN_PLACED;
}

int turn_job_check(const struct node *n, const struct node_job *j)
{
	const struct node_turn *t = j->turn;
	char path[PATH_MAX];
	struct stat st;

	(void)n;
	segment_path(t->room, t->local, path);
	if (lstat(path, &st) || st.st_size < (off_t)sizeof(*t->shm))
		return -EIO;
	if (st.st_size == (off_t)sizeof(*t->shm))
		return 0;
	return truncate(path, sizeof(*t->shm)) ? -errno : -EFBIG;
}

bool turn_owes(const struct node_job *j, sl_time now)
{
	const struct node_turn *t = j->turn;

	return t && (atomic_load(&t->shm->credit) < 0 ||
		     (is_charged(t) && atomic_load(&t->shm->left)) || t->paid_ns > now);
}

void turn_job_forget(struct node *n, struct node_job *j)
{
	struct node_turn *t = j->turn;
	char path[PATH_MAX];

	if (!t)
		return;
	account(n, t, node_now());
	segment_path(t->room, t->local, path);
	unlink(path);
	if (n->site)
		turn_kept_remove(n, j->uid, t->local);
	ops_release(n, t, node_now());
	set_mode(n, t, SL_TURN_GONE, node_now());
	node_wakes_now(n); /* before the memory that they are about is unmapped */
	n->turns->by_index[t->index] = NULL;
	turn_deactivate(n, t);
	munmap(t->shm, sizeof(*t->shm));
	free(t);
	j->turn = NULL;
}

/* Read the state of the previous node about the job, and check it. */
static bool recall(const struct node *n, const struct turn_room *room,
		   const struct sl_turn_job *shm, uint64_t local, struct turn_kept *k)
{
	if (n->site)
		return turn_kept_read(n, room->uid, local, k);
	if (!memchr(shm->name, 0, sizeof(shm->name)) ||
	    !memchr(shm->title, 0, sizeof(shm->title)) ||
	    !memchr(shm->owner.account, 0, SL_OWNER_MAX) ||
	    !memchr(shm->owner.qos, 0, SL_OWNER_MAX) ||
	    !memchr(shm->owner.partition, 0, SL_OWNER_MAX) || sl_job_number(shm->name) != local)
		return false;
	*k = (struct turn_kept){ .asked = shm->asked_conf,
				 .ops = shm->operations.conf,
				 .owner = shm->owner,
				 .local = local,
				 .procs = shm->procs_declared,
				 .nodes = shm->nodes_declared };
	memcpy(k->name, shm->name, sizeof(k->name));
	memcpy(k->title, shm->title, sizeof(k->title));
	return true;
}

/*
 * Adopt a job of the previous node: it lives if a program attached to its segment lives, or, if an
 * administrator has registered it, until it is ended.
 */
static void adopt(struct node *n, struct turn_room *room, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), error = 0;
	uint64_t local = strtoull(strrchr(path, '/') + 1, NULL, 16);
	struct sl_turn_job *shm = NULL;
	struct node_job *j = NULL;
	struct turn_kept k;
	uint32_t phases;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size == (off_t)sizeof(*shm))
		shm = segment_map(fd);
	if (fd >= 0)
		close(fd);
	if (shm && shm->magic == SL_TURN_MAGIC && shm->bytes == sizeof(*shm) && shm->job == local &&
	    recall(n, room, shm, local, &k) &&
	    (k.keep || count_processes(shm, &phases) || atomic_load(&shm->credit) < 0)) {
		struct sl_job_conf conf = k.asked;

		conf.best_effort = conf.min_bps ? 1 : conf.best_effort;
		j = node_job_find(n, sl_job_number(k.name));
		if (!j)
			j = node_job_add(n, k.name, room->uid, &conf, &error);
	}
	if (shm && j && !j->turn) {
		memcpy(j->title, k.title, sizeof(j->title));
		j->given = k.given;
		j->given_ops = k.given_ops;
		j->ops.asked = k.ops;
		ops_job_apply(n, j, node_now());
		j->procs = k.procs;
		j->nodes = k.nodes;
		j->keep = j->keep || k.keep;
		node_job_owner(n, j, &k.owner);
		error = attach(n, j, room, shm);
		if (!error) {
			turn_signal(n, j->turn, TURN_ALL_BITS);
			log_info("job=%s adopted, its programs have outlived another node",
				 j->name);
			return;
		}
	}
	if (shm) {
		atomic_store(&shm->mode, SL_TURN_GONE);
		munmap(shm, sizeof(*shm));
	}
	unlink(path);
	if (n->site)
		turn_kept_remove(n, room->uid, local);
}

int turn_adopt(struct node *n)
{
	return turn_rooms_find(n, adopt);
}

/* ---- threads that have ended with a slot ---- */

static bool thread_ended(uint32_t tid)
{
	return (int32_t)tid <= 0 || (syscall(SYS_tkill, tid, 0) && errno == ESRCH);
}

static void look_threads(struct node_turn *t)
{
	for (uint32_t i = 0; i < SL_TURN_SLOTS; i++) {
		struct sl_turn_slot *s = &t->shm->slot[i];
		uint32_t state = atomic_load_explicit(&s->state, memory_order_relaxed);

		if (state != SL_TURN_FREE && thread_ended(s->tid))
			atomic_store(&s->state, SL_TURN_DONE);
		else if (!turn_slot_left(t, i, state))
			continue;
		atomic_fetch_or(&t->room->page->ready[t->index / 64], UINT64_C(1) << t->index % 64);
	}
}

void turn_tick(struct node *n, sl_time now)
{
	for (struct node_job *j = n->jobs; j; j = j->next) {
		if (!j->turn)
			continue;
		look_threads(j->turn);
		if (!is_charged(j->turn))
			turn_wire_drop(j->turn);
		else if (atomic_load(&j->turn->shm->left))
			turn_activate(n, j->turn);
	}
	turn_modes(n, now);
	turn_look(n, now);
}
