/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever the policies and the shape of a scenario, the request-level simulator does all the work
 * once, and nothing in it happens too early:
 *
 *	every byte of every call goes to the device exactly once, on the server that has it;
 *	the batches in flight at a device never exceed the window;
 *	no device is busy for longer than the run, which takes at least bytes / bandwidth;
 *	the same scenario gives the same result again, to the bit.
 *
 * "Exactly once" is counted by a sum: of a mix of (server, file, offset, length) of each request,
 * cut as the client cuts, against the sum over what the pattern says. Files of one application are
 * apart from those of another by their numbers.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/requests.h"
#include "tests/property/harness.h"

#define APPS 4

struct run {
	const struct sl_requests *s;
	uint64_t sum, count, hash; /* hash: of the batches in their order */
	struct {
		sl_time done[64];
		uint32_t n;
	} flight[8];
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	struct hx_rng g = { a * UINT64_C(0x9e3779b97f4a7c15) + b };

	return hx_rand(&g);
}

static uint64_t piece_mix(uint32_t server, uint64_t file, uint64_t offset, uint64_t length)
{
	return mix(mix(mix(server, file), offset), length);
}

static void saw(void *arg, uint32_t server, const struct sl_batch *b, sl_time now, sl_time done)
{
	struct run *r = arg;
	uint64_t at = b->offset;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->flight[server].n; i++)
		if (r->flight[server].done[i] > now)
			r->flight[server].done[n++] = r->flight[server].done[i];
	hx_check(n < r->s->window_batches, "%u batches in a window of %u", n + 1,
		 r->s->window_batches);
	r->flight[server].done[n] = done;
	r->flight[server].n = n + 1;
	for (const struct sl_request *q = b->first; q; q = q->next) {
		hx_check(q->offset == at && q->file == b->file, "a batch has a hole");
		hx_check(q->arrival <= now, "a request left before it came");
		r->sum += piece_mix(server, q->file, q->offset, q->length);
		r->count++;
		at += q->length;
	}
	r->hash = mix(r->hash, piece_mix(server, b->file, b->offset, b->length) ^ (uint64_t)now);
}

/* What should be seen, straight from the pattern. */
static void expect(const struct sl_requests *s, uint64_t *sum, uint64_t *count, uint64_t *bytes,
		   const uint64_t pattern_seed[APPS])
{
	uint64_t file0 = 0;

	*sum = *count = *bytes = 0;
	for (uint32_t i = 0; i < s->n_apps; i++) {
		const struct sl_requests_app *a = &s->apps[i];
		struct sl_pattern p = { .spatial = a->spatial,
					.per_process = a->per_process,
					.procs = a->procs,
					.call_bytes = a->call_bytes,
					.calls = a->calls * a->phases,
					.seed = pattern_seed[i] };

		for (uint32_t proc = 0; proc < a->procs; proc++)
			for (uint64_t call = 0; call < p.calls; call++) {
				struct sl_place place = sl_pattern_place(&p, proc, call);
				uint64_t file = file0 + place.file, at = place.offset;
				uint64_t end = at + a->call_bytes;

				while (at < end) {
					uint64_t to = end;
					struct sl_piece piece;

					if (s->transfer_bytes && to - at > s->transfer_bytes)
						to = at + s->transfer_bytes;
					piece = sl_striping_piece(
						&s->striping,
						(uint32_t)(file % s->striping.servers), at, to);
					*sum += piece_mix(piece.server, file, piece.offset,
							  piece.length);
					++*count;
					at += piece.length;
				}
				*bytes += a->call_bytes;
			}
		file0 += a->per_process ? a->procs : 1;
	}
}

static void random_app(struct hx_rng *g, struct sl_requests_app *a)
{
	*a = (struct sl_requests_app){ .name = "app" };
	a->procs = (uint32_t)hx_range(g, 1, 9);
	a->op = (uint32_t)hx_below(g, 2);
	a->spatial = (enum sl_spatial)hx_below(g, 3);
	a->per_process = hx_chance(g, 40);
	a->call_bytes =
		hx_chance(g, 50) ? hx_range(g, 1, 16) * 8 * HX_KIB : hx_log_range(g, 1, 300000);
	a->calls = hx_range(g, 1, 12);
	a->phases = hx_range(g, 1, 3);
	a->depth = (uint32_t)hx_range(g, 1, 4);
	a->start_ns = hx_chance(g, 30) ? (sl_time)hx_below(g, 20000000) : 0;
	a->compute_ns = (sl_time)hx_below(g, 5000000);
	a->think_ns = hx_chance(g, 30) ? (sl_time)hx_below(g, 1000000) : 0;
	a->jitter_ns = hx_chance(g, 50) ? (sl_time)hx_below(g, 1000000) : 0;
	a->conf.weight = (uint32_t)hx_log_range(g, 1, 1000);
	a->conf.period_ns = hx_chance(g, 50) ? (sl_time)hx_log_range(g, 1000000, 1000000000) : 0;
	if (hx_chance(g, 20))
		a->conf.max_bps = hx_log_range(g, 1000000, 1000000000);
}

static void random_scenario(struct hx_rng *g, struct sl_requests *s, struct sl_requests_app *app)
{
	static char name[] = "random";
	unsigned presets = 0;

	while (sl_device_preset(presets))
		presets++;
	sl_requests_init(s);
	s->name = name;
	s->striping.servers = (uint32_t)hx_range(g, 1, 8);
	s->striping.stripe_bytes = hx_chance(g, 50) ? 32768 : hx_log_range(g, 512, 1000000);
	s->transfer_bytes = hx_chance(g, 50) ? 8192 : hx_below(g, 2) * hx_range(g, 1000, 100000);
	s->link_bps = hx_chance(g, 30) ? 0 : hx_log_range(g, 1000000, 10000000000);
	s->latency_ns = hx_chance(g, 30) ? 0 : (sl_time)hx_below(g, 1000000);
	s->window_batches = (uint32_t)hx_range(g, 1, 8);
	s->window_bytes = hx_chance(g, 30) ? hx_log_range(g, 1, 1000000) : 0;
	s->device = *sl_device_preset((unsigned)hx_below(g, presets));
	s->device.depth = (uint32_t)hx_range(g, 1, 8);
	s->seed = hx_rand(g);
	s->apps = app;
	s->n_apps = (uint32_t)hx_range(g, 1, APPS);
	for (uint32_t i = 0; i < s->n_apps; i++)
		random_app(g, &app[i]);
}

static void check_result(const struct sl_requests *s, const struct sl_requests_result *r,
			 const struct sl_requests_app_result *a)
{
	uint64_t bytes = 0, requests = 0, batches = 0;
	uint64_t bps = s->device.bps[SL_READ] > s->device.bps[SL_WRITE] ? s->device.bps[SL_READ]
									: s->device.bps[SL_WRITE];

	for (uint32_t i = 0; i < s->n_apps; i++) {
		bytes += a[i].bytes;
		requests += a[i].requests;
		batches += a[i].batches;
		hx_check(a[i].end_ns <= r->makespan_ns, "application %u ends after the run", i);
		hx_check(a[i].bytes == a[i].calls * s->apps[i].call_bytes, "bytes of %u", i);
		hx_check(a[i].call.max_ns >= a[i].request.max_ns,
			 "a request of %u took longer than any call", i);
		hx_check(a[i].request.p50_ns <= a[i].request.p95_ns &&
				 a[i].request.p95_ns <= a[i].request.p99_ns &&
				 a[i].request.p99_ns <= a[i].request.max_ns,
			 "percentiles of %u", i);
	}
	hx_check(bytes == r->bytes && requests == r->requests && batches == r->device_ops,
		 "sums over applications");
	hx_check(r->seeks <= r->device_ops && r->device_ops <= r->requests, "operations");
	hx_check(r->busy_ns <= r->makespan_ns * (sl_time)s->striping.servers, "busy");
	hx_check((double)r->makespan_ns >=
			 (double)r->bytes * 1e9 / (double)bps / s->striping.servers - 1,
		 "faster than the devices");
}

static void one(struct hx_rng *g)
{
	struct sl_requests s;
	struct sl_requests_app app[APPS];
	struct sl_requests_result r[2];
	struct sl_requests_app_result a[2][APPS];
	uint64_t sum, count, bytes, seeds[APPS];
	struct run run[2];
	char policy[450], admit[128], share[128], order[128], err[SL_REQUESTS_TEXT];
	struct sl_requests_policy p;

	random_scenario(g, &s, app);
	hx_random_policy(g, "admit", admit, sizeof(admit));
	hx_random_policy(g, "share", share, sizeof(share));
	hx_random_policy(g, "order", order, sizeof(order));
	snprintf(policy, sizeof(policy), "admit=%s,share=%s,order=%s", admit, share, order);
	if (sl_requests_policy_parse(policy, &p, err, sizeof(err))) {
		hx_fail("%s: %s", policy, err);
		return;
	}
	for (int i = 0; i < 2; i++) {
		struct sl_requests_sink sink = { saw, &run[i] };

		memset(&run[i], 0, sizeof(run[i]));
		memset(a[i], 0, sizeof(a[i]));
		run[i].s = &s;
		if (sl_requests_run(&s, &p, &sink, &r[i], a[i], err, sizeof(err)))
			hx_fail("%s: %s", policy, err);
		r[i].wall_s = 0;
	}
	for (uint32_t i = 0; i < s.n_apps; i++)
		seeds[i] = sl_requests_pattern_seed(&s, i);
	expect(&s, &sum, &count, &bytes, seeds);
	hx_check(run[0].sum == sum && run[0].count == count && r[0].bytes == bytes,
		 "%s: %" PRIu64 " requests of %" PRIu64 ", %" PRIu64 " bytes of %" PRIu64
		 ", not those of the pattern",
		 policy, run[0].count, count, r[0].bytes, bytes);
	hx_check(run[0].hash == run[1].hash && !memcmp(&r[0], &r[1], sizeof(r[0])) &&
			 !memcmp(a[0], a[1], sizeof(a[0])),
		 "%s: the second run differs", policy);
	check_result(&s, &r[0], a[0]);
	sl_requests_policy_free(&p);
}

int main(void)
{
	uint64_t seed = hx_seed();

	hx_case("every request once, no window exceeded, every run repeats");
	for (uint64_t i = 0; i < hx_scaled(2000) && !hx_failed(); i++) {
		struct hx_rng g = { seed + i };

		one(&g);
	}
	hx_end();
	return hx_finish();
}
