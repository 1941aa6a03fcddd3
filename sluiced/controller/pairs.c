/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes, jobs and pairs by their names and numbers, and room for more of them.
 *
 * Nodes, jobs and pairs have small numbers, which are used again. Tables of pointers grow by
 * doubling. Policies index their state by a job's number, and are restarted with more room when the
 * numbers run out, so their state is lost when the 4,096th, 8,192nd … job comes.
 *
 *	(job 17, node 3)  -> number of the pair     by_pair, but for the first node of a job
 *	job 17            -> number of the job      by_id
 *	"io3"             -> number of the node     by_name, by the hash of the name
 *
 * O(1) each, expected.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ds/fnv.h"
#include "sluiced/controller/private.h"

#define FIRST	   64 /* room for so many of each */
#define MANY_NODES 256

static int table(struct sl_hash *h, void **memory, uint32_t room)
{
	void *fresh = calloc(1, sl_hash_size(room));

	if (!fresh)
		return -ENOMEM;
	free(*memory);
	*memory = fresh;
	sl_hash_init(h, fresh, room);
	return 0;
}

static int grow(void *array, size_t each, uint32_t room)
{
	void **at = array, *more = realloc(*at, each * room);

	if (!more)
		return -ENOMEM;
	*at = more;
	return 0;
}

/* ---- nodes ---- */

static uint64_t hash_name(const char *name)
{
	return sl_fnv(SL_FNV, name, strlen(name));
}

uint32_t pairs_node(const struct brain *b, const char *name)
{
	uint64_t h = hash_name(name);

	for (uint32_t same = 0;; same++) { /* names with the same hash, which hardly occur */
		uint32_t i = sl_hash_get(&b->by_name, h, same);

		if (i == SL_HASH_NONE || !strcmp(b->node[i]->name, name))
			return i;
	}
}

static void name_node(struct brain *b, uint32_t node)
{
	uint64_t h = hash_name(b->node[node]->name);
	uint32_t same = 0;

	while (sl_hash_get(&b->by_name, h, same) != SL_HASH_NONE)
		same++;
	sl_hash_put(&b->by_name, h, same, node);
}

static int more_nodes(struct brain *b)
{
	uint32_t room = b->node_room ? 2 * b->node_room : FIRST;
	int rc = grow(&b->node, sizeof(*b->node), room);

	if (rc || (rc = table(&b->by_name, &b->by_name_memory, room)))
		return rc;
	b->node_room = room;
	for (uint32_t i = 0; i < b->nodes; i++)
		name_node(b, i);
	return 0;
}

int pairs_new_node(struct brain *b, const char *name)
{
	struct brain_node *n;

	if (b->nodes == BRAIN_NODES || (b->nodes == b->node_room && more_nodes(b)))
		return -ENOSPC;
	n = aligned_alloc(_Alignof(struct brain_node), sizeof(*n));
	if (!n)
		return -ENOSPC;
	memset(n, 0, sizeof(*n));
	sl_list_init(&n->telling);
	sl_list_init(&n->renewing);
	sl_list_init(&n->pairs);
	n->number = b->nodes;
	n->lease_ns = LEASE_NS;
	snprintf(n->name, sizeof(n->name), "%s", name);
	b->node[b->nodes] = n;
	name_node(b, b->nodes);
	return (int)b->nodes++;
}

/* ---- jobs ---- */

static int more_jobs(struct brain *b)
{
	uint32_t room = b->job_room ? 2 * b->job_room : FIRST;
	int rc;

	if ((rc = grow(&b->job, sizeof(*b->job), room)) ||
	    (rc = grow(&b->free_job, sizeof(*b->free_job), room)) ||
	    (rc = grow(&b->want, sizeof(*b->want), room)) || (rc = divide_room(b, room)) ||
	    (rc = table(&b->by_id, &b->by_id_memory, room)))
		return rc;
	b->job_room = room;
	for (uint32_t i = 0; i < b->jobs; i++)
		if (b->job[i])
			sl_hash_put(&b->by_id, b->job[i]->id, 0, i);
	return policy_room(b);
}

struct brain_job *pairs_job(const struct brain *b, uint64_t id)
{
	uint32_t i = sl_hash_get(&b->by_id, id, 0);

	return i == SL_HASH_NONE ? NULL : b->job[i];
}

struct brain_job *pairs_new_job(struct brain *b, uint64_t id)
{
	struct brain_job *j;
	uint32_t i;

	if (!b->free_jobs && b->jobs == b->job_room && (b->job_room >= BRAIN_JOBS || more_jobs(b)))
		return NULL;
	j = calloc(1, sizeof(*j));
	if (!j)
		return NULL;
	i = b->free_jobs ? b->free_job[--b->free_jobs] : b->jobs++;
	j->id = id;
	j->io.job = i;
	j->to = j->few;
	sl_list_init(&j->parts);
	sl_list_init(&j->live);
	sl_list_init(&j->gone);
	b->job[i] = j;
	sl_hash_put(&b->by_id, id, 0, i);
	return j;
}

bool pairs_to_room(struct brain_job *j, uint32_t count)
{
	uint32_t *more;

	if (count <= BRAIN_FEW_NODES || j->to != j->few)
		return true;
	more = malloc(SL_MAP_MAX * sizeof(*more));
	if (!more)
		return false;
	memcpy(more, j->few, sizeof(j->few));
	j->to = more;
	return true;
}

static void free_job(struct brain_job *j)
{
	if (j->to != j->few)
		free(j->to);
	free(j->mapped);
	free(j->title);
	free(j->account_name);
	sl_period_free(j->period);
	free(j);
}

void pairs_drop_job(struct brain *b, struct brain_job *j)
{
	uint32_t i = (uint32_t)j->io.job;

	b->bucketed -= j->bucket != 0;
	sl_list_remove(&j->live);
	sl_list_remove(&j->gone);
	sl_hash_remove(&b->by_id, j->id, 0);
	b->job[i] = NULL;
	b->free_job[b->free_jobs++] = i;
	free_job(j);
}

/* ---- pairs ---- */

static int more_parts(struct brain *b)
{
	uint32_t room = b->part_room ? 2 * b->part_room : FIRST;
	int rc = grow(&b->part, sizeof(*b->part), room);

	if (rc || (rc = grow(&b->free_part, sizeof(*b->free_part), room)))
		return rc;
	b->part_room = room;
	return 0;
}

static bool is_first(const struct brain_part *p)
{
	return p->job->parts.next == &p->of_job;
}

/* Most jobs are at one node: a table of all pairs would be a twentieth of what is kept of each. */
static int more_paired(struct brain *b)
{
	uint32_t room = b->pair_room ? 2 * b->pair_room : FIRST;
	int rc = table(&b->by_pair, &b->by_pair_memory, room);

	if (rc)
		return rc;
	b->pair_room = room;
	b->paired = 0;
	for (uint32_t i = 0; i < b->parts; i++) {
		const struct brain_part *p = b->part[i];

		if (!p || is_first(p))
			continue;
		sl_hash_put(&b->by_pair, p->job->id, p->node, i);
		b->paired++;
	}
	return 0;
}

struct brain_part *brain_pair(const struct brain *b, const struct brain_job *j, uint32_t node)
{
	struct brain_part *p = sl_container(j->parts.next, struct brain_part, of_job);
	uint32_t i;

	if (&p->of_job != &j->parts && p->node == node)
		return p; /* most jobs are at one node */
	i = sl_hash_get(&b->by_pair, j->id, node);
	return i == SL_HASH_NONE ? NULL : b->part[i];
}

struct brain_part *pairs_new(struct brain *b, struct brain_job *j, uint32_t node)
{
	struct brain_part *p;

	if (!b->free_parts && b->parts == b->part_room && more_parts(b))
		return NULL;
	if (b->paired == b->pair_room && more_paired(b))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->number = b->free_parts ? b->free_part[--b->free_parts] : b->parts++;
	p->job = j;
	p->node = node;
	p->divided_bps = p->ordered_bps = -1;
	p->ops_divided = p->ops_ordered = -1;
	b->part[p->number] = p;
	sl_list_push_back(&j->parts, &p->of_job);
	if (!is_first(p)) {
		sl_hash_put(&b->by_pair, j->id, node, p->number);
		b->paired++;
	}
	sl_list_push_back(&b->node[node]->pairs, &p->of_node);
	sl_list_remove(&j->gone);
	return p;
}

void pairs_drop(struct brain *b, struct brain_part *p)
{
	struct brain_job *j = p->job;

	period_gone(p, b->node[p->node]->heard);
	sl_list_remove(&p->of_job);
	sl_list_remove(&p->of_node);
	if (sl_hash_get(&b->by_pair, j->id, p->node) != SL_HASH_NONE) {
		sl_hash_remove(&b->by_pair, j->id, p->node);
		b->paired--;
	}
	b->part[p->number] = NULL;
	b->free_part[b->free_parts++] = p->number;
	joints_drop(p);
	free(p);
	pairs_live(b, j);
	if (sl_list_empty(&j->parts) && sl_list_empty(&j->gone))
		sl_list_push_back(&b->gone, &j->gone);
}

void pairs_live(struct brain *b, struct brain_job *j)
{
	if (sl_list_empty(&j->live))
		sl_list_push_back(&b->live, &j->live);
}

/* ---- who is to be told ---- */

void pairs_tell(struct brain *b, uint32_t node)
{
	struct brain_node *n = b->node[node];

	if (n->up && sl_list_empty(&n->telling))
		sl_list_push_back(&b->telling, &n->telling);
}

void pairs_news(struct brain *b, struct brain_part *p)
{
	p->news = b->node[p->node]->news = true;
	pairs_tell(b, p->node);
}

void brain_whole(struct brain *b, uint32_t node)
{
	b->node[node]->whole = true;
	pairs_tell(b, node);
}

/* The one whose lease is to be renewed next; NULL: none is. */
static struct brain_node *oldest(const struct sl_list *of)
{
	return sl_list_empty(of) ? NULL : sl_container(of->next, struct brain_node, renewing);
}

/* After a quarter of it; of nodes without work, if there are many, after half of it. */
static sl_time renewed(const struct brain *b, const struct brain_node *n)
{
	bool often = n && (n->lease_ns <= LEASE_NS || b->nodes_up < MANY_NODES);

	return n ? n->ordered + n->lease_ns / (often ? 4 : 2) : SL_NEVER;
}

void pairs_renewed(struct brain *b, struct brain_node *n)
{
	sl_list_remove(&n->renewing);
	sl_list_push_back(n->lease_ns > LEASE_NS ? &b->resting : &b->renewing, &n->renewing);
}

int64_t brain_next(struct brain *b, sl_time now)
{
	struct brain_node *n = NULL;

	if (!sl_list_empty(&b->telling))
		n = sl_container(b->telling.next, struct brain_node, telling);
	else if (now >= renewed(b, oldest(&b->renewing)))
		n = oldest(&b->renewing);
	else if (now >= renewed(b, oldest(&b->resting)))
		n = oldest(&b->resting);
	if (!n)
		return -1;
	sl_list_remove(&n->telling);
	/* Behind all others, should it be that nothing can be sent to it now. */
	pairs_renewed(b, n);
	return n->number;
}

sl_time brain_renews(const struct brain *b)
{
	sl_time works = renewed(b, oldest(&b->renewing)), rests = renewed(b, oldest(&b->resting));

	return works < rests ? works : rests;
}

/* ---- life ---- */

int pairs_init(struct brain *b)
{
	int rc;

	sl_list_init(&b->live);
	sl_list_init(&b->gone);
	sl_list_init(&b->telling);
	sl_list_init(&b->renewing);
	sl_list_init(&b->resting);
	sl_list_init(&b->joints);
	if ((rc = more_nodes(b)) || (rc = more_parts(b)) || (rc = more_paired(b)))
		return rc;
	return more_jobs(b);
}

void pairs_free(struct brain *b)
{
	for (uint32_t i = 0; i < b->jobs; i++)
		if (b->job[i])
			free_job(b->job[i]);
	for (uint32_t i = 0; i < b->parts; i++) {
		if (b->part[i])
			joints_drop(b->part[i]);
		free(b->part[i]);
	}
	for (uint32_t i = 0; i < b->nodes; i++)
		free(b->node[i]);
	free(b->job);
	free(b->part);
	free(b->node);
	free(b->free_job);
	free(b->free_part);
	free(b->want);
	free(b->by_id_memory);
	free(b->by_pair_memory);
	free(b->by_name_memory);
}
