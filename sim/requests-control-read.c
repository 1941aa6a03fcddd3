/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller of a scenario of requests, in YAML:
 *
 *	requests:
 *	  servers: 4
 *	  capacity: 80MB/s       # of all together
 *	  controller:            # divides it among jobs and servers
 *	    delay: 1ms           # of a report, and of an order
 *	    gap: 1s              # a pause that ends a phase of I/O
 *	    standby: 250ms       # after it has died, a second one leads; not given: none does
 *	  until: 10s             # the run ends then
 *	  events:                # in order of time
 *	    - { at: 5s, dies: 3 }            # server 3, with the processes that use it
 *	    - { at: 8s, dies: controller }
 *	  jobs:
 *	    - { name: a, on: [0, 2], ... }   # its processes, in turn; not given: job k at server k
 */
#include "sim/requests-control-read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TIME (INT64_C(1000000) * 1000000000)

static int rc_time(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct sl_requests_control *c = into;
	sl_time *to = !strcmp(key, "delay") ? &c->delay_ns
		      : !strcmp(key, "gap") ? &c->gap_ns
					    : &c->standby_ns;

	return sl_yaml_time(y, node, 0, MAX_TIME, to);
}

int sl_requests_control_read(struct sl_yaml *y, const char *key, const yaml_node_t *node,
			     struct sl_requests_control *out)
{
	static const struct sl_yaml_key keys[] = {
		{ "delay", rc_time }, { "gap", rc_time }, { "standby", rc_time }, { 0 }
	};

	out->there = true;
	return sl_yaml_mapping(y, node, keys, key, out);
}

static int rc_at(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	(void)key;
	return sl_yaml_time(y, node, 0, MAX_TIME, &((struct sl_requests_event *)into)->at);
}

static int rc_dies(struct sl_yaml *y, const char *key, const yaml_node_t *node, void *into)
{
	struct sl_requests_event *e = into;

	(void)key;
	if (node->type == YAML_SCALAR_NODE && !strcmp(sl_yaml_text(node), "controller"))
		return 0;
	return sl_yaml_count32(y, node, 0, SL_REQUESTS_SERVERS - 1, &e->server);
}

static int rc_event(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	static const struct sl_yaml_key keys[] = { { "at", rc_at }, { "dies", rc_dies }, { 0 } };
	struct sl_requests_event e = { .at = -1, .server = SL_REQUESTS_CONTROLLER }, *more;
	struct sl_requests *s = into;
	int rc = sl_yaml_mapping(y, node, keys, "an event", &e);

	if (rc)
		return rc;
	if (e.at < 0 || !sl_yaml_has(y, node, "dies"))
		return sl_yaml_bad(y, node, "needs a time and what dies, as in {at: 5s, dies: 3}");
	if (s->n_events && e.at < s->events[s->n_events - 1].at)
		return sl_yaml_bad(y, node, "events are given in order of time");
	if (s->n_events == SL_REQUESTS_EVENTS)
		return sl_yaml_bad(y, node, "more than %d events", SL_REQUESTS_EVENTS);
	more = reallocarray(s->events, s->n_events + 1, sizeof(*more));
	if (!more)
		return sl_yaml_no_memory(y, node);
	s->events = more;
	s->events[s->n_events++] = e;
	return 0;
}

int sl_requests_events_read(struct sl_yaml *y, const char *key, const yaml_node_t *node,
			    struct sl_requests *s)
{
	return sl_yaml_list(y, key, node, "a list: '- {at: 5s, dies: 3}'", rc_event, s);
}

static int rc_place(struct sl_yaml *y, const yaml_node_t *node, void *into)
{
	struct sl_requests *s = into;
	uint32_t *more, server;
	int rc = sl_yaml_count32(y, node, 0, SL_REQUESTS_SERVERS - 1, &server);

	if (rc)
		return rc;
	if (s->n_on == SL_REQUESTS_PLACES)
		return sl_yaml_bad(y, node, "more than %d places", SL_REQUESTS_PLACES);
	more = reallocarray(s->on, s->n_on + 1, sizeof(*more));
	if (!more)
		return sl_yaml_no_memory(y, node);
	s->on = more;
	s->on[s->n_on++] = server;
	return 0;
}

int sl_requests_on_read(struct sl_yaml *y, const char *key, const yaml_node_t *node,
			struct sl_requests *s, struct sl_requests_app *a)
{
	int rc;

	a->on_first = s->n_on;
	rc = node->type == YAML_SCALAR_NODE
		     ? rc_place(y, node, s)
		     : sl_yaml_list(y, key, node, "a list of servers: [0, 2]", rc_place, s);
	a->on_count = s->n_on - a->on_first;
	return rc;
}

int sl_requests_control_check(const struct sl_yaml *y, const yaml_node_t *node,
			      const struct sl_requests *s)
{
	if (!s->control.there)
		return s->n_on || s->n_events
			       ? sl_yaml_bad(y, node,
					     "'on' of jobs and 'events' need a controller: write "
					     "'controller: {delay: 1ms}'")
			       : 0;
	if (!s->capacity_bps)
		return sl_yaml_bad(y, node,
				   "a controller divides a capacity: write capacity: 1GB/s");
	if (s->capacity_bps < s->striping.servers)
		return sl_yaml_bad(y, node, "the capacity is less than a byte for each server");
	for (uint32_t i = 0; i < s->n_on; i++)
		if (s->on[i] >= s->striping.servers)
			return sl_yaml_bad(y, node, "a job is on server %u, of 0 to %u", s->on[i],
					   s->striping.servers - 1);
	for (uint32_t i = 0; i < s->n_events; i++)
		if (s->events[i].server != SL_REQUESTS_CONTROLLER &&
		    s->events[i].server >= s->striping.servers)
			return sl_yaml_bad(y, node, "server %u dies, of 0 to %u",
					   s->events[i].server, s->striping.servers - 1);
	return 0;
}
