/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MUNGE instead of a secret in a file. The machines of a cluster share a key that only their munged
 * knows. munged signs and encrypts the text of a local process together with the uid of that
 * process, and decrypts it only for the uid that is named as the reader.
 *
 * The side that connects makes a secret for this connection alone and sends it in such a
 * credential:
 *
 *	sluice connection
 *	192.0.2.7:4400            the address it connects to
 *	<128 hex digits>          the nonce in its HELLO
 *	<60 hex digits>           the secret
 *
 * Then the greeting is that of auth.c: the listening side proves first that it knows the secret,
 * which means that munged has decrypted the credential for it, and all that follows is sealed. This
 * covers these attacks:
 *
 *	whoever has taken the port of a daemon that died     has another uid, cannot open the
 *	                                                     credential, and learns nothing
 *	a credential that is shown again                     munged remembers it; and its secret is
 *	                                                     not known to whoever copied it
 *	one that is passed on to another daemon              names another address
 *	one of another user                                  munged says whose it is
 *
 * The library is loaded when it is needed, so MUNGE is required neither on machines that do not use
 * it nor for building Sluice. Its interface has not changed since 2004; the parts that we use are
 * declared here.
 */
#include "wire/munge.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/listen.h"

#define LIBRARY "libmunge.so.2"
#define KEY	30 /* bytes of the secret */
#define TITLE	"sluice connection"

/* munge.h */
enum { OPT_CIPHER = 0, OPT_MAC = 1, OPT_SOCKET = 8, OPT_UID_RESTRICTION = 9 };
enum { CIPHER_NONE = 0, CIPHER_AES128 = 4, MAC_SHA256 = 5 };
enum {
	MUNGE_OK = 0,
	MUNGE_SOCKET = 6,
	MUNGE_TIMEOUT = 7,
	MUNGE_REPLAYED = 17,
	MUNGE_UNAUTHORIZED = 18
};

struct munge {
	void *(*ctx_create)(void);
	void (*ctx_destroy)(void *ctx);
	int (*ctx_get)(void *ctx, int option, ...);
	int (*ctx_set)(void *ctx, int option, ...);
	int (*encode)(char **credential, void *ctx, const void *payload, int length);
	int (*decode)(const char *credential, void *ctx, void **payload, int *length, uid_t *uid,
		      gid_t *gid);
	const char *(*text)(int error);
};

static struct munge munge;
static bool there;

static void load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	const struct {
		void *at;
		const char *name;
	} all[] = {
		{ &munge.ctx_create, "munge_ctx_create" },
		{ &munge.ctx_destroy, "munge_ctx_destroy" },
		{ &munge.ctx_get, "munge_ctx_get" },
		{ &munge.ctx_set, "munge_ctx_set" },
		{ &munge.encode, "munge_encode" },
		{ &munge.decode, "munge_decode" },
		{ &munge.text, "munge_strerror" },
	};

	for (size_t i = 0; library && i < sizeof(all) / sizeof(all[0]); i++) {
		void *symbol = dlsym(library, all[i].name);

		if (!symbol)
			return;
		memcpy(all[i].at, &symbol, sizeof(symbol));
	}
	there = library != NULL;
}

static int library(char why[SL_MUNGE_TEXT])
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	if (!there)
		snprintf(why, SL_MUNGE_TEXT, "there is no " LIBRARY ": install MUNGE");
	return there ? 0 : -ENOSYS;
}

/* Convert munged's error to an errno and a message. */
static int failed(int error, char why[SL_MUNGE_TEXT])
{
	snprintf(why, SL_MUNGE_TEXT, "MUNGE: %s", munge.text(error));
	return error == MUNGE_SOCKET || error == MUNGE_TIMEOUT ? -EAGAIN
	       : error == MUNGE_REPLAYED		       ? -EALREADY
	       : error == MUNGE_UNAUTHORIZED		       ? -EACCES
							       : -EPROTO;
}

static void hex(const unsigned char *bytes, size_t length, char *out)
{
	for (size_t i = 0; i < length; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void *context(const char *daemon)
{
	void *ctx = munge.ctx_create();

	if (ctx && *daemon && munge.ctx_set(ctx, OPT_SOCKET, daemon)) {
		munge.ctx_destroy(ctx);
		return NULL;
	}
	return ctx;
}

static int payload(const unsigned char nonce[SL_NONCE_BYTES], const char *address, char *out,
		   size_t size)
{
	char digits[2 * SL_NONCE_BYTES + 1];

	hex(nonce, SL_NONCE_BYTES, digits);
	return snprintf(out, size, TITLE "\n%s\n%s\n", address, digits);
}

int sl_munge_make(const char *daemon, uid_t service, const unsigned char nonce[SL_NONCE_BYTES],
		  const char *address, char secret[SL_SECRET_BYTES],
		  char credential[SL_CREDENTIAL_MAX], char why[SL_MUNGE_TEXT])
{
	unsigned char key[KEY];
	char text[400], *made = NULL;
	void *ctx;
	int length, rc = library(why);

	if (rc)
		return rc;
	if (getrandom(key, sizeof(key), 0) != sizeof(key) || !(ctx = context(daemon))) {
		snprintf(why, SL_MUNGE_TEXT, "MUNGE: out of memory");
		return -ENOMEM;
	}
	memset(secret, 0, SL_SECRET_BYTES);
	hex(key, sizeof(key), secret);
	length = payload(nonce, address, text, sizeof(text));
	length += snprintf(text + length, sizeof(text) - (size_t)length, "%s", secret);
	/* The site's defaults may be to encrypt nothing. */
	if ((rc = munge.ctx_set(ctx, OPT_UID_RESTRICTION, service)) ||
	    (rc = munge.ctx_set(ctx, OPT_CIPHER, CIPHER_AES128)) ||
	    (rc = munge.ctx_set(ctx, OPT_MAC, MAC_SHA256)) ||
	    (rc = munge.encode(&made, ctx, text, length))) {
		rc = failed(rc, why);
	} else if (strlen(made) >= SL_CREDENTIAL_MAX) {
		snprintf(why, SL_MUNGE_TEXT, "MUNGE: the credential is too long");
		rc = -EMSGSIZE;
	} else {
		strcpy(credential, made);
	}
	munge.ctx_destroy(ctx);
	free(made);
	return rc;
}

/*
 * Check that it is the text that sl_munge_make() makes for this connection, and extract the secret.
 */
static int accept_payload(const char *got, int length, const char *begin, int begins,
			  char secret[SL_SECRET_BYTES], char why[SL_MUNGE_TEXT])
{
	if (length != begins + 2 * KEY || memcmp(got, begin, (size_t)begins) != 0) {
		snprintf(why, SL_MUNGE_TEXT, "the credential is for another connection");
		return -EACCES;
	}
	memset(secret, 0, SL_SECRET_BYTES);
	memcpy(secret, got + begins, 2 * KEY);
	return 0;
}

int sl_munge_take(const char *daemon, uid_t service, const unsigned char nonce[SL_NONCE_BYTES],
		  const char *address, const char *credential, char secret[SL_SECRET_BYTES],
		  char why[SL_MUNGE_TEXT])
{
	uid_t uid = (uid_t)-1, reader = (uid_t)-1;
	int cipher = CIPHER_NONE, length = 0, begins, rc = library(why);
	char begin[400];
	void *ctx, *got = NULL;

	if (rc)
		return rc;
	if (!(ctx = context(daemon))) {
		snprintf(why, SL_MUNGE_TEXT, "MUNGE: out of memory");
		return -ENOMEM;
	}
	begins = payload(nonce, address, begin, sizeof(begin));
	rc = munge.decode(credential, ctx, &got, &length, &uid, NULL);
	if (rc) {
		rc = failed(rc, why);
	} else if (uid != service) {
		snprintf(why, SL_MUNGE_TEXT, "the credential is of uid %u, not of uid %u",
			 (unsigned)uid, (unsigned)service);
		rc = -EACCES;
	} else if (munge.ctx_get(ctx, OPT_UID_RESTRICTION, &reader) || reader != service ||
		   munge.ctx_get(ctx, OPT_CIPHER, &cipher) || cipher == CIPHER_NONE) {
		snprintf(why, SL_MUNGE_TEXT, "others can read the credential");
		rc = -EACCES;
	} else {
		rc = accept_payload(got, length, begin, begins, secret, why);
	}
	if (got)
		explicit_bzero(got, (size_t)length);
	free(got);
	munge.ctx_destroy(ctx);
	return rc;
}

int sl_munge_address(int sock, int peer, char out[SL_MUNGE_ADDRESS])
{
	struct sockaddr_storage at = { 0 };
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&at;
	socklen_t length = sizeof(at);

	if (peer ? getpeername(sock, (struct sockaddr *)&at, &length)
		 : getsockname(sock, (struct sockaddr *)&at, &length))
		return -errno;
	if (at.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
		struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = six->sin6_port };

		memcpy(&four.sin_addr, six->sin6_addr.s6_addr + 12, 4);
		memcpy(&at, &four, sizeof(four));
		length = sizeof(four);
	}
	listen_name((struct sockaddr *)&at, length, out);
	return 0;
}
