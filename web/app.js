/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard: where its parts are put together. Each event of the server is one status of the
 * layer; every part shows what it finds in it and does without what is missing, so that the page
 * works with layers that know less or more than it does.
 *
 *	feed.js      the way to the server       overview.js  figures, I/O nodes
 *	history.js   what charts draw            jobs.js      table, edit.js in it
 *	chart.js     bandwidth (uPlot)           policies.js  the five stages
 *	gantt.js     I/O phases                  whatif.js    predictions
 *	dom.js, format.js                        helpers
 */
import { $, forgetStyles, say, setAttr, setText } from './dom.js';
import { Feed, get, setToken, takeToken, token } from './feed.js';
import { Colours, History } from './history.js';
import { Chart } from './chart.js';
import { Gantt } from './gantt.js';
import { Jobs } from './jobs.js';
import { Policies } from './policies.js';
import { WhatIf } from './whatif.js';
import { showFigures, showNodes } from './overview.js';

const COLOURS = 8;

takeToken();
const past = new History();
const colours = new Colours(COLOURS);
const chart = new Chart($('chart'), colours);
const gantt = new Gantt($('phases'), colours);
const jobs = new Jobs(colours, () => newest && draw());
const policies = new Policies();
const whatIf = new WhatIf(policies);
const narrow = matchMedia('(max-width: 640px)');
let newest = null,
	paused = false,
	held = null; /* while paused: the last that came, which is not shown */

/* ---- drawing ---- */

/* What was chosen, or less while there is no more to show. */
function window_s() {
	return Math.min(Number($('seconds').value), Math.max(60, past.age() + 5));
}

function draw() {
	const seconds = window_s();

	colours.update(past.sums(seconds));
	showFigures(newest);
	showNodes(newest, colours);
	chart.update(past, seconds, newest.capacity_bps ?? 0);
	jobs.update(newest);
	gantt.update(past, seconds, narrow.matches ? 8 : 12, (name) => jobs.wantedName(name));
	policies.update(newest);
	document.title = `Sluice ${newest.name ?? ''}`.trim();
}

/* What is not seen is not drawn; the newest is when it is seen again. */
let drawn = null;
function show() {
	if (newest && !document.hidden && drawn !== newest) {
		drawn = newest;
		draw();
	}
}

document.addEventListener('visibilitychange', show);
$('seconds').addEventListener('change', () => newest && draw());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
	forgetStyles();
	chart.restyle();
	gantt.draw();
});

/* ---- news ---- */

let troubles = '';
function watchNodes(status) {
	const bad = (status.ionodes ?? [])
		.filter((n) => n.state !== 'up')
		.map((n) => `I/O node ${n.name} ${n.state}`);

	if (status.controller && status.controller.state !== 'up')
		bad.push(`the controller ${status.controller.state}`);
	const text = bad.length
		? `Not all of the layer is well: ${bad.join(', ')}. “sluice up --revive” starts it again.`
		: '';
	if (text !== troubles) {
		troubles = text;
		$('trouble').hidden = !text;
		setText($('trouble'), text);
		say(text || 'All of the layer is up again.', Boolean(text));
	}
}

function redraw() {
	drawn = null;
	show();
}

let first = true;
async function catchUp() {
	try {
		past.load(await get('/api/v1/history?seconds=900'));
		/* The first event knew only who was busy just then. */
		if (first) colours.forget();
		first = false;
	} catch {
		/* An older server: the charts begin now. */
	}
	if (!paused) redraw();
}

/* Until they are there: a server that has too much to do may say so at first. */
let asking = false,
	refused = '';
async function needPolicies() {
	if (asking || policies.all.length) return;
	asking = true;
	try {
		policies.load(await get('/api/v1/policies'));
		whatIf.load();
	} catch (e) {
		/* No answer at all is said elsewhere. */
		if (e.status && e.message !== refused) {
			refused = e.message;
			say(`Policies cannot be shown yet: ${refused}`, true);
		}
	}
	asking = false;
}

/* What comes while the page is paused waits, and what is missed then is fetched. */
function onStatus(status, missed) {
	watchNodes(status);
	needPolicies();
	if (paused && newest) {
		held = { status, missed: missed || held?.missed };
		return;
	}
	newest = status;
	if (past.push(status) || missed) catchUp();
	show();
}

function onState(state, detail, changed) {
	const text = {
		live: 'Live',
		stale: `No news for ${Math.round(detail.silent)} s`,
		down: 'The layer does not answer',
		lost: `Connection lost, retrying${detail.wait > 0 ? ` in ${detail.wait} s` : '…'}`,
	}[state];

	setText($('connection'), paused && state === 'live' ? 'Paused' : text);
	setAttr($('connection'), 'data-state', paused && state === 'live' ? 'paused' : state);
	document.body.classList.toggle('old', state !== 'live');
	if (changed && state === 'lost')
		say('Connection lost, retrying. The numbers are the last that came.', true);
	else if (changed && state === 'down')
		say(detail.error ?? 'The layer does not answer.', true);
	else if (changed && state === 'live' && newest) say('Connected again.');
}

/* ---- pause, and who may change ---- */

$('pause').addEventListener('click', () => {
	paused = !paused;
	setAttr($('pause'), 'aria-pressed', paused);
	setText($('pause'), paused ? 'Resume' : 'Pause');
	if (feed.shown === 'live') onState('live', {}, false);
	if (!paused && held) onStatus(held.status, held.missed);
	if (!paused) held = null;
});

function showAccess() {
	$('read-only').hidden = Boolean(token());
	setAttr($('what-if-run'), 'title', token() ? null : 'Needs the token of the layer');
	$('what-if-run').disabled = !token();
	redraw();
}

$('token-form').addEventListener('submit', (e) => {
	e.preventDefault();
	setToken($('token').value.trim());
	$('token').value = '';
	showAccess();
	say('Changes are sent with this token.');
});

/* A token that the server does not take is none: the page says so, and asks again. */
addEventListener('token-refused', () => {
	setToken('');
	showAccess();
	say(
		'The server does not take this token. Enter the one that “sluice dashboard” prints.',
		true,
	);
});

showAccess();
const feed = new Feed({ status: onStatus, state: onState });
