/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a client: see client.h for the environment that they come from. */
#include "client/settings.h"
#include "client/where.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/units.h"
#include "client/client.h"

static struct settings s;
static _Atomic uint32_t state; /* 0 not read, 1 being read, 2 read */
static char log_file[PATH_MAX];
static struct stat err; /* stderr, when the program started */

/* ---- saying something ---- */

/* The program may have closed its stderr, and a file of its own may have the number now. */
static bool err_is_ours(void)
{
	struct stat st;

	return err.st_ino && fstat(2, &st) == 0 && st.st_dev == err.st_dev &&
	       st.st_ino == err.st_ino;
}

static void write_line(const char *text, size_t length)
{
	bool file = log_file[0] && strcmp(log_file, "-") != 0;
	int fd = 2;

	if (!file && !err_is_ours())
		return;
	if (file)
		fd = (int)syscall(SYS_openat, AT_FDCWD, log_file,
				  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0)
		syscall(SYS_write, fd, text, length);
	if (file && fd >= 0)
		syscall(SYS_close, fd);
}

void client_say(const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): of files compiled twice it errs */
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	write_line(text, strlen(text));
}

/* ---- reading them ---- */

const char *sl_client_job(void)
{
	static const char *const names[] = { "SLUICE_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID",
					     "LSB_JOBID", "FLUX_JOB_ID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return value;
	}
	return NULL;
}

static void job_name(char *out)
{
	const char *value = sl_client_job();

	if (!value)
		snprintf(out, SL_JOB_NAME_MAX, "session-%d", (int)getsid(0));
	else
		snprintf(out, SL_JOB_NAME_MAX, "%s", value);
	for (char *c = out; *c; c++)
		if (*c <= ' ' || *c > '~') /* the protocol has no others */
			*c = '_';
}

/* "min=100M,max=1G,weight=4,period=20": `sluice run` has checked it, so what is wrong is ignored.
 */
static void job_conf(struct sl_hello *h, const char *text)
{
	char copy[256], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = 0;
		if (!strcmp(word, "min"))
			sl_parse_rate(value, &h->min_bps);
		else if (!strcmp(word, "max"))
			sl_parse_rate(value, &h->max_bps);
		else if (!strcmp(word, "burst"))
			sl_parse_bytes(value, &h->burst_bytes);
		else if (!strcmp(word, "period"))
			sl_parse_period(value, &h->period_ns);
		else if (!strcmp(word, "weight"))
			h->weight = (uint32_t)strtoul(value, NULL, 10);
		else if (!strcmp(word, "best_effort"))
			h->best_effort = 1;
		else if (!strcmp(word, "procs"))
			h->procs = (uint32_t)strtoul(value, NULL, 10);
		else if (!strcmp(word, "nodes"))
			h->nodes = (uint32_t)strtoul(value, NULL, 10);
	}
}

static bool bypassed(const char *list)
{
	const char *name = program_invocation_short_name;
	size_t length = strlen(name);

	for (const char *at = list; at && *at;) {
		const char *end = strchrnul(at, ',');

		if ((size_t)(end - at) == length && !memcmp(at, name, length))
			return true;
		at = *end ? end + 1 : end;
	}
	return false;
}

static void read_settings(void)
{
	const char *root = getenv("SLUICE_ROOT"), *sock = getenv("SLUICE_SOCKET"), *value;
	size_t length;

	value = getenv("SLUICE_LOG");
	snprintf(log_file, sizeof(log_file), "%s", value ? value : "");
	if (fstat(2, &err))
		err.st_ino = 0;
	if (!root || !sock || root[0] != '/' || strlen(sock) >= sizeof(s.socket) ||
	    strlen(root) >= sizeof(s.root) || bypassed(getenv("SLUICE_BYPASS")))
		return;
	snprintf(s.root, sizeof(s.root), "%s", root);
	for (length = strlen(s.root); length > 1 && s.root[length - 1] == '/'; length--)
		s.root[length - 1] = 0;
	snprintf(s.socket, sizeof(s.socket), "%s", sock);
	s.timeout_ns = INT64_C(30000000000);
	if ((value = getenv("SLUICE_TIMEOUT")))
		sl_parse_time(value, &s.timeout_ns);
	value = getenv("SLUICE_FALLBACK");
	s.direct = value && !strcmp(value, "direct");
	value = getenv("SLUICE_MODE");
	s.gate = value && !strcmp(value, "gate");
	s.hello.version = SL_PROTO_VERSION;
	s.tcp = !strncmp(s.socket, TCP_PREFIX, strlen(TCP_PREFIX));
	s.hello.caps = s.tcp ? 0 : SL_CAP_SHM | SL_CAP_SELF | SL_CAP_GATE;
	value = getenv("SLUICE_SECRET_FILE");
	snprintf(s.secret_file, sizeof(s.secret_file), "%s", value ? value : "");
	job_name(s.hello.job);
	if ((value = getenv("SLUICE_JOB_CONF")))
		job_conf(&s.hello, value);
	s.enabled = true;
}

/* Apart from the next, which every call of every program goes through. */
static __attribute__((noinline)) void read_once(void)
{
	uint32_t none = 0;

	if (atomic_compare_exchange_strong(&state, &none, 1)) {
		read_settings();
		atomic_store(&state, 2);
	}
	while (atomic_load(&state) != 2)
		sched_yield();
}

const struct settings *client_settings(void)
{
	if (atomic_load_explicit(&state, memory_order_acquire) != 2)
		read_once();
	return &s;
}

bool sl_client_enabled(void)
{
	return client_settings()->enabled;
}

bool sl_client_gated(void)
{
	return client_settings()->gate || where_direct();
}

bool sl_client_far(void)
{
	return client_settings()->enabled && client_settings()->tcp;
}

const char *sl_client_root(void)
{
	return client_settings()->enabled ? client_settings()->root : NULL;
}
