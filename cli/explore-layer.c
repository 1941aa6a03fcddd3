/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer of a live exploration: started and stopped by `sluice up` and `sluice down`, as people
 * do it, in a runtime directory of its own, so that no other layer is touched.
 *
 * Members of a layer outlive who started them. So that none is left when an exploration is killed,
 * a process waits at a pipe: it hears a byte at the end, or without one that nobody is there any
 * more.
 */
#include "cli/explore-layer.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/layer.h"
#include "client/client.h"

#define ARGS	 24
#define KNOWN_MS 10000

static int yl_watch = -1; /* the pipe */
static pid_t yl_watcher;

/* ---- commands ---- */

static void yl_become(const struct private *p, const char *const *args)
{
	char said[128];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), log;

	setsid(); /* what is typed at this program is not for it */
	snprintf(said, sizeof(said), "%s/said", p->runtime);
	log = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (null >= 0 && log >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 && dup2(log, 2) >= 0)
		execv("/proc/self/exe", (char *const *)(uintptr_t)args);
	_exit(127);
}

/* The exit status of a command of this program. */
static int yl_command(const struct private *p, const char *const *args)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		yl_become(p, args);
	if (pid < 0)
		return cli_fail(EXPLORE_CMD, "cannot start a process: %s.", strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_FAILED;
}

static int yl_not_up(const struct private *p)
{
	char path[128], text[1000] = "";
	FILE *f;
	size_t n = 0;

	if (private_interrupted)
		return CLI_FAILED;
	snprintf(path, sizeof(path), "%s/said", p->runtime);
	if ((f = fopen(path, "r"))) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return cli_fail(EXPLORE_CMD, "a layer did not start%s%s", *text ? ": " : ".", text);
}

int explore_layer_up(struct private *p, const struct explore_spec *s, const struct explore_cell *c)
{
	char number[16], order[EXPLORE_TEXT], share[EXPLORE_TEXT], admit[EXPLORE_TEXT];
	/* Orders can only be compared by a node that sees all requests. */
	const char *args[ARGS] = { "sluice", "up", "--ask-always", "--policy", order };
	unsigned n = 5;

	snprintf(order, sizeof(order), "order=%s", s->order[c->order]);
	if (c->ionodes > 1) {
		snprintf(number, sizeof(number), "%u", c->ionodes);
		args[n++] = "--ionodes";
		args[n++] = number;
	}
	if (s->share) {
		snprintf(share, sizeof(share), "share=%s", s->share);
		args[n++] = "--policy";
		args[n++] = share;
	}
	if (s->admit) {
		snprintf(admit, sizeof(admit), "admit=%s", s->admit);
		args[n++] = "--policy";
		args[n++] = admit;
	}
	if (s->capacity) {
		args[n++] = "--capacity";
		args[n++] = s->capacity;
	}
	if (c->device->name[0]) {
		args[n++] = "--device-model";
		args[n++] = c->device->name;
	}
	args[n++] = p->dir;
	if (!yl_command(p, args))
		return CLI_OK;
	return yl_not_up(p);
}

void explore_layer_down(struct private *p)
{
	static const char *const args[] = { "sluice", "down", "--all", "--if-up", NULL };

	yl_command(p, args);
}

/* ---- life ---- */

static void yl_wait(struct private *p, int pipe)
{
	char byte;
	ssize_t n;

	setsid();
	/*
	 * Who waits for the end of its output does not wait for us; nor is the file of runs locked
	 * while we stop the layer of one that was killed.
	 */
	if (dup2(pipe, 0) < 0)
		_exit(1);
	pipe = 0;
	close_range(1, ~0U, 0);
	while ((n = read(pipe, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n != 1) {
		p->procs = 0; /* died with their parent; their numbers may be others' by now */
		explore_layer_down(p);
		private_end(p, CLI_OK);
	}
	_exit(0);
}

int explore_layer_begin(struct private *p)
{
	int ends[2];

	setenv("SLUICE_RUNTIME", p->runtime, 1);
	if (pipe2(ends, O_CLOEXEC))
		return cli_fail(EXPLORE_CMD, "cannot make a pipe: %s.", strerror(errno));
	fflush(NULL);
	yl_watcher = fork();
	if (yl_watcher == 0) {
		close(ends[1]);
		yl_wait(p, ends[0]);
	}
	close(ends[0]);
	yl_watch = ends[1];
	if (yl_watcher < 0)
		return cli_fail(EXPLORE_CMD, "cannot start a process: %s.", strerror(errno));
	return CLI_OK;
}

void explore_layer_end(struct private *p)
{
	if (yl_watch < 0)
		return;
	explore_layer_down(p);
	if (write(yl_watch, "e", 1) != 1) {
		/* It has ended before us, and nothing is left for it to do. */
	}
	close(yl_watch);
	yl_watch = -1;
	while (yl_watcher > 0 && waitpid(yl_watcher, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ---- where jobs are ---- */

static int yl_socket(bool controller, uint32_t node, char out[108])
{
	struct layer_member m;
	struct layer l;
	int status = layer_open(&l, EXPLORE_CMD, NULL, false);

	if (status)
		return status;
	layer_member(&l, node, controller, &m);
	layer_close(&l);
	memcpy(out, m.socket, 108);
	return CLI_OK;
}

int explore_layer_map(const char *job, uint32_t ionodes)
{
	char line[512], path[108], *answer = NULL;
	size_t n = (size_t)snprintf(line, sizeof(line), "map %s ", job);
	int rc = -ENOENT, status = yl_socket(true, 0, path);

	if (status)
		return status;
	for (uint32_t i = 0; i < ionodes && n < sizeof(line); i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, i ? ",%u" : "%u", i);
	/* It hears of jobs and nodes from the nodes' reports. */
	for (int ms = 0; ms < KNOWN_MS && !private_interrupted; ms += 10) {
		free(answer);
		answer = NULL;
		rc = sl_client_control(path, line, &answer);
		if (!rc)
			break;
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	}
	if (rc && !private_interrupted)
		cli_fail(EXPLORE_CMD, "the controller does not take '%s': %s.", line,
			 answer && *answer ? answer : strerror(-rc));
	free(answer);
	return rc ? CLI_FAILED : CLI_OK;
}

int64_t explore_layer_clients(uint32_t node)
{
	char path[108], *answer = NULL;
	const cJSON *job;
	cJSON *tree = NULL;
	int64_t clients = -1;

	if (!yl_socket(false, node, path) && !sl_client_control(path, "status", &answer))
		tree = cJSON_Parse(answer);
	if (tree) {
		clients = 0;
		cJSON_ArrayForEach(job, cJSON_GetObjectItemCaseSensitive(tree, "jobs"))
		{
			const cJSON *n = cJSON_GetObjectItemCaseSensitive(job, "clients");

			clients += cJSON_IsNumber(n) ? (int64_t)n->valuedouble : 0;
		}
	}
	cJSON_Delete(tree);
	free(answer);
	return clients;
}
