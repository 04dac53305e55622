// The page against a real server with people in it: starts `throng serve`, lets bots walk, and looks at the page in
// headless Chromium (web/e2e/page.mjs has the checks).
//
//   node tests/page/page.mjs [--screenshot PATH]

import { spawn } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Server, binaryPath } from '../clients/server.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const BOTS = 8;
/** Longer than the browser's own deadline of 30 s, so that nobody leaves while it looks. */
const BOTS_STAY = '60s';

const server = await Server.start();
const bots = spawn(
  binaryPath(),
  ['bots', '--login', server.loginUri, '--count', `${BOTS}`, '--behavior', 'walk', '--duration', BOTS_STAY],
  { stdio: ['ignore', 'ignore', 'inherit'] },
);
const browserArgs = ['--url', server.loginUri, '--expect-login-uri', server.loginUri, '--expect-avatars', `${BOTS}`];
try {
  const browser = spawn('node', [join(ROOT, 'web/e2e/page.mjs'), ...browserArgs, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  process.exitCode = (await exit(browser)) ?? 1;
} finally {
  bots.kill('SIGTERM');
  await exit(bots);
  await server.stop();
  server.removeData();
}

/** The exit code of a child; null when a signal ended it. */
function exit(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((done, fail) => child.once('exit', done).once('error', fail));
}
