/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers, TAP, policies as text and window bounds for the property tests; the model of
 * the scheduler is in model.c.
 *
 * The bound over all windows in one pass: with P_k the bytes before dispatch k at time t_k,
 * a window from dispatch i to dispatch j holds P_{j+1} - P_i bytes, so it is within
 * rate * (t_j - t_i) + B for all i <= j if and only if
 *
 *	(P_{j+1} - rate * t_j) - min over i <= j of (P_i - rate * t_i) <= B.
 *
 * Example: 10 B/s, 20 B at 0 s and 10 B at 1 s: 20 - 0 = 20, then (30 - 10) - min(0, 10) = 20:
 * no window is more than 20 B above the rate.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ds/random.h"
#include "tests/property/harness.h"

uint64_t hx_rand(struct hx_rng *g)
{
	return sl_splitmix64(&g->state);
}

uint64_t hx_below(struct hx_rng *g, uint64_t n)
{
	return n ? hx_rand(g) % n : 0;
}

uint64_t hx_range(struct hx_rng *g, uint64_t lo, uint64_t hi)
{
	if (hi - lo == UINT64_MAX)
		return hx_rand(g);
	return lo + hx_below(g, hi - lo + 1);
}

uint64_t hx_log_range(struct hx_rng *g, uint64_t lo, uint64_t hi)
{
	unsigned bits_lo = 64U - (unsigned)__builtin_clzll(lo | 1);
	unsigned bits_hi = 64U - (unsigned)__builtin_clzll(hi | 1);
	unsigned bits = (unsigned)hx_range(g, bits_lo, bits_hi);
	uint64_t top = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	uint64_t v = hx_range(g, bits > 1 ? UINT64_C(1) << (bits - 1) : 0, top);

	return v < lo ? lo : v > hi ? hi : v;
}

bool hx_chance(struct hx_rng *g, unsigned percent)
{
	return hx_below(g, 100) < percent;
}

/* ---- TAP ---- */

static char case_name[256];
static unsigned cases, cases_failed, case_failures;

uint64_t hx_seed(void)
{
	const char *text = getenv("SL_SEED");

	return text ? strtoull(text, NULL, 0) : 20260501;
}

uint64_t hx_scaled(uint64_t work)
{
	const char *text = getenv("SL_SCALE");
	uint64_t percent = text ? strtoull(text, NULL, 0) : 100;

	work = work * percent / 100;
	return work ? work : 1;
}

void hx_case(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(case_name, sizeof(case_name), fmt, ap);
	va_end(ap);
	case_failures = 0;
	cases++;
	alarm(600); /* no case takes minutes: one that does hangs, and is killed */
}

void hx_fail(const char *fmt, ...)
{
	va_list ap;

	if (case_failures++ >= 8)
		return;
	printf("# seed=%llu case=\"%s\" ", (unsigned long long)hx_seed(), case_name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

bool hx_failed(void)
{
	return case_failures != 0;
}

void hx_end(void)
{
	if (case_failures) {
		cases_failed++;
		printf("# %u violations\nnot ok %u - %s\n", case_failures, cases, case_name);
	} else {
		printf("ok %u - %s\n", cases, case_name);
	}
	fflush(stdout);
}

int hx_finish(void)
{
	printf("1..%u\n", cases);
	if (cases_failed)
		printf("# failed with seed=%llu; SL_SEED=%llu repeats it\n",
		       (unsigned long long)hx_seed(), (unsigned long long)hx_seed());
	return cases_failed != 0;
}

/* ---- policies as text ---- */

bool hx_is(const char *policy, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(policy, name, n) && (policy[n] == 0 || policy[n] == ',');
}

static int find_policy(const char *stage, const char *policy, struct sl_policy_info *out)
{
	const char *name = policy;

	if (!policy[0] && sl_policy_default(stage, &name))
		return -1;
	for (unsigned i = 0; !sl_policy_info(i, out); i++)
		if (!strcmp(out->stage, stage) && hx_is(name, out->name))
			return 0;
	return -1;
}

int64_t hx_param(const char *stage, const char *policy, const char *param, int64_t fallback)
{
	struct sl_policy_info info;
	char key[64];
	const char *at;

	if (find_policy(stage, policy, &info) || !info.params)
		return fallback;
	for (const struct sl_param *p = info.params; p->name; p++) {
		if (strcmp(p->name, param) != 0)
			continue;
		snprintf(key, sizeof(key), ",%s=", param);
		at = strstr(policy, key);
		if (!at)
			return p->def;
		at += strlen(key);
		if (p->unit != SL_CHOICE)
			return strtoll(at, NULL, 10);
		for (int64_t v = 0; v <= p->max; v++)
			if (!strncmp(at, p->choices[v], strlen(p->choices[v])))
				return v;
	}
	return fallback;
}

void hx_random_policy(struct hx_rng *g, const char *stage, char *buf, size_t size)
{
	struct sl_policy_info info, found[32];
	unsigned n = 0;
	size_t at;
	uint64_t v;

	for (unsigned i = 0; !sl_policy_info(i, &info) && n < 32; i++)
		if (!strcmp(info.stage, stage))
			found[n++] = info;
	if (!n) {
		hx_fail("stage %s has no policy", stage);
		buf[0] = 0;
		return;
	}
	info = found[hx_below(g, n)];
	at = (size_t)snprintf(buf, size, "%s", info.name);
	for (const struct sl_param *p = info.params; p && p->name; p++) {
		if (p->unit == SL_FILE) /* there is none */
			continue;
		switch (hx_below(g, 8)) {
		case 0:
			v = (uint64_t)p->min;
			break;
		case 1:
			v = (uint64_t)p->max;
			break;
		case 2:
			v = hx_log_range(g, (uint64_t)p->min, (uint64_t)p->max);
			break;
		case 3: /* near the default, where the interesting behaviour is */
			v = hx_log_range(g, (uint64_t)p->min, (uint64_t)p->def);
			break;
		default:
			continue;
		}
		if (at + 64 >= size)
			return;
		if (p->unit == SL_CHOICE)
			at += (size_t)snprintf(buf + at, size - at, ",%s=%s", p->name,
					       p->choices[v]);
		else
			at += (size_t)snprintf(buf + at, size - at, ",%s=%llu", p->name,
					       (unsigned long long)v);
	}
}

/* ---- windows ---- */

void hx_meter_rate(struct hx_meter *m, sl_time now, uint64_t rate_bps)
{
	m->line += (__int128)m->rate_bps * (now - m->at);
	m->at = now;
	m->rate_bps = rate_bps;
}

void hx_meter_send(struct hx_meter *m, sl_time now, uint64_t bytes)
{
	__int128 before, after;

	hx_meter_rate(m, now, m->rate_bps);
	before = m->sum - m->line;
	m->sum += (__int128)bytes * HX_SEC;
	after = m->sum - m->line;
	m->bytes += bytes;
	if (bytes > m->largest)
		m->largest = bytes;
	if (!m->begun) {
		m->begun = true;
		m->low = before;
		m->high = after;
		if (after - before > m->over)
			m->over = after - before;
		return;
	}
	if (m->high - before > m->under)
		m->under = m->high - before;
	if (before < m->low)
		m->low = before;
	if (after > m->high)
		m->high = after;
	if (after - m->low > m->over)
		m->over = after - m->low;
}

void hx_meter_restart(struct hx_meter *m, sl_time now)
{
	hx_meter_rate(m, now, m->rate_bps);
	m->begun = true;
	m->low = m->high = m->sum - m->line;
	m->over = m->under = 0;
}

void hx_meter_end(struct hx_meter *m, sl_time now)
{
	hx_meter_rate(m, now, m->rate_bps);
	if (m->begun && m->high - (m->sum - m->line) > m->under)
		m->under = m->high - (m->sum - m->line);
}

int64_t hx_meter_over(const struct hx_meter *m)
{
	return (int64_t)((m->over + HX_SEC - 1) / HX_SEC);
}

int64_t hx_meter_under(const struct hx_meter *m)
{
	return (int64_t)((m->under + HX_SEC - 1) / HX_SEC);
}

void hx_log_send(struct hx_log *l, sl_time now, uint64_t bytes)
{
	if (l->n == l->size) {
		l->size = l->size ? 2 * l->size : 1024;
		l->sent = realloc(l->sent, l->size * sizeof(*l->sent));
		if (!l->sent)
			abort();
	}
	l->sent[l->n++] = (struct hx_sent){ now, bytes };
}

/* The extremes are taken by windows that begin at, or right after, a dispatch. */
void hx_log_windows(const struct hx_log *l, sl_time from, sl_time to, sl_time width, uint64_t *most,
		    uint64_t *least)
{
	size_t i = 0, j = 0;
	uint64_t sum = 0;

	*most = 0;
	*least = UINT64_MAX;
	while (i < l->n && l->sent[i].t < from)
		i++;
	for (j = i; i < l->n && l->sent[i].t + width <= to; i++) {
		while (j < l->n && l->sent[j].t < l->sent[i].t + width)
			sum += l->sent[j++].bytes;
		if (sum > *most)
			*most = sum;
		sum -= l->sent[i].bytes;
		if (sum < *least)
			*least = sum;
	}
}

void hx_log_free(struct hx_log *l)
{
	free(l->sent);
	*l = (struct hx_log){ 0 };
}
