/* SPDX-License-Identifier: Apache-2.0 */
/* What the mock server says of policies: those of the program that was built, if it is there. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const sluice =
	process.env.SLUICE ?? fileURLToPath(new URL('../../build/cli/sluice', import.meta.url));

export const { policies } = JSON.parse(
	execFileSync(sluice, ['policy', 'list', '--json'], { encoding: 'utf8' }),
);
