/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the members of a layer for their status.
 *
 * All members are asked before the first answer is read. So a silent member costs the time limit
 * only once, and the other answers have arrived by then.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "client/conn/client.h"
#include "layer/status.h"

struct asked {
	int64_t end_ms;
	int sock[LAYER_MEMBERS];
};

static void ask_begin(struct asked *a, const struct layer_member *m, size_t n, int wait_ms)
{
	a->end_ms = sl_clock_ms() + wait_ms;
	for (size_t i = 0; i < n; i++)
		a->sock[i] = !m[i].pid ? -ENOTCONN
				       : sl_client_control_begin(m[i].socket, "status",
								 (int)(a->end_ms - sl_clock_ms()));
}

static struct status *ask_end(const struct asked *a, size_t i)
{
	char *answer = NULL;
	struct status *s = NULL;

	if (sl_client_control_end(a->sock[i], (int)(a->end_ms - sl_clock_ms()), &answer) == 0)
		s = status_decode(answer);
	free(answer);
	return s;
}

struct status *status_of_socket(const char *socket, int wait_ms)
{
	struct layer_member m = { .pid = 1 };
	struct asked asked;

	snprintf(m.socket, sizeof(m.socket), "%s", socket);
	ask_begin(&asked, &m, 1, wait_ms);
	return ask_end(&asked, 0);
}

int64_t status_clients(const char *socket)
{
	struct status *s = status_of_socket(socket, STATUS_PATIENT_MS);
	double n = 0;

	for (size_t i = 0; s && i < s->jobs_count; i++)
		n += s->jobs[i].clients;
	n = s ? n : -1;
	status_free(s);
	return (int64_t)n;
}

struct status *status_of_layer(const struct layer *l, int wait_ms)
{
	struct layer_member m[LAYER_MEMBERS];
	struct status_member said[LAYER_MEMBERS];
	char log[LAYER_MEMBERS][PATH_MAX + 32];
	size_t n = layer_members(l, m), nodes = layer_nodes(m, n);
	struct asked asked;

	ask_begin(&asked, m, n, wait_ms);
	for (size_t i = 0; i < n; i++) {
		snprintf(log[i], sizeof(log[i]), "%s/log%s", l->dir, m[i].suffix);
		said[i] = (struct status_member){ .name = m[i].name,
						  .socket = m[i].socket,
						  .log = log[i],
						  .pid = m[i].pid,
						  .said = ask_end(&asked, i) };
	}
	return status_merge(said, nodes, nodes < n ? &said[n - 1] : NULL,
			    nodes + 1 < n ? &said[nodes] : NULL);
}

struct status *status_ask(const struct layer *l, int wait_ms)
{
	struct layer_member m[LAYER_MEMBERS];

	if (layer_members(l, m) > 1)
		return status_of_layer(l, wait_ms);
	return m[0].pid ? status_of_socket(m[0].socket, wait_ms) : NULL;
}
