/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a client: see client.h for the environment that they come from. */
#include "client/conn/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/oldlibc.h"
#include "base/units.h"
#include "client/conn/client.h"

static SL_AT_START struct settings s;
static SL_AT_START _Atomic uint32_t state; /* 0 not read, 1 being read, 2 read */
static SL_AT_START struct {
	uint64_t device, inode; /* inode 0: it had none */
} err;				/* stderr, when the program started */

/* ---- messages ---- */

/* The program may have closed its stderr and opened a file under the number. */
static bool err_is_ours(void)
{
	struct stat st;

	return err.inode && sl_fstat(2, &st) == 0 && st.st_dev == err.device &&
	       st.st_ino == err.inode;
}

static void write_line(const struct iovec *parts, int count)
{
	bool file = s.log_file && strcmp(s.log_file, "-") != 0;
	int fd = 2;

	if (!file && !err_is_ours())
		return;
	if (file)
		fd = (int)syscall(SYS_openat, AT_FDCWD, s.log_file,
				  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0)
		syscall(SYS_writev, fd, parts, count);
	if (file && fd >= 0)
		syscall(SYS_close, fd);
}

void client_say(const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): wrong for files compiled twice */
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	write_line(&(struct iovec){ text, strlen(text) }, 1);
}

void client_say_parts(const char *const *parts)
{
	struct iovec iov[8];
	int count = 0;

	for (; count < 8 && parts[count]; count++)
		iov[count] =
			(struct iovec){ (void *)(uintptr_t)parts[count], strlen(parts[count]) };
	write_line(iov, count);
}

/* ---- reading the environment ---- */

static const char *const job_names[] = { "SLUICE_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
					 "FLUX_JOB_ID" };
#define JOB_NAMES (sizeof(job_names) / sizeof(job_names[0]))

const char *sl_client_job(void)
{
	for (size_t i = 0; i < JOB_NAMES; i++) {
		const char *value = getenv(job_names[i]);

		if (value && *value)
			return value;
	}
	return NULL;
}

static void job_name(char *out, const char *value)
{
	if (!value)
		snprintf(out, SL_JOB_NAME_MAX, "session-%d", (int)getsid(0));
	else
		strncpy(out, value, SL_JOB_NAME_MAX - 1); /* the rest is 0 */
	for (char *c = out; *c; c++)
		if (*c <= ' ' || *c > '~') /* the protocol has no others */
			*c = '_';
}

/* "min=100M,max=1G,weight=4,period=20": `sluice run` has checked it, so errors are ignored.
 */
static void job_conf(struct sl_hello *h, const char *text)
{
	char copy[640], *save = NULL;

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

bool client_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at && *at;) {
		const char *end = strchrnul(at, ',');

		if ((size_t)(end - at) == length && !memcmp(at, name, length))
			return true;
		at = *end ? end + 1 : end;
	}
	return false;
}

/* Values found in the environment; NULL: not set. */
struct found {
	const char *root, *socket, *mode, *log, *timeout, *fallback, *secret_file, *conf, *bypass;
	const char *gate, *uring, *strict;
	const char *job[JOB_NAMES];
};

static const char *value_of(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(entry, name, length) && entry[length] == '=' ? entry + length + 1 : NULL;
}

/* One pass over the environment: every program that starts does this. */
static void look_through(struct found *f)
{
	const struct {
		const char *name, **value;
	} own[] = {
		{ "ROOT", &f->root },
		{ "SOCKET", &f->socket },
		{ "MODE", &f->mode },
		{ "LOG", &f->log },
		{ "TIMEOUT", &f->timeout },
		{ "FALLBACK", &f->fallback },
		{ "SECRET_FILE", &f->secret_file },
		{ "JOB_CONF", &f->conf },
		{ "BYPASS", &f->bypass },
		{ "GATE", &f->gate },
		{ "IO_URING", &f->uring },
		{ "STRICT", &f->strict },
	};

	for (char **at = environ; at && *at; at++) {
		bool ours = !strncmp(*at, "SLUICE_", 7);
		const char *value;

		for (size_t i = 0; ours && i < sizeof(own) / sizeof(own[0]); i++)
			if ((value = value_of(*at + 7, own[i].name)) && !*own[i].value)
				*own[i].value = value;
		for (size_t i = 0; strchr("SPLF", **at) && i < JOB_NAMES; i++)
			if ((value = value_of(*at, job_names[i])) && !f->job[i])
				f->job[i] = value;
	}
}

/* A copy, since the program may change its environment; in as few pages as possible. */
static char *keep(const char *text)
{
	static SL_AT_START char few[512];
	static SL_AT_START size_t few_used;
	static char more[4 * PATH_MAX];
	static size_t more_used;
	size_t n = strlen(text) + 1;

	if (n <= sizeof(few) - few_used) {
		few_used += n;
		return memcpy(few + few_used - n, text, n);
	}
	if (n > sizeof(more) - more_used)
		return NULL;
	more_used += n;
	return memcpy(more + more_used - n, text, n);
}

static void read_settings(void)
{
	const char *job = NULL;
	struct found f = { 0 };
	struct stat st;
	char *root;

	/* The environment of a set-uid program is its caller's. */
	if (getauxval(AT_SECURE))
		return;
	look_through(&f);
	if (f.log && *f.log)
		s.log_file = keep(f.log);
	if (sl_fstat(2, &st) == 0) {
		err.device = st.st_dev;
		err.inode = st.st_ino;
	}
	s.strict = f.strict && !strcmp(f.strict, "1");
	if (!f.root || !f.socket || f.root[0] != '/' || strlen(f.socket) >= sizeof(s.socket) ||
	    strlen(f.root) >= PATH_MAX ||
	    (!s.strict && client_listed(f.bypass, program_invocation_short_name)) ||
	    !(root = keep(f.root)))
		return;
	for (size_t length = strlen(root); length > 1 && root[length - 1] == '/'; length--)
		root[length - 1] = 0;
	s.root = root;
	strncpy(s.socket, f.socket, sizeof(s.socket) - 1);
	s.timeout_ns = INT64_C(30000000000);
	s.silent_ns = INT64_C(5000000000);
	if (f.timeout && !sl_parse_time(f.timeout, &s.timeout_ns))
		s.silent_ns = s.timeout_ns;
	s.direct = f.fallback && !strcmp(f.fallback, "direct");
	s.hello.version = SL_PROTO_VERSION;
	s.tcp = !strncmp(s.socket, TCP_PREFIX, strlen(TCP_PREFIX));
	s.forward = s.tcp || (f.mode && !strcmp(f.mode, "forward"));
	s.hello.caps = s.tcp ? 0 : SL_CAP_SHM;
	s.gate = f.gate && f.gate[0] == '/' ? keep(f.gate) : NULL;
	s.passive = f.gate && !strcmp(f.gate, "-");
	s.bypass = f.bypass ? keep(f.bypass) : NULL;
	s.timeout = f.timeout ? keep(f.timeout) : NULL;
	s.uring = f.uring && !strcmp(f.uring, "allow");
	s.secret_file = f.secret_file ? keep(f.secret_file) : NULL;
	s.secret_file = s.secret_file ? s.secret_file : "";
	for (size_t i = 0; i < JOB_NAMES && !job; i++)
		job = f.job[i] && *f.job[i] ? f.job[i] : NULL;
	job_name(s.hello.job, job);
	if (f.conf) {
		strncpy(s.conf, f.conf, sizeof(s.conf) - 1);
		job_conf(&s.hello, f.conf);
	}
	s.enabled = true;
}

/* Separate from the next function, which every call of every program executes. */
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

void client_set_gated(void)
{
	client_settings();
	s.gated = true;
}

bool sl_client_enabled(void)
{
	return client_settings()->enabled;
}

bool sl_client_far(void)
{
	return client_settings()->enabled && client_settings()->tcp;
}

const char *sl_client_root(void)
{
	return client_settings()->enabled ? client_settings()->root : NULL;
}
