// The server freezes for half a minute (SIGSTOP, SIGCONT) and nobody is lost: all still get pings and updates, and talk.
//
//   node sigstop.mjs [--clients N] [--report FILE]

import { setTimeout as sleep } from 'node:timers/promises';
import { ChatType, Client, ControlFlags, mapDistance } from './client.mjs';
import { assert, main, Skip } from './harness.mjs';
import { until } from './wait.mjs';

const FROZEN_MS = 30_000;
const WALK_M = 3;

await main(async ({ clients: count, server, loginUri, step }) => {
  if (!server) throw new Skip('it needs a server of its own to freeze');
  const clients = Array.from({ length: count }, (_, n) => new Client({ loginUri, first: `Frozen${n}` }));
  const [speaker, walker] = clients;

  await step('all enter and see each other', async () => {
    await Promise.all(clients.map((client) => client.enter()));
    await until('all avatars shown', () => clients.every((c) => clients.every((other) => c.sees(other.id))));
  });

  await step('the server is frozen for 30 s', async () => {
    server.signal('SIGSTOP');
    try {
      await sleep(FROZEN_MS);
    } finally {
      server.signal('SIGCONT');
    }
  });

  await step('every client gets an answer to a ping sent after that', async () => {
    // Pings of the frozen time are answered in a bunch first; a fresh one has a round trip far below the pause.
    const fresh = (client) => client.pings.at(-1) < FROZEN_MS / 10 && client.pings.length > client.pingsBefore;
    for (const client of clients) client.pingsBefore = client.pings.length;
    await until('fresh pings', () => clients.every(fresh), {
      describe: () => clients.map((client) => client.pings.at(-1)).join(' '),
    });
  });

  await step('chat works', async () => {
    await speaker.say('noch da?');
    await until('all hear it', () => clients.every((client) => client.heard('noch da?', speaker.id)));
    assert(speaker.heard('noch da?').chatType === ChatType.Normal, 'chat type changed');
  });

  await step('movement is seen', async () => {
    const from = walker.sees().position;
    walker.hold(ControlFlags.AGENT_CONTROL_AT_POS);
    await until('the walk is seen', () => clients.every((c) => mapDistance(c.sees(walker.id).position, from) > WALK_M));
    walker.release();
  });

  await step('nobody was lost and all log out', async () => {
    for (const client of clients) assert(!client.disconnected, `${client.name} lost its session`);
    await Promise.all(clients.map((client) => client.leave()));
  });
});
