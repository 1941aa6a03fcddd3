/* SPDX-License-Identifier: Apache-2.0 */
/* The layer of a live exploration, based on private-layer.h: its options, and the nodes of jobs. */
#include "lab/explore/layer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cli.h"
#include "client/conn/client.h"
#include "lab/private-layer.h"
#include "layer/layer.h"
#include "layer/status.h"

#define ARGS	 24
#define KNOWN_MS 10000

int explore_layer_up(struct private *p, const struct explore_spec *s, const struct explore_cell *c)
{
	char number[16], order[EXPLORE_TEXT], share[EXPLORE_TEXT], admit[EXPLORE_TEXT];
	/* To compare orders, the node must see all requests. */
	const char *args[ARGS] = { "--ask-always" };
	unsigned n = 1;

	if (!explore_in_turn(s, c->order)) {
		snprintf(order, sizeof(order), "order=%s", s->order[c->order]);
		args[n++] = "--policy";
		args[n++] = order;
	}
	if (c->ionodes > 1) {
		snprintf(number, sizeof(number), "%u", c->ionodes);
		args[n++] = "--ionodes";
		args[n++] = number;
	}
	if (s->share) {
		snprintf(share, sizeof(share), "share=%s", s->share);
		args[n++] = "--policy";
		args[n++] = share;
	}
	if (s->admit) {
		snprintf(admit, sizeof(admit), "admit=%s", s->admit);
		args[n++] = "--policy";
		args[n++] = admit;
	}
	if (s->capacity) {
		args[n++] = "--capacity";
		args[n++] = s->capacity;
	}
	if (c->device->name[0]) {
		args[n++] = "--device-model";
		args[n++] = c->device->name;
	}
	return private_layer_up(p, args);
}

/* ---- where jobs are ---- */

static int yl_socket(bool controller, uint32_t node, char out[108])
{
	struct layer_member m;
	struct layer l;
	int status = cli_result(EXPLORE_CMD, layer_open(&l, NULL, false), layer_error());

	if (status)
		return status;
	layer_member(&l, node, controller, &m);
	layer_close(&l);
	memcpy(out, m.socket, 108);
	return CLI_OK;
}

int explore_layer_map(const char *job, uint32_t ionodes)
{
	char line[512], path[108], *answer = NULL;
	size_t n = (size_t)snprintf(line, sizeof(line), "map %s ", job);
	int rc = -ENOENT, status = yl_socket(true, 0, path);

	if (status)
		return status;
	for (uint32_t i = 0; i < ionodes && n < sizeof(line); i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, i ? ",%u" : "%u", i);
	/* The controller learns of jobs and nodes from the nodes' reports. */
	for (int ms = 0; ms < KNOWN_MS && !private_interrupted; ms += 10) {
		free(answer);
		answer = NULL;
		rc = sl_client_control(path, line, &answer);
		if (!rc)
			break;
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	}
	if (rc && !private_interrupted)
		cli_fail(EXPLORE_CMD, "the controller refuses '%s': %s.", line,
			 answer && *answer ? answer : strerror(-rc));
	free(answer);
	return rc ? CLI_FAILED : CLI_OK;
}

int64_t explore_layer_clients(uint32_t node)
{
	char path[108];

	return yl_socket(false, node, path) ? -1 : status_clients(path);
}
