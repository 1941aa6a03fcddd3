/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two controllers, of which one leads and the other one waits in standby.
 *
 * Both listen, and each I/O node is connected to both. Each controller periodically asks the other,
 * by the control line "peer", for its term, whether it leads, and the policies in force. If the
 * connection to the leader ends, its process has died, and the other one leads at once. If the
 * leader does not answer for SLICES times SLICE_MS, it is stopped or its machine is gone. A
 * controller that begins to lead takes a term above all that it has seen and sends it to all nodes,
 * which report to it and obey the highest term from then on (sluiced/ionode/link.c).
 *
 * A controller that was stopped and continues believes that it leads. Its orders are ignored, and
 * the first node that gets one, or the other controller, tells it the higher term. Then it is in
 * standby.
 *
 * If the network between the two is cut, both lead. Each node obeys the higher term that it can
 * reach. The bound on the sum of rates does not hold then, as with nodes that fail open.
 *
 * The wait is counted in slices and not read from a clock, so time in which the waiting controller
 * itself was stopped does not count.
 *
 *	0.0 s   A leads, term 7; B asks every .25 s
 *	5.1 s   A is stopped
 *	6.2 s   B has had no answer for 5 slices of .2 s: it leads, term 8, and says so to all nodes
 *	6.2 s   nodes report to B; when all have, it divides the capacity
 *	9.0 s   A is continued; its next order is answered "term 8"; A is in standby
 */
#include "sluiced/controller/standby.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/dial.h"
#include "wire/proto.h"

#define SLICE_MS 200
#define SLICES	 5
#define ASK_MS	 250

/* ---- the answer ---- */

int standby_answer(char *out, size_t size, const struct standby_news *own)
{
	return snprintf(out, size, "leads=%d term=%" PRIu64 " nodes=%u\n%s", own->leads, own->term,
			own->nodes, own->policy);
}

static int parse(const char *text, struct standby_news *news)
{
	const char *policy = strchr(text, '\n');
	int leads;

	if (!policy || sscanf(text, "leads=%d term=%" SCNu64 " nodes=%u", &leads, &news->term,
			      &news->nodes) != 3)
		return -EPROTO;
	news->leads = leads;
	snprintf(news->policy, sizeof(news->policy), "%s", policy + 1);
	return 0;
}

/* ---- asking ---- */

static void tell(struct standby *s, const struct standby_news *news)
{
	uint64_t one = 1;

	pthread_mutex_lock(&s->lock);
	s->news = *news;
	pthread_mutex_unlock(&s->lock);
	if (write(s->event_fd, &one, sizeof(one)) < 0)
		return; /* it is full: it will be looked at */
}

/* Wait for a time, or until it is to stop: true then. */
static bool pause_ms(const struct standby *s, int ms)
{
	struct pollfd p = { .fd = s->stop_fd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

/* So many bytes, within the slices that are left. 0 or -errno. */
static int get(const struct standby *s, int sock, void *bytes, size_t length, int *slices)
{
	char *at = bytes;

	while (length) {
		struct pollfd p[2] = { { .fd = sock, .events = POLLIN },
				       { .fd = s->stop_fd, .events = POLLIN } };
		ssize_t n;

		if (poll(p, 2, SLICE_MS) == 0 && --*slices <= 0)
			return -ETIMEDOUT;
		if (p[1].revents)
			return -ECANCELED;
		if (!p[0].revents)
			continue;
		n = recv(sock, at, length, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return -ECONNRESET;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

static int ask(const struct standby *s, struct dial *d, struct standby_news *news)
{
	static const char line[] = "peer";
	struct sl_frame f;
	unsigned char head[SL_SEALED_BYTES];
	char text[STANDBY_POLICY + 100];
	int slices = SLICES, rc = dial_send(d, line, sizeof(line) - 1, 2);

	if (rc)
		return rc;
	do { /* the greeting has been answered, too */
		if ((rc = get(s, d->sock, head, dial_head(d), &slices)) ||
		    (rc = sl_frame_decode(head, &f)))
			return rc;
		if (f.length >= sizeof(text))
			return -EMSGSIZE;
		if ((rc = get(s, d->sock, text, f.length, &slices)))
			return rc;
		if (!dial_genuine(d, head, text, f.length))
			return -EBADMSG;
		text[f.length] = 0;
	} while (f.tag != 2);
	return f.status ? -EPROTO : parse(text, news);
}

static void *watch_main(void *arg)
{
	struct standby *s = arg;
	struct standby_news news = { 0 };
	char why[DIAL_TEXT];
	struct dial d;
	int misses = 0;

	for (;;) {
		int rc = dial_controller(&d, s->peer, &s->proof, "@controller", why);

		while (!rc && !(rc = ask(s, &d, &news))) {
			news.met = true;
			news.lost = false;
			misses = 0;
			tell(s, &news);
			if (pause_ms(s, ASK_MS))
				break;
		}
		if (d.sock >= 0)
			close(d.sock);
		/* Its process has ended; or it was given all the time; or it is not there. */
		misses++;
		if (!news.lost && (rc == -ECONNRESET || rc == -EPIPE || rc == -ETIMEDOUT ||
				   rc == -ECONNREFUSED || rc == -ENOENT || misses > SLICES)) {
			news.lost = true;
			news.leads = false;
			tell(s, &news);
		}
		if (pause_ms(s, SLICE_MS))
			return NULL;
	}
}

/* ---- life ---- */

int standby_start(struct standby *s)
{
	int rc;

	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->event_fd < 0 || s->stop_fd < 0)
		return -errno;
	pthread_mutex_init(&s->lock, NULL);
	rc = pthread_create(&s->thread, NULL, watch_main, s);
	s->started = !rc;
	return -rc;
}

void standby_stop(struct standby *s)
{
	uint64_t one = 1;

	if (!s->started)
		return;
	if (write(s->stop_fd, &one, sizeof(one)) > 0)
		pthread_join(s->thread, NULL);
	close(s->stop_fd);
	close(s->event_fd);
	s->started = false;
}

void standby_look(struct standby *s, struct standby_news *out)
{
	uint64_t count;

	while (read(s->event_fd, &count, sizeof(count)) > 0)
		;
	pthread_mutex_lock(&s->lock);
	*out = s->news;
	pthread_mutex_unlock(&s->lock);
}
