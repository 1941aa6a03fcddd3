/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measures of Gainaru et al. 2014, §2.2, and of Barthélemy et al. 2024, §4.3.
 *
 * Gainaru et al. 2014, over the whole run; application k has beta_k processors, was
 * released at r_k and ended at d_k, having computed for W_k seconds and moved V_k bytes:
 *
 *	efficiency          rho~_k = W_k / (d_k - r_k)
 *	alone, it would be  rho_k  = W_k / (W_k + V_k / min(b beta_k, B))
 *	SysEfficiency       1/N * sum of beta_k rho~_k           upper limit: the same of rho_k
 *	Dilation            max of rho_k / rho~_k
 *
 * With a burst buffer, V_k takes alone what it takes with that buffer (alone.c): else applications
 * would be faster among others than alone.
 *
 * An application that is cut off at the end of the window counts as ended there, including its
 * unfinished iteration: the paper has only applications that end, and its n(t) would penalise long
 * iterations. An application that was present but has done nothing counts 0 for the SysEfficiency,
 * and its dilation is infinite.
 *
 * Barthélemy et al. 2024 (IO-Sets), over the window; e_cpu: seconds computed inside of it, e_io:
 * what the bytes moved inside of it take alone, L: its length, or that of the part in which the
 * application was there:
 *
 *	stretch      L / (e_cpu + e_io)        its maximum and geometric mean
 *	I/O slowdown (L - e_cpu) / e_io        geometric mean
 *	Utilization  sum of beta_k e_cpu over N * length of the window
 *
 * The paper has applications of equal size, and counts them instead of processors. Its bytes are
 * recomputed from time stamps: an I/O phase that crosses an end of the window counts by the part of
 * its time that is inside. (One that crosses the window's end has no time stamp yet when the
 * measurement stops; the paper then takes another window. Here it can be waited for.)
 * SL_WINDOW_PAPER does the same; SL_WINDOW_EXACT counts what was moved inside.
 *
 * Example: window 0 .. 20, B = 10; alone, 4 s of computing and 20 bytes are 6 s. These bytes take
 * 6 s in one phase; the next one begins at 14 s, waits until 19 s and ends at 21 s. Exact: e_cpu =
 * 8, e_io = 2 + 1, stretch 20/11, slowdown 12/3. Paper: e_io = 2 + 2 * 6/7, stretch 20/11.71,
 * slowdown 12/3.71.
 *
 * A dilation, stretch or slowdown is NAN where there is nothing to measure, infinite where an
 * application was there and got nothing done. O(n).
 */
#include "sim/metrics.h"

#include <math.h>

double sl_paper_part(double of, double begin_s, double end_s, double from_s, double to_s)
{
	double inside_s = fmin(end_s, to_s) - fmax(begin_s, from_s);

	if (inside_s < 0)
		return 0;
	return end_s > begin_s ? of * (inside_s / (end_s - begin_s)) : of;
}

struct mean {
	double log_sum;
	uint32_t n;
};

static void mt_add(struct mean *m, double x)
{
	if (isnan(x))
		return;
	m->log_sum += log(x);
	m->n++;
}

static double mt_geometric(const struct mean *m)
{
	return m->n ? exp(m->log_sum / m->n) : NAN;
}

/* 0 / 0: nothing was wanted and nothing done. */
static double mt_ratio(double over, double under)
{
	return under > 0 ? over / under : over > 0 ? INFINITY : NAN;
}

struct window {
	double from_s, to_s;
	enum sl_window_mode mode;
};

static void mt_app(const struct sl_sim_account *a, const struct window *w,
		   struct sl_sim_app_metrics *m)
{
	double took_s = a->end_s - a->release_s;
	double alone_s = a->total.compute_s + a->total.io_s;
	double there_s = fmin(w->to_s, a->end_s) - fmax(w->from_s, a->release_s);
	double cpu_s = a->to.compute_s - a->from.compute_s;
	double io_s = w->mode == SL_WINDOW_PAPER ? a->paper_io_s : a->to.io_s - a->from.io_s;

	*m = (struct sl_sim_app_metrics){ .iterations = a->iterations,
					  .bytes = a->total.bytes,
					  .end_s = a->end_s,
					  .found = a->found };
	m->efficiency = took_s > 0 ? a->total.compute_s / took_s : NAN;
	m->dilation = mt_ratio(took_s, alone_s);
	m->stretch = m->io_slowdown = NAN;
	if (!(there_s > 0))
		return;
	m->stretch = mt_ratio(there_s, cpu_s + io_s);
	/* Computing for all of the window leaves a rounding error as "waiting". */
	if (fmax(io_s, there_s - cpu_s) > 1e-9 * there_s)
		m->io_slowdown = mt_ratio(there_s - cpu_s, io_s);
}

void sl_metrics(const struct sl_sim_account *accounts, uint32_t n, uint64_t procs, double from_s,
		double to_s, enum sl_window_mode mode, struct sl_sim_metrics *out,
		struct sl_sim_app_metrics *apps)
{
	struct window w = { from_s, to_s, mode };
	struct mean stretch = { 0, 0 }, slowdown = { 0, 0 };
	double cpu_s = 0, all = 0;

	out->sys_efficiency = out->upper_limit = 0;
	out->dilation = out->max_stretch = NAN;
	for (uint32_t i = 0; i < n; i++) {
		const struct sl_sim_account *a = &accounts[i];
		struct sl_sim_app_metrics m;

		mt_app(a, &w, &m);
		if (apps)
			apps[i] = m;
		all += a->procs;
		cpu_s += a->procs * (a->to.compute_s - a->from.compute_s);
		if (a->total.compute_s > 0) { /* implies that it took time, and has a dilation */
			out->sys_efficiency += a->procs * m.efficiency;
			out->upper_limit += a->procs * m.efficiency * m.dilation;
		}
		out->dilation = fmax(out->dilation, m.dilation); /* NAN: the other */
		out->max_stretch = fmax(out->max_stretch, m.stretch);
		mt_add(&stretch, m.stretch);
		mt_add(&slowdown, m.io_slowdown);
	}
	/* More than there are, if jobs follow each other: the mean is over all of them then. */
	out->sys_efficiency /= fmax(all, (double)procs);
	out->upper_limit /= fmax(all, (double)procs);
	if (procs)
		all = (double)procs;
	out->geomean_stretch = mt_geometric(&stretch);
	out->io_slowdown = mt_geometric(&slowdown);
	out->utilization = to_s > from_s ? cpu_s / (all * (to_s - from_s)) : NAN;
}
