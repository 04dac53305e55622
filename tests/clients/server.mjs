// The server under test as a child process: started with a fresh data directory, found through its run.json,
// signalled and stopped by its process id only.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const START_DEADLINE_MS = 30_000;
const STOP_DEADLINE_MS = 20_000;

/** THRONG_BIN, or the newest-profile binary that cargo has built. */
export function binaryPath() {
  if (process.env.THRONG_BIN) return resolve(process.env.THRONG_BIN);
  const target = process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target');
  const found = ['release', 'debug'].map((profile) => join(target, profile, 'throng')).find(existsSync);
  if (!found) throw new Error(`no throng binary under ${target}; build it or set THRONG_BIN`);
  return found;
}

/**
 * A server ends with the process that started it, whatever that one dies of: `setpriv` has the kernel send the signal. It becomes the
 * server, so that the process id stays.
 */
const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'].find(existsSync);
export const ENDS_WITH_PARENT = SETPRIV !== undefined;
const WITH_PARENT = ENDS_WITH_PARENT ? [SETPRIV, '--pdeathsig', 'TERM'] : [];

export class Server {
  #child;
  #exited;
  #command;

  /**
   * Starts `throng serve` and resolves once run.json names this process.
   * @param {{openRegistration?: boolean, config?: string, args?: string[]}} [options] `config`: a file beside this one, or a path
   */
  static async start({ openRegistration = true, config = 'world.toml', args = [] } = {}) {
    const server = new Server();
    server.dataDir = mkdtempSync(join(tmpdir(), 'throng-clients-'));
    server.logPath = join(server.dataDir, 'server.log');
    const log = openSync(server.logPath, 'a');
    const command = ['serve', '--data', server.dataDir];
    command.push('--http', process.env.THRONG_TEST_HTTP ?? '127.0.0.1:0');
    command.push('--udp', process.env.THRONG_TEST_UDP ?? '127.0.0.1:0');
    command.push('--admin', process.env.THRONG_TEST_ADMIN ?? '127.0.0.1:0');
    command.push('--config', resolve(ROOT, 'tests/clients', config));
    if (openRegistration) command.push('--open-registration');
    server.#command = [...WITH_PARENT, binaryPath(), ...command, ...args];
    await server.#spawn(log);
    return server;
  }

  async #spawn(log) {
    const [program, ...words] = this.#command;
    this.#child = spawn(program, words, { stdio: ['ignore', log, log] });
    this.#exited = new Promise((done) => {
      this.#child.once('exit', (code, signal) => done({ code, signal }));
      this.#child.once('error', (error) => done({ error }));
    });
    this.run = await this.#readRunJson();
  }

  /** SIGKILL; resolves once the process is gone. */
  async kill() {
    this.signal('SIGKILL');
    await this.#exited;
  }

  /** Starts the server again on the same data, once it has ended. */
  async restart() {
    await this.#exited;
    await this.#spawn(openSync(this.logPath, 'a'));
  }

  get pid() {
    return this.#child.pid;
  }

  get loginUri() {
    return this.run.login_uri;
  }

  /** Address strings of the UDP pool as `{host, port}`. */
  get udp() {
    return this.run.udp.map(parseAddress);
  }

  /** Resident memory in bytes, as the kernel counts it now. */
  residentBytes() {
    const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'));
    return Number(kib[1]) * 1024;
  }

  signal(name) {
    process.kill(this.pid, name);
  }

  /** Runs another `throng` command against this server's data directory and returns its standard output. */
  async command(...args) {
    const child = spawn(binaryPath(), [...args, '--data', this.dataDir], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (bytes) => (output += bytes));
    child.stderr.on('data', (bytes) => (output += bytes));
    const code = await new Promise((done, fail) => child.once('close', done).once('error', fail));
    if (code !== 0) throw new Error(`throng ${args.join(' ')} exited with ${code}: ${output.trim()}`);
    return output;
  }

  /** SIGTERM, which drains; an exit code other than 0 or a process that stays is an error. */
  async stop() {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), STOP_DEADLINE_MS);
    const { code, signal } = await this.#exited;
    clearTimeout(timer);
    if (code !== 0) throw new Error(`server ended with code ${code}, signal ${signal}\n${this.tail()}`);
  }

  /** Last lines of the server's own log. */
  tail(lines = 40) {
    return readFileSync(this.logPath, 'utf8').split('\n').slice(-lines).join('\n');
  }

  removeData() {
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** Watches the data directory until run.json is complete; the server's early death ends the wait at once. */
  async #readRunJson() {
    const path = join(this.dataDir, 'run.json');
    let watcher, timer;
    const written = new Promise((done, fail) => {
      const look = () => {
        const run = parseJsonOrNull(path);
        if (run?.pid === this.pid) done(run);
      };
      timer = setTimeout(() => fail(new Error('server wrote no run.json in time')), START_DEADLINE_MS);
      watcher = watch(this.dataDir, look);
      look();
    });
    const died = this.#exited.then(({ code, signal, error }) => {
      throw error ?? new Error(`server ended at start with code ${code}, signal ${signal}`);
    });
    try {
      return await Promise.race([written, died]);
    } catch (error) {
      if (this.#child.exitCode === null && this.#child.pid) this.signal('SIGKILL');
      throw new Error(`${error.message}\n${this.tail()}`);
    } finally {
      watcher.close();
      clearTimeout(timer);
    }
  }
}

/** `127.0.0.1:9000` → `{host, port}`. */
export function parseAddress(text) {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
}

/** A file that is not there yet, or half written, is simply not there yet. */
function parseJsonOrNull(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
