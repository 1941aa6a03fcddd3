/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the phase-level simulator share: runs of a scenario that is written out. */
#ifndef SL_PHASE_RIG_H
#define SL_PHASE_RIG_H

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/phase.h"

#define RIG_APPS 64

struct rig {
	struct sl_scenario s;
	struct sl_phase_options options;
	struct sl_phase_sink sink; /* of the options */
	struct sl_sim_metrics m;
	struct sl_sim_app_metrics app[RIG_APPS];
	double ends_s[RIG_APPS]; /* of the last segment of each */
};

static inline void rig_segment(void *arg, uint32_t app, enum sl_activity what, double from_s,
			       double to_s, double rate_bps)
{
	struct rig *g = arg;

	(void)what, (void)from_s, (void)rate_bps;
	g->ends_s[app] = to_s;
}

/* Runs text under the policy; the rates of fair ones in both ways. To be freed. */
static inline struct rig *rig_run(const char *text, const char *policy, enum sl_window_mode mode,
				  bool ask)
{
	struct rig *g = calloc(1, sizeof(*g));
	char err[500] = "";

	assert_non_null(g);
	g->sink = (struct sl_phase_sink){ .segment = rig_segment, .arg = g };
	if (sl_scenario_parse("rig", text, strlen(text), &g->s, err, sizeof(err)))
		fail_msg("%s", err);
	assert_true(g->s.n_apps <= RIG_APPS);
	g->options = (struct sl_phase_options){
		.policy = policy, .seed = 1, .window = mode, .sink = &g->sink, .ask = ask
	};
	if (sl_phase_run(&g->s, &g->options, &g->m, g->app, err, sizeof(err)))
		fail_msg("%s", err);
	return g;
}

static inline void rig_free(struct rig *g)
{
	sl_scenario_free(&g->s);
	free(g);
}

static inline void rig_near(double is, double should, double relative, const char *what, int line)
{
	if (!(fabs(is - should) <= relative * fabs(should)))
		fail_msg("line %d: %s is %.12g, not %.12g", line, what, is, should);
}
#define near(is, should)	   rig_near(is, should, 1e-9, #is, __LINE__)
#define about(is, should, percent) rig_near(is, should, (percent) / 100.0, #is, __LINE__)

#endif
