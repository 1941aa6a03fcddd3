/* SPDX-License-Identifier: Apache-2.0 */
/*
 * I/O phases: a line for each job, a bar for each time it did I/O, over the same seconds as the
 * bandwidth above. A bar that is open at its right end goes on. Jobs with a colour come first, then
 * those with the newest phases; the rest is counted.
 */
import { el, fit, keyed, setText, styled } from './dom.js';
import { clock, plural, seconds as duration } from './format.js';
import { GUTTER } from './chart.js';

const ROW = 22,
	BAR = 12,
	AXIS = 22,
	RIGHT = 8;

export class Gantt {
	constructor(root, colours) {
		this.colours = colours;
		this.canvas = root.querySelector('canvas');
		this.holder = root.querySelector('.bars');
		this.note = root.querySelector('.note');
		this.table = root.querySelector('tbody');
		this.rows = [];
		new ResizeObserver(() => this.draw()).observe(this.holder);
		this.canvas.addEventListener('pointermove', (e) => this.point(e));
		this.canvas.addEventListener('pointerleave', () => this.summarize());
	}

	update(history, seconds, most, wanted) {
		const to = history.last,
			from = to - seconds + 1;
		const inside = [...history.phases]
			.map(([name, list]) => ({
				name,
				colour: this.colours.of(name),
				list: list.filter(
					(p) => p.to >= from * 1000 && p.from <= to * 1000 + 1000,
				),
			}))
			.filter((row) => row.list.length && wanted(row.name));

		inside.sort(
			(a, b) =>
				(a.colour ?? 99) - (b.colour ?? 99) ||
				b.list.at(-1).to - a.list.at(-1).to ||
				(a.name < b.name ? -1 : 1),
		);
		this.hidden = Math.max(0, inside.length - most);
		this.rows = inside.slice(0, most);
		this.range = { from, to };
		this.draw();
		this.summarize();
		this.describe();
	}

	x(ms) {
		const { from, to } = this.range;
		const width = this.width - GUTTER - RIGHT;
		const part = (ms / 1000 - from) / Math.max(1, to - from);
		return GUTTER + Math.min(1, Math.max(0, part)) * width;
	}

	draw() {
		const px = devicePixelRatio;
		const height = Math.max(1, this.rows.length) * ROW + AXIS;

		this.width = this.holder.clientWidth;
		if (!this.range || !this.width) return;
		this.holder.style.height = `${height}px`;
		if (
			this.canvas.width !== Math.round(this.width * px) ||
			this.canvas.height !== Math.round(height * px)
		) {
			this.canvas.width = Math.round(this.width * px);
			this.canvas.height = Math.round(height * px);
		}
		const ctx = this.canvas.getContext('2d');
		ctx.setTransform(px, 0, 0, px, 0, 0);
		ctx.clearRect(0, 0, this.width, height);
		ctx.font = `12px ${styled('--font')}`;
		ctx.textBaseline = 'middle';
		this.rows.forEach((row, i) => this.row(ctx, row, i * ROW));
		this.axis(ctx, height);
	}

	row(ctx, row, top) {
		const middle = top + ROW / 2;

		ctx.fillStyle = styled('--line-soft');
		ctx.fillRect(GUTTER, top + ROW - 1, this.width - GUTTER - RIGHT, 1);
		ctx.fillStyle = styled('--text');
		ctx.textAlign = 'right';
		ctx.fillText(fit(ctx, row.name, GUTTER - 10), GUTTER - 8, middle);
		ctx.fillStyle = styled(row.colour === null ? '--others' : `--job-${row.colour}`);
		for (const phase of row.list) {
			const left = this.x(phase.from),
				right = Math.max(left + 2, this.x(phase.to));

			ctx.beginPath();
			ctx.roundRect(
				left,
				middle - BAR / 2,
				right - left,
				BAR,
				phase.open ? [3, 0, 0, 3] : 3,
			);
			ctx.fill();
		}
	}

	axis(ctx, height) {
		const { from, to } = this.range;
		const most = Math.max(2, Math.floor((this.width - GUTTER) / 72));
		const step =
			[5, 10, 15, 30, 60, 120, 300].find((s) => (to - from) / s <= most) ?? 600;

		ctx.fillStyle = styled('--soft');
		ctx.textAlign = 'center';
		for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
			const x = this.x(t * 1000);
			if (x > GUTTER + 26 && x < this.width - 30)
				ctx.fillText(clock(t * 1000), x, height - AXIS / 2 + 2);
		}
	}

	/* ---- in words ---- */

	summarize() {
		const open = this.rows.filter((r) => r.list.at(-1).open).length;

		if (!this.rows.length) setText(this.note, 'No I/O phase in this time.');
		else
			setText(
				this.note,
				`${open ? plural(open, 'job') : 'None of these'} in I/O now` +
					(this.hidden
						? `; ${plural(this.hidden, 'more job')} with phases, not drawn`
						: '') +
					'.',
			);
	}

	point(e) {
		const box = this.canvas.getBoundingClientRect();
		const row = this.rows[Math.floor((e.clientY - box.top) / ROW)];
		const x = e.clientX - box.left;
		const phase = row?.list.find(
			(p) => x >= this.x(p.from) - 1 && x <= this.x(p.to) + 3,
		);

		if (!phase) return this.summarize();
		setText(
			this.note,
			`${row.name}: I/O from ${clock(phase.from)} ` +
				(phase.open
					? `on, ${duration((phase.to - phase.from) / 1000)} so far`
					: `to ${clock(phase.to)}, ${duration((phase.to - phase.from) / 1000)}`),
		);
	}

	describe() {
		keyed(
			this.table,
			this.rows.map((r) => r.name),
			(name) =>
				el(
					'tr',
					{},
					el('th', { scope: 'row' }, name),
					el('td.num'),
					el('td.num'),
					el('td'),
				),
		);
		for (const { name, list } of this.rows) {
			const [, many, mean, now] = this.table.children_by_key.get(name).children;
			const all = list.reduce((sum, p) => sum + p.to - p.from, 0);
			setText(many, String(list.length));
			setText(mean, duration(all / list.length / 1000));
			setText(
				now,
				list.at(-1).open
					? 'in I/O'
					: `computes since ${clock(list.at(-1).to)}`,
			);
		}
	}
}
