// What every scenario shares: command line, server, steps with times, a log, and the verdict.
//
// A scenario is green when all its steps resolve, the server drains with exit code 0, node-metaverse printed no
// complaint, and no promise was left to reject unhandled. Everything is logged as one `key=value` line per event.
// A scenario that lacks a tool throws `Skip`: it is named, ends with exit code 77, and CI counts it as a failure.

import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { Server } from './server.mjs';

const { Logger } = createRequire(import.meta.url)('@caspertech/node-metaverse/dist/lib/classes/Logger.js');

const SKIPPED = 77;

const started = performance.now();
const faults = [];
let deaf = false;

/** Thrown by a scenario that cannot run here; the message names what is missing. */
export class Skip extends Error {}

/**
 * Runs a scenario and ends the process: exit code 0 green, 1 red, 77 skipped.
 * @param {(context: {server?: Server, loginUri: string, clients: number, bots: number, step: Function, log: Function, api: Function}) => Promise<void>} scenario
 * @param {{server?: object, crowded?: boolean, noisy?: boolean}} [options] `server` goes to Server.start; `crowded`: more than dots are
 *   shown; `noisy`: what node-metaverse complains of is no fault, since it is made to do what the server refuses
 */
export async function main(scenario, { server: serverOptions, crowded = false, noisy = false } = {}) {
  const { values } = parseArgs({
    options: {
      clients: { type: 'string', default: '10' },
      bots: { type: 'string', default: '1000' },
      login: { type: 'string' },
      report: { type: 'string' },
    },
  });
  const name = basename(process.argv[1], '.mjs');
  const steps = [];
  let server, skipped;
  listenForFaults(crowded, noisy);
  try {
    if (!values.login) server = await Server.start(serverOptions);
    const loginUri = values.login ?? server.loginUri;
    log('start', { scenario: name, login: loginUri, data: server?.dataDir });
    await scenario({
      server,
      loginUri,
      log,
      clients: Number(values.clients),
      bots: Number(values.bots),
      step: (what, action) => step(steps, what, action),
      api: (path) => api(loginUri, path),
    });
  } catch (error) {
    if (error instanceof Skip) skipped = error.message;
    else faults.push(error);
    // Clients of a scenario that ended early lose their server now; what they say to that is no finding.
    deaf = true;
  }
  await server?.stop().catch((error) => faults.push(error));
  for (const fault of faults) log('fault', { message: fault.stack ?? fault });
  if (faults.length > 0 && server) log('server-log', { path: server.logPath, tail: server.tail() });
  if (faults.length === 0) server?.removeData();
  const outcome = faults.length > 0 ? 'fail' : skipped ? 'skip' : 'pass';
  const verdict = { scenario: name, outcome, skipped, seconds: seconds(), steps, faults: faults.map(String) };
  if (values.report) writeFileSync(values.report, `${JSON.stringify(verdict, null, 2)}\n`);
  log(outcome, { scenario: name, steps: steps.length, ...(skipped && { because: skipped }) });
  process.exit({ pass: 0, fail: 1, skip: SKIPPED }[outcome]);
}

/** One line on standard output: seconds since the start, the event, and its fields. */
export function log(event, fields = {}) {
  const words = Object.entries(fields).map(([key, value]) => `${key}=${plain(value)}`);
  process.stdout.write(`${seconds().toFixed(3).padStart(8)} ${event} ${words.join(' ')}\n`);
}

export function assert(condition, message) {
  if (!condition) throw new Error(message);
}

async function step(steps, what, action) {
  const from = performance.now();
  const entry = { step: what, ok: false, ms: 0 };
  steps.push(entry);
  try {
    const result = await action();
    entry.ok = true;
    return result;
  } finally {
    entry.ms = Math.round(performance.now() - from);
    log('step', entry);
  }
}

async function api(loginUri, path) {
  const response = await fetch(new URL(path, loginUri));
  assert(response.ok, `GET ${path}: ${response.status}`);
  return response;
}

/**
 * While node-metaverse arrives in a region it books avatars that it is shown under the region it left; an update that comes
 * again, because its ack was lost, then finds them missing. The next list of dots heals it. Only seen with datagrams lost.
 *
 * It also strikes avatars off its list of people whom the dots of the map do not name, and complains of their next movements,
 * which it shows all the same. A datagram holds 60 dots, and a client is shown 200 avatars, so in a crowd it complains all the time.
 */
const MISPLACED_AVATAR = 'Received update for unknown avatar';

/** node-metaverse reports protocol errors on the console only; here each of them is a fault. */
function listenForFaults(crowded, noisy) {
  const fault = (kind, text) => deaf || faults.push(new Error(`${kind}: ${text}`));
  process.on('unhandledRejection', (error) => fault('unhandled rejection', plain(error)));
  process.on('uncaughtException', (error) => fault('uncaught exception', plain(error)));
  const complain = (...words) => {
    const text = words.map(plain).join(' ');
    if (noisy) return log('client', { says: text });
    if (text.startsWith(MISPLACED_AVATAR)) {
      if (crowded) return undefined;
      if (process.env.THRONG_TEST_LOSSY) return log('client', { says: text });
    }
    return fault('node-metaverse', text);
  };
  console.error = complain;
  console.warn = complain;
  console.log = (...words) => log('client', { says: words.map(plain).join(' ') });
  Logger.Log = (level, message) => (level === 'warn' || level === 'error' ? complain(message) : undefined);
}

function plain(value) {
  if (value instanceof Error) return value.stack;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function seconds() {
  return (performance.now() - started) / 1000;
}
