// Our own bots as a crowd around other people's clients.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { assert } from './harness.mjs';
import { binaryPath } from './server.mjs';

/** `throng bots --control`: a process that does what it is told, a line for each command. */
export class Bots {
  #child;
  #lines;
  #exited;

  constructor({ loginUri, count, lastName, behavior }) {
    const args = ['bots', '--login', loginUri, '--count', `${count}`, '--behavior', behavior, '--ramp', '80/s', '--last-name', lastName];
    this.#child = spawn(binaryPath(), [...args, '--control', '--json'], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#exited = new Promise((done) => this.#child.once('exit', done).once('error', done));
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Gives a command and waits for its answer. */
  async command(text, deadlineMs = 60_000) {
    this.#child.stdin.write(`${text}\n`);
    const answer = await this.#line(text, deadlineMs);
    assert(answer.done === text, `"${text}" was answered with ${JSON.stringify(answer)}`);
    return answer;
  }

  /** All log out; the report. */
  async leave() {
    this.#child.stdin.write('leave\n');
    return this.#line('leave', 60_000);
  }

  /** Whatever happened, it does not stay behind. */
  end() {
    if (this.#child.exitCode === null) this.#child.kill('SIGTERM');
    return this.#exited;
  }

  async #line(what, deadlineMs) {
    let timer;
    const late = new Promise((_, fail) => {
      timer = setTimeout(() => fail(new Error(`bots did not answer "${what}" within ${deadlineMs} ms`)), deadlineMs);
    });
    try {
      const { value, done } = await Promise.race([this.#lines.next(), late]);
      assert(!done, `the bots ended before they answered "${what}"`);
      return JSON.parse(value);
    } finally {
      clearTimeout(timer);
    }
  }
}
