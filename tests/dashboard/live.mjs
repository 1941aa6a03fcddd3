/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a layer that runs, with jobs that do I/O: tests/e2e/dashboard-page.bats starts them.
 * What the page shows is compared with what `sluice status` says, and what is done on it with what
 * the layer does then. Prints TAP. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { run, until } from './browser.mjs';
import { bytes, count, limit } from '../../web/format.js';

const [, , only] = process.argv;
const sluice = (...args) => execFileSync(process.env.SLUICE, args, { encoding: 'utf8' });
const status = () => JSON.parse(sluice('status', '--json'));
const job = (name, all = status()) => all.jobs.find((j) => j.job === name);
const dashboard = (...args) => JSON.parse(sluice('dashboard', '--json', ...args));
const cell = (page, name, column) => page.locator(`#jobs-body tr[data-job="${name}"] .c-${column}`);
const shown = async (page, name, column) => (await cell(page, name, column).innerText()).trim();

/* "35.4 MB/s" as a number */
function number(text) {
	const [, digits, letter] = /([\d.]+) ([kMGT]?)B/.exec(text);
	return Number(digits) * { '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 }[letter];
}

/* Bytes per second of a job over a while, as the layer counts them. */
async function measured(name) {
	const look = () => {
		const s = status(),
			j = job(name, s);
		return { s: s.uptime_s, bytes: j.read_bytes + j.write_bytes };
	};
	const before = look();
	await new Promise((done) => {
		setTimeout(done, 2500);
	});
	const after = look();
	return (after.bytes - before.bytes) / (after.s - before.s);
}

async function change(page, name, key, value) {
	await cell(page, name, key).locator('.value').click();
	await page.keyboard.type(value);
	await page.keyboard.press('Enter');
	await until(
		async () =>
			(await page.locator('#said').textContent()) ===
			`Job ${name}: ${key} is now ${value}.`,
		`${key} of ${name}`,
	);
}

const cases = {
	numbers: async ({ page, open }) => {
		await open(dashboard().url);
		/* what was set */
		for (const j of status().jobs) {
			await until(
				async () =>
					(await shown(page, j.job, 'max')) ===
					limit(j.asked_max_bps),
				`max of ${j.job}`,
			);
			assert.equal(await shown(page, j.job, 'min'), limit(j.asked_min_bps));
			assert.equal(await shown(page, j.job, 'weight'), count(j.weight));
		}
		/* what changes: the same at about the same time */
		for (const name of ['a', 'b'])
			await until(async () => {
				const mine = number(await shown(page, name, 'now')),
					theirs = job(name).bandwidth_bps;
				return theirs > 0 && Math.abs(mine - theirs) < theirs * 0.1;
			}, `bandwidth of ${name}`);
		await until(async () => {
			const mine = number(
				await page.locator('#figure-bandwidth dd').first().textContent(),
			);
			const theirs = status().bandwidth_bps;
			return Math.abs(mine - theirs) < theirs * 0.1;
		}, 'bandwidth');
		await until(
			async () => (await shown(page, 'a', 'reason')).startsWith(job('a').reason),
			'why',
		);
		assert.equal(await page.locator('#nodes > li').count(), status().ionodes.length);
		assert.match(await page.locator('#figure-control').textContent(), /up/);
		/* charts: both jobs are in the legend, and have phases */
		for (const name of ['a', 'b']) {
			await page
				.locator('.legend .name', { hasText: new RegExp(`^${name}$`) })
				.waitFor();
			await page
				.locator('#phases tbody th', { hasText: new RegExp(`^${name}$`) })
				.waitFor({ state: 'attached' });
		}
		/* what stands still when they have ended: to the last digit */
		for (const pid of process.env.LOAD_PIDS.split(' '))
			process.kill(Number(pid), 'SIGTERM');
		await until(() => status().jobs.every((j) => !j.clients), 'the end of the jobs');
		await until(async () => {
			for (const j of status().jobs)
				if (
					(await shown(page, j.job, 'moved')) !==
					bytes(j.read_bytes + j.write_bytes)
				)
					return false;
			return true;
		}, 'bytes moved');
	},

	steer: async ({ page, open, allow }) => {
		const MAX = 12e6;

		allow(/status of 409.*/); /* which browsers log */
		await open(dashboard().url);
		await change(page, 'a', 'max', '12M');
		assert.equal(job('a').asked_max_bps, MAX);
		await until(async () => {
			const rate = await measured('a');
			return rate < MAX * 1.1 && rate > MAX * 0.6;
		}, 'a keeps to its max');
		await until(
			async () => number(await shown(page, 'a', 'now')) < MAX * 1.1,
			'the page shows it',
		);
		await change(page, 'a', 'weight', '7');
		assert.equal(job('a').weight, 7);
		/* what the layer refuses is said in its words, and changes nothing */
		await cell(page, 'a', 'min').locator('.value').click();
		await page.keyboard.type('5G');
		await page.keyboard.press('Enter');
		assert.ok(
			(await cell(page, 'a', 'min').getByRole('alert').textContent()).length > 10,
		);
		assert.equal(job('a').asked_min_bps, 0);
		await page.keyboard.press('Escape');
		/* policies of nodes and of the controller */
		for (const [stage, policy, field, value] of [
			['share', 'io-sets', 'grace_ms', '150'],
			['grant', 'min-dilation', 'max_stall_ms', '7000'],
		]) {
			const form = page.getByRole('form', { name: stage });
			await form.getByLabel(`Policy of ${stage}`).selectOption(policy);
			await form.locator(`[name=${field}]`).fill(value);
			await form.getByRole('button', { name: 'Apply' }).click();
			await until(
				() =>
					(
						status().policy[stage] ?? status().controller[stage]
					).startsWith(policy),
				`${stage}=${policy}`,
			);
		}
		assert.equal(status().policy.share, 'io-sets,grace_ms=150');
	},

	'what-if': async ({ page, open }) => {
		await until(() => job('p')?.phases >= 2, 'two phases');
		await open(dashboard().url);
		await page.getByRole('button', { name: 'Predict' }).click();
		const table = page.getByRole('table', { name: /^Predicted/ });
		await table.waitFor();
		assert.match(
			await table.getByRole('row', { name: /^Now/ }).textContent(),
			/measured/,
		);
		const row = await table.getByRole('row', { name: /^fair-share/ }).textContent();
		assert.match(row, /\d\.\d\d ×.*\d\.\d\d ×.*\d %/);
		assert.match(
			await table.getByRole('row', { name: /in force/ }).textContent(),
			/^none/,
		);
	},

	restarts: async ({ page, open, allow }) => {
		const { url, address, pid } = dashboard();

		allow(/ERR_(CONNECTION|INCOMPLETE|EMPTY)/);
		await open(url);
		/* the controller */
		process.kill(status().controller.pid, 'SIGKILL');
		await page.locator('#trouble', { hasText: 'the controller died' }).waitFor();
		assert.equal(await page.locator('#connection').getAttribute('data-state'), 'live');
		sluice('up', '--revive');
		await page.locator('#trouble').waitFor({ state: 'hidden' });
		/* the server */
		sluice('dashboard', '--stop');
		await page
			.locator('#connection', { hasText: 'Connection lost, retrying' })
			.waitFor();
		const again = dashboard('--port', new URL(address).port);
		assert.equal(again.address, address);
		assert.notEqual(again.pid, pid);
		await page.locator('#connection[data-state=live]').waitFor();
		/* and goes on as if nothing had happened */
		await change(page, 'a', 'weight', '5');
		assert.equal(job('a').weight, 5);
	},

	/* Where reading needs the token, and the new server does not know the old one's cookie. */
	elsewhere: async ({ page, open, allow }) => {
		const { address, token } = dashboard();
		const { port } = new URL(address);
		const live = page.locator('#connection[data-state=live]');

		allow(/ERR_(CONNECTION|INCOMPLETE|EMPTY)/);
		await open(`http://127.0.0.1:${port}/?token=${token}#token=${token}`);
		sluice('dashboard', '--stop');
		await page
			.locator('#connection', { hasText: 'Connection lost, retrying' })
			.waitFor();
		dashboard('--listen', '0.0.0.0', '--port', port);
		await live.waitFor();
		assert.ok(!page.url().includes(token), page.url());
		await page.reload();
		await live.waitFor();
	},
};

await run(
	Object.fromEntries(Object.entries(cases).map(([name, test]) => [name, { run: test }])),
	only,
);
