/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bandwidth over time, stacked: the jobs that moved most, and all others as one.
 *
 * uPlot knows no stacks. Each series is the sum of itself and those below, and is filled down to
 * zero; the largest sum is drawn first, so what stays visible of each is its own part. With jobs a
 * and b at 30 and 20 MB/s: first the area up to 50 in the colour of b, then the one up to 30 in the
 * colour of a. Thin lines part the areas, and names stand in those that are high enough: colour is
 * never all there is to tell them apart.
 */
import { el, fit, keyed, setText, say, styled } from './dom.js';
import { clock, rate, plural } from './format.js';

export const GUTTER = 84; /* left of the plot; the phases below have the same */
const LABEL_PX = 15;

export class Chart {
	constructor(root, colours) {
		this.root = root;
		this.colours = colours;
		this.legend = root.parentNode.querySelector('.legend');
		this.when = root.parentNode.querySelector('.when');
		this.table = root.parentNode.querySelector('tbody');
		this.data = null;
		new ResizeObserver(() => this.resize()).observe(root);
		root.addEventListener('keydown', (e) => this.key(e));
		root.addEventListener('blur', () => this.plot?.setCursor({ left: -10, top: -10 }));
	}

	/* Again, in the colours of the day or of the night. */
	restyle() {
		this.plot?.destroy();
		this.plot = null;
		this.draw();
	}

	size() {
		return {
			width: Math.max(200, this.root.clientWidth),
			height: this.root.clientHeight,
		};
	}

	resize() {
		const { width, height } = this.size();

		if (this.plot && (this.plot.width !== width || this.plot.height !== height))
			this.plot.setSize({ width, height });
	}

	/* history, seconds to show, the layer's capacity (0: not known) */
	update(history, seconds, capacity) {
		const { times, known, values } = history.window(seconds);
		const total = history.totals(seconds);
		const slots = this.colours.slots;
		const rows = slots.map((name) =>
			name === null ? times.map(() => 0) : values(name),
		);
		const sums = [];

		rows.reduce(
			(below, row, k) => {
				sums[k] = row.map((v, i) => below[i] + v);
				return sums[k];
			},
			times.map(() => 0),
		);
		this.names = slots;
		this.capacity = capacity;
		this.rows = rows;
		this.others = total.map((v, i) => Math.max(0, v - sums.at(-1)[i]));
		this.count = history.jobs.size;
		this.total = total;
		this.times = times;
		/* The top first: see above. */
		this.data = [times, total, ...sums.reverse()].map((row, k) =>
			k ? row.map((v, i) => (known[i] ? v : null)) : row,
		);
		this.draw();
		this.describe();
	}

	draw() {
		if (!this.data) return;
		if (typeof uPlot === 'undefined') {
			this.root.replaceChildren(
				el(
					'p.no-chart',
					{},
					'This program was built without uPlot, which ' +
						'draws the chart. The table below has the numbers.',
				),
			);
			return this.readout();
		}
		if (!this.plot) this.plot = this.make();
		/* Lines between areas, where a second is wide enough for them. */
		const lines =
			this.plot.bbox.width / devicePixelRatio / this.times.length >= 2 ? 1 : 0;
		this.plot.series.forEach((s, k) => {
			s.width = k ? lines : 0;
		});
		this.plot.setData(this.data, false);
		this.plot.batch(() => {
			this.plot.setScale('x', { min: this.times[0], max: this.times.at(-1) });
			this.plot.setScale('y', { min: 0, max: this.top() });
		});
		this.readout();
	}

	/* With the capacity in sight, unless it would press everything to the floor. */
	top() {
		const most = Math.max(1e6, ...this.total);
		return (
			(this.capacity > most && this.capacity < most * 4 ? this.capacity : most) *
			1.08
		);
	}

	make() {
		const line = styled('--line-soft'),
			soft = styled('--soft'),
			panel = styled('--panel');
		const font = `12px ${styled('--font')}`;
		const area = (name) => ({
			fill: styled(name),
			stroke: panel,
			width: 1,
			points: { show: false },
			paths: uPlot.paths.stepped({ align: -1 }),
		});
		const axis = {
			stroke: soft,
			font,
			gap: 6,
			ticks: { show: false },
			grid: { stroke: line, width: 1 },
		};

		return new uPlot(
			{
				...this.size(),
				padding: [8, 8, 0, 0],
				legend: { show: false },
				scales: { x: { time: false, auto: false }, y: { auto: false } },
				cursor: {
					y: false,
					drag: { x: false, y: false },
					points: { show: false },
				},
				drawOrder: ['series', 'axes'],
				axes: [
					{
						...axis,
						space: 84,
						size: 28,
						values: (u, at) => at.map((t) => this.tick(u, t)),
						grid: { show: false },
					},
					{
						...axis,
						size: GUTTER,
						space: 44,
						values: (u, at) =>
							at.map((v) => (v ? rate(v) : '0')),
					},
				],
				series: [
					{},
					area('--others'),
					...this.colours.slots.map((_, k, all) =>
						area(`--job-${all.length - 1 - k}`),
					),
				],
				hooks: {
					draw: [(u) => this.annotate(u)],
					setCursor: [() => this.readout()],
				},
			},
			this.data,
			this.root,
		);
	}

	/* One that would be cut off at the right is left out. */
	tick(u, t) {
		return u.valToPos(t, 'x') > u.bbox.width / devicePixelRatio - 28
			? ''
			: clock(t * 1000);
	}

	/* The capacity, and the names of jobs in their areas. */
	annotate(u) {
		const { ctx } = u,
			px = devicePixelRatio;
		const { left, top, width, height } = u.bbox;

		ctx.save();
		ctx.beginPath();
		ctx.rect(left, top, width, height);
		ctx.clip();
		ctx.font = `600 ${12 * px}px ${styled('--font')}`;
		ctx.textBaseline = 'alphabetic';
		if (this.capacity > 0 && this.capacity <= u.scales.y.max) {
			const y = u.valToPos(this.capacity, 'y', true);

			ctx.strokeStyle = ctx.fillStyle = styled('--soft');
			ctx.lineWidth = px;
			ctx.setLineDash([5 * px, 4 * px]);
			ctx.beginPath();
			ctx.moveTo(left, y);
			ctx.lineTo(left + width, y);
			ctx.stroke();
			ctx.setLineDash([]);
			ctx.textAlign = 'right';
			ctx.fillText(
				`capacity ${rate(this.capacity)}`,
				left + width - 6 * px,
				y - 5 * px,
			);
		}
		ctx.textAlign = 'center';
		ctx.textBaseline = 'middle';
		const below = this.times.map(() => 0);
		this.names.forEach((name, k) => {
			if (name !== null) this.name(u, name, this.rows[k], below);
			this.rows[k].forEach((v, i) => {
				below[i] += v;
			});
		});
		ctx.restore();
	}

	/* Where the area has most room for its name, if it has: over all seconds that the name covers. */
	name(u, name, row, below) {
		const { ctx } = u,
			px = devicePixelRatio;
		const short = fit(ctx, name, 150 * px);
		const perSecond = u.bbox.width / Math.max(1, this.times.length - 1);
		const wide = Math.ceil((ctx.measureText(short).width + 6 * px) / perSecond);
		const high = LABEL_PX * px * (u.scales.y.max / u.bbox.height);
		let best = null;

		for (let i = 1; i + wide <= row.length; i++) {
			let floor = 0,
				ceiling = Infinity;

			for (let k = i; k < i + wide && ceiling - floor >= high; k++) {
				floor = Math.max(floor, below[k]);
				ceiling = Math.min(ceiling, below[k] + row[k]);
			}
			/* Among equal places the newest, which stays longest. */
			if (ceiling - floor >= Math.max(high, best?.room ?? 0))
				best = { i, room: ceiling - floor, middle: (floor + ceiling) / 2 };
		}
		if (!best) return;
		const x = u.valToPos(this.times[best.i] - 1, 'x', true) + (wide * perSecond) / 2;
		ctx.fillStyle = styled('--on-job');
		ctx.fillText(short, x, u.valToPos(best.middle, 'y', true));
	}

	/* ---- the numbers beside it ---- */

	readout() {
		const at = this.plot?.cursor.idx ?? null;
		const i = at === null ? this.times.length - 1 : at;
		const named = this.names
			.map((name, k) => [name, k])
			.filter(([name]) => name !== null);
		const rest = this.count - named.length;
		const keys = [...named.map(([, k]) => k).reverse()];

		if (rest > 0) keys.unshift('others');
		setText(
			this.when,
			`${at === null ? 'Now' : clock(this.times[i] * 1000)}: ${rate(this.total[i])}`,
		);
		const items = keyed(this.legend, keys, (k) =>
			el(
				'li',
				{},
				el('span.swatch', { 'data-job': k, 'aria-hidden': 'true' }),
				el('span.name'),
				el('span.num'),
			),
		);
		for (const [k, item] of items) {
			const [, name, number] = item.children;
			setText(name, k === 'others' ? plural(rest, 'other') : this.names[k]);
			setText(number, rate(k === 'others' ? this.others[i] : this.rows[k][i]));
		}
	}

	key(e) {
		const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[e.key];
		const last = this.times ? this.times.length - 1 : 0;
		let i = this.plot?.cursor.idx ?? last + 1;

		if (e.key === 'Home' || e.key === 'End') i = e.key === 'Home' ? 0 : last;
		else if (step) i = Math.min(last, Math.max(0, i + step));
		else return;
		e.preventDefault();
		if (!this.plot) return;
		this.plot.setCursor({ left: this.plot.valToPos(this.times[i], 'x'), top: 10 });
		say(
			[
				this.when.textContent,
				...[...this.legend.children].map(
					(li) =>
						`${li.children[1].textContent} ${li.children[2].textContent}`,
				),
			].join(', '),
		);
	}

	/* The same as a table, for those who do not see the picture. */
	describe() {
		const mean = (row) => row.reduce((a, b) => a + b, 0) / row.length;
		const lines = this.names
			.map((name, k) => [name, this.rows[k]])
			.filter(([name]) => name !== null);

		lines.sort((a, b) => mean(b[1]) - mean(a[1]));
		if (this.count > lines.length)
			lines.push([plural(this.count - lines.length, 'other job'), this.others]);
		lines.push(['All jobs', this.total]);
		keyed(
			this.table,
			lines.map((l) => l[0]),
			(name) =>
				el(
					'tr',
					{},
					el('th', { scope: 'row' }, name),
					el('td.num'),
					el('td.num'),
					el('td.num'),
				),
		);
		for (const [name, row] of lines) {
			const [, now, average, most] =
				this.table.children_by_key.get(name).children;
			setText(now, rate(row.at(-1)));
			setText(average, rate(mean(row)));
			setText(most, rate(Math.max(...row)));
		}
	}
}
