/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the text of Darshan's parsers. Checked: a message names a line that the text has;
 * what is accepted has phases in order and apart, with all the bytes that were counted, and makes
 * an application whose numbers a scenario can hold.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/darshan.h"
#include "tests/fuzz/fuzz.h"

static void is_sound(const struct sl_darshan *d, double gap_s)
{
	double bytes = 0, all = (double)d->read_bytes + (double)d->written_bytes;
	struct sl_app app;

	CHECK(d->n_phases && d->procs && d->accesses >= 1);
	CHECK(memchr(d->name, 0, sizeof(d->name)));
	for (uint32_t i = 0; i < d->n_phases; i++) {
		const struct sl_darshan_phase *p = &d->phases[i];

		CHECK(p->bytes > 0 && p->start_s >= 0 && p->end_s >= p->start_s);
		CHECK(p->end_s <= d->run_s);
		CHECK(!i || p->start_s > p[-1].end_s + gap_s);
		bytes += p->bytes;
	}
	/* Fractions of bytes are cut off in the counts, one for each access. */
	CHECK(fabs(bytes - all) <= (double)d->accesses + 1e-6 * bytes);
	CHECK(isfinite(sl_darshan_peak_bps(d)) && sl_darshan_period_s(d) >= 0);
	CHECK(sl_darshan_app(d, &app) == 0);
	for (uint32_t i = 0; i < app.compute_s.count; i++)
		CHECK(app.compute_s.list[i] >= 0 && isfinite(app.compute_s.list[i]));
	CHECK(app.compute_s.a >= 0 && isfinite(app.compute_s.a));
	free(app.compute_s.list);
	free(app.volume_bytes.list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_darshan_options o = { .gap_s = 0.5 };
	struct sl_darshan d;
	char err[400] = "";
	int rc = sl_darshan_parse("f", (const char *)data, size, &o, &d, err, sizeof(err));

	CHECK(rc == 0 || rc == -EINVAL || rc == -ENOMEM);
	if (rc) {
		CHECK(!d.phases);
		if (rc == -EINVAL)
			names_a_line(err, data, size);
		return 0;
	}
	is_sound(&d, o.gap_s);
	sl_darshan_free(&d);
	o.iterations = 3;
	CHECK(sl_darshan_parse("f", (const char *)data, size, &o, &d, err, sizeof(err)) == 0);
	CHECK(d.n_phases == 3);
	sl_darshan_free(&d);
	return 0;
}
