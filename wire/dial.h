/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to a controller, for I/O nodes and for the other controller. Over TCP both sides
 * prove who they are, and every frame is sealed (auth.c).
 */
#ifndef SL_WIRE_DIAL_H
#define SL_WIRE_DIAL_H

#include <stdbool.h>

#include "wire/auth.h"

#define DIAL_TEXT 200

/* What to show over TCP. On one machine the kernel says who a peer is. */
struct dial_proof {
	const char *secret_file; /* NULL: none */
	const char *munge;	 /* socket of munged, "" for the usual one; NULL: no MUNGE */
};

struct dial {
	int sock; /* blocks */
	bool sealed;
	struct sl_session session;
};

/*
 * Connect to PATH or HOST:PORT and say who one is, "@ionode" for example. 0, or negative errno and
 * a sentence.
 */
int dial_controller(struct dial *d, const char *address, const struct dial_proof *proof,
		    const char *who, char why[DIAL_TEXT]);
/* A line of text as a CONTROL frame; 0 or -errno. */
int dial_send(struct dial *d, const char *line, size_t length, uint64_t tag);

/* Bytes of the head of a frame that comes. */
static inline size_t dial_head(const struct dial *d)
{
	return d->sealed ? SL_SEALED_BYTES : SL_FRAME_BYTES;
}
/* Whether a frame that is whole is the peer's next one; to be asked once. */
bool dial_genuine(struct dial *d, const unsigned char *head, const void *payload, size_t length);

#endif
