// Who gets in, and who has to go: second logins, crashed clients, wrong passwords, bans, start places.
//
//   node duplicate-login.mjs [--report FILE]

import { Client, mapDistance } from './client.mjs';
import { assert, main, Skip } from './harness.mjs';
import { until } from './wait.mjs';

await main(async ({ server, loginUri, step, api }) => {
  if (!server) throw new Skip('it needs a server of its own to ban users on');
  const { regions } = await (await api('/api/info')).json();
  const person = (first, more = {}) => new Client({ loginUri, first, ...more });
  const witness = await person('Witness').enter();

  await step('a second login ends the first session and enters', async () => {
    const first = await person('Double').enter();
    await until('the witness sees the first', () => witness.sees(first.id));
    const second = await person('Double').enter();
    assert(second.id === first.id, 'the same name got another agent id');
    await first.ended();
    assert(!first.disconnected.requested, 'the first session counts as logged out by itself');
    assert(first.disconnected.message.length > 0, 'the kick gave no reason');
    await until('exactly one avatar is left, the second', () => witness.sees(second.id)?.localId === second.sees().localId);
    await second.say('ich bin die Zweite');
    await until('the second is heard', () => witness.heard('ich bin die Zweite', second.id));
    await second.leave();
  });

  await step('the owner of a crashed client enters at once', async () => {
    const crashed = await person('Crasher').enter();
    await until('the witness sees it', () => witness.sees(crashed.id));
    const stood = { x: 61, y: 173 };
    await crashed.teleport(await crashed.regionHandle(crashed.regionName), stood.x, stood.y);
    await until('it stands elsewhere', () => mapDistance(witness.sees(crashed.id).position, stood) < 2);
    crashed.crash();
    const again = await person('Crasher').enter();
    const there = again.sees().position;
    assert(mapDistance(there, stood) < 2, `it came back at ${there.x}, ${there.y}`);
    await until('one avatar, the new one', () => witness.sees(again.id)?.localId === again.sees().localId);
    await again.leave();
    await until('it vanishes at logout', () => !witness.sees(again.id));
  });

  await step('a wrong password is refused with reason "key"', async () => {
    const refusal = await refused(person('Witness', { password: 'wrong' }));
    assert(refusal.reason === 'key', `reason was ${refusal.reason}`);
    assert(!witness.disconnected, 'a refused login ended the session of the right owner');
  });

  await step('a banned user is refused, with a reason', async () => {
    const banned = await person('Banned').enter();
    await banned.leave();
    await server.command('user', 'ban', banned.name);
    const refusal = await refused(person('Banned'));
    assert(/ban/i.test(refusal.message), `message was "${refusal.message}"`);
  });

  await step('start "uri:" and "last" lead where they should', async () => {
    const [, second] = regions;
    const traveller = await person('Starter', { start: `uri:${second.name}&90&80&40` }).enter();
    assert(traveller.regionName === second.name, `uri: led to ${traveller.regionName}`);
    await traveller.leave();
    const back = await person('Starter', { start: 'last' }).enter();
    assert(back.regionName === second.name, `last led to ${back.regionName}`);
    const { x, y } = back.sees().position;
    assert(Math.hypot(x - 90, y - 80) < 5, `last led to ${x}, ${y}`);
    await back.leave();
  });

  await witness.leave();
});

/** The LoginError of a login that must fail. */
async function refused(client) {
  const outcome = await client.login().catch((error) => error);
  assert(outcome instanceof Error, `${client.name} was let in`);
  assert(outcome.reason, `no LoginError but ${outcome}`);
  assert(outcome.message.length > 0, 'the refusal has no message');
  return outcome;
}
