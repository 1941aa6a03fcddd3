/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small file server with libsluice in front of its file: clients send datagrams to a
 * Unix-domain socket, the library decides whose request goes next and merges neighbours.
 *
 *	example-server [FILE [SOCKET]]          default: example.data, example.sock
 *
 *	a client sends                          and gets "ERR WHY\n", or
 *	read JOB OFFSET LENGTH\n                OK BYTES\n and the bytes
 *	write JOB OFFSET\n and the bytes        OK BYTES\n
 *	limit JOB BYTES_PER_SECOND\n            OK 0\n; from now on, 0: no limit
 *
 * Answers come in the order of completion: a client that wants several requests on their way
 * uses a socket for each. The server ends with its standard input (Ctrl-D), after it has
 * answered all that was asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <sluice.h>

#define MAX_LINE 128
#define MAX_DATA 65536

static struct sl_service *service;
static int file_fd, socket_fd;

/* A message of a client; the `user` of its request points back to it. */
struct call {
	struct sl_request request;
	struct sockaddr_un client;
	socklen_t client_size;
	char *data; /* behind the line */
	char message[MAX_LINE + MAX_DATA];
};

static void answer(struct call *c, int64_t result)
{
	char line[MAX_LINE];
	struct iovec iov[2] = { { .iov_base = line }, { .iov_base = c->data } };
	struct msghdr m = { &c->client, c->client_size, iov, 2, NULL, 0, 0 };

	if (result < 0)
		snprintf(line, sizeof(line), "ERR %s\n", strerror((int)-result));
	else
		snprintf(line, sizeof(line), "OK %" PRId64 "\n", result);
	iov[0].iov_len = strlen(line);
	if (result > 0 && c->request.op == SL_READ)
		iov[1].iov_len = (size_t)result;
	sendmsg(socket_fd, &m, MSG_DONTWAIT); /* who does not listen holds up nobody */
	free(c);
}

/* On a thread of the library. The requests of a batch are contiguous: one call does them all. */
static void run(void *user, const struct sl_batch *b)
{
	struct iovec iov[64]; /* batch_requests, see main() */
	ssize_t moved;
	int n = 0;

	(void)user;
	for (struct sl_request *r = b->first; r; r = r->next) {
		iov[n].iov_base = ((struct call *)r->user)->data;
		iov[n++].iov_len = r->length;
	}
	moved = b->op == SL_READ ? preadv(file_fd, iov, n, (off_t)b->offset)
				 : pwritev(file_fd, iov, n, (off_t)b->offset);
	sl_service_done(service, b, moved < 0 ? -errno : moved);
}

/* Called by sl_service_done(): the request is ours again, with its own part of the result. */
static void complete(void *user, struct sl_request *r, int64_t result)
{
	(void)user;
	answer(r->user, result);
}

/* Under the service's lock, so it must not block. A job that is new is added. */
static int set_job(struct sl_sched *s, sl_time now, void *arg)
{
	const uint64_t *a = arg; /* job, bytes per second */
	struct sl_job_conf conf = { .max_bps = a[1] };
	int rc = sl_job_set(s, a[0], &conf, now);

	return rc == -ENOENT ? sl_job_add(s, a[0], &conf, now) : rc;
}

/*
 * 0: the request is the library's, and may be answered by now. Else it is still ours, to be
 * answered with an error, or 1: with success.
 */
static int submit(struct call *c, ssize_t size)
{
	struct sl_request *r = &c->request;
	char verb[8];
	uint64_t a[3];
	int n = sscanf(c->message, "%7s %" SCNu64 " %" SCNu64 " %" SCNu64, verb, &a[0], &a[1],
		       &a[2]);
	int rc;

	c->data = memchr(c->message, '\n', MAX_LINE);
	if (n < 3 || !c->data++)
		return -EINVAL;
	if (!strcmp(verb, "limit"))
		return (rc = sl_service_with(service, set_job, a)) ? rc : 1;
	if (!strcmp(verb, "write"))
		a[2] = (uint64_t)(c->message + size - c->data);
	else if (strcmp(verb, "read") != 0 || n < 4 || a[2] > MAX_DATA)
		return -EINVAL;
	r->job = a[0];
	r->offset = a[1];
	r->length = a[2];
	r->op = *verb == 'w' ? SL_WRITE : SL_READ;
	r->user = c;
	rc = sl_service_submit(service, r);
	a[1] = 0;
	if (rc == -ENOENT && (rc = sl_service_with(service, set_job, a)) == 0)
		rc = sl_service_submit(service, r);
	return rc;
}

static void receive(void)
{
	struct call *c = calloc(1, sizeof(*c));
	ssize_t size;
	int rc;

	if (!c)
		return;
	c->client_size = sizeof(c->client);
	size = recvfrom(socket_fd, c->message, sizeof(c->message) - 1, 0, &c->client,
			&c->client_size);
	rc = size < 0 ? -errno : submit(c, size);
	if (rc)
		answer(c, rc < 0 ? rc : 0);
}

int main(int argc, char **argv)
{
	struct sl_service_config config = {
		.sched.order = "to-agg,batch_requests=64",
		.run = run,
		.complete = complete,
		.threads = 2,
	};
	const char *file = argc > 1 ? argv[1] : "example.data";
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct pollfd in[2] = { { .fd = 0, .events = POLLIN }, { .events = POLLIN } };
	char err[200], line[MAX_LINE];

	if (argc > 3 || (argc > 1 && argv[1][0] == '-')) {
		int asked = argc == 2 && !strcmp(argv[1], "--help");

		fprintf(asked ? stdout : stderr, "usage: %s [FILE [SOCKET]]\n", argv[0]);
		return asked ? 0 : 2;
	}
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", argc > 2 ? argv[2] : "example.sock");
	unlink(addr.sun_path);
	file_fd = open(file, O_RDWR | O_CREAT, 0666);
	in[1].fd = socket_fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (file_fd < 0 || bind(socket_fd, (struct sockaddr *)&addr, sizeof(addr))) {
		perror(file_fd < 0 ? file : addr.sun_path);
		return 1;
	}
	if (sl_service_start(&service, &config, err, sizeof(err))) {
		fprintf(stderr, "%s: %s\n", argv[0], err);
		return 1;
	}
	while (poll(in, 2, -1) > 0) {
		if (in[1].revents)
			receive();
		else if (read(0, line, sizeof(line)) <= 0)
			break;
	}
	sl_service_stop(service); /* when it returns, all answers are out */
	unlink(addr.sun_path);
	return 0;
}
