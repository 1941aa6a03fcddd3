/* SPDX-License-Identifier: Apache-2.0 */
/* The page against a server without a layer: what it does with many jobs, with odd ones, and when the
 * server goes away. Prints TAP. */
import assert from 'node:assert/strict';
import { rows, text, with_layer } from './common.mjs';
import { run, until } from './browser.mjs';
import { serve } from './mock.mjs';

const cases = {
	'a lost connection is said, tried again, and what was missed is fetched': with_layer(
		3,
		async (it) => {
			const { page, open, url, server, layer, allow } = it;
			let again;

			allow(/ERR_(CONNECTION|INCOMPLETE|EMPTY)/);
			await open(url);
			await server.close();
			await page
				.locator('#connection', { hasText: 'Connection lost, retrying' })
				.waitFor();
			assert.match(await text(page, '#said'), /Connection lost/);
			assert.ok((await rows(page).count()) > 0, 'the last numbers stay');
			const asked = page.waitForRequest(/history/);
			try {
				again = await serve(layer, server.port);
				await page.locator('#connection[data-state=live]').waitFor();
				await asked;
				await until(
					async () =>
						/Connected again/.test(await text(page, '#said')),
					'it is said',
				);
			} finally {
				await again?.close();
			}
		},
	),

	'a page that nobody sees keeps no connection, and catches up when it is seen': with_layer(
		3,
		async ({ page, open, url, server, layer }) => {
			const hide = (hidden) =>
				page.evaluate((now) => {
					Object.defineProperty(document, 'hidden', {
						value: now,
						configurable: true,
					});
					document.dispatchEvent(new Event('visibilitychange'));
				}, hidden);
			const loaded = page.waitForResponse(/history/);

			await open(url);
			await loaded;
			assert.equal(server.streams.size, 1);
			await hide(true);
			await until(() => server.streams.size === 0, 'it lets go');
			/* a minute passes */
			const status = layer.status.bind(layer);
			layer.status = () => status(Date.now() + 60e3);
			layer.jobs[0].weight = 77;
			const asked = page.waitForRequest(/history/);
			await hide(false);
			await asked;
			await until(
				async () => /77/.test(await text(page, '#jobs-body')),
				'the newest numbers',
			);
			assert.equal(await text(page, '#connection'), 'Live');
		},
	),

	'pause holds the numbers': with_layer(12, async ({ page, open, url, layer }) => {
		const loaded = page.waitForResponse(/history/);
		await open(url);
		await loaded;
		await page.locator('#what-if-policies input').first().waitFor();
		await page.getByRole('button', { name: 'Pause' }).click();
		const before = await text(page, 'main');
		for (const job of layer.jobs) job.shift += 37;
		const seen = layer.asked;
		await until(() => layer.asked >= seen + 2, 'two more events');
		assert.equal(await text(page, 'main'), before);
		/* also when something else is looked for, which is drawn at once */
		const figures = () => text(page, '.figures');
		const now = await figures();
		await page.locator('#seconds').selectOption('60');
		await page.getByLabel('Filter').fill('wrf');
		await until(async () => (await rows(page).count()) === 2, 'the filter');
		assert.equal(await figures(), now);
		await page.getByLabel('Filter').fill('');
		await until(async () => (await rows(page).count()) === 12, 'no filter');
		assert.equal(await figures(), now);
		await page.getByRole('button', { name: 'Resume' }).click();
		await until(async () => (await text(page, 'main')) !== before, 'new numbers');
	}),

	'a name is text, whatever is in it': with_layer(2, async ({ page, open, url, layer }) => {
		layer.jobs[0].job = '<img src=x onerror=alert(1)>"\'&';
		await open(url);
		await page.getByRole('rowheader', { name: layer.jobs[0].job }).waitFor();
		assert.equal(await page.locator('img[src=x]').count(), 0);
	}),

	'a layer that knows less is shown as far as it goes': with_layer(
		2,
		async ({ page, open, url, layer }) => {
			const full = layer.status.bind(layer);
			layer.status = () => {
				const { name, bandwidth_bps, jobs, time_ms } = full();
				return {
					name,
					bandwidth_bps,
					time_ms,
					jobs: jobs.map((j) => ({
						job: j.job,
						bandwidth_bps: j.bandwidth_bps,
					})),
				};
			};
			await open(url);
			await rows(page).nth(1).waitFor();
			assert.equal(
				await rows(page).first().locator('.c-reason').textContent(),
				'–',
			);
			assert.match(await text(page, '#figure-control'), /none/);
		},
	),

	'built without uPlot, the page says so and has the numbers': with_layer(
		2,
		async ({ page, open, url }) => {
			await page.route('**/uplot.js', (r) =>
				r.fulfill({ contentType: 'text/javascript', body: '' }),
			);
			await open(url);
			await until(
				async () => /built without uPlot/.test(await text(page, '#chart')),
				'the reason',
			);
			await page.locator('.legend li').nth(1).waitFor();
			await rows(page).nth(1).waitFor();
		},
	),

	'a thousand jobs cost what a page of them does': with_layer(
		1000,
		async ({ page, open, url, layer }) => {
			await open(url);
			await until(
				async () => /of 1,000/.test(await text(page, '#page-place')),
				'all jobs',
			);
			assert.equal(await rows(page).count(), 25);
			assert.equal(await page.locator('.legend li').count(), 9);
			assert.match(
				await page.locator('.legend li').first().textContent(),
				/^99\d others/,
			);
			const elements = await page.evaluate(
				() => document.querySelectorAll('*').length,
			);
			assert.ok(elements < 2500, `${elements} elements`);
			/* An update touches what is seen, and blocks the page for moments only: said, not judged. */
			const before = layer.asked;
			await page.evaluate(() => {
				window.seen = { touched: 0, blocked: 0 };
				new MutationObserver((list) => {
					window.seen.touched += list.length;
				}).observe(document.body, {
					subtree: true,
					childList: true,
					characterData: true,
					attributes: true,
				});
				new PerformanceObserver((list) =>
					list.getEntries().forEach((e) => {
						window.seen.blocked = Math.max(
							window.seen.blocked,
							e.duration,
						);
					}),
				).observe({ entryTypes: ['longtask'] });
			});
			await until(() => layer.asked >= before + 4, 'four events');
			const { touched, blocked } = await until(
				() =>
					page.evaluate(() =>
						window.seen.touched ? window.seen : null,
					),
				'changes',
			);
			const events = layer.asked - before;
			console.log(
				`# 1,000 jobs: ${elements} elements, ${Math.round(touched / events)} changes and at most ` +
					`${Math.round(blocked)} ms at once for an event`,
			);
			assert.ok(touched < events * 2000, `${touched} changes by ${events} events`);
			/* and one finds one's job */
			await page.getByLabel('Filter').fill(layer.jobs[777].job);
			await until(async () => (await rows(page).count()) === 1, 'the one');
			assert.equal(
				await rows(page).first().getAttribute('data-job'),
				layer.jobs[777].job,
			);
			const sorted = layer.jobs.map((j) => j.job).sort();
			const begins = (name) =>
				until(async () => {
					const first = rows(page).first();
					return (await first.getAttribute('data-job')) === name;
				}, `${name} comes first`);
			await page.getByLabel('Filter').fill('');
			await until(async () => (await rows(page).count()) === 25, 'all again');
			await page.getByRole('button', { name: 'Job', exact: true }).click();
			await begins(sorted[0]);
			await page.getByRole('button', { name: 'Next' }).click();
			await begins(sorted[25]);
		},
	),
};

await run(cases, process.argv[2]);
