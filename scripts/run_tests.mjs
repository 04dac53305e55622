/**
 * Runs the test binaries of the workspace in two lanes side by side.
 *
 *   cargo test --no-run --message-format=json | node scripts/run_tests.mjs
 *
 * Those of package `throng` run in a lane of their own: they start servers and wait for clients and clocks, while those of the other packages compute. A binary
 * runs as under `cargo test`: without arguments, in the folder of its package. Its output comes as a whole when it has ended. Exit status 1 when a
 * binary has failed, when there is none, or when cargo has reported no success.
 */

import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';

const WAITING_PACKAGE = 'throng';

/** @typedef {{ name: string, program: string, folder: string }} Binary */

/**
 * @param {AsyncIterable<string>} lines of cargo's messages
 * @returns {Promise<{ lanes: Binary[][], built: boolean }>}
 */
async function lanesOf(lines) {
  const lanes = [[], []];
  let built = false;
  for await (const line of lines) {
    const message = JSON.parse(line);
    if (message.reason === 'compiler-message') process.stdout.write(message.message.rendered ?? '');
    if (message.reason === 'build-finished') built = message.success;
    if (message.reason !== 'compiler-artifact' || !message.profile.test || !message.executable) continue;
    const folder = dirname(message.manifest_path);
    const crate = folder.slice(folder.lastIndexOf('/') + 1);
    const binary = { name: `${crate}, ${message.target.kind[0]} ${message.target.name}`, program: message.executable, folder };
    lanes[crate === WAITING_PACKAGE ? 0 : 1].push(binary);
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
    const child = spawn(program, [], { cwd: folder, env: { ...process.env, CARGO_MANIFEST_DIR: folder }, stdio: ['ignore', 'pipe', 'pipe'] });
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
