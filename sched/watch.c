/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching: each job has a pattern detector (detect/pattern.c), which sees its requests as they
 * arrive. The status shows the pattern, and order=auto uses it; nothing else depends on it.
 *
 * The memory of all jobs, 6 KiB each, is allocated at once but not touched before a job's first
 * request, so unused parts cost only address space.
 */
#include <errno.h>
#include <stdlib.h>

#include "sched/sched.h"

/* Number of (process, file) pairs of a job that are watched at a time. */
#define TRACKS 32

int sl_watch_start(struct sl_sched *s)
{
	if (s->watch_all)
		return 0;
	s->watch_conf.tracks = TRACKS;
	s->watch_bytes = (sl_access_bytes(&s->watch_conf) + 63) & ~(size_t)63;
	s->watch_all = calloc((size_t)s->limits.jobs + 1, s->watch_bytes);
	return s->watch_all ? 0 : -ENOMEM;
}

void sl_watch_add(struct sl_sched *s, struct sl_slot *slot, const struct sl_request *r, sl_time now)
{
	if (__builtin_expect(!slot->watch, 0))
		slot->watch = sl_access_init(s->watch_all + slot->own.index * s->watch_bytes,
					     &s->watch_conf);
	if (r->file < SL_NO_FILE)
		sl_access_add(slot->watch, r, now);
}

int sl_job_pattern(const struct sl_sched *s, uint64_t job, struct sl_job_pattern *out)
{
	const struct sl_slot *slot = sl_slot_find(s, job);
	struct sl_access_pattern p = { .spatial = SL_ACCESS_UNKNOWN };

	if (!slot)
		return -ENOENT;
	if (slot->watch)
		sl_access_get(slot->watch, &p);
	*out = (struct sl_job_pattern){ .spatiality = sl_access_spatial_name(p.spatial),
					.size = sl_access_size_name(p.size),
					.op = p.op,
					.files = p.files,
					.call_bytes = p.call_bytes,
					.requests = p.requests,
					.order = slot->lane->flow.ops->base.name };
	if (slot->lane->choice)
		sl_choice_reason(slot->lane->choice, out->reason, sizeof(out->reason));
	return 0;
}
