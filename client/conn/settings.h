/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from the environment (listed in client.h), read once; and messages to the user. */
#ifndef SL_CLIENT_CONN_SETTINGS_H
#define SL_CLIENT_CONN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "wire/proto.h"

#define TCP_PREFIX   "tcp:"
#define SOCKET_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)

/*
 * Variables that each program writes when it starts are together in .data, which the loader has
 * already written to; another page would cost a page fault.
 */
#define SL_AT_START __attribute__((section(".data.start")))

struct settings {
	bool enabled, direct, tcp;
	bool forward; /* the node makes all calls; else the program does, in its turn */
	bool gated;   /* a gate sees this process's calls: the library ignores them */
	bool uring;   /* a gate is to allow io_uring */
	bool strict;  /* a strict gate belongs before each program that this one executes */
	bool passive; /* behind a gate, leave all calls to it: it is the gate of another job */
	const char *root, *secret_file, *log_file;
	const char *gate;    /* the program that puts a gate before another; NULL: none is wanted */
	const char *bypass;  /* or NULL */
	const char *timeout; /* as given, or NULL */
	char socket[SOCKET_BYTES];
	char conf[640];	       /* SLUICE_JOB_CONF */
	struct sl_hello hello; /* but for pid and secret */
	int64_t timeout_ns;    /* of the forward route */
	int64_t silent_ns;     /* how long turns wait for a node that does not answer */
};

const struct settings *client_settings(void);
void client_set_gated(void);
bool client_listed(const char *list, const char *name); /* in a list with commas, or NULL */
/* Print a line for the user. */
void client_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, of parts up to a NULL: takes little stack, and may be used in a signal handler. */
void client_say_parts(const char *const *parts);

#endif
