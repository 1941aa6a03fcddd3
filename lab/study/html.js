/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `sluice sim --html`: draws what stands as JSON in the element "data", written by
 * html.c. Names in it come from others' files: they become text nodes and canvas text, never
 * markup.
 */
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const ROW = 18, AXIS = 24, BANDWIDTH = 190;
const COMPUTE = 0, TRANSFER = 1, STALLED = 2, MIXED = 3, GAP = 4;
const NAMES = ["computing", "doing I/O", "stalled"];
const end = data.end_s || 1;
const view = { policy: 0, from: 0, to: end, row: -1, measure: 0 };
let colour = {};


/* ---- numbers ---- */

function number(v) {
	if (v === null || v === undefined)
		return "–";
	const size = Math.abs(v);
	return size < 10 ? v.toFixed(4) : size < 100 ? v.toFixed(3) : size < 1000 ? v.toFixed(2) :
		v.toPrecision(5);
}
function rate(bps) {
	const units = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"];
	let i = 0;
	while (bps >= 999.5 && i < units.length - 1) {
		bps /= 1000;
		i++;
	}
	return bps.toPrecision(3) + " " + units[i];
}
const unit = end > 4 * 86400 ? ["d", 86400] : end > 3 * 3600 ? ["h", 3600] : ["s", 1];
function time(s, step) {
	const digits = step ? Math.max(0, -Math.floor(Math.log10(step / unit[1]) + 1e-9)) : 2;
	return (s / unit[1]).toFixed(Math.min(9, digits)) + " " + unit[0];
}
/* A duration, whatever the axis counts in. */
function span(s) {
	const units = [["days", 86400], ["hours", 3600], ["minutes", 60], ["s", 1]];
	const u = units.find((x) => s >= 2 * x[1]) || ["s", 1];
	return (s / u[1]).toPrecision(3) + " " + u[0];
}
function timeTicks(width) {
	const t = ticks(view.from / unit[1], view.to / unit[1], width / 90);
	return { list: t.list.map((x) => x * unit[1]), step: t.step * unit[1] };
}

/* ---- comparison ---- */

function comparison() {
	const table = $("comparison"), head = table.createTHead().insertRow();
	const first = make("th", "policy");
	first.scope = "col";
	head.append(first);
	for (const m of data.measures) {
		const th = make("th", m.key.replace(/_/g, " ") +
			(m.better > 0 ? "\u00a0↑" : m.better < 0 ? "\u00a0↓" : ""));
		th.title = m.meaning;
		th.scope = "col";
		head.append(th);
	}
	const body = table.createTBody();
	data.policies.forEach((p, at) => {
		const tr = body.insertRow(), th = make("th"), b = make("button", p.name);
		th.scope = "row";
		b.title = "show in the charts below";
		b.addEventListener("click", () => choose(at));
		th.append(b);
		tr.append(th);
		data.measures.forEach((m, i) => {
			const td = tr.insertCell(), bar = make("div", "", "bar");
			const all = data.policies.map((q) => q.mean[i]).filter((v) => v !== null);
			const best = m.better > 0 ? Math.max(...all) : Math.min(...all);
			let top = Math.max(...all);
			if (m.key === "sys_efficiency")
				top = Math.max(top, ...data.policies.map((q) => q.mean[i + 1] || 0));
			td.append(number(p.mean[i]));
			if (p.ci95[i] !== null)
				td.append(make("small", "±" + number(p.ci95[i])));
			if (m.better && all.length > 1 && number(p.mean[i]) === number(best))
				td.className = "best";
			bar.style.width = p.mean[i] === null || !(top > 0) ? 0 :
				100 * p.mean[i] / top + "%";
			td.append(bar);
		});
	});
	for (const m of data.measures)
		$("meaning").append(make("dt", m.key.replace(/_/g, " ")), make("dd", m.meaning +
			(m.better > 0 ? "; ↑ more is better" : m.better < 0 ? "; ↓ less is better" : "")));
}

/* ---- what each application does ---- */

/* A row comes as start, then duration * 8 + kind; a mixed one with its shares behind it. */
function decode(policy) {
	if (policy.decoded)
		return policy.decoded;
	policy.decoded = policy.rows.map((row) => {
		const blocks = [];
		let at = row[0] * data.tick_s;
		for (let i = 1; i < row.length; i++) {
			const kind = row[i] % 8, to = at + Math.floor(row[i] / 8) * data.tick_s;
			const share = [0, 0, 0];
			if (kind === MIXED) {
				i++;
				share[COMPUTE] = Math.floor(row[i] / 128) / 100;
				share[TRANSFER] = row[i] % 128 / 100;
				share[STALLED] = Math.max(0, 1 - share[COMPUTE] - share[TRANSFER]);
			} else if (kind !== GAP) {
				share[kind] = 1;
			}
			if (kind !== GAP)
				blocks.push({ from: at, to, kind, share });
			at = to;
		}
		return blocks;
	});
	return policy.decoded;
}

/* The first block that ends after t. */
function find(blocks, t) {
	let low = 0, high = blocks.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (blocks[middle].to > t)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

function canvas(id, width, height) {
	const c = $(id), scale = window.devicePixelRatio || 1;
	c.width = Math.round(width * scale);
	c.height = Math.round(height * scale);
	c.style.width = width + "px";
	c.style.height = height + "px";
	const g = c.getContext("2d");
	g.scale(scale, scale);
	g.clearRect(0, 0, width, height);
	g.font = "12px system-ui, sans-serif";
	g.textBaseline = "middle";
	return g;
}

function frame() {
	const width = $("rows").clientWidth;
	const left = width < 600 ? 88 : 150;
	const scale = (width - left) / (view.to - view.from);
	return { width, left, x: (t) => left + (t - view.from) * scale,
		t: (x) => view.from + (x - left) / scale };
}

function stack(g, x, y, width, share) {
	let at = y + ROW - 3;
	[COMPUTE, TRANSFER, STALLED].forEach((kind) => {
		const height = (ROW - 5) * share[kind];
		at -= height;
		g.fillStyle = colour[kind];
		g.fillRect(x, at, width, height);
	});
}

/* What is narrower than a pixel is drawn with its neighbours, as shares of their time. */
function drawRow(g, f, blocks, y) {
	let pixel = -1, sum = [0, 0, 0], filled = 0;
	const flush = () => {
		if (filled > 0)
			stack(g, pixel, y, 1, sum.map((s) => s / filled));
		sum = [0, 0, 0];
		filled = 0;
	};
	for (let i = find(blocks, view.from); i < blocks.length && blocks[i].from < view.to; i++) {
		const b = blocks[i], x0 = Math.max(f.left, f.x(b.from));
		const x1 = Math.min(f.width, f.x(b.to));
		if (x1 - x0 >= 1) {
			flush();
			stack(g, x0, y, x1 - x0, b.share);
			continue;
		}
		if (Math.floor(x0) !== pixel) {
			flush();
			pixel = Math.floor(x0);
		}
		b.share.forEach((s, k) => { sum[k] += s * (b.to - b.from); });
		filled += b.to - b.from;
	}
	flush();
}

function drawWindow(g, f, top, bottom) {
	if (!(data.window[1] > 0))
		return;
	g.strokeStyle = colour.text;
	g.setLineDash([2, 3]);
	for (const t of data.window) {
		const x = f.x(t);
		if (t <= 0 || x < f.left || x > f.width)
			continue;
		g.beginPath();
		g.moveTo(x, top);
		g.lineTo(x, bottom);
		g.stroke();
	}
	g.setLineDash([]);
}

function axis(g, f, t, y) {
	g.fillStyle = colour.soft;
	g.textAlign = "left";
	for (const at of t.list) {
		const text = time(at, t.step), width = g.measureText(text).width;
		g.fillText(text, Math.min(Math.max(f.x(at) - width / 2, f.left), f.width - width - 4), y);
	}
}

function gantt() {
	const box = $("rows"), policy = data.policies[view.policy], rows = decode(policy);
	const all = AXIS + rows.length * ROW;
	$("space").style.height = all + "px";
	const f = frame(), height = Math.min(all, box.clientHeight || all);
	const g = canvas("gantt", f.width, height), top = box.scrollTop;
	const first = Math.max(0, Math.floor(top / ROW)), last = Math.min(rows.length - 1,
		Math.ceil((top + height - AXIS) / ROW));
	const t = timeTicks(f.width - f.left);

	g.strokeStyle = colour.line;
	g.lineWidth = 1;
	for (const at of t.list) {
		const x = Math.round(f.x(at)) + 0.5;
		g.beginPath();
		g.moveTo(x, AXIS);
		g.lineTo(x, height);
		g.stroke();
	}
	for (let i = first; i <= last; i++) {
		const y = AXIS + i * ROW - top;
		if (i === view.row) {
			g.fillStyle = colour.panel;
			g.fillRect(0, y, f.width, ROW);
		}
		g.save();
		g.beginPath();
		g.rect(0, y, f.left - 6, ROW);
		g.clip();
		g.fillStyle = colour.text;
		g.textAlign = "left";
		g.fillText(data.apps[i], 6, y + ROW / 2);
		g.restore();
		drawRow(g, f, rows[i], y);
	}
	drawWindow(g, f, AXIS, height);
	g.fillStyle = colour.page;
	g.fillRect(0, 0, f.width, AXIS);
	axis(g, f, t, AXIS / 2);
	$("gantt").setAttribute("aria-label", "What each application does over time under " +
		policy.name + ", " + rows.length + " rows");
}

function bandwidth() {
	const f = frame(), g = canvas("bandwidth", f.width, BANDWIDTH);
	const policy = data.policies[view.policy], b = policy.bandwidth, floor = BANDWIDTH - AXIS;
	const top = 1.15 * Math.max(data.capacity_bps, ...b.bps, 1);
	const y = (v) => floor - (floor - 8) * v / top;

	g.strokeStyle = colour.line;
	g.fillStyle = colour.soft;
	g.textAlign = "right";
	for (const v of ticks(0, top, 4).list) {
		g.beginPath();
		g.moveTo(f.left, Math.round(y(v)) + 0.5);
		g.lineTo(f.width, Math.round(y(v)) + 0.5);
		g.stroke();
		g.fillText(v ? rate(v) : "0", f.left - 6, Math.max(8, y(v)));
	}
	g.save();
	g.beginPath();
	g.rect(f.left, 0, f.width - f.left, BANDWIDTH);
	g.clip();
	g.beginPath();
	g.moveTo(f.x(0), floor);
	b.bps.forEach((v, i) => {
		g.lineTo(f.x(i * b.bin_s), y(v));
		g.lineTo(f.x((i + 1) * b.bin_s), y(v));
	});
	g.lineTo(f.x(b.bps.length * b.bin_s), floor);
	g.fillStyle = colour[TRANSFER];
	g.globalAlpha = 0.75;
	g.fill();
	g.globalAlpha = 1;
	g.strokeStyle = colour[STALLED];
	g.lineWidth = 2;
	g.setLineDash([7, 4]);
	g.beginPath();
	g.moveTo(f.left, y(data.capacity_bps));
	g.lineTo(f.width, y(data.capacity_bps));
	g.stroke();
	g.lineWidth = 1;
	drawWindow(g, f, 0, floor);
	g.restore();
	axis(g, f, timeTicks(f.width - f.left), floor + AXIS / 2);
	$("bandwidth").setAttribute("aria-label", "Bandwidth over time under " + policy.name +
		"; the capacity is " + rate(data.capacity_bps));
}

/* ---- repetitions ---- */

function quantile(sorted, q) {
	const at = q * (sorted.length - 1), i = Math.floor(at);
	return sorted[i] + (at - i) * ((sorted[i + 1] ?? sorted[i]) - sorted[i]);
}
function distribution() {
	const s = $("distribution"), width = s.parentNode.clientWidth;
	const narrow = width < 600, left = narrow ? 8 : 190, line = narrow ? 46 : 30;
	const m = view.measure, lists = data.policies.map((p) => p.values[m]);
	const all = lists.flat();
	let low = Math.min(...all), high = Math.max(...all);

	s.replaceChildren();
	if (!all.length)
		return;
	if (high - low < 1e-9) {
		low -= 0.5;
		high += 0.5;
	}
	const pad = 0.05 * (high - low), height = 30 + line * lists.length;
	const x = (v) => left + (v - low + pad) / (high - low + 2 * pad) * (width - left - 12);
	s.setAttribute("viewBox", `0 0 ${width} ${height}`);
	s.style.height = height + "px";
	const t = ticks(low, high, (width - left) / 110);
	const digits = Math.max(0, -Math.floor(Math.log10(t.step) + 1e-9));
	for (const v of t.list) {
		svg(s, "line", { x1: x(v), x2: x(v), y1: 22, y2: height, stroke: colour.line });
		svg(s, "text", { x: x(v), y: 14, "text-anchor": "middle", class: "soft" },
			v.toFixed(Math.min(9, digits)));
	}
	data.policies.forEach((p, i) => {
		const list = lists[i], y = 26 + line * i + (narrow ? line - 14 : line / 2);
		const name = p.name.length > 26 && !narrow ? p.name.slice(0, 25) + "…" : p.name;
		svg(s, "text", narrow ? { x: 8, y: y - 14 } : { x: 8, y: y + 4 }, name);
		if (!list.length)
			return;
		const q = [0, 0.25, 0.5, 0.75, 1].map((f) => x(quantile(list, f)));
		const g = svg(s, "g", { stroke: colour.soft, fill: "none" });
		svg(g, "title", {}, `${p.name}: mean ${number(p.mean[m])} ± ${number(p.ci95[m])}, ` +
			`smallest ${number(list[0])}, median ${number(quantile(list, 0.5))}, ` +
			`largest ${number(list[list.length - 1])}`);
		svg(g, "line", { x1: q[0], x2: q[4], y1: y, y2: y });
		svg(g, "rect", { x: q[1], width: Math.max(1, q[3] - q[1]), y: y - 8, height: 16,
			fill: colour[COMPUTE] });
		svg(g, "line", { x1: q[2], x2: q[2], y1: y - 8, y2: y + 8, stroke: colour.text,
			"stroke-width": 2 });
		if (list.length <= 50)
			for (const v of list)
				svg(g, "circle", { cx: x(v), cy: y, r: 2, fill: colour.soft, stroke: "none" });
		if (p.ci95[m] !== null)
			svg(g, "line", { x1: x(p.mean[m] - p.ci95[m]), x2: x(p.mean[m] + p.ci95[m]),
				y1: y, y2: y, stroke: colour[STALLED], "stroke-width": 4 });
		if (p.mean[m] !== null) /* infinite, if it is in one of the runs */
			svg(g, "path", { d: `M${x(p.mean[m])} ${y - 6}l5 6l-5 6l-5 -6z`,
				fill: colour[STALLED], stroke: colour.page });
	});
	s.setAttribute("aria-label", "Distribution of " + data.measures[m].key + ": " +
		data.policies.map((p) => `${p.name} ${number(p.mean[m])} ± ${number(p.ci95[m])}`)
			.join(", "));
}

/* ---- what can be done ---- */

function draw() {
	gantt();
	bandwidth();
	$("range").textContent = time(view.from, (view.to - view.from) / 100) + " to " +
		time(view.to, (view.to - view.from) / 100);
}
function choose(at) {
	view.policy = (at + data.policies.length) % data.policies.length;
	$("policy").value = view.policy;
	document.querySelectorAll("#comparison th button").forEach((b, i) =>
		b.setAttribute("aria-pressed", i === view.policy));
	const merged = data.policies[view.policy].merged_s;
	$("merged").textContent = merged ? "Phases shorter than " + span(merged) +
		" were merged with their neighbours to keep this page small: such a piece shows the " +
		"shares of its time, stacked." : "";
	draw();
}
function look(from, to) {
	const width = Math.min(Math.max(to - from, end * 1e-5), end);
	view.from = Math.min(Math.max(0, from), end - width);
	view.to = view.from + width;
	draw();
}
function zoom(factor, at) {
	const middle = at ?? (view.from + view.to) / 2;
	look(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
}
function pan(part) {
	const by = part * (view.to - view.from);
	look(view.from + by, view.to + by);
}
function select(row) {
	const rows = decode(data.policies[view.policy]), box = $("rows");
	view.row = Math.min(Math.max(0, row), rows.length - 1);
	const y = view.row * ROW;
	if (y < box.scrollTop)
		box.scrollTop = y;
	else if (y + ROW + AXIS > box.scrollTop + box.clientHeight)
		box.scrollTop = y + ROW + AXIS - box.clientHeight;
	const sum = [0, 0, 0];
	for (const b of rows[view.row])
		b.share.forEach((s, k) => { sum[k] += s * (b.to - b.from); });
	const total = sum[0] + sum[1] + sum[2] || 1;
	say(view.row, sum.map((s, k) => (100 * s / total).toFixed(1) + " % " + NAMES[k]).join(", "));
	gantt();
}
function say(row, what) {
	const app = data.policies[view.policy].app[row];
	$("status").textContent = data.apps[row] + ": " + what + "; dilation " + number(app[0]) +
		", stretch " + number(app[1]);
}
function point(event) {
	const box = $("rows").getBoundingClientRect(), f = frame(), t = f.t(event.clientX - box.left);
	const row = Math.floor((event.clientY - box.top - AXIS + $("rows").scrollTop) / ROW);
	const blocks = decode(data.policies[view.policy])[row];
	if (!blocks || event.clientY - box.top < AXIS)
		return;
	const b = blocks[find(blocks, t)];
	if (row !== view.row) {
		view.row = row;
		gantt();
	}
	if (!b || b.from > t || event.clientX - box.left < f.left)
		say(row, "nothing there");
	else
		say(row, b.share.map((s, k) => s > 0 ? (s < 1 ? Math.round(100 * s) + " % " : "") +
			NAMES[k] : "").filter((s) => s).join(", ") + " from " +
			time(b.from, (view.to - view.from) / 1000) + " to " +
			time(b.to, (view.to - view.from) / 1000));
}
function drag(element) {
	let last = null;
	element.addEventListener("pointerdown", (e) => { last = e.clientX; point(e); });
	element.addEventListener("pointermove", (e) => {
		if (last === null || !(e.buttons & 1)) {
			last = null;
			if (element.id === "rows")
				point(e);
			return;
		}
		const f = frame();
		pan(-(e.clientX - last) / (f.width - f.left));
		last = e.clientX;
	});
	element.addEventListener("dblclick", (e) =>
		zoom(0.5, frame().t(e.clientX - element.getBoundingClientRect().left)));
}
function keys(event) {
	const actions = {
		ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), "+": () => zoom(0.5),
		"=": () => zoom(0.5), "-": () => zoom(2), "0": () => look(0, end),
		ArrowUp: () => select(view.row - 1), ArrowDown: () => select(view.row + 1),
		Home: () => select(0), End: () => select(Infinity),
		PageUp: () => select(view.row - 20), PageDown: () => select(view.row + 20),
	};
	if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey)
		return;
	event.preventDefault();
	actions[event.key]();
}
function colours() {
	const style = getComputedStyle(document.documentElement);
	const get = (name) => style.getPropertyValue("--" + name).trim();
	colour = { [COMPUTE]: get("compute"), [TRANSFER]: get("transfer"), [STALLED]: get("stalled") };
	for (const name of ["page", "text", "soft", "line", "panel"])
		colour[name] = get(name);
}
function all() {
	colours();
	draw();
	if (data.repeat > 1)
		distribution();
}

$("title").textContent = data.scenario;
document.title = data.scenario + " – sluice sim " + data.version;
$("summary").textContent = data.summary;
$("note").textContent = data.note;
$("lines").textContent = "All applications together; the broken line is the bandwidth of the I/O " +
	"system, " + rate(data.capacity_bps) + (data.buffer_bps === null ? "" :
	"; what is above it goes into the burst buffer" +
	(data.buffer_bps > 0 ? ", which takes " + rate(data.buffer_bps) : "")) +
	(data.window[1] > 0 ? ". Dotted: the window." : ".");
comparison();
data.policies.forEach((p, i) => {
	const o = make("option", p.name);
	o.value = i;
	$("policy").append(o);
});
$("policy").addEventListener("change", (e) => choose(Number(e.target.value)));
const actions = { previous: () => choose(view.policy - 1), next: () => choose(view.policy + 1),
	in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-0.5), right: () => pan(0.5),
	whole: () => look(0, end) };
for (const id of Object.keys(actions))
	$(id).addEventListener("click", actions[id]);
$("rows").addEventListener("keydown", keys);
$("rows").addEventListener("scroll", gantt);
drag($("rows"));
if (data.apps_in_all > data.apps.length)
	$("omitted").textContent = `The first ${data.apps.length} of ${data.apps_in_all} applications ` +
		"are shown; the figures are of all.";
if (data.repeat > 1) {
	data.measures.forEach((m, i) => {
		const o = make("option", m.key.replace(/_/g, " "));
		o.value = i;
		$("measure").append(o);
	});
	$("measure").addEventListener("change", (e) => {
		view.measure = Number(e.target.value);
		distribution();
	});
} else {
	$("repetitions").hidden = true;
}
colours();
choose(0);
all();
window.addEventListener("resize", all);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
})();
