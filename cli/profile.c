/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice profile DIR`: how much faster a file system serves sequential requests than random ones,
 * by operation and request size. lab/profile/run.c has the method; the result is stored where the
 * daemon looks for it (detect/profile.h).
 */
#include "lab/profile/profile.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "model/device-spec.h"

#define CMD		PROFILE_CMD
#define LEAST_SIZE	4096
#define MOST_SIZE	(UINT64_C(64) << 20)
#define DEFAULT_SIZES	"8Ki..8Mi"
#define DEFAULT_TIME	"60s"
#define FILE_BYTES	(UINT64_C(1) << 30)
#define MOST_FILE_BYTES (UINT64_C(1) << 50)
#define FILL_PART	5 /* part of the time used to make the file larger than the minimum */
#define SECOND_NS	INT64_C(1000000000)
#define HOUR_NS		(3600 * SECOND_NS)

struct asked {
	const char *ops, *sizes, *time, *output, *file_size, *model;
	bool json, show, buffered;
};

/* ---- options ---- */

static int read_ops(const char *text, bool op[2])
{
	char copy[20], *save = NULL;

	if (!text)
		text = "read,write";
	if (snprintf(copy, sizeof(copy), "%s", text) < (int)sizeof(copy)) {
		for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
			if (!strcmp(w, "read"))
				op[SL_READ] = true;
			else if (!strcmp(w, "write"))
				op[SL_WRITE] = true;
			else
				return cli_usage(CMD, "--ops must be of read and write, not '%s'.",
						 text);
		}
	}
	if (!op[SL_READ] && !op[SL_WRITE])
		return cli_usage(CMD, "--ops must be of read and write, not '%s'.", text);
	return CLI_OK;
}

/* Round to the nearest power of two, so 8K means 8Ki. */
static int read_size(const char *text, uint64_t *out)
{
	uint64_t bytes = 0;

	if (sl_parse_bytes(text, &bytes))
		return cli_usage(CMD, "--sizes: '%s' is no size; write one like 64Ki.", text);
	if (bytes < 1)
		bytes = 1;
	*out = bytes > MOST_SIZE * 2 ? bytes : (uint64_t)exp2(round(log2((double)bytes)));
	if (*out < LEAST_SIZE || *out > MOST_SIZE)
		return cli_usage(CMD, "--sizes must be from 4KiB to 64MiB, not '%s'.", text);
	return CLI_OK;
}

static int read_range(const char *text, char *dots, char *copy, struct profile_plan *plan)
{
	uint64_t low = 0, high = 0;
	int status;

	*dots = 0;
	if ((status = read_size(copy, &low)) || (status = read_size(dots + 2, &high)))
		return status;
	if (low > high)
		return cli_usage(CMD, "--sizes '%s' ends below where it begins.", text);
	for (; low <= high; low *= 2)
		plan->size_bytes[plan->sizes++] = low;
	return CLI_OK;
}

static int read_sizes(const char *text, struct profile_plan *plan)
{
	char copy[300], *dots, *save = NULL;

	if (!text)
		text = DEFAULT_SIZES;
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return cli_usage(CMD, "--sizes is too long.");
	dots = strstr(copy, "..");
	if (dots)
		return read_range(text, dots, copy, plan);
	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		uint64_t size = 0;
		int status = read_size(w, &size);

		if (status)
			return status;
		if (plan->sizes && plan->size_bytes[plan->sizes - 1] >= size)
			return cli_usage(CMD,
					 "--sizes must ascend, as powers of two: '%s' does not, "
					 "in '%s'.",
					 w, text);
		plan->size_bytes[plan->sizes++] = size; /* ascending powers of two: there are few */
	}
	if (!plan->sizes)
		return cli_usage(CMD, "--sizes is empty.");
	return CLI_OK;
}

static int read_room(const struct asked *a, const struct profile_plan *plan,
		     struct profile_room *room)
{
	char least[32];

	room->largest_bytes = plan->size_bytes[plan->sizes - 1];
	room->least_bytes = PROFILE_SLOTS * room->largest_bytes;
	room->most_bytes = FILE_BYTES > room->least_bytes ? FILE_BYTES : room->least_bytes;
	room->fill_ns = plan->time_ns / FILL_PART;
	room->time_ns = plan->time_ns;
	room->buffered = a->buffered;
	if (!a->file_size)
		return CLI_OK;
	if (sl_parse_bytes(a->file_size, &room->most_bytes) || room->most_bytes > MOST_FILE_BYTES)
		return cli_usage(CMD, "--file-size: '%s' is no size; write one like 4Gi.",
				 a->file_size);
	if (room->most_bytes < room->least_bytes)
		return cli_usage(CMD, "--file-size must be %u times the largest of --sizes, %s.",
				 PROFILE_SLOTS,
				 sl_format_bytes(least, sizeof(least), room->least_bytes));
	return CLI_OK;
}

static int read_time(const char *text, int64_t *ns)
{
	if (sl_parse_time(text ? text : DEFAULT_TIME, ns) || *ns < SECOND_NS || *ns > HOUR_NS)
		return cli_usage(CMD, "--time must be from 1s to 1h, not '%s'.", text);
	return CLI_OK;
}

/* ---- showing ---- */

static int show(const char *what, bool json)
{
	struct profile_facts facts = { 0 };
	char path[PATH_MAX], err[PATH_MAX + 300];
	struct sl_profile p;
	struct stat st;
	int rc = stat(what, &st) ? -errno : 0;

	if (!rc && S_ISDIR(st.st_mode))
		rc = sl_profile_path(what, path);
	else if (!rc)
		snprintf(path, sizeof(path), "%s", what);
	if (rc)
		return cli_fail(CMD, "%s: %s.", what, strerror(-rc));
	rc = sl_profile_load(path, &p, err, sizeof(err));
	if (rc == -ENOENT)
		return cli_fail(CMD,
				"the file system of %s has no profile (%s). "
				"'sluice profile %s' makes one.",
				what, path, what);
	if (rc)
		return cli_fail(CMD, "%s", err);
	facts.kept = path;
	if (json)
		profile_json(&p, &facts);
	else
		profile_table(&p, &facts);
	return CLI_OK;
}

/* ---- measuring ---- */

static void stop(int sig)
{
	profile_stop = sig;
}

static void heed(void (*handler)(int))
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction act = { .sa_handler = handler };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction old;

		/* keep ignoring a signal that is ignored (nohup) */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
	}
	signal(SIGXFSZ, SIG_IGN); /* report a limit on the size of files like any other error */
}

static void progress(const struct profile_plan *plan, uint32_t op, uint64_t size_bytes)
{
	int64_t passed_ns = plan->target.now_ns(plan->target.context) - plan->begin_ns;
	char size[32];

	fprintf(stderr, "\r%s %s: %.0f of at most %.0f s\033[K", op == SL_READ ? "read" : "write",
		sl_format_bytes(size, sizeof(size), size_bytes), (double)passed_ns / 1e9,
		(double)plan->time_ns / 1e9);
}

static int run(struct profile_plan *plan, struct sl_profile *p, double *seconds)
{
	bool terminal = isatty(STDERR_FILENO);
	int rc;

	plan->seed = 1;
	plan->progress = terminal ? progress : NULL;
	rc = profile_run(plan, p);
	*seconds = (double)(plan->target.now_ns(plan->target.context) - plan->begin_ns) / 1e9;
	if (terminal)
		fputs("\r\033[K", stderr);
	if (rc == -EINTR && profile_stop)
		return CLI_FAILED;
	if (rc == -ETIME)
		return cli_fail(CMD, "the time was too short for the minimum number of tests. Give "
				     "more --time, or smaller --sizes.");
	if (rc)
		return cli_fail(CMD, "a test failed: %s.", strerror(-rc));
	return CLI_OK;
}

static int measure(struct profile_plan *plan, const struct profile_room *room, const char *dir,
		   struct sl_profile *p, struct profile_facts *facts)
{
	struct profile_file f = { .fd = -1 };
	time_t now = time(NULL);
	char whole[PATH_MAX];
	struct tm tm;
	int status, rc;

	plan->begin_ns = profile_file(&f).now_ns(NULL);
	status = profile_file_open(&f, dir, room);
	plan->target = profile_file(&f);
	facts->file_bytes = f.bytes;
	if (!status)
		status = run(plan, p, &facts->seconds);
	snprintf(p->how, sizeof(p->how), "%s", f.direct ? "direct" : "buffered");
	snprintf(p->why, sizeof(p->why), "%s", f.why);
	profile_file_close(&f);
	if (status)
		return status;
	rc = sl_profile_device(dir, p->device, sizeof(p->device));
	if (rc)
		return cli_fail(CMD, "%s: %s.", dir, strerror(-rc));
	/* As an absolute path: it is read later from other directories. */
	snprintf(p->directory, sizeof(p->directory), "%.*s", SL_PROFILE_WORDS,
		 realpath(dir, whole) ? whole : dir);
	if (gmtime_r(&now, &tm))
		strftime(p->made, sizeof(p->made), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return CLI_OK;
}

static int simulate(struct profile_plan *plan, const struct profile_room *room,
		    const struct sl_device_model *model, const char *name, struct sl_profile *p,
		    struct profile_facts *facts)
{
	struct profile_model m;

	plan->target = profile_model(&m, model, room->most_bytes);
	snprintf(p->device, sizeof(p->device), "%s", name);
	strcpy(p->how, "model");
	facts->file_bytes = room->most_bytes;
	return run(plan, p, &facts->seconds);
}

static int keep(const struct asked *a, const char *dir, const struct sl_profile *p,
		char path[PATH_MAX])
{
	char err[PATH_MAX + 300];
	int rc = 0;

	if (a->output && snprintf(path, PATH_MAX, "%s", a->output) >= PATH_MAX)
		rc = -ENAMETOOLONG;
	else if (!a->output)
		rc = sl_profile_path(dir, path);
	if (rc)
		return cli_fail(CMD, "cannot store the profile: %s.", strerror(-rc));
	if (sl_profile_save(path, p, err, sizeof(err)))
		return cli_fail(CMD, "%s --output can name another file.", err);
	return CLI_OK;
}

static int all(const struct asked *a, const char *dir, const struct sl_device_model *model,
	       struct profile_plan *plan, const struct profile_room *room)
{
	struct sl_profile p = { 0 };
	struct profile_facts facts = { 0 };
	char path[PATH_MAX];
	int status, kept = CLI_OK;

	if (model) {
		status = simulate(plan, room, model, a->model, &p, &facts);
	} else {
		heed(stop);
		status = measure(plan, room, dir, &p, &facts);
		heed(SIG_DFL);
	}
	if (profile_stop) {
		cli_fail(CMD, "interrupted; no profile was stored.");
		raise(profile_stop);
	}
	if (status)
		return status;
	if (a->output || !model) {
		kept = keep(a, dir, &p, path);
		facts.kept = kept == CLI_OK ? path : NULL;
	}
	if (a->json)
		profile_json(&p, &facts);
	else
		profile_table(&p, &facts);
	return kept;
}

static int read_model(const char *text, struct sl_device_model *out)
{
	struct sl_guess guess = { .word = text };

	if (!sl_device_parse(text, out))
		return CLI_OK;
	for (unsigned i = 0; sl_device_preset(i); i++)
		sl_consider(&guess, sl_device_preset(i)->name);
	return cli_unknown(CMD, "device model", &guess);
}

int cmd_profile(int argc, char **argv)
{
	struct asked a = { 0 };
	const struct cli_option options[] = {
		{ "ops", 'p', "LIST", .text = &a.ops, .help = "read, write or both (default)" },
		{ "sizes", 's', "LOW..HIGH", .text = &a.sizes,
		  .help = "sizes of requests: powers of two in a range, or a list with commas; "
			  "default "
			  "8Ki..8Mi" },
		{ "time", 't', "TIME", .text = &a.time,
		  .help = "approximate time of the whole measurement; default 60s" },
		{ "file-size", 'f', "SIZE", .text = &a.file_size,
		  .help = "largest size of the file; default 1Gi" },
		{ "buffered", 'b', NULL, .flag = &a.buffered,
		  .help = "through the page cache, even if O_DIRECT is possible" },
		{ "output", 'o', "FILE", .values = "<file>", .text = &a.output,
		  .help = "store the profile in this file instead" },
		{ "show", 'S', NULL, .flag = &a.show,
		  .help = "print the stored profile; do not measure" },
		{ "device-model", 'm', "MODEL", .text = &a.model,
		  .help = "profile a model (hdd, raid, ssd, ...) in simulated time; stored only "
			  "with "
			  "--output" },
		CLI_JSON(&a.json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = CMD,
		.usage = "profile [OPTION]... DIR\n"
			 "profile --show [--json] DIR|FILE\n"
			 "profile --device-model MODEL [OPTION]...",
		.about =
			"Measures how much faster the file system of DIR serves sequential "
			"requests than random ones, by operation and request size, and stores that "
			"for the daemon. Writes to an unlinked file in DIR, which "
			"disappears with this program; uses at most half of the free space.",
		.more = "Accuracy: sluice-profile(1).",
		.options = options,
		.takes = "dir",
		.arguments = 1,
	};
	struct profile_plan plan = { 0 };
	struct profile_room room = { 0 };
	struct sl_device_model model;
	int status = cli_next(&command, argc, argv);

	if (status)
		return cli_end(status);
	if (a.show &&
	    (a.ops || a.sizes || a.time || a.file_size || a.buffered || a.output || a.model))
		return cli_usage(CMD, "--show can only be combined with --json.");
	if (a.model && (optind < argc || a.buffered))
		return cli_usage(CMD, "give either --device-model or a directory.");
	if (!a.model && optind >= argc)
		return cli_usage(CMD, "no directory given.");
	if (a.show)
		return show(argv[optind], a.json);
	if ((status = read_ops(a.ops, plan.op)) || (status = read_sizes(a.sizes, &plan)) ||
	    (status = read_time(a.time, &plan.time_ns)) || (status = read_room(&a, &plan, &room)) ||
	    (a.model && (status = read_model(a.model, &model))))
		return status;
	return all(&a, a.model ? NULL : argv[optind], a.model ? &model : NULL, &plan, &room);
}
