// Every public call of node-metaverse and of hippolyzer that may wait ends because of the server's answer, well before the library gives
// up: in an empty region, and in an instance of examples/camp.
//
//   node sweep.mjs [--report FILE]
//
// The calls and their arguments are in calls.mjs, capabilities.mjs and sweep.py.

import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import nm from '@caspertech/node-metaverse';
import { CALLS, callIn, publicCalls, staticHolder, targets } from './calls.mjs';
import { callCapabilities } from './capabilities.mjs';
import { Client } from './client.mjs';
import { assert, log, main } from './harness.mjs';
import { installHippolyzer } from './hippolyzer.mjs';
import { Worlds } from './operator.mjs';
import { Server } from './server.mjs';
import { pulse, until } from './wait.mjs';

const { PCode, UUID, Utils } = nm;
const HERE = dirname(fileURLToPath(import.meta.url));
/** node-metaverse gives up after 10 s at the soonest. That answers take less than a second is tested on virtual time, in crate `gateway`. */
const DEADLINE_MS = 9_000;
/** The library's longest timer is 30 s. */
const OWN_TIMER_MS = 35_000;
/** Teleports replace or disturb the circuit that the others use. */
const LAST = /^TeleportCommands\./;
/** Calls that end by the library's timer alone come first: the others are made meanwhile. */
const rank = (name, call) => (LAST.test(name) ? 2 : call.endsLater ? 0 : 1);

await main(
  async ({ server, step }) => {
    const python = await step('hippolyzer is installed', installHippolyzer);
    await step('all calls are in the table', checkTable);
    await sweep(server, 'empty', undefined, python, step);
    const camp = await Server.start({ config: '../../examples/camp/throng.toml' });
    try {
      await sweep(camp, 'camp', 'Camp', python, step);
    } finally {
      await camp.stop();
    }
    camp.removeData();
  },
  { server: { config: 'sweep.toml' }, noisy: true },
);

async function sweep(server, world, template, python, step) {
  await step(`${world}: every call of node-metaverse ends, and every capability answers`, () => sweepNodeMetaverse(server, world, template));
  await step(`${world}: every call of hippolyzer ends`, () => sweepHippolyzer(server, template, python));
}

function checkTable() {
  const calls = publicCalls();
  const missing = calls.filter((name) => !CALLS[name]);
  assert(missing.length === 0, `not in the table: ${missing.join(', ')}`);
  const gone = Object.keys(CALLS).filter((name) => !calls.includes(name));
  assert(gone.length === 0, `in the table, and not in the library: ${gone.join(', ')}`);
}

async function sweepNodeMetaverse(server, world, template) {
  const client = new Client({ loginUri: server.loginUri, first: 'Sweep' });
  await client.enter();
  if (template) await enter(server, template, client);
  const received = listen(client.bot);
  const given = await gather(client, world);
  const target = targets(client.bot, given);
  const failures = [];
  const later = [];
  const rows = publicCalls().map((name) => [name, callIn(name, template !== undefined)]);
  rows.sort((a, b) => rank(...a) - rank(...b));
  for (const [name, call] of rows) {
    if (call.skipped) {
      log('call', { name, skipped: call.skipped });
    } else if (call.needsObject && given.objects.length === 0) {
      log('call', { name, skipped: 'no object is here' });
    } else {
      const failure = await make(name, call, target, given, received, later);
      if (failure) failures.push(`${name}: ${failure}`);
    }
  }
  for (const { name, call, ended } of later) {
    const outcome = await Promise.race([ended, delay(OWN_TIMER_MS)]);
    log('call', { name, ended: outcome ?? 'late', because: call.why });
    if (outcome !== call.endsLater) failures.push(`${name}: ${outcome ?? 'late'} instead of ${call.endsLater}`);
  }
  await callCapabilities(given.capability('SimulatorFeatures').replace(/\/SimulatorFeatures$/, ''));
  log('sweep', { world, library: 'node-metaverse', calls: rows.length, failures: failures.length });
  assert(failures.length === 0, failures.join('\n'));
  await client.leave();
}

/** Makes one call; says what is wrong with its end, if anything. Those that end later are added to `later`. */
async function make(name, call, target, given, received, later) {
  const [className, method] = name.split('.');
  const holder = staticHolder(className, method) ?? target[className];
  if (call.unencodable) return failsToEncode(given.region.circuit, () => holder[method](...call.args(given)));
  received.length = 0;
  const from = performance.now();
  const correction = call.corrected && correct(given.region.circuit, call.corrected);
  const ended = (async () => holder[method](...call.args(given)))().then(
    () => 'ok',
    (error) => `error: ${String(error?.message ?? error).split('\n')[0]}`,
  );
  const ms = () => Math.round(performance.now() - from);
  if (call.answer) {
    const isAnswered = () => received.some((what) => matches(what, call.answer));
    await until(name, isAnswered, { deadlineMs: DEADLINE_MS }).catch(() => undefined);
    if (!isAnswered()) return `no ${call.answer} within ${DEADLINE_MS} ms, but ${received.join(', ')}`;
  }
  if (call.endsLater) {
    log('call', { name, ms: ms(), answered: true });
    later.push({ name, call, ended });
    return undefined;
  }
  // It ends in an outcome of its own, which has a row in the table.
  call.act?.(given).catch(() => undefined);
  const outcome = await Promise.race([ended, delay(DEADLINE_MS)]);
  log('call', { name, ms: ms(), outcome: outcome ?? 'late' });
  if (correction && !correction.undo()) return 'it needs no correction: take it out of the table';
  if (outcome === undefined) return `has not ended within ${DEADLINE_MS} ms, having got ${received.join(', ')}`;
  return call.ends && outcome !== call.ends ? `${outcome} instead of ${call.ends}` : undefined;
}

function delay(ms) {
  return new Promise((late) => setTimeout(late, ms));
}

/** Has a circuit wait for another message than it is asked to, until `undo`, which states whether it was asked to. */
function correct(circuit, { from, to }) {
  let isUsed = false;
  circuit.waitForMessage = (id, ...rest) => {
    isUsed ||= id === from;
    return Object.getPrototypeOf(circuit).waitForMessage.call(circuit, id === from ? to : id, ...rest);
  };
  return {
    undo: () => {
      delete circuit.waitForMessage;
      return isUsed;
    },
  };
}

/** Keeps the message of a call from being sent, and says so if it could have been. */
async function failsToEncode(circuit, call) {
  const messages = [];
  circuit.sendMessage = (message) => messages.push(message);
  try {
    // The call goes on to wait for an ack, which it gives up after 10 s.
    call().catch(() => undefined);
    await until('the call sends a message', () => messages.length > 0, { deadlineMs: DEADLINE_MS });
  } finally {
    delete circuit.sendMessage;
  }
  try {
    messages[0].writeToBuffer(Buffer.alloc(2_000), 0);
  } catch {
    return undefined;
  }
  return 'its message can be encoded: let it be sent';
}

function matches(what, answer) {
  return typeof answer === 'string' ? what === answer : answer.test(what);
}

/** The names of messages that arrive, and the texts of alerts. */
function listen(bot) {
  const received = [];
  bot.currentRegion.circuit.onPacketReceived.subscribe(({ message }) => {
    received.push(message.name);
    if (message.name === 'AlertMessage') received.push(Utils.BufferToStringSimple(message.AlertData.Message));
    pulse();
  });
  return received;
}

/** Arguments that the calls choose from. In an empty region the own avatar stands for an object. */
async function gather(client, world) {
  const { bot } = client;
  const region = bot.currentRegion;
  const avatar = bot.clientCommands.agent.getAvatar();
  const own = bot.clientCommands.agent.getGameObject();
  const things = () => [...region.objects.objects.values()].filter((thing) => thing.PCode === PCode.Prim);
  if (world !== 'empty') await until('the camp is shown', () => things().length > 10);
  const objects = things().slice(0, 5);
  const object = objects[0] ?? own;
  const root = region.agent.inventory.getRootFolderMain();
  const outfit = await region.agent.getWearables();
  const item = await region.agent.inventory.fetchInventoryItem(outfit.items[0].itemID);
  const folder = root.getChildFolders()[0] ?? root;
  const parcel = (await region.getParcelProperties(128, 128)).ParcelID;
  if (objects.length > 0) await bot.clientCommands.region.resolveObjects(objects, {});
  return {
    self: client.id,
    name: client.name,
    avatar,
    object,
    objects,
    item,
    folder,
    region,
    parcel: parcel instanceof UUID ? parcel : new UUID(parcel),
    regionName: region.regionName,
    handle: region.regionHandle,
    capability: (name) => region.caps.capabilities[name],
  };
}

/** Sends a user into an instance made for it. */
async function enter(server, template, client) {
  const worlds = new Worlds(server);
  const made = await worlds.post('', { template, name: `${template} of ${client.name}` });
  const entered = await worlds.post(`/${made.body.id}/enter`, { user: { name: client.name } });
  assert(entered.status === 200, JSON.stringify(entered.body));
  await until(`${client.name} is in ${template}`, () => client.sees() && client.things().length > 10);
}

async function sweepHippolyzer(server, template, python) {
  const { admin } = server.run;
  const command = [join(HERE, 'sweep.py'), '--login', server.loginUri];
  if (template) command.push('--template', template, '--admin', `http://${admin}`, '--data', server.dataDir);
  const child = spawn(python, command, { stdio: 'inherit' });
  const code = await new Promise((done, fail) => child.once('exit', done).once('error', fail));
  assert(code === 0, `sweep.py exited with ${code}`);
}
