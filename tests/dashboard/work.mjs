/* SPDX-License-Identifier: Apache-2.0 */
/* The page against a server without a layer: what it does with many jobs, with odd ones, with
 * changes, and when the server goes away. Prints TAP. */
import assert from 'node:assert/strict';
import { rows, text, with_layer } from './common.mjs';
import { run, until } from './browser.mjs';
import { TOKEN, serve } from './mock.mjs';

const cases = {
	'the token leaves the address and allows changes': with_layer(
		3,
		async ({ page, open, url }) => {
			await open(url);
			assert.ok(!page.url().includes(TOKEN), page.url());
			assert.ok(await page.locator('#read-only').isHidden());
			await page.reload();
			await page.locator('#jobs-body .value:enabled').first().waitFor();
		},
	),

	'without a token nothing can be changed, and the page says how to': with_layer(
		3,
		async ({ page, open, server }) => {
			await open(server.url);
			await rows(page).first().waitFor();
			assert.match(await text(page, '#read-only'), /sluice dashboard/);
			await until(() => page.locator('#policy-share').isVisible(), 'policies');
			assert.equal(
				await page
					.locator(
						'#jobs-body button:enabled, #stages :is(select, input, button):enabled, ' +
							'#what-if-run:enabled',
					)
					.count(),
				0,
			);
			/* and with one that is entered it can */
			await page.getByLabel('Token').fill(TOKEN);
			await page.getByRole('button', { name: 'Use it' }).click();
			await page.locator('#jobs-body .value:enabled').first().waitFor();
		},
	),

	'a token that is refused is forgotten, and the page asks for another': with_layer(
		3,
		async (it) => {
			const { page, open, server, allow } = it;

			allow(/status of 401/);
			await open(`${server.url}#token=wrong`);
			await page
				.getByRole('button', { name: /^weight of job/ })
				.first()
				.click();
			await page.keyboard.press('Enter');
			await page.locator('#read-only').waitFor();
			assert.equal(await page.evaluate(() => sessionStorage.length), 0);
		},
	),

	'what is typed into a row goes to the server, and refusals are shown beside it': with_layer(
		3,
		async (it) => {
			const { page, open, url, layer, allow } = it;
			const name = layer.jobs[0].job;

			allow(/status of 400/);
			await open(url);
			const value = page.getByRole('button', {
				name: `max of job ${name}`,
				exact: false,
			});
			await value.focus();
			await page.keyboard.press('Enter');
			await page.keyboard.type('a lot');
			await page.keyboard.press('Enter');
			await page
				.getByRole('alert')
				.filter({ hasText: 'is not a rate' })
				.waitFor();
			assert.equal(
				await page.evaluate(() =>
					document.activeElement.getAttribute('aria-invalid'),
				),
				'true',
			);
			await page.keyboard.press('Escape');
			assert.equal(layer.jobs[0].max, 3e8);
			await value.click();
			await page.keyboard.type('45M');
			await page.keyboard.press('Enter');
			await page
				.getByRole('button', {
					name: `max of job ${name}: 45.0 MB/s, change`,
				})
				.waitFor();
			assert.equal(layer.jobs[0].max, 45e6);
			assert.match(await text(page, '#said'), /max is now 45M/);
			/* focus is where it was */
			assert.match(
				await page.evaluate(() =>
					document.activeElement.getAttribute('aria-label'),
				),
				/^max of job/,
			);
		},
	),

	'rows keep their places while one is being changed': with_layer(
		30,
		async ({ page, open, url, layer }) => {
			await open(url);
			await rows(page).nth(24).waitFor();
			await rows(page).nth(3).locator('.c-weight .value').click();
			const before = await rows(page).evaluateAll((all) =>
				all.map((r) => r.dataset.job),
			);
			for (const job of layer.jobs)
				job.shift += 37; /* everybody does something else now */
			const first = await text(page, '#figure-bandwidth dd:not(.soft)');
			await until(
				async () =>
					(await text(page, '#figure-bandwidth dd:not(.soft)')) !==
					first,
				'new numbers',
			);
			assert.deepEqual(
				await rows(page).evaluateAll((all) =>
					all.map((r) => r.dataset.job),
				),
				before,
			);
			await page.keyboard.press('Escape');
			await page.locator('#filter').focus();
			await until(
				async () =>
					(
						await rows(page).evaluateAll((all) =>
							all.map((r) => r.dataset.job),
						)
					).join() !== before.join(),
				'a new order',
			);
		},
	),

	'a policy and its parameters are changed in place': with_layer(
		3,
		async ({ page, open, url, layer }) => {
			await open(url);
			const stage = page.getByRole('form', { name: 'share' });
			await stage.getByLabel('Policy of share').selectOption('io-sets');
			await stage.getByLabel('grace').fill('250');
			await stage.getByRole('button', { name: 'Apply' }).click();
			await until(
				() => layer.state.share === 'io-sets,grace_ms=250',
				'the change',
			);
			await until(
				async () =>
					(await stage.getByLabel('grace').inputValue()) === '250',
				'the form shows it',
			);
			/* what others change shows, too */
			layer.state.share = 'fifo';
			await until(
				async () =>
					(await stage.getByLabel('Policy of share').inputValue()) ===
					'fifo',
				'a change from outside',
			);
			assert.ok(await stage.getByRole('button', { name: 'Apply' }).isDisabled());
		},
	),

	'predictions stand beside the present, in words': with_layer(
		3,
		async ({ page, open, url }) => {
			await open(url);
			await page.getByRole('button', { name: 'Predict' }).click();
			const table = page.getByRole('table', {
				name: 'Predicted for the jobs as they are now',
			});
			await table.waitFor();
			const row = (name) => table.getByRole('row', { name }).textContent();
			assert.match(await row(/^Now/), /measured, last 90 s1\.62 ×3\.10 ×71 %$/);
			assert.match(await row(/^set-10/), /in force1\.60 ×2\.20 ×72 %$/);
			assert.match(
				await row(/^none/),
				/^none1\.50 ×▲ better −0\.102\.50 ×▼ worse \+0\.3074 %▲ better \+2\.0 points$/,
			);
			assert.match(
				await text(page, '#what-if-note'),
				/3 jobs simulated. Left out: old \(it has ended\)/,
			);
		},
	),

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

	'pause holds the numbers': with_layer(12, async ({ page, open, url, layer }) => {
		await open(url);
		await page.getByRole('button', { name: 'Pause' }).click();
		const before = await text(page, 'main');
		for (const job of layer.jobs) job.shift += 37;
		const seen = layer.asked;
		await until(() => layer.asked >= seen + 2, 'two more events');
		assert.equal(await text(page, 'main'), before);
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
			const { touched, blocked } = await page.evaluate(
				() =>
					new Promise((done) => {
						let touched = 0,
							blocked = 0;
						new MutationObserver((list) => {
							touched += list.length;
						}).observe(document.body, {
							subtree: true,
							childList: true,
							characterData: true,
							attributes: true,
						});
						new PerformanceObserver((list) =>
							list.getEntries().forEach((e) => {
								blocked = Math.max(
									blocked,
									e.duration,
								);
							}),
						).observe({ entryTypes: ['longtask'] });
						setTimeout(() => done({ touched, blocked }), 4000);
					}),
			);
			console.log(
				`# 1,000 jobs: ${elements} elements, ${Math.round(touched / 4)} changes and at most ` +
					`${Math.round(blocked)} ms at once in a second`,
			);
			assert.ok(
				touched > 0 && touched < 4 * 2000,
				`${touched} changes in four seconds`,
			);
			/* and one finds one's job */
			await page.getByLabel('Filter').fill(layer.jobs[777].job);
			await until(async () => (await rows(page).count()) === 1, 'the one');
			assert.equal(
				await rows(page).first().getAttribute('data-job'),
				layer.jobs[777].job,
			);
			await page.getByLabel('Filter').fill('');
			await page.getByRole('button', { name: 'Job', exact: true }).click();
			await page.getByRole('button', { name: 'Next' }).click();
			const sorted = layer.jobs.map((j) => j.job).sort();
			await until(
				async () =>
					(await rows(page).first().getAttribute('data-job')) ===
					sorted[25],
				'the second page by name',
			);
		},
	),
};

await run(cases, process.argv[2]);
