/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns, from the program's side: counters, credit, slots, silence, and finding the segment. The
 * node is a thread in here, or nobody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/conn/client.h"
#include "client/conn/ops.h"
#include "client/conn/turn.h"
#include "client/conn/wire.h"

#define THREADS 8
#define ROUNDS	100000
#define JOB	7
#define PATIENT 30000 /* steps of a millisecond until something must have happened */

static char dir[64], sock_path[80], other_path[80], log_path[80];
static struct sl_turn_node *node;
static struct sl_turn_job *job;
static _Atomic int file; /* of the layer; a thread may be using it when it is replaced */

static int64_t now_ns(void)
{
	return turn_now_ns();
}

static void nap(void)
{
	nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

#define UNTIL(condition)                                             \
	do {                                                         \
		for (int i_ = 0; !(condition) && i_ < PATIENT; i_++) \
			nap();                                       \
		assert_true(condition);                              \
	} while (0)

/* ---- segments ---- */

static void *make(const char *path, size_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	uint64_t *at;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(at != MAP_FAILED);
	close(fd);
	at[0] = SL_TURN_MAGIC;
	at[1] = bytes;
	return at;
}

static void job_path(const char *socket, char out[128])
{
	snprintf(out, 128, "%s.jobs/%016x", socket, JOB);
}

static struct sl_turn_job *make_job(const char *socket, enum sl_turn_mode mode)
{
	struct sl_turn_job *j;
	char path[128];

	job_path(socket, path);
	j = make(path, sizeof(*j));
	j->job = JOB;
	j->index = 70;
	atomic_store(&j->mode, mode);
	return j;
}

static struct sl_turn_node *make_node(const char *socket)
{
	struct sl_turn_node *n;
	char path[128];

	snprintf(path, sizeof(path), "%s.jobs", socket);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s.turn", socket);
	n = make(path, sizeof(*n));
	atomic_store(&n->alive_ns, now_ns());
	return n;
}

static struct sl_turn_count moved(const struct sl_turn_job *j, enum sl_op op)
{
	struct sl_turn_count sum = { 0, 0 };

	for (unsigned i = 0; i < SL_TURN_CPUS; i++) {
		sum.bytes += j->cpu[i].moved[op].bytes + j->cpu[i].locked[op].bytes;
		sum.calls += j->cpu[i].moved[op].calls + j->cpu[i].locked[op].calls;
	}
	return sum;
}

/* ---- a call of a program ---- */

/* What turn_begin() said of a call of so many bytes, that moved so many. */
static enum turn_kind call(enum sl_op op, size_t length, ssize_t result)
{
	struct turn t;
	enum turn_kind kind;

	errno = ERANGE;
	kind = turn_begin(&t, file, op, NULL, length, 4096, TURN_CANCELS);
	assert_int_equal(errno, ERANGE);
	if (kind != TURN_PASS && kind != TURN_FORWARD && kind != TURN_CLOSED) {
		errno = ENOSPC;
		turn_end(&t, result);
		assert_int_equal(errno, ENOSPC);
	}
	return kind;
}

struct caller {
	pthread_t thread;
	size_t length;
	enum turn_kind kind;
	atomic_bool over;
};

static void *caller_main(void *arg)
{
	struct caller *c = arg;

	c->kind = call(SL_WRITE, c->length, (ssize_t)c->length);
	atomic_store(&c->over, true);
	return NULL;
}

static void start(struct caller *c, size_t length)
{
	*c = (struct caller){ .length = length };
	assert_int_equal(pthread_create(&c->thread, NULL, caller_main, c), 0);
}

static enum turn_kind end(struct caller *c)
{
	pthread_join(c->thread, NULL);
	return c->kind;
}

/* ---- the node's part ---- */

static void wake(uint32_t bits, int count)
{
	atomic_fetch_add(&job->grants, 1);
	atomic_store(&job->waiting, 0);
	syscall(SYS_futex, &job->grants, FUTEX_WAKE_BITSET, count, NULL, NULL, bits);
}

/* Wait until somebody asks, and see that the node is told. */
static void await_asked(void)
{
	UNTIL(atomic_load(&job->asked) &&
	      atomic_load(&node->ready[job->index / 64]) & UINT64_C(1) << job->index % 64);
	atomic_store(&node->ready[job->index / 64], 0);
	atomic_store(&job->asked, 0);
}

static void grant(int64_t bytes)
{
	atomic_fetch_add(&job->credit, bytes);
	wake(SL_TURN_CREDIT_BIT, 1);
}

static int posted(void)
{
	for (int i = 0; i < SL_TURN_SLOTS; i++)
		if (atomic_load(&job->slot[i].state) == SL_TURN_POSTED)
			return i;
	return -1;
}

static void go(int slot)
{
	atomic_store(&job->slot[slot].state, SL_TURN_GO);
	wake(SL_TURN_SLOT_BIT((unsigned)slot), INT32_MAX);
}

static int setup(void **state)
{
	(void)state;
	atomic_store(&node->alive_ns, now_ns());
	memset(node->ready, 0, sizeof(node->ready));
	atomic_store(&job->mode, SL_TURN_OPEN);
	atomic_store(&job->credit, 0);
	atomic_store(&job->asked, 0);
	atomic_store(&job->given_up, 0);
	atomic_store(&job->unscheduled, 0);
	atomic_store(&job->held_ns, 0);
	wire_close(file, false);
	atomic_store(&job->charge, 0);
	atomic_store(&job->dirty, 0);
	atomic_store(&job->left, 0);
	atomic_store(&job->cached, 0);
	atomic_store(&job->buffered, 0);
	atomic_store(&job->flushed, 0);
	memset(job->cpu, 0, sizeof(job->cpu));
	atomic_store(&job->ops, 0);
	atomic_store(&job->operations.credit[SL_METER_OPS].asked, 0);
	memset(job->slot, 0, sizeof(job->slot));
	return 0;
}

/* ---- counting ---- */

static struct sl_turn_job *counted;

static void handler(int signal)
{
	(void)signal;
	account(counted, SL_READ, 3);
}

static _Atomic uint64_t handled;

static void *counter(void *arg)
{
	uint64_t signals = 0;

	for (int i = 0; i < ROUNDS; i++) {
		account(counted, SL_WRITE, 4096);
		if (i % 64 == 0) {
			pthread_kill(pthread_self(), SIGUSR1);
			signals++;
		}
	}
	atomic_fetch_add(&handled, signals);
	return arg;
}

static void every_call_of_threads_and_handlers_is_counted_once(void **state)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct sl_turn_count sum;
	pthread_t threads[THREADS];

	(void)state;
	counted = job;
	account_start();
	sigaction(SIGUSR1, &a, NULL);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, counter, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	sum = moved(job, SL_WRITE);
	assert_int_equal(sum.calls, (uint64_t)THREADS * ROUNDS);
	assert_int_equal(sum.bytes, (uint64_t)THREADS * ROUNDS * 4096);
	sum = moved(job, SL_READ);
	assert_int_equal(sum.calls, handled);
	assert_int_equal(sum.bytes, handled * 3);
}

static void a_call_that_need_not_ask_is_counted_as_what_it_moved(void **state)
{
	(void)state;
	assert_int_equal(call(SL_WRITE, 100, 60), TURN_OPEN);
	assert_int_equal(call(SL_READ, 100, 7), TURN_OPEN);
	assert_int_equal(call(SL_READ, 100, -1), TURN_OPEN);
	assert_int_equal(call(SL_READ, 100, 0), TURN_OPEN);
	assert_int_equal(moved(job, SL_WRITE).bytes, 60);
	assert_int_equal(moved(job, SL_WRITE).calls, 1);
	assert_int_equal(moved(job, SL_READ).bytes, 7);
	assert_int_equal(moved(job, SL_READ).calls, 1);
	assert_int_equal(atomic_load(&job->asked), 0);
	assert_ptr_equal(turn_open(file), turn_own.job);
}

/* ---- credit ---- */

static void credit_is_debited_and_what_did_not_move_comes_back(void **state)
{
	(void)state;
	atomic_store(&job->mode, SL_TURN_LEASED);
	atomic_store(&job->credit, 100);
	assert_null(turn_open(file));
	assert_int_equal(call(SL_WRITE, 60, 60), TURN_LEASED);
	assert_int_equal(atomic_load(&job->credit), 40);
	assert_int_equal(call(SL_WRITE, 60, 10), TURN_LEASED);
	assert_int_equal(atomic_load(&job->credit), 30);
	assert_int_equal(call(SL_WRITE, 60, -1), TURN_LEASED);
	assert_int_equal(atomic_load(&job->credit), 30);
	assert_int_equal(call(SL_WRITE, 1000, 1000), TURN_LEASED); /* one debt */
	assert_int_equal(atomic_load(&job->credit), -970);
	assert_int_equal(moved(job, SL_WRITE).bytes, 1070);
	assert_int_equal(atomic_load(&job->held_ns), 0);
}

static void a_call_without_credit_asks_until_the_debt_is_paid(void **state)
{
	struct caller c;

	(void)state;
	atomic_store(&job->mode, SL_TURN_LEASED);
	atomic_store(&job->credit, -900);
	start(&c, 50);
	await_asked();
	assert_int_equal(atomic_load(&job->asked_op), SL_WRITE);
	grant(900); /* 0 is not above 0 */
	await_asked();
	assert_false(atomic_load(&c.over));
	grant(100);
	assert_int_equal(end(&c), TURN_LEASED);
	assert_int_equal(atomic_load(&job->credit), 50);
	assert_true(atomic_load(&job->held_ns) > 0);
	assert_int_equal(atomic_load(&job->unscheduled), 0);
}

static void a_waiter_that_goes_wakes_the_next(void **state)
{
	struct caller c[THREADS];

	(void)state;
	atomic_store(&job->mode, SL_TURN_LEASED);
	for (int i = 0; i < THREADS; i++)
		start(&c[i], 10);
	await_asked();
	UNTIL(atomic_load(&job->waiting));
	grant(1000);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(end(&c[i]), TURN_LEASED);
	assert_int_equal(atomic_load(&job->credit), 1000 - 10 * THREADS);
}

static void a_mode_that_ends_while_calls_wait_lets_them_go(void **state)
{
	struct caller c;

	(void)state;
	atomic_store(&job->mode, SL_TURN_LEASED);
	start(&c, 10);
	await_asked();
	atomic_store(&job->mode, SL_TURN_OPEN);
	wake(UINT32_MAX, INT32_MAX);
	assert_int_equal(end(&c), TURN_OPEN);
	assert_int_equal(atomic_load(&job->credit), 0);
	assert_int_equal(moved(job, SL_WRITE).bytes, 10);
}

static void a_call_that_must_not_wait_goes_into_debt(void **state)
{
	struct turn t;

	(void)state;
	atomic_store(&job->mode, SL_TURN_LEASED);
	assert_int_equal(turn_begin(&t, file, SL_READ, NULL, 70, 0, TURN_NOWAIT), TURN_LEASED);
	turn_end(&t, 70);
	assert_int_equal(atomic_load(&job->credit), -70);
}

static void vectors_are_added_up_and_nonsense_is_left_to_the_kernel(void **state)
{
	const struct iovec iov[2] = { { dir, 10 }, { dir, 20 } };
	struct turn t;

	(void)state;
	atomic_store(&job->mode, SL_TURN_LEASED);
	atomic_store(&job->credit, 100);
	assert_int_equal(turn_begin(&t, file, SL_WRITE, iov, 2, 0, 0), TURN_LEASED);
	turn_end(&t, 30);
	assert_int_equal(atomic_load(&job->credit), 70);
	assert_int_equal(turn_begin(&t, file, SL_WRITE, iov, (size_t)-1, 0, 0), TURN_PASS);
	assert_int_equal(turn_begin(&t, file, SL_WRITE, iov, 0, 0, 0), TURN_PASS);
	assert_int_equal(turn_begin(&t, file, SL_WRITE, iov, 1025, 0, 0), TURN_PASS);
	assert_int_equal(turn_begin(&t, file, SL_WRITE, (const struct iovec *)8, 1, 0, 0),
			 TURN_PASS);
	assert_int_equal(turn_begin(&t, file, SL_WRITE, NULL, SIZE_MAX, 0, 0), TURN_LEASED);
	assert_int_equal(atomic_load(&job->credit), 70 - INT64_C(0x7ffff000));
	turn_end(&t, -1);
	assert_int_equal(atomic_load(&job->credit), 70);
}

static void a_read_asks_for_no_more_than_the_file_has(void **state)
{
	struct turn t;

	(void)state;
	atomic_store(&job->mode, SL_TURN_LEASED);
	atomic_store(&job->credit, 100);
	assert_int_equal(ftruncate(file, 5000), 0);
	assert_int_equal(turn_begin(&t, file, SL_READ, NULL, 1 << 30, 4096, 0), TURN_LEASED);
	assert_int_equal(t.length, 904);
	turn_end(&t, 904);
	assert_int_equal(atomic_load(&job->credit), 100 - 904);
}

/* ---- what leaves the page cache ---- */

#define LOTS (UINT64_C(64) << 10) /* the job is told of so many dirty bytes at once */

static void charge_wire(uint64_t most, int64_t credit)
{
	atomic_store(&job->mode, SL_TURN_LEASED);
	atomic_store(&job->charge, SL_TURN_READS | SL_TURN_WRITES | SL_TURN_BLOCKS);
	atomic_store(&job->dirty_most, most);
	atomic_store(&job->step, LOTS);
	atomic_store(&job->credit, credit);
}

static void a_buffered_write_is_free_within_the_allowance_and_a_flush_pays(void **state)
{
	int64_t since_ns;

	(void)state;
	charge_wire(100 * LOTS, (int64_t)LOTS + 10);
	assert_int_equal(call(SL_WRITE, 4096, 4096), TURN_BUFFERED);
	assert_int_equal(atomic_load(&job->dirty), 0); /* not worth telling yet */
	assert_int_equal(call(SL_WRITE, LOTS, (ssize_t)LOTS), TURN_BUFFERED);
	assert_int_equal(atomic_load(&job->dirty), LOTS + 4096);
	assert_int_equal(atomic_load(&job->buffered), LOTS + 4096);
	assert_int_equal(atomic_load(&job->credit), LOTS + 10);
	errno = ERANGE;
	since_ns = wire_flush(file); /* in two steps */
	assert_int_equal(errno, ERANGE);
	/* From here on it waits for the file system, and tells the node so. */
	assert_true(since_ns > 0);
	assert_int_equal(atomic_load(&job->writing_ns), since_ns);
	assert_int_equal(atomic_load(&job->writing), LOTS + 4096);
	wire_flushed(file, since_ns - 1); /* another thread's */
	assert_int_equal(atomic_load(&job->writing_ns), since_ns);
	wire_flushed(file, since_ns);
	assert_int_equal(atomic_load(&job->writing_ns), 0);
	assert_int_equal(wire_flush(file), 0); /* there is nothing to wait for */
	assert_int_equal(atomic_load(&job->writing_ns), 0);
	assert_int_equal(atomic_load(&job->dirty), 0);
	assert_int_equal(atomic_load(&job->flushed), LOTS + 4096);
	assert_int_equal(atomic_load(&job->credit), 10 - 4096);
}

static void a_writer_above_the_allowance_waits_for_credit(void **state)
{
	struct caller c;

	(void)state;
	charge_wire(LOTS, 0);
	start(&c, 3 * LOTS);
	await_asked();
	assert_false(atomic_load(&c.over));
	grant((int64_t)LOTS);
	await_asked(); /* one step more than the allowance */
	grant(1);
	assert_int_equal(end(&c), TURN_BUFFERED);
	assert_int_equal(atomic_load(&job->dirty), LOTS);
	assert_int_equal(atomic_load(&job->flushed), 2 * LOTS);
}

static void what_is_dirty_when_a_file_is_closed_is_left_to_the_node(void **state)
{
	(void)state;
	charge_wire(100 * LOTS, 0);
	assert_int_equal(call(SL_WRITE, 2 * LOTS, 2 * (ssize_t)LOTS), TURN_BUFFERED);
	wire_close(file, true);
	assert_int_equal(atomic_load(&job->left), 2 * LOTS);
	assert_int_equal(atomic_load(&job->dirty), 2 * LOTS); /* until the node has taken it */
	assert_int_equal(atomic_load(&job->flushed), 0);
	wire_flush(file);
	assert_int_equal(atomic_load(&job->flushed), 0);
}

static void a_cached_read_is_free(void **state)
{
	static const char data[4096];

	(void)state;
	assert_int_equal(pwrite(file, data, sizeof(data), 4096), sizeof(data));
	charge_wire(LOTS, 0); /* no credit: it is seen to be cached */
	assert_int_equal(call(SL_READ, 4096, 4096), TURN_READ);
	assert_int_equal(atomic_load(&job->credit), 0);
	atomic_store(&job->credit, 10);
	assert_int_equal(call(SL_READ, 4096, 4096), TURN_READ);
	for (uint64_t read = 0; read < 2 * LOTS; read += 4096)
		assert_int_equal(call(SL_READ, 4096, 4096), TURN_READ);
	assert_int_equal(atomic_load(&job->credit), 10);
	assert_true(atomic_load(&job->cached) >= LOTS);
}

/* ---- slots ---- */

static void a_placed_call_says_where_and_reports(void **state)
{
	struct sl_turn_slot *s;
	struct caller c;
	int slot;

	(void)state;
	atomic_store(&job->mode, SL_TURN_PLACED);
	start(&c, 50);
	UNTIL(posted() >= 0 && atomic_load(&node->ready[job->index / 64]));
	slot = posted();
	s = &job->slot[slot];
	assert_int_equal(s->op, SL_WRITE);
	assert_int_equal(s->offset, 4096);
	assert_int_equal(s->length, 50);
	assert_true(s->tid && s->file && s->file < SL_NO_FILE);
	atomic_store(&node->ready[job->index / 64], 0);
	assert_false(atomic_load(&c.over));
	go(slot);
	assert_int_equal(end(&c), TURN_PLACED);
	assert_int_equal(atomic_load(&s->state), SL_TURN_DONE);
	assert_int_equal(s->moved, 50);
	assert_true(s->ended > 0);
	assert_true(atomic_load(&node->ready[job->index / 64]));
	assert_int_equal(atomic_load(&job->credit), 0);
	assert_int_equal(moved(job, SL_WRITE).bytes, 50);
}

static void a_file_opened_for_synchronous_io_asks_with_its_place(void **state)
{
	char path[128];
	struct turn t;
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/root/sync", dir);
	fd = open(path, O_RDWR | O_CREAT | O_SYNC | O_CLOEXEC, 0600);
	turnfd_opened(fd, AT_FDCWD, path, O_RDWR | O_CREAT | O_SYNC);
	assert_int_equal(turnfd_state(fd), TURNFD_SLOW);
	atomic_store(&job->mode, SL_TURN_LEASED);
	atomic_store(&job->credit, 1000);
	for (int i = 0; i < SL_TURN_SLOTS; i++)
		atomic_store(&job->slot[i].state, SL_TURN_TAKEN);
	/* No slot is free: by credit. */
	assert_int_equal(turn_begin(&t, fd, SL_WRITE, NULL, 10, 0, 0), TURN_LEASED);
	turn_end(&t, 10);
	assert_int_equal(atomic_load(&job->credit), 990);
	atomic_store(&job->slot[9].state, SL_TURN_FREE);
	/* The node is silent: the slot is given back. */
	atomic_store(&node->alive_ns, now_ns() - 10 * SL_TURN_SILENT_NS);
	assert_int_equal(turn_begin(&t, fd, SL_WRITE, NULL, 10, 0, 0), TURN_LATE);
	turn_end(&t, 10);
	assert_int_equal(atomic_load(&job->slot[9].state), SL_TURN_FREE);
	assert_int_equal(atomic_load(&job->unscheduled), 10);
	turnfd_forget(fd);
	close(fd);
}

static void a_slot_that_the_node_has_taken_is_not_touched_any_more(void **state)
{
	struct turn t = { .job = turn_own.job, .kind = TURN_PLACED, .op = SL_WRITE, .slot = 3 };

	(void)state;
	job->slot[3].tid = (uint32_t)gettid();
	job->slot[3].again = t.again + 1;
	atomic_store(&job->slot[3].state, SL_TURN_GO);
	turn_end(&t, 10);
	assert_int_equal(atomic_load(&job->slot[3].state), SL_TURN_GO);
}

/* ---- silence ---- */

static int lines(void)
{
	FILE *f = fopen(log_path, "r");
	int count = 0, c;

	while (f && (c = fgetc(f)) != EOF)
		count += c == '\n';
	if (f)
		fclose(f);
	return count;
}

static void a_silent_node_is_waited_for_once_and_used_again_when_it_is_back(void **state)
{
	struct caller c;
	int said = lines();

	(void)state;
	atomic_store(&job->mode, SL_TURN_LEASED);
	atomic_store(&node->alive_ns, now_ns() - 10 * SL_TURN_SILENT_NS);
	assert_int_equal(call(SL_WRITE, 50, 50), TURN_LATE);
	assert_int_equal(atomic_load(&job->given_up), 1);
	assert_int_equal(lines(), said + 1);
	assert_int_equal(call(SL_WRITE, 50, 20), TURN_LATE);
	assert_int_equal(lines(), said + 1);
	assert_int_equal(atomic_load(&job->unscheduled), 70);
	assert_int_equal(atomic_load(&job->credit), 0);
	atomic_store(&job->asked, 0);
	atomic_store(&node->alive_ns, now_ns());
	start(&c, 50);
	await_asked();
	atomic_store(&node->alive_ns, now_ns());
	assert_int_equal(atomic_load(&job->given_up), 0);
	grant(60);
	assert_int_equal(end(&c), TURN_LEASED);
	assert_int_equal(atomic_load(&job->credit), 10);
}

static void a_node_that_lives_is_waited_for(void **state)
{
	struct caller c;

	(void)state;
	atomic_store(&job->mode, SL_TURN_LEASED);
	start(&c, 50);
	/* Longer than the timeout: with a stamp now and then that is no silence. */
	for (int64_t begin = now_ns(); now_ns() - begin < 600000000;) {
		atomic_store(&node->alive_ns, now_ns());
		nap();
	}
	assert_false(atomic_load(&c.over));
	grant(60);
	assert_int_equal(end(&c), TURN_LEASED);
}

/* ---- numbers that change their meaning ---- */

static int open_in_root(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/root/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	turnfd_opened(fd, AT_FDCWD, path, O_RDWR | O_CREAT);
	return fd;
}

/* What a call is told that waits while its number becomes another file. */
static enum turn_kind replaced(bool at_once)
{
	int kept = file, other;
	struct caller c;

	file = open_in_root("first");
	start(&c, 50);
	await_asked();
	if (at_once) {
		other = open_in_root("second");
		turnfd_replace(file);
		assert_int_equal(dup2(other, file), file);
		close(other);
	} else {
		other = file;
		close(other);
		turnfd_forget(other);
		assert_int_equal(open_in_root("second"), other); /* the number is free again */
	}
	grant(60);
	end(&c);
	close(file);
	turnfd_forget(file);
	file = kept;
	return c.kind;
}

static void a_call_whose_number_was_closed_meanwhile_goes_to_no_other_file(void **state)
{
	(void)state;
	atomic_store(&job->mode, SL_TURN_LEASED);
	assert_int_equal(replaced(false), TURN_CLOSED);
	assert_int_equal(atomic_load(&job->credit), 60); /* it was not made */
	assert_int_equal(moved(job, SL_WRITE).calls, 0);
	atomic_store(&job->credit, 0);
	atomic_store(&job->asked, 0);
	assert_int_equal(replaced(true), TURN_LEASED);
	assert_int_equal(atomic_load(&job->credit), 10);
}

/* ---- leaving in the middle ---- */

static void *cancelled_main(void *arg)
{
	call(SL_WRITE, 50, 50);
	return arg;
}

static void a_thread_that_waits_can_be_cancelled(void **state)
{
	void *result = NULL;
	pthread_t thread;

	(void)state;
	atomic_store(&job->mode, SL_TURN_LEASED);
	pthread_create(&thread, NULL, cancelled_main, NULL);
	await_asked();
	pthread_cancel(thread);
	pthread_join(thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(atomic_load(&job->credit), 0);
	atomic_store(&job->mode, SL_TURN_PLACED);
	pthread_create(&thread, NULL, cancelled_main, NULL);
	UNTIL(posted() >= 0);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	/* The node takes it: that thread is no more. */
	assert_int_equal(syscall(SYS_tgkill, getpid(), job->slot[posted()].tid, 0), -1);
}

static sigjmp_buf out;

static void leave(int signal)
{
	(void)signal;
	siglongjmp(out, 1);
}

static void *leaver_main(void *arg)
{
	if (!sigsetjmp(out, 1))
		call(SL_WRITE, 50, 50);
	atomic_store(&job->mode, SL_TURN_PLACED);
	call(SL_WRITE, 51, 51);
	return arg;
}

static void a_slot_left_by_longjmp_is_given_back_by_the_next_call(void **state)
{
	struct sigaction a = { .sa_handler = leave };
	pthread_t thread;
	int first, second;

	(void)state;
	sigaction(SIGUSR2, &a, NULL);
	atomic_store(&job->mode, SL_TURN_PLACED);
	pthread_create(&thread, NULL, leaver_main, NULL);
	UNTIL((first = posted()) >= 0 && job->slot[first].length == 50);
	pthread_kill(thread, SIGUSR2);
	UNTIL((second = posted()) >= 0 && job->slot[second].length == 51);
	go(second);
	pthread_join(thread, NULL);
	for (int i = 0; i < SL_TURN_SLOTS; i++)
		assert_int_equal(atomic_load(&job->slot[i].state),
				 i == second ? SL_TURN_DONE : SL_TURN_FREE);
}

/* ---- processes ---- */

static bool entered(pid_t pid)
{
	for (int i = 0; i < SL_TURN_PROCS; i++)
		if (atomic_load(&job->proc[i].pid) == (uint32_t)pid)
			return true;
	return false;
}

static bool in_phase(pid_t pid)
{
	for (int i = 0; i < SL_TURN_PROCS; i++)
		if (atomic_load(&job->proc[i].pid) == (uint32_t)pid)
			return atomic_load(&job->proc[i].phase);
	return false;
}

static void processes_enter_themselves_and_their_phases(void **state)
{
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(call(SL_READ, 1, 1), TURN_OPEN);
	assert_true(entered(getpid()));
	assert_int_equal(turn_phase(true), 0);
	assert_true(in_phase(getpid()));
	child = fork();
	if (child == 0)
		_exit(call(SL_READ, 1, 1) == TURN_OPEN && !in_phase(getpid()) ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(entered(child));
	assert_int_equal(turn_phase(false), 0);
	assert_false(in_phase(getpid()));
}

/* ---- segments that come and go ---- */

static void a_segment_that_is_gone_lets_calls_pass_until_it_is_back(void **state)
{
	(void)state;
	atomic_store(&job->mode, SL_TURN_GONE);
	assert_int_equal(call(SL_WRITE, 50, 50), TURN_PASS);
	assert_null(turn_open(file));
	assert_int_equal(moved(job, SL_WRITE).calls, 0);
	atomic_store(&job->mode, SL_TURN_OPEN);
	assert_int_equal(call(SL_WRITE, 50, 50), TURN_OPEN);
}

static void a_new_segment_is_found(void **state)
{
	enum turn_kind kind = TURN_PASS;
	struct sl_turn_job *next;
	char path[128];

	(void)state;
	job_path(sock_path, path);
	unlink(path);
	atomic_store(&job->mode, SL_TURN_GONE);
	next = make_job(sock_path, SL_TURN_OPEN);
	UNTIL(kind == TURN_OPEN || (kind = call(SL_WRITE, 50, 50)) == TURN_OPEN);
	assert_int_equal(moved(next, SL_WRITE).bytes, 50);
	assert_int_equal(moved(job, SL_WRITE).bytes, 0);
	job = next;
}

static void *registrar(void *arg)
{
	const int *listener = arg;
	unsigned char frame[SL_FRAME_BYTES];
	struct sl_frame f;
	int sock = accept(*listener, NULL, NULL);
	char line[512] = { 0 };

	assert_int_equal(recv(sock, frame, sizeof(frame), MSG_WAITALL), sizeof(frame));
	assert_int_equal(sl_frame_decode(frame, &f), 0);
	assert_true(f.type == SL_CONTROL && f.length < sizeof(line));
	assert_int_equal(recv(sock, line, f.length, MSG_WAITALL), f.length);
	assert_string_equal(line, "job 7 max=5M weight=3");
	job = make_job(sock_path, SL_TURN_OPEN);
	f = (struct sl_frame){ .type = SL_REPLY };
	sl_frame_encode(&f, frame);
	assert_int_equal(send(sock, frame, sizeof(frame), 0), sizeof(frame));
	close(sock);
	return NULL;
}

static void a_job_that_the_node_does_not_know_is_registered(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	enum turn_kind kind = TURN_PASS;
	pthread_t thread;
	char path[128];

	(void)state;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", sock_path);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 4), 0);
	job_path(sock_path, path);
	unlink(path);
	atomic_store(&job->mode, SL_TURN_GONE);
	pthread_create(&thread, NULL, registrar, &listener);
	UNTIL(kind == TURN_OPEN || (kind = call(SL_WRITE, 50, 50)) == TURN_OPEN);
	pthread_join(thread, NULL);
	assert_int_equal(moved(job, SL_WRITE).bytes, 50);
	close(listener);
	unlink(sock_path);
}

static void a_job_that_moves_takes_its_turns_at_its_home(void **state)
{
	struct sl_turn_node *other_node = make_node(other_path);
	struct sl_turn_job *other = make_job(other_path, SL_TURN_OPEN);

	(void)state;
	assert_int_equal(call(SL_WRITE, 50, 50), TURN_OPEN);
	snprintf(job->home[0], sizeof(job->home[0]), "%s", other_path);
	atomic_store(&job->homes, 1);
	atomic_fetch_add(&job->moved, 1);
	assert_null(turn_open(file));
	assert_int_equal(call(SL_WRITE, 30, 30), TURN_OPEN);
	assert_non_null(turn_open(file));
	assert_int_equal(moved(job, SL_WRITE).bytes, 50);
	assert_int_equal(moved(other, SL_WRITE).bytes, 30);
	/* And back; a home that is not there changes nothing. */
	snprintf(other->home[0], sizeof(other->home[0]), "%s/nowhere", dir);
	atomic_store(&other->homes, 1);
	atomic_fetch_add(&other->moved, 1);
	assert_int_equal(call(SL_WRITE, 1, 1), TURN_OPEN);
	assert_int_equal(moved(other, SL_WRITE).bytes, 31);
	snprintf(other->home[0], sizeof(other->home[0]), "%s", sock_path);
	atomic_fetch_add(&other->moved, 1);
	atomic_store(&job->homes, 0);
	assert_int_equal(call(SL_WRITE, 1, 1), TURN_OPEN);
	assert_int_equal(moved(job, SL_WRITE).bytes, 51);
	munmap(other_node, sizeof(*other_node));
}

/* Also if another thread of the process finds the new home first. */
static void a_call_that_waits_follows_its_job(void **state)
{
	struct sl_turn_node *other_node = make_node(other_path);
	struct sl_turn_job *other = make_job(other_path, SL_TURN_LEASED);
	struct caller waiter;

	(void)state;
	memset(other->cpu, 0, sizeof(other->cpu));
	atomic_store(&other->homes, 0);
	atomic_store(&job->mode, SL_TURN_LEASED);
	start(&waiter, 50);
	await_asked();
	snprintf(job->home[0], sizeof(job->home[0]), "%s", other_path);
	atomic_store(&job->homes, 1);
	atomic_fetch_add(&job->moved, 1);
	atomic_store(&other->credit, 30);
	assert_int_equal(call(SL_WRITE, 30, 30), TURN_LEASED);
	/* Its slice ends and it looks again, or the node wakes it at once. */
	wake(SL_TURN_CREDIT_BIT, INT32_MAX);
	UNTIL(atomic_load(&other->asked) && atomic_load(&other_node->ready[other->index / 64]));
	assert_int_equal(atomic_load(&job->asked), 0);
	atomic_fetch_add(&other->credit, 50);
	atomic_fetch_add(&other->grants, 1);
	syscall(SYS_futex, &other->grants, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	assert_int_equal(end(&waiter), TURN_LEASED);
	assert_int_equal(moved(other, SL_WRITE).bytes, 80);
	assert_int_equal(moved(job, SL_WRITE).bytes, 0);
	/* Back home, for the cases that follow. */
	snprintf(other->home[0], sizeof(other->home[0]), "%s", sock_path);
	atomic_store(&other->homes, 1);
	atomic_fetch_add(&other->moved, 1);
	atomic_store(&job->homes, 0);
	atomic_store(&job->mode, SL_TURN_OPEN);
	assert_int_equal(call(SL_WRITE, 1, 1), TURN_OPEN);
	assert_int_equal(moved(job, SL_WRITE).bytes, 1);
	munmap(other_node, sizeof(*other_node));
}

/* ---- which descriptors ---- */

static unsigned opened(int at, const char *path, int flags)
{
	turnfd_opened(50, at, path, flags);
	return turnfd_state(50);
}

static void open_says_which_files_are_ours_by_their_paths(void **state)
{
	char path[256], base[128];

	(void)state;
	snprintf(base, sizeof(base), "%s/root", dir);
	snprintf(path, sizeof(path), "%s/a/b", base);
	assert_int_equal(opened(AT_FDCWD, path, O_RDONLY), TURNFD_OURS);
	assert_int_equal(opened(AT_FDCWD, path, O_RDWR | O_DIRECT), TURNFD_SLOW);
	assert_int_equal(opened(AT_FDCWD, path, O_RDWR | O_DSYNC), TURNFD_SLOW);
	assert_int_equal(opened(AT_FDCWD, path, O_PATH), TURNFD_DIR);
	assert_int_equal(opened(AT_FDCWD, path, O_RDWR | O_TMPFILE), TURNFD_OURS);
	assert_int_equal(opened(AT_FDCWD, path, O_RDONLY | O_DIRECTORY), TURNFD_DIR);
	/* openat() in that directory */
	turnfd_opened(51, 50, "c", O_RDONLY);
	assert_int_equal(turnfd_state(51), TURNFD_OURS);
	turnfd_opened(51, 50, "../c", O_RDONLY);
	assert_int_equal(turnfd_state(51), TURNFD_UNKNOWN);
	turnfd_opened(51, 49, "c", O_RDONLY);
	assert_int_equal(turnfd_state(51), TURNFD_UNKNOWN);
	snprintf(path, sizeof(path), "%s/a/../../x", base);
	assert_int_equal(opened(AT_FDCWD, path, O_RDONLY), TURNFD_UNKNOWN);
	snprintf(path, sizeof(path), "%s2/a", base);
	assert_int_equal(opened(AT_FDCWD, path, O_RDONLY), TURNFD_UNKNOWN);
	assert_int_equal(opened(AT_FDCWD, base, O_RDONLY), TURNFD_UNKNOWN);
	/* relative ones, by the working directory */
	assert_int_equal(chdir("/"), 0);
	turnfd_chdir();
	assert_int_equal(opened(AT_FDCWD, "x", O_RDONLY), TURNFD_UNKNOWN);
	assert_int_equal(chdir(base), 0);
	turnfd_chdir();
	assert_int_equal(opened(AT_FDCWD, "x/y", O_RDONLY), TURNFD_OURS);
	assert_int_equal(opened(AT_FDCWD, "../x", O_RDONLY), TURNFD_UNKNOWN);
	turnfd_forget_range(3, 5000);
	turnfd_opened(file, AT_FDCWD, "file", O_RDWR);
	assert_int_equal(turnfd_state(50), TURNFD_UNKNOWN);
	assert_int_equal(chdir("/"), 0);
	turnfd_chdir();
}

static void a_descriptor_of_unknown_origin_is_looked_at(void **state)
{
	char path[128];
	int fd[2], high;

	(void)state;
	snprintf(path, sizeof(path), "%s/root/found", dir);
	fd[0] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(turnfd_find(fd[0]), TURNFD_OURS);
	high = fcntl(fd[0], F_DUPFD_CLOEXEC, 1020);
	assert_int_equal(turnfd_state(high), TURNFD_UNKNOWN);
	assert_int_equal(turnfd_find(high), TURNFD_OURS);
	assert_int_equal(turnfd_state(high), TURNFD_OURS);
	turnfd_forget(high);
	assert_int_equal(turnfd_state(high), TURNFD_UNKNOWN);
	assert_int_equal(turnfd_find(1 << 19), TURNFD_UNKNOWN); /* not open */
	assert_int_equal(turnfd_state(INT32_MAX), TURNFD_PASS);
	assert_int_equal(turnfd_state(-1), TURNFD_PASS);
	close(high);
	close(fd[0]);
	turnfd_forget(fd[0]);
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(turnfd_find(fd[0]), TURNFD_PASS);
	close(fd[0]);
	close(fd[1]);
	snprintf(path, sizeof(path), "%s/outside", dir);
	fd[0] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(turnfd_find(fd[0]), TURNFD_PASS);
	close(fd[0]);
	turnfd_forget(fd[0]);
	turnfd_forget(fd[1]);
}

/* ---- */

static int begin(void **state)
{
	char path[128];

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/sluice-turn-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(sock_path, sizeof(sock_path), "%s/node.sock", dir);
	snprintf(other_path, sizeof(other_path), "%s/node-1.sock", dir);
	snprintf(log_path, sizeof(log_path), "%s/log", dir);
	snprintf(path, sizeof(path), "%s/root", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	setenv("SLUICE_ROOT", path, 1);
	setenv("SLUICE_SOCKET", sock_path, 1);
	setenv("SLUICE_JOB_ID", "7", 1);
	setenv("SLUICE_JOB_CONF", "max=5M,weight=3", 1);
	setenv("SLUICE_TIMEOUT", "200ms", 1);
	setenv("SLUICE_LOG", log_path, 1);
	unsetenv("SLUICE_MODE");
	unsetenv("SLUICE_BYPASS");
	node = make_node(sock_path);
	job = make_job(sock_path, SL_TURN_OPEN);
	turnfd_start(sl_client_root());
	snprintf(path, sizeof(path), "%s/root/file", dir);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	turnfd_opened(file, AT_FDCWD, path, O_RDWR | O_CREAT);
	return 0;
}

static int finish(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command); /* NOLINT(cert-env33-c): a path of our own */
}

/* ---- operations: client/conn/ops.h ---- */

static uint64_t operations(enum sl_class which)
{
	uint64_t sum = atomic_load(&job->operations.locked[which]);

	for (unsigned i = 0; i < SL_TURN_CPUS; i++)
		sum += job->ops_cpu[i].calls[which];
	return sum;
}

static void *operator(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		ops_made((enum sl_class)(i % SL_CLASSES), 0);
	return arg;
}

static void operations_are_counted_by_class(void **state)
{
	uint64_t before[SL_CLASSES];
	pthread_t thread[THREADS];

	(void)state;
	call(SL_WRITE, 1, 1); /* the segment is found by the first call */
	for (int c = 0; c < SL_CLASSES; c++)
		before[c] = operations((enum sl_class)c);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, operator, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int c = 0; c < SL_CLASSES; c++)
		assert_int_equal(operations((enum sl_class)c) - before[c],
				 THREADS * ROUNDS / SL_CLASSES);
}

static void limit(enum sl_meter m, uint64_t rate)
{
	atomic_store(&job->operations.meter[m].tag, 0);
	atomic_store(&job->operations.meter[m].step, sl_meter_step(rate));
}

static void a_meter_keeps_its_rate(void **state)
{
	int64_t begin = now_ns(), took;

	(void)state;
	limit(SL_METER_OPS, 1000);
	atomic_store(&job->ops, SL_OPS_METERED);
	errno = ERANGE;
	for (int i = 0; i < 120; i++)
		ops_made(SL_LOOKUP, 0);
	assert_int_equal(errno, ERANGE);
	took = now_ns() - begin;
	assert_true(took >= 99000000); /* 120 ms, of which the burst is worth 20 */
	limit(SL_METER_OPS, 0);
	limit((enum sl_meter)SL_REMOVE, 100);
	begin = now_ns();
	for (int i = 0; i < 10000; i++)
		ops_made(SL_LOOKUP, 0); /* not of that class */
	for (int i = 0; i < 12; i++)
		ops_made(SL_REMOVE, 0);
	assert_true(now_ns() - begin >= 99000000);
	limit((enum sl_meter)SL_REMOVE, 0);
	assert_true(atomic_load(&job->operations.held_ns) > 100000000);
}

static void bytes_and_calls_of_a_direction_have_meters(void **state)
{
	int64_t begin = now_ns();

	(void)state;
	limit(SL_METER_WRITE, 1000000);
	atomic_store(&job->mode, SL_TURN_OPEN | SL_TURN_METERED);
	assert_int_equal(call(SL_WRITE, 120000, 120000), TURN_OPEN);
	assert_true(now_ns() - begin >= 99000000);
	begin = now_ns();
	assert_int_equal(call(SL_WRITE, 120000, -1), TURN_OPEN); /* what fails costs nothing */
	assert_int_equal(atomic_load(&job->operations.meter[SL_METER_READ].tag), 0);
	assert_int_equal(call(SL_READ, 120000, 120000), TURN_OPEN);
	assert_int_equal(atomic_load(&job->operations.meter[SL_METER_READ].tag), 0);
	limit(SL_METER_WRITE, 0);
	limit(SL_METER_IOPS, 100);
	begin = now_ns();
	for (int i = 0; i < 12; i++)
		call(i % 2 ? SL_READ : SL_WRITE, 1, 1);
	assert_true(now_ns() - begin >= 99000000);
	limit(SL_METER_IOPS, 0);
}

static void *one_operation(void *over)
{
	ops_made(SL_CREATE, 0);
	atomic_store((atomic_bool *)over, true);
	return NULL;
}

/* Of the job, and of a class that has a queue of its own. */
static void waits_for_credit(uint32_t ops, unsigned queue)
{
	struct sl_turn_credit *o = &job->operations.credit[queue];
	atomic_bool over = false;
	pthread_t thread;

	atomic_store(&o->granted, atomic_load(&o->used) + 1);
	atomic_store(&job->ops, ops);
	ops_made(SL_CREATE, 0); /* covered */
	assert_int_equal(pthread_create(&thread, NULL, one_operation, &over), 0);
	UNTIL(atomic_load(&o->asked) &&
	      atomic_load(&node->ready[job->index / 64]) & UINT64_C(1) << job->index % 64);
	assert_false(atomic_load(&over));
	atomic_fetch_add(&o->granted, 1);
	atomic_fetch_add(&o->grants, 1);
	syscall(SYS_futex, &o->grants, FUTEX_WAKE_BITSET, INT32_MAX, NULL, NULL,
		SL_OPS_BIT(atomic_load(&o->used) - 1));
	pthread_join(thread, NULL);
	assert_true(over);
	atomic_store(&o->asked, 0);
	atomic_store(&node->ready[job->index / 64], 0);
}

static void an_operation_waits_for_credit(void **state)
{
	(void)state;
	waits_for_credit(SL_OPS_LEASED, SL_METER_OPS);
	waits_for_credit(SL_OPS_LEASED | SL_OPS_OWN << SL_CREATE, SL_CREATE);
	/* A class without a queue of its own is not held by the others'. */
	waits_for_credit(SL_OPS_LEASED | SL_OPS_OWN << SL_LOOKUP, SL_METER_OPS);
}

static void nobody_waits_for_a_node_that_lets_go(void **state)
{
	struct sl_turn_credit *o = &job->operations.credit[SL_METER_OPS];
	atomic_bool over = false;
	pthread_t thread;

	(void)state;
	atomic_store(&o->granted, atomic_load(&o->used));
	atomic_store(&job->ops, SL_OPS_LEASED);
	assert_int_equal(pthread_create(&thread, NULL, one_operation, &over), 0);
	UNTIL(atomic_load(&o->asked));
	atomic_store(&job->ops, 0);
	atomic_fetch_add(&o->grants, 1);
	syscall(SYS_futex, &o->grants, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	pthread_join(thread, NULL);
	assert_true(over);
}

static void paths_are_in_the_layer_or_not(void **state)
{
	char path[256], here[256];

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	errno = ERANGE;
	snprintf(path, sizeof(path), "%s/root/a", dir);
	assert_true(turnfd_path(AT_FDCWD, path));
	snprintf(path, sizeof(path), "%s/root", dir);
	assert_true(turnfd_path(AT_FDCWD, path));
	snprintf(path, sizeof(path), "%s/rooted", dir);
	assert_false(turnfd_path(AT_FDCWD, path));
	snprintf(path, sizeof(path), "%s/root/a/../b", dir);
	assert_true(turnfd_path(AT_FDCWD, path));
	snprintf(path, sizeof(path), "%s/root/a/../../b", dir);
	assert_false(turnfd_path(AT_FDCWD, path));
	assert_false(turnfd_path(AT_FDCWD, "/etc/passwd"));
	snprintf(path, sizeof(path), "%s/root/down", dir);
	mkdir(path, 0700);
	turnfd_chdir();
	assert_int_equal(chdir(path), 0);
	turnfd_chdir();
	assert_true(turnfd_path(AT_FDCWD, "x"));
	assert_true(turnfd_path(AT_FDCWD, "../x"));
	assert_false(turnfd_path(AT_FDCWD, "../../x"));
	assert_int_equal(chdir(dir), 0);
	turnfd_chdir();
	assert_true(turnfd_path(AT_FDCWD, "root"));
	assert_true(turnfd_path(AT_FDCWD, "root/x"));
	assert_true(turnfd_path(AT_FDCWD, ".//root/down/../x"));
	assert_false(turnfd_path(AT_FDCWD, "root/../x"));
	assert_false(turnfd_path(AT_FDCWD, "rooted"));
	assert_false(turnfd_path(AT_FDCWD, "x"));
	assert_false(turnfd_path(AT_FDCWD, "../root/x"));
	assert_int_equal(chdir("/"), 0);
	turnfd_chdir();
	snprintf(path, sizeof(path), "%s/root/a", dir);
	assert_true(turnfd_path(AT_FDCWD, path + 1));
	assert_false(turnfd_path(AT_FDCWD, "etc/passwd"));
	snprintf(path, sizeof(path), "%s/root/down", dir);
	assert_int_equal(chdir(here), 0);
	turnfd_chdir();
	assert_false(turnfd_path(AT_FDCWD, "x"));
	assert_false(turnfd_path(AT_FDCWD, "../x"));
	assert_true(turnfd_within(file));
	assert_true(turnfd_path(file, ""));
	assert_false(turnfd_path(0, "x"));
	assert_int_equal(errno, ERANGE);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup(name, setup)
		CASE(every_call_of_threads_and_handlers_is_counted_once),
		CASE(a_call_that_need_not_ask_is_counted_as_what_it_moved),
		CASE(operations_are_counted_by_class),
		CASE(a_meter_keeps_its_rate),
		CASE(bytes_and_calls_of_a_direction_have_meters),
		CASE(an_operation_waits_for_credit),
		CASE(nobody_waits_for_a_node_that_lets_go),
		CASE(paths_are_in_the_layer_or_not),
		CASE(credit_is_debited_and_what_did_not_move_comes_back),
		CASE(a_call_without_credit_asks_until_the_debt_is_paid),
		CASE(a_waiter_that_goes_wakes_the_next),
		CASE(a_mode_that_ends_while_calls_wait_lets_them_go),
		CASE(a_call_that_must_not_wait_goes_into_debt),
		CASE(vectors_are_added_up_and_nonsense_is_left_to_the_kernel),
		CASE(a_read_asks_for_no_more_than_the_file_has),
		CASE(a_buffered_write_is_free_within_the_allowance_and_a_flush_pays),
		CASE(a_writer_above_the_allowance_waits_for_credit),
		CASE(what_is_dirty_when_a_file_is_closed_is_left_to_the_node),
		CASE(a_cached_read_is_free),
		CASE(a_placed_call_says_where_and_reports),
		CASE(a_file_opened_for_synchronous_io_asks_with_its_place),
		CASE(a_slot_that_the_node_has_taken_is_not_touched_any_more),
		CASE(a_silent_node_is_waited_for_once_and_used_again_when_it_is_back),
		CASE(a_node_that_lives_is_waited_for),
		CASE(a_call_whose_number_was_closed_meanwhile_goes_to_no_other_file),
		CASE(a_thread_that_waits_can_be_cancelled),
		CASE(a_slot_left_by_longjmp_is_given_back_by_the_next_call),
		CASE(processes_enter_themselves_and_their_phases),
		CASE(a_segment_that_is_gone_lets_calls_pass_until_it_is_back),
		CASE(a_new_segment_is_found),
		CASE(a_job_that_the_node_does_not_know_is_registered),
		CASE(a_job_that_moves_takes_its_turns_at_its_home),
		CASE(a_call_that_waits_follows_its_job),
		CASE(open_says_which_files_are_ours_by_their_paths),
		CASE(a_descriptor_of_unknown_origin_is_looked_at),
	};

	return cmocka_run_group_tests(tests, begin, finish);
}
