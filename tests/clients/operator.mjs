// Commands over the operator's address, with the token of the server's data directory.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The operator's `/v1/worlds`. */
export class Worlds {
  #base;
  #token;

  constructor({ run, dataDir }) {
    this.#base = `http://${run.admin}/v1/worlds`;
    this.#token = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
  }

  post(path, body) {
    return this.call('POST', path, body);
  }

  async call(method, path, body, token = this.#token) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(this.#base + path, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text };
  }
}
