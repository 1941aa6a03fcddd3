/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that means no good: what it sends to a node, and what it leaves in shared memory, is
 * wrong in every way that the protocol allows one to be wrong.
 *
 *	live-hostile KIND SOCKET FILE
 *
 *	random      bytes, and frames with bytes changed
 *	truncated   a HELLO cut off everywhere, then silence or the end
 *	oversized   lengths that are not, or that nobody may ask for
 *	replayed    frames twice, out of order, or the node's own
 *	flood       questions whose answers nobody reads, for as long as the node takes them
 *	descriptors of what is no file, too many, none
 *	garbage     as a client: slots, bits and bells at random, while the node works on them;
 *	            FILE is a file of its own, so that some requests get through
 *	turns       the segment of its job, and the node's page: slots, credit, names, processes and
 *	            bits at random, while the node looks at them
 *	hog         calls with a place, as many as there are slots, each of which takes 90 ms
 *	repost      the same, each of which is another one as soon as it may go
 *
 * Exits with 0 when the node has hung up where it had to, 1 where it has not.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"

#include "wire/proto.h"
#include "wire/shm.h"
#include "wire/turn.h"

static const char *path, *file;
static uint64_t seed = 1;

/* xorshift64* (Vigna, 2016): the same in every run */
static uint64_t any(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * UINT64_C(2685821657736338717);
}

static void scramble(void *at, size_t length)
{
	for (unsigned char *c = at; length--; c++)
		*c = (unsigned char)(any() >> 56);
}

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "live-hostile: %s\n", what);
	exit(1);
}

/* ---- talking ---- */

static int dial(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	need(sock >= 0 && !connect(sock, (struct sockaddr *)&addr, sizeof(addr)), "no node");
	return sock;
}

static void say(int sock, const void *bytes, size_t length)
{
	(void)!send(sock, bytes, length, MSG_NOSIGNAL); /* it may have hung up: good */
}

static void say_frame(int sock, const struct sl_frame *f, const void *payload, size_t length)
{
	unsigned char head[SL_FRAME_BYTES];

	sl_frame_encode(f, head);
	say(sock, head, sizeof(head));
	if (length)
		say(sock, payload, length);
}

/* The node has hung up on us, or does so within five seconds; what it said first is read away. */
static bool hung_up(int sock)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	char bytes[4096];

	while (poll(&p, 1, 5000) == 1) {
		ssize_t n = recv(sock, bytes, sizeof(bytes), 0);

		if (n <= 0) {
			close(sock);
			return true;
		}
	}
	close(sock);
	return false;
}

static size_t hello(unsigned char *out, uint32_t version)
{
	struct sl_frame f = { .type = SL_HELLO, .length = SL_HELLO_BYTES, .tag = 1 };
	struct sl_hello h = {
		.version = version, .caps = SL_CAP_SHM, .pid = (uint32_t)getpid(), .job = "hostile"
	};

	sl_frame_encode(&f, out);
	sl_hello_encode(&h, out + SL_FRAME_BYTES);
	return SL_FRAME_BYTES + SL_HELLO_BYTES;
}

struct member {
	int sock;
	struct sl_welcome w;
	struct sl_segment *segment;
	struct sl_bells *bells;
};

/* As any client does it. */
static struct member join(void)
{
	unsigned char out[SL_FRAME_BYTES + SL_HELLO_BYTES], in[SL_FRAME_BYTES + SL_WELCOME_BYTES];
	struct iovec iov = { in, sizeof(in) };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control.space) };
	struct member me = { .sock = dial() };
	int fds[2];

	say(me.sock, out, hello(out, SL_PROTO_VERSION));
	need(recvmsg(me.sock, &m, MSG_WAITALL) == sizeof(in), "no welcome");
	need(CMSG_FIRSTHDR(&m) != NULL, "no memory in the welcome");
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fds));
	need(!sl_welcome_decode(in + SL_FRAME_BYTES, SL_WELCOME_BYTES, &me.w), "bad welcome");
	me.segment = mmap(NULL, SL_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	me.bells =
		mmap(NULL, sizeof(struct sl_bells), PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	need(me.segment != MAP_FAILED && me.bells != MAP_FAILED, "mmap");
	need(ftruncate(fds[0], 4096) && ftruncate(fds[1], 0), "the memory could be cut off");
	close(fds[0]);
	close(fds[1]);
	return me;
}

/* OPEN with count descriptors; the status of the answer, or -1 if there is none. */
static int open_with(int sock, const int *fds, unsigned count)
{
	struct sl_frame f = { .type = SL_OPEN, .tag = 9 };
	unsigned char head[SL_FRAME_BYTES];
	struct iovec iov = { head, sizeof(head) };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(64 * sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct stat st;

	if (count && fstat(fds[0], &st) == 0) {
		f.file = st.st_dev;
		f.offset = st.st_ino;
		f.count = (uint64_t)fcntl(fds[0], F_GETFL);
	}
	sl_frame_encode(&f, head);
	if (count) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	if (sendmsg(sock, &m, MSG_NOSIGNAL) != sizeof(head) ||
	    recv(sock, head, sizeof(head), MSG_WAITALL) != sizeof(head) ||
	    sl_frame_decode(head, &f))
		return -1;
	return f.status;
}

/* ---- the kinds ---- */

static void random_bytes(void)
{
	unsigned char bytes[8192];

	for (int i = 0; i < 100; i++) {
		int sock = dial();

		scramble(bytes, sizeof(bytes));
		say(sock, bytes, 64 + any() % (sizeof(bytes) - 64));
		need(hung_up(sock), "random bytes were taken");
	}
	for (int i = 0; i < 400; i++) {
		size_t length = hello(bytes, SL_PROTO_VERSION);
		int sock = dial();

		for (uint64_t k = 1 + any() % 4; k; k--)
			bytes[any() % length] = (unsigned char)any();
		say(sock, bytes, length);
		shutdown(sock, SHUT_WR);
		need(hung_up(sock), "the end of a peer was not noticed");
	}
}

static void truncated(void)
{
	unsigned char bytes[SL_FRAME_BYTES + SL_HELLO_BYTES];
	size_t length = hello(bytes, SL_PROTO_VERSION);
	int silent[64];

	for (unsigned i = 0; i < 64; i++) {
		silent[i] = dial();
		say(silent[i], bytes, any() % length);
	}
	for (size_t i = 0; i < length; i++) {
		int sock = dial();

		say(sock, bytes, i);
		shutdown(sock, SHUT_WR);
		need(hung_up(sock), "half a frame keeps the node waiting for a peer that is gone");
	}
	for (unsigned i = 0; i < 64; i++)
		close(silent[i]);
}

static void oversized(void)
{
	static const uint32_t lengths[] = {
		8192,	    65536,	SL_MAX_PAYLOAD - 1, SL_MAX_PAYLOAD, SL_MAX_PAYLOAD + 1,
		0x7fffffff, 0x80000000, 0xffffffff
	};
	unsigned char head[SL_FRAME_BYTES];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (uint16_t type = 0; type <= SL_FRAME_TYPES; type++) {
			struct sl_frame f = { .type = type,
					      .length = lengths[i],
					      .count = lengths[i] };
			int sock = dial();

			sl_frame_encode(&f, head);
			say(sock, head, sizeof(head));
			need(hung_up(sock), "a frame that is too long was waited for");
		}
}

static void replayed(void)
{
	static const uint16_t types[] = { SL_OPEN,  SL_CLOSE, SL_PREAD,	 SL_PWRITE,
					  SL_FSYNC, SL_REPLY, SL_WELCOME };
	unsigned char bytes[SL_FRAME_BYTES + SL_HELLO_BYTES], welcome[SL_WELCOME_BYTES] = { 0 };
	size_t length = hello(bytes, SL_PROTO_VERSION);
	struct member me = join();

	say(me.sock, bytes, length);
	need(hung_up(me.sock), "a second HELLO was taken");
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			struct sl_frame f = { .type = types[i], .count = 1, .file = 1 };
			size_t payload = 0;

			if (twice && f.type <= SL_CLOSE && f.type >= SL_OPEN)
				continue; /* a client may */
			me.sock = twice ? join().sock : dial();
			payload = f.type == SL_WELCOME ? SL_WELCOME_BYTES : f.type == SL_PWRITE;
			f.length = (uint32_t)payload;
			f.count = f.type == SL_PREAD || f.type == SL_PWRITE;
			say_frame(me.sock, &f, welcome, payload);
			need(hung_up(me.sock), "a frame was taken that is not a client's to send");
		}
	me.sock = dial();
	length = hello(bytes, 77);
	say(me.sock, bytes, length);
	need(hung_up(me.sock), "a version that is not spoken was taken");
	/* Closing what is not open, again and again, is allowed and does nothing. */
	me = join();
	for (int i = 0; i < 1000; i++)
		say_frame(me.sock,
			  &(struct sl_frame){ .type = SL_CLOSE, .file = i % 3 ? any() : 0 }, NULL,
			  0);
	need(open_with(me.sock, NULL, 0) == EBADF, "a client was lost for closing nothing");
	close(me.sock);
}

static void flood(void)
{
	struct sl_frame f = { .type = SL_CONTROL, .length = 6 };
	unsigned char question[SL_FRAME_BYTES + 6];
	int sock = dial(), stuck = 0;
	uint64_t sent = 0;

	sl_frame_encode(&f, question);
	memcpy(question + SL_FRAME_BYTES, "status", 6);
	fcntl(sock, F_SETFL, O_NONBLOCK);
	/* Until the node has not taken one for half a second, or 64 MiB. */
	while (sent < (64 << 20) / sizeof(question) && stuck < 50) {
		if (send(sock, question, sizeof(question), MSG_NOSIGNAL) == sizeof(question)) {
			sent++;
			stuck = 0;
		} else if (errno == EPIPE || errno == ECONNRESET) {
			break;
		} else {
			nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
			stuck++;
		}
	}
	printf("%llu questions\n", (unsigned long long)sent);
	close(sock);
}

static void descriptors(void)
{
	int pipes[2], fds[64], devnull = open("/dev/null", O_RDWR), dir = open("/", O_RDONLY);
	int placeholder = open(file, O_RDWR | O_CREAT, 0600);
	int only_path = open(file, O_PATH);
	struct member me = join();

	need(!pipe(pipes) && placeholder >= 0, "pipe");
	need(open_with(me.sock, NULL, 0) == EBADF, "OPEN without a descriptor");
	need(open_with(me.sock, pipes, 1) == EINVAL, "OPEN of a pipe");
	need(open_with(me.sock, &devnull, 1) == EINVAL, "OPEN of a device");
	need(open_with(me.sock, &dir, 1) == EINVAL, "OPEN of a directory");
	need(open_with(me.sock, &only_path, 1) == EINVAL, "OPEN of a path");
	need(open_with(me.sock, &me.sock, 1) == EINVAL, "OPEN of the socket");
	need(open_with(me.sock, &placeholder, 1) == 0, "OPEN of a file");
	for (int i = 0; i < 64; i++)
		fds[i] = placeholder;
	for (int i = 0; i < 100; i++)
		need(open_with(me.sock, fds, 64) >= 0, "OPEN with many");
	close(me.sock);
}

static void bell_all(const struct member *me)
{
	for (uint32_t w = 0; w < me->w.workers; w++) {
		atomic_fetch_add(&me->bells->bell[w].rings, 1);
		syscall(SYS_futex, &me->bells->bell[w].rings, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
}

/* A slot that is wild in some fields and sensible in the others, so that every check is met. */
static void wild_slot(struct sl_slot_shm *s)
{
	static const uint64_t offsets[] = {
		0, 4096, INT64_MAX, INT64_MAX - 1, UINT64_MAX, UINT64_C(1) << 62, INT64_MAX - 4096
	};
	static const uint64_t lengths[] = {
		0, 1, 4096, SL_SHM_SLOT_BYTES, SL_SHM_SLOT_BYTES + 1, UINT32_MAX, UINT64_MAX
	};
	static const uint64_t files[] = { 0, 1, 2, 65535, 65536, 65537, UINT64_MAX };

	s->op = any() % 4 ? (uint32_t)(any() & 1) : (uint32_t)any();
	s->flags = any() % 4 ? (uint32_t)any() & SL_SLOT_APPEND : (uint32_t)any();
	s->leader = any() % 2 ? (uint32_t)any() % SL_SHM_SLOTS : (uint32_t)any();
	s->file = any() % 2 ? 1 : files[any() % 7];
	s->offset = any() % 2 ? any() % (1 << 20) : offsets[any() % 7];
	s->length = any() % 2 ? 1 + any() % SL_SHM_SLOT_BYTES : lengths[any() % 7];
	s->result = (int64_t)any();
	atomic_store(&s->waiting, (uint32_t)any());
	atomic_store(&s->state, any() % 2 ? SL_SLOT_POSTED : (uint32_t)any());
}

static void wild_bells(const struct member *me)
{
	for (uint32_t w = 0; w < SL_SHM_WORKERS; w++) {
		struct sl_bell *bell = &me->bells->bell[w];
		uint64_t bits = any() % 3 ? UINT64_MAX : any();

		for (int i = 0; i < SL_SHM_CLIENTS / 64; i++)
			atomic_fetch_or(&bell->ready[i], bits);
		if (any() % 64 == 0) /* others lose their bells now and then */
			scramble(bell, sizeof(*bell));
		atomic_store(&me->segment->posted[w], any() % 2 ? UINT64_MAX : any());
	}
}

static void garbage(void)
{
	time_t end = time(NULL) + 2;
	uint64_t rounds = 0;

	while (time(NULL) < end) {
		struct member me = join();
		int fd = open(file, O_RDWR | O_CREAT, 0600);

		need(fd >= 0 && open_with(me.sock, &fd, 1) == 0, "no file");
		for (int i = 0; i < 200; i++) {
			for (unsigned s = 0; s < SL_SHM_SLOTS; s++)
				wild_slot(&me.segment->slot[s]);
			if (i % 50 == 49)
				scramble(me.segment, sizeof(*me.segment));
			wild_bells(&me);
			bell_all(&me);
			if (i % 10 == 0) /* the file goes while its requests are inside */
				say_frame(me.sock,
					  &(struct sl_frame){ .type = SL_CLOSE, .file = 1 }, NULL,
					  0),
					need(open_with(me.sock, &fd, 1) == 0, "no file again");
			rounds++;
		}
		/* Gone in the middle of it. */
		close(me.sock);
		close(fd);
		munmap(me.segment, SL_SEGMENT_BYTES);
		munmap(me.bells, sizeof(struct sl_bells));
	}
	printf("%llu rounds\n", (unsigned long long)rounds);
}

/* ---- turns ---- */

static void *map_beside(const char *suffix, size_t bytes)
{
	char name[PATH_MAX];
	int fd;
	void *at;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	fd = open(name, O_RDWR | O_CLOEXEC);
	at = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(at != MAP_FAILED, "no segment");
	close(fd);
	return at;
}

static void wild_turn_slot(struct sl_turn_slot *s)
{
	s->tid = any() % 2 ? (uint32_t)getpid() : (uint32_t)any();
	s->op = (uint32_t)any();
	s->again = (uint32_t)any();
	s->file = any();
	s->offset = any() % 2 ? any() % (1 << 20) : any();
	s->length = any() % 2 ? any() % (1 << 20) : any();
	s->moved = (int64_t)any();
	s->ended = (int64_t)any();
	atomic_store(&s->state, any() % 4 ? (uint32_t)(any() % 5) : (uint32_t)any());
}

/* FILE is the name of the job. */
static void turns(void)
{
	struct sl_turn_node *page = map_beside(".turn", sizeof(*page));
	char suffix[40];
	struct sl_turn_job *job;
	time_t end = time(NULL) + 2;
	uint64_t rounds = 0;

	snprintf(suffix, sizeof(suffix), ".jobs/%016llx", (unsigned long long)sl_job_number(file));
	job = map_beside(suffix, sizeof(*job));
	for (; time(NULL) < end; rounds++) {
		for (unsigned i = 0; i < SL_TURN_SLOTS; i++)
			wild_turn_slot(&job->slot[i]);
		atomic_store(&job->credit, any() % 2 ? (int64_t)any() : -(int64_t)(any() % 100000));
		atomic_store(&job->asked, (uint32_t)any());
		atomic_store(&job->asked_op, (uint32_t)any());
		if (rounds % 16 == 0)
			scramble(job, sizeof(*job));
		if (rounds % 64 == 0)
			atomic_store(&page->alive_ns, (int64_t)any());
		for (unsigned i = 0; i < SL_TURN_JOBS / 64; i++)
			atomic_fetch_or(&page->ready[i], any());
		atomic_store(&page->sleeping, 1);
		atomic_fetch_add(&page->rings, 1);
		syscall(SYS_futex, &page->rings, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	printf("%llu rounds\n", (unsigned long long)rounds);
}

/* FILE is the name of the job. */
static void hog(void)
{
	struct sl_turn_node *page = map_beside(".turn", sizeof(*page));
	struct timespec pause = { 0, 1000000 };
	unsigned age[SL_TURN_SLOTS] = { 0 };
	char suffix[40];
	struct sl_turn_job *job;
	time_t end = time(NULL) + 4;
	uint64_t calls = 0;

	snprintf(suffix, sizeof(suffix), ".jobs/%016llx", (unsigned long long)sl_job_number(file));
	job = map_beside(suffix, sizeof(*job));
	for (; time(NULL) < end; nanosleep(&pause, NULL)) {
		for (unsigned i = 0; i < SL_TURN_SLOTS; i++) {
			struct sl_turn_slot *s = &job->slot[i];
			uint32_t state = atomic_load(&s->state);

			age[i] = state == SL_TURN_GO ? age[i] + 1 : 0;
			if (state == SL_TURN_FREE) {
				s->tid = (uint32_t)getpid();
				s->again++;
				s->file = i + 1;
				s->length = 1;
				atomic_store(&s->state, SL_TURN_POSTED);
			} else if (age[i] > 80) {
				atomic_store(&s->state, SL_TURN_DONE);
				calls++;
			}
		}
		atomic_fetch_or(&page->ready[job->index / 64], UINT64_C(1) << job->index % 64);
		atomic_fetch_add(&page->rings, 1);
		syscall(SYS_futex, &page->rings, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	printf("%llu calls\n", (unsigned long long)calls);
}

/* FILE is the name of the job. */
static void repost(void)
{
	struct sl_turn_node *page = map_beside(".turn", sizeof(*page));
	char suffix[40];
	struct sl_turn_job *job;
	time_t end = time(NULL) + 2;
	uint64_t calls = 0, looks = 0;

	snprintf(suffix, sizeof(suffix), ".jobs/%016llx", (unsigned long long)sl_job_number(file));
	job = map_beside(suffix, sizeof(*job));
	while (looks++ % 4096 || time(NULL) < end) {
		struct sl_turn_slot *s = &job->slot[looks % SL_TURN_SLOTS];

		if (atomic_load(&s->state) == SL_TURN_POSTED)
			continue;
		s->tid = (uint32_t)getpid();
		s->again++;
		s->file = 1;
		s->length = 1;
		atomic_store(&s->state, SL_TURN_POSTED);
		calls++;
		atomic_fetch_or(&page->ready[job->index / 64], UINT64_C(1) << job->index % 64);
		if (atomic_exchange(&page->sleeping, 0)) {
			atomic_fetch_add(&page->rings, 1);
			syscall(SYS_futex, &page->rings, FUTEX_WAKE, 1, NULL, NULL, 0);
		}
	}
	printf("%llu calls\n", (unsigned long long)calls);
}

int main(int argc, char **argv)
{
	static const struct program_case kinds[] = {
		{ "random", random_bytes },
		{ "truncated", truncated },
		{ "oversized", oversized },
		{ "replayed", replayed },
		{ "flood", flood },
		{ "descriptors", descriptors },
		{ "garbage", garbage },
		{ "turns", turns },
		{ "hog", hog },
		{ "repost", repost },
	};

	if (argc != 4)
		return 2;
	path = argv[2];
	file = argv[3];
	return RUN_CASE(argv[1], kinds);
}
