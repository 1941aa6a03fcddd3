/* SPDX-License-Identifier: Apache-2.0 */
/* How the page looks and is used: on a phone, in the dark, with the keyboard alone, by a screen
 * reader. Prints TAP. */
import assert from 'node:assert/strict';
import { contrasts, named, overflowing, structure } from './audit.mjs';
import { rows, text, with_layer } from './common.mjs';
import { run, until } from './browser.mjs';

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

const cases = {
	'on a phone nothing has to be scrolled sideways': with_layer(
		12,
		async ({ page, open, url }) => {
			await open(url);
			await rows(page).first().waitFor();
			assert.deepEqual(await overflowing(page), []);
			await page.locator('#jobs-body .c-max .value').first().tap();
			await page.getByRole('button', { name: 'Predict' }).tap();
			await page.locator('#what-if-table').waitFor();
			for (const summary of await page.locator('summary').all())
				await summary.tap();
			assert.deepEqual(await overflowing(page), []);
		},
		phone,
	),

	'nothing sticks out of its frame at any width': with_layer(
		12,
		async ({ page, open, url, layer }) => {
			layer.jobs[3].job =
				'a-job-with-a-name-as-long-as-names-can-be-without-any-good-reason';
			await open(url);
			await page.getByRole('button', { name: 'Predict' }).click();
			await page.locator('#what-if-table').waitFor();
			for (const width of [
				320, 360, 480, 640, 768, 961, 1121, 1301, 1441, 1581, 1920,
			]) {
				await page.setViewportSize({ width, height: 800 });
				assert.deepEqual(await overflowing(page), [], `${width}`);
			}
		},
	),

	'text has enough contrast in the light': with_layer(
		12,
		async ({ page, open, url }) => {
			await open(url);
			await until(
				() => page.locator('#policy-share-slack_bytes').isVisible(),
				'parameters',
			);
			assert.deepEqual(await contrasts(page, 4.5), []);
		},
		{ colorScheme: 'light' },
	),

	'in the dark the page is dark, and text has enough contrast': with_layer(
		12,
		async ({ page, open, url }) => {
			await open(url);
			await until(
				() => page.locator('#policy-share-slack_bytes').isVisible(),
				'parameters',
			);
			assert.match(
				await page.evaluate(
					() => getComputedStyle(document.body).backgroundColor,
				),
				/^rgb\((\d|[1-3]\d), /,
			);
			assert.deepEqual(await contrasts(page, 4.5), []);
			/* and the other way round, while it is open */
			const dark = await page.locator('#chart canvas').screenshot();
			await page.emulateMedia({ colorScheme: 'light' });
			await until(
				async () =>
					!dark.equals(
						await page.locator('#chart canvas').screenshot(),
					),
				'a light chart',
			);
			assert.deepEqual(await contrasts(page, 4.5), []);
		},
		{ colorScheme: 'dark' },
	),

	'whoever wants no motion sees none': with_layer(
		3,
		async ({ page, open, url }) => {
			await open(url);
			assert.equal(
				await page.evaluate(
					() =>
						[...document.querySelectorAll('*')].filter(
							(e) =>
								parseFloat(
									getComputedStyle(e)
										.transitionDuration,
								) > 0,
						).length,
				),
				0,
			);
		},
		{ reducedMotion: 'reduce' },
	),

	'everything has a name, a place and a way to it': with_layer(
		12,
		async ({ page, open, url }) => {
			await open(url);
			await until(() => page.locator('#policy-share').isVisible(), 'policies');
			assert.deepEqual(await named(page), []);
			assert.deepEqual(await structure(page), []);
		},
	),

	'the keyboard reaches everything, and one sees where it is': with_layer(
		12,
		async ({ page, open, url }) => {
			await open(url);
			await page.keyboard.press('Tab');
			assert.equal(
				await page.evaluate(() => document.activeElement.textContent),
				'Skip to the jobs',
			);
			/* sort */
			const head = page.getByRole('columnheader', { name: /^Weight/ });
			await head.getByRole('button').focus();
			await page.keyboard.press('Enter');
			assert.equal(await head.getAttribute('aria-sort'), 'descending');
			await page.keyboard.press('Enter');
			assert.equal(await head.getAttribute('aria-sort'), 'ascending');
			assert.notEqual(
				await head
					.getByRole('button')
					.evaluate((b) => getComputedStyle(b).outlineStyle),
				'none',
			);
			/* read values off the chart */
			await page.locator('#chart').focus();
			await page.keyboard.press('ArrowLeft');
			await page.keyboard.press('ArrowLeft');
			assert.match(
				await text(page, '#said'),
				/^\d\d:\d\d:\d\d: [\d.]+ .?B\/s, .*B\/s$/,
			);
		},
	),
};

await run(cases, process.argv[2]);
