/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of the page at URL into DIRECTORY: see scripts/screenshots. */
import { newPage, prepare } from './browser.mjs';

const [, , url, directory] = process.argv;
const { browser, missing } = await prepare();

if (missing) {
	console.error(`screenshots: ${missing}. 'make deps' installs it.`);
	process.exit(1);
}

/* The whole page, as long as it is, without what is only there for a moment. */
async function shoot(name, options, height) {
	const { page, context, open } = await newPage(browser, options);

	await open(url);
	await page.locator('#policy-share option').first().waitFor({ state: 'attached' });
	await page.getByRole('button', { name: 'Predict' }).click();
	await page.locator('#what-if-table').waitFor();
	await page.locator('#said:empty').waitFor({ state: 'attached' });
	await page.evaluate(() => scrollTo(0, 0));
	await page.screenshot({
		path: `${directory}/${name}.png`,
		fullPage: true,
		...(height ? { clip: { x: 0, y: 0, width: options.viewport.width, height } } : {}),
	});
	console.log(`${directory}/${name}.png`);
	await context.close();
}

const desktop = { viewport: { width: 1360, height: 900 } };
const phone = {
	viewport: { width: 360, height: 780 },
	deviceScaleFactor: 2,
	isMobile: true,
	hasTouch: true,
};

await shoot('dashboard', { ...desktop, colorScheme: 'light' });
await shoot('dashboard-dark', { ...desktop, colorScheme: 'dark' }, 1500);
await shoot('dashboard-phone', { ...phone, colorScheme: 'light' }, 2000);
await browser.close();
