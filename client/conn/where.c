/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node of this process. In a layer with several I/O nodes the controller decides which of them
 * serve a job, and changes this when jobs come and go (Bez et al. 2021, section 3.1). A node
 * notifies its clients by a counter in their segments, or over TCP in its replies. They ask it with
 * the control line "where", and get the socket of their node, or the answer that the job has none.
 * Then
 *
 *	- calls under way finish at the old node, which returns requests that it has not begun;
 *	- the next call makes a connection to the new node, and opens its files there as it uses
 * them;
 *	- the old connection is closed when its last call is through.
 *
 * No byte is lost or written twice, since no request is ever at two nodes. Which node is one's own
 * depends on the *unit*: the number of the compute node if the batch system tells, else the rank
 * of the process, else the process itself.
 *
 * Over TCP, data may be only in the memory of the node. So the client syncs it before it leaves the
 * node, because the next node could not.
 *
 * If a node dies, its clients try the other nodes of the layer, which know the clients' new node. A
 * node that does not know it yet sends them back to the dead one; then they stay at that node,
 * because the controller assigns a node only to a job with a process at some node.
 */
#include "client/conn/where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/oldlibc.h"
#include "client/conn/dial.h"
#include "client/conn/settings.h"

#define ANSWER_BYTES 8192
#define SIBLINGS     64U /* with 108 bytes each they fit into an answer */

/* Under the lock of the connection, but for `direct`. */
static struct {
	char place[SOCKET_BYTES];  /* the node's socket; "": that of the settings */
	char vain[SOCKET_BYTES];   /* the own node did not answer there before; or "" */
	char peers[ANSWER_BYTES];  /* all of them, by commas */
	char silent[SOCKET_BYTES]; /* a node that did not answer any more: others are tried first */
	unsigned failed;	   /* attempts since the last success: which peer is next */
	_Atomic bool direct;
} w;

bool where_direct(void)
{
	return atomic_load_explicit(&w.direct, memory_order_relaxed);
}

/* ---- units ---- */

static bool number_from(const char *const *names, uint32_t *out)
{
	for (; *names; names++) {
		const char *value = getenv(*names);

		if (value && *value >= '0' && *value <= '9') {
			*out = (uint32_t)strtoul(value, NULL, 10);
			return true;
		}
	}
	return false;
}

void where_unit(uint32_t *number, uint32_t *units)
{
	static const char *const node[] = { "SLURM_NODEID", "PBS_NODENUM", NULL };
	static const char *const nodes[] = { "SLURM_NNODES", "SLURM_JOB_NUM_NODES", NULL };
	static const char *const rank[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
					    "SLURM_PROCID", NULL };
	static const char *const ranks[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS",
					     NULL };
	const struct sl_hello *h = &client_settings()->hello;

	*units = 0;
	if (number_from(node, number)) {
		*units = h->nodes;
		if (!*units)
			number_from(nodes, units);
	} else if (number_from(rank, number)) {
		number_from(ranks, units);
		*units = *units ? *units : h->procs;
	} else {
		*number = (uint32_t)getpid();
	}
}

/* ---- asking ---- */

/* The word that begins with key, its value up to the next blank, into out; false: there is none. */
static bool word(const char *text, const char *key, char *out, size_t size)
{
	const char *at = strstr(text, key);
	size_t length;

	if (!at)
		return false;
	at += strlen(key);
	length = strcspn(at, " ");
	if (length >= size)
		return false;
	memcpy(out, at, length);
	out[length] = 0;
	return true;
}

enum where where_ask(struct conn *c)
{
	static char answer[ANSWER_BYTES];
	uint32_t seen = atomic_load(c->segment ? &c->segment->moved : &c->told), number, units;
	char line[SL_JOB_NAME_MAX + 64], at[SOCKET_BYTES], vain[SOCKET_BYTES];
	int status;

	where_unit(&number, &units);
	snprintf(line, sizeof(line), "where %s %u %u", client_settings()->hello.job, number, units);
	status = dial_ask(c, line, answer, sizeof(answer));
	if (status < 0)
		return WHERE_LOST;
	c->moved_seen = seen;
	memcpy(vain, w.vain, sizeof(vain));
	w.vain[0] = 0; /* an order that comes later may be of a node that is back */
	if (status)
		return WHERE_STAY;
	word(answer, " peers=", w.peers, sizeof(w.peers));
	atomic_store(&w.direct, strstr(answer, " direct") != NULL);
	if (!word(answer, " at=", at, sizeof(at)) || !strcmp(at, c->address))
		return WHERE_STAY;
	if (!strcmp(at, vain))
		return WHERE_STAY;
	memcpy(w.place, at, sizeof(at));
	w.failed = 0;
	return WHERE_MOVE;
}

/* ---- finding a node ---- */

/*
 * If the one node that a process knows died before it connected, the process knows no others.
 * Those of its layer have their sockets in the same directory: node.sock, node-1.sock, node-2.sock
 * and so on (layer/layer.h).
 */
static void find_siblings(void)
{
	const char *own = client_settings()->socket, *name = strrchr(own, '/');
	size_t length = 0;
	struct stat st;

	if (client_settings()->tcp || !name || strncmp(name, "/node", 5) != 0)
		return;
	for (unsigned i = 0; i < SIBLINGS; i++) {
		char path[SOCKET_BYTES], suffix[16] = "";

		if (i)
			snprintf(suffix, sizeof(suffix), "-%u", i);
		if (snprintf(path, sizeof(path), "%.*s/node%s.sock", (int)(name - own), own,
			     suffix) >= (int)sizeof(path) ||
		    !strcmp(path, own) || sl_stat(path, &st) || !S_ISSOCK(st.st_mode))
			continue;
		length += (size_t)snprintf(w.peers + length, sizeof(w.peers) - length, "%s%s",
					   length ? "," : "", path);
	}
}

static unsigned peers_count(void)
{
	unsigned count = w.peers[0] != 0;

	for (const char *at = w.peers; *at; at++)
		count += *at == ',';
	return count;
}

/* Peers in turn, from this one on. */
static const char *peer_at(unsigned skip)
{
	static char peer[SOCKET_BYTES];
	const char *at = w.peers;

	for (; skip; skip--) {
		at += strcspn(at, ",");
		at = *at ? at + 1 : w.peers;
	}
	if (strcspn(at, ",") >= sizeof(peer))
		return NULL;
	memcpy(peer, at, strcspn(at, ","));
	peer[strcspn(at, ",")] = 0;
	return peer;
}

void where_silent(const char *address)
{
	snprintf(w.silent, sizeof(w.silent), "%s", address);
	memcpy(w.vain, w.silent, sizeof(w.vain));
	w.failed = 0;
}

void where_found(void)
{
	w.silent[0] = 0;
}

unsigned where_attempts(void)
{
	return 2 * peers_count();
}

const char *where_next(void)
{
	const char *own = w.place[0] ? w.place : client_settings()->socket, *peer;

	if (!w.peers[0] && w.failed)
		find_siblings();
	/* It would delay us for as long as a greeting may take. */
	if (w.silent[0] && w.failed < peers_count()) {
		peer = peer_at(w.failed);
		if (peer && !strcmp(peer, w.silent))
			peer = peer_at(++w.failed);
		if (peer && strcmp(peer, w.silent) != 0)
			return peer;
	}
	/* Every second attempt is at the own node: it may only have been restarted. */
	if (!w.peers[0] || w.failed % 2 == 0)
		return own;
	if (w.failed % 8 == 7)
		return client_settings()->socket;
	peer = peer_at(w.failed / 2);
	return peer ? peer : own;
}

void where_failed(void)
{
	if (w.failed % 2 == 0 && !w.silent[0])
		memcpy(w.vain, w.place[0] ? w.place : client_settings()->socket, sizeof(w.vain));
	w.failed++;
}
