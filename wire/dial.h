/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to a controller, for I/O nodes and for the other controller. Over TCP both sides
 * authenticate, and every frame is sealed (auth.c).
 */
#ifndef SL_WIRE_DIAL_H
#define SL_WIRE_DIAL_H

#include <stdbool.h>

#include "wire/auth.h"

#define DIAL_TEXT 200

/* Credentials for TCP. On one machine the kernel identifies the peer. */
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
 * Connect to PATH or HOST:PORT and send the own name, "@ionode" for example. 0, or negative errno
 * and a message.
 */
int dial_controller(struct dial *d, const char *address, const struct dial_proof *proof,
		    const char *who, char why[DIAL_TEXT]);
/* A line of text as a CONTROL frame; 0 or -errno. */
int dial_send(struct dial *d, const char *line, size_t length, uint64_t tag);

/* Length of the head of a received frame. */
static inline size_t dial_head(const struct dial *d)
{
	return d->sealed ? SL_SEALED_BYTES : SL_FRAME_BYTES;
}
/* Whether a complete frame is the peer's next one. Call it once per frame. */
bool dial_genuine(struct dial *d, const unsigned char *head, const void *payload, size_t length);

#endif
