/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `sluice allocate --study --html`: draws what stands as JSON in the element "data",
 * written by html.c. Names in it become text nodes, never markup.
 */
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const LEFT = 74, BELOW = 34, ABOVE = 10, HEIGHT = 360;
/* Told apart by dashes too, not by colour only. */
const STYLES = [["#0a7d4f", ""], ["#e8590c", ""], ["#3b7dd8", "7 3"], ["#9255c9", "2 3"],
	["#a07800", "9 3 2 3"], ["#5c6b7a", "4 4"], ["#c0247a", "12 4"]];
const numbers = data.policies[0].points.map((p) => p.ionodes);
const view = { policy: Math.max(0, data.policies.findIndex((p) => p.policy === "mckp")), at: -1 };

const style = (i) => STYLES[i % STYLES.length];
function number(v) {
	return v === null ? "–" : String(Number(v.toPrecision(v >= 1000 ? 5 : 4)));
}
/* 1, 2, 5, 10, 20, ... and below one. */
function logTicks(from, to) {
	const list = [];
	for (let e = Math.floor(Math.log10(from)); e <= Math.ceil(Math.log10(to)); e++)
		for (const f of [1, 2, 5])
			if (f * 10 ** e >= from * (1 - 1e-9) && f * 10 ** e <= to * (1 + 1e-9))
				list.push(f * 10 ** e);
	return list;
}

function frame(id) {
	const s = $(id), width = Math.max(300, s.parentNode.clientWidth);
	const first = numbers[0], last = numbers[numbers.length - 1];
	s.replaceChildren();
	s.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
	s.style.height = HEIGHT + "px";
	const x = (v) => LEFT + (last > first ? (v - first) / (last - first) : 0.5) *
		(width - LEFT - 16);
	for (const v of ticks(first, last, (width - LEFT) / 70).list) {
		if (v % 1)
			continue;
		svg(s, "line", { x1: x(v), x2: x(v), y1: ABOVE, y2: HEIGHT - BELOW,
			stroke: "var(--line)" });
		svg(s, "text", { x: x(v), y: HEIGHT - 18, "text-anchor": "middle", class: "soft" }, v);
	}
	svg(s, "text", { x: width - 14, y: HEIGHT - 4, "text-anchor": "end", class: "soft" },
		"I/O nodes");
	return { s, width, x };
}
function level(f, y, v) {
	svg(f.s, "line", { x1: LEFT, x2: f.width - 16, y1: y(v), y2: y(v), stroke: "var(--line)" });
	svg(f.s, "text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end", class: "soft" }, number(v));
}
/* A path over the points that have a value. */
function path(values, x, y) {
	let d = "", pen = false;
	values.forEach((v, i) => {
		if (v === null) {
			pen = false;
			return;
		}
		d += (pen ? "L" : "M") + x(numbers[i]).toFixed(1) + " " + y(v).toFixed(1);
		pen = true;
	});
	return d;
}
function mark(f) {
	if (view.at >= 0)
		svg(f.s, "line", { x1: f.x(numbers[view.at]), x2: f.x(numbers[view.at]), y1: ABOVE,
			y2: HEIGHT - BELOW, stroke: "var(--text)", "stroke-dasharray": "2 3" });
}

function bandwidth() {
	const f = frame("bandwidth");
	const most = Math.max(1e-12, ...data.policies.flatMap((p) =>
		p.points.map((q) => q.bandwidth.median)));
	const y = (v) => HEIGHT - BELOW - (HEIGHT - BELOW - ABOVE) * v / (most * 1.05);
	for (const v of ticks(0, most * 1.05, 6).list)
		level(f, y, v);
	data.policies.forEach((p, i) => svg(f.s, "path", {
		d: path(p.points.map((q) => q.bandwidth.median), f.x, y), fill: "none",
		stroke: style(i)[0], "stroke-width": 2, "stroke-dasharray": style(i)[1] }));
	mark(f);
	f.s.setAttribute("aria-label", "Median bandwidth by I/O nodes. With " +
		numbers[numbers.length - 1] + ": " + data.policies.map((p) => p.policy + " " +
		number(p.points[p.points.length - 1].bandwidth.median)).join(", "));
}
function ratio() {
	const f = frame("ratio"), p = data.policies[view.policy], [colour, dash] = style(view.policy);
	const of = (key) => p.points.map((q) => q.ratio_to_static[key] > 0 ?
		q.ratio_to_static[key] : null);
	const all = [...of("min"), ...of("max"), 1].filter((v) => v !== null);
	const low = Math.min(...all) / 1.1, high = Math.max(...all) * 1.1;
	const y = (v) => HEIGHT - BELOW - (HEIGHT - BELOW - ABOVE) * Math.log(v / low) /
		Math.log(high / low);
	for (const v of logTicks(low, high))
		level(f, y, v);
	const min = of("min"), max = of("max");
	const shown = numbers.map((_, i) => i).filter((i) => min[i] !== null && max[i] !== null);
	if (shown.length)
		svg(f.s, "path", { d: "M" + shown.map((i) => f.x(numbers[i]) + " " + y(max[i])).join("L") +
			"L" + shown.reverse().map((i) => f.x(numbers[i]) + " " + y(min[i])).join("L") + "Z",
			fill: colour, "fill-opacity": 0.15, stroke: "none" });
	svg(f.s, "line", { x1: LEFT, x2: f.width - 16, y1: y(1), y2: y(1), stroke: "var(--text)" });
	svg(f.s, "path", { d: path(of("median"), f.x, y), fill: "none", stroke: colour,
		"stroke-width": 2, "stroke-dasharray": dash });
	mark(f);
	f.s.setAttribute("aria-label", p.policy + " in times of static by I/O nodes, from " +
		number(Math.min(...all)) + " to " + number(Math.max(...all)));
}
function say() {
	if (view.at < 0)
		return;
	const p = data.policies[view.policy], r = p.points[view.at].ratio_to_static;
	$("status").textContent = numbers[view.at] + " I/O nodes: " + data.policies.map((q) =>
		q.policy + " " + number(q.points[view.at].bandwidth.median)).join(", ") + "; " + p.policy +
		" is " + number(r.min) + " to " + number(r.max) + " times static, median " +
		number(r.median);
}
function draw() {
	bandwidth();
	ratio();
	say();
}
function look(at) {
	view.at = Math.min(Math.max(0, at), numbers.length - 1);
	draw();
}
function watch(id) {
	const s = $(id);
	s.addEventListener("pointermove", (event) => {
		const box = s.getBoundingClientRect(), part = (event.clientX - box.left - LEFT) /
			(box.width - LEFT - 16);
		look(Math.round(part * (numbers.length - 1)));
	});
	s.addEventListener("keydown", (event) => {
		const to = { ArrowLeft: view.at - 1, ArrowRight: view.at + 1, Home: 0,
			End: numbers.length - 1 }[event.key];
		if (to === undefined)
			return;
		event.preventDefault();
		look(to);
	});
}
function legend() {
	data.policies.forEach((p, i) => {
		const item = make("span"), key = svg(item, "svg", { width: 34, height: 10,
			style: "display:inline-block;width:34px;vertical-align:middle;margin-right:.35em" });
		svg(key, "line", { x1: 0, x2: 34, y1: 5, y2: 5, stroke: style(i)[0], "stroke-width": 2,
			"stroke-dasharray": style(i)[1] });
		item.append(p.policy);
		$("legend").append(item);
	});
}
function reach() {
	const head = $("reach").createTHead().insertRow(), body = $("reach").createTBody();
	for (const text of ["policy", "median of the oracle from", "oracle in every set from"])
		head.append(make("th", text));
	for (const p of data.policies) {
		const row = body.insertRow();
		row.append(make("th", p.policy));
		for (const n of [p.reaches_oracle, p.reaches_oracle_always])
			row.append(make("td", n === null ? "never" : n + " I/O nodes"));
	}
}

$("title").textContent = data.title;
$("summary").textContent = data.summary;
data.policies.forEach((p, i) => {
	const o = make("option", p.policy);
	o.value = i;
	$("policy").append(o);
});
$("policy").value = view.policy;
$("policy").addEventListener("change", (event) => {
	view.policy = Number(event.target.value);
	draw();
});
legend();
reach();
watch("bandwidth");
watch("ratio");
draw();
window.addEventListener("resize", draw);
})();
