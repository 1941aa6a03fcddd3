/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The five stages: which policy is in force, what it does, its parameters. All can be changed here;
 * a change is sent with Apply, as `sluice policy set STAGE=POLICY,PARAMETER=VALUE` would. What
 * somebody else changes meanwhile shows at once, unless the stage is being edited.
 */
import { $, el, keyed, say, setText } from './dom.js';
import { post, token } from './feed.js';

export const STAGES = {
	allocate: 'How many I/O nodes does each job get?',
	grant: 'Which jobs may do I/O now, and at what rate?',
	admit: 'May this job send now?',
	share: 'Whose turn is it among the jobs?',
	order: 'Which of its requests go next, merged into what?',
};

/* "mlf,wait_us=300" → { name: 'mlf', values: { wait_us: '300' } } */
export function parse(spec) {
	const [name, ...rest] = (spec ?? '').split(',');
	const pair = (p) => [p.slice(0, p.indexOf('=')), p.slice(p.indexOf('=') + 1)];
	return { name, values: Object.fromEntries(rest.map(pair)) };
}

/* Sizes are powers of two: 4194304 is 4Mi, as the layer understands it too. */
function size(v) {
	const n = Number(v);
	const [letter, unit] = [
		['Ti', 2 ** 40],
		['Gi', 2 ** 30],
		['Mi', 2 ** 20],
		['Ki', 2 ** 10],
	].find(([, u]) => n >= u && n % u === 0) ?? ['', 1];
	return Number.isFinite(n) ? `${n / unit}${letter}` : String(v);
}

/* What is in force in a stage; null: nobody decides that here. */
export function inForce(status, stage) {
	return (
		status.policy?.[stage] ??
		status.controller?.policy?.[stage] ??
		status.controller?.[stage] ??
		status[stage] ??
		null
	);
}

export class Policies {
	constructor() {
		this.all = [];
		this.editing = new Set();
		this.sending = new Set();
		this.cards = keyed($('stages'), Object.keys(STAGES), (stage) => this.make(stage));
	}

	/* The answer of /api/v1/policies */
	load(answer) {
		this.all = answer.policies ?? [];
		this.editing.clear();
		this.shown = {};
		if (this.status) this.update(this.status);
	}

	of(stage) {
		return this.all.filter((p) => p.stage === stage);
	}

	/* Those that a layer accepts. */
	live(stage) {
		return this.of(stage).filter((p) => !p.simulator_only);
	}

	make(stage) {
		const id = `policy-${stage}`;
		const card = el(
			'li',
			{},
			el(
				'form',
				{
					'aria-labelledby': `${id}-title`,
					submit: (e) => {
						e.preventDefault();
						this.apply(stage);
					},
					input: () => this.touch(stage),
				},
				el('h3', { id: `${id}-title` }, stage),
				el('p.soft', {}, STAGES[stage]),
				el('label.hidden', { for: id }, `Policy of ${stage}`),
				el('select', { id, change: () => this.parameters(stage, {}) }),
				el('p.summary'),
				el('div.parameters'),
				el('p.error', { role: 'alert' }),
				el(
					'div.buttons',
					{},
					el(
						'button.primary',
						{ type: 'submit', disabled: true },
						'Apply',
					),
					el(
						'button',
						{
							type: 'button',
							disabled: true,
							click: () => this.reset(stage),
						},
						'Undo',
					),
				),
			),
		);

		card.dataset.stage = stage;
		return card;
	}

	update(status) {
		this.status = status;
		this.shown ??= {};
		for (const [stage, card] of this.cards) {
			const spec = inForce(status, stage);
			const may = Boolean(token()) && spec !== null;
			const key = `${spec} ${may}`;

			/* Building a form again would throw away what is typed into it. */
			if (
				!this.all.length ||
				this.shown[stage] === key ||
				this.editing.has(stage)
			)
				continue;
			this.shown[stage] = key;
			this.build(stage, card, spec, may);
		}
	}

	build(stage, card, spec, may) {
		const select = card.querySelector('select');
		const now = parse(spec);

		select.replaceChildren(
			...this.live(stage).map((p) =>
				el(
					'option',
					{ value: p.name },
					p.name + (p.default ? ' (default)' : ''),
				),
			),
		);
		if (spec !== null && !this.of(stage).some((p) => p.name === now.name))
			select.append(el('option', { value: now.name }, now.name));
		if (spec === null) select.prepend(el('option', { value: '' }, 'not in use'));
		select.value = spec === null ? '' : now.name;
		select.disabled = !may;
		card.classList.toggle('off', spec === null);
		this.parameters(stage, now.values, may);
	}

	/* The fields of the policy that is selected, with values or else its defaults. */
	parameters(stage, values, may = true) {
		const card = this.cards.get(stage);
		const name = card.querySelector('select').value;
		const policy = this.of(stage).find((p) => p.name === name);

		setText(
			card.querySelector('.summary'),
			policy
				? `${policy.summary}.`
				: 'Only layers with a controller decide this: sluice up --ionodes N.',
		);
		card.querySelector('.parameters').replaceChildren(
			...(policy?.params ?? []).map((p) =>
				this.field(stage, p, values[p.name], may),
			),
		);
	}

	field(stage, p, value, may) {
		const id = `policy-${stage}-${p.name}`;
		const unit =
			{ choice: '', count: '', file: '', bytes: 'B', us: 'µs' }[p.unit] ?? p.unit;
		const text = (v) => (p.unit === 'bytes' ? size(v) : String(v ?? ''));
		/* A file has neither bounds nor, as a rule, a default. */
		const range = p.min === undefined ? '' : ` From ${text(p.min)} to ${text(p.max)}.`;
		const usual = text(p.default) ? ` Default: ${text(p.default)}.` : '';
		const input = p.choices
			? el('select', {}, ...p.choices.map((c) => el('option', { value: c }, c)))
			: el('input', {
					type: 'text',
					inputmode: p.unit === 'file' ? 'text' : 'numeric',
					autocomplete: 'off',
					size: '9',
				});

		input.value =
			value === undefined
				? text(p.default)
				: p.unit === 'bytes'
					? size(value)
					: value;
		input.id = id;
		input.name = p.name;
		input.disabled = !may;
		input.dataset.default = text(p.default);
		input.setAttribute('aria-describedby', `${id}-help`);
		return el(
			'div.field',
			{},
			el(
				'label',
				{ for: id },
				p.name.replaceAll('_', ' ').replace(/ (ms|us|bytes)$/, ''),
			),
			el('span.input', {}, input, el('span.unit', {}, unit)),
			el(
				'p.soft',
				{ id: `${id}-help` },
				`${p.help ?? ''}${range}${usual}`,
			),
		);
	}

	/* STAGE=SPEC as it is in the form now: only what is not a default is said. */
	spec(stage) {
		const form = this.cards.get(stage).querySelector('form');
		const values = [...form.querySelectorAll('.parameters [name]')]
			.filter((i) => i.value.trim() !== i.dataset.default)
			.map((i) => `,${i.name}=${i.value.trim()}`);
		return form.querySelector('select').value + values.join('');
	}

	touch(stage) {
		this.editing.add(stage);
		for (const b of this.cards.get(stage).querySelectorAll('.buttons button'))
			b.disabled = false;
	}

	reset(stage) {
		const card = this.cards.get(stage);

		this.editing.delete(stage);
		delete this.shown[stage];
		/* The button that was pressed is about to be of no use: the keyboard stays in the form. */
		if (card.contains(document.activeElement)) card.querySelector('select').focus();
		for (const b of card.querySelectorAll('.buttons button')) b.disabled = true;
		setText(card.querySelector('.error'), '');
		this.update(this.status);
	}

	async apply(stage) {
		const card = this.cards.get(stage),
			spec = this.spec(stage);

		if (this.sending.has(stage)) return;
		this.sending.add(stage);
		setText(card.querySelector('.error'), '');
		try {
			await post('/api/v1/policy', { [stage]: spec });
			say(`${stage} is now ${spec}.`);
			/* Until the layer says so itself. */
			this.reset(stage);
			this.shown[stage] = `${inForce(this.status, stage)} true`;
			this.build(stage, card, spec, true);
		} catch (e) {
			setText(card.querySelector('.error'), e.message);
			say(e.message, true);
		}
		this.sending.delete(stage);
	}
}
