/* SPDX-License-Identifier: Apache-2.0 */
/* Beginning and end of a request-level simulation: memory, schedulers, results. See requests.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "sim/random.h"
#include "sim/requests-sim.h"

#define HEADER_BYTES 128 /* of a message without data */

/* Pieces of a call at most: it is cut in two more by each end that is not aligned. */
static uint64_t rq_pieces(const struct sl_requests *s, const struct sl_requests_app *a)
{
	uint64_t n = 1;

	if (s->transfer_bytes)
		n += (a->call_bytes - 1) / s->transfer_bytes;
	if (s->striping.servers > 1 && !s->control.there)
		n += 1 + (a->call_bytes - 1) / s->striping.stripe_bytes;
	return n;
}

static int rq_size(struct sim *m, char *err, size_t err_size)
{
	const struct sl_requests *s = m->s;
	uint64_t requests = 0, calls = 0, procs = 0, files = 0;

	for (uint32_t i = 0; i < s->n_apps; i++) {
		const struct sl_requests_app *a = &s->apps[i];
		uint64_t n = (uint64_t)a->procs * a->depth;

		procs += a->procs;
		calls += n;
		files += a->per_process ? a->procs : 1;
		requests += n * rq_pieces(s, a);
		m->unfinished += !a->background;
		if (procs > SL_REQUESTS_PROCS || requests > UINT64_C(1) << 26) {
			snprintf(err, err_size,
				 "%s: %s is too much: %d processes and 2^26 requests at a time are "
				 "possible",
				 s->name, a->name, SL_REQUESTS_PROCS);
			return -E2BIG;
		}
	}
	if (!m->unfinished && !s->until_ns) {
		snprintf(err, err_size, "%s: no application ever ends", s->name);
		return -EINVAL;
	}
	m->procs = (uint32_t)procs;
	m->calls = (uint32_t)calls;
	m->files = (uint32_t)files;
	m->requests = (uint32_t)requests;
	m->at_call = m->procs;
	m->at_server = m->at_call + m->calls;
	m->at_report = m->at_server + s->striping.servers;
	m->at_control = m->at_report + (s->control.there ? s->striping.servers : 0);
	m->at_app = m->at_control + (s->control.there ? 1 : 0);
	return 0;
}

uint64_t sl_requests_pattern_seed(const struct sl_requests *s, uint32_t app)
{
	return sl_random_stream(s->seed, app).state;
}

static void rq_app_init(struct sim *m, uint32_t i, uint32_t proc, uint32_t call, uint32_t file,
			uint32_t request)
{
	const struct sl_requests *s = m->s;
	const struct sl_requests_app *is = &s->apps[i];
	struct app *a = &m->app[i];

	a->is = is;
	a->call0 = call;
	a->proc0 = proc;
	a->alive = is->procs;
	a->pieces = (uint32_t)rq_pieces(s, is);
	a->file = file;
	a->piece_ns = sl_requests_link_ns(s, s->transfer_bytes);
	a->header_ns = sl_requests_link_ns(s, HEADER_BYTES);
	a->pattern = (struct sl_pattern){ .spatial = is->spatial,
					  .per_process = is->per_process,
					  .procs = is->procs,
					  .call_bytes = is->call_bytes,
					  .calls = is->calls * is->phases,
					  .seed = sl_requests_pattern_seed(s, i) };
	for (uint32_t k = 0; k < is->procs; k++) {
		m->proc[proc + k] = (struct proc){ .app = i, .index = k, .head = NONE };
		for (uint32_t d = 0; d < is->depth; d++, call++) {
			m->call[call].proc = proc + k;
			m->call[call].request = &m->request[request];
			request += a->pieces;
		}
	}
	sl_heap_set(&m->heap, m->at_app + i, (uint64_t)is->start_ns);
}

static int rq_alloc(struct sim *m)
{
	const struct sl_requests *s = m->s;
	uint32_t events = m->at_app + s->n_apps, proc = 0, call = 0, file = 0, request = 0;

	m->app = calloc(s->n_apps, sizeof(*m->app));
	m->proc = calloc(m->procs, sizeof(*m->proc));
	m->call = calloc(m->calls, sizeof(*m->call));
	m->server = calloc(s->striping.servers, sizeof(*m->server));
	m->dirty = calloc(s->striping.servers, sizeof(*m->dirty));
	m->request = calloc(m->requests, sizeof(*m->request));
	m->flight = calloc((size_t)s->striping.servers * s->window_batches, sizeof(*m->flight));
	m->heap_memory = calloc(1, sl_heap_size(events));
	if (!m->app || !m->proc || !m->call || !m->server || !m->dirty || !m->request ||
	    !m->flight || !m->heap_memory)
		return -ENOMEM;
	sl_heap_init(&m->heap, m->heap_memory, events);
	for (uint32_t i = 0; i < s->n_apps; i++) {
		const struct sl_requests_app *is = &s->apps[i];

		rq_app_init(m, i, proc, call, file, request);
		proc += is->procs;
		call += is->procs * is->depth;
		file += is->per_process ? is->procs : 1;
		request += is->procs * is->depth * (uint32_t)rq_pieces(s, is);
	}
	return 0;
}

/* The ratios that a profile of the device would have. */
static void rq_ratios(struct sl_sched *sched, const struct sl_device_model *m)
{
	for (uint32_t op = SL_READ; op <= SL_WRITE; op++)
		for (uint64_t bytes = 1024; bytes <= 16 << 20; bytes *= 2)
			sl_ratio_set(sched, op, bytes,
				     (uint32_t)(sl_device_cost_ns(m, op, bytes, 1) * 1000 /
						sl_device_cost_ns(m, op, bytes, 0)));
}

static int rq_servers(struct sim *m, const struct sl_requests_policy *policy, char *err,
		      size_t err_size)
{
	const struct sl_requests *s = m->s;
	const struct sl_limits all = { s->n_apps, m->files, m->requests };
	struct sl_config config = {
		.capacity_bps = s->capacity_bps,
		.admit = policy ? policy->admit : NULL,
		.share = policy ? policy->share : NULL,
		.order = policy ? policy->order : NULL,
		.piece_bytes = s->transfer_bytes,
	};
	int rc;

	for (uint32_t i = 0; i < s->striping.servers; i++) {
		struct server *v = &m->server[i];

		sl_device_init(&v->device, &s->device);
		v->flight = &m->flight[(size_t)i * s->window_batches];
		config.limits = m->control ? sl_control_limits(m, i) : all;
		if ((rc = sl_sched_create(&v->sched, &config, 0, err, err_size)))
			return rc;
		rq_ratios(v->sched, &s->device);
		if (m->control && (rc = sl_control_jobs(m, i))) {
			snprintf(err, err_size, "%s: %s", s->name, sl_error(v->sched));
			return rc;
		}
		for (uint32_t k = 0; !m->control && k < s->n_apps; k++)
			if ((rc = sl_job_add(v->sched, k + 1, &s->apps[k].conf, 0))) {
				snprintf(err, err_size, "%s: %s: %s", s->name, s->apps[k].name,
					 sl_error(v->sched));
				return rc;
			}
	}
	return 0;
}

static void rq_finish(struct sim *m, struct sl_requests_result *out,
		      struct sl_requests_app_result *apps)
{
	/* Of all together: made of the first application's, which are no longer needed then. */
	struct sl_histogram *call = &m->app[0].call, *request = &m->app[0].request;

	for (uint32_t i = 0; i < m->s->n_apps; i++) {
		struct app *a = &m->app[i];

		if (a->in_phase) { /* in the background */
			a->io_ns += m->now - a->begun;
			a->end = m->now;
		}
		if (apps)
			apps[i] = (struct sl_requests_app_result){
				.bytes = a->bytes,
				.calls = a->call.count,
				.requests = a->request.count,
				.io_ns = a->io_ns,
				.end_ns = a->end,
				.call = sl_histogram_latency(&a->call),
				.request = sl_histogram_latency(&a->request),
				.batches = a->batches,
			};
		out->bytes += a->bytes;
		if (i) {
			sl_histogram_merge(call, &a->call);
			sl_histogram_merge(request, &a->request);
		}
	}
	out->makespan_ns = m->now;
	out->calls = call->count;
	out->requests = request->count;
	out->call = sl_histogram_latency(call);
	out->request = sl_histogram_latency(request);
	out->events = m->events;
	for (uint32_t i = 0; i < m->s->striping.servers; i++) {
		const struct sl_device *d = &m->server[i].device;

		out->device_ops += d->ops;
		out->seeks += d->seeks;
		out->busy_ns += d->busy_ns;
		if (d->free_at > m->now) /* with what is in the background */
			out->busy_ns -= d->free_at - m->now;
	}
}

static void rq_free(struct sim *m)
{
	for (uint32_t i = 0; m->server && i < m->s->striping.servers; i++)
		sl_sched_destroy(m->server[i].sched);
	sl_control_destroy(m);
	free(m->app);
	free(m->proc);
	free(m->call);
	free(m->server);
	free(m->dirty);
	free(m->request);
	free(m->flight);
	free(m->heap_memory);
}

int sl_requests_run(const struct sl_requests *s, const struct sl_requests_policy *policy,
		    const struct sl_requests_sink *sink, struct sl_requests_result *out,
		    struct sl_requests_app_result *apps, char *err, size_t err_size)
{
	struct sim m = { .s = s, .sink = sink };
	double start = sl_clock_s();
	int rc = rq_size(&m, err, err_size);

	*out = (struct sl_requests_result){ 0 };
	if (rc)
		return rc;
	if ((rc = rq_alloc(&m)))
		snprintf(err, err_size, "%s: no memory", s->name);
	else if (!s->control.there || !(rc = sl_control_create(&m, policy, err, err_size)))
		rc = rq_servers(&m, policy, err, err_size);
	if (!rc && (rc = sl_requests_loop(&m)))
		snprintf(err, err_size, "%s: %s", s->name,
			 m.error ? m.error : "nothing more happens; this is a bug");
	if (!rc)
		rq_finish(&m, out, apps);
	if (!rc && m.control)
		sl_control_result(&m, out);
	rq_free(&m);
	out->wall_s = sl_clock_s() - start;
	return rc;
}
