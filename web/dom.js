/* SPDX-License-Identifier: Apache-2.0 */
/* Small things for building the page. Text of the layer (names of jobs, reasons) only ever becomes
 * text, never markup. */

/* el('td.num', { title: 'x' }, 'text', child): classes after dots, attributes, then what is inside.
 * An attribute that is a function listens; one that is a boolean is a property. */
export function el(what, attributes = {}, ...inside) {
	const [tag, ...classes] = what.split('.');
	const node = document.createElement(tag);

	if (classes.length) node.className = classes.join(' ');
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === 'function') node.addEventListener(name, value);
		else if (typeof value === 'boolean') node[name] = value;
		else if (value !== undefined && value !== null) node.setAttribute(name, value);
	}
	node.append(...inside.filter((i) => i !== null && i !== undefined));
	return node;
}

/* Only touch what has changed: a screen reader's place and a selection stay. */
export function setText(node, text) {
	if (node.textContent !== text) node.textContent = text;
}

export function setAttr(node, name, value) {
	if (value === null) node.removeAttribute(name);
	else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

export const $ = (id) => document.getElementById(id);

/* The children of a node are what keys say, in their order; make(key) makes a missing one. Those
 * that stay are not touched unless they have to move. Returns a Map from key to child. */
export function keyed(parent, keys, make) {
	const old = parent.children_by_key ?? new Map();
	const now = new Map();
	let at = parent.firstElementChild;

	for (const key of keys) now.set(key, old.get(key) ?? make(key));
	for (const [key, child] of old)
		if (!now.has(key)) {
			if (child === at) at = at.nextElementSibling;
			child.remove();
		}
	for (const child of now.values()) {
		if (child === at) at = at.nextElementSibling;
		else parent.insertBefore(child, at);
	}
	parent.children_by_key = now;
	return now;
}

/* What happened, for everybody: seen for a while, and read out. */
let hide;
export function say(text, bad = false) {
	const box = $('said');

	clearTimeout(hide);
	box.classList.toggle('bad', bad);
	box.textContent = text;
	hide = setTimeout(
		() => {
			box.textContent = '';
		},
		bad ? 12000 : 6000,
	);
}

/* A colour or a font from the style sheet, for canvases. Kept, since asking makes the browser work out
 * the style of the page; until the scheme changes. */
const styles = new Map();
export function styled(name) {
	if (!styles.has(name))
		styles.set(
			name,
			getComputedStyle(document.documentElement).getPropertyValue(name).trim(),
		);
	return styles.get(name);
}
export const forgetStyles = () => styles.clear();

/* Text that fits into a width of a canvas: the middle goes, since names differ at their ends. */
export function fit(ctx, text, width) {
	let short = text;

	for (let keep = text.length - 1; keep > 1 && ctx.measureText(short).width > width; keep--)
		short = `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`;
	return short;
}
