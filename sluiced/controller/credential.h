/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials of MUNGE, decoded in a separate thread: a munged that hangs delays new peers, but not
 * connected ones.
 */
#ifndef SL_SLUICED_CONTROLLER_CREDENTIAL_H
#define SL_SLUICED_CONTROLLER_CREDENTIAL_H

#include <stdbool.h>

#include "wire/munge.h"

struct credential_asked {
	uint64_t peer; /* whose it is */
	unsigned char nonce[SL_NONCE_BYTES];
	char address[SL_MUNGE_ADDRESS]; /* that it has to name */
	char text[SL_CREDENTIAL_MAX];
};

struct credential_found {
	uint64_t peer;
	int rc; /* 0, or negative errno and why */
	char secret[SL_SECRET_BYTES], why[SL_MUNGE_TEXT];
};

struct credentials {
	const char *munge; /* socket of munged, or ""; NULL: none are taken */
	int fd;		   /* readable when one is open */
	int worker_fd;
};

int credential_start(struct credentials *c); /* 0 or -errno */
void credential_stop(struct credentials *c);
/* False: too many wait. */
bool credential_ask(const struct credentials *c, const struct credential_asked *asked);
/* False: there is none now. */
bool credential_next(const struct credentials *c, struct credential_found *found);

#endif
