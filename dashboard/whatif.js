/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What if: the simulator runs the jobs as they are now under other policies of grant, and the page
 * shows beside the present one what they would get. Better and worse are said in words and signs.
 */
import { $, el, say, setText } from './dom.js';
import { percent } from './format.js';
import { post } from './feed.js';

const times = (v) => (typeof v === 'number' ? `${v.toFixed(2)} ×` : '–');

/* better: which way is good */
const measures = [
	{ key: 'max_stretch', label: 'Largest stretch', better: -1, show: times,
	  difference: (v, now) => `${v > now ? '+' : '−'}${Math.abs(v - now).toFixed(2)}` },
	{ key: 'io_slowdown', label: 'I/O slowdown', better: -1, show: times,
	  difference: (v, now) => `${v > now ? '+' : '−'}${Math.abs(v - now).toFixed(2)}` },
	{ key: 'utilization', label: 'Utilization', better: 1, show: percent,
	  difference: (v, now) => `${v > now ? '+' : '−'}${Math.abs((v - now) * 100).toFixed(1)} points` },
];

function compared(m, v, now) {
	if (typeof v !== 'number' || typeof now !== 'number' || Math.abs(v - now) < 0.005)
		return null;
	const good = Math.sign(v - now) === m.better;
	return el(`span.${good ? 'good' : 'worse'}`, {}, `${good ? '▲ better' : '▼ worse'} ${m.difference(v, now)}`);
}

export class WhatIf {
	constructor(policies) {
		this.policies = policies;
		$('what-if-form').addEventListener('submit', (e) => {
			e.preventDefault();
			this.run();
		});
	}

	/* The policies of grant, to tick. */
	load() {
		$('what-if-policies').replaceChildren(...this.policies.of('grant').map((p) => el('label', { title: p.summary },
			el('input', { type: 'checkbox', value: p.name, checked: !p.name.startsWith('periodic') &&
				!p.name.endsWith('literal') }), p.name)));
	}

	async run() {
		const names = [...$('what-if-policies').querySelectorAll(':checked')].map((i) => i.value);
		const button = $('what-if-run');

		if (!names.length) {
			say('Tick at least one policy to compare with.', true);
			return;
		}
		button.disabled = true;
		setText(button, 'Simulating…');
		setText($('what-if-error'), '');
		try {
			this.show(await post('/api/v1/what-if', { policies: names }));
		} catch (e) {
			setText($('what-if-error'), e.message);
		}
		button.disabled = false;
		setText(button, 'Predict');
	}

	show(answer) {
		const now = answer.now ?? {};
		const rows = [{ ...now, name: now.name ?? 'now', present: true },
			...(answer.policies ?? []).filter((p) => p.name !== now.name)];

		$('what-if-table').hidden = false;
		$('what-if-body').replaceChildren(...rows.map((p) => el(`tr${p.present ? '.present' : ''}`, { role: 'row' },
			el('th', { scope: 'row', role: 'rowheader' }, p.name,
				p.present ? el('span.tag', {}, 'in force') : null),
			...measures.map((m) => el('td.num', { role: 'cell', 'data-label': m.label },
				p.error ? '–' : m.show(p[m.key]), p.present || p.error ? null : compared(m, p[m.key], now[m.key])))),
		));
		setText($('what-if-note'), [answer.note, ...rows.filter((p) => p.error).map((p) => `${p.name}: ${p.error}`)]
			.filter(Boolean).join(' '));
		say(`Prediction for ${rows.length - 1} policies is there.`);
	}
}
