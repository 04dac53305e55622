// The pages against a real server with bots in it: starts `throng serve`, lets bots walk, and looks at the public page and at the
// operator's page of worlds in headless Chromium, in the window of a phone and in that of a desk (web/e2e has the checks).
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
/** Longer than all browsers together take on a busy machine, so that no bot leaves while they look. */
const BOTS_STAY = '600s';
/** Of the Cave, without its visitor. */
const NPCS = 14;
/** Of the Harbour: its own, and the three parts of the arch over its portal. */
const BOXES = 43;
/** Windows, and the theme that each is tried with. */
const WINDOWS = [
  { width: 1440, height: 900, theme: 'light' },
  { width: 390, height: 844, theme: 'dark' },
];

/** Scopes of the token with which the operator's page is opened: all that it shows. */
const READING = 'worlds:read,regions.read,assets.read,inventory.read,archives,backup';

const screenshot = process.argv.includes('--screenshot') ? process.argv[process.argv.indexOf('--screenshot') + 1] : undefined;
const server = await Server.start({ config: '../page/worlds.toml' });
const bots = spawn(
  binaryPath(),
  ['bots', '--login', server.loginUri, '--count', `${BOTS}`, '--last-name', 'Guest', '--behavior', 'walk', '--duration', BOTS_STAY],
  { stdio: ['ignore', 'ignore', 'inherit'] },
);
try {
  const counts = ['--expect-avatars', `${BOTS}`, '--expect-boxes', `${BOXES}`, '--expect-portals', '1'];
  const links = ['--expect-login-uri', server.loginUri, '--expect-worlds-uri', `http://${server.run.admin}/worlds`];
  for (const window of WINDOWS) {
    await look('page.mjs', window, '', ['--url', server.loginUri, ...links, ...counts]);
  }
  await lookAtWorlds();
} finally {
  bots.kill('SIGTERM');
  await exit(bots);
  await server.stop();
  server.removeData();
}

/** The operator sees all instances, opens the map of one with a visitor in it, resumes one and ends one; the public page shows none. */
async function lookAtWorlds() {
  const api = new Worlds(server);
  const { agent } = await account('Bot0001 Guest');
  const make = async (order) => {
    const { status, body } = await api.post('', order);
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  };
  await make({ template: 'Plain' });
  const cave = await make({ template: 'Cave', name: 'Cave of Ada', owner: agent });
  const entered = await api.post(`/${cave.id}/enter`, { user: { name: 'Bot0001 Guest' } });
  assert.equal(entered.status, 200, JSON.stringify(entered.body));

  const operator = `http://${server.run.admin}/`;
  const token = async (name, scope) => (await server.command('token', 'create', '--name', name, '--scope', scope)).trim();
  const [reading, writing] = [await token('page', READING), await token('orders', 'worlds:write')];
  for (const window of WINDOWS) {
    const suspended = await make({ template: 'Plain', name: `Asleep at ${window.width}` });
    const saved = await api.post(`/${suspended.id}/suspend`);
    assert.equal(saved.status, 200, JSON.stringify(saved.body));
    const ended = await make({ template: 'Plain', name: `To be ended at ${window.width}` });
    const { body: worlds } = await api.call('GET', '');
    const expected = ['--expect-worlds', `${worlds.length}`, '--world', 'Cave of Ada', '--expect-avatars', `${NPCS + 1}`];
    const orders = ['--suspended', suspended.name, '--ended', ended.name, '--order-token', writing];
    const links = ['--public-uri', server.loginUri, '--expect-owner', 'Bot0001 Guest'];
    await look('worlds.mjs', window, '-worlds', ['--url', operator, '--token', reading, ...expected, ...orders, ...links]);
    const { body: left } = await api.call('GET', '');
    assert.ok(!left.some(({ id }) => id === ended.id), 'the page has ended it');
  }

  for (const path of ['worlds', 'worlds.html', 'v1/worlds', `v1/worlds/${cave.id}/map`]) {
    assert.equal((await fetch(server.loginUri + path)).status, 404, `${path} is not public`);
  }
  const told = await (await fetch(`${server.loginUri}api/info`)).text();
  assert.ok(!told.includes('Cave of Ada'), 'the public page is told of no instance');
  for (const path of ['worlds', `v1/worlds/${cave.id}/map`, `v1/worlds/${cave.id}/map/positions`]) {
    assert.equal((await fetch(operator + path)).status, 401, `${path} needs a token`);
  }
}

/** The account of a user. */
async function account(name) {
  const accounts = await server.command('user', 'list');
  const [agent] = accounts.split('\n').find((line) => line.endsWith(`  ${name}`)).split(' ');
  return { agent };
}

/** Runs a check of web/e2e in a window. */
async function look(check, { width, height, theme }, suffix, args) {
  const window = ['--width', `${width}`, '--height', `${height}`, '--theme', theme];
  const picture = screenshot?.replace(/\.png$/, `${suffix}-${width}.png`);
  const shot = picture === undefined ? [] : ['--screenshot', picture];
  const browser = spawn('node', [join(ROOT, 'web/e2e', check), ...args, ...window, ...shot], { stdio: 'inherit' });
  assert.equal(await exit(browser), 0, `web/e2e/${check} is content at ${width} px`);
}

/** The exit code of a child; null when a signal ended it. */
function exit(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((done, fail) => child.once('exit', done).once('error', fail));
}
