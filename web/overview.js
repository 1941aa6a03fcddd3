/* SPDX-License-Identifier: Apache-2.0 */
/* The line of figures at the top, and the I/O nodes: how loaded each is, and which jobs it serves. */
import { $, el, keyed, setAttr, setText } from './dom.js';
import { bytes, count, limit, percent, plural, rate, seconds } from './format.js';

const JOBS_SHOWN = 8;

function meter(label) {
	return el(
		'div.meter',
		{
			role: 'meter',
			'aria-label': label,
			'aria-valuemin': '0',
			'aria-valuemax': '100',
		},
		el('div.fill'),
	);
}

function setMeter(node, part, words) {
	const value = Math.min(100, Math.max(0, Math.round(part * 100)));

	setAttr(node, 'aria-valuenow', value);
	setAttr(node, 'aria-valuetext', words);
	node.firstElementChild.style.width = `${value}%`;
	node.classList.toggle('full', part > 0.97);
}

/* ---- figures ---- */

const figures = {
	bandwidth: (s) => [
		rate(s.bandwidth_bps),
		s.capacity_bps > 0
			? `${percent(s.bandwidth_bps / s.capacity_bps)} of ${rate(s.capacity_bps)}`
			: 'capacity not given',
	],
	promised: (s) => [
		rate(s.floors_bps),
		s.capacity_bps > 0
			? `guaranteed, ${percent(s.floors_bps / s.capacity_bps)} of the capacity`
			: 'guaranteed to jobs',
	],
	jobs: (s) => {
		const jobs = s.jobs ?? [];
		const io = jobs.filter((j) => j.in_io ?? j.bandwidth_bps > 0).length;
		const waiting = jobs.filter((j) => j.queued_requests > 0).length;
		return [
			count(jobs.length),
			`${count(io)} in I/O, ${count(waiting)} with requests waiting`,
		];
	},
	inside: (s) => [count(s.requests), `requests inside, ${bytes(s.inflight_bytes)} in flight`],
	nodes: (s) => {
		const nodes = nodesOf(s);
		const up = nodes.filter((n) => n.state === 'up').length;
		return [
			`${up} of ${nodes.length}`,
			up === nodes.length
				? 'I/O nodes up'
				: `I/O nodes up: ${nodes
						.filter((n) => n.state !== 'up')
						.map((n) => `${n.name} ${n.state}`)
						.join(', ')}`,
		];
	},
	control: (s) =>
		s.controller
			? [
					s.controller.state,
					s.controller.state === 'up'
						? `controller, decision ${count(s.controller.epoch)}`
						: 'controller; jobs go on without grants',
				]
			: ['none', 'no controller: one node decides'],
};

export function showFigures(status) {
	for (const [name, text] of Object.entries(figures)) {
		const box = $(`figure-${name}`);
		const [value, note] = text(status);

		setText(box.querySelector('dd'), value);
		setText(box.querySelector('.soft'), note);
	}
	setMeter(
		$('load'),
		status.capacity_bps > 0 ? status.bandwidth_bps / status.capacity_bps : 0,
		figures.bandwidth(status).join(', '),
	);
	$('load').hidden = !(status.capacity_bps > 0);
	$('figure-nodes').classList.toggle(
		'alarm',
		nodesOf(status).some((n) => n.state !== 'up'),
	);
	$('figure-control').classList.toggle(
		'alarm',
		Boolean(status.controller && status.controller.state !== 'up'),
	);
	setText($('layer'), status.name ?? '');
	setText($('root'), status.root ?? '');
	setText($('facts'), `Sluice ${status.version ?? ''}, up ${seconds(status.uptime_s)}`);
}

/* ---- nodes ---- */

/* A layer with one node and no controller says what it is itself. */
function nodesOf(status) {
	return (
		status.ionodes ?? [
			{ ...status, name: '0', state: 'up', jobs: (status.jobs ?? []).length },
		]
	);
}

/* Node → its jobs with what they move there, most first. A job is where it was sent, and where
 * bytes of it still move. */
function mapping(status) {
	const on = new Map(nodesOf(status).map((n) => [n.name, []]));

	for (const job of status.jobs ?? []) {
		const parts = job.parts ?? [
			{ ionode: '0', clients: job.clients, bandwidth_bps: job.bandwidth_bps },
		];

		for (const part of parts)
			if (
				part.clients > 0 ||
				part.bandwidth_bps > 0 ||
				job.ionodes?.includes(part.ionode)
			)
				on.get(part.ionode)?.push({
					job: job.job,
					bps: part.bandwidth_bps,
				});
	}
	for (const list of on.values())
		list.sort((a, b) => b.bps - a.bps || (a.job < b.job ? -1 : 1));
	return on;
}

function makeNode(name) {
	return el(
		'li.node',
		{},
		el('h3', {}, `I/O node ${name}`, el('span.state')),
		meter(`load of I/O node ${name}`),
		el('p.load'),
		el('ul.chips', { 'aria-label': `jobs of I/O node ${name}` }),
	);
}

export function showNodes(status, colours) {
	const nodes = nodesOf(status),
		on = mapping(status);
	const items = keyed(
		$('nodes'),
		nodes.map((n) => n.name),
		makeNode,
	);

	for (const node of nodes) {
		const item = items.get(node.name);
		const [title, bar, load, chips] = item.children;
		const may = node.draw_bps ?? node.capacity_bps; // what the controller lets it draw now
		const capacity = may > 0;
		const words =
			node.state !== 'up'
				? `does not serve: see ${node.log ?? 'its log'}`
				: `${rate(node.bandwidth_bps)}${capacity ? ` of ${limit(may)}` : ''}, ` +
					`${count(node.iops)} requests/s, ${count(node.requests)} inside`;
		const jobs = on.get(node.name) ?? [];
		const shown = jobs.slice(0, JOBS_SHOWN);

		setText(title.querySelector('.state'), node.state === 'up' ? '' : node.state);
		item.classList.toggle('alarm', node.state !== 'up');
		setMeter(bar, capacity ? node.bandwidth_bps / may : 0, words);
		bar.hidden = !capacity;
		setText(load, words);
		const rest = jobs.length - shown.length;
		const keys = shown.map((j) => j.job);
		if (rest > 0) keys.push('\nrest');
		else if (!keys.length) keys.push('\nnone');
		const made = keyed(chips, keys, (key) =>
			key[0] === '\n'
				? el('li.soft')
				: el(
						'li',
						{},
						el('span.swatch', { 'aria-hidden': 'true' }),
						el('span.name', {}, key),
						el('span.num'),
					),
		);
		if (made.has('\nrest'))
			setText(made.get('\nrest'), `and ${plural(rest, 'more job')}`);
		if (made.has('\nnone')) setText(made.get('\nnone'), 'no job');
		for (const { job, bps } of shown) {
			const [swatch, , number] = made.get(job).children;
			setAttr(swatch, 'data-job', colours.of(job) ?? 'others');
			setText(number, bps > 0 ? rate(bps) : 'idle');
		}
	}
}
