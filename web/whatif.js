/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What if: the simulator runs the jobs as they are now under other policies of grant, and the page
 * shows what they would get beside what was measured. The policy in force is simulated, too, and
 * others are compared with that: model with model. Better and worse are said in words and signs.
 */
import { $, el, say, setText } from './dom.js';
import { percent, plural, seconds } from './format.js';
import { post, token } from './feed.js';
import { inForce } from './policies.js';

const times = (v) => (typeof v === 'number' ? `${v.toFixed(2)} ×` : '–');

/* better: which way is good */
const measures = [
	{
		key: 'max_stretch',
		label: 'Largest stretch',
		better: -1,
		show: times,
		difference: (v, now) => `${v > now ? '+' : '−'}${Math.abs(v - now).toFixed(2)}`,
	},
	{
		key: 'io_slowdown',
		label: 'I/O slowdown',
		better: -1,
		show: times,
		difference: (v, now) => `${v > now ? '+' : '−'}${Math.abs(v - now).toFixed(2)}`,
	},
	{
		key: 'utilization',
		label: 'Utilization',
		better: 1,
		show: percent,
		difference: (v, now) =>
			`${v > now ? '+' : '−'}${Math.abs((v - now) * 100).toFixed(1)} points`,
	},
];

function compared(m, v, now) {
	if (typeof v !== 'number' || typeof now !== 'number' || Math.abs(v - now) < 0.005)
		return null;
	const good = Math.sign(v - now) === m.better;
	return el(
		`span.${good ? 'good' : 'worse'}`,
		{},
		`${good ? '▲ better' : '▼ worse'} ${m.difference(v, now)}`,
	);
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
		$('what-if-policies').replaceChildren(
			...this.policies.of('grant').map((p) =>
				el(
					'label',
					{ title: p.summary },
					el('input', {
						type: 'checkbox',
						value: p.name,
						checked:
							!p.name.startsWith('periodic') &&
							!p.name.endsWith('literal'),
					}),
					p.name,
				),
			),
		);
	}

	async run() {
		const ticked = [...$('what-if-policies').querySelectorAll(':checked')].map(
			(i) => i.value,
		);
		const present = this.policies.status
			? inForce(this.policies.status, 'grant')
			: null;
		const button = $('what-if-run');

		if (!ticked.length) {
			say('Tick at least one policy to compare with.', true);
			return;
		}
		button.disabled = true;
		setText(button, 'Simulating…');
		setText($('what-if-error'), '');
		try {
			this.show(
				await post('/api/v1/what-if', {
					policies: [
						...new Set([
							...(present ? [present] : []),
							...ticked,
						]),
					],
				}),
				present,
			);
		} catch (e) {
			setText($('what-if-error'), e.message);
		}
		button.disabled = !token(); /* which the server may have refused */
		setText(button, 'Predict');
	}

	show(answer, present) {
		const now = answer.now ?? {};
		const all = answer.policies ?? [];
		const base = all.find((p) => p.name === present) ?? now;
		const measured =
			now.window_s > 0 ? `measured, last ${seconds(now.window_s)}` : 'measured';
		const row = (p, tag, against) =>
			el(
				`tr${against ? '' : '.present'}`,
				{ role: 'row' },
				el(
					'th',
					{ scope: 'row', role: 'rowheader' },
					p.name,
					tag ? el('span.tag', {}, tag) : null,
				),
				...measures.map((m) =>
					el(
						'td.num',
						{ role: 'cell', 'data-label': m.label },
						m.show(p[m.key]),
						against
							? compared(m, p[m.key], against[m.key])
							: null,
					),
				),
			);

		$('what-if-table').hidden = false;
		$('what-if-body').replaceChildren(
			row({ ...now, name: 'Now' }, measured, null),
			...all.map((p) =>
				row(
					p,
					p.name === present ? 'in force' : '',
					p === base ? null : base,
				),
			),
		);
		setText($('what-if-note'), this.note(now, base === now));
		say(`The prediction for ${plural(all.length, 'policy', 'policies')} is there.`);
	}

	note(now, measured) {
		const out = (now.left_out ?? []).map((j) => `${j.job} (${j.why})`);
		const shown =
			out.slice(0, 5).join(', ') +
			(out.length > 5 ? ` and ${out.length - 5} more` : '');

		return [
			`Better and worse than ${measured ? 'what was measured' : 'the prediction for the policy in force'}.`,
			now.jobs ? `${plural(now.jobs.length, 'job')} simulated.` : '',
			out.length ? `Left out: ${shown}.` : '',
			'Limits, guarantees and weights are not simulated.',
		]
			.filter(Boolean)
			.join(' ');
	}
}
