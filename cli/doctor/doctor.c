/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice doctor`: check whether layers can run on this machine, and say what to do if not. The
 * other files of this folder have the checks; this file runs them and prints the results.
 */
#include "cli/doctor/doctor.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "cli/cli.h"

static const char cmd[] = "doctor";
static const char *const states[] = {
	[DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "fail"
};

void doctor_say(struct doctor *d, enum doctor_state state, const char *name, const char *advice,
		const char *found, ...)
{
	struct doctor_finding *more = realloc(d->finding, (d->count + 1) * sizeof(*more)), *f;
	va_list args;

	if (!more)
		return; /* out of memory: drop the finding */
	d->finding = more;
	f = &d->finding[d->count++];
	f->state = state;
	f->name = name;
	va_start(args, found);
	vsnprintf(f->found, sizeof(f->found), found, args);
	va_end(args);
	snprintf(f->advice, sizeof(f->advice), "%s", advice ? advice : "");
	d->states[state]++;
}

static void do_text(const struct doctor *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct doctor_finding *f = &d->finding[i];

		printf("%-5s %-12s ", states[f->state], f->name);
		cli_wrap(stdout, f->found, 19, 19);
		if (*f->advice) {
			printf("%19s", "");
			cli_wrap(stdout, f->advice, 19, 19);
		}
	}
	printf("\n%u ok, %u warning%s, %u failure%s\n", d->states[DOCTOR_OK],
	       d->states[DOCTOR_WARN], d->states[DOCTOR_WARN] == 1 ? "" : "s",
	       d->states[DOCTOR_FAIL], d->states[DOCTOR_FAIL] == 1 ? "" : "s");
}

static void do_json(const struct doctor *d)
{
	struct json j;

	json_begin(&j, stdout);
	json_object(&j, NULL);
	json_uint(&j, "ok", d->states[DOCTOR_OK]);
	json_uint(&j, "warn", d->states[DOCTOR_WARN]);
	json_uint(&j, "fail", d->states[DOCTOR_FAIL]);
	json_array(&j, "checks");
	for (size_t i = 0; i < d->count; i++) {
		const struct doctor_finding *f = &d->finding[i];

		json_object(&j, NULL);
		json_string(&j, "check", f->name);
		json_string(&j, "state", states[f->state]);
		json_string(&j, "found", f->found);
		json_string(&j, "advice", *f->advice ? f->advice : NULL);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
}

int cmd_doctor(int argc, char **argv)
{
	bool json = false;
	const struct cli_option options[] = {
		CLI_JSON(&json),
		{ 0 },
	};
	const struct cli_command command = {
		.name = cmd,
		.usage = "doctor [--json] [DIR]",
		.about = "Checks whether layers can run on this machine: features of the kernel, "
			 "limits, the parts of this installation, the runtime directory; and "
			 "whether a layer can serve DIR. Says what to do if something is missing, "
			 "and changes nothing.\n\nEach line is ok, warn (something will not work, "
			 "or not as well as it could) or fail (layers will not work). The exit "
			 "status is 1 if one of them is fail.",
		.more = "Manual: sluice-doctor(1).",
		.options = options,
		.takes = "dir",
		.arguments = 1,
	};
	struct doctor d = { 0 };
	int status = cli_next(&command, argc, argv);

	if (status)
		return cli_end(status);
	d.dir = argv[optind]; /* NULL after the last */
	/* Report a limit on the size of files instead of dying of the signal. */
	signal(SIGXFSZ, SIG_IGN);
	doctor_kernel(&d);
	doctor_limits(&d);
	doctor_parts(&d);
	doctor_runtime(&d);
	if (d.dir)
		doctor_dir(&d);
	doctor_helpers(&d);
	if (json)
		do_json(&d);
	else
		do_text(&d);
	free(d.finding);
	return d.states[DOCTOR_FAIL] ? CLI_FAILED : CLI_OK;
}
