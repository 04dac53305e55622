// Two people go into instances and come back: worlds that are put behind their circuits, and one that they have to teleport to.
//
//   node worlds.mjs [--report FILE]
//
// What docs/adr/0013 says of clients was found with this scenario.

import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
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
/** Half of an avatar's width. */
const BODY_M = 0.3;
/** So deep may an NPC's outline be in a box: a cell of the mesh. */
const DEEP_M = 0.125;
/** The way of the sentry, with a box on it: the route in cave.toml. */
const WAY = [{ x: 54.3, y: 41 }, { x: 54.3, y: 50.5 }];
/** Where the raider is. */
const WELL = { x: 148, y: 48, z: 24 };
/** Arms reach so far. */
const REACH_M = 2.5;
const STRIKE_MS = 700;
/** What comes back of health while one sees to something else. */
const HEALED_MAX = 2;
const VISUAL_PARAMS = 218;
/** The texture of an avatar that is not dressed yet; and the faces that have others: head, upper and lower body, eyes, hair. */
const NOT_BAKED = 'c228d1cf-4b5d-4ba8-84f4-899a0796aa97';
const BAKED_FACES = [8, 9, 10, 11, 20];
/** Whoever has something on these is shown with it: a skirt, and what newer viewers bake besides. */
const UNWORN_FACES = [19, 40, 41, 42, 43, 44];
/** So begins a JPEG 2000 codestream. */
const CODESTREAM = 'ff4fff51';
/** Animations of the viewers' own. */
const STAND = '2408fe9e-df1d-1d7d-f4ff-1384fa7b350f';
const WALK = '6ed24bd8-91aa-4b12-ccc7-c97c857ab4e0';
const RUN = '05ddbff8-aaa9-92a1-2b74-8fe77a29b445';
const SIT_GROUND = '1a2bd58e-87ff-0df8-0b4c-53e047b0bb6e';
const DEAD = '57abaae6-1d17-7b1b-5f98-6d11a6411276';
const PUNCH_RIGHT = 'c8e42d32-7310-6906-c903-cab5d4a34656';
/** Frames are brought once a second. */
const LOOK_MS = 200;
const LOOKS_MAX = 100;

/** The configuration and what lies beside it, in a place where files may be changed. */
const files = mkdtempSync(join(tmpdir(), 'throng-worlds-'));
for (const name of ['worlds.toml', 'cave.toml', 'cave.behaviour']) {
  cpSync(join(dirname(fileURLToPath(import.meta.url)), name), join(files, name));
}
const behaviours = join(files, 'cave.behaviour');

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

  await step('one of them walks round the box that stands on its way, there and back', async () => {
    const box = () => ada.things().find((thing) => thing.Scale.z > STEP_M && isInside({ x: WAY[0].x, y: thing.Position.y }, thing)
      && thing.Position.y > WAY[0].y && thing.Position.y < WAY[1].y);
    await until('the box is shown', box);
    const reached = [];
    let deepest = -Infinity;
    await until('it was here, there and here again', () => {
      for (const { Position } of inhabitants(ada)) {
        for (const thing of ada.things().filter(({ Scale }) => Scale.z > STEP_M)) {
          const deep = BODY_M - outside(Position, thing);
          assert(deep <= DEEP_M, `somebody at ${Position} is ${deep} m deep in a box at ${thing.Position} of ${thing.Scale}`);
          deepest = Math.max(deepest, deep);
        }
      }
      const at = inhabitant(ada, 'Sentry Cave')?.Position;
      const end = at && WAY.find((place) => mapDistance(place, at) < 1);
      if (end && end !== reached.at(-1)) reached.push(end);
      return reached.length === 3;
    }, { describe: () => `${reached.length} of 3, it is at ${inhabitant(ada, 'Sentry Cave')?.Position}` });
    log('round', { box: box().Position, edge: box().Scale.x, deepest });
  });

  await step('all of them look like somebody, and no two alike', async () => {
    const looks = () => inhabitants(ada).map(({ FullID }) => ada.looks.get(FullID.toString()));
    await until('the looks of all have come', () => looks().every((look) => look), { describe: () => `${looks().filter(Boolean).length} of ${looks().length}` });
    const shapes = new Set(looks().map(({ params }) => params.join()));
    assert(looks().every(({ params }) => params.length === VISUAL_PARAMS), 'that is no shape');
    assert(shapes.size === looks().length, `${shapes.size} shapes of ${looks().length}`);
    const textures = new Set(looks().flatMap(({ texture }) => BAKED_FACES.map(texture)));
    assert(textures.size > BAKED_FACES.length && !textures.has(NOT_BAKED), `they wear ${[...textures]}`);
    assert(looks().every(({ texture }) => UNWORN_FACES.every((face) => texture(face) === NOT_BAKED)), 'they wear skirts');
    for (const id of textures) {
      const bytes = await ada.fetchTexture(id);
      assert(bytes.toString('hex').startsWith(CODESTREAM), `the texture ${id} is ${bytes.toString('hex', 0, 8)}`);
    }
    log('looks', { people: looks().length, textures: textures.size });
  });

  await step('they are seen to walk, to stand and to sit', async () => {
    const [sentry, sleeper] = ['Sentry Cave', 'Sleeper Cave'].map((name) => inhabitant(ada, name).FullID.toString());
    await until('the sentry walked, stood, and walked again', () => plays(ada, sentry, [WALK, STAND, WALK]));
    await until('the sleeper sat down and rose', () => plays(ada, sleeper, [STAND, SIT_GROUND, STAND]));
  });

  await step('she goes where she was sent, and somebody there is after her', async () => {
    await until('she is told what there is to do', () => ada.notices.includes('Find the well.'));
    assert(ada.health.at(-1) === 100, `her health is told as ${ada.health}`);
    const raider = () => inhabitant(ada, 'Raider Cave');
    await ada.teleport(await ada.regionHandle(ada.regionName), WELL.x, WELL.y, WELL.z);
    await until('she is told what is next', () => ada.notices.includes('Drive the raider off.'));
    await until('he is before her', () => raider() && mapDistance(raider().Position, ada.sees().position) < REACH_M, {
      describe: () => `he is at ${raider()?.Position}`,
    });
    await until('he ran', () => plays(ada, raider().FullID.toString(), [RUN]));
    await until('it hurts twice', () => ada.health.at(-1) < ada.health.at(-2) && ada.health.at(-2) < 100);
  });

  await step('she leaves and returns, and neither what she did nor her wounds are gone', async () => {
    await worlds.post('/leave', { user: { agent: ada.id } });
    await isIn(ada, 0);
    const [told, wounds] = [ada.notices.length, ada.health.length];
    const entered = await worlds.enter(cave.body.id, { user: { agent: ada.id }, position: [60, 70, 25] });
    assert(entered.body.passage === 'switched', JSON.stringify(entered));
    await isIn(ada, FIRST_OF_INSTANCES);
    await until('she is told what is next', () => ada.notices.length > told && ada.health.length > wounds);
    assert(ada.notices.slice(told).join() === 'Drive the raider off.', `she is told ${ada.notices.slice(told)}`);
    const [before, after] = [ada.health[wounds - 1], ada.health[wounds]];
    assert(after <= before + HEALED_MAX, `${before} became ${after}`);
    log('returned', { before, after });
  });

  await step('she strikes back, he falls, and that was it', async () => {
    await ada.teleport(await ada.regionHandle(ada.regionName), WELL.x, WELL.y, WELL.z);
    const raider = () => inhabitant(ada, 'Raider Cave');
    await until('he is shown', raider);
    const id = raider().FullID.toString();
    let nextAt = 0;
    await until('he falls', () => {
      if (performance.now() >= nextAt && raider()) {
        nextAt = performance.now() + STRIKE_MS;
        const [from, at] = [ada.sees().position, raider().Position];
        ada.face(Math.atan2(at.y - from.y, at.x - from.x));
        ada.gesture(PUNCH_RIGHT);
      }
      return plays(ada, id, [DEAD]);
    }, { describe: () => `he is at ${raider()?.Position}, she at ${ada.sees()?.position}` });
    await until('she is told', () => ada.notices.includes('The well is safe.'));
    await until('he is gone', () => !raider());
    ada.face(0);
    await ada.teleport(await ada.regionHandle(ada.regionName), 60, 70);
  });

  await step('one of them answers who speaks to it', async () => {
    await ada.teleport(await ada.regionHandle(ada.regionName), 68, 70);
    await ada.say('Ist jemand da?');
    await until('the gatekeeper answers', () => ada.heard('Be greeted.'));
    assert(ada.heard('Be greeted.').fromName === 'Gatekeeper Cave', `it was ${ada.heard('Be greeted.').fromName}`);
    await ada.teleport(await ada.regionHandle(ada.regionName), 60, 70);
  });

  await step('the files change, and the same one answers something else', async () => {
    const greeting = readFileSync(behaviours, 'utf8');
    writeFileSync(behaviours, greeting.replace('Be greeted.', 'Be off.').replace('say', 'sya'));
    const wrong = await worlds.reload('Cave');
    assert(wrong.status === 422 && wrong.body.problems[0].line === 4, JSON.stringify(wrong));
    writeFileSync(behaviours, greeting.replace('Be greeted.', 'Be off.'));
    const changed = await worlds.reload('Cave');
    assert(changed.status === 200 && changed.body.adopting === 1, JSON.stringify(changed));
    await ada.teleport(await ada.regionHandle(ada.regionName), 68, 70);
    // Who has just spoken is silent for a while, whatever is said to it.
    let nextAt = 0;
    await until('the gatekeeper answers', () => {
      if (performance.now() >= nextAt) {
        nextAt = performance.now() + QUIET_MS;
        ada.say('Und jetzt?');
      }
      return ada.heard('Be off.');
    });
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

  await step('an operator sees what frames and long tasks took', async () => {
    const trace = await worlds.ask('GET', '/frames/trace?frames=3');
    assert(trace.status === 200 && trace.body.frames.filter((frame) => frame.is_beat).length === 3, JSON.stringify(trace.body).slice(0, 500));
    const { world, hz, dilation, cost_us: costUs } = (await worlds.call('GET', `/${cave.body.id}`)).body;
    assert(hz === 30 && dilation > 0 && dilation <= 1 && costUs > 0, `${hz} Hz, dilation ${dilation}, ${costUs} µs`);
    const frames = new Set(trace.body.steps.filter((step) => step.world === world).map((step) => step.frame));
    assert(frames.size > 0 && [...frames].every((frame) => trace.body.frames[frame].hz === 30), 'it is not stepped at its rate');
    assert(trace.body.steps.every((step) => step.began_ns <= step.ended_ns), 'a step ends before it begins');
    const first = (await worlds.ask('GET', '/frames')).body;
    assert(first.frames.length > 0 && first.frames.every((frame) => frame.worlds > 0), `${first.frames.length} frames`);
    let later = [];
    for (let look = 0; later.length === 0 && look < LOOKS_MAX; look++) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      later = (await worlds.ask('GET', `/frames?from=${first.next}`)).body.frames;
    }
    assert(later[0]?.number === first.next, `frame ${later[0]?.number} follows, and not ${first.next}`);
    assert((await worlds.ask('GET', '/frames/trace?frames=1000')).status === 400, 'a trace without end');
    const tasks = await worlds.ask('GET', '/long-tasks');
    assert(tasks.status === 200 && Array.isArray(tasks.body), JSON.stringify(tasks));
    assert((await worlds.ask('DELETE', '/long-tasks/999999')).status === 404, 'ended what is not there');
    const metrics = await (await fetch(`http://${server.run.admin}/metrics`)).text();
    for (const wanted of ['throng_long_tasks_total{kind="world",outcome="done"} 1', 'throng_frame_seconds_count{hz="20"}', 'throng_frame_seconds_count{hz="30"}', 'throng_starvation_level 0']) {
      assert(metrics.includes(wanted), `no ${wanted}`);
    }
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
}, { server: { config: join(files, 'worlds.toml') } });

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

/** Those of the Cave who have no client. */
function inhabitants(client) {
  return client.avatars().filter((avatar) => nameOf(avatar).endsWith(' Cave'));
}

function inhabitant(client, name) {
  return client.avatars().find((avatar) => nameOf(avatar) === name);
}

/** Whether an avatar was shown to play these, one after the other. */
function plays(client, id, wanted) {
  const next = [...wanted];
  for (const { of, ids } of client.animations) {
    if (of === id && ids.includes(next[0])) next.shift();
  }
  return next.length === 0;
}

/** Whether a point of the map is within a box, its turn about the vertical counted. */
function isInside(point, thing) {
  const { beside, before } = aside(point, thing);
  return beside < 0 && before < 0;
}

/** Metres of the map from a box to a point, 0 within. */
function outside(point, thing) {
  const { beside, before } = aside(point, thing);
  return Math.hypot(Math.max(beside, 0), Math.max(before, 0));
}

/** How far a point of the map is beyond each two sides of a box, its turn about the vertical counted. */
function aside({ x, y }, { Position, Scale, Rotation }) {
  const turn = -2 * Math.atan2(Rotation.z, Rotation.w);
  const [dx, dy] = [x - Position.x, y - Position.y];
  const [along, across] = [dx * Math.cos(turn) - dy * Math.sin(turn), dx * Math.sin(turn) + dy * Math.cos(turn)];
  return { beside: Math.abs(along) - Scale.x / 2, before: Math.abs(across) - Scale.y / 2 };
}

function isFlat(client) {
  for (let n = 4; n < 256; n += 9) {
    if (Math.abs(client.terrainHeight(n, (n * 7) % 256) - FLAT_M) > 0.3) return false;
  }
  return true;
}
