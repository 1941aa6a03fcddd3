/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that speaks the API of the dashboard and has no layer behind it: for what a real one
 * cannot be made to show on a small machine, such as a thousand jobs, and for working on the page.
 *
 *	node tests/dashboard/mock.mjs [JOBS] [PORT]
 *
 * Jobs compute and do I/O in turn, each with a period of its own, out of one random number generator
 * with a fixed seed. Changes are kept and shown, so the page behaves as with a layer.
 */
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { policies } from './mock-policies.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const types = { html: 'text/html', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };
export const TOKEN = 'mock-token';
const CAPACITY = 2e9;

/* ---- a layer ---- */

function random(seed) {
	return () => {
		seed = (seed * 1664525 + 1013904223) >>> 0;
		return seed / 2 ** 32;
	};
}

export class MockLayer {
	constructor(count) {
		const next = random(7);
		const names = [
			'nwchem',
			'wrf',
			'lammps',
			'cesm',
			'gromacs',
			'flash',
			'vasp',
			'enzo',
			'hacc',
			'qmc',
		];

		this.state = {
			share: 'wfq',
			order: 'to-agg',
			admit: 'token-bucket',
			grant: 'set-10',
			allocate: 'mckp',
		};
		this.start = Date.now() - 400e3;
		this.asked = 0;
		this.jobs = Array.from({ length: count }, (_, i) => ({
			job: `${names[i % names.length]}-${4100 + i}`,
			period: 12 + Math.floor(next() * 90),
			busy: 0.15 + next() * 0.45,
			shift: next() * 100,
			peak: (CAPACITY / Math.max(4, count / 2)) * (0.2 + 1.1 * next()),
			node: i % 4,
			min: i % 5 ? 0 : 2e7,
			max: i % 3 ? 0 : 3e8,
			weight: 1 + (i % 3),
		}));
	}

	bps(job, ms) {
		const t = ms / 1000 + job.shift;
		const inside = (t % job.period) / job.period < job.busy;
		const wave = 0.85 + 0.15 * Math.sin(t / 3 + job.shift);
		return inside ? Math.round(Math.min(job.max || Infinity, job.peak * wave)) : 0;
	}

	status(now = Date.now()) {
		this.asked++;
		const jobs = this.jobs.map((j) => {
			const bps = this.bps(j, now);
			return {
				job: j.job,
				clients: 4,
				procs: 4,
				nodes: 1,
				bandwidth_bps: bps,
				average_bps: j.peak * j.busy,
				iops: Math.round(bps / 1e6),
				share: 0,
				read_bytes: 0,
				write_bytes: Math.round((j.peak * (now - this.start)) / 2000),
				requests: 1000,
				batches: 500,
				merge_ratio: 2,
				queued_requests: bps ? 1 + Math.round(bps / 4e7) : 0,
				queued_bytes: 0,
				inflight_bytes: 0,
				throttled_s: j.max ? (now - this.start) / 2e4 : 0,
				latency_us: { p50: 1200, p95: 8000, p99: 12000 + j.shift * 100 },
				min_bps: j.min,
				max_bps: j.max,
				asked_min_bps: j.min,
				asked_max_bps: j.max,
				weight: j.weight,
				period_s: j.period,
				set: j.period > 31 ? 2 : 1,
				in_io: bps > 0,
				grant_bps: bps ? Math.round(j.peak) : null,
				reason: !bps
					? 'computes'
					: j.max && bps >= j.max
						? 'at its max'
						: `shares node ${j.node} by weight`,
				ionodes: [String(j.node)],
				pattern: {
					spatiality: 'strided',
					size: 'large',
					op: 'write',
					files: 8,
					call_bytes: 524288,
				},
				parts: [
					{
						ionode: String(j.node),
						clients: 4,
						bandwidth_bps: bps,
						iops: 0,
						queued_requests: 0,
					},
				],
			};
		});
		const total = jobs.reduce((sum, j) => sum + j.bandwidth_bps, 0);
		for (const j of jobs) j.share = total ? j.bandwidth_bps / total : 0;
		const ionodes = [0, 1, 2, 3].map((n) => {
			const mine = jobs.filter((j) => j.ionodes[0] === String(n));
			return {
				name: String(n),
				state: 'up',
				jobs: mine.length,
				clients: mine.length * 4,
				capacity_bps: CAPACITY / 4,
				bandwidth_bps: mine.reduce((sum, j) => sum + j.bandwidth_bps, 0),
				iops: 100,
				requests: 12,
			};
		});
		const { grant, allocate, ...policy } = this.state;
		return {
			api: 1,
			time_ms: now,
			name: 'mock',
			version: '0',
			root: '/scratch',
			uptime_s: (now - this.start) / 1000,
			policy,
			capacity_bps: CAPACITY,
			floors_bps: jobs.reduce((s, j) => s + j.min_bps, 0),
			requests: 48,
			inflight_bytes: 3e6,
			bandwidth_bps: total,
			iops: 400,
			controller: { state: 'up', epoch: 42, grant, allocate },
			ionodes,
			jobs,
		};
	}

	history(seconds) {
		const to = Math.floor(Date.now() / 1000),
			from = to - Math.min(seconds, 400) + 1;
		const times = Array.from({ length: to - from + 1 }, (_, i) => (from + i) * 1000);
		const phases = [];
		const jobs = this.jobs.map((j) => {
			const bps = times.map((t) => this.bps(j, t));
			let begin = null;
			bps.forEach((v, i) => {
				if (v && begin === null) begin = times[i];
				if (!v && begin !== null) {
					phases.push({
						job: j.job,
						from_ms: begin,
						to_ms: times[i],
					});
					begin = null;
				}
			});
			if (begin !== null)
				phases.push({ job: j.job, from_ms: begin, to_ms: null });
			return { job: j.job, bps };
		});
		return { step_s: 1, from_ms: from * 1000, jobs, phases };
	}

	change(path, body) {
		if (path === '/api/v1/policy') {
			Object.assign(this.state, body);
			return {};
		}
		if (path === '/api/v1/what-if')
			return {
				now: {
					grant: this.state.grant,
					window_s: 90,
					max_stretch: 1.62,
					io_slowdown: 3.1,
					utilization: 0.71,
					jobs: this.jobs.map(({ job }) => ({ job })),
					left_out: [{ job: 'old', why: 'it has ended' }],
				},
				policies: body.policies.map((name, i) => ({
					name,
					max_stretch: 1.6 - i * 0.1,
					io_slowdown: 2.2 + i * 0.3,
					utilization: 0.72 + i * 0.02,
				})),
			};
		const job = this.jobs.find(
			(j) => path === `/api/v1/jobs/${encodeURIComponent(j.job)}`,
		);
		if (!job) return { status: 404, error: 'There is no such job.' };
		for (const [key, value] of Object.entries(body)) {
			const number =
				parseFloat(value) *
				({ k: 1e3, M: 1e6, G: 1e9 }[String(value).at(-1)] ?? 1);
			if (!(number >= 0))
				return {
					status: 400,
					error: `${key}: '${value}' is not a ${key === 'weight' ? 'number' : 'rate. Write it as 20M'}.`,
				};
			job[key] = number;
		}
		return {};
	}
}

/* ---- the server ---- */

function file(path) {
	const name = path === '/' ? 'index.html' : path.slice(1);
	const inside =
		{
			'uplot.js': 'node_modules/uplot/dist/uPlot.iife.min.js',
			'uplot.css': 'node_modules/uplot/dist/uPlot.min.css',
		}[name] ?? `web/${name}`;

	return /^[a-z-]+\.(html|js|css|svg)$/.test(name)
		? [types[name.split('.')[1]], readFileSync(root + inside)]
		: null;
}

export function serve(layer, port = 0) {
	const streams = new Set();
	const json = (res, status, what) => {
		res.writeHead(status, { 'Content-Type': 'application/json' });
		res.end(JSON.stringify(what));
	};
	const server = createServer((req, res) => {
		const url = new URL(req.url, 'http://localhost');

		res.setHeader('Content-Security-Policy', "default-src 'self'");
		if (req.method === 'POST') {
			let text = '';
			req.on('data', (part) => {
				text += part;
			});
			req.on('end', () => {
				if (req.headers.authorization !== `Bearer ${TOKEN}`)
					return json(res, 401, {
						error: 'The token is missing or wrong.',
					});
				const answer = layer.change(url.pathname, JSON.parse(text));
				json(res, answer.status ?? 200, answer);
			});
		} else if (url.pathname === '/api/v1/events') {
			const send = () =>
				res.write(
					`event: status\ndata: ${JSON.stringify(layer.status())}\n\n`,
				);
			res.writeHead(200, { 'Content-Type': 'text/event-stream' });
			send();
			const timer = setInterval(send, 1000);
			streams.add(res);
			res.on('close', () => {
				clearInterval(timer);
				streams.delete(res);
			});
		} else if (url.pathname === '/api/v1/status') {
			json(res, 200, layer.status());
		} else if (url.pathname === '/api/v1/history') {
			json(
				res,
				200,
				layer.history(Number(url.searchParams.get('seconds') ?? 300)),
			);
		} else if (url.pathname === '/api/v1/policies') {
			json(res, 200, { policies });
		} else {
			const found = file(url.pathname);
			res.writeHead(found ? 200 : 404, {
				'Content-Type': found?.[0] ?? 'text/plain',
			});
			res.end(found?.[1] ?? 'There is no such file.');
		}
	});
	return new Promise((done) => {
		server.listen(port, '127.0.0.1', () =>
			done({
				url: `http://127.0.0.1:${server.address().port}/`,
				port: server.address().port,
				streams, /* of events, that are open */
				close: () =>
					new Promise((closed) => {
						streams.forEach((s) => s.destroy());
						server.close(closed);
						server.closeAllConnections();
					}),
			}),
		);
	});
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const { url } = await serve(
		new MockLayer(Number(process.argv[2] ?? 12)),
		Number(process.argv[3] ?? 0),
	);
	console.log(`${url}#token=${TOKEN}`);
}
