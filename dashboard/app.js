// SPDX-License-Identifier: Apache-2.0
"use strict";
// The newest status, as it comes.
new EventSource("/api/v1/events").addEventListener("status", (event) => {
	document.getElementById("status").textContent = JSON.stringify(JSON.parse(event.data), null, 2);
});
