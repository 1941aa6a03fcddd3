/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentences of `sluice sim` about a study: the machine and its load, before the figures;
 * warnings about their interpretation, after them; and warnings about unusual scenarios.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cli.h"
#include "base/units.h"
#include "lab/study/sim.h"

/* If the first job ends before this part of the last one's time, the run has a tail. */
#define ENDS_APART 0.75
#define LEAST_RATE 1e6 /* a lower bandwidth is probably a forgotten unit */
#define RATE_TEXT  32

static const char *wd_rate(char *buf, double bps)
{
	return sl_format_rate(buf, RATE_TEXT, (uint64_t)fmin(bps, 1e18));
}

double sim_load(const struct sim_study *s)
{
	return sl_scenario_asks_bps(&s->scenario) / s->scenario.platform.bandwidth_bps;
}

const char *sim_about(const struct sim_study *s, char *buf, size_t size)
{
	const struct sl_scenario *c = &s->scenario;
	const struct sl_platform *p = &c->platform;
	uint64_t used = sl_scenario_procs(c);
	char rate[RATE_TEXT], of[64] = "", buffer[120] = "", bytes[RATE_TEXT];

	if (p->procs && p->procs != used)
		snprintf(of, sizeof(of), "%s%" PRIu64,
			 used < p->procs ? " of " : ", one after the other on ", p->procs);
	if (p->buffer_bytes > 0)
		snprintf(buffer, sizeof(buffer), ", burst buffer of %s",
			 sl_format_bytes(bytes, sizeof(bytes), (uint64_t)p->buffer_bytes));
	if (p->buffer_bytes > 0 && p->buffer_bps > 0)
		snprintf(buffer + strlen(buffer), sizeof(buffer) - strlen(buffer), " at %s",
			 wd_rate(rate, p->buffer_bps));
	snprintf(buf, size,
		 "%" PRIu32 " application%s on %" PRIu64
		 "%s processor%s; together they need %.2f of the bandwidth of %s%s",
		 c->n_apps, c->n_apps == 1 ? "" : "s", used, of, used == 1 && !*of ? "" : "s",
		 sim_load(s), wd_rate(rate, p->bandwidth_bps), buffer);
	return buf;
}

const char *sim_window_text(const struct sim_study *s, char *buf, size_t size)
{
	const char *mode = s->window == SL_WINDOW_PAPER ? "paper" : "exact";

	if (s->scenario.to_s > 0)
		snprintf(buf, size, "measured from %g to %g s (window mode %s)", s->scenario.from_s,
			 s->scenario.to_s, mode);
	else if (s->scenario.from_s > 0)
		snprintf(buf, size, "measured from %g s to the end (window mode %s)",
			 s->scenario.from_s, mode);
	else
		snprintf(buf, size, "measured over the whole run");
	return buf;
}

/* ---- warnings ---- */

struct ends {
	double first_s, last_s; /* of all jobs under the first policy */
	double release_s;	/* the first */
};

static struct ends wd_ends(const struct sim_study *s)
{
	struct ends e = { INFINITY, 0, INFINITY };

	for (uint32_t i = 0; i < s->scenario.n_apps; i++) {
		e.first_s = fmin(e.first_s, s->policy[0].apps[i].end_s);
		e.last_s = fmax(e.last_s, s->policy[0].apps[i].end_s);
		e.release_s = fmin(e.release_s, s->scenario.apps[i].release_s);
	}
	return e;
}

static bool wd_empty(const struct sim_study *s)
{
	for (uint32_t i = 0; i < s->scenario.n_apps; i++)
		if (!isnan(s->policy[0].apps[i].stretch))
			return false;
	return true;
}

const char *sim_note(const struct sim_study *s, char *buf, size_t size)
{
	const struct sl_scenario *c = &s->scenario;
	struct ends e;

	if (!s->n_policies)
		return NULL;
	e = wd_ends(s);
	if (wd_empty(s)) {
		snprintf(buf, size,
			 "No job runs in the window, which begins at %g s: under %s the last one "
			 "ends at %g s.",
			 c->from_s, s->policy[0].spec, e.last_s);
		return buf;
	}
	if (c->to_s > 0 || !(e.first_s - e.release_s < ENDS_APART * (e.last_s - e.release_s)))
		return NULL;
	snprintf(buf, size,
		 "These jobs end at different times, the first at %.6g s and the last at %.6g s "
		 "under %s: towards the end few jobs are left. To measure the time while all "
		 "run, give 'window: [%.0f, %.0f]' instead of iterations.",
		 e.first_s, e.last_s, s->policy[0].spec, floor(0.1 * e.first_s), floor(e.first_s));
	return buf;
}

void sim_warn(const struct sl_scenario *c)
{
	const struct sl_platform *p = &c->platform;
	char rate[RATE_TEXT], other[RATE_TEXT];

	if (p->bandwidth_bps < LEAST_RATE)
		cli_warn(
			SIM_CMD,
			"%s: the bandwidth of the platform is %s; a number without a unit is bytes "
			"per second, so append MB/s or M if you meant that.",
			c->name, wd_rate(rate, p->bandwidth_bps));
	if (p->buffer_bytes > 0 && p->buffer_bps > 0 && p->buffer_bps < p->bandwidth_bps)
		cli_warn(SIM_CMD,
			 "%s: the burst buffer takes %s, less than the bandwidth of %s behind it: "
			 "it "
			 "slows I/O down.",
			 c->name, wd_rate(rate, p->buffer_bps), wd_rate(other, p->bandwidth_bps));
}
