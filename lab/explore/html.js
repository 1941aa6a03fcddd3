/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `sluice explore --html`: draws what stands as JSON in the element "data", written by
 * html.c. Names in it become text nodes, never markup.
 */
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const LEFT = 64, BELOW = 34, ABOVE = 10, HEIGHT = 340, BAR = 14, MOST = 48, NAMES = 230;
/* Told apart by dashes too, not by colour only. */
const STYLES = [["#5c6b7a", ""], ["#0a7d4f", ""], ["#e8590c", "7 3"], ["#3b7dd8", "2 3"],
	["#9255c9", "9 3 2 3"], ["#a07800", "4 4"], ["#c0247a", "12 4"], ["#1597a5", "1 2"]];
const style = (i) => STYLES[i % STYLES.length];
const unique = (list) => [...new Set(list)];

function add(parent, name, text) {
	const e = make(name, text);
	parent.append(e);
	return e;
}
function number(v) {
	return v === null ? "–" : String(Number(v.toPrecision(v >= 1000 ? 5 : 4)));
}
function choice(select, values, all) {
	if (all)
		add(select, "option", "all").value = "";
	for (const v of values)
		add(select, "option", v === null ? "–" : v).value = v === null ? "" : v;
	if (values.length < 2)
		select.parentNode.style.display = "none";
}
function legend(id, names) {
	$(id).replaceChildren();
	names.forEach((name, i) => {
		const s = svg($(id), "svg", { width: 28, height: 10,
			style: "display: inline-block; width: 28px; height: 10px" });
		svg(s, "line", { x1: 2, x2: 26, y1: 5, y2: 5, stroke: style(i)[0],
			"stroke-dasharray": style(i)[1], "stroke-width": 3 });
		add($(id), "span", " " + name + "  ");
	});
}
/* The left axis, and lines at its marks; returns y of a value. */
function axis(s, width, top, unit) {
	const y = (v) => HEIGHT - BELOW - v / top * (HEIGHT - BELOW - ABOVE);
	for (const t of ticks(0, top, 6).list) {
		svg(s, "line", { x1: LEFT, x2: width, y1: y(t), y2: y(t), stroke: "currentColor",
			"stroke-opacity": 0.15 });
		svg(s, "text", { x: LEFT - 6, y: y(t) + 4, "text-anchor": "end", "font-size": 12,
			fill: "currentColor" }, number(t));
	}
	svg(s, "text", { x: 2, y: 12, "font-size": 12, fill: "currentColor" }, unit);
	return y;
}
function canvas(id, width) {
	const s = $(id);
	s.replaceChildren();
	s.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
	s.style.height = HEIGHT + "px";
	return s;
}
function interval(s, x, y, mean, half, color) {
	if (half)
		svg(s, "line", { x1: x, x2: x, y1: y(mean + half), y2: y(Math.max(0, mean - half)),
			stroke: color, "stroke-width": 1.5 });
}

/* ---- bandwidth by I/O nodes ---- */

function drawBandwidth() {
	const device = $("device").value, order = $("order").value;
	const cells = data.cells.filter((c) => (c.device || "") === device &&
		(c.policy === order || c.ionodes === 0));
	const kernels = unique(cells.map((c) => c.kernel));
	const nodes = [...data.ionodes].sort((a, b) => a - b);
	const width = Math.max(300, $("bandwidth").parentNode.clientWidth);
	const s = canvas("bandwidth", width);
	const top = Math.max(...cells.map((c) => c.mb_per_s + (c.mb_per_s_ci || 0))) * 1.05;
	const y = axis(s, width, top, "MB/s");
	/* Equal steps, as in the paper: the numbers are powers of two there. */
	const x = (n) => LEFT + 20 + nodes.indexOf(n) / Math.max(1, nodes.length - 1) *
		(width - LEFT - 50);
	for (const n of nodes)
		svg(s, "text", { x: x(n), y: HEIGHT - 12, "text-anchor": "middle", "font-size": 12,
			fill: "currentColor" }, n);
	legend("legend", kernels);
	kernels.forEach((kernel, i) => {
		const [color, dash] = style(i);
		const line = cells.filter((c) => c.kernel === kernel)
			.sort((a, b) => a.ionodes - b.ionodes);
		svg(s, "polyline", { points: line.map((c) => `${x(c.ionodes)},${y(c.mb_per_s)}`)
			.join(" "), fill: "none", stroke: color, "stroke-width": 2,
			"stroke-dasharray": dash });
		for (const c of line) {
			interval(s, x(c.ionodes), y, c.mb_per_s, c.mb_per_s_ci, color);
			const dot = svg(s, "circle", { cx: x(c.ionodes), cy: y(c.mb_per_s), r: 4,
				fill: color });
			svg(dot, "title", {}, `${kernel}, ${c.ionodes} I/O nodes: ` +
				`${number(c.mb_per_s)} MB/s (${c.runs} runs)`);
		}
	});
}

/* ---- time by order ---- */

const FILTERS = ["device", "ionodes", "apps", "procs", "layout", "op", "size"];
const filters = {}, devices = unique(data.cells.map((c) => c.device));

function situations() {
	const rows = new Map();
	for (const c of data.cells) {
		if (c.ionodes === 0 || FILTERS.some((f) => filters[f] && filters[f].value !== "" &&
			String(c[f]) !== filters[f].value))
			continue;
		const key = [c.kernel, c.device, c.ionodes].join("\n");
		if (!rows.has(key))
			rows.set(key, {});
		rows.get(key)[c.policy] = c;
	}
	return [...rows.values()];
}

function drawTimes() {
	const all = situations(), rows = all.slice(0, MOST), base = data.orders[0];
	const group = BAR * data.orders.length + 24, width = LEFT + rows.length * group + NAMES;
	const s = canvas("times", width);
	s.style.width = width + "px";
	s.style.height = HEIGHT + NAMES + "px";
	s.setAttribute("viewBox", `0 0 ${width} ${HEIGHT + NAMES}`);
	const ratios = rows.flatMap((r) => Object.values(r).map((c) =>
		(c.seconds + (c.seconds_ci || 0)) / r[base].seconds));
	const y = axis(s, width - NAMES, Math.max(1.2, ...ratios) * 1.03, "times");
	svg(s, "line", { x1: LEFT, x2: width - NAMES, y1: y(1), y2: y(1), stroke: "currentColor" });
	legend("orders", data.orders);
	$("relative").textContent = `Mean time of each situation in times of ${base}, whose seconds ` +
		"stand in parentheses: below 1 is faster. Bars: confidence of the mean." +
		(all.length > MOST ? ` The first ${MOST} of ${all.length}; choose fewer.` : "");
	rows.forEach((r, k) => {
		const left = LEFT + 12 + k * group, to = r[base].seconds;
		data.orders.forEach((order, i) => {
			const c = r[order];
			const bar = svg(s, "rect", { x: left + i * BAR, width: BAR - 2,
				y: y(c.seconds / to), height: y(0) - y(c.seconds / to), fill: style(i)[0] });
			svg(bar, "title", {}, `${order}: ${number(c.seconds / to)} times, ` +
				`${number(c.seconds)} s`);
			interval(s, left + i * BAR + BAR / 2 - 1, y, c.seconds / to,
				(c.seconds_ci || 0) / to, "currentColor");
		});
		const x = left + BAR * (data.orders.length - 1) / 2, name = r[base].kernel +
			(devices.length > 1 && filters.device.value === "" ? " " + r[base].device : "") +
			(data.ionodes.length > 1 ? ` ${r[base].ionodes} I/O nodes` : "");
		svg(s, "text", { x, y: HEIGHT - BELOW + 14, "font-size": 12, fill: "currentColor",
			transform: `rotate(50 ${x} ${HEIGHT - BELOW + 14})` },
			`${name} (${number(to)} s)`);
	});
}

/* ---- all ---- */

function table() {
	const columns = [["kernel", "kernel"], ["device", "device"], ["I/O nodes", "ionodes"],
		["order", "policy"], ["runs", "runs"], ["s", "seconds"], ["±", "seconds_ci"],
		["MB/s", "mb_per_s"]];
	const head = add(add($("cells"), "thead"), "tr"), body = add($("cells"), "tbody");
	for (const [title] of columns)
		add(head, "th", title);
	for (const c of data.cells) {
		const row = add(body, "tr");
		for (const [, key] of columns)
			add(row, key === "kernel" ? "th" : "td", typeof c[key] === "number" ? number(c[key]) : c[key] || "–");
	}
}

$("title").textContent = data.spec;
$("summary").textContent = `${data.how}; ${data.cells.length} cells, ` +
	`${data.cells.reduce((sum, c) => sum + c.runs, 0)} runs; confidence ` +
	`${Math.round(data.confidence * 100)} %, seed ${data.seed}.`;
choice($("order"), data.orders);
choice($("device"), devices);
for (const f of FILTERS) {
	const values = unique(data.cells.filter((c) => c.ionodes).map((c) => c[f]));
	const label = add($("filters"), "label", f + " ");
	filters[f] = add(label, "select");
	choice(filters[f], values, true);
	if (values.length > 1 && f === "device")
		filters[f].value = values[0];
	filters[f].addEventListener("change", drawTimes);
	$("filters").append(" ");
}
$("by-nodes").hidden = data.ionodes.length < 2 && data.orders.length > 1;
$("by-order").hidden = data.orders.length < 2 || !data.cells.some((c) => c.ionodes);
function draw() {
	if (!$("by-nodes").hidden)
		drawBandwidth();
	if (!$("by-order").hidden)
		drawTimes();
}
$("order").addEventListener("change", drawBandwidth);
$("device").addEventListener("change", drawBandwidth);
window.addEventListener("resize", draw);
table();
draw();
})();
