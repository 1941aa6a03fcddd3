/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A secret for one connection, carried in a credential of MUNGE: see munge.c. For daemons only, not
 * for the preloaded library.
 */
#ifndef SL_WIRE_MUNGE_H
#define SL_WIRE_MUNGE_H

#include <sys/types.h>

#include "base/secret.h"
#include "wire/proto.h"

#define SL_MUNGE_ADDRESS 64
#define SL_MUNGE_TEXT	 160

/*
 * daemon: the socket of munged, "" for the usual one. Both take a round trip to munged, which may
 * not answer: not for a thread that others wait for. 0, or negative errno and a sentence:
 *	-ENOSYS       there is no library of MUNGE
 *	-EAGAIN       there is no munged
 *	-EACCES       the credential is another user's, or for another user, service or connection
 *	-EALREADY     it was used before
 *	-EPROTO       it is not a credential, or was changed, or is too old
 */
int sl_munge_make(const char *daemon, uid_t service, const unsigned char nonce[SL_NONCE_BYTES],
		  const char *address, char secret[SL_SECRET_BYTES],
		  char credential[SL_CREDENTIAL_MAX], char why[SL_MUNGE_TEXT]);
int sl_munge_take(const char *daemon, uid_t service, const unsigned char nonce[SL_NONCE_BYTES],
		  const char *address, const char *credential, char secret[SL_SECRET_BYTES],
		  char why[SL_MUNGE_TEXT]);

/*
 * The address at one end of a connection, in a form that is equal at both ends: IPv4 in IPv6 is
 * written as IPv4. 0 or -errno.
 */
int sl_munge_address(int sock, int peer, char out[SL_MUNGE_ADDRESS]);

#endif
