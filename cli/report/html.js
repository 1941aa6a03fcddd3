/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `sluice report --html`: draws what stands as JSON in the element "data", written by
 * print.c. Names in it become text nodes, never markup.
 */
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const LEFT = 74, BELOW = 34, ABOVE = 10, HEIGHT = 320;
const COLOURS = ["#0a7d4f", "#3b7dd8", "#e8590c", "#9255c9", "#a07800", "#c0247a", "#1098ad",
	"#5c6b7a", "#66a80f", "#d6336c", "#4263eb", "#868e96"];
const points = data.curves.length ? data.curves[0].bps.length : 0;
let at = -1;

function scaled(v, units, base) {
	let i = 0;
	while (v >= base && i < units.length - 1) {
		v /= base;
		i++;
	}
	return (v >= 100 || i === 0 ? Math.round(v) : v.toPrecision(3)) + units[i];
}
const rate = (v) => scaled(v, ["B/s", "KB/s", "MB/s", "GB/s", "TB/s"], 1000);
const bytes = (v) => scaled(v, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
/* With a sign, and no -0.0. */
const gain = (s) => (s > -0.05 ? "+" : "") + (Math.abs(s) < 0.05 ? "0.0" : s.toFixed(1)) + " s";
const when = (s) => new Date(s * 1000).toLocaleString();
const clock = (s) => new Date(s * 1000).toLocaleTimeString();

/* Stacked: each job on those before it. */
function bandwidth() {
	const s = $("bandwidth"), width = Math.max(300, s.parentNode.clientWidth);
	const sums = new Array(points).fill(0);
	s.replaceChildren();
	s.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
	s.style.height = HEIGHT + "px";
	for (const c of data.curves)
		c.bps.forEach((v, i) => { sums[i] += v; });
	const most = Math.max(1, ...sums) * 1.05;
	const x = (i) => LEFT + (points > 1 ? i / (points - 1) : 0.5) * (width - LEFT - 16);
	const y = (v) => HEIGHT - BELOW - (HEIGHT - BELOW - ABOVE) * v / most;
	for (let k = 0; k <= 4; k++) {
		const v = most * k / 4;
		svg(s, "line", { x1: LEFT, x2: width - 16, y1: y(v), y2: y(v), stroke: "var(--line)" });
		svg(s, "text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end", class: "soft" }, rate(v));
	}
	for (let k = 0; k <= 4; k++) {
		const i = Math.round((points - 1) * k / 4);
		svg(s, "text", { x: x(i), y: HEIGHT - 14, class: "soft",
			"text-anchor": k === 0 ? "start" : k === 4 ? "end" : "middle" },
			clock(data.from + i * data.step_s));
	}
	const below = new Array(points).fill(0);
	data.curves.forEach((c, n) => {
		const top = c.bps.map((v, i) => below[i] + v);
		svg(s, "path", { fill: COLOURS[n % COLOURS.length], "fill-opacity": 0.8, stroke: "none",
			d: "M" + top.map((v, i) => x(i).toFixed(1) + " " + y(v).toFixed(1)).join("L") + "L" +
			below.map((v, i) => x(i).toFixed(1) + " " + y(v).toFixed(1)).reverse().join("L") + "Z" });
		top.forEach((v, i) => { below[i] = v; });
	});
	if (at >= 0)
		svg(s, "line", { x1: x(at), x2: x(at), y1: ABOVE, y2: HEIGHT - BELOW,
			stroke: "var(--text)", "stroke-dasharray": "2 3" });
	s.setAttribute("aria-label", "Bandwidth of each job over time; the most is " + rate(most / 1.05));
}
function look(i) {
	at = Math.min(Math.max(0, i), points - 1);
	bandwidth();
	$("status").textContent = clock(data.from + at * data.step_s) + ": " + (data.curves
		.filter((c) => c.bps[at] > 0).map((c) => c.job + " " + rate(c.bps[at])).join(", ") || "nothing");
}
function legend() {
	data.curves.forEach((c, n) => {
		const item = make("span"), key = svg(item, "svg", { width: 14, height: 10,
			style: "display:inline-block;width:14px;vertical-align:middle;margin-right:.35em" });
		svg(key, "rect", { width: 14, height: 10, fill: COLOURS[n % COLOURS.length] });
		item.append(c.job);
		$("legend").append(item);
	});
}
/* A name, whole if it is pointed at. */
function named(element, text) {
	const e = make(element, text);
	e.title = text;
	return e;
}
function jobs() {
	const head = $("jobs").createTHead().insertRow(), body = $("jobs").createTBody();
	for (const text of ["job", "read", "written", "requests", "average", "held", "waited", "saved",
		"unscheduled", "metadata", "waited most for"])
		head.append(make("th", text));
	for (const j of data.jobs) {
		const row = body.insertRow();
		const worst = [...j.delayed_by].sort((a, b) => b.seconds - a.seconds)[0];
		row.append(named("th", j.job));
		for (const text of [bytes(j.read_bytes), bytes(j.write_bytes), String(j.requests),
			rate((j.read_bytes + j.write_bytes) / j.active_s), j.held_s.toFixed(1) + " s",
			j.waited_s.toFixed(1) + " s", gain(j.saved_s), bytes(j.unscheduled_bytes),
			String(j.operations)])
			row.append(make("td", text));
		row.append(named("td", worst && worst.seconds >= 0.05 ? worst.seconds.toFixed(1) + " s: " + worst.job : "nobody"));
	}
}
function matrix() {
	/* Rows and columns in which there is nothing are left out. */
	const all = data.jobs.slice(0, 40), seen = (d) => d.seconds >= 0.05;
	const shown = all.filter((j) => j.delayed_by.some((d) => seen(d) && all.some((o) => o.job === d.job)));
	const names = all.map((j) => j.job).filter((name) =>
		shown.some((j) => j.delayed_by.some((d) => d.job === name && seen(d))));
	if (!shown.length) {
		$("matrix").createTBody().insertRow().append(make("td", "Nobody waited for anybody else."));
		return;
	}
	const head = $("matrix").createTHead().insertRow(), body = $("matrix").createTBody();
	const most = Math.max(1e-9, ...shown.flatMap((j) => j.delayed_by.map((d) => d.seconds)));
	head.append(make("th", "waited for"));
	for (const name of names)
		head.append(named("th", name));
	for (const j of shown) {
		const row = body.insertRow();
		row.append(named("th", j.job));
		for (const name of names) {
			const d = j.delayed_by.find((e) => e.job === name);
			const cell = make("td", name === j.job ? "–" : d ? d.seconds.toFixed(1) : "0");
			if (d)
				cell.style.background = "color-mix(in srgb, var(--stalled) " +
					Math.round(60 * d.seconds / most) + "%, transparent)";
			row.append(cell);
		}
	}
}

$("title").textContent = data.layer ? "Layer " + data.layer : "sluice report";
$("summary").textContent = data.jobs.length ? when(data.from) + " to " + when(data.to) + ", " +
	data.jobs.length + (data.jobs.length === 1 ? " job" : " jobs") : "No job did any I/O in that time.";
legend();
jobs();
matrix();
if (points) {
	const s = $("bandwidth");
	s.addEventListener("pointermove", (event) => {
		const box = s.getBoundingClientRect();
		look(Math.round((event.clientX - box.left - LEFT) / (box.width - LEFT - 16) * (points - 1)));
	});
	s.addEventListener("keydown", (event) => {
		const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: points - 1 }[event.key];
		if (to === undefined)
			return;
		event.preventDefault();
		look(to);
	});
	bandwidth();
	window.addEventListener("resize", bandwidth);
}
})();
