/* SPDX-License-Identifier: Apache-2.0 */
/* The pages that commands write into files, in a browser. Prints TAP. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './browser.mjs';

const sluice = process.env.SLUICE ?? 'build/cli/sluice';

/* A case that has a directory and a page of this width, and may open files in it. */
function with_file(width, test) {
	return {
		run: async ({ browser }) => {
			const dir = mkdtempSync(join(tmpdir(), 'sluice-pages-'));
			const context = await browser.newContext({ viewport: { width, height: 900 } });
			const page = await context.newPage();
			const wrong = [];

			page.on('pageerror', (e) => wrong.push(e.stack));
			try {
				await test({ page, dir });
				assert.deepEqual(wrong, []);
			} finally {
				await context.close();
				rmSync(dir, { recursive: true });
			}
		},
	};
}

/* What has to be scrolled sideways: the page itself, and frames in it. */
function wider(page) {
	return page.evaluate(() =>
		[document.documentElement, ...document.querySelectorAll('.wide, .chart')]
			.filter((e) => e.scrollWidth > e.clientWidth)
			.map((e) => `${e.id || e.className || e.tagName}: ${e.scrollWidth}`),
	);
}

const scenario = `platform: {bandwidth: 10G, per_proc_bandwidth: 20M, procs: 2304}
jobs:
- {name: checkpoint, procs: 1024, compute: 30m, volume: 4T, iterations: 4}
- {name: writer, count: 3, procs: 256, compute: {uniform: [50, 70]}, volume: 300G, iterations: 50}
`;

const cases = {
	'the page of sluice sim fits 1,000 pixels, with all measures and long policies': with_file(
		1000,
		async ({ page, dir }) => {
			const file = join(dir, 'mix.yaml'),
				html = join(dir, 'sim.html');
			const policies = ['fair-share', 'fcfs', 'min-max,gamma=75', 'target-dilation,target=150,priority=yes,max_stall_ms=500'];

			writeFileSync(file, scenario);
			execFileSync(sluice, [
				'sim',
				file,
				...policies.flatMap((p) => ['-p', p]),
				'--repeat',
				'3',
				'--html',
				html,
			]);
			await page.goto(`file://${html}`);
			await page.locator('#comparison tbody tr').nth(3).waitFor();
			assert.deepEqual(await wider(page), []);
		},
	),

	'the matrix of sluice report has no empty rows and columns': with_file(
		1000,
		async ({ page, dir }) => {
			const file = join(dir, 'usage'),
				html = join(dir, 'report.html');

			writeFileSync(
				file,
				`time,seconds,read,write,calls,held,waited,job
100,2,0,60000000,60,0,0,big
100,2,0,20000000,20,0,1.5,small
200,2,0,1000000,1,0,0,idle
`,
			);
			execFileSync(sluice, ['report', '--html', html, file]);
			await page.goto(`file://${html}`);
			await page.locator('#matrix tr').first().waitFor();
			assert.deepEqual(await page.locator('#matrix tr').allInnerTexts(), [
				'waited for\tbig',
				'small\t1.1',
			]);
		},
	),
};

await run(cases, process.argv[2]);
