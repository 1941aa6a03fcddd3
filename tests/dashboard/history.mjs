/* SPDX-License-Identifier: Apache-2.0 */
/* What the charts draw, without a browser: seconds, gaps, phases, colours. Prints TAP. */
import assert from 'node:assert/strict';
import { Colours, History, SLOTS } from '../../web/history.js';

const T = 1_800_000_000; /* a second */
const status = (second, jobs) => ({
	time_ms: second * 1000 + 120,
	jobs: Object.entries(jobs).map(([job, bps]) => ({
		job,
		bandwidth_bps: bps,
		in_io: bps > 0,
	})),
});
/* The last n seconds of a job; null: not known. */
function last(h, name, n) {
	const { known, values } = h.window(n);
	return values(name).map((v, i) => (known[i] ? v : null));
}

const cases = {
	'a second without an answer takes the value of the next': () => {
		const h = new History();
		h.push(status(T, { a: 1 }));
		assert.equal(h.push(status(T + 2, { a: 3 })), false);
		assert.deepEqual(last(h, 'a', 4), [null, 1, 3, 3]);
	},
	'many seconds without one are not known, and the caller is told': () => {
		const h = new History();
		h.push(status(T, { a: 1 }));
		assert.equal(h.push(status(T + 5, { a: 3 })), true);
		assert.deepEqual(last(h, 'a', 6), [1, null, null, null, null, 3]);
	},
	'what the server kept fills the gap and what was before, and overwrites nothing': () => {
		const h = new History();
		h.push(status(T, { a: 1 }));
		h.push(status(T + 5, { a: 3 }));
		h.load({
			step_s: 1,
			from_ms: (T - 3) * 1000,
			jobs: [{ job: 'a', bps: [7, 7, 7, 7, 8, 9, 9] }],
		});
		/* steps end in T-2 … T+4 */
		assert.deepEqual(last(h, 'a', 8), [7, 7, 1, 7, 8, 9, 9, 3]);
		assert.equal(h.age(), 7);
	},
	'longer steps stand for each of their seconds': () => {
		const h = new History();
		h.push(status(T, { a: 1 }));
		h.load({ step_s: 2, from_ms: (T - 5) * 1000, jobs: [{ job: 'a', bps: [4, 6] }] });
		assert.deepEqual(last(h, 'a', 6), [null, 4, 4, 6, 6, 1]);
	},
	'a job that is gone is forgotten when its last second is': () => {
		const h = new History();
		h.push(status(T, { a: 1, b: 1 }));
		for (let t = T + 1; t < T + SLOTS; t++) h.push(status(t, { b: 1 }));
		assert.deepEqual([...h.jobs.keys()], ['a', 'b']);
		h.push(status(T + SLOTS, { b: 1 }));
		assert.deepEqual([...h.jobs.keys()], ['b']);
		assert.deepEqual(h.totals(3), [1, 1, 1]);
	},
	'a phase is open while it lasts': () => {
		const h = new History();
		h.push(status(T, { a: 1 }));
		h.push(status(T + 1, { a: 1 }));
		assert.deepEqual(h.phases.get('a'), [
			{ from: T * 1000 - 880, to: T * 1000 + 1120, open: true },
		]);
		h.push(status(T + 2, { a: 0 }));
		h.push(status(T + 3, { a: 1 }));
		assert.deepEqual(
			h.phases.get('a').map((p) => p.open),
			[false, true],
		);
	},
	'a colour stays with its job until a much bigger one comes': () => {
		const c = new Colours(2);
		c.update(
			new Map([
				['b', 10],
				['a', 5],
			]),
		);
		assert.deepEqual(c.slots, ['a', 'b']);
		c.update(
			new Map([
				['b', 10],
				['a', 5],
				['c', 9],
			]),
		);
		assert.deepEqual(c.slots, ['a', 'b']);
		c.update(
			new Map([
				['b', 10],
				['a', 5],
				['c', 11],
			]),
		);
		assert.deepEqual(c.slots, ['c', 'b']);
		assert.equal(c.of('a'), null);
	},
};

let n = 0;
console.log(`1..${Object.keys(cases).length}`);
for (const [name, test] of Object.entries(cases)) {
	n++;
	try {
		test();
		console.log(`ok ${n} - ${name}`);
	} catch (e) {
		process.exitCode = 1;
		console.log(`not ok ${n} - ${name}`);
		for (const line of String(e.stack).split('\n')) console.log(`# ${line}`);
	}
}
