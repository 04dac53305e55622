// Two people go into instances and come back: worlds that are put behind their circuits, and one that they have to teleport to.
//
//   node worlds.mjs [--report FILE]
//
// What docs/adr/0013 says of clients was found with this scenario.

import { Client, ControlFlags, distance, mapDistance } from './client.mjs';
import { assert, main } from './harness.mjs';
import { Worlds } from './operator.mjs';
import { staysTrue, until } from './wait.mjs';

/** Local ids of instances begin here, so that whatever is shown tells which world it is of. */
const FIRST_OF_INSTANCES = 2 ** 31;
/** Flat ground lies so high. */
const FLAT_M = 22;
const SAME_PLACE_M = 0.5;
const ARRIVAL_M = 1.5;
const WALK_M = 5;
/** On what is lower one steps. */
const STEP_M = 0.4;
const QUIET_MS = 2_000;
const CAVE_THINGS_MIN = 50;
const DWELLERS = 12;

await main(async ({ server, loginUri, step, api, log }) => {
  const worlds = new Worlds(server);
  const { regions } = await (await api('/api/info')).json();
  const [ada, ben] = ['Ada', 'Ben'].map((first) => new Client({ loginUri, first }));
  const both = [ada, ben];
  let cave, home, circuit;

  await step('two people meet in a region', async () => {
    await Promise.all(both.map((client) => client.enter()));
    await until('both see each other', () => ada.sees(ben.id) && ben.sees(ada.id));
    await until('the ground is complete', () => both.every((client) => client.region.terrainComplete));
    await until('what stands around', () => both.every((client) => client.things().length > 100));
    await Promise.all(both.map((client) => client.lands()));
    home = ada.sees().position;
    circuit = ada.circuit;
    log('home', { region: ada.regionName, things: ada.things().length, hills: regions[0].name });
  });

  await step('an instance is made, and what cannot be is refused', async () => {
    cave = await worlds.post('', { template: 'cave', name: 'Cave of Ada' });
    assert(cave.status === 201 && cave.body.name === 'Cave of Ada' && cave.body.users === 0, JSON.stringify(cave));
    for (const [path, body, status, words] of [
      ['', { template: 'Castle' }, 400, 'there are: Cave, Plain'],
      ['', { template: 'Cave', name: '' }, 400, 'name'],
      ['', { tempalte: 'Cave' }, 422, 'template'],
      [`/${cave.body.id}/enter`, { user: { name: 'Nobody Here' } }, 404, 'Nobody Here'],
      ['/00000000-0000-0000-0000-000000000001/enter', { user: { agent: ada.id } }, 404, 'no instance'],
    ]) {
      const refused = await worlds.post(path, body);
      assert(refused.status === status && refused.body.error.includes(words), `${path} ${JSON.stringify(body)}: ${JSON.stringify(refused)}`);
    }
    assert((await worlds.call('GET', '', undefined, 'wrong')).status === 401, 'a wrong token opened the door');
  });

  await step('one enters it on the same circuit and everything around her is another', async () => {
    const entered = await worlds.post(`/${cave.body.id}/enter`, { user: { agent: ada.id }, position: [60, 70, 25] });
    assert(entered.body.passage === 'switched', JSON.stringify(entered));
    await isIn(ada, FIRST_OF_INSTANCES);
    assert(ada.circuit === circuit, 'she has another circuit');
    assert(mapDistance(ada.sees().position, { x: 60, y: 70 }) < ARRIVAL_M, `she is at ${ada.sees().position}`);
    await until('what stands there', () => ada.things().length >= CAVE_THINGS_MIN, { describe: () => `${ada.things().length} things` });
    await until('the ground is flat', () => isFlat(ada), { describe: () => `${ada.terrainHeight(60, 70)} ${ada.terrainHeight(200, 30)}` });
    await until('she is gone for those who stayed', () => !ben.sees(ada.id));
    log('inside', { things: ada.things().length, avatars: ada.avatars().length });
  });

  await step('those who live there walk about, around what stands there', async () => {
    const dwellers = () => ada.avatars().filter((avatar) => nameOf(avatar).startsWith('Dweller'));
    await until('all twelve are shown', () => dwellers().length === DWELLERS, { describe: () => `${dwellers().length}` });
    const from = new Map(dwellers().map(({ ID, Position }) => [ID, Position]));
    const walked = new Set();
    await until('all have walked', () => {
      for (const { ID, Position } of dwellers()) {
        if (mapDistance(Position, from.get(ID)) > WALK_M) walked.add(ID);
        const inside = ada.things().filter((thing) => thing.Scale.z > STEP_M && isInside(Position, thing));
        assert(inside.length === 0, `a dweller at ${Position} is in a box at ${inside[0]?.Position} of ${inside[0]?.Scale}`);
      }
      return walked.size === DWELLERS;
    }, { describe: () => `${walked.size} of ${DWELLERS}` });
  });

  await step('one of them answers who speaks to it', async () => {
    await ada.teleport(await ada.regionHandle(ada.regionName), 68, 70);
    await ada.say('Ist jemand da?');
    await until('the gatekeeper answers', () => ada.heard('Be greeted.'));
    assert(ada.heard('Be greeted.').fromName === 'Gatekeeper Cave', `it was ${ada.heard('Be greeted.').fromName}`);
    await ada.teleport(await ada.regionHandle(ada.regionName), 60, 70);
  });

  await step('another comes after her and stops beside her', async () => {
    await ada.teleport(await ada.regionHandle(ada.regionName), 50, 200);
    const watchman = () => ada.avatars().find((avatar) => nameOf(avatar) === 'Watchman Cave');
    const near = () => watchman() && mapDistance(watchman().Position, ada.sees().position) < 3;
    await until('the watchman is beside her', near, { describe: () => `it is at ${watchman()?.Position}` });
    await staysTrue('and stays there', () => near() && ada.isStanding(watchman().FullID.toString()), QUIET_MS);
    await ada.teleport(await ada.regionHandle(ada.regionName), 60, 70);
    await ada.lands();
  });

  await step('she walks there, and stops where she stops', async () => {
    await ada.lands();
    const from = ada.sees().position;
    ada.hold(ControlFlags.AGENT_CONTROL_AT_POS);
    await until('she has walked', () => mapDistance(ada.sees().position, from) > WALK_M);
    ada.release();
    const stopped = () => ada.isStanding();
    await staysTrue('she stands', stopped, QUIET_MS);
  });

  await step('another one follows; they see, hear and leave each other', async () => {
    const entered = await worlds.post(`/${cave.body.id}/enter`, { user: { name: ben.name.toUpperCase() } });
    assert(entered.body.passage === 'switched', JSON.stringify(entered));
    await isIn(ben, FIRST_OF_INSTANCES);
    await until('both see each other', () => ada.sees(ben.id) && ben.sees(ada.id));
    const { body } = await worlds.call('GET', `/${cave.body.id}`);
    assert(body.users === 2, `${body.users} are said to be in it`);
    await ada.shout('hier ist es still');
    await until('Ben hears it', () => ben.heard('hier ist es still', ada.id));
    assert((await worlds.post('/leave', { user: { agent: ada.id } })).body.passage === 'switched');
    await isIn(ada, 0);
    await until('she is where she was', () => distance(ada.sees().position, home) < SAME_PLACE_M, { describe: () => `${ada.sees()?.position}, was at ${home}` });
    await until('Ben is alone', () => !ben.sees(ada.id));
    await ada.shout('zurück');
    await until('her own words come back', () => ada.heard('zurück', ada.id));
    assert(!ben.heard('zurück'), 'chat crossed worlds');
  });

  await step('the ground of the region is back as the page shows it', async () => {
    const { id } = regions.find((region) => region.name === ada.regionName);
    const heights = new Float32Array(await (await api(`/regions/${id}/heights`)).arrayBuffer());
    const differs = () => {
      for (let n = 0; n < 128; n += 5) {
        const [x, y] = [2 * n, 2 * ((n * 7) % 128)];
        if (Math.abs(ada.terrainHeight(x, y) - heights[(y / 2) * 128 + x / 2]) > 2) return `${x}, ${y}`;
      }
      return undefined;
    };
    await until('the hills are back', () => !differs(), { describe: differs });
  });

  await step('the instance ends and who is in it comes back', async () => {
    assert((await worlds.call('DELETE', `/${cave.body.id}`)).status === 204);
    await isIn(ben, 0);
    await until('both see each other', () => ada.sees(ben.id) && ben.sees(ada.id));
    assert((await worlds.call('GET', '')).body.length === 0, 'it is still listed');
  });

  await step('a world of another size is reached by a teleport, and left by one', async () => {
    const plain = await worlds.post('', { template: 'Plain' });
    const there = await ben.follows(() => worlds.post(`/${plain.body.id}/enter`, { user: { agent: ben.id } }));
    assert(there.body.passage === 'teleported', JSON.stringify(there));
    assert(ben.regionName === 'Plain', `he is in ${ben.regionName}`);
    await ben.follows(() => worlds.post('/leave', { user: { agent: ben.id } }));
    assert(ben.regionName === ada.regionName, `he came back to ${ben.regionName}`);
    await until('both see each other', () => ada.sees(ben.id) && ben.sees(ada.id));
  });

  await step('one walks through a portal into an instance of her own, and through the one there back', async () => {
    await ada.teleport(await ada.regionHandle(ada.regionName), 135, 128);
    await ada.lands();
    ada.walk(0);
    await isIn(ada, FIRST_OF_INSTANCES);
    ada.rest();
    const { body } = await worlds.call('GET', '');
    const own = body.find((world) => world.owner === ada.id);
    assert(own?.template === 'Cave' && own.users === 1, JSON.stringify(body));
    await ada.teleport(await ada.regionHandle(ada.regionName), 135, 128);
    await until('she is in the cave still', () => mapDistance(ada.sees().position, { x: 135, y: 128 }) < ARRIVAL_M);
    assert(ada.sees().localId >= FIRST_OF_INSTANCES, 'a teleport within led out of it');
    await ada.lands();
    ada.walk(0);
    await isIn(ada, 0);
    ada.rest();
    await until('she stands in the portal', () => mapDistance(ada.sees().position, { x: 150, y: 128 }) < 5, { describe: () => `${ada.sees()?.position}` });
    await staysTrue('and is not sent into it again', () => ada.sees()?.localId < FIRST_OF_INSTANCES, QUIET_MS);
    ada.walk(Math.PI);
    await until('she is out of it', () => ada.sees()?.position.x < 145);
    ada.walk(0);
    await isIn(ada, FIRST_OF_INSTANCES);
    ada.rest();
    const again = (await worlds.call('GET', '')).body.filter((world) => world.owner === ada.id);
    assert(again.length === 1 && again[0].id === own.id, 'she has another one');
  });

  await step('all log out', () => Promise.all(both.map((client) => client.leave())));
}, { server: { config: 'worlds.toml' } });

/** Waits until a client shows its own avatar once, and nothing of any other world than that with these local ids. */
async function isIn(client, firstId) {
  const belongs = (id) => (firstId === 0 ? id < FIRST_OF_INSTANCES : id >= firstId);
  const own = () => client.avatars().filter((avatar) => avatar.FullID.toString() === client.id);
  const strange = () => [...client.region.objects.objects.keys()].filter((id) => !belongs(id));
  await until(`${client.name} is shown the other world alone`, () => own().length === 1 && belongs(own()[0].ID) && strange().length === 0, {
    describe: () => `own avatar as ${own().map(({ ID }) => ID)}, ${strange().length} strange objects`,
  });
}

/** "First Last" of an avatar that is shown. */
function nameOf(avatar) {
  return `${avatar.NameValue.get('FirstName')?.value} ${avatar.NameValue.get('LastName')?.value}`;
}

/** Whether a point of the map is within a box, its turn about the vertical counted. */
function isInside({ x, y }, { Position, Scale, Rotation }) {
  const turn = -2 * Math.atan2(Rotation.z, Rotation.w);
  const [dx, dy] = [x - Position.x, y - Position.y];
  const [along, across] = [dx * Math.cos(turn) - dy * Math.sin(turn), dx * Math.sin(turn) + dy * Math.cos(turn)];
  return Math.abs(along) < Scale.x / 2 && Math.abs(across) < Scale.y / 2;
}

function isFlat(client) {
  for (let n = 4; n < 256; n += 9) {
    if (Math.abs(client.terrainHeight(n, (n * 7) % 256) - FLAT_M) > 0.3) return false;
  }
  return true;
}
