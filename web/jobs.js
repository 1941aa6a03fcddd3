/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of jobs: sorted, filtered, a page at a time, so that a thousand jobs cost what 25 do.
 *
 * Numbers change every second, and with them the order. While somebody is in the table, with the
 * keyboard or an editor, rows keep their places: what one reaches for must not move away.
 */
import { $, el, keyed, setAttr, setText } from './dom.js';
import { bytes, count, limit, micros, percent, rate, seconds } from './format.js';
import { editable, showEditable } from './edit.js';

const one = (v) => v ?? -1;
const nodes = (j) => j.ionodes ?? (j.parts ?? []).filter((p) => p.clients > 0).map((p) => p.ionode);

/* One that was found in the job's I/O is said with how sure that is. */
const sure = (j) =>
	j.period_s > 0 && j.period_from === 'detected'
		? `${percent(j.period_confidence)} sure`
		: '';

/* What its requests look like, in words. */
function pattern(j) {
	const p = j.pattern;

	if (!p?.op) return '';
	return [
		`${p.spatiality === 'unknown' ? '' : p.spatiality} ${p.op}s`.trim(),
		p.call_bytes > 0 ? `${bytes(p.call_bytes)} each` : '',
		p.files > 1 ? `${count(p.files)} files` : '',
	]
		.filter(Boolean)
		.join(', ');
}

/* Its limits of operations, of data calls, and of bytes in one direction. */
function opsLimits(j) {
	const of = (key, show) => (j[key] > 0 ? `${key.replace('_', ' ')} ${show(j[key])}` : '');

	const classes = ['create', 'lookup', 'remove', 'list', 'attribute'];

	return [
		...['min_ops', 'max_ops'].map((k) => of(k, count)),
		...['min', 'max', 'weight'].flatMap((what) => classes.map((c) => of(`${what}_${c}`, count))),
		of('max_iops', count),
		of('max_read', rate),
		of('max_write', rate),
	]
		.filter(Boolean)
		.join(', ');
}

/* sort: what to compare; show: text. Large first is what people want of numbers. */
const columns = [
	{
		key: 'job',
		label: 'Job',
		text: true,
		head: true,
		sort: (j) => j.job,
		show: (j) => j.job,
	},
	{
		key: 'now',
		label: 'Now',
		hint: 'Bytes per second in the last second',
		sort: (j) => one(j.bandwidth_bps),
		show: (j) => rate(j.bandwidth_bps),
		bar: true,
	},
	{
		key: 'share',
		label: 'Share',
		hint: 'Part of the bandwidth of all jobs',
		sort: (j) => one(j.share),
		show: (j) => percent(j.share),
	},
	{
		key: 'reason',
		label: 'Why',
		text: true,
		hint: 'Why it is as fast as it is',
		sort: (j) => j.reason ?? '',
		show: (j) => j.reason ?? '–',
		below: pattern,
	},
	{
		key: 'queue',
		label: 'Waiting',
		hint: 'Requests that wait in the nodes',
		sort: (j) => one(j.queued_requests),
		show: (j) => count(j.queued_requests),
	},
	{
		key: 'held',
		label: 'Held',
		hint: 'Time for which it wanted to send and was held by its max',
		sort: (j) => one(j.throttled_s),
		show: (j) => (j.throttled_s > 0 ? seconds(j.throttled_s) : '–'),
	},
	{
		key: 'p99',
		label: 'Latency',
		hint: '99 of 100 requests took no longer, from arrival to end',
		sort: (j) => one(j.latency_us?.p99),
		show: (j) => micros(j.latency_us?.p99),
	},
	{
		key: 'moved',
		label: 'Moved',
		hint: 'Bytes read and written so far',
		sort: (j) => one(j.read_bytes) + one(j.write_bytes),
		show: (j) => bytes((j.read_bytes ?? 0) + (j.write_bytes ?? 0)),
		below: (j) => (j.unscheduled_bytes > 0 ? `${bytes(j.unscheduled_bytes)} unscheduled` : ''),
	},
	{
		key: 'wire',
		label: 'Wire',
		hint: 'Bytes that the file system has moved: not those of the page cache',
		sort: (j) => one(j.wire_bytes),
		show: (j) => bytes(j.wire_bytes ?? 0),
		below: (j) =>
			[
				j.cached_bytes > 0 ? `${bytes(j.cached_bytes)} cached` : '',
				j.dirty_bytes > 0 ? `${bytes(j.dirty_bytes)} dirty` : '',
			]
				.filter(Boolean)
				.join(', '),
	},
	{
		key: 'ops',
		label: 'Metadata',
		hint: 'Operations per second: create, look up, remove, list, change attributes',
		sort: (j) => one(j.ops_per_s),
		show: (j) => count(j.ops_per_s ?? 0),
		below: (j) => (j.ops_held_s > 0 ? `held ${seconds(j.ops_held_s)}` : ''),
	},
	{
		key: 'period',
		label: 'Period',
		hint: 'Time from one I/O phase to the next, as declared or as found',
		sort: (j) => one(j.period_s),
		show: (j) => (j.period_s > 0 ? seconds(j.period_s) : '–'),
		below: sure,
	},
	{
		key: 'ionodes',
		label: 'I/O nodes',
		hint: 'Nodes that serve it',
		sort: (j) => nodes(j).length,
		show: (j) =>
			nodes(j).length > 6
				? `${nodes(j).length}: ${nodes(j)[0]}…`
				: nodes(j).join(', ') || '–',
	},
	{
		key: 'grant',
		label: 'Grant',
		hint: 'Rate that the controller has given it; a dash: as it likes',
		sort: (j) => one(j.grant_bps),
		show: (j) => (typeof j.grant_bps === 'number' ? rate(j.grant_bps) : '–'),
	},
	{
		key: 'min',
		label: 'Min',
		hint: 'Guaranteed',
		sort: (j) => one(j.asked_min_bps ?? j.min_bps),
		edit: true,
		show: (j) => limit(j.asked_min_bps ?? j.min_bps),
	},
	{
		key: 'max',
		label: 'Max',
		hint: 'Never more than this',
		sort: (j) => one(j.asked_max_bps ?? j.max_bps),
		edit: true,
		show: (j) => limit(j.asked_max_bps ?? j.max_bps),
	},
	{
		key: 'limit',
		label: 'Limits',
		hint: 'Of operations, data calls, and bytes in one direction',
		sort: (j) => one(j.max_ops),
		edit: true,
		show: (j) => opsLimits(j) || '–',
	},
	{
		key: 'weight',
		label: 'Weight',
		hint: 'Share beside other jobs',
		sort: (j) => one(j.weight),
		edit: true,
		show: (j) => count(j.weight),
	},
];

export class Jobs {
	constructor(colours, changed) {
		this.colours = colours;
		this.jobs = [];
		this.order = [];
		this.page = 0;
		this.by = columns.find((c) => c.key === 'now');
		this.down = true;
		this.words = '';
		this.body = $('jobs-body');
		this.heads();
		if (matchMedia('(max-width: 640px)').matches) $('page-size').value = '10';
		$('filter').addEventListener('input', (e) => {
			this.words = e.target.value.trim().toLowerCase();
			this.page = 0;
			this.show(true);
			changed();
		});
		$('page-size').addEventListener('change', () => {
			this.page = 0;
			this.show(true);
		});
		$('page-back').addEventListener('click', () => {
			this.page--;
			this.show(true);
		});
		$('page-next').addEventListener('click', () => {
			this.page++;
			this.show(true);
		});
		$('sort-by').append(...columns.map((c) => el('option', { value: c.key }, c.label)));
		$('sort-by').addEventListener('change', (e) =>
			this.sort(columns.find((c) => c.key === e.target.value)),
		);
	}

	heads() {
		$('jobs-head').append(
			...columns.map((c) => {
				c.button = el(
					'button',
					{
						type: 'button',
						title: c.hint,
						click: () => this.sort(c),
					},
					c.label,
					el('span.arrow', { 'aria-hidden': 'true' }),
				);
				c.th = el(
					`th${c.text ? '' : '.num'}.c-${c.key}`,
					{ scope: 'col', role: 'columnheader' },
					c.button,
				);
				return c.th;
			}),
		);
	}

	sort(column) {
		this.down = this.by === column ? !this.down : !column.text;
		this.by = column;
		this.page = 0;
		this.show(true);
	}

	/* Does the filter let it through? By name, reason or node; words are all needed. */
	wanted(job) {
		if (!this.words) return true;
		const text = `${job.job} ${job.reason ?? ''} ${pattern(job)} ${nodes(job)
			.map((n) => `node:${n}`)
			.join(' ')}`.toLowerCase();
		return this.words.split(/\s+/).every((w) => text.includes(w));
	}

	wantedName(name) {
		const job = this.byName?.get(name);
		return (
			!this.words ||
			(job ? this.wanted(job) : name.toLowerCase().includes(this.words))
		);
	}

	update(status) {
		this.jobs = status.jobs ?? [];
		this.most = Math.max(1, ...this.jobs.map((j) => j.bandwidth_bps ?? 0));
		this.byName = new Map(this.jobs.map((j) => [j.job, j]));
		this.show(false);
	}

	arrange() {
		const { sort } = this.by,
			sign = this.down ? -1 : 1;
		const compare = (a, b) => {
			const x = sort(a),
				y = sort(b);
			return (x < y ? -sign : x > y ? sign : 0) || (a.job < b.job ? -1 : 1);
		};

		this.order = this.jobs
			.filter((j) => this.wanted(j))
			.sort(compare)
			.map((j) => j.job);
	}

	/* Are people at work in the rows? Then places stay; jobs that ended go, new ones come last. */
	held() {
		return (
			this.body.contains(document.activeElement) ||
			this.body.querySelector('input') !== null
		);
	}

	keep() {
		const placed = new Set(this.order);

		this.order = [
			...this.order.filter((name) => this.byName.has(name)),
			...this.jobs
				.filter((j) => !placed.has(j.job) && this.wanted(j))
				.map((j) => j.job),
		];
	}

	show(ordered) {
		const size = Number($('page-size').value);

		if (ordered || !this.held()) this.arrange();
		else this.keep();
		const last = Math.max(0, Math.ceil(this.order.length / size) - 1);
		this.page = Math.min(Math.max(0, this.page), last);
		const from = this.page * size;
		const names = this.order.slice(from, from + size);
		const rows = keyed(this.body, names, (name) => this.make(name));
		for (const name of names) this.fill(rows.get(name), this.byName.get(name));
		for (const c of columns) {
			setAttr(
				c.th,
				'aria-sort',
				c !== this.by ? null : this.down ? 'descending' : 'ascending',
			);
			setText(
				c.button.lastElementChild,
				c !== this.by ? '' : this.down ? '▼' : '▲',
			);
		}
		$('sort-by').value = this.by.key;
		const all = this.order.length;
		setText(
			$('page-place'),
			all
				? `${count(from + 1)}–${count(Math.min(from + size, all))} of ${count(all)}`
				: this.jobs.length
					? 'No job matches the filter'
					: 'No jobs',
		);
		$('page-back').disabled = this.page === 0;
		$('page-next').disabled = this.page >= last;
		$('jobs-empty').hidden = all > 0;
		setText(
			$('jobs-empty'),
			this.jobs.length
				? 'No job matches the filter.'
				: 'No jobs yet. Start a program with “sluice run -- COMMAND”, and it appears here.',
		);
	}

	make(name) {
		const row = el(
			'tr',
			{ role: 'row' },
			...columns.map((c) => {
				const cell = el(
					`${c.head ? 'th' : 'td'}${c.text ? '' : '.num'}.c-${c.key}`,
					{
						role: c.head ? 'rowheader' : 'cell',
						'data-label': c.label,
						...(c.head ? { scope: 'row' } : {}),
					},
				);

				if (c.edit)
					cell.append(
						editable(name, c.key, () => this.byName.get(name)),
					);
				else if (c.head)
					cell.append(
						el('span.swatch', { 'aria-hidden': 'true' }),
						el('span.name', { title: name }, name),
					);
				else if (c.bar)
					cell.append(
						el('span'),
						el('span.bar', { 'aria-hidden': 'true' }),
					);
				else if (c.below) cell.append(el('span'), el('span.below'));
				return cell;
			}),
		);
		row.dataset.job = name;
		return row;
	}

	fill(row, job) {
		columns.forEach((c, i) => {
			const cell = row.children[i];

			if (c.head)
				setAttr(
					cell.firstElementChild,
					'data-job',
					this.colours.of(job.job) ?? 'others',
				);
			else if (c.edit) showEditable(cell.firstElementChild, c.show(job));
			else if (c.bar) {
				setText(cell.firstElementChild, c.show(job));
				cell.lastElementChild.style.width = `${(100 * (job.bandwidth_bps ?? 0)) / this.most}%`;
			} else if (c.below) {
				setText(cell.firstElementChild, c.show(job));
				setText(cell.lastElementChild, c.below(job));
			} else {
				setText(cell, c.show(job));
			}
		});
		row.classList.toggle(
			'idle',
			!(job.bandwidth_bps > 0) && !(job.queued_requests > 0),
		);
	}
}
