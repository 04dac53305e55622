/**
 * Runs the test binaries of the workspace in lanes side by side.
 *
 *   cargo test --no-run --message-format=json | node scripts/run_tests.mjs [ARGUMENT…]
 *
 * Those of package `throng` start servers and wait for clients and clocks, while those of the other packages compute: each kind has a lane for its longest
 * binary and one for the others. A binary runs as under `cargo test`: in the folder of its package. Its output comes as a whole when it has ended. Arguments
 * are for all binaries; benchmarks, which know none, are left out then. Exit status 1 when a binary has failed, when there is none, or when cargo has
 * reported no success.
 */

import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';

/** Packages and their longest binaries, which have a lane each; all others share the last lane. */
const LANES = ['throng running_server', 'throng', 'sim sim'];

/** @type {string[]} */
const ARGUMENTS = process.argv.slice(2);

/** @typedef {{ name: string, program: string, folder: string }} Binary */

/**
 * @param {AsyncIterable<string>} lines of cargo's messages
 * @returns {Promise<{ lanes: Binary[][], built: boolean }>}
 */
async function lanesOf(lines) {
  // Those that arguments choose may share a server that one of them kills.
  const longest = ARGUMENTS.length > 0 ? [] : LANES;
  const lanes = [...longest, 'others'].map(() => []);
  let built = false;
  for await (const line of lines) {
    const message = JSON.parse(line);
    if (message.reason === 'compiler-message') process.stdout.write(message.message.rendered ?? '');
    if (message.reason === 'build-finished') built = message.success;
    if (message.reason !== 'compiler-artifact' || !message.profile.test || !message.executable) continue;
    const kind = message.target.kind[0];
    if (kind === 'bench' && ARGUMENTS.length > 0) continue;
    const folder = dirname(message.manifest_path);
    const crate = folder.slice(folder.lastIndexOf('/') + 1);
    const lane = longest.findIndex((name) => [crate, `${crate} ${message.target.name}`].includes(name));
    const binary = { name: `${crate}, ${kind} ${message.target.name}`, program: message.executable, folder };
    lanes.at(lane).push(binary);
  }
  return { lanes, built };
}

/**
 * @param {Binary} binary
 * @returns {Promise<boolean>} whether it passed
 */
function run({ name, program, folder }) {
  return new Promise((resolve) => {
    const began = Date.now();
    const chunks = [];
    const child = spawn(program, ARGUMENTS, { cwd: folder, env: { ...process.env, CARGO_MANIFEST_DIR: folder }, stdio: ['ignore', 'pipe', 'pipe'] });
    const end = (passed, how) => {
      process.stdout.write(`\n== ${name}: ${how}, ${((Date.now() - began) / 1000).toFixed(1)} s\n`);
      process.stdout.write(Buffer.concat(chunks));
      resolve(passed);
    };
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.on('error', (error) => end(false, error.message));
    child.on('close', (status, signal) => end(status === 0, signal ?? `exit status ${status}`));
  });
}

/**
 * @param {Binary[]} binaries run one after the other
 * @returns {Promise<string[]>} names of those that failed
 */
async function runLane(binaries) {
  const failed = [];
  for (const binary of binaries) {
    if (!(await run(binary))) failed.push(binary.name);
  }
  return failed;
}

const { lanes, built } = await lanesOf(createInterface({ input: process.stdin }));
const failed = built ? (await Promise.all(lanes.map(runLane))).flat() : [];
const count = lanes.flat().length;
console.log(`\n${count} test binaries, ${failed.length} failed${failed.length > 0 ? `: ${failed.join('; ')}` : ''}`);
process.exit(built && count > 0 && failed.length === 0 ? 0 : 1);
