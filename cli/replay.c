/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice replay`: run a recording of a node again. Without a layer against a scheduler, to see
 * that it decides as it did (replay-check.c); with one against that (replay-live.c). This file is
 * the command, and reads the file.
 */
#include "cli/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

#define MAGIC (sizeof(SL_TRACE_MAGIC) - 1)

/* ---- the file ---- */

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
			 "is damaged: what stands at byte %zu is not record %llu", t->at,
			 (unsigned long long)t->records + 1);
	else
		snprintf(whole, sizeof(whole), "is damaged: record %llu %s",
			 (unsigned long long)t->records, text);
	cli_fail(t->cmd, "%s %s.%s", t->path, whole, so_far);
	return CLI_USAGE;
}

/* ---- the command ---- */

static int help(void)
{
	puts("usage: sluice replay [--check] TRACE\n"
	     "       sluice replay --name LAYER [--speed X] TRACE\n"
	     "\n"
	     "Runs a recording again that 'sluice up --trace FILE' has made. --check, the\n"
	     "default, says the same to a fresh scheduler and compares every decision with the\n"
	     "recorded one. With a layer, the recorded reads and writes are done again through\n"
	     "it, at the recorded times, on files of their own that are removed afterwards.\n"
	     "\n"
	     "Options:\n"
	     "  -c, --check       compare the decisions\n"
	     "  -n, --name LAYER  do the I/O again through this layer\n"
	     "  -s, --speed X     so many times as fast as recorded; 0: as fast as it goes\n"
	     "  -j, --json        print JSON\n"
	     "  -h, --help        this text");
	return CLI_OK;
}

static int against_layer(struct replay_trace *t, const char *name, double speed, bool json)
{
	struct layer l;
	int status = layer_open(&l, REPLAY_CMD, name, false);

	if (!status && !layer_pid(&l))
		status = layer_not_up(&l, true);
	if (!status)
		status = replay_live(t, &l, speed, json);
	layer_close(&l);
	return status;
}

int cmd_replay(int argc, char **argv)
{
	const char *name = NULL, *speed_text = NULL;
	bool check = false, json = false;
	const struct cli_option options[] = {
		{ "check", 'c', .flag = &check },
		{ "name", 'n', .text = &name },
		{ "speed", 's', .text = &speed_text },
		{ "json", 'j', .flag = &json },
		{ 0 },
	};
	struct replay_trace t;
	double speed = 1;
	int status = cli_options(REPLAY_CMD, argc, argv, options, 1, help);
	char *end;

	if (status)
		return cli_end(status);
	if (speed_text) {
		speed = strtod(speed_text, &end);
		if (end == speed_text || *end || !isfinite(speed) || speed < 0)
			return cli_usage(REPLAY_CMD, "--speed: '%s' is not a number from 0.",
					 speed_text);
	}
	if (optind == argc)
		return cli_usage(REPLAY_CMD, "which trace?");
	if (check && name)
		return cli_usage(REPLAY_CMD, "--check needs no layer; give one of --check and "
					     "--name.");
	if (speed_text && !name)
		return cli_usage(REPLAY_CMD, "--speed is for --name; a check does not wait.");
	if ((status = replay_open(&t, REPLAY_CMD, argv[optind])))
		return status;
	status = name ? against_layer(&t, name, speed, json) : replay_check(&t, json, NULL);
	replay_close(&t);
	return status;
}
