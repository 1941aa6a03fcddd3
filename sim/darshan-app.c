/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log of Darshan from a file, and as an application of a scenario: the time between its phases
 * is computing, the bytes of a phase are the volume of its iteration. See darshan.c.
 */
#include "sim/darshan.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int sl_darshan_load(const char *path, const struct sl_darshan_options *options,
		    struct sl_darshan *out, char *err, size_t err_size)
{
	int rc, fd = open(path, O_RDONLY | O_CLOEXEC);
	void *text = MAP_FAILED;
	struct stat st = { 0 };

	*out = (struct sl_darshan){ 0 };
	if (fd < 0 || fstat(fd, &st)) {
		rc = -errno;
		snprintf(err, err_size, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	if (st.st_size > 0)
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	rc = st.st_size > 0 && text == MAP_FAILED ? -errno : 0;
	close(fd);
	if (rc)
		snprintf(err, err_size, "%s: %s", path, strerror(-rc));
	else if (text == MAP_FAILED)
		rc = sl_darshan_parse(path, "", 0, options, out, err, err_size);
	else
		rc = sl_darshan_parse(path, text, (size_t)st.st_size, options, out, err, err_size);
	if (text != MAP_FAILED)
		munmap(text, (size_t)st.st_size);
	return rc;
}

/* ---- as an application ---- */

double sl_darshan_peak_bps(const struct sl_darshan *d)
{
	double peak = 0;

	for (uint32_t i = 0; i < d->n_phases; i++) {
		double s = d->phases[i].end_s - d->phases[i].start_s;

		/* DXT's clock ticks every 0.1 ms: shorter ones say nothing. */
		if (s >= 0.001)
			peak = fmax(peak, d->phases[i].bytes / s);
	}
	return peak;
}

double sl_darshan_period_s(const struct sl_darshan *d)
{
	if (d->n_phases < 2)
		return 0;
	return (d->phases[d->n_phases - 1].start_s - d->phases[0].start_s) / (d->n_phases - 1);
}

/* A list of equal numbers is one number. */
static void da_shorten(struct sl_vary *v)
{
	for (uint32_t i = 1; i < v->count; i++)
		if (v->list[i] != v->list[0])
			return;
	v->a = v->list[0];
	v->kind = SL_VARY_CONSTANT;
	v->count = 0;
	free(v->list);
	v->list = NULL;
}

int sl_darshan_app(const struct sl_darshan *d, struct sl_app *out)
{
	double end_s = 0;

	*out = (struct sl_app){ .procs = d->procs, .iterations = d->n_phases };
	memcpy(out->name, d->name, sizeof(out->name));
	out->period_hint_s = round(sl_darshan_period_s(d) * 1e6) / 1e6;
	out->compute_s = (struct sl_vary){ .kind = SL_VARY_LIST, .count = d->n_phases };
	out->volume_bytes = out->compute_s;
	out->compute_s.list = calloc(d->n_phases, sizeof(double));
	out->volume_bytes.list = calloc(d->n_phases, sizeof(double));
	if (!out->compute_s.list || !out->volume_bytes.list) {
		free(out->compute_s.list);
		free(out->volume_bytes.list);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < d->n_phases; i++) {
		/* No clock of Darshan is finer. */
		out->compute_s.list[i] = round(fmax(0, d->phases[i].start_s - end_s) * 1e6) / 1e6;
		out->volume_bytes.list[i] = d->phases[i].bytes;
		end_s = d->phases[i].end_s;
	}
	da_shorten(&out->compute_s);
	da_shorten(&out->volume_bytes);
	return 0;
}
