/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the page share: Debian's chromium, driven by playwright-core.
 *
 *	run({ 'a sentence': async ({ page, open, … }) => { … }, … })
 *
 * runs cases one after the other, each with a browser profile of its own, and prints TAP. After each
 * the page must have logged no error and asked no other host for anything. Without chromium or
 * playwright-core all is skipped, with the reason.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';

/* Generous, for sanitizers and busy machines; what is awaited comes within a second or two. */
export const PATIENCE_MS = 60000;

export function findChromium() {
	return [
		process.env.CHROMIUM,
		'/usr/bin/chromium',
		'/usr/bin/chromium-browser',
		'/usr/bin/google-chrome',
	].find((path) => path && existsSync(path));
}

export async function prepare() {
	const executablePath = findChromium();

	if (!executablePath) return { missing: 'no chromium' };
	try {
		const { chromium } = await import('playwright-core');
		/* root, as in containers, has no sandbox. */
		const args = process.getuid() === 0 ? ['--no-sandbox'] : [];
		return { browser: await chromium.launch({ executablePath, args }) };
	} catch (e) {
		if (e.code === 'ERR_MODULE_NOT_FOUND') return { missing: 'no playwright-core' };
		throw e;
	}
}

/* A page, and what it must not do. */
export async function newPage(browser, options = {}) {
	const context = await browser.newContext({
		viewport: { width: 1280, height: 900 },
		...options,
	});
	const page = await context.newPage();
	const wrong = [],
		allowed = [];
	let home;

	page.setDefaultTimeout(PATIENCE_MS);
	page.on('pageerror', (e) => wrong.push(`exception: ${e.stack}`));
	page.on('console', (m) => {
		if (
			['error', 'warning'].includes(m.type()) &&
			!allowed.some((a) => a.test(m.text()))
		)
			wrong.push(`console: ${m.text()} (${m.location().url})`);
	});
	page.on('request', (r) => {
		if (new URL(r.url()).origin !== home)
			wrong.push(`request to another host: ${r.url()}`);
	});
	return {
		page,
		context,
		wrong,
		allow: (expression) => allowed.push(expression),
		/* The page at url, with numbers. */
		open: async (url) => {
			home = new URL(url).origin;
			await page.goto(url);
			await page.locator('#connection[data-state=live]').waitFor();
		},
	};
}

/* Until what() is true; says what it was at last otherwise. */
export async function until(what, words) {
	const end = Date.now() + PATIENCE_MS;
	let last;

	for (;;) {
		try {
			last = await what();
			if (last) return last;
		} catch (e) {
			last = e;
		}
		if (Date.now() > end)
			assert.fail(
				`${words}: not within ${PATIENCE_MS / 1000} s; at last: ${last}`,
			);
		await new Promise((done) => {
			setTimeout(done, 100);
		});
	}
}

export async function run(cases, only = null) {
	const { browser, missing } = await prepare();
	const chosen = Object.entries(cases).filter(([name]) => only === null || name === only);
	let bad = 0,
		n = 0;

	if (missing) {
		console.log(`1..0 # SKIP ${missing}`);
		return;
	}
	assert.ok(chosen.length, `no case '${only}'`);
	console.log(`1..${chosen.length}`);
	for (const [name, test] of chosen) {
		const options = test.options ?? {};
		const it = await newPage(browser, options);

		n++;
		try {
			await test.run({ ...it, browser });
			assert.deepEqual(it.wrong, [], 'the page did what it must not');
			console.log(`ok ${n} - ${name}`);
		} catch (e) {
			bad++;
			console.log(`not ok ${n} - ${name}`);
			for (const line of String(e.stack ?? e).split('\n'))
				console.log(`# ${line}`);
			for (const line of it.wrong) console.log(`# ${line}`);
		}
		await it.context.close();
	}
	await browser.close();
	process.exitCode = bad ? 1 : 0;
}
