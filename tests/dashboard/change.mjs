/* SPDX-License-Identifier: Apache-2.0 */
/* The page against a server without a layer: who may change what on it, and what becomes of that.
 * Prints TAP. */
import assert from 'node:assert/strict';
import { rows, text, with_layer } from './common.mjs';
import { run, until } from './browser.mjs';
import { TOKEN } from './mock.mjs';

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
			const said = await until(async () => {
				const words = await text(page, '#said');
				return /is now/.test(words) && words;
			}, 'it is said');
			await page
				.getByRole('button', {
					name: `max of job ${name}: 45.0 MB/s, change`,
				})
				.waitFor();
			assert.equal(layer.jobs[0].max, 45e6);
			assert.match(said, /max is now 45M/);
			/* focus is where it was */
			assert.match(
				await page.evaluate(() =>
					document.activeElement.getAttribute('aria-label'),
				),
				/^max of job/,
			);
		},
	),

	'a change is sent once, and not left before its answer has come': with_layer(
		3,
		async ({ page, open, url, layer, allow }) => {
			let sent = 0,
				answer;
			const asked = new Promise((done) => {
				answer = done;
			});

			allow(/status of 409/);
			await page.route('**/api/v1/jobs/**', async (r) => {
				sent++;
				await asked;
				await r.fulfill({
					status: 409,
					json: { error: 'That is more than there is.' },
				});
			});
			await open(url);
			const cell = rows(page).first().locator('.c-weight');
			await cell.locator('.value').click();
			await page.keyboard.type('7');
			await page.keyboard.press('Enter');
			await until(() => sent === 1, 'the change');
			await page.keyboard.press('Enter');
			await cell.getByRole('button', { name: 'Save' }).click({ force: true });
			await cell.getByRole('button', { name: 'Cancel' }).click({ force: true });
			await cell.getByRole('textbox').press('Escape');
			const seen = layer.asked;
			await until(() => layer.asked >= seen + 2, 'two more events');
			answer();
			await cell.getByRole('alert').waitFor();
			assert.equal(sent, 1);
			/* and now it can be left, with nothing behind */
			await cell.getByRole('textbox').press('Escape');
			await cell.locator('.value').waitFor();
			assert.equal(await cell.getByRole('alert').count(), 0);
		},
	),

	'a weight that is no number is refused in the words of the layer': with_layer(
		3,
		async ({ page, open, url, allow }) => {
			allow(/status of 400/);
			await open(url);
			await rows(page).first().locator('.c-weight .value').click();
			await page.keyboard.type('heavy');
			await page.keyboard.press('Enter');
			await page
				.getByRole('alert')
				.filter({ hasText: "weight: 'heavy' is not" })
				.waitFor();
		},
	),

	'jobs that come while a row is held are shown behind the others': with_layer(
		5,
		async ({ page, open, url, layer }) => {
			await open(url);
			await rows(page).nth(4).locator('.c-weight .value').click();
			layer.jobs.push({ ...layer.jobs[0], job: 'aaa-new' });
			await rows(page).nth(5).waitFor();
			assert.equal(await rows(page).nth(5).getAttribute('data-job'), 'aaa-new');
			assert.equal(await text(page, '#page-place'), '1–6 of 6');
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
			/* the keyboard is still in the form */
			assert.equal(
				await page.evaluate(() => document.activeElement.id),
				'policy-share',
			);
		},
	),

	'a file is a parameter without bounds, and what is in its name stays': with_layer(
		3,
		async ({ page, open, url, layer }) => {
			layer.state.order = 'auto,tree=/trees/a=b';
			await open(url);
			const stage = page.getByRole('form', { name: 'order' });
			await until(
				async () =>
					(await stage.getByLabel('tree').inputValue()) ===
					'/trees/a=b',
				'its name',
			);
			await stage.getByLabel('max age').fill('7');
			await stage.getByRole('button', { name: 'Apply' }).click();
			await until(
				() => layer.state.order === 'auto,max_age_ms=7,tree=/trees/a=b',
				'the change',
			);
			layer.state.order = 'auto';
			await until(
				async () => (await stage.getByLabel('tree').inputValue()) === '',
				'none',
			);
			assert.doesNotMatch(await stage.textContent(), /null|undefined/);
		},
	),

	'policies that could not be had at first come later': with_layer(
		3,
		async ({ page, open, url, allow }) => {
			let asked = 0;

			allow(/status of 503/);
			await page.route('**/api/v1/policies', (r) =>
				asked++
					? r.continue()
					: r.fulfill({
							status: 503,
							json: { error: 'Too much at a time.' },
						}),
			);
			await open(url);
			await page.locator('#policy-share option').first().waitFor({
				state: 'attached',
			});
			await page.locator('#what-if-policies input').first().waitFor();
			assert.equal(asked, 2);
		},
	),

	'without a token there is nothing to predict, not even after it was refused': with_layer(
		3,
		async ({ page, open, server, allow }) => {
			allow(/status of 401/);
			await open(`${server.url}#token=wrong`);
			await page.locator('#what-if-policies input').first().waitFor();
			await page.getByRole('button', { name: 'Predict' }).click();
			await page.locator('#read-only').waitFor();
			await until(
				async () => (await text(page, '#what-if-run')) === 'Predict',
				'the end',
			);
			assert.ok(await page.locator('#what-if-run').isDisabled());
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
};

await run(cases, process.argv[2]);
