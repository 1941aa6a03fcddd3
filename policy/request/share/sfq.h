/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start tags of start-time fair queueing (Goyal, Vin and Cheng 1996), for wfq.c and fair.c: the
 * bytes served to a member of a group, divided by its weight. wfq.c explains them.
 */
#ifndef SL_SHARE_SFQ_H
#define SL_SHARE_SFQ_H

#include <stdbool.h>
#include <stdint.h>

#define SL_SFQ_SHIFT 20
#define SL_SFQ_TURN  (UINT64_C(1) << 62) /* beyond this, all virtual times are moved back */
/* Keeps bytes << SL_SFQ_SHIFT below SL_SFQ_TURN. */
#define SL_SFQ_MAX_BYTES (UINT64_C(1) << 41)

struct sl_sfq {
	uint64_t tag;	 /* start tag of its next batch */
	uint64_t slack;	 /* slack_bytes as a distance of tags */
	uint32_t weight; /* 0: not known yet */
	uint32_t rem;	 /* < weight */
	bool kept;	 /* left without being idle */
};

static inline void sl_sfq_weigh(struct sl_sfq *s, uint64_t slack_bytes, uint32_t weight)
{
	if (s->weight == weight)
		return;
	s->weight = weight;
	s->rem = 0; /* less than 2^-20 bytes */
	s->slack = (slack_bytes << SL_SFQ_SHIFT) / weight;
}

/*
 * A member of a group with virtual time v becomes ready. Its tag is at least v, unless it kept its
 * place.
 */
static inline void sl_sfq_enter(struct sl_sfq *s, uint64_t v)
{
	uint64_t earliest = v;

	if (s->kept)
		earliest = v > s->slack ? v - s->slack : 0;
	if (s->tag < earliest) {
		s->tag = earliest;
		s->rem = 0;
	}
}

/* Advance the tag by the bytes sent. */
static inline void sl_sfq_charge(struct sl_sfq *s, uint64_t v, uint64_t bytes)
{
	uint64_t x =
		((bytes < SL_SFQ_MAX_BYTES ? bytes : SL_SFQ_MAX_BYTES) << SL_SFQ_SHIFT) + s->rem;
	uint64_t step = x / s->weight, most = v + (step > s->slack ? step : s->slack);

	s->rem = (uint32_t)(x % s->weight);
	s->tag += step;
	if (s->tag > most) {
		s->tag = most;
		s->rem = 0;
	}
}

/* Move the tag back by this much, as all tags of the group. */
static inline void sl_sfq_move_back(struct sl_sfq *s, uint64_t by)
{
	s->tag -= s->tag < by ? s->tag : by;
}

#endif
