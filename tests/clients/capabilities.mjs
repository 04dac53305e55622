// Every capability of docs/protocol-coverage.md answers GET and POST, and the seed grants those that the table calls done.

import { readFileSync } from 'node:fs';
import { assert, log } from './harness.mjs';

const TABLE = new URL('../../docs/protocol-coverage.md', import.meta.url);
/** A POST is a long poll: it is answered by the next event, and the library makes one all the time. */
const LONG_POLL = 'EventQueueGet';
/** Of a request that is not answered. That answers take less than a second is tested on virtual time, in crate `gateway`. */
const DEADLINE_MS = 9_000;
const EMPTY_MAP = '<llsd><map/></llsd>';

/** Name and outcome of each row, in the table's order. */
export function capabilities() {
  const [, section] = readFileSync(TABLE, 'utf8').split('## Capabilities\n');
  return [...section.matchAll(/^\| (\w+) \| (done|refused) \|/gm)].map(([, name, outcome]) => ({ name, granted: outcome === 'done' }));
}

/** Calls each capability of a session by its seed. */
export async function callCapabilities(seed) {
  const table = capabilities();
  const names = table.map(({ name }) => `<string>${name}</string>`).join('');
  const granted = await (await ask(seed, 'POST', `<llsd><array>${names}</array></llsd>`)).text();
  for (const { name, granted: expected } of table) {
    assert(granted.includes(`<key>${name}</key>`) === expected, `${name} is ${expected ? 'not ' : ''}in the seed's reply`);
    for (const method of ['GET', 'POST']) {
      if (method === 'POST' && name === LONG_POLL) continue;
      const { status } = await ask(`${seed}/${name}`, method, method === 'POST' ? EMPTY_MAP : undefined);
      const isFitting = expected ? status < 500 : status === 404;
      assert(isFitting, `${method} ${name}: status ${status}`);
    }
  }
  log('capabilities', { called: table.length, granted: table.filter((row) => row.granted).length });
}

function ask(url, method, body) {
  const headers = body ? { 'Content-Type': 'application/llsd+xml' } : {};
  return fetch(url, { method, body, headers, signal: AbortSignal.timeout(DEADLINE_MS) });
}
