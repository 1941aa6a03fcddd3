/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them, in the units of `sluice status`: K, M, G are powers of 1000. What is
 * not known is a dash. */

export const DASH = '–';

const known = (v) => typeof v === 'number' && Number.isFinite(v);

/* Three digits that count, at most: 35.4, 354, 3.54. */
function digits(v) {
	if (v >= 100 || v === 0) return v.toFixed(0);
	return v >= 10 ? v.toFixed(1) : v.toFixed(2);
}

function scaled(v, unit) {
	const steps = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
	let i = 0;

	/* 999.6 would be printed as 1000. */
	while (Math.abs(v) >= 999.5 && i < steps.length - 1) {
		v /= 1000;
		i++;
	}
	return `${i ? digits(v) : Math.round(v)} ${steps[i]}${unit}`;
}

export const rate = (bps) => (known(bps) ? scaled(bps, 'B/s') : DASH);
/* A rate of which 0 means that there is none. */
export const limit = (bps) => (known(bps) && bps > 0 ? rate(bps) : DASH);
export const bytes = (n) => (known(n) ? scaled(n, 'B') : DASH);
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
export const count = (n) => (known(n) ? whole.format(n) : DASH);
export const percent = (part) =>
	known(part) ? `${(part * 100).toFixed(part < 0.0995 ? 1 : 0)} %` : DASH;

export function seconds(s) {
	if (!known(s)) return DASH;
	if (s < 0.001) return `${digits(s * 1e6)} µs`;
	if (s < 1) return `${digits(s * 1e3)} ms`;
	if (s < 120) return `${s < 10 ? s.toFixed(1) : Math.round(s)} s`;
	if (s < 7200) return `${Math.round(s / 60)} min`;
	return s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`;
}

export const micros = (us) => (known(us) && us > 0 ? seconds(us / 1e6) : DASH);

export function clock(ms) {
	const d = new Date(ms);
	return [d.getHours(), d.getMinutes(), d.getSeconds()]
		.map((n) => String(n).padStart(2, '0'))
		.join(':');
}

/* A rate as one would type it: 80M. Exact, unlike what is shown. */
export function typed(bps) {
	const steps = [
		['T', 1e12],
		['G', 1e9],
		['M', 1e6],
		['k', 1e3],
	];

	for (const [letter, size] of steps)
		if (bps >= size && Number.isInteger((bps / size) * 1000))
			return `${bps / size}${letter}`;
	return String(bps);
}

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
