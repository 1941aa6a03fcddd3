/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a page that a rule can answer: is text readable, has everything a name, does
 * something stick out. Each returns what is wrong, as text; nothing is good. */

/* Elements beyond the right edge of the window, or of the panel that they are in, once the page has
 * had a frame to follow its window: charts are drawn anew after the layout around them is known. */
export function overflowing(page) {
	return page.evaluate(async () => {
		for (let frames = 0; frames < 2; frames++)
			await new Promise((drawn) => {
				requestAnimationFrame(drawn);
			});

		const edge = (e) =>
			(e.closest('.panel')?.getBoundingClientRect().right ?? innerWidth) + 1;
		const out = [...document.querySelectorAll('body *')].filter(
			(e) =>
				e.getBoundingClientRect().right > edge(e) &&
				!e.closest('.hidden, .skip') &&
				e.checkVisibility() &&
				getComputedStyle(e.closest('thead') ?? e).clipPath === 'none',
		);
		const wide = document.documentElement.scrollWidth;

		return [
			...(wide > innerWidth
				? [`the page is ${wide} wide, the window ${innerWidth}`]
				: []),
			...out.map((e) => `${e.tagName} ${e.id} ${e.className}`),
		];
	});
}

/* Text whose contrast with what is behind it is less (WCAG 2.2, 1.4.3); what is disabled is exempt. */
export function contrasts(page, least) {
	return page.evaluate((least_inside) => {
		const parse = (text) => {
			const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
			return { r, g, b, a };
		};
		const light = ({ r, g, b }) =>
			[r, g, b]
				.map((v) => v / 255)
				.map((v) =>
					v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4,
				)
				.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const behind = (e) => {
			for (let at = e; at; at = at.parentElement) {
				const c = parse(getComputedStyle(at).backgroundColor);
				if (c.a === 1) return c;
			}
			return { r: 255, g: 255, b: 255 };
		};
		const wrong = new Set();

		for (const e of document.querySelectorAll('body *')) {
			const own = [...e.childNodes].some(
				(n) => n.nodeType === Node.TEXT_NODE && n.data.trim(),
			);
			if (
				!own ||
				e.matches(':disabled, :disabled *') ||
				!e.checkVisibility() ||
				e.closest('.hidden, .skip')
			)
				continue;
			const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
			const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			if (ratio < least_inside)
				wrong.add(`${e.tagName} ${e.className}: ${ratio.toFixed(2)}`);
		}
		return [...wrong];
	}, least);
}

/* Controls and regions without a name. */
export function named(page) {
	return page.evaluate(() => {
		const name = (e) =>
			e.getAttribute('aria-label') ||
			(e.getAttribute('aria-labelledby') ?? '')
				.split(/\s+/)
				.map((id) => document.getElementById(id)?.textContent ?? '')
				.join('') ||
			[...(e.labels ?? [])].map((l) => l.textContent).join('') ||
			(e.matches('button, a, summary') ? e.textContent : '') ||
			e.querySelector(':scope > caption, :scope > legend')?.textContent ||
			'';

		return [
			...document.querySelectorAll(
				'button, input, select, a, summary, table, section, nav, form, fieldset, ' +
					'[role=meter], [role=group], [tabindex="0"]',
			),
		]
			.filter(
				(e) =>
					e.checkVisibility() &&
					!name(e).trim() &&
					!e.matches('#what-if-form, #token-form'),
			)
			.map((e) => e.outerHTML.slice(0, 120));
	});
}

/* Language, one first heading, no level left out, ids once, live region, pictures with a text. */
export function structure(page) {
	return page.evaluate(() => {
		const wrong = [];
		const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
		const levels = [...document.querySelectorAll('h1, h2, h3, h4')].map((h) =>
			Number(h.tagName[1]),
		);

		if (!document.documentElement.lang) wrong.push('no language');
		if (levels.filter((l) => l === 1).length !== 1) wrong.push('not one h1');
		levels.forEach((l, i) => {
			if (i && l > levels[i - 1] + 1) wrong.push(`h${l} after h${levels[i - 1]}`);
		});
		wrong.push(
			...ids
				.filter((id, i) => ids.indexOf(id) !== i)
				.map((id) => `id ${id} twice`),
		);
		for (const e of document.querySelectorAll(
			'[for], [aria-labelledby], [aria-describedby]',
		))
			for (const id of ['for', 'aria-labelledby', 'aria-describedby']
				.map((a) => e.getAttribute(a))
				.filter(Boolean))
				if (!document.getElementById(id))
					wrong.push(`nothing has the id ${id}`);
		if (
			!document.querySelector('[aria-live=polite]') ||
			!document.querySelector('main')
		)
			wrong.push('no live region, or no main part');
		wrong.push(
			...[
				...document.querySelectorAll(
					'img:not([alt]), canvas:not([aria-hidden]):not(#chart canvas)',
				),
			].map((e) => e.outerHTML),
		);
		wrong.push(
			...[...document.querySelectorAll('thead th')]
				.filter((th) => th.scope !== 'col')
				.map((e) => e.outerHTML),
		);
		return wrong;
	});
}
