/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice sim --import-darshan FILE...`: a scenario with one job for each log. How phases are found
 * is in sim/darshan.c.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/units.h"
#include "lab/study/asked.h"
#include "sim/darshan.h"

#define TEXT 400

static void sg_describe(FILE *f, const char *path, const struct sl_app *app,
			const struct sl_darshan *d)
{
	double bytes = (double)d->read_bytes + (double)d->written_bytes;

	fprintf(f, "# %s: ", app->name);
	sim_asked_word(f, path);
	fprintf(f,
		", from %s of Darshan:\n"
		"#   %.0f bytes (%.0f read, %.0f written) in %u phase%s, %u process%s, %g s",
		d->dxt ? "the trace" : "the counters", bytes, (double)d->read_bytes,
		(double)d->written_bytes, d->n_phases, d->n_phases == 1 ? "" : "s", d->procs,
		d->procs == 1 ? "" : "es", d->run_s);
	if (d->n_phases > 1)
		fprintf(f, ", period %g s", sl_darshan_period_s(d));
	fprintf(f, ";\n#   %g s after the last phase are left out.\n",
		d->run_s - d->phases[d->n_phases - 1].end_s);
}

/* Give two runs of one program different names. */
static void sg_name(struct sl_scenario *s, uint32_t i)
{
	char base[51];
	unsigned n = 1;

	snprintf(base, sizeof(base), "%.50s", *s->apps[i].name ? s->apps[i].name : "job");
	strcpy(s->apps[i].name, base);
	for (uint32_t k = 0; k < i; k++)
		if (!strcmp(s->apps[k].name, s->apps[i].name)) {
			snprintf(s->apps[i].name, SL_SIM_NAME, "%s-%u", base, ++n);
			k = UINT32_MAX; /* again from the first */
		}
}

static int sg_logs(const struct sim_asked *a, const struct sl_darshan_options *o,
		   struct sl_scenario *s, struct sl_darshan *d)
{
	char err[TEXT];

	for (int i = 0; i < a->n_logs; i++) {
		int rc = sl_darshan_load(a->logs[i], o, &d[i], err, sizeof(err));

		if (rc == -EINVAL) {
			cli_fail(SIM_ASKED_CMD, "%s.", err);
			return CLI_USAGE;
		}
		if (rc || (rc = sl_darshan_app(&d[i], &s->apps[i])))
			return cli_fail(SIM_ASKED_CMD, "%s.",
					rc == -ENOMEM ? "out of memory" : err);
		s->n_apps++;
		sg_name(s, (uint32_t)i);
		s->platform.bandwidth_bps =
			fmax(s->platform.bandwidth_bps, round(sl_darshan_peak_bps(&d[i])));
	}
	return CLI_OK;
}

int sim_import(const struct sim_asked *a)
{
	struct sl_darshan_options o = { .gap_s = 1 };
	struct sl_darshan *d = calloc((size_t)a->n_logs, sizeof(*d));
	struct sl_scenario s = { .platform.servers = 1 };
	uint64_t bps = 0, iterations = 0;
	FILE *f = NULL;
	int rc = CLI_OK;

	s.apps = calloc((size_t)a->n_logs, sizeof(*s.apps));
	if (!d || !s.apps)
		rc = cli_fail(SIM_ASKED_CMD, "out of memory.");
	if (!rc && sim_asked_value(a, OPT_GAP))
		rc = sim_asked_real("gap", sim_asked_value(a, OPT_GAP), 1, &o.gap_s);
	if (!rc && sim_asked_value(a, OPT_ITERATIONS))
		rc = sim_asked_count("iterations", sim_asked_value(a, OPT_ITERATIONS), 1000000,
				     &iterations);
	if (!rc && sim_asked_value(a, OPT_BANDWIDTH) &&
	    (sl_parse_rate(sim_asked_value(a, OPT_BANDWIDTH), &bps) || !bps))
		rc = cli_usage(SIM_ASKED_USE,
			       "--bandwidth '%s' is not a rate like 200M or 1.5GiB/s.",
			       sim_asked_value(a, OPT_BANDWIDTH));
	o.iterations = (uint32_t)iterations;
	if (!rc)
		rc = sg_logs(a, &o, &s, d);
	if (!rc && bps)
		s.platform.bandwidth_bps = (double)bps;
	if (!rc && !(s.platform.bandwidth_bps > 0))
		rc = cli_usage(SIM_ASKED_USE,
			       "the phases are too short to tell the bandwidth: give it with "
			       "--bandwidth.");
	if (!rc)
		f = sim_asked_open(a);
	if (f) {
		for (int i = 0; i < a->n_logs; i++)
			sg_describe(f, a->logs[i], &s.apps[i], &d[i]);
		sim_asked_command(f, a);
		rc = sim_asked_close(a, f, sl_scenario_save(f, &s));
	} else if (!rc) {
		rc = CLI_FAILED;
	}
	for (int i = 0; d && i < a->n_logs; i++)
		sl_darshan_free(&d[i]);
	free(d);
	sl_scenario_free(&s);
	return rc;
}
