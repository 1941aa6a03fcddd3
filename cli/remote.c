/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node on another machine, asked over TCP. `sluice run --connect` does so before it becomes the
 * program: so that a wrong address or secret, and rights that the node does not give, are told here
 * and not by a program whose I/O fails.
 */
#include "cli/remote.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/secret.h"
#include "cli/cli.h"
#include "client/tcp.h"
#include "wire/proto.h"

#define TIMEOUT_S 10

static bool rm_send(int sock, const void *bytes, size_t length)
{
	return send(sock, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static bool rm_receive(int sock, void *bytes, size_t length)
{
	return length == 0 || recv(sock, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

/* Send a frame and take the one that answers it, with its payload as text. 0 or -errno. */
static int rm_exchange(int sock, struct sl_frame *f, const void *payload, char **text)
{
	unsigned char head[SL_FRAME_BYTES];

	*text = NULL;
	sl_frame_encode(f, head);
	if (!rm_send(sock, head, sizeof(head)) || !rm_send(sock, payload, f->length) ||
	    !rm_receive(sock, head, sizeof(head)))
		return -ENOTCONN;
	if (sl_frame_decode(head, f))
		return -EPROTO;
	*text = calloc(1, (size_t)f->length + 1);
	if (!*text)
		return -ENOMEM;
	if (rm_receive(sock, *text, f->length))
		return 0;
	free(*text);
	*text = NULL;
	return -ENOTCONN;
}

static int rm_failed(struct remote *r, int error)
{
	remote_close(r);
	if (error == -ENOTCONN)
		return cli_fail(r->cmd, "%s does not answer as a node does, or not at all.",
				r->address);
	return cli_fail(r->cmd, "talking to %s: %s.", r->address, strerror(-error));
}

static int rm_secret(const char *cmd, const char *file, char secret[SL_SECRET_BYTES])
{
	int rc = sl_secret_read(file, secret);

	if (!rc)
		return CLI_OK;
	return cli_fail(cmd, "cannot use the secret in %s: %s.", file,
			rc == -EPERM	? "it has to be your own file, with mode 0600"
			: rc == -EINVAL ? "it has to be one line of 1 to 63 characters"
					: strerror(-rc));
}

int remote_open(struct remote *r, const char *cmd, const char *address, const char *secret_file,
		const char *job)
{
	struct sl_frame f = { .type = SL_HELLO, .length = SL_HELLO_BYTES, .tag = 1 };
	struct sl_hello hello = { .version = SL_PROTO_VERSION, .pid = (uint32_t)getpid() };
	unsigned char bytes[SL_HELLO_BYTES];
	char *text;
	int rc;

	*r = (struct remote){ .cmd = cmd, .address = address, .sock = -1 };
	_Static_assert(sizeof(hello.secret) == SL_SECRET_BYTES, "they are copied as they are");
	if ((rc = rm_secret(cmd, secret_file, hello.secret)))
		return rc;
	snprintf(hello.job, sizeof(hello.job), "%s", job);
	r->sock = tcp_dial(address, TIMEOUT_S);
	if (r->sock == -EADDRNOTAVAIL)
		return cli_fail(cmd, "the host '%.*s' is unknown: no address is found for it.",
				(int)(strrchr(address, ':') - address), address);
	if (r->sock < 0)
		return cli_fail(cmd,
				"cannot reach a node at %s. Is 'sluice up --listen' running "
				"there?",
				address);
	sl_hello_encode(&hello, bytes);
	if ((rc = rm_exchange(r->sock, &f, bytes, &text)))
		return rm_failed(r, rc);
	if (f.type != SL_WELCOME) {
		rc = cli_fail(cmd, "the node at %s does not let us in: %s.", address,
			      *text ? text : strerror(f.status));
		remote_close(r);
	}
	free(text);
	return rc;
}

int remote_ask(struct remote *r, const char *line, char **answer)
{
	struct sl_frame f = { .type = SL_CONTROL, .length = (uint32_t)strlen(line), .tag = 2 };
	char *text;
	int rc = rm_exchange(r->sock, &f, line, &text), status = CLI_OK;

	if (rc)
		return rm_failed(r, rc);
	if (f.status)
		status = cli_fail(r->cmd, "%s.", *text ? text : strerror(f.status));
	if (answer && !status)
		*answer = text;
	else
		free(text);
	return status;
}

void remote_close(struct remote *r)
{
	if (r->sock >= 0)
		close(r->sock);
	r->sock = -1;
}
