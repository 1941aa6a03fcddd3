/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says (client.h lists it), read once; and saying something to the user. */
#ifndef SL_CLIENT_SETTINGS_H
#define SL_CLIENT_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "wire/proto.h"

#define TCP_PREFIX   "tcp:"
#define SOCKET_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)

struct settings {
	bool enabled, direct, tcp, gate;
	char root[PATH_MAX], socket[SOCKET_BYTES], secret_file[PATH_MAX];
	struct sl_hello hello; /* but for pid and secret */
	int64_t timeout_ns;
};

const struct settings *client_settings(void);
/* A line of what its user has to know. */
void client_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
