/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that are changed where they stand: a button that becomes a field. Enter sends it, Escape
 * leaves all as it was; what the layer refuses is said beside the field, with its reason. What has been
 * sent is sent: until its answer has come, the field can neither be left nor sent again.
 */
import { el, say, setAttr, setText } from './dom.js';
import { typed } from './format.js';
import { post, token } from './feed.js';

const words = {
	min: {
		is: 'guaranteed',
		unit: 'bytes per second, as 20M; 0: none',
		value: (j) => typed(j.asked_min_bps ?? j.min_bps ?? 0),
	},
	max: {
		is: 'at most',
		unit: 'bytes per second, as 100M; 0: no limit',
		value: (j) => typed(j.asked_max_bps ?? j.max_bps ?? 0),
	},
	limit: {
		is: 'limits',
		unit: 'KEY=VALUE, as max_ops=500, max_create=100, max_iops=2k, max_read=100M; 0: none',
		value: () => 'max_ops=',
		body: (text) => Object.fromEntries(text.split(/[\s,]+/).map((word) => word.split('='))),
	},
	weight: { is: 'weight', unit: 'whole number from 1', value: (j) => String(j.weight ?? 1) },
};

export function editable(name, key, job) {
	const holder = el('div.editable');
	const button = el(
		'button.value',
		{ type: 'button', click: () => open(holder, name, key, job()) },
		'',
	);

	holder.dataset.what = `${key} of job ${name}`;
	holder.append(button);
	return holder;
}

export function showEditable(holder, text) {
	const button = holder.firstElementChild;

	if (button.tagName !== 'BUTTON') return; /* being changed */
	setText(button, text);
	setAttr(
		button,
		'aria-label',
		`${holder.dataset.what}: ${text === '–' ? 'none' : text}` +
			(token() ? ', change' : ''),
	);
	button.disabled = !token();
	setAttr(
		button,
		'title',
		token() ? 'Change' : 'To change this, the page needs the token of the layer',
	);
}

function open(holder, name, key, job) {
	const button = holder.firstElementChild;
	const input = el('input', {
		type: 'text',
		size: '6',
		autocomplete: 'off',
		spellcheck: 'false',
		'aria-label': `${holder.dataset.what}, ${words[key].unit}`,
		title: words[key].unit,
	});
	const ok = el('button.ok', { type: 'submit', 'aria-label': 'Save' }, '✓');
	const no = el(
		'button.no',
		{ type: 'button', 'aria-label': 'Cancel', click: () => close() },
		'✕',
	);
	const form = el(
		'form',
		{
			submit: (e) => {
				e.preventDefault();
				send();
			},
		},
		input,
		ok,
		no,
	);
	const error = el('p.error', { role: 'alert' });
	let sending = false;

	/* Not by `disabled`, which would take the focus away, and Escape with it. */
	function busy(now) {
		sending = now;
		input.readOnly = now;
		for (const b of [ok, no]) setAttr(b, 'aria-disabled', now ? 'true' : null);
	}

	function close() {
		if (sending) return;
		holder.replaceChildren(button);
		button.focus();
	}

	async function send() {
		const value = input.value.trim();

		if (sending) return;
		busy(true);
		try {
			await post(
				`/api/v1/jobs/${encodeURIComponent(name)}`,
				words[key].body?.(value) ?? { [key]: value },
			);
			busy(false);
			say(`Job ${name}: ${key} is now ${value}.`);
			close();
		} catch (e) {
			busy(false);
			setAttr(input, 'aria-invalid', 'true');
			error.textContent = e.message;
			holder.append(error);
			input.focus();
		}
	}

	input.value = words[key].value(job);
	input.addEventListener('keydown', (e) => {
		if (e.key === 'Escape') {
			e.preventDefault();
			close();
		}
	});
	holder.replaceChildren(form);
	input.focus();
	input.select();
}
