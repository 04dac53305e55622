// Commands over the operator's address, with the token of the server's data directory.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEADLINE_MS } from './wait.mjs';

/** The operator's `/v1/worlds`, and what else lies under `/v1`. */
export class Worlds {
  #base;
  #token;

  constructor({ run, dataDir }) {
    this.#base = `http://${run.admin}/v1`;
    this.#token = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
  }

  post(path, body) {
    return this.call('POST', path, body);
  }

  /**
   * Sends a user into an instance. A user that has just arrived elsewhere may see that before the server takes it for arrived, and is refused until then: the
   * request is repeated.
   */
  async enter(id, order) {
    const deadline = performance.now() + DEADLINE_MS;
    let entered;
    do {
      entered = await this.post(`/${id}/enter`, order);
    } while (entered.status === 409 && performance.now() < deadline);
    return entered;
  }

  /** Has a template's files read again. */
  reload(template) {
    return this.ask('POST', `/templates/${template}/reload`);
  }

  call(method, path, body, token) {
    return this.ask(method, `/worlds${path}`, body, token);
  }

  async ask(method, path, body, token = this.#token) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(this.#base + path, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text };
  }
}
