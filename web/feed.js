/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to the server: events, questions, and changes.
 *
 * Events come from /api/v1/events, once a second. A connection that ends is tried again after 1, 2,
 * 4, at most 5 seconds; one that is silent is shown as such (a node may be stuck: the server waits
 * for it) and given up after SILENT_MS. `state` is called with what people should know:
 *
 *	live      numbers come
 *	stale     connected, but nothing has come for a while
 *	down      the server answers, the layer does not
 *	lost      no connection; the next try is in `wait` seconds
 *
 * A page that nobody looks at lets go of its connection after HIDDEN_MS: browsers have six for a
 * server, the server has 32, and each forgotten tab would keep one. It comes back when it is seen, and
 * fetches what it missed.
 *
 * The token comes from the address (#token=…), which it is removed from, so that it stays neither
 * in the history nor in what people copy; it is kept for this tab only. Events cannot be asked for
 * with a header; at an address that is not loopback they come by a cookie, which a server that was
 * started again does not know: so a second try has the token with it, and gets a new cookie.
 */

const RETRY_S = [1, 2, 4, 5];
const STALE_MS = 4000;
const SILENT_MS = 30000;
const HIDDEN_MS = 5000;
const KEY = 'sluice-token';

/* ---- the token ---- */

export function takeToken() {
	const url = new URL(location.href);
	const inside = new URLSearchParams(url.hash.slice(1));
	const token = inside.get('token') ?? url.searchParams.get('token');

	if (token === null) return;
	sessionStorage.setItem(KEY, token);
	inside.delete('token');
	url.searchParams.delete('token');
	url.hash = inside.toString();
	history.replaceState(null, '', url.pathname + url.search + url.hash);
}

export const token = () => sessionStorage.getItem(KEY) ?? '';

export function setToken(text) {
	if (text) sessionStorage.setItem(KEY, text);
	else sessionStorage.removeItem(KEY);
}

/* ---- questions and changes ---- */

async function ask(method, path, body) {
	const headers = {};
	let answer, text, json;

	if (token()) headers.Authorization = `Bearer ${token()}`;
	if (body) headers['Content-Type'] = 'application/json';
	try {
		answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
		text = await answer.text();
	} catch {
		throw new Error('The server does not answer. The page keeps trying to reach it.');
	}
	try {
		json = text ? JSON.parse(text) : {};
	} catch {
		throw new Error(`The server's answer to ${path} was not understood.`);
	}
	if (!answer.ok) {
		const error = new Error(
			json.error ?? `The server answered with status ${answer.status}.`,
		);
		error.status = answer.status;
		if (answer.status === 401 && token()) dispatchEvent(new Event('token-refused'));
		throw error;
	}
	return json;
}

export const get = (path) => ask('GET', path);
export const post = (path, body) => ask('POST', path, body);

/* ---- events ---- */

export class Feed {
	constructor({ status, state }) {
		this.onStatus = status;
		this.onState = state;
		this.tries = 0;
		this.heard = 0;
		setInterval(() => this.watch(), 1000);
		this.connect();
		/* A page that sleeps misses a retry: when it is looked at again, at once. */
		document.addEventListener('visibilitychange', () => {
			clearTimeout(this.rest);
			if (document.hidden)
				this.rest = setTimeout(() => this.letGo(), HIDDEN_MS);
			else if (!this.events) this.connect();
		});
	}

	letGo() {
		clearTimeout(this.retry);
		this.events?.close();
		this.events = null;
		this.asleep = true;
	}

	connect() {
		clearTimeout(this.retry);
		this.events?.close();
		this.asleep = false;
		this.events = new EventSource(
			this.tries && token()
				? `/api/v1/events?token=${encodeURIComponent(token())}`
				: '/api/v1/events',
		);
		this.events.addEventListener('status', (e) => this.take(e, 'live'));
		this.events.addEventListener('down', (e) => this.take(e, 'down'));
		this.events.onerror = () => this.lost();
		this.heard = performance.now();
	}

	take(event, state) {
		const again = this.tries > 0 || this.shown === undefined;
		let status;

		try {
			status = JSON.parse(event.data);
		} catch {
			return; /* the next one is a second away */
		}
		this.heard = performance.now();
		this.tries = 0;
		this.show(state, status);
		if (state === 'live') this.onStatus(status, again);
	}

	lost() {
		const wait = RETRY_S[Math.min(this.tries, RETRY_S.length - 1)];

		this.events?.close();
		this.events = null;
		this.tries++;
		this.due = performance.now() + wait * 1000;
		this.show('lost', { wait });
		clearTimeout(this.retry);
		this.retry = setTimeout(() => this.connect(), wait * 1000);
	}

	watch() {
		const silent = performance.now() - this.heard;

		if (this.asleep) return;
		if (!this.events)
			this.show('lost', {
				wait: Math.max(0, Math.ceil((this.due - performance.now()) / 1000)),
			});
		else if (silent > SILENT_MS) this.lost();
		else if (silent > STALE_MS && this.tries === 0)
			this.show('stale', { silent: silent / 1000 });
	}

	show(state, detail) {
		const changed = state !== this.shown;

		this.shown = state;
		this.onState(state, detail, changed);
	}
}
