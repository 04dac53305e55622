// The pages against a real server with people in it: starts `throng serve`, lets bots walk, and looks at the public page and at the
// operator's page of worlds in headless Chromium (web/e2e has the checks).
//
//   node tests/page/page.mjs [--screenshot PATH]

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worlds } from '../clients/operator.mjs';
import { Server, binaryPath } from '../clients/server.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const BOTS = 8;
/** Longer than the browsers' own deadlines of 30 s, so that nobody leaves while they look. */
const BOTS_STAY = '150s';
/** Of the Cave, without its visitor. */
const NPCS = 14;

const screenshot = process.argv.includes('--screenshot') ? process.argv[process.argv.indexOf('--screenshot') + 1] : undefined;
const server = await Server.start({ config: '../page/worlds.toml' });
const bots = spawn(
  binaryPath(),
  ['bots', '--login', server.loginUri, '--count', `${BOTS}`, '--last-name', 'Guest', '--behavior', 'walk', '--duration', BOTS_STAY],
  { stdio: ['ignore', 'ignore', 'inherit'] },
);
try {
  await look('page.mjs', screenshot, ['--url', server.loginUri, '--expect-login-uri', server.loginUri, '--expect-avatars', `${BOTS}`]);
  await lookAtWorlds();
} finally {
  bots.kill('SIGTERM');
  await exit(bots);
  await server.stop();
  server.removeData();
}

/** The operator sees all instances, and opens the map of one that somebody is in; nobody else sees any. */
async function lookAtWorlds() {
  const api = new Worlds(server);
  for (const order of [{ template: 'Plain' }, { template: 'Cave', name: 'Cave of Ada' }, { template: 'Plain' }]) {
    assert.equal((await api.post('', order)).status, 201);
  }
  const { body: worlds } = await api.call('GET', '');
  const cave = worlds.find(({ name }) => name === 'Cave of Ada');
  const entered = await api.post(`/${cave.id}/enter`, { user: { name: 'Bot0001 Guest' } });
  assert.equal(entered.status, 200, JSON.stringify(entered.body));

  const operator = `http://${server.run.admin}/`;
  const token = (await server.command('token', 'create', '--name', 'page', '--scope', 'worlds:read')).trim();
  const expected = ['--expect-worlds', '3', '--world', 'Cave of Ada', '--expect-avatars', `${NPCS + 1}`];
  await look('worlds.mjs', screenshot?.replace(/\.png$/, '-worlds.png'), ['--url', operator, '--token', token, ...expected]);

  for (const path of ['worlds', 'worlds.html', 'v1/worlds', `v1/worlds/${cave.id}/map`]) {
    assert.equal((await fetch(server.loginUri + path)).status, 404, `${path} is not public`);
  }
  const told = await (await fetch(`${server.loginUri}api/info`)).text();
  assert.ok(!told.includes('Cave of Ada'), 'the public page is told of no instance');
  for (const path of ['worlds', `v1/worlds/${cave.id}/map`, `v1/worlds/${cave.id}/map/positions`]) {
    assert.equal((await fetch(operator + path)).status, 401, `${path} needs a token`);
  }
}

/** Runs a check of web/e2e. */
async function look(check, picture, args) {
  const shot = picture === undefined ? [] : ['--screenshot', picture];
  const browser = spawn('node', [join(ROOT, 'web/e2e', check), ...args, ...shot], { stdio: 'inherit' });
  assert.equal(await exit(browser), 0, `web/e2e/${check} is content`);
}

/** The exit code of a child; null when a signal ended it. */
function exit(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((done, fail) => child.once('exit', done).once('error', fail));
}
