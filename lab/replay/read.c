/* SPDX-License-Identifier: Apache-2.0 */
/* Read a trace record by record, and describe the damage of a bad one: replay.h. */
#include "lab/replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cli.h"

#define MAGIC (sizeof(SL_TRACE_MAGIC) - 1)

int replay_open(struct replay_trace *t, const char *cmd, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes = NULL;

	*t = (struct replay_trace){ .cmd = cmd, .path = path };
	if (fd < 0 || fstat(fd, &st)) {
		cli_fail(cmd, "cannot read %s: %s.", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return CLI_FAILED;
	}
	if (S_ISREG(st.st_mode) && st.st_size > 0)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return cli_fail(cmd, "cannot read %s: %s.", path, strerror(errno));
	t->bytes = bytes;
	t->size = bytes ? (size_t)st.st_size : 0;
	if (t->size < MAGIC || memcmp(bytes, SL_TRACE_MAGIC, MAGIC) != 0) {
		replay_close(t);
		cli_fail(cmd, "%s is not a trace; 'sluice up --trace' makes them.", path);
		return CLI_USAGE;
	}
	replay_rewind(t);
	return CLI_OK;
}

void replay_close(struct replay_trace *t)
{
	if (t->bytes)
		munmap((void *)(uintptr_t)t->bytes, t->size);
	t->bytes = NULL;
}

void replay_rewind(struct replay_trace *t)
{
	t->at = MAGIC;
	t->records = 0;
}

int replay_next(struct replay_trace *t, struct sl_trace_record *r)
{
	long size;

	if (t->at == t->size)
		return 0;
	size = sl_trace_decode(t->bytes + t->at, t->size - t->at, r);
	if (size < 0)
		return (int)size;
	if (size == 0)
		return -ENODATA;
	if ((t->records == 0) != (r->type == SL_TRACE_CONFIG))
		return -EPROTO;
	t->at += (size_t)size;
	t->records++;
	return 1;
}

int replay_damaged(const struct replay_trace *t, int rc, const char *text, const char *so_far)
{
	char whole[200];

	if (rc == -ENODATA)
		snprintf(whole, sizeof(whole), "is cut off within record %llu, at byte %zu",
			 (unsigned long long)t->records + 1, t->at);
	else if (rc < 0)
		snprintf(whole, sizeof(whole),
			 "is damaged: the data at byte %zu is not record %llu", t->at,
			 (unsigned long long)t->records + 1);
	else
		snprintf(whole, sizeof(whole), "is damaged: record %llu %s",
			 (unsigned long long)t->records, text);
	cli_fail(t->cmd, "%s %s.%s", t->path, whole, so_far);
	return CLI_USAGE;
}
