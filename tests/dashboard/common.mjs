/* SPDX-License-Identifier: Apache-2.0 */
/* What change.mjs, look.mjs and work.mjs share: cases with a mock of a layer, and places on the page. */
import { MockLayer, TOKEN, serve } from './mock.mjs';

export const with_layer = (count, test, options) => ({
	options,
	run: async (it) => {
		const layer = new MockLayer(count);
		const server = await serve(layer);

		try {
			await test({ ...it, layer, server, url: `${server.url}#token=${TOKEN}` });
		} finally {
			await server.close();
		}
	},
});

export const text = (page, selector) => page.locator(selector).textContent();
export const rows = (page) => page.locator('#jobs-body tr');
