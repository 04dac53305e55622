// Bad input over the real sockets, while a node-metaverse client stays connected and notices nothing.
//
//   node hostile.mjs [--report FILE]
//
// A datagram that belongs to no circuit gets no answer at all; a bad request gets a 4xx. What is sent is bounded, goes
// to the server under test only, and is drawn from a fixed seed.

import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { Client } from './client.mjs';
import { assert, main, Skip } from './harness.mjs';
import { staysTrue, until, within } from './wait.mjs';

const GARBAGE_DATAGRAMS = 4_000;
const PEERS = 40;
const DATAGRAM_MAX = 2_000;
const REPLY_DEADLINE_MS = 10_000;
const QUIET_MS = 500;
const MEMORY_GROWTH_MAX = 64 * 1024 * 1024;

const RELIABLE = 0x40;
const ZERO_CODED = 0x80;
const ACKS = 0x10;

await main(async ({ server, loginUri, step, log }) => {
  if (!server) throw new Skip('it needs a server of its own to measure');
  const guest = await new Client({ loginUri, first: 'Guest' }).enter();
  const friend = await new Client({ loginUri, first: 'Friend' }).enter();
  const memoryBefore = server.residentBytes();
  const random = generator(20261121);
  const peers = await Promise.all(Array.from({ length: PEERS }, openPeer));

  const unaffected = async (after) => {
    await guest.say(after);
    await until('chat is heard', () => friend.heard(after, guest.id) && guest.heard(after, guest.id));
    await staysTrue('no datagram came back to peers without a circuit', () => peers.every((peer) => peer.replies === 0), QUIET_MS);
    assert(!guest.disconnected && !friend.disconnected, 'a session was lost');
  };

  await step('random and truncated datagrams get no reply', async () => {
    for (let n = 0; n < GARBAGE_DATAGRAMS; n++) {
      await peers[n % PEERS].send(garbage(random, n), pick(server.udp, random));
    }
    await unaffected('after garbage');
  });

  await step('UseCircuitCode that matches no ticket gets no reply', async () => {
    const { circuitCode, sessionID } = guest.circuit;
    const tickets = [
      [circuitCode ^ 1, sessionID.toString(), guest.id],
      [circuitCode, uuidOf(random), guest.id],
      [circuitCode, sessionID.toString(), uuidOf(random)],
      [circuitCode, sessionID.toString(), friend.id],
      [0, '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000'],
    ];
    for (const address of server.udp) {
      for (const ticket of tickets) await peers[0].send(useCircuitCode(...ticket), address);
    }
    const elsewhere = server.udp.filter((address) => address.port !== guest.circuit.port);
    for (const address of elsewhere) {
      await peers[1].send(useCircuitCode(circuitCode, sessionID.toString(), guest.id), address);
    }
    await unaffected('after wrong circuit codes');
  });

  await step('a stranger cannot speak on the circuit of another', async () => {
    const home = { host: '127.0.0.1', port: guest.circuit.port };
    await peers[2].send(logoutRequest(guest.id, guest.circuit.sessionID.toString()), home);
    await unaffected('after a forged logout');
  });

  await step('an altered or guessed capability is 404', async () => {
    const seed = await guest.region.caps.getCapability('EventQueueGet');
    // One digit of the secret, which is the first thing behind /cap/.
    const flipped = seed.replace(/(?<=\/cap\/)[0-9a-f]/, (digit) => (digit === '0' ? '1' : '0'));
    assert(flipped !== seed, 'no digit to alter');
    for (const url of [altered(seed), flipped, new URL(`/cap/${uuidOf(random)}`, loginUri).href]) {
      const { status } = await post(url, '<llsd><map/></llsd>');
      assert(status === 404, `${url} answered ${status}`);
    }
    await unaffected('after guessed capabilities');
  });

  await step('malformed XML-RPC is refused', async () => {
    for (const [name, body] of Object.entries(badXmlRpc())) {
      const { status, text } = await post(loginUri, body, 'text/xml');
      const refusal = (status >= 400 && status < 500) || /<fault>|<string>false<\/string>/.test(text);
      assert(refusal, `${name}: ${status} ${text.slice(0, 120)}`);
    }
    await unaffected('after bad logins');
  });

  await step('malformed LLSD is refused', async () => {
    const url = await guest.region.caps.getCapability('FetchInventoryDescendents2');
    for (const [name, body] of Object.entries(badLlsd())) {
      const { status } = await post(url, body);
      assert(status >= 400 && status < 500, `${name}: ${status}`);
    }
    await unaffected('after bad LLSD');
  });

  await step('unfinished requests block nobody', async () => {
    const { hostname, port } = new URL(loginUri);
    const sockets = Array.from({ length: PEERS }, () => connect(Number(port), hostname));
    for (const socket of sockets) {
      socket.on('error', () => {});
      socket.write('POST / HTTP/1.1\r\nHost: throng\r\nContent-Length: 100000\r\n\r\n<?xml');
    }
    const late = await new Client({ loginUri, first: 'Late' }).enter();
    await late.leave();
    for (const socket of sockets) socket.destroy();
    await unaffected('after unfinished requests');
  });

  await step('pings are still answered and memory stayed bounded', async () => {
    const pings = guest.pings.length;
    await until('a ping is answered', () => guest.pings.length > pings);
    const grown = server.residentBytes() - memoryBefore;
    log('memory', { grown_bytes: grown });
    assert(grown < MEMORY_GROWTH_MAX, `resident memory grew by ${grown} bytes`);
  });

  for (const peer of peers) peer.close();
  await Promise.all([guest.leave(), friend.leave()]);
});

/** A socket that counts what comes back. */
async function openPeer() {
  const socket = createSocket('udp4');
  const peer = { replies: 0, close: () => socket.close() };
  socket.on('message', () => (peer.replies += 1));
  await new Promise((done) => socket.bind(0, '127.0.0.1', done));
  peer.send = (bytes, { host, port }) => new Promise((done) => socket.send(bytes, port, host, done));
  return peer;
}

/** Five kinds in turn: noise, a short header, a valid header before noise, a zero-code bomb, lying ack counts. */
function garbage(random, n) {
  const noise = bytes(random, Math.floor(random() * DATAGRAM_MAX));
  switch (n % 5) {
    case 0:
      return noise;
    case 1:
      return noise.subarray(0, n % 7);
    case 2:
      return Buffer.concat([header(RELIABLE, n), noise]);
    case 3:
      return Buffer.concat([header(ZERO_CODED | RELIABLE, n), Buffer.alloc(1_000, Buffer.from([0, 255]))]);
    default:
      return Buffer.concat([header(ACKS, n), noise.subarray(0, 12), Buffer.from([255])]);
  }
}

function header(flags, sequence) {
  const head = Buffer.alloc(6);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(sequence, 1);
  return head;
}

/** UseCircuitCode is Low 3: code, session, agent. */
function useCircuitCode(code, sessionId, agentId) {
  const body = Buffer.alloc(8);
  body.writeUInt32BE(0xffff0003, 0);
  body.writeUInt32LE(code >>> 0, 4);
  return Buffer.concat([header(RELIABLE, 0), body, uuidBytes(sessionId), uuidBytes(agentId)]);
}

/** LogoutRequest is Low 252: agent, session. */
function logoutRequest(agentId, sessionId) {
  const number = Buffer.alloc(4);
  number.writeUInt32BE(0xffff00fc);
  return Buffer.concat([header(RELIABLE, 77), number, uuidBytes(agentId), uuidBytes(sessionId)]);
}

function badXmlRpc() {
  const call = (value) =>
    `<?xml version="1.0"?><methodCall><methodName>login_to_simulator</methodName><params><param><value>${value}</value></param></params></methodCall>`;
  return {
    empty: '',
    'not XML': '\u0000\u0001 login please',
    'cut off': call('<struct><member>').slice(0, -60),
    'wrong type': call('<array><data><value><i4>7</i4></value></data></array>'),
    'missing fields': call('<struct></struct>'),
    'deep nesting': call('<array><data><value>'.repeat(20_000)),
    'entity bomb': entityBomb('methodCall'),
    'too large': call(`<string>${'x'.repeat(20 * 1024 * 1024)}</string>`),
  };
}

function badLlsd() {
  return {
    empty: '',
    'not XML': '\u0000\u0001',
    'cut off': '<llsd><map><key>folders</key><array>',
    'wrong type': '<llsd><array><integer>7</integer></array></llsd>',
    'deep nesting': `<llsd>${'<array>'.repeat(50_000)}`,
    'entity bomb': entityBomb('llsd'),
    'too large': `<llsd><string>${'x'.repeat(20 * 1024 * 1024)}</string></llsd>`,
  };
}

function entityBomb(root) {
  const levels = Array.from({ length: 9 }, (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`).join('');
  return `<?xml version="1.0"?><!DOCTYPE ${root} [<!ENTITY l0 "lol">${levels}]><${root}>&l9;</${root}>`;
}

/** Status and text; a connection that the server cuts while the body is still being sent counts as refused (413). */
async function post(url, body, type = 'application/llsd+xml') {
  const request = fetch(url, { method: 'POST', body, headers: { 'content-type': type } });
  try {
    const response = await within(`POST ${url}`, request, REPLY_DEADLINE_MS);
    return { status: response.status, text: await response.text() };
  } catch (error) {
    const code = error.cause?.code;
    if (['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(code)) return { status: 413, text: '' };
    throw error;
  }
}

/** The same capability with the last hexadecimal digit of its secret changed. */
function altered(url) {
  return url.replace(/([0-9a-f])([^0-9a-f]*[^/]*)$/i, (_, digit, rest) => (digit === 'f' ? 'e' : 'f') + rest);
}

function uuidBytes(text) {
  return Buffer.from(text.replaceAll('-', ''), 'hex');
}

function uuidOf(random) {
  return bytes(random, 16).toString('hex').replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
}

function bytes(random, length) {
  return Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
}

function pick(list, random) {
  return list[Math.floor(random() * list.length)];
}

/** mulberry32: numbers in [0, 1) that are the same in every run. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
