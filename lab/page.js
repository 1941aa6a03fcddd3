/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of all pages share; page.c puts it before each. */
"use strict";
const $ = (id) => document.getElementById(id);

function make(name, text, className) {
	const e = document.createElement(name);
	if (text !== undefined)
		e.textContent = text;
	if (className)
		e.className = className;
	return e;
}
function svg(parent, name, attributes, text) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const key of Object.keys(attributes))
		e.setAttribute(key, attributes[key]);
	if (text !== undefined)
		e.textContent = text;
	parent.append(e);
	return e;
}
/* About n round numbers from..to, and the step between them. */
function ticks(from, to, n) {
	const raw = (to - from) / Math.max(1, n) || 1, power = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw * (1 - 1e-9));
	const list = [];
	for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++)
		list.push(i * step);
	return { list, step };
}
