/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's policies, grant and allocate: set them at the start, and change them. The
 * knowledge about jobs (phases, means, curves, nodes) stays, and the new policy decides at once.
 * State of the old policy (whose turn it was) is lost.
 */
#include "sluiced/controller/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A policy with its state and its text, before it is in force. */
struct chosen {
	const struct sl_policy *policy;
	void *state;
	char *text; /* NULL: the default */
};

static void drop(struct chosen *c)
{
	free(c->state);
	free(c->text);
}

static int choose(const struct brain *b, struct chosen *c, enum sl_stage stage, const char *text,
		  sl_time now, char *err, size_t size)
{
	const struct sl_policy_limits limits = {
		.lanes = stage == SL_ALLOCATE ? POLICY_JOBS : b->job_room,
		.ionodes = POLICY_IONODES,
	};
	struct sl_spec spec;
	int rc = sl_spec_parse(stage, text, &spec, err, size);

	if (rc)
		return rc;
	if (stage == SL_GRANT && ((const struct sl_grant_ops *)spec.policy)->plan) {
		snprintf(err, size,
			 "grant: %s plans for jobs that are all known before; it is for 'sluice "
			 "sim'",
			 spec.policy->name);
		return -EINVAL;
	}
	c->policy = spec.policy;
	c->text = text ? strdup(text) : NULL;
	c->state = calloc(1, sl_policy_size(spec.policy, &limits) + 16);
	if (!c->state || (text && !c->text)) {
		snprintf(err, size, "out of memory");
		return -ENOMEM;
	}
	sl_policy_init(spec.policy, c->state, &limits, spec.values, now);
	return 0;
}

static void put_grant(struct brain *b, const struct chosen *c)
{
	free(b->state);
	b->state = c->state;
	b->grant = (const struct sl_grant_ops *)c->policy;
	b->ops = strcmp(c->policy->name, "none") ? b->grant : NULL;
	b->wake = SL_NEVER;
	for (uint32_t i = 0; i < b->jobs; i++)
		if (b->job[i])
			b->job[i]->io.rate_bps = 0;
}

static void put_allocate(struct brain *b, const struct chosen *c)
{
	free(b->allocate_state);
	b->allocate_state = c->state;
	b->allocate = (const struct sl_allocate_ops *)c->policy;
}

int policy_set(struct brain *b, const char *const spec[POLICY_STAGES], sl_time now, char *err,
	       size_t size)
{
	static const enum sl_stage stages[POLICY_STAGES] = { SL_GRANT, SL_ALLOCATE };
	struct chosen chosen[POLICY_STAGES] = { 0 };
	int rc = 0;

	for (int i = 0; !rc && i < POLICY_STAGES; i++)
		if (spec[i] || !b->grant)
			rc = choose(b, &chosen[i], stages[i], spec[i], now, err, size);
	for (int i = 0; i < POLICY_STAGES; i++) {
		if (rc) {
			drop(&chosen[i]);
			continue;
		}
		if (!chosen[i].policy)
			continue;
		free(b->policy[i]);
		b->policy[i] = chosen[i].text;
		if (i == POLICY_GRANT)
			put_grant(b, &chosen[i]);
		else
			put_allocate(b, &chosen[i]);
	}
	b->changed |= !rc;
	b->remap |= !rc;
	return rc;
}

int policy_room(struct brain *b)
{
	const char *same[POLICY_STAGES] = { NULL };
	char *text, err[200];
	int rc;

	if (!b->grant) /* there are none yet */
		return 0;
	text = strdup(b->policy[POLICY_GRANT] ? b->policy[POLICY_GRANT] : b->grant->base.name);
	if (!text)
		return -ENOMEM;
	same[POLICY_GRANT] = text;
	rc = policy_set(b, same, 0, err, sizeof(err));
	free(text);
	return rc;
}

void policy_free(struct brain *b)
{
	free(b->state);
	free(b->allocate_state);
	for (int i = 0; i < POLICY_STAGES; i++)
		free(b->policy[i]);
}

int brain_policy(struct brain *b, char *words, sl_time now, char *err, size_t size)
{
	const char *spec[POLICY_STAGES] = { NULL };
	char *save = NULL;

	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');
		int i;

		if (value)
			*value++ = 0;
		i = !strcmp(word, "grant") ? POLICY_GRANT : POLICY_ALLOCATE;
		if (!value || (i == POLICY_ALLOCATE && strcmp(word, "allocate") != 0)) {
			snprintf(err, size, "give grant=POLICY or allocate=POLICY, not '%.32s'",
				 word);
			return -EINVAL;
		}
		if (spec[i]) {
			snprintf(err, size, "the stage %s is given twice", word);
			return -EINVAL;
		}
		spec[i] = value;
	}
	return policy_set(b, spec, now, err, size);
}
