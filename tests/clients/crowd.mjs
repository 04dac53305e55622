// Two people visit a crowd: a thousand bots walk about in the region, and node-metaverse shows the nearest of them truly.
//
//   node crowd.mjs [--bots N] [--login URI] [--report FILE]
//
// Both stand at one spot. What one is shown is held against what the other is shown, and in the end everybody against each other:
// once nobody walks, whoever is shown at two places is shown at the same one.

import { Bots } from './bots.mjs';
import { ChatType, Client, ControlFlags, distance, mapDistance } from './client.mjs';
import { assert, main } from './harness.mjs';
import { staysTrue, until } from './wait.mjs';

const LAST_NAME = 'Walker';
const SPOTS = [{ x: 126, y: 128 }, { x: 130, y: 128 }];
const VISIBLE = 200;
/** A newcomer may be told of a few only with the next turns. */
const VISIBLE_MIN = 195;
const NEAREST = 20;
const WALKED_M = 2;
const SAME_PLACE_M = 0.5;
const QUIET_MS = 2_000;
const WALK_M = 5;
/** Accounts are made at the first login, at some forty hashes a second. */
const ENTER_MS = 240_000;

await main(async ({ loginUri, bots: count, step, log }) => {
  const crowd = new Bots({ loginUri, count, lastName: LAST_NAME, behavior: 'walk' });
  try {
    await step(`${count} bots enter and walk about`, async () => {
      const { logins_ok } = await crowd.command(`enter ${count}`, ENTER_MS);
      assert(logins_ok === count, `${logins_ok} of ${count} bots are in`);
    });
    const [ada, ben] = ['Ada', 'Ben'].map((first) => new Client({ loginUri, first }));
    const both = [ada, ben];

    await step('two visitors come, see each other and as many of the crowd as may be', async () => {
      await Promise.all(both.map((client) => client.enter()));
      const handle = await ada.regionHandle(ada.regionName);
      await Promise.all(both.map((client, n) => client.teleport(handle, SPOTS[n].x, SPOTS[n].y)));
      await Promise.all(both.map((client) => client.lands()));
      const wanted = Math.min(VISIBLE_MIN, count);
      await until('the crowd is shown', () => ada.sees(ben.id) && ben.sees(ada.id) && both.every((c) => c.avatars().length >= wanted), {
        describe: () => both.map((c) => `${c.name} sees ${c.avatars().length}`).join(', '),
      });
      log('visible', { ada: ada.avatars().length, ben: ben.avatars().length });
      assert(both.every((client) => client.avatars().length <= VISIBLE + 1), 'more are shown than may be');
    });

    await step('the nearest are seen to walk', async () => {
      const before = new Map(nearest(ada).map(({ FullID, Position }) => [FullID.toString(), Position]));
      const walked = () => [...before].filter(([id, from]) => mapDistance(ada.sees(id)?.position ?? from, from) > WALKED_M);
      // A third of all rests at a time.
      await until('half of those who were nearest have moved on', () => walked().length >= before.size / 2, {
        describe: () => `${walked().length} of ${before.size}`,
      });
    });

    await step('they talk in the crowd', async () => {
      await ada.say('findest du mich?');
      const heard = await until('Ben hears Ada', () => ben.heard('findest du mich?', ada.id));
      assert(heard.chatType === ChatType.Normal, `it came as chat type ${heard.chatType}`);
    });

    await step('one walks through the crowd and stops; the other sees it where it stands', async () => {
      const from = ada.sees().position;
      ada.hold(ControlFlags.AGENT_CONTROL_AT_POS);
      await until('the walk is seen', () => mapDistance(ben.sees(ada.id)?.position ?? from, from) > WALK_M);
      ada.release();
      const error = () => distance(ben.sees(ada.id).position, ada.sees().position);
      await staysTrue('she stands at one place', () => ben.isStanding(ada.id) && error() < SAME_PLACE_M, QUIET_MS, {
        describe: () => `${error().toFixed(2)} m apart`,
      });
    });

    await step('all stop; the nearest stand, and at the same places for both', async () => {
      await crowd.command('behavior stand');
      const pairs = () =>
        nearest(ada).flatMap(({ FullID }) => {
          const id = FullID.toString();
          const other = ben.sees(id);
          return other ? [{ id, error: distance(ada.sees(id).position, other.position) }] : [];
        });
      const stand = () => {
        const shown = pairs();
        return shown.length >= NEAREST / 2 && shown.every(({ id, error }) => ada.isStanding(id) && ben.isStanding(id) && error < SAME_PLACE_M);
      };
      await staysTrue('the nearest stand', stand, QUIET_MS, {
        describe: () => pairs().map(({ error }) => error.toFixed(2)).join(' '),
      });
      log('stopped', { compared: pairs().length, error_m_max: Math.max(...pairs().map(({ error }) => error)).toFixed(3) });
    });

    await step('the visitors log out', () => Promise.all(both.map((client) => client.leave())));
    await step('the bots leave, and none was lost', async () => {
      const { circuits_lost } = await crowd.leave();
      assert(circuits_lost === 0, `${circuits_lost} circuits of bots were lost`);
    });
  } finally {
    crowd.end();
  }
}, { crowded: true });

/** The avatars shown nearest to a client, without it and its friend: bots only. */
function nearest(client) {
  const { position } = client.sees();
  const bots = client.avatars().filter((avatar) => avatar.getNameValueEntry('LastName') === LAST_NAME);
  return bots.sort((a, b) => distance(a.Position, position) - distance(b.Position, position)).slice(0, NEAREST);
}
