/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query a node on another machine over TCP. `sluice run --connect` does this before it executes the
 * program, so that a wrong address or secret, or a job that the node refuses, is reported here
 * instead of by failing I/O in the program.
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
#include "client/conn/tcp.h"
#include "wire/proto.h"

#define TIMEOUT_S 10

static bool rm_send(int sock, const void *bytes, size_t length)
{
	return send(sock, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* The payload of a frame as text. 0 or -errno. */
static int rm_text(int sock, const struct sl_frame *f, char **text)
{
	*text = calloc(1, (size_t)f->length + 1);
	if (!*text)
		return -ENOMEM;
	if (!sl_greet_receive(sock, *text, f->length))
		return 0;
	free(*text);
	*text = NULL;
	return -ENOTCONN;
}

/*
 * Receive a frame from the node, sealed once it has admitted us, with its payload as text. 0 or
 * -errno.
 */
static int rm_answer(struct remote *r, struct sl_frame *f, bool greeting, char **text)
{
	unsigned char head[SL_SEALED_BYTES];
	uint64_t stamp;
	bool sealed;
	int rc;

	*text = NULL;
	if (sl_greet_receive(r->sock, head, SL_FRAME_BYTES) || sl_frame_decode(head, f))
		return -ENOTCONN;
	sealed = !greeting || f->type == SL_WELCOME;
	if (sealed && sl_greet_receive(r->sock, head + SL_FRAME_BYTES, SL_SEAL_BYTES))
		return -ENOTCONN;
	if ((rc = rm_text(r->sock, f, text)) || !sealed)
		return rc;
	if (sl_unseal(&r->session.in, head, f->length ? *text : NULL, f->length, &stamp)) {
		r->session.in.count++;
		return 0;
	}
	free(*text);
	*text = NULL;
	return -EPROTO;
}

static int rm_failed(struct remote *r, int error)
{
	remote_close(r);
	if (error == -ENOTCONN)
		return cli_fail(r->cmd, "%s does not answer, or is not a node.", r->address);
	return cli_fail(r->cmd, "error while talking to %s: %s.", r->address, strerror(-error));
}

static int rm_secret(const char *cmd, const char *file, char secret[SL_SECRET_BYTES])
{
	int rc = sl_secret_read(file, secret);

	if (!rc)
		return CLI_OK;
	return cli_fail(cmd, "cannot use the secret in %s: %s.", file,
			rc == -EPERM	? "you must own the file, and its mode must be 0600"
			: rc == -EINVAL ? "it must be one line of 16 to 63 characters"
					: strerror(-rc));
}

int remote_open(struct remote *r, const char *cmd, const char *address, const char *secret_file,
		const char *job)
{
	struct sl_hello hello = { .version = SL_PROTO_VERSION, .pid = (uint32_t)getpid() };
	char secret[SL_SECRET_BYTES], *text = NULL;
	struct sl_frame f;
	int rc;

	*r = (struct remote){ .cmd = cmd, .address = address, .sock = -1 };
	if ((rc = rm_secret(cmd, secret_file, secret)))
		return rc;
	snprintf(hello.job, sizeof(hello.job), "%s", job);
	r->sock = tcp_dial(address, TIMEOUT_S);
	if (r->sock == -EADDRNOTAVAIL)
		return cli_fail(cmd, "cannot find an address for the host '%.*s'.",
				(int)(strrchr(address, ':') - address), address);
	if (r->sock < 0)
		return cli_fail(cmd,
				"cannot reach a node at %s. Is 'sluice up --listen' running "
				"there?",
				address);
	rc = sl_greet(r->sock, &hello, secret, &r->session, &f);
	if (rc == -EACCES) {
		rc = cli_fail(
			cmd,
			"the node at %s does not accept the secret in %s: it has another one, or "
			"belongs to another user.",
			address, secret_file);
		remote_close(r);
		return rc;
	}
	if (rc > 0)
		rc = rm_text(r->sock, &f, &text);
	else if (!rc)
		rc = rm_answer(r, &f, true, &text);
	if (rc)
		return rm_failed(r, rc);
	if (f.type != SL_WELCOME) {
		rc = cli_fail(cmd, "the node at %s refuses the connection: %s.", address,
			      *text ? text : strerror(f.status));
		remote_close(r);
	}
	free(text);
	return rc;
}

int remote_ask(struct remote *r, const char *line, char **answer)
{
	struct sl_frame f = { .type = SL_CONTROL, .length = (uint32_t)strlen(line), .tag = 2 };
	unsigned char head[SL_SEALED_BYTES];
	char *text;
	int rc = -ENOTCONN, status = CLI_OK;

	sl_frame_encode(&f, head);
	sl_seal(&r->session.out, head, 0, line, f.length);
	if (rm_send(r->sock, head, sizeof(head)) && rm_send(r->sock, line, f.length))
		rc = rm_answer(r, &f, false, &text);
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
