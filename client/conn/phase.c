/* SPDX-License-Identifier: Apache-2.0 */
/*
 * I/O phases that the program declares itself (sl_phase_begin() in sluice.h), so that the
 * controller need not detect them by their gaps.
 *
 * In the turn route the process sets a flag in its job's segment (attach.c). In the forward route
 * the node is told with a control line, "phase begin" or "phase end". It counts the processes of
 * the job that are in one and reports to the controller at once. A phase belongs to the process,
 * not to a thread or a connection. So when the process moves to another node during a phase, it
 * tells the new node first; the old one sees the connection end. A child of fork() starts outside
 * any phase.
 *
 * Two messages for a phase: some 0.1 ms.
 */
#include "client/conn/phase.h"

#include <errno.h>

#include "client/conn/dial.h"
#include "client/conn/settings.h"
#include "client/conn/turn.h"

static atomic_bool in_phase;

int phase_tell(struct conn *c)
{
	bool in = atomic_load(&in_phase);
	char answer[256];
	int rc;

	if (c->phase == in)
		return 0;
	rc = dial_ask(c, in ? "phase begin" : "phase end", answer, sizeof(answer));
	if (rc >= 0)
		c->phase = in;
	return rc;
}

void phase_forget(void)
{
	atomic_store(&in_phase, false);
}

/* As phase_tell(); GONE: this connection has failed. */
static int tell(struct conn *c)
{
	sigset_t old;
	int rc = GONE;

	conn_lock(&old);
	if (!atomic_load(&c->lost) && !atomic_load(&c->left)) {
		rc = phase_tell(c);
		if (rc < 0) {
			conn_lose(c);
			rc = GONE;
		}
	}
	conn_unlock(&old);
	return rc == GONE ? GONE : -rc;
}

static int begin_phase(void)
{
	int rc = GONE;

	atomic_store(&in_phase, true);
	while (rc == GONE) {
		struct conn *c = conn_get(&rc);

		if (!c)
			break;
		rc = tell(c);
		conn_put(c);
	}
	if (rc)
		atomic_store(&in_phase, false);
	return rc;
}

/* A node that has exited, or that we leave, need not be told. */
static int end_phase(void)
{
	struct conn *c;
	int rc = 0;

	if (!atomic_exchange(&in_phase, false) || !(c = conn_held()))
		return 0;
	rc = tell(c);
	conn_put(c);
	return rc == GONE ? 0 : rc;
}

int sl_client_phase(bool begin)
{
	int saved = errno, rc = -ENOTCONN;

	if (!sl_client_enabled())
		rc = -ENOTCONN;
	else if (client_settings()->forward || turn_forwards())
		rc = begin ? begin_phase() : end_phase();
	else
		rc = turn_phase(begin);
	errno = saved;
	return rc;
}
