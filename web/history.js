/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the charts draw: the bandwidth of each job in each second, and its I/O phases.
 *
 * A ring of SLOTS seconds; second t lies in slot t mod SLOTS, of every job. A second that no answer
 * fell into takes the value of the next if only MEND are missing (an answer each 1.02 s leaves one
 * out now and then), and is unknown if more are: the chart has a gap there.
 *
 * A thousand jobs take 900 · 4 bytes each, and the sums over a window that top() wants are under a
 * million additions.
 */

export const SLOTS = 900;
const MEND = 2;

export class History {
	constructor() {
		this.jobs = new Map(); /* name → { bps: Float32Array, seen: second } */
		this.known = new Uint8Array(SLOTS);
		this.phases = new Map(); /* name → [{ from, to, open }], ms, in order */
		this.last = 0; /* newest second */
		this.nowMs = 0;
	}

	row(name) {
		let row = this.jobs.get(name);

		if (!row) this.jobs.set(name, (row = { bps: new Float32Array(SLOTS), seen: 0 }));
		return row;
	}

	/* Make `second` the newest; what lay in the slots until there is forgotten. */
	advance(second) {
		const from = Math.max(this.last + 1, second - SLOTS + 1);

		for (let t = from; t <= second; t++) {
			this.known[t % SLOTS] = 0;
			for (const row of this.jobs.values()) row.bps[t % SLOTS] = 0;
		}
		this.last = Math.max(this.last, second);
	}

	/* The answer of /api/v1/history: what was before the page was opened, or was missed. Seconds
	 * that are known stay. A step counts as the second it ends in, as a status does, which tells of
	 * the second before it. */
	load(past) {
		const first = Math.round((past.from_ms ?? 0) / 1000) + 1;
		const step = past.step_s ?? 1;
		const length = Math.max(0, ...(past.jobs ?? []).map((j) => j.bps.length)) * step;
		const fresh = [];

		this.advance(Math.max(this.last, first + length - 1));
		for (let t = Math.max(first, this.last - SLOTS + 1); t < first + length; t++)
			if (!this.known[t % SLOTS]) fresh.push(t);
		for (const { job, bps } of past.jobs ?? []) {
			const row = this.row(job);

			row.seen = Math.max(row.seen, this.last);
			for (const t of fresh)
				row.bps[t % SLOTS] = bps[Math.floor((t - first) / step)] ?? 0;
		}
		for (const t of fresh) this.known[t % SLOTS] = 1;
		if (fresh.length) this.mend(fresh.at(-1) + 1);
		if (past.phases) this.loadPhases(past.phases);
	}

	/* A few seconds from t on that nobody knows, as if they were like the next that is known. */
	mend(t) {
		let to = t;

		while (to <= this.last && !this.known[to % SLOTS]) to++;
		if (to > this.last || to - t > MEND + 1) return;
		for (; t < to; t++) {
			this.known[t % SLOTS] = 1;
			for (const row of this.jobs.values())
				row.bps[t % SLOTS] = row.bps[to % SLOTS];
		}
	}

	loadPhases(list) {
		this.phases.clear();
		for (const { job, from_ms: from, to_ms: to } of list) {
			if (!this.phases.has(job)) this.phases.set(job, []);
			this.phases
				.get(job)
				.push({ from, to: to ?? Math.max(from, this.nowMs), open: !to });
		}
	}

	/* Returns whether seconds before it are not known, which the server may know. */
	push(status) {
		const ms = status.time_ms ?? Date.now();
		const second = Math.round(ms / 1000);
		const missing = second - this.last - 1;
		const from = this.last && missing <= MEND ? this.last + 1 : second;

		this.advance(second);
		this.nowMs = ms;
		if (second < this.last - SLOTS + 1)
			return false; /* its clock was set back: until it has come so far again */
		for (let t = Math.min(from, second); t <= second; t++) this.known[t % SLOTS] = 1;
		for (const job of status.jobs ?? []) {
			const row = this.row(job.job);

			for (let t = Math.min(from, second); t <= second; t++)
				row.bps[t % SLOTS] = job.bandwidth_bps ?? 0;
			row.seen = second;
			this.phase(job, ms);
		}
		for (const [name, row] of this.jobs)
			if (row.seen < second) {
				this.end(name);
				if (row.seen <= second - SLOTS) this.jobs.delete(name);
			}
		for (const [name, list] of this.phases) {
			while (list.length && list[0].to < ms - SLOTS * 1000) list.shift();
			if (!list.length) this.phases.delete(name);
		}
		return missing > MEND;
	}

	/* Without a controller nobody says what a phase is; then it is whenever bytes move. */
	phase(job, ms) {
		const busy = job.in_io ?? (job.bandwidth_bps > 0 || job.queued_requests > 0);
		const list = this.phases.get(job.job) ?? [];
		const newest = list.at(-1);

		if (!busy) {
			if (newest) newest.open = false;
			return;
		}
		if (newest?.open) {
			newest.to = ms;
			return;
		}
		list.push({ from: ms - 1000, to: ms, open: true });
		this.phases.set(job.job, list);
	}

	end(name) {
		const newest = this.phases.get(name)?.at(-1);

		if (newest) newest.open = false;
	}

	/* Seconds since the oldest that is known. */
	age() {
		let age = SLOTS - 1;

		while (age > 0 && !(this.last >= age && this.known[(this.last - age) % SLOTS]))
			age--;
		return age;
	}

	/* Seconds of the window, and a function that gives a job's values in them. */
	window(seconds) {
		const first = this.last - seconds + 1;
		const times = Array.from({ length: seconds }, (_, i) => first + i);

		return {
			times,
			known: times.map((t) => this.known[((t % SLOTS) + SLOTS) % SLOTS] === 1),
			values: (name) => {
				const bps = this.jobs.get(name)?.bps;
				return times.map((t) =>
					bps ? bps[((t % SLOTS) + SLOTS) % SLOTS] : 0,
				);
			},
		};
	}

	/* All jobs together, in each second of the window. */
	totals(seconds) {
		const total = new Array(seconds).fill(0);

		for (const { bps } of this.jobs.values())
			for (let i = 0, t = this.last - seconds + 1; i < seconds; i++, t++)
				if (t >= 0) total[i] += bps[t % SLOTS];
		return total;
	}

	/* Bytes of each job in the window. */
	sums(seconds) {
		const sums = new Map();

		for (const [name, { bps }] of this.jobs) {
			let sum = 0;

			for (let t = Math.max(0, this.last - seconds + 1); t <= this.last; t++)
				sum += bps[t % SLOTS];
			if (sum > 0) sums.set(name, sum);
		}
		return sums;
	}
}

/*
 * Which jobs have a colour of their own: the n with most bytes. One that has a colour keeps it
 * while it is among the first 1.5 · n and no other that has none moved twice as much: colours that
 * change places every second would say nothing.
 */
export class Colours {
	constructor(n) {
		this.slots = new Array(n).fill(null);
	}

	forget() {
		this.slots.fill(null);
	}

	update(sums) {
		const n = this.slots.length;
		const order = [...sums.keys()].sort(
			(a, b) => sums.get(b) - sums.get(a) || (a < b ? -1 : 1),
		);
		const near = new Set(order.slice(0, Math.ceil(n * 1.5)));

		this.slots = this.slots.map((name) => (near.has(name) ? name : null));
		/* By name, so that those who open the page together see the same colours. */
		for (const name of order.slice(0, n).sort()) {
			if (this.slots.includes(name)) continue;
			let at = this.slots.indexOf(null);
			if (at < 0) {
				const sizes = this.slots.map((other) => sums.get(other));
				at = sizes.indexOf(Math.min(...sizes));
				if (sizes[at] * 2 > sums.get(name)) continue;
			}
			this.slots[at] = name;
		}
	}

	of(name) {
		const at = this.slots.indexOf(name);
		return at < 0 ? null : at;
	}
}
