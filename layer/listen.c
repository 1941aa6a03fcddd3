/* SPDX-License-Identifier: Apache-2.0 */
/* A layer that programs on other machines use: see listen.h. */
#include "layer/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define SECRET_BYTES 24 /* as 48 hexadecimal digits; the protocol takes 63 characters */

int layer_make_secret(const char *path)
{
	unsigned char random[SECRET_BYTES];
	char text[2 * SECRET_BYTES + 2];
	int fd, error;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return layer_fail(-errno, "cannot make a secret: %s.", strerror(errno));
	for (size_t i = 0; i < SECRET_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", random[i]);
	text[2 * SECRET_BYTES] = '\n';
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	error = fd < 0 || write(fd, text, 2 * SECRET_BYTES + 1) != 2 * SECRET_BYTES + 1 ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (error)
		return layer_fail(-error, "cannot write %s: %s.", path, strerror(error));
	return 0;
}

int layer_secret(const struct layer *l, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%.200s/secret", l->dir);
	/* Keep the secret of a node that died: programs that wait for its successor know it. */
	return access(path, R_OK) == 0 ? 0 : layer_make_secret(path);
}

unsigned layer_port(const char *log)
{
	char line[1000];
	unsigned port = 0;
	FILE *f = fopen(log, "re");

	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, "tcp="), *end = at ? strstr(at, " listening") : NULL;

		while (end && end > at && end[-1] != ':')
			end--;
		if (end && end > at)
			sscanf(end, "%u", &port);
	}
	if (f)
		fclose(f);
	return port;
}

int layer_note_address(const struct layer *l, const char *at)
{
	static const char *const all[] = { "", "0.0.0.0", "[::]", "::", "*" };
	const char *colon = strrchr(at, ':');
	char host[256] = "", name[256], text[300], log[PATH_MAX];
	unsigned port = 0;

	snprintf(host, sizeof(host), "%.*s", (int)(colon - at), at);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(host, all[i]) && gethostname(name, sizeof(name)) == 0) {
			name[sizeof(name) - 1] = 0;
			memcpy(host, name, sizeof(host));
		}
	sscanf(colon + 1, "%u", &port);
	snprintf(log, sizeof(log), "%.200s/log", l->dir);
	if (!port && !(port = layer_port(log)))
		return layer_fail(-ENODATA,
				  "the log does not contain the port; choose a port, or use "
				  "--log-level info.");
	snprintf(text, sizeof(text), "%s:%u\n", host, port);
	if (layer_write(l, "listen", text))
		return layer_fail(-EIO, "cannot write into %s.", l->dir);
	return 0;
}

int layer_address(const struct layer *l, char out[300])
{
	return layer_read(l, "listen", out, 300);
}
